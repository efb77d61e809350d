"""How the numbers of an agent moved: the course of a dimension and of the total, and their change over a window.

Pure. The snapshot keeps the last 64 pieces of evidence of an agent; where a dimension has more, the value at which
they begin is found by running the fold backwards from the value it leads to.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from a2a_trust.model import DIMENSIONS, Dimension, HistoryEntry, Policy
from a2a_trust.policy import GOOD, weight_of
from a2a_trust.reputation import PRIOR, step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_trust.signals import Signal

HOUR_MS = 3_600_000


class Window(StrEnum):
    """How far back a change looks."""

    HOUR = "1h"
    DAY = "24h"
    WEEK = "7d"
    ALL = "all"

    def since(self, now: int) -> int:
        """Return when the window begins, ms; 0 for everything."""
        hours = {Window.HOUR: 1, Window.DAY: 24, Window.WEEK: 7 * 24}.get(self)
        return 0 if hours is None else now - hours * HOUR_MS


class Point(NamedTuple):
    """A value right after a piece of evidence."""

    time: int
    value: float
    quality: float
    kind: str


class Course(NamedTuple):
    """The value of a dimension over time."""

    start: float
    """The value before the first point."""
    points: list[Point]
    whole: bool
    """Whether the first point is the first evidence there ever was."""


class Change(NamedTuple):
    """By how much a number moved."""

    delta: float
    whole: bool
    """Whether all evidence of the window is known here; else the change since the oldest that is."""


def course(signal: Signal, dim: Dimension, policy: Policy) -> Course:
    """Return the course of one dimension over the evidence that the snapshot keeps."""
    state = signal.dimensions[dim]
    entries = [entry for entry in signal.history if entry.dim is dim]
    whole = len(entries) == state.samples
    start = PRIOR if whole or state.value is None else _start(entries, state.value, policy)
    points, value = [], start
    for entry in entries:
        value = step(value, entry.quality, policy)
        points.append(Point(entry.time, value, entry.quality, entry.kind))
    if points and state.value is not None:
        # Found backwards, the start is right but for the rounding of each step; the end is known.
        points[-1] = points[-1]._replace(value=state.value)
    return Course(start, points, whole)


def _start(entries: Sequence[HistoryEntry], end: float, policy: Policy) -> float:
    """Return from where the evidence leads to `end`.

    The fold is linear in its start: end = share · start + rest. A start that hardly counts any more cannot be found
    back exactly, nor does it then matter.
    """
    share, rest = 1.0, 0.0
    for entry in entries:
        alpha = policy.alpha_good if entry.quality >= GOOD else policy.alpha_bad
        share *= 1 - alpha
        rest = (1 - alpha) * rest + alpha * entry.quality
    return PRIOR if share <= 0 else min(1.0, max(0.0, (end - rest) / share))


def counted(signal: Signal, policy: Policy) -> list[Dimension]:
    """Return the dimensions that make up the total, or all that have any evidence where none does."""
    known = [dim for dim in DIMENSIONS if signal.dimensions[dim].samples]
    enough = [
        dim for dim in known if signal.dimensions[dim].samples >= policy.min_samples and weight_of(policy, dim) > 0
    ]
    return enough or known


def total_course(signal: Signal, policy: Policy) -> list[float]:
    """Return the mean over the dimensions that count after each piece of evidence the snapshot keeps, oldest first."""
    dims = counted(signal, policy)
    courses = {dim: course(signal, dim, policy) for dim in dims}
    now = {dim: found.start for dim, found in courses.items()}
    following = {dim: iter(found.points) for dim, found in courses.items()}
    values = []
    for entry in signal.history:
        if entry.dim in now:
            now[entry.dim] = next(following[entry.dim]).value
            values.append(_mean(now, policy))
    return values


def _mean(values: dict[Dimension, float], policy: Policy) -> float:
    weights = {dim: weight_of(policy, dim) or 1.0 for dim in values}
    return sum(values[dim] * weights[dim] for dim in values) / sum(weights.values())


def dimension_change(signal: Signal, dim: Dimension, policy: Policy, since: int) -> Change | None:
    """Return by how much a dimension moved since a time, ms; `None` where there is no evidence at all.

    Before its first evidence a dimension stands at 0.5.
    """
    value = signal.dimensions[dim].value
    if value is None:
        return None
    if since <= 0:
        return Change(value - PRIOR, whole=True)
    if signal.last_seen < since:
        return Change(0.0, whole=True)
    found = course(signal, dim, policy)
    before = [point for point in found.points if point.time < since]
    then = before[-1].value if before else found.start
    # Nothing of this dimension in the window: what the history lost is older than what it keeps.
    whole = found.whole or bool(before) or bool(signal.history and signal.history[0].time < since)
    moved = len(before) < len(found.points)
    return Change(value - then if moved else 0.0, whole=whole)


def total_change(signal: Signal, policy: Policy, since: int) -> Change | None:
    """Return by how much the mean over the dimensions of the total moved; `None` where there is no total."""
    if signal.total is None:
        return None
    changes = {dim: dimension_change(signal, dim, policy, since) for dim in counted(signal, policy)}
    known = {dim: change for dim, change in changes.items() if change is not None}
    return Change(
        _mean({dim: change.delta for dim, change in known.items()}, policy),
        whole=all(change.whole for change in known.values()),
    )


def thin(values: Sequence[float], width: int) -> list[float]:
    """Return at most `width` of the values, the last always among them."""
    if len(values) <= width:
        return list(values)
    return [values[-1 - (width - 1 - place) * (len(values) - 1) // max(1, width - 1)] for place in range(width)]
