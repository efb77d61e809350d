"""Who did better, and where nobody can tell: two agents compared by their rates, never by their index. Pure.

"Better" is said only where the 95 % intervals of the rates do not overlap. That asks for more than a test of the
difference would (Schenker and Gentleman 2001, The American Statistician 55, 182-186): its error is to keep silent.
"""

from __future__ import annotations

from enum import StrEnum
from itertools import combinations
from typing import TYPE_CHECKING

from msgspec import Struct

from a2a_trust.model import DIMENSIONS, Dimension

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from a2a_trust.signals import DimensionSignal, Signal


class Verdict(StrEnum):
    """What can be said of two agents on one dimension."""

    FIRST = "first is better"
    SECOND = "second is better"
    CANNOT_TELL = "cannot tell"


class Comparison(Struct, frozen=True, kw_only=True):
    """Two agents on one dimension."""

    dimension: Dimension
    first: str
    second: str
    """Fingerprints, or keys of the lens."""
    verdict: Verdict
    why: str


def compare(signals: Sequence[Signal], dimensions: Iterable[Dimension] = DIMENSIONS) -> list[Comparison]:
    """Return every pair of agents on every dimension, in the order given."""
    return [_compare(dim, first, second) for dim in dimensions for first, second in combinations(signals, 2)]


def _compare(dim: Dimension, first: Signal, second: Signal) -> Comparison:
    verdict, why = judge(first.dimensions[dim], second.dimensions[dim])
    return Comparison(dimension=dim, first=first.key, second=second.key, verdict=verdict, why=why)


def judge(a: DimensionSignal, b: DimensionSignal) -> tuple[Verdict, str]:
    """Return what can be said of two agents on one dimension, and why."""
    if a.low is None or a.high is None or b.low is None or b.high is None:
        missing = "neither has" if a.low is None and b.low is None else "one of them has no"
        return Verdict.CANNOT_TELL, f"{missing} evidence"
    bounds = f"{a.low:.2f}-{a.high:.2f} of {a.samples} against {b.low:.2f}-{b.high:.2f} of {b.samples}"
    if a.low > b.high:
        return Verdict.FIRST, f"the intervals do not overlap: {bounds}"
    if b.low > a.high:
        return Verdict.SECOND, f"the intervals do not overlap: {bounds}"
    return Verdict.CANNOT_TELL, f"the intervals overlap: {bounds}"
