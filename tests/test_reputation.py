"""The arithmetic of reputation: exact steps, totals, confidence, and rates with their interval."""

import math
from collections.abc import Iterator
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_trust.model import DIMENSIONS, Dimension, DimensionTrust, Policy
from a2a_trust.policy import BUILT_IN, STANDARD
from a2a_trust.reputation import PRIOR, Z_95, confidence, fold, interval, step, total

policies = st.sampled_from(list(BUILT_IN.values()))
values = st.integers(0, 10**6).map(lambda millionths: millionths / 1e6)
qualities = st.floats(0, 1)


def trust(**numbers: tuple[float, int]) -> dict[Dimension, DimensionTrust]:
    """The four dimensions, each as (value, samples); those not named have no evidence."""
    found = {dim: numbers.get(dim, (PRIOR, 0)) for dim in DIMENSIONS}
    return {dim: DimensionTrust(value=value, samples=samples, good=0) for dim, (value, samples) in found.items()}


def weighing(**weights: float) -> Policy:
    """The standard policy with other weights; dimensions not named weigh 1."""
    merged = {**STANDARD.weights, **{Dimension(dim): weight for dim, weight in weights.items()}}
    return msgspec.structs.replace(STANDARD, weights=merged)


# ---------------------------------------------------------------------- one step


@pytest.mark.parametrize("policy", BUILT_IN.values(), ids=list(BUILT_IN))
@pytest.mark.parametrize(
    ("start", "qualities_", "expected"),
    [
        (0.5, [1.0], 0.55),
        (0.5, [1.0, 1.0], 0.595),
        (0.5, [0.0], 0.35),
        (0.35, [1.0, 1.0, 1.0], 0.52615),
        (0.5, [0.8] * 5, 0.622853),
        (0.5, [0.7], 0.52),
        (0.5, [0.5], 0.5),
        (0.5, [0.25], 0.425),
        (0.5, [], 0.5),
        (1.0, [0.0], 0.7),
        (0.0, [0.0], 0.0),
        (1.0, [1.0], 1.0),
        (0.0, [1.0], 0.1),
    ],
)
def test_steps_give_exact_values(policy: Policy, start: float, qualities_: list[float], expected: float) -> None:
    """Good news moves the index by a tenth of the way, bad news by three tenths, to the last digit."""
    assert fold(qualities_, policy, start) == expected


def test_a_fold_starts_in_the_middle() -> None:
    """Without a start the index begins at one half."""
    assert fold([1.0], STANDARD) == 0.55


def test_one_half_is_good_news() -> None:
    """The quality from which on evidence counts as good is 0.5 itself; the next smaller number is bad news."""
    below = math.nextafter(0.5, 0.0)
    assert (step(1.0, 0.5, STANDARD), step(1.0, below, STANDARD)) == (0.95, 0.85)


def test_a_step_rounds_half_up() -> None:
    """A seventh decimal of five goes up."""
    halves = msgspec.structs.replace(STANDARD, alpha_good=0.5)
    # 65/128, a half at the seventh decimal even in binary; rounding half to even would take it down.
    assert step(1 / 64, 1.0, halves) == 0.507813


@pytest.mark.parametrize(("quality", "clamped"), [(1.5, 1.0), (1e308, 1.0), (-0.5, 0.0), (-1e308, 0.0)])
def test_a_quality_out_of_range_is_clamped(quality: float, clamped: float) -> None:
    """More than 1 counts as 1, less than 0 as 0."""
    assert step(0.5, quality, STANDARD) == step(0.5, clamped, STANDARD)


@pytest.mark.parametrize("quality", [math.nan, math.inf, -math.inf])
def test_a_quality_that_is_no_number_is_refused(quality: float) -> None:
    """A quality that is not finite is named and moves nothing."""
    with pytest.raises(ValueError, match=f"finite, found {quality}"):
        step(0.5, quality, STANDARD)


@given(value=values, quality=qualities, policy=policies)
def test_a_step_is_the_formula(value: float, quality: float, policy: Policy) -> None:
    """One step is the published formula in IEEE doubles, bit for bit."""
    alpha = 0.10 if quality >= 0.5 else 0.30
    assert step(value, quality, policy) == math.floor((alpha * quality + (1 - alpha) * value) * 1e6 + 0.5) / 1e6


@given(value=values, quality=qualities, policy=policies)
def test_a_step_never_passes_its_quality(value: float, quality: float, policy: Policy) -> None:
    """The index moves towards the quality, and no further."""
    after, margin = step(value, quality, policy), 1e-6
    assert min(value, quality) - margin <= after <= max(value, quality) + margin


