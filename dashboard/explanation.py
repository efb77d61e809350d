"""The steps behind a number, each with its place in the session log, so that a person can find the line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import Struct, field

from a2a_trust.agents import resolve
from a2a_trust.amendments import RESET, RETRACT, Amendments
from a2a_trust.errors import UsageError
from a2a_trust.model import DIMENSIONS, Details, Dimension, Policy, Row
from a2a_trust.reputation import PRIOR, step
from a2a_trust.sources.base import LogUnreadableError, Skips, load_sources
from a2a_trust.store.cache import read_log_entry, read_log_paths
from a2a_trust.wording import why

if TYPE_CHECKING:
    from collections.abc import Iterable

    from a2a_trust.signals import Signal, TrustSignals
    from a2a_trust.sources.base import Source


FILES_SEARCHED = 200
"""Files in which the lines of a session are looked for, where its source writes several sessions into one."""


class Step(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One piece of evidence and what it did, in key order."""

    id: str
    time: int
    kind: str
    quality: float
    before: float
    after: float
    why: str
    session: str
    gen: int
    seq: int
    file: str | None = None
    """Where the session's log was last read; `None` where it is gone."""
    frame: int | None = None
    """Byte at which the zstd frame of the line begins."""
    line: int | None = None
    numbered: bool = True
    """Whether `seq` numbers the events of the log; else it only tells them apart."""


class DimensionSteps(Struct, frozen=True, kw_only=True):
    """All steps of one dimension and the value they lead to."""

    dim: Dimension
    start: float
    value: float
    steps: list[Step]


class Amended(Struct, frozen=True, kw_only=True):
    """Something that people, or later rules, said about rows of the agent after the fact."""

    time: int
    kind: str
    what: str
    why: str
    rows: int
    """Rows of the agent that it is about."""


class Explanation(Struct, frozen=True, kw_only=True):
    """Why an agent's numbers are what they are."""

    name: str
    fingerprint: str
    policy: str
    amended: list[Amended]
    dimensions: list[DimensionSteps]


class _Log(Struct):
    """A session's log on disk, and the places of lines in it."""

    path: str | None
    places: dict[int, tuple[int | None, int]]
    numbered: bool = True
    files: dict[int, str] = field(default_factory=dict)
    """Files of single events, where a session stands in several."""


def explain(signals: TrustSignals, signal: Signal, wanted: str | None, home: Path) -> Explanation:
    """Return the steps of one dimension, or of all. Raises `UsageError` for an unknown dimension."""
    dims = DIMENSIONS
    if wanted is not None:
        dims = tuple(dim for dim in DIMENSIONS if dim.startswith(wanted.lower()))
        if len(dims) != 1:
            what = "is more than one dimension" if dims else "is no dimension"
            raise UsageError(f"{wanted!r} {what}; there are {', '.join(dims or DIMENSIONS)}")
    rows, said = list(signals.rows_of(signal.key)), list(signals.amendment_rows())
    amendments = Amendments(said)
    folded = [(row, quality) for row, quality in resolve(rows, signals.policy, amendments) if quality is not None]
    needed = [row for row, _ in folded if row.dim in dims]
    logs = locate(needed, home)
    return Explanation(
        name=signal.name,
        fingerprint=signal.key,
        policy=signals.policy.name,
        amended=_amended(rows, said, set(amendments.members(signal.key))),
        dimensions=[_steps(dim, [pair for pair in folded if pair[0].dim is dim], signals.policy, logs) for dim in dims],
    )


