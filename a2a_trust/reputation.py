"""The arithmetic of reputation: one EWMA step, the total, confidence, and rates with their interval.

Pure functions over numbers. The formulas are exact in IEEE doubles, so that every machine gets the same digits.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from a2a_trust.policy import GOOD, weight_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from a2a_trust.model import Dimension, DimensionTrust, Policy

PRIOR = 0.5
VALUE_SCALE = 1e6
TOTAL_SCALE = 1e4
Z_95 = 1.959963984540054
"""Two-sided 95 % quantile of the normal distribution."""


class Interval(NamedTuple):
    """A rate in [0, 1] with the bounds of its Wilson 95 % interval."""

    rate: float
    low: float
    high: float


def step(value: float, quality: float, policy: Policy) -> float:
    """Return the index after one piece of evidence: rounded half up to six decimals.

    Good news weighs `alpha_good`, bad news (quality below 0.5) `alpha_bad`. The quality is clamped to [0, 1];
    raises `ValueError` for one that is not finite.
    """
    if not math.isfinite(quality):
        msg = f"quality must be finite, found {quality}"
        raise ValueError(msg)
    quality = min(1.0, max(0.0, quality))
    alpha = policy.alpha_good if quality >= GOOD else policy.alpha_bad
    return math.floor((alpha * quality + (1 - alpha) * value) * VALUE_SCALE + 0.5) / VALUE_SCALE


def fold(qualities: Iterable[float], policy: Policy, start: float = PRIOR) -> float:
    """Return the index after all qualities, in the order given."""
    for quality in qualities:
        start = step(start, quality, policy)
    return start


def total(trust: Mapping[Dimension, DimensionTrust], policy: Policy) -> float | None:
    """Return the weighted mean of the dimensions with enough evidence, to four decimals; `None` if there is none."""
    known = [
        (weight_of(policy, dim), state.value)
        for dim, state in sorted(trust.items())
        if state.samples >= policy.min_samples and weight_of(policy, dim) > 0
    ]
    if not known:
        return None
    mean = sum(weight * value for weight, value in known) / sum(weight for weight, _ in known)
    return math.floor(mean * TOTAL_SCALE + 0.5) / TOTAL_SCALE


def confidence(samples: int, policy: Policy) -> str:
    """Return `none`, `low` (fewer samples than the policy's `min_samples`) or `enough`."""
    if samples == 0:
        return "none"
    return "low" if samples < policy.min_samples else "enough"


def interval(good: int, samples: int) -> Interval | None:
    """Return the rate of good evidence with its Wilson 95 % score interval; `None` without evidence.

    Wilson, E. B. (1927), Probable inference, the law of succession, and statistical inference.
    """
    if samples == 0:
        return None
    rate = good / samples
    z2 = Z_95 * Z_95
    centre = rate + z2 / (2 * samples)
    margin = Z_95 * math.sqrt(rate * (1 - rate) / samples + z2 / (4 * samples * samples))
    scale = 1 + z2 / samples
    # At the ends the bound is the end itself, which rounding would miss by a hair.
    low = 0.0 if good == 0 else (centre - margin) / scale
    high = 1.0 if good == samples else (centre + margin) / scale
    return Interval(rate, low, high)
