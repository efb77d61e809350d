"""One run: find the logs, read what is new of them, say who did what, commit it.

The rows of a run are committed in key order, whatever the number of processes that read the logs, so that the audit
log of a run is the same everywhere. What is remembered of the logs is saved after the commit: a crash in between
makes the next run read them again, and find every row known.
"""

from __future__ import annotations

import concurrent.futures
import os
import time
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from a2a_trust.backfill.attribute import PARTIAL, attribute, sessions_by_role
from a2a_trust.backfill.discover import Found, FoundLog, discover, places_of
from a2a_trust.backfill.extract import Extract, Job, extract, extract_encoded
from msgspec import Struct, field

from a2a_trust.attribution import RULES_VERSION
from a2a_trust.sources.base import Skips

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from a2a_trust.sources.base import Source
    from a2a_trust.store import TrustStore

POOL_BYTES = 12 << 20
"""Below this many bytes to read, starting processes costs more than they save."""
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
    started = time.monotonic()
    places = places_of(sources, options.paths, environ)
    found = discover(places, store.cache, options.exclude)
    jobs = [job for log in found.logs if (job := _job_for(log, fixtures=options.fixtures)) is not None]
    jobs.sort(key=lambda job: (-job.log.size, job.log.path))
    progress = Progress(logs_total=len(jobs), bytes_total=sum(_bytes_of(job) for job in jobs))
    report(progress)
    extracts: list[Extract] = []
    for done in _extract_all(jobs, options.jobs):
        extracts.append(done)
        progress.logs += 1
        progress.bytes += _bytes_of(done.job)
        progress.findings += len(done.findings)
        report(progress)
    return _finish(store, found, extracts, started)


def _finish(store: TrustStore, found: Found, extracts: list[Extract], started: float) -> Summary:
    extracts.sort(key=lambda done: done.job.session)
    read = [done for done in extracts if not done.failed]
    rows, entries = attribute(store.cache, read)
    commit = store.commit(rows)
    store.cache.save_logs(entries)
    summary = Summary(
        places=found.places,
        files=found.files,
        unchanged=len(found.logs) - len(extracts),
        evidence=commit.folded,
        evidence_not_folded=commit.unfolded,
        observations=commit.observations,
        known=commit.known,
        agents=len(store.ledger.agents),
        recovered=store.recovery.why if store.recovery else None,
    )
    skips = Skips()
    skips.merge(found.skips)
    for done in extracts:
        skips.merge(done.skips)
        summary.bytes_read += done.bytes_read
        summary.lines += done.lines
        summary.lines_used += done.used
        summary.lines_irrelevant += done.irrelevant
        summary.lines_inherited += done.inherited
        summary.lines_undated += done.undated
        for reason, count in done.unused.items():
            summary.unused[reason] = summary.unused.get(reason, 0) + count
    summary.skipped = dict(sorted(skips.counts.items()))
    summary.skipped_at = dict(sorted(skips.places.items()))
    for log in found.logs:
        entry = store.cache.log(log.session)
        if entry is not None:
            source = log.log.source
            for role, count in sessions_by_role(entry).items():
                summary.sources[source] = summary.sources.get(source, 0) + count
                summary.sessions[role] = summary.sessions.get(role, 0) + count
            summary.waiting += entry.waiting
    summary.sources = dict(sorted(summary.sources.items()))
    summary.seconds = round(time.monotonic() - started, 3)
    return summary


# ------------------------------------------------------------------ reading


def _job_for(found: FoundLog, *, fixtures: bool) -> Job | None:
    """Return how a log must be read: not at all, from its cursor, or from the start."""
    log, known = found.log, found.known
    anew = Job(log, found.session, fixtures=fixtures)
    if known is None or (known.rules != RULES_VERSION and (fixtures or known.rules != PARTIAL)):
        return anew
    if found.stale:
        return None
    if known.path != log.path:
        return anew
    if (known.size, known.mtime_ns, known.inode) == (log.size, log.mtime_ns, log.inode):
        return None
    return Job(log, found.session, known.cursor, known.state, fixtures, known.rules == PARTIAL)


def _bytes_of(job: Job) -> int:
    return job.log.size


def _extract_all(jobs: list[Job], processes: int) -> Iterator[Extract]:
    """Yield what each log gave, in whatever order they are done."""
    processes = min(processes or os.cpu_count() or 1, len(jobs))
    if processes <= 1 or sum(map(_bytes_of, jobs)) < POOL_BYTES:
        yield from map(extract, jobs)
        return
    left = {job.session: job for job in jobs}
    with concurrent.futures.ProcessPoolExecutor(processes) as pool:
        try:
            waiting = [pool.submit(extract_encoded, msgspec.msgpack.encode(job)) for job in jobs]
            for future in concurrent.futures.as_completed(waiting):
                done = msgspec.msgpack.decode(future.result(), type=Extract)
                del left[done.job.session]
                yield done
        except BrokenProcessPool:
            pass
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    # A worker died, of a log too large for it or from outside: what is left is read here, one by one.
    yield from map(extract, left.values())
