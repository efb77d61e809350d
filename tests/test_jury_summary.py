"""The numbers of a jury run: each by its definition, and none where it has no meaning."""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jurylogs import Log as Made
from jurylogs import actor, judges, opinion, survey, tribunal

from a2a_trust.errors import JuryLogError
from a2a_trust.jury import measures
from a2a_trust.jury.summary import LISTED, Summary, summarise

PROBABILITIES = st.floats(0, 1)
VOTES = st.lists(st.tuples(*[st.sampled_from(["accept", "reject", None])] * 3), max_size=30)


def summary_of(log: Made) -> Summary:
    """The summary of a log."""
    return summarise(log.lines())[1]


def test_a_tribunal_in_numbers() -> None:
    """Polarization, consensus gain, volatility and flips are those that can be computed by hand."""
    (panel,) = summary_of(tribunal()).panels
    assert (panel.outcome, panel.correct, panel.present, panel.empanelled) == ("guilty", True, 3, 3)
    baseline, sealed, last = panel.stages
    assert (baseline.mean, sealed.mean, last.mean) == (pytest.approx(140 / 3), 60, pytest.approx(220 / 3))
    assert sealed.polarization == pytest.approx(statistics.pstdev([90, 70, 20]), abs=1e-6)
    assert last.polarization == pytest.approx(statistics.pstdev([90, 70, 60]), abs=1e-6)
    assert panel.consensus_gain == pytest.approx(sealed.polarization - last.polarization, abs=1e-6)
    # The chief went from 20 over 40 to 60, and changed its vote once; nobody else moved.
    assert panel.volatility == pytest.approx(40 / 3, abs=1e-6)
    assert panel.flips == 1
    assert panel.brier == pytest.approx((0.1**2 + 0.3**2 + 0.4**2) / 3, abs=1e-6)
    assert (sealed.votes, last.votes) == ({"guilty": 2, "not guilty": 1}, {"guilty": 3})


def test_faults_are_counted_by_code_and_by_author() -> None:
    """A broken seal and a changed ballot are faults of the one who did it."""
    summary = summary_of(tribunal())
    assert summary.faults == {"ballot_changed": 1, "seal_broken": 1}
    assert {part.actor: part.faults for part in summary.actors if part.faults} == {"ben": summary.faults}
    assert (summary.grounding.verified, summary.grounding.mismatch, summary.grounding.share) == (1, 1, 0.5)
    assert [part.grounding.share for part in summary.actors] == [None, None, 1.0, 0.0, None]


def test_judges_in_numbers() -> None:
    """Agreement, reviews, false accepts, confusion and calibration of a small data set."""
    summary = summary_of(judges())
    assert (summary.counts.items, summary.counts.agreed, summary.counts.review) == (5, 3, 2)
    assert summary.outcomes == {"accept": 2, "reject": 1, "review": 2}
    assert summary.reviews.pending.first == ("t3", "t5")
    assert summary.false_accepts is not None
    assert summary.false_accepts.first == ("t4",)
    assert summary.false_rejects is not None
    assert summary.false_rejects.count == 0
    assert summary.missing.first == ("t5/-/verdict/kind",)
    strict, kind = summary.actors
    assert strict.confusion == {"accept": {"accept": 1, "reject": 1}, "reject": {"accept": 1, "reject": 1}}
    assert kind.confusion == {"accept": {"accept": 1}, "reject": {"accept": 1, "reject": 1}}
    assert (kind.absent, kind.answers, kind.first_try) == (1, 4, 4)
    assert summary.labelled == 4
    # Verdicts on labelled items: probabilities .8 .8 | .1 .1 | .8 .8 | .1; what was true: 1 1 | 0 0 | 0 0 | 1.
    assert summary.calibration is not None
    assert summary.calibration.brier == pytest.approx((4 * 0.04 / 2 + 2 * 0.01 + 2 * 0.64 + 0.81) / 7, abs=1e-6)
    assert (summary.calibration.accuracy.good, summary.calibration.verdicts) == (4, 7)
    assert summary.agreement is not None
    # Four items with both verdicts: equal in three. The strict one accepts 3 of 4, the kind one 2 of 4.
    expected = (3 * 2 + 1 * 2) / 16
    assert summary.agreement.observed == 0.75
    assert summary.agreement.kappa == pytest.approx((0.75 - expected) / (1 - expected), abs=1e-6)
    assert summary.agreement.method == "cohen"


def test_a_resolution_confirms_and_overrules() -> None:
    """A person's decision leaves the queue, and speaks about each verdict of the item."""
    log = judges()
    log.resolve("t3", "accept")
    summary = summary_of(log)
    assert (summary.reviews.pending.first, summary.reviews.resolved) == (("t5",), 1)
    assert [(part.confirmed, part.overruled) for part in summary.actors] == [(1, 0), (0, 1)]


