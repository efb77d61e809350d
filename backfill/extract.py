"""Reading one log, in a process of its own or not: bytes in, findings and the log's new state out.

What crosses the process border is encoded by msgspec, small and the same under fork and spawn.
"""

from __future__ import annotations

from functools import cache

import msgspec
from msgspec import Struct, field

from a2a_trust.findings import Finding, LogFold, LogState
from a2a_trust.sources.base import LogFile, LogUnreadableError, Skips, Source, load_sources

_STATE = msgspec.msgpack.Decoder(LogState)


class Job(Struct, frozen=True, array_like=True):
    """A log to read, from a cursor and the state that belongs to it, or from the start."""

    log: LogFile
    session: str
    cursor: bytes | None = None
    state: bytes | None = None


class Extract(Struct, array_like=True):
    """What reading a log gave."""

    job: Job
    cursor: bytes = b""
    state: bytes = b""
    """State up to the cursor, parked findings of earlier readings included."""
    live: bytes = b""
    """State up to the end of the log, where that is further: behind a torn frame's whole lines."""
    findings: list[Finding] = field(default_factory=list)
    torn_findings: list[Finding] = field(default_factory=list)
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
    fresh = job.state is None or reading.restarted
    state = LogState(header=reading.header) if fresh or job.state is None else _STATE.decode(job.state)
    fold = LogFold(state, source.classify)
    for fact in reading.facts:
        fold.feed(fact)
    found.findings = fold.findings
    found.cursor = reading.cursor
    found.state = msgspec.msgpack.encode(state)
    if reading.torn_facts:
        fold.findings = []
        for fact in reading.torn_facts:
            fold.feed(fact)
        found.torn_findings = fold.findings
        found.live = msgspec.msgpack.encode(state)
    found.lines, found.used, found.irrelevant = reading.lines, reading.used, reading.irrelevant
    found.inherited, found.undated, found.bytes_read = reading.inherited, reading.undated, reading.bytes_read
    found.total_lines = reading.total_lines
    found.skips = reading.skips
    found.unused = fold.skipped


def decode_state(data: bytes) -> LogState:
    """Return a log's state from its bytes."""
    return _STATE.decode(data)


def extract_encoded(data: bytes) -> bytes:
    """Do what `extract` does, for another process."""
    return msgspec.msgpack.encode(extract(msgspec.msgpack.decode(data, type=Job)))
