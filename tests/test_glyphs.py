"""Bars, sparklines, intervals and charts of characters."""

import pytest
from a2a_trust.dashboard import glyphs, timechart
from a2a_trust.dashboard.trends import Course, Point
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

SHARES = st.floats(0, 1)
HOUR = 3_600_000
START = 1_796_000_000_000


@given(SHARES, st.integers(1, 40), st.booleans())
def test_a_bar_is_as_wide_as_it_is_asked_to_be(value: float, width: int, low: bool) -> None:  # noqa: FBT001 - generated
    """No value makes a bar overflow its column."""
    assert cell_len(glyphs.bar(value, width, low=low)) == width


def test_a_bar_with_little_behind_it_looks_different() -> None:
    """Without colour, too, few samples can be told from many."""
    assert "█" in glyphs.bar(0.5, 10)
    assert "█" not in glyphs.bar(0.5, 10, low=True)


@given(SHARES, SHARES, st.integers(1, 40))
def test_a_greater_value_never_has_a_shorter_bar(one: float, other: float, width: int) -> None:
    """Bars can be compared by looking."""

    def length(value: float) -> float:
        text = glyphs.bar(value, width)
        return text.count("█") + sum((" ▏▎▍▌▋▊▉".index(char)) / 8 for char in text if char in "▏▎▍▌▋▊▉")

    low, high = sorted((one, other))
    assert length(low) <= length(high)


@given(st.text(max_size=80), st.integers(0, 40))
def test_fitted_text_has_exactly_the_width(text: str, width: int) -> None:
    """Whatever a name holds, it takes the cells of its column, and no control comes through."""
    fitted = glyphs.fit(text, width)
    assert cell_len(fitted) == width
    assert "\n" not in fitted
    assert "\x1b" not in fitted


@given(st.lists(SHARES, max_size=100), st.integers(1, 64))
def test_a_sparkline_is_as_wide_as_it_is_asked_to_be(values: list[float], width: int) -> None:
    """Few values leave its left side empty."""
    assert len(glyphs.spark(values, width)) == width


def test_a_sparkline_rises_and_falls_with_its_values() -> None:
    """The least value is lowest, the greatest highest, and hardly any movement looks like none."""
    assert glyphs.spark([0.1, 0.5, 0.9], 3) == "▁▅█"
    assert set(glyphs.spark([0.50, 0.51, 0.50], 3)) <= {"▄", "▅"}


@pytest.mark.parametrize(
    ("passed", "text"),
    [
        (5_000, "5s"),
        (90_000, "1m"),
        (5 * HOUR, "5h"),
        (72 * HOUR, "3d"),
        (200 * 24 * HOUR, "6mo"),
        (800 * 24 * HOUR, "2y"),
        (-5000, "in 5s"),
    ],
)
def test_an_age_is_told_in_its_own_unit(passed: int, text: str) -> None:
    """Seconds to years, and a clock that runs ahead is no trouble."""
    assert glyphs.age(START, START + passed) == text


def test_an_unknown_time_has_no_age() -> None:
    """Undated is not fifty years ago."""
    assert glyphs.age(0, START) == "–"


@pytest.mark.parametrize(("samples", "text"), [(7, "7"), (9999, "9999"), (12_345, "12k"), (1_234_567, "1M")])
def test_counts_stay_short(samples: int, text: str) -> None:
    """At most four characters."""
    assert glyphs.count(samples) == text


@pytest.mark.parametrize(("delta", "text"), [(0.1234, "▲0.123"), (-0.05, "▼0.050"), (0.0001, "=")])
def test_a_change_has_a_sign_that_needs_no_colour(delta: float, text: str) -> None:
    """Up, down, or nothing that could be shown."""
    assert glyphs.signed(delta) == text


# ---------------------------------------------------------------------- charts over time


def made_course(*hours_and_qualities: tuple[float, float]) -> Course:
    """A course of points at some hours, whose values are their qualities."""
    points = [
        Point(START + int(hour * HOUR), quality, quality, "tool-success") for hour, quality in hours_and_qualities
    ]
    return Course(0.5, points, whole=True)


def test_time_is_spread_evenly() -> None:
    """Half of the time is half of the width, however many events are in it."""
    line = made_course((0, 0.8), (1, 0.8), (1.1, 0.8), (10, 0.8))
    cells = timechart.columns(line, timechart.span_of([line]), 20)
    assert [place for place, cell in enumerate(cells) if cell.events] == [0, 1, 2, 19]


def test_silence_is_a_gap() -> None:
    """Where nothing was recorded for a while, no value is drawn."""
    line = made_course((0, 0.8), (10, 0.8))
    cells = timechart.columns(line, timechart.span_of([line]), 20)
    assert [cell.value for cell in cells] == [0.8, *[None] * 18, 0.8]


def test_bad_evidence_is_marked_where_it_was() -> None:
    """The mark stands under its time."""
    line = made_course((0, 0.8), (5, 0.0), (10, 0.8))
    chart = timechart.draw(line, timechart.span_of([line]), 21, 4)
    assert chart.axis.index(timechart.BAD_MARK) == 10
    assert chart.axis.count(timechart.BAD_MARK) == 1


@given(
    st.lists(st.tuples(st.floats(0, 1000), SHARES), max_size=40).map(sorted), st.integers(1, 200), st.integers(1, 10)
)
def test_every_line_of_a_chart_is_as_wide_as_the_chart(
    points: list[tuple[float, float]], width: int, height: int
) -> None:
    """Whatever happened when, nothing overflows."""
    line = made_course(*points)
    chart = timechart.draw(line, timechart.span_of([line]), width, height)
    assert {len(text) for text in (*chart.rows, chart.axis, chart.labels)} == {width}
    assert len(chart.rows) == height
