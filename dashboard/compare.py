"""Who is better at what, said only where it can be said: where the intervals of two rates do not overlap. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from a2a_trust.model import DIMENSIONS, Dimension

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_trust.signals import DimensionSignal, Signal


class Verdict(Struct, frozen=True):
    """What can be said of two agents in one dimension."""

    dim: Dimension
    better: int | None
    """Place of the better one among those compared; `None` where that cannot be told yet."""
    worse: int | None
    why: str = ""
    """Why nothing can be told."""


def is_better(one: DimensionSignal, other: DimensionSignal) -> bool:
    """Tell whether the whole interval of one rate lies above that of the other."""
    return one.low is not None and other.high is not None and one.low > other.high


def verdicts(signals: Sequence[Signal]) -> list[Verdict]:
    """Return what can be said of each pair in each dimension; one line for a dimension of which nothing can."""
    found: list[Verdict] = []
    for dim in DIMENSIONS:
        told = [
            Verdict(dim, place, other)
            for place, one in enumerate(signals)
            for other, against in enumerate(signals)
            if is_better(one.dimensions[dim], against.dimensions[dim])
        ]
        found += told or [Verdict(dim, None, None, _why(signals, dim))]
    return found


def _why(signals: Sequence[Signal], dim: Dimension) -> str:
    without = sum(not signal.dimensions[dim].samples for signal in signals)
    if without == len(signals):
        return "no evidence"
    if len(signals) - without == 1:
        return "only one of them has evidence"
    return "the intervals overlap"
