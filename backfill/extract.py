"""Reading one log, in a process of its own or not: bytes in, findings and the log's new state out.

What crosses the process border is encoded by msgspec, small and the same under fork and spawn.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, field

from a2a_trust.event_fold import EventFold
from a2a_trust.findings import LogFold
from a2a_trust.log_state import Finding, LogState
from a2a_trust.sources.base import LogFile, LogPart, LogUnreadableError, Skips, Source, load_sources

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_STATES = msgspec.msgpack.Decoder(list[LogState])


class Job(Struct, frozen=True, array_like=True):
    """A log to read, from a cursor and the state that belongs to it, or from the start."""

    log: LogFile
    session: str
    cursor: bytes | None = None
    state: bytes | None = None
    fixtures: bool = False
    """Read what test doubles did, too."""
    partial: bool = False
    """Before the cursor, something that test doubles did was left out."""


class Extract(Struct, array_like=True):
    """What reading a log gave."""

    job: Job
    cursor: bytes = b""
    state: bytes = b""
    """States of the file's logs up to the cursor, parked findings of earlier readings included."""
    live: bytes = b""
    """States up to the end of the file, where that is further: behind a torn frame's whole lines."""
    findings: list[list[Finding]] = field(default_factory=list)
    """By log, in the order of the states."""
    torn_findings: list[list[Finding]] = field(default_factory=list)
    lines: int = 0
    total_lines: int = 0
    """Whole lines in the log: those read now, and those before the cursor."""
    used: int = 0
    irrelevant: int = 0
    inherited: int = 0
    undated: int = 0
    bytes_read: int = 0
    skips: Skips = field(default_factory=Skips)
    unused: dict[str, int] = field(default_factory=dict)
    """Facts that no rule could use, by reason."""
    failed: bool = False
    partial: bool = False
    """Something that test doubles did is left out of the states and findings."""


@cache
def _source(name: str) -> Source:
    return load_sources([name])[name]


def extract(job: Job) -> Extract:
    """Read a log. Never raises for what a log holds: a log that cannot be read is counted."""
    found = Extract(job)
    try:
        _read(job, found)
    except LogUnreadableError as error:
        found.failed = True
        found.skips.add(error.reason, f"{job.log.path}: {error}")
    except Exception as error:  # noqa: BLE001 - whatever a stranger's log does to a reader, the others are read
        found.failed = True
        found.skips.add("reader-failed", f"{job.log.path}: {type(error).__name__}: {error}")
    return found


def _read(job: Job, found: Extract) -> None:
    source = _source(job.log.source)
    reading = source.read(job.log, job.cursor)
    known = [] if job.state is None or reading.restarted else _STATES.decode(job.state)
    states = {state.header.session: state for state in known}
    folds: dict[str, LogFold | EventFold] = {}
    found.partial = job.partial
    parts = _scored(job, reading.logs, found)
    for part in parts:
        session = part.header.session
        state = states.setdefault(session, LogState(header=part.header))
        if state.header.profile is None and part.header.profile is not None:
            state.header = part.header
        fold = folds[session] = (EventFold if part.header.by_event else LogFold)(state, source.classify)
        for fact in part.facts:
            fold.feed(fact)
    found.findings = _taken(states, folds)
    found.cursor = reading.cursor
    found.state = msgspec.msgpack.encode(list(states.values()))
    if any(part.torn_facts for part in parts):
        for part in parts:
            for fact in part.torn_facts:
                folds[part.header.session].feed(fact)
        found.torn_findings = _taken(states, folds)
        found.live = msgspec.msgpack.encode(list(states.values()))
    found.lines, found.used, found.irrelevant = reading.lines, reading.used, reading.irrelevant
    found.inherited, found.undated, found.bytes_read = reading.inherited, reading.undated, reading.bytes_read
    found.total_lines = reading.total_lines
    found.skips.merge(reading.skips)
    for fold in folds.values():
        for reason, count in fold.skipped.items():
            found.unused[reason] = found.unused.get(reason, 0) + count


def _scored(job: Job, logs: list[LogPart], found: Extract) -> list[LogPart]:
    """Return the logs that count, and count those of test doubles where they do not."""
    if job.fixtures:
        return logs
    for part in logs:
        if part.header.fixture:
            found.partial = True
            found.skips.add("fixture", f"{job.log.path}: {part.header.session}")
    return [part for part in logs if not part.header.fixture]


def _taken(states: Iterable[str], folds: Mapping[str, LogFold | EventFold]) -> list[list[Finding]]:
    """Return what was found since the last time, in the order of the states."""
    taken: list[list[Finding]] = []
    for session in states:
        fold = folds.get(session)
        taken.append(fold.findings if fold else [])
        if fold:
            fold.findings = []
    return taken


def decode_states(data: bytes) -> list[LogState]:
    """Return the states of a file's logs from their bytes."""
    return _STATES.decode(data)


def extract_encoded(data: bytes) -> bytes:
    """Do what `extract` does, for another process."""
    return msgspec.msgpack.encode(extract(msgspec.msgpack.decode(data, type=Job)))