@given(start=values, given_=st.lists(st.floats(allow_nan=False, allow_infinity=False)), policy=policies)
def test_the_index_stays_between_0_and_1(start: float, given_: list[float], policy: Policy) -> None:
    """No row of finite qualities takes the index out of [0, 1]."""
    assert 0 <= fold(given_, policy, start) <= 1


@given(start=values, first=st.lists(qualities), second=st.lists(qualities), policy=policies)
def test_a_fold_may_be_cut_anywhere(start: float, first: list[float], second: list[float], policy: Policy) -> None:
    """Folding two parts one after the other gives what folding the whole gives."""
    assert fold(second, policy, fold(first, policy, start)) == fold([*first, *second], policy, start)


@given(value=values, quality=qualities)
def test_a_step_keeps_six_decimals(value: float, quality: float) -> None:
    """The index never has more than six decimals."""
    after = step(value, quality, STANDARD)
    assert after == round(after, 6)


# ---------------------------------------------------------------------- total


@pytest.mark.parametrize("policy", BUILT_IN.values(), ids=list(BUILT_IN))
def test_there_is_no_total_without_evidence(policy: Policy) -> None:
    """Nothing known is `None`, not one half."""
    assert total(trust(), policy) is None


@pytest.mark.parametrize(("samples", "expected"), [(1, None), (4, None), (5, 0.9), (6, 0.9)])
def test_a_total_needs_five_samples(samples: int, expected: float | None) -> None:
    """A dimension with four pieces of evidence is not in the total, with five it is."""
    assert total(trust(competence=(0.9, samples)), STANDARD) == expected


def test_samples_do_not_add_up_over_dimensions() -> None:
    """Four and four pieces of evidence in two dimensions are not five in one."""
    assert total(trust(competence=(0.9, 4), reliability=(0.9, 4)), STANDARD) is None


def test_a_total_leaves_out_what_has_too_little_evidence() -> None:
    """A dimension that is left out pulls the mean nowhere."""
    assert total(trust(competence=(0.9, 5), reliability=(0.1, 4)), STANDARD) == 0.9


def test_a_total_is_the_mean() -> None:
    """Under equal weights every dimension counts the same, however much evidence it has."""
    numbers = trust(competence=(0.9, 500), reliability=(0.5, 5), communication=(0.4, 5), integrity=(0.2, 5))
    assert total(numbers, STANDARD) == 0.5


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (weighing(competence=3.0), 0.725),
        (weighing(competence=0.0), 0.2),
        (weighing(competence=1e-9), 0.2),
        (weighing(reliability=0.0), 0.9),
        (weighing(competence=0.0, reliability=0.0), None),
        (msgspec.structs.replace(STANDARD, weights={Dimension.COMPETENCE: 2.0}), 0.9),
        (msgspec.structs.replace(STANDARD, weights={}), None),
        (msgspec.structs.replace(STANDARD, min_samples=6), None),
    ],
)
def test_a_total_obeys_the_policy(policy: Policy, expected: float | None) -> None:
    """Weights and the samples needed are the policy's; a dimension that it does not list weighs nothing."""
    assert total(trust(competence=(0.9, 5), reliability=(0.2, 5)), policy) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.123449, 0.1234), (0.12345, 0.1235), (0.12355, 0.1236), (0.40625, 0.4063), (0.99995, 1.0), (0.00005, 0.0001)],
)
def test_a_total_rounds_half_up_to_four_decimals(value: float, expected: float) -> None:
    """A fifth decimal of five goes up, whatever digit stands before it."""
    assert total(trust(competence=(value, 5)), STANDARD) == expected


@given(numbers=st.dictionaries(st.sampled_from(DIMENSIONS), st.tuples(values, st.integers(0, 9)), min_size=1))
def test_a_total_lies_between_its_dimensions(numbers: dict[Dimension, tuple[float, int]]) -> None:
    """The total is never above the best nor below the worst dimension that counts."""
    found = total(trust(**numbers), STANDARD)
    counted = [value for value, samples in numbers.values() if samples >= 5]
    assert (found is None) == (not counted)
    assert found is None or min(counted) - 5e-5 <= found <= max(counted) + 5e-5


@given(st.permutations(DIMENSIONS), st.lists(values, min_size=4, max_size=4))
def test_a_total_does_not_depend_on_the_order_of_dimensions(order: list[Dimension], given_: list[float]) -> None:
    """However the map was filled, the sum is made in one order, so that its last digit is the same."""
    known = trust(**dict(zip(DIMENSIONS, ((value, 5) for value in given_), strict=True)))
    assert total({dim: known[dim] for dim in order}, STANDARD) == total(known, STANDARD)


