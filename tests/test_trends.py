"""Courses and changes, found from what the snapshot keeps."""

from pathlib import Path

import pytest
from a2a_trust.dashboard import board as boards
from a2a_trust.dashboard.detail import read_detail
from a2a_trust.dashboard.trends import HOUR_MS, Window, course, dimension_change, thin, total_change, total_course
from boards import NOW, agent_rows, demo_home, record
from hypothesis import given
from hypothesis import strategies as st

from a2a_trust.lenses import Lens
from a2a_trust.model import DIMENSIONS, Details, Dimension, HistoryEntry, Profile, Stats
from a2a_trust.policy import STANDARD
from a2a_trust.reputation import fold
from a2a_trust.signals import DimensionSignal, Signal, TrustSignals

COMPETENCE = Dimension.COMPETENCE


def only_signal(home: Path) -> Signal:
    """The one agent of a home."""
    (signal,) = TrustSignals(home).agents()
    return signal


@pytest.fixture
def invented(tmp_path: Path) -> Path:
    """A home with the invented agents, of which several have more evidence than a snapshot keeps."""
    demo_home(tmp_path)
    return tmp_path


def test_a_course_ends_at_the_value(invented: Path) -> None:
    """However much the snapshot has forgotten, the last point is the number that is shown."""
    for signal in TrustSignals(invented).agents():
        for dim in DIMENSIONS:
            found = course(signal, dim, STANDARD)
            if found.points:
                assert found.points[-1].value == signal.dimensions[dim].value


def test_a_course_from_the_snapshot_is_that_from_the_rows(invented: Path) -> None:
    """Run backwards from its end, the fold meets the values that the rows give, to what a chart can show."""
    board = boards.load(invented, Lens.FINGERPRINT)
    for signal in board.signals:
        detail = read_detail(invented, board, signal)
        assert detail is not None
        for dim in DIMENSIONS:
            known = course(signal, dim, STANDARD).points
            exact = detail.courses[dim].points[-len(known) :] if known else []
            assert [point.value for point in known] == pytest.approx([point.value for point in exact], abs=0.02)


@given(st.lists(st.sampled_from([0.0, 0.5, 0.7, 0.8, 1.0]), min_size=1, max_size=150))
def test_any_course_is_found_back(qualities: list[float]) -> None:
    """From the end and the last 64 qualities the whole kept course follows, whatever stood before them."""
    kept = qualities[-64:]
    end = fold(qualities, STANDARD)
    signal = made_signal(kept, end, len(qualities))
    points = course(signal, COMPETENCE, STANDARD).points
    exact = [fold(qualities[: len(qualities) - len(kept) + place + 1], STANDARD) for place in range(len(kept))]
    # The first few points may hang on a start that has been forgotten; it is then forgotten in the value, too.
    assert [point.value for point in points[-8:]] == pytest.approx(exact[-8:], abs=0.005)


def made_signal(kept: list[float], value: float, samples: int) -> Signal:
    """A signal with one dimension of known history."""

    def state(dim: Dimension) -> DimensionSignal:
        mine = dim is COMPETENCE
        return DimensionSignal(
            value=value if mine else None, samples=samples if mine else 0, good=0, rate=None, low=None, high=None,
            confidence="enough" if mine else "none",
        )  # fmt: skip

    return Signal(
        key="k", name="n", profile=Profile(name="n"), scored=True, recurring=False,
        dimensions={dim: state(dim) for dim in DIMENSIONS}, total=value, stats=Stats(), first_seen=1,
        last_seen=99, stale_for=None,
        history=[
            HistoryEntry(time=place, kind="tool-success", dim=COMPETENCE, quality=quality, detail=Details())
            for place, quality in enumerate(kept)
        ],
    )  # fmt: skip


def test_the_total_has_a_course(tmp_path: Path) -> None:
    """The sparkline ends at the total."""
    record(tmp_path, agent_rows(Profile(name="a"), "++++-+++"))
    signal = only_signal(tmp_path)
    assert total_course(signal, STANDARD)[-1] == pytest.approx(signal.total, abs=1e-4)


def test_a_change_is_the_difference_to_the_value_before_the_window(tmp_path: Path) -> None:
    """Ten good calls yesterday and three bad ones in the last hour: the change is what the three did."""
    rows = agent_rows(Profile(name="a"), "+" * 10 + "---", apart_ms=20 * 60_000)
    record(tmp_path, rows)
    signal = only_signal(tmp_path)
    now = NOW + 60_000
    before = fold([0.8] * 10, STANDARD)
    after = fold([0.8] * 10 + [0.0] * 3, STANDARD)
    change = dimension_change(signal, COMPETENCE, STANDARD, Window.HOUR.since(now))
    assert change is not None
    assert change.delta == pytest.approx(after - before, abs=1e-6)
    assert change.whole


def test_without_evidence_in_the_window_nothing_changed(tmp_path: Path) -> None:
    """An agent that rested did not move."""
    record(tmp_path, agent_rows(Profile(name="a"), "+" * 9))
    change = total_change(only_signal(tmp_path), STANDARD, Window.HOUR.since(NOW + 2 * HOUR_MS))
    assert change == (0.0, True)


def test_over_everything_the_change_is_that_from_the_start(tmp_path: Path) -> None:
    """Every dimension begins at 0.5."""
    record(tmp_path, agent_rows(Profile(name="a"), "+" * 9))
    signal = only_signal(tmp_path)
    change = total_change(signal, STANDARD, Window.ALL.since(NOW))
    assert change is not None
    assert change.delta == pytest.approx((signal.dimensions[COMPETENCE].value or 0) - 0.5)


def test_a_change_that_reaches_behind_the_snapshot_says_so(tmp_path: Path) -> None:
    """Where more happened in the window than the snapshot keeps, the change is marked."""
    record(tmp_path, agent_rows(Profile(name="a"), "+-" * 60))
    change = total_change(only_signal(tmp_path), STANDARD, Window.WEEK.since(NOW))
    assert change is not None
    assert not change.whole


def test_no_total_has_no_change(tmp_path: Path) -> None:
    """Too little evidence for a total is too little for its change."""
    record(tmp_path, agent_rows(Profile(name="a"), "++"))
    assert total_change(only_signal(tmp_path), STANDARD, 0) is None


@given(st.lists(st.floats(0, 1), min_size=1, max_size=200), st.integers(1, 80))
def test_thinning_keeps_the_end(values: list[float], width: int) -> None:
    """At most as many values as asked for, in their order, the newest among them."""
    found = thin(values, width)
    assert len(found) <= width
    assert found[-1] == values[-1]
