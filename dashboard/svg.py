"""Charts as inline SVG for the report. Pure: numbers in, markup out; no text from a log ever comes here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_trust.dashboard.trends import thin

from a2a_trust.policy import GOOD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_trust.dashboard.timechart import Span
    from a2a_trust.dashboard.trends import Course

    from a2a_trust.signals import DimensionSignal

SPARK_WIDTH, SPARK_HEIGHT = 96, 20
CHART_WIDTH, CHART_HEIGHT = 600, 96
_GAP_SHARE = 1 / 12
"""Share of the chart's time from which on silence is drawn as a gap."""
_LEAST_SPAN = 0.2
_INTERVAL_WIDTH = 200


def spark(values: Sequence[float], points: int) -> str:
    """Return the course of values as a small line; empty where there are fewer than two."""
    if len(values) < 2:  # noqa: PLR2004 - a line has two ends
        return ""
    shown = thin(values, points)
    middle = (min(shown) + max(shown)) / 2
    span = max(_LEAST_SPAN, max(shown) - min(shown))
    step = SPARK_WIDTH / (len(shown) - 1)
    path = " ".join(
        f"{place * step:.0f},{(0.5 - (value - middle) / span) * (SPARK_HEIGHT - 2) + 1:.0f}"
        for place, value in enumerate(shown)
    )
    box = f"0 0 {SPARK_WIDTH} {SPARK_HEIGHT}"
    return f'<svg class="spark" viewBox="{box}" aria-hidden="true"><polyline points="{path}"/></svg>'


def chart(course: Course, span: Span, points: int) -> str:
    """Return a value over time: steps, a mark for each piece of bad evidence, dashes where nothing happened."""
    shown = course.points[-points:]
    before = len(course.points) - len(shown)
    value = course.points[before - 1].value if before else course.start
    length = max(1, span.last - span.first)
    lines: list[str] = []
    gaps: list[str] = []
    bad: list[str] = []
    x = last = None
    for point in shown:
        x = (point.time - span.first) / length * CHART_WIDTH
        y = _y(value)
        if last is None:
            lines.append(f"M{x:.1f} {y:.0f}")
        elif x - last > CHART_WIDTH * _GAP_SHARE:
            gaps.append(f"M{last:.1f} {y:.0f}H{x:.1f}")
            lines.append(f"M{x:.1f} {y:.0f}")
        else:
            lines.append(f"H{x:.1f}")
        value = point.value
        lines.append(f"V{_y(value):.0f}")
        if point.quality < GOOD:
            bad.append(f"M{x - 3:.1f} {CHART_HEIGHT}h6l-3-7z")
        last = x
    if last is not None:
        # A last short stroke: a single piece of evidence is to be seen, too.
        lines.append("h3")
    paths = {"axis": _RULES, "gap": "".join(gaps), "line": "".join(lines), "bad": "".join(bad)}
    box = f"-1 0 {CHART_WIDTH + 5} {CHART_HEIGHT + 1}"
    drawn = "".join(f'<path class="{name}" d="{path}"/>' for name, path in paths.items() if path)
    return f'<svg class="chart" viewBox="{box}" preserveAspectRatio="none" aria-hidden="true">{drawn}</svg>'


def _y(value: float) -> float:
    return 4 + (1 - value) * (CHART_HEIGHT - 14)


_RULES = "".join(f"M0 {_y(value):.0f}H{CHART_WIDTH}" for value in (0.0, 0.5, 1.0))


def interval(state: DimensionSignal) -> str:
    """Return a rate and its interval on an axis from 0 to 1."""
    if state.rate is None or state.low is None or state.high is None:
        return ""
    low, rate, high = (share * (_INTERVAL_WIDTH - 8) + 4 for share in (state.low, state.rate, state.high))
    return (
        f'<svg class="interval" viewBox="0 0 {_INTERVAL_WIDTH} 12" preserveAspectRatio="none" aria-hidden="true">'
        f'<path class="axis" d="M4 6H{_INTERVAL_WIDTH - 4}"/><path class="line" d="M{low:.0f} 6H{high:.0f}M{low:.0f} '
        f'2v8M{high:.0f} 2v8"/><circle cx="{rate:.0f}" cy="6" r="3.5"/></svg>'
    )