def _amended(rows: list[Row], said: list[Row], members: set[str]) -> list[Amended]:
    """Return the amendments that are about rows of an agent, in the order in which they were made."""
    found = []
    for row in said:
        details = row.evidence
        scope = DIMENSIONS if details.scope is None else (details.scope,)
        if row.kind == RETRACT:
            alone = Amendments([msgspec.structs.replace(row, evidence=Details(session=details.session))])
            about = [other for other in rows if alone.drops(other)]
            what = f"session {details.session} {'counts again' if details.undo else 'counts for nothing'}"
        elif row.kind == RESET:
            about = [other for other in rows if details.agent in members and other.dim in scope and other.key < row.key]
            what = f"{details.scope or 'every dimension'} began anew"
        else:
            about = [other for other in rows if other.subject == details.agent]
            what = f"{(details.agent or '')[:12]} is {'no longer ' if details.undo else ''}folded under "
            what += (details.alias or "")[:12]
        if about or {details.agent, details.alias} & members:
            found.append(_amendment(row, what, len(about)))
    found += [_amendment(row, f"{row.supersedes} judged anew: {row.kind}", 1) for row in rows if row.supersedes]
    return found


def _amendment(row: Row, what: str, about: int) -> Amended:
    return Amended(time=row.time, kind=row.kind, what=what, why=row.evidence.comment or "", rows=about)


def _steps(
    dim: Dimension, folded: list[tuple[Row, float]], policy: Policy, logs: dict[tuple[str, int], _Log]
) -> DimensionSteps:
    value, steps = PRIOR, []
    for row, quality in folded:
        before, value = value, step(value, quality, policy)
        log = logs[row.session, row.gen]
        frame, line = log.places.get(row.seq, (None, None))
        steps.append(
            Step(
                id=row.id,
                time=row.time,
                kind=row.kind,
                quality=quality,
                before=before,
                after=value,
                why=why(row),
                session=row.session,
                gen=row.gen,
                seq=row.seq,
                file=log.files.get(row.seq, log.path),
                frame=frame,
                line=line,
                numbered=log.numbered,
            )
        )
    return DimensionSteps(dim=dim, start=PRIOR, value=value, steps=steps)


def locate(rows: Iterable[Row], home: Path) -> dict[tuple[str, int], _Log]:
    """Find the lines of rows in their logs, where these still exist."""
    wanted: dict[tuple[str, int], set[int]] = {}
    named: dict[str, str] = {}
    for row in rows:
        wanted.setdefault((row.session, row.gen), set()).add(row.seq)
        named[row.session] = row.evidence.source or ""
    sources = load_sources()
    found: dict[tuple[str, int], _Log] = {}
    for (session, gen), seqs in wanted.items():
        log = found[session, gen] = _Log(None, {})
        entry = read_log_entry(home, session)
        if entry is None:
            _locate_in_files(log, session, seqs, _Files(home, sources.get(named.get(session, ""))))
            continue
        source = sources.get(entry.source)
        if source is None or not Path(entry.path).exists():
            continue
        for candidates in source.discover(Path(entry.path).parent, Skips()):
            for candidate in candidates:
                if candidate.gen == gen and (log.path is None or candidate.path == entry.path):
                    try:
                        log.path, log.places = candidate.path, source.locate(candidate, seqs)
                    except LogUnreadableError:
                        log.path = None
    return found


class _Files(NamedTuple):
    """Where to look for sessions of a source that writes several into one file."""

    home: Path
    source: Source | None


def _locate_in_files(log: _Log, session: str, seqs: set[int], files: _Files) -> None:
    """Find the lines of a session in whatever file of its source holds them, those named after it first."""
    log.numbered = False
    if files.source is None:
        return
    names = session.split("/")
    paths = [path for path in read_log_paths(files.home, files.source.name) if Path(path).exists()]
    paths.sort(key=lambda path: -sum(name in path for name in names))
    left = set(seqs)
    for path in paths[:FILES_SEARCHED]:
        for candidates in files.source.discover(Path(path), Skips()):
            try:
                places = files.source.locate(candidates[0], left)
            except LogUnreadableError:
                continue
            if places:
                log.path = log.path or path
                log.places.update(places)
                log.files.update(dict.fromkeys(places, path))
                left -= places.keys()
        if not left:
            return