# ---------------------------------------------------------------------- confidence


@pytest.mark.parametrize(
    ("samples", "expected"), [(0, "none"), (1, "low"), (4, "low"), (5, "enough"), (10**6, "enough")]
)
def test_confidence_says_how_much_stands_behind_a_number(samples: int, expected: str) -> None:
    """No evidence is none, fewer than five pieces are low, five are enough."""
    assert confidence(samples, STANDARD) == expected


@pytest.mark.parametrize(("samples", "expected"), [(1, "enough"), (0, "none")])
def test_confidence_obeys_the_policy(samples: int, expected: str) -> None:
    """What is enough is the policy's; nothing is never enough."""
    assert confidence(samples, msgspec.structs.replace(STANDARD, min_samples=1)) == expected


# ---------------------------------------------------------------------- the rate and its interval

counts = st.integers(1, 10_000).flatmap(lambda samples: st.tuples(st.integers(0, samples), st.just(samples)))


def test_there_is_no_interval_without_evidence() -> None:
    """Nothing known has no rate."""
    assert interval(0, 0) is None


@pytest.mark.parametrize(
    ("good", "samples", "low", "high"),
    [
        # Newcombe, R. G. (1998), Two-sided confidence intervals for the single proportion, table I, method 3.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
        # Without evidence against, or for: z² / (n + z²) from the end.
        (10, 10, 0.7225, 1.0000),
        (0, 10, 0.0000, 0.2775),
        (1, 1, 0.2065, 1.0000),
        (5, 10, 0.2366, 0.7634),
    ],
)
def test_the_interval_is_the_one_in_the_textbook(good: int, samples: int, low: float, high: float) -> None:
    """Published Wilson 95 % intervals come out to the published digits."""
    found = interval(good, samples)
    assert found is not None
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)


@given(counts)
def test_the_rate_is_the_share_of_good_evidence(numbers: tuple[int, int]) -> None:
    """The rate is good over all."""
    found = interval(*numbers)
    assert found is not None
    assert found.rate == numbers[0] / numbers[1]


@given(counts)
def test_the_interval_lies_between_0_and_1(numbers: tuple[int, int]) -> None:
    """No bound leaves [0, 1]."""
    found = interval(*numbers)
    assert found is not None
    assert 0 <= found.low <= found.high <= 1


def all_counts(most: int) -> Iterator[tuple[int, int]]:
    """Every pair of counts up to so many samples."""
    return ((good, samples) for samples in range(1, most + 1) for good in range(samples + 1))


def test_the_interval_contains_the_rate() -> None:
    """A rate lies within its own interval, at the ends 0 and 1 too."""
    outside = [
        (good, samples)
        for good, samples in all_counts(200)
        if (found := interval(good, samples)) is not None and not found.low <= found.rate <= found.high
    ]
    assert outside == []


@given(counts)
def test_the_bounds_solve_the_score_test(numbers: tuple[int, int]) -> None:
    """Each bound is a rate from which the one observed lies z standard errors away."""
    found = interval(*numbers)
    assert found is not None
    for bound in (found.low, found.high):
        distance = abs(found.rate - bound)
        assert math.isclose(distance, Z_95 * math.sqrt(bound * (1 - bound) / numbers[1]), abs_tol=1e-7)


@given(counts)
def test_good_and_bad_mirror_each_other(numbers: tuple[int, int]) -> None:
    """The interval of the bad evidence is the mirror image of that of the good."""
    good, samples = numbers
    found, mirrored = interval(good, samples), interval(samples - good, samples)
    assert found is not None
    assert mirrored is not None
    assert math.isclose(found.low, 1 - mirrored.high, abs_tol=1e-12)


@given(counts, st.integers(2, 50))
def test_more_samples_make_the_interval_narrower(numbers: tuple[int, int], times: int) -> None:
    """The same rate over more samples is known better."""
    few, many = interval(*numbers), interval(numbers[0] * times, numbers[1] * times)
    assert few is not None
    assert many is not None
    assert many.high - many.low < few.high - few.low


def test_one_more_good_piece_moves_both_bounds_up() -> None:
    """Over the same samples, more good evidence means a higher interval."""
    found = [bounds for good in range(31) if (bounds := interval(good, 30)) is not None]
    assert all(one.low < other.low and one.high < other.high for one, other in pairwise(found))
