"""The steps behind a number, each with its place in the session log, so that a person can find the line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from a2a_trust.agents import resolve
from a2a_trust.errors import UsageError
from a2a_trust.model import DIMENSIONS, Dimension, Policy, Row
from a2a_trust.policy import RESPONSE_LATENCY, TASK_COMPLETED, TASK_REOPENED
from a2a_trust.reputation import PRIOR, step
from a2a_trust.sources.base import LogUnreadableError, Skips, load_sources
from a2a_trust.store import live
from a2a_trust.store.cache import read_log_entry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from a2a_trust.signals import Signal, TrustSignals


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


class DimensionSteps(Struct, frozen=True, kw_only=True):
    """All steps of one dimension and the value they lead to."""

    dim: Dimension
    start: float
    value: float
    steps: list[Step]


class Explanation(Struct, frozen=True, kw_only=True):
    """Why an agent's numbers are what they are."""

    name: str
    fingerprint: str
    policy: str
    dimensions: list[DimensionSteps]


class _Log(Struct):
    """A session's log on disk, and the places of lines in it."""

    path: str | None
    places: dict[int, tuple[int | None, int]]


def explain(signals: TrustSignals, signal: Signal, wanted: str | None, home: Path) -> Explanation:
    """Return the steps of one dimension, or of all. Raises `UsageError` for an unknown dimension."""
    dims = DIMENSIONS
    if wanted is not None:
        dims = tuple(dim for dim in DIMENSIONS if dim.startswith(wanted.lower()))
        if len(dims) != 1:
            raise UsageError(f"{wanted!r} is no dimension; there are {', '.join(DIMENSIONS)}")
    rows = signals.rows_of(signal.key)
    folded = [
        (row, quality) for row, quality in resolve(rows, signals.policy, live.amendments(home)) if quality is not None
    ]
    needed = [row for row, _ in folded if row.dim in dims]
    logs = locate(needed, home)
    return Explanation(
        name=signal.name,
        fingerprint=signal.key,
        policy=signals.policy.name,
        dimensions=[_steps(dim, [pair for pair in folded if pair[0].dim is dim], signals.policy, logs) for dim in dims],
    )


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
                file=log.path,
                frame=frame,
                line=line,
            )
        )
    return DimensionSteps(dim=dim, start=PRIOR, value=value, steps=steps)


def why(row: Row) -> str:
    """Return in words what the row's event was."""
    details = row.evidence
    if row.kind in (TASK_COMPLETED, TASK_REOPENED):
        return f"{details.task} revision {details.revision}"
    if row.kind == RESPONSE_LATENCY:
        return f"answered after {details.ms} ms"
    parts = [details.tool, details.code, details.text]
    if details.message:
        parts.append(f"message {details.message}")
    return " ".join(part.partition("\n")[0][:60] for part in parts if part)


def locate(rows: Iterable[Row], home: Path) -> dict[tuple[str, int], _Log]:
    """Find the lines of rows in their logs, where these still exist."""
    wanted: dict[tuple[str, int], set[int]] = {}
    for row in rows:
        wanted.setdefault((row.session, row.gen), set()).add(row.seq)
    sources = load_sources()
    found: dict[tuple[str, int], _Log] = {}
    for (session, gen), seqs in wanted.items():
        log = found[session, gen] = _Log(None, {})
        entry = read_log_entry(home, session)
        source = sources.get(entry.source) if entry else None
        if entry is None or source is None or not Path(entry.path).exists():
            continue
        for candidates in source.discover(Path(entry.path).parent, Skips()):
            for candidate in candidates:
                if candidate.gen == gen:
                    try:
                        log.path, log.places = candidate.path, source.locate(candidate, seqs)
                    except LogUnreadableError:
                        log.path = None
    return found
