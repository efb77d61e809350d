"""Comparing agents: better is said only where the intervals leave no doubt."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from signalhomes import ledger_of, plant, record

from a2a_trust.comparison import Verdict, compare, judge
from a2a_trust.model import Dimension
from a2a_trust.reputation import interval
from a2a_trust.signals import DimensionSignal, Signal, TrustSignals

COMPETENCE = Dimension.COMPETENCE


def state(good: int, samples: int) -> DimensionSignal:
    """A dimension with so many good ones of so many samples."""
    rate = interval(good, samples)
    return DimensionSignal(
        value=0.5 if samples else None,
        samples=samples,
        good=good,
        rate=rate.rate if rate else None,
        low=rate.low if rate else None,
        high=rate.high if rate else None,
        confidence="enough" if samples else "none",
    )


@pytest.fixture
def pair(tmp_path: Path) -> list[Signal]:
    """One agent that nearly always fails, and one that nearly never does."""
    agents = [record("bad", {COMPETENCE: (0.1, 40, 2)}), record("good", {COMPETENCE: (0.9, 40, 38)})]
    signals = TrustSignals(plant(tmp_path / "home", ledger_of(agents)), catch_up=False)
    return [signals.for_agent("bad"), signals.for_agent("good")]


def test_intervals_apart_tell_who_is_better(pair: list[Signal]) -> None:
    """Whoever is named first."""
    verdicts = [compare(order, [COMPETENCE])[0].verdict for order in (pair, pair[::-1])]
    assert verdicts == [Verdict.SECOND, Verdict.FIRST]


def test_without_evidence_nobody_can_tell(pair: list[Signal]) -> None:
    """A dimension that nobody has evidence in compares nobody."""
    assert compare(pair, [Dimension.INTEGRITY])[0].verdict is Verdict.CANNOT_TELL


@given(good=st.integers(0, 20), more=st.integers(0, 20), other=st.integers(0, 20), others=st.integers(0, 20))
def test_overlapping_intervals_cannot_tell(good: int, more: int, other: int, others: int) -> None:
    """A verdict is given exactly where the intervals do not overlap, and turns round with the order."""
    a, b = state(good, good + more), state(other, other + others)
    verdict, mirrored = judge(a, b)[0], judge(b, a)[0]
    apart = None not in {a.low, b.low} and (a.low > b.high or b.low > a.high)
    assert (verdict is not Verdict.CANNOT_TELL) == apart
    assert (verdict, mirrored) in {
        (Verdict.FIRST, Verdict.SECOND),
        (Verdict.SECOND, Verdict.FIRST),
        (Verdict.CANNOT_TELL, Verdict.CANNOT_TELL),
    }
