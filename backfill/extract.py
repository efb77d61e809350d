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
    from collections.abc import Iterable

    from a2a_trust.facts import AnyFact

GROUP_FINDINGS = 1_000
"""Findings of a log that are in memory decoded; each further so many are encoded."""
_STATES = msgspec.msgpack.Decoder(list[LogState])
_FINDINGS = msgspec.msgpack.Decoder(list[Finding])


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


class Content(Struct, array_like=True):
    """What is to be kept of a log that was read, encoded: it travels, and it waits on disk."""

    cursor: bytes = b""
    state: bytes = b""
    """States of the file's logs up to the cursor, parked findings of earlier readings included."""
    live: bytes = b""
    """States up to the end of the file, where that is further: behind a torn frame's whole lines."""
    findings: list[list[bytes]] = field(default_factory=list)
    """Up to the cursor, by log in the order of the states: in groups, so that they need not be decoded all at once."""
    torn: list[list[bytes]] = field(default_factory=list)
    """Those of a torn frame behind it; empty where there is none."""

    def states(self) -> list[LogState]:
        """Return the states of the file's logs up to its end."""
        return decode_states(self.live or self.state)


class Extract(Struct, array_like=True):
    """What reading a log gave: its content, and counts."""

    session: str
    content: Content = field(default_factory=Content)
    logs: list[str] = field(default_factory=list)
    """Sessions of which the file holds logs, in the order of the states."""
    parent: str = ""
    """Session whose log says who the agent of the first of them is."""
    introduces: bool = False
    """Whether one of the logs says who other agents are."""
    findings: int = 0
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
    done = Extract(job.session)
    try:
        _read(job, done)
    except LogUnreadableError as error:
        done = Extract(job.session, failed=True)
        done.skips.add(error.reason, f"{job.log.path}: {error}")
    except Exception as error:  # noqa: BLE001 - whatever a stranger's log does to a reader, the others are read
        return failed(job, f"{type(error).__name__}: {error}")
    return done


def failed(job: Job, why: str) -> Extract:
    """Return what a log gave whose reader failed."""
    done = Extract(job.session, failed=True)
    done.skips.add("reader-failed", f"{job.log.path}: {why}")
    return done


def _read(job: Job, done: Extract) -> None:
    source = _source(job.log.source)
    reading = source.read(job.log, job.cursor)
    known = [] if job.state is None or reading.restarted else decode_states(job.state)
    states = {state.header.session: state for state in known}
    folds: dict[str, LogFold | EventFold] = {}
    done.partial = job.partial
    parts = _scored(job, reading.logs, done)
    for part in parts:
        session = part.header.session
        state = states.setdefault(session, LogState(header=part.header))
        if state.header.profile is None and part.header.profile is not None:
            state.header = part.header
        folds[session] = (EventFold if part.header.by_event else LogFold)(state, source.classify)
    found = {part.header.session: _found(folds[part.header.session], part.facts, done) for part in parts}
    content = done.content = Content(reading.cursor, encode_states(states.values()))
    content.findings = [found.get(session, []) for session in states]
    if any(part.torn_facts for part in parts):
        torn = {part.header.session: _found(folds[part.header.session], part.torn_facts) for part in parts}
        content.torn = [torn.get(session, []) for session in states]
        content.live = encode_states(states.values())
    done.introduces = any(state.header.by_event and state.roster for state in states.values())
    done.logs = list(states)
    done.parent = next((state.header.parent for state in states.values()), "")
    done.lines, done.used, done.irrelevant = reading.lines, reading.used, reading.irrelevant
    done.inherited, done.undated, done.bytes_read = reading.inherited, reading.undated, reading.bytes_read
    done.total_lines = reading.total_lines
    done.skips.merge(reading.skips)
    for fold in folds.values():
        for reason, count in fold.skipped.items():
            done.unused[reason] = done.unused.get(reason, 0) + count


def _scored(job: Job, logs: list[LogPart], done: Extract) -> list[LogPart]:
    """Return the logs that count, and count those of test doubles where they do not."""
    if job.fixtures:
        return logs
    for part in logs:
        if part.header.fixture:
            done.partial = True
            done.skips.add("fixture", f"{job.log.path}: {part.header.session}")
    return [part for part in logs if not part.header.fixture]


def _found(fold: LogFold | EventFold, told: list[AnyFact], done: Extract | None = None) -> list[bytes]:
    """Return in groups what a fold finds in facts, and count it. The facts are gone: a log's may be a great many."""
    groups = []
    told.reverse()
    while told:
        fold.feed(told.pop())
        if fold.findings and (not told or len(fold.findings) >= GROUP_FINDINGS):
            groups.append(msgspec.msgpack.encode(fold.findings))
            if done is not None:
                done.findings += len(fold.findings)
            fold.findings = []
    return groups


def encode_states(states: Iterable[LogState]) -> bytes:
    """Return the states of a file's logs as bytes."""
    return msgspec.msgpack.encode(list(states))


def decode_states(data: bytes) -> list[LogState]:
    """Return the states of a file's logs from their bytes."""
    return _STATES.decode(data)


def decode_findings(group: bytes) -> list[Finding]:
    """Return a group of findings from its bytes."""
    return _FINDINGS.decode(group)
