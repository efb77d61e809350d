"""The course of a value as a chart of characters: a real time axis, marks for bad evidence, gaps where nothing was.

Pure. One column is one span of time; what happened in it is drawn from the value before it to the value after it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from a2a_trust.policy import GOOD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_trust.dashboard.trends import Course, Point

BAD_MARK = "▼"
_IDLE, _AXIS, _IDLE_AXIS = " ", "─", "╌"
_LEVELS = " ▁▂▃▄▅▆▇█"
_DAY_MS = 86_400_000
_GAP_COLUMNS = 3
"""Empty columns in a row from which on a chart shows a gap instead of a level line."""


class Span(NamedTuple):
    """The time that a chart covers, ms."""

    first: int
    last: int


class Cell(NamedTuple):
    """One column of a chart."""

    value: float | None
    """The last value in it, or the one carried through it; `None` in a gap."""
    low: float | None
    """The lowest value in it."""
    bad: int
    """Pieces of bad evidence in it."""
    events: int


class Chart(NamedTuple):
    """Lines of text, all of the same width, top to bottom."""

    rows: list[str]
    axis: str
    """One character a column: a mark where bad evidence is, dashes in a gap."""
    labels: str


def span_of(courses: Sequence[Course]) -> Span:
    """Return the time over which there is evidence; at least a second."""
    times = [point.time for course in courses for point in course.points if point.time > 0]
    if not times:
        return Span(0, 1000)
    return Span(min(times), max(*times, min(times) + 1000))


def columns(course: Course, span: Span, width: int) -> list[Cell]:
    """Return what happened in each of `width` equal spans of time."""
    buckets: list[list[Point]] = [[] for _ in range(width)]
    length = span.last - span.first
    for point in course.points:
        place = (point.time - span.first) * width // (length + 1)
        buckets[min(width - 1, max(0, place))].append(point)
    busy = [place for place, bucket in enumerate(buckets) if bucket]
    cells: list[Cell] = []
    value = course.start
    for place, bucket in enumerate(buckets):
        if bucket:
            values = [point.value for point in bucket]
            value = values[-1]
            bad = sum(point.quality < GOOD for point in bucket)
            cells.append(Cell(value, min(values), bad, len(bucket)))
            continue
        before = max((other for other in busy if other < place), default=None)
        after = min((other for other in busy if other > place), default=None)
        idle = before is None or after is None or after - before > _GAP_COLUMNS
        cells.append(Cell(None if idle else value, None, 0, 0))
    return cells


def draw(course: Course, span: Span, width: int, height: int) -> Chart:
    """Return a chart of `width` by `height` cells, and the lines below it."""
    cells = columns(course, span, width)
    rows = ["".join(_glyph(cell, level, height) for cell in cells) for level in range(height - 1, -1, -1)]
    axis = "".join(BAD_MARK if cell.bad else _IDLE_AXIS if cell.value is None else _AXIS for cell in cells)
    return Chart(rows, axis, time_labels(span, width))


def _glyph(cell: Cell, level: int, height: int) -> str:
    if cell.value is None:
        return _IDLE
    eighths = round((cell.value * height - level) * 8)
    if level == 0:
        eighths = max(1, eighths)
    return _LEVELS[min(8, max(0, eighths))]


def time_labels(span: Span, width: int) -> str:
    """Return the axis's labels in UTC: the first and the last time, and times between them where there is room."""
    if span.first <= 0:
        return " " * width
    length = span.last - span.first
    form = "%m-%d" if length > 4 * _DAY_MS else "%m-%d %H:%M" if length > _DAY_MS // 2 else "%H:%M:%S"
    size = len(_label(span.first, form))
    labels = max(2, width // (size + 6)) if width >= 2 * size + 1 else 1
    line = [" "] * width
    for number in range(labels):
        place = 0 if labels == 1 else number * (width - size) // (labels - 1)
        share = 0.0 if labels == 1 else number / (labels - 1)
        line[place : place + size] = _label(span.first + int(length * share), form)[: width - place]
    return "".join(line)[:width]


def _label(time: int, form: str) -> str:
    return format(datetime.fromtimestamp(time / 1000, UTC), form)
