"""Measures of verdicts: pure functions of numbers, each by its standard definition, `None` where it has no meaning.

docs/juries.md gives each formula. Probabilities are shares in [0, 1] unless a name says per cent.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec import Struct

from a2a_trust.reputation import interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DIGITS = 6
BINS = 10
"""Of the expected calibration error: of equal width."""


class Rate(Struct, frozen=True, kw_only=True, rename="camel"):
    """A share, with its Wilson 95 % interval."""

    good: int
    samples: int
    rate: float
    low: float
    high: float


class Percentiles(Struct, frozen=True, kw_only=True, rename="camel"):
    """Of times in ms, by nearest rank."""

    samples: int
    p50: int
    p95: int


class Agreement(Struct, frozen=True, kw_only=True, rename="camel"):
    """How far several who judge the same items agree beyond chance."""

    items: int
    """Items of which each of them gave a verdict."""
    raters: int
    unanimous: Rate
    observed: float
    """Share of pairs of verdicts of one item that are equal."""
    expected: float
    """The same share if each item's verdicts had nothing to do with each other."""
    kappa: float | None
    """(observed - expected) / (1 - expected); `None` where all verdicts of all items are equal."""
    method: str
    """`cohen` for two, `fleiss` for more."""


def rounded(value: float | None) -> float | None:
    """Return a number as views hold it."""
    return None if value is None else round(value, DIGITS) + 0.0


def sorted_counts(counts: Mapping[str, int]) -> dict[str, int]:
    """Return what was counted at all, by name."""
    return {name: counts[name] for name in sorted(counts) if counts[name]}


def rate(good: int, samples: int) -> Rate | None:
    """Return a share; `None` of nothing."""
    found = interval(good, samples)
    if found is None:
        return None
    return Rate(
        good=good,
        samples=samples,
        rate=round(found.rate, DIGITS),
        low=round(found.low, DIGITS),
        high=round(found.high, DIGITS),
    )


def mean(values: Sequence[float]) -> float | None:
    """Return the arithmetic mean."""
    return math.fsum(values) / len(values) if values else None


def polarization(values: Sequence[float]) -> float | None:
    """Return the population standard deviation; `None` of fewer than two."""
    middle = mean(values)
    if middle is None or len(values) < 2:  # noqa: PLR2004 - one is never polarized
        return None
    return math.sqrt(math.fsum((value - middle) ** 2 for value in values) / len(values))


def brier(forecasts: Sequence[float], held: Sequence[int]) -> float | None:
    """Return the mean squared distance of probabilities from what was the case, 1 or 0 (Brier 1950)."""
    return mean([(probability - was) ** 2 for probability, was in zip(forecasts, held, strict=True)])


def calibration_error(forecasts: Sequence[float], held: Sequence[int]) -> float | None:
    """Return the expected calibration error: by bins, the mean distance of forecasts from frequencies."""
    if not forecasts:
        return None
    bins: dict[int, list[float]] = {}
    for probability, was in zip(forecasts, held, strict=True):
        bins.setdefault(min(int(probability * BINS), BINS - 1), []).append(probability - was)
    return math.fsum(abs(math.fsum(distances)) for distances in bins.values()) / len(forecasts)


def percentiles(values: Sequence[int]) -> Percentiles | None:
    """Return median and 95th percentile, by nearest rank."""
    ordered = sorted(values)
    if not ordered:
        return None
    p50, p95 = (ordered[max(0, math.ceil(share * len(ordered)) - 1)] for share in (0.5, 0.95))
    return Percentiles(samples=len(ordered), p50=p50, p95=p95)


class Votes:
    """Counts of verdicts over items, as much as a chance-corrected agreement needs: bounded whatever the items are."""

    def __init__(self, raters: Sequence[str]) -> None:
        """Begin with no item."""
        self._raters = tuple(raters)
        self._items = self._unanimous = self._equal_pairs = 0
        self._by_rater: dict[str, dict[str, int]] = {rater: {} for rater in raters}

    def add(self, votes: Mapping[str, str]) -> None:
        """Count an item, unless one of the raters gave no verdict of it."""
        given = [votes[rater] for rater in self._raters if rater in votes]
        if len(given) < len(self._raters):
            return
        self._items += 1
        counts: dict[str, int] = {}
        for rater, vote in zip(self._raters, given, strict=True):
            mine = self._by_rater[rater]
            mine[vote] = mine.get(vote, 0) + 1
            counts[vote] = counts.get(vote, 0) + 1
        self._unanimous += len(counts) == 1
        self._equal_pairs += sum(count * (count - 1) // 2 for count in counts.values())

    def agreement(self) -> Agreement | None:
        """Return how far they agree: Cohen's kappa of two, Fleiss' of more; `None` of fewer than two of either."""
        raters, items = len(self._raters), self._items
        unanimous = rate(self._unanimous, items)
        if raters < 2 or items < 2 or unanimous is None:  # noqa: PLR2004 - of one there is no agreement
            return None
        observed = self._equal_pairs / (items * (raters * (raters - 1) // 2))
        options = {vote for counts in self._by_rater.values() for vote in counts}
        if raters == 2:  # noqa: PLR2004 - the case that Cohen's kappa is about
            one, other = self._by_rater.values()
            expected = sum(one.get(vote, 0) * other.get(vote, 0) for vote in options) / items**2
        else:
            totals = [sum(counts.get(vote, 0) for counts in self._by_rater.values()) for vote in options]
            expected = sum(total**2 for total in totals) / (items * raters) ** 2
        return Agreement(
            items=items,
            raters=raters,
            unanimous=unanimous,
            observed=round(observed, DIGITS),
            expected=round(expected, DIGITS),
            kappa=rounded((observed - expected) / (1 - expected)) if expected < 1 else None,
            method="cohen" if raters == 2 else "fleiss",  # noqa: PLR2004 - as above
        )