def test_what_has_no_meaning_is_null() -> None:
    """One juror is not polarized, nothing cited is not grounded, without a truth nothing is calibrated."""
    log = Made("tribunal", [actor("solo")], conditions=("solo",), rounds=0)
    log.item("case", ("guilty", "not guilty"))
    log.answer("solo", "verdict", opinion("guilty", 60))
    log.ballot("solo", "guilty", "solo")
    log.outcome("solo", "decided", "guilty", tally={"guilty": 1, "not guilty": 0})
    summary = summary_of(log)
    (panel,) = summary.panels
    assert (panel.stages[0].polarization, panel.consensus_gain, panel.volatility, panel.flips) == (None,) * 4
    assert (panel.brier, panel.correct, summary.calibration, summary.agreement) == (None,) * 4
    assert (summary.grounding.share, summary.false_accepts, summary.false_rejects) == (None,) * 3
    assert (summary.calls, summary.finished, summary.reason) == (None, False, "it has not come to its end")


def test_a_run_without_items_has_a_summary() -> None:
    """A run that was cut short at once is told all the same."""
    summary = summary_of(Made("judges", [actor("a"), actor("b")], traces=3))
    assert (summary.counts.items, summary.latency) == (0, {})


def test_a_log_without_its_first_line_is_refused() -> None:
    """Nothing can be said about a log that does not open a run."""
    lines = list(tribunal().lines())
    for damaged in ([], lines[1:]):
        with pytest.raises(JuryLogError):
            summarise(damaged)
        with pytest.raises(JuryLogError):
            survey(damaged)


def test_lists_are_bounded() -> None:
    """However many items wait, the first hundred are named and all are counted."""
    summary = summary_of(judges([("accept", "reject", None)] * 150))
    assert (summary.reviews.pending.count, len(summary.reviews.pending.first)) == (150, LISTED)
    assert summary.panels == ()


def test_latency_is_told_by_step() -> None:
    """Median and 95th percentile, of each step and of all."""
    log = judges([("accept", None, None)] * 20)
    times = iter(range(1, 21))
    for event in log.events:
        if getattr(event, "ms", None) is not None:
            event.ms = next(times)  # type: ignore[attr-defined]
    latency = summary_of(log).latency
    assert latency == {
        "all": measures.Percentiles(samples=20, p50=10, p95=19),
        "verdict": measures.Percentiles(samples=20, p50=10, p95=19),
    }


def test_a_missing_answer_that_came_later_is_not_missing() -> None:
    """After a resume only what nobody ever gave is missing."""
    log = Made("judges", [actor("a"), actor("b")], traces=1)
    log.item("t/1")
    log.absent("a", "verdict")
    log.absent("b", "verdict")
    log.absent("b", "verdict", epoch=1)
    log.answer("a", "verdict", opinion("accept", 80))
    assert summary_of(log).missing.first == ("t%2F1/-/verdict/b",)


# ------------------------------------------------------------------ measures


@given(st.lists(st.tuples(PROBABILITIES, st.booleans()), max_size=40))
def test_calibration_stays_within_its_bounds(forecasts: list[tuple[float, bool]]) -> None:
    """Scores are shares, and nothing is scored where nothing was forecast."""
    probabilities, held = [one for one, _ in forecasts], [int(was) for _, was in forecasts]
    for score in (measures.brier(probabilities, held), measures.calibration_error(probabilities, held)):
        assert (score is None) == (not forecasts)
        assert score is None or 0 <= score <= 1


@given(st.lists(st.floats(0, 100), max_size=12))
def test_polarization_is_the_population_standard_deviation(values: list[float]) -> None:
    """As the standard library computes it, and at most 50 points."""
    found = measures.polarization(values)
    if len(values) < 2:
        assert found is None
    else:
        assert found is not None
        assert found == pytest.approx(statistics.pstdev(values), abs=1e-6)
        assert found <= 50 + 1e-9


@given(VOTES, st.integers(2, 3))
def test_agreement_is_that_of_its_textbook(items: list[tuple[str | None, ...]], raters: int) -> None:
    """Cohen's and Fleiss' kappa, computed once more from the votes themselves."""
    seats = [f"j{number}" for number in range(raters)]
    counted = measures.Votes(seats)
    whole = []
    for votes in items:
        mine = dict(zip(seats, votes, strict=False))
        counted.add({seat: vote for seat, vote in mine.items() if vote is not None})
        if None not in mine.values():
            whole.append(list(mine.values()))
    found = counted.agreement()
    if len(whole) < 2:
        assert found is None
        return
    assert found is not None
    pairs = [(one[a], one[b]) for one in whole for a in range(raters) for b in range(a + 1, raters)]
    observed = sum(a == b for a, b in pairs) / len(pairs)
    if raters == 2:
        expected = (
            sum(
                sum(one[0] == option for one in whole) * sum(one[1] == option for one in whole)
                for option in ("accept", "reject")
            )
            / len(whole) ** 2
        )
    else:
        flat = [vote for one in whole for vote in one]
        expected = sum((flat.count(option) / len(flat)) ** 2 for option in ("accept", "reject"))
    assert (found.items, found.observed) == (len(whole), pytest.approx(observed, abs=1e-6))
    assert found.expected == pytest.approx(expected, abs=1e-6)
    if math.isclose(expected, 1):
        assert found.kappa is None
    else:
        assert found.kappa == pytest.approx((observed - expected) / (1 - expected), abs=1e-5)


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=50))
def test_percentiles_are_values_that_occurred(values: list[int]) -> None:
    """By nearest rank: at least that share of the values is no greater."""
    found = measures.percentiles(values)
    assert found is not None
    for share, value in ((0.5, found.p50), (0.95, found.p95)):
        assert value in values
        assert sum(one <= value for one in values) >= share * len(values)
