"""One run: find the logs, read what is new of them, say who did what, commit it.

The rows of a run are committed in key order, whatever the number of processes that read the logs, so that the audit
log of a run is the same everywhere. What is remembered of the logs is saved after the commit: a crash in between
makes the next run read them again, and find every row known.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from a2a_trust.backfill.attribute import PARTIAL, Readings, attribute, sessions_by_role
from a2a_trust.backfill.discover import Found, FoundLog, discover, places_of
from a2a_trust.backfill.extract import Extract, Job
from a2a_trust.backfill.pool import extract_all
from a2a_trust.backfill.spool import SortedRows, Spool
from msgspec import Struct, field

from a2a_trust.attribution import RULES_VERSION
from a2a_trust.sources.base import Skips
from a2a_trust.store.audit import slices
from a2a_trust.store.cache import LogEntry, LogStamp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from a2a_trust.model import Row
    from a2a_trust.sources.base import Source
    from a2a_trust.store import TrustStore
    from a2a_trust.store.cache import Cache

POOL_BYTES = 12 << 20
"""Below this many bytes to read, starting processes costs more than they save."""
TOLD_ROWS = 400
"""Rows after which progress is told. So many are held beside those that are being committed."""
COLLECT_AFTER = 100_000
"""Objects made until the next look for garbage."""
_ENTRY = msgspec.msgpack.Decoder(LogEntry)
UNREADABLE = (
    "log-unreadable",
    "header-unreadable",
    "folder-unreadable",
    "reader-failed",
    "newer-format",
    "unknown-version",
)
"""Reasons for which a log, or more, was not read at all."""


class Options(Struct, frozen=True, kw_only=True):
    """What a run is asked to do."""

    paths: Sequence[Path] = ()
    exclude: Sequence[str] = ()
    jobs: int = 0
    """Processes; 0 for as many as there are cores."""
    fixtures: bool = False
    """Score test doubles, those in logs that were read without them included."""


class Progress(Struct):
    """How far a run is."""

    logs: int = 0
    logs_total: int = 0
    bytes: int = 0
    bytes_total: int = 0
    findings: int = 0
    rows: int = 0
    """Rows that are recorded, or were: once all logs are read."""


class _Counted:
    """Rows that tell how many of them were taken."""

    def __init__(self, rows: Iterable[Row], tell: Callable[[int], None]) -> None:
        self._rows = rows
        self._tell = tell

    def __iter__(self) -> Iterator[Row]:
        number = 0
        for part in slices(self._rows, TOLD_ROWS):
            yield from part
            number += len(part)
            self._tell(number)


class Summary(Struct, kw_only=True, rename="camel"):
    """What a run found, added and left out.

    `lines` is the sum of the lines used, irrelevant, inherited, and those counted under `skipped` with a place in a
    line; every line read is in exactly one of them.
    """

    places: list[str]
    files: int
    sources: dict[str, int] = field(default_factory=dict)
    """Sources of which logs were found, each with its sessions."""
    sessions: dict[str, int] = field(default_factory=dict)
    """Sessions found, by the role of their agent; `waiting` where that is not known yet, `empty` without events."""
    unchanged: int = 0
    bytes_read: int = 0
    lines: int = 0
    lines_used: int = 0
    lines_irrelevant: int = 0
    lines_inherited: int = 0
    lines_undated: int = 0
    evidence: int = 0
    """New evidence that the policy folds."""
    evidence_not_folded: int = 0
    """New evidence that is recorded, and that the policy leaves out."""
    observations: int = 0
    known: int = 0
    """Rows read again that the audit log held already."""
    agents: int = 0
    waiting: int = 0
    """Findings that wait for the log of another session."""
    unused: dict[str, int] = field(default_factory=dict)
    """Events that no rule could use, by reason."""
    skipped: dict[str, int] = field(default_factory=dict)
    skipped_at: dict[str, list[str]] = field(default_factory=dict)
    recovered: str | None = None
    """What had to be set aside of the audit log before the run."""
    seconds: float = 0.0

    def add(self, done: Extract) -> None:
        """Count what reading a log gave."""
        self.bytes_read += done.bytes_read
        self.lines += done.lines
        self.lines_used += done.used
        self.lines_irrelevant += done.irrelevant
        self.lines_inherited += done.inherited
        self.lines_undated += done.undated
        for reason, count in done.unused.items():
            self.unused[reason] = self.unused.get(reason, 0) + count

    @property
    def unreadable(self) -> int:
        """Logs and folders that could not be read at all."""
        return sum(self.skipped.get(reason, 0) for reason in UNREADABLE)


LINE_SKIPS = (
    "unknown-type",
    "malformed-line",
    "wrong-shape",
    "line-too-long",
    "foreign-team",
    "other-session",
    "newer-event",
    "session-unknown",
    "chain-broken",
)
"""Reasons under which a single line is counted."""


def run(
    store: TrustStore,
    sources: Mapping[str, Source],
    options: Options,
    environ: Mapping[str, str],
    report: Callable[[Progress], None] = lambda _: None,
) -> Summary:
    """Bring a home up to the logs. Raises `HomeError` where it cannot be written."""
    with _rare_collections():
        return _run(store, sources, options, environ, report)


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Look for garbage in cycles less often: what a run makes, a great many small objects, holds none."""
    before = gc.get_threshold()
    gc.set_threshold(COLLECT_AFTER, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _run(
    store: TrustStore,
    sources: Mapping[str, Source],
    options: Options,
    environ: Mapping[str, str],
    report: Callable[[Progress], None],
) -> Summary:
    started = time.monotonic()
    found = discover(places_of(sources, options.paths, environ), store.cache, options.exclude)
    work = [planned for log in found.logs if (planned := _planned(log, fixtures=options.fixtures)) is not None]
    work.sort(key=lambda planned: (-planned.bytes, planned.job.log.path))
    summary = Summary(places=found.places, files=found.files, unchanged=len(found.logs) - len(work))
    skips = Skips()
    skips.merge(found.skips)
    if work:
        _read_and_record(store, work, options.jobs, (found, summary, skips, report))
    summary.agents = len(store.ledger.agents)
    summary.recovered = store.recovery.why if store.recovery else None
    summary.skipped = dict(sorted(skips.counts.items()))
    summary.skipped_at = dict(sorted(skips.places.items()))
    _count_sessions(summary, found)
    summary.seconds = round(time.monotonic() - started, 3)
    return summary


def _read_and_record(
    store: TrustStore,
    work: Sequence[_Planned],
    jobs: int,
    into: tuple[Found, Summary, Skips, Callable[[Progress], None]],
) -> None:
    found, summary, skips, report = into
    progress = Progress(logs_total=len(work), bytes_total=sum(planned.bytes for planned in work))

    def tell(rows: int) -> None:
        progress.rows = rows
        report(progress)

    with Readings(store.home) as readings, SortedRows(store.home) as rows, Spool(store.home) as entries:
        for planned, done in _read(store, work, jobs, progress, report):
            if not done.failed:
                readings.add(planned.job.log, done)
            summary.add(done)
            skips.merge(done.skips)
        attribute(store.cache, readings, rows, lambda entry: entries.append(msgspec.msgpack.encode(entry)))
        commit = store.commit_ordered(_Counted(rows, tell))
        # Only now: a run that ends before reads the same logs again, and finds what it has recorded of them.
        store.cache.save_logs(_noted(map(_ENTRY.decode, entries), found))
    summary.evidence, summary.evidence_not_folded, summary.observations, summary.known = commit


def _count_sessions(summary: Summary, found: Found) -> None:
    for log in found.logs:
        stamp = found.known.of(log.session)
        if stamp is not None:
            source = log.log.source
            for role, count in sessions_by_role(stamp.role).items():
                summary.sources[source] = summary.sources.get(source, 0) + count
                summary.sessions[role] = summary.sessions.get(role, 0) + count
            summary.waiting += stamp.waiting
    summary.sources = dict(sorted(summary.sources.items()))


def _noted(entries: Iterable[LogEntry], found: Found) -> Iterator[LogEntry]:
    """Yield entries on their way to the cache, and note what they say."""
    for entry in entries:
        found.known.note(LogStamp.of(entry))
        yield entry


# ------------------------------------------------------------------ reading


class _Planned(NamedTuple):
    """A log to read, from its start unless it is said to be resumed: its cursor and state are asked for when needed."""

    job: Job
    resumed: bool
    bytes: int


def _planned(found: FoundLog, *, fixtures: bool) -> _Planned | None:
    """Return how a log must be read; `None` where there is nothing to read."""
    log, known = found.log, found.known
    anew = _Planned(Job(log, found.session, fixtures=fixtures), resumed=False, bytes=log.size)
    if known is None or (known.rules != RULES_VERSION and (fixtures or known.rules != PARTIAL)):
        return anew
    if found.stale:
        return None
    if known.path != log.path:
        return anew
    if (known.size, known.mtime_ns, known.inode) == (log.size, log.mtime_ns, log.inode):
        return None
    grown = log.size - known.size
    job = Job(log, found.session, fixtures=fixtures, partial=known.rules == PARTIAL)
    return _Planned(job, resumed=True, bytes=grown if grown > 0 else log.size)


def _job(cache: Cache, planned: _Planned) -> Job:
    known = cache.log(planned.job.session) if planned.resumed else None
    if known is None:
        return planned.job
    return msgspec.structs.replace(planned.job, cursor=known.cursor, state=known.state)


def _read(
    store: TrustStore, work: Sequence[_Planned], jobs: int, progress: Progress, report: Callable[[Progress], None]
) -> Iterator[tuple[_Planned, Extract]]:
    """Read logs, the largest first, and yield what each gave."""
    report(progress)
    processes = min(jobs or os.cpu_count() or 1, len(work)) if progress.bytes_total >= POOL_BYTES else 1
    planned_by_session = {planned.job.session: planned for planned in work}
    for done in extract_all((_job(store.cache, planned) for planned in work), processes):
        planned = planned_by_session[done.session]
        yield planned, done
        progress.logs += 1
        progress.bytes += planned.bytes
        progress.findings += done.findings
        report(progress)
