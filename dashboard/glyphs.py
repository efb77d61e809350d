"""Numbers as characters: bars, sparklines, intervals, ages. Pure; every shape can be told apart without colour."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from a2a_trust.dashboard.trends import thin
from rich.cells import cell_len, set_cell_size

from a2a_trust.text import percent, safe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_trust.signals import DimensionSignal

_EIGHTHS = " ▏▎▍▌▋▊▉"
_FULL = "█"
_LEVELS = "▁▂▃▄▅▆▇█"
_TRACK = "·"
_LOW_FILL = "░"
_LEAST_SPAN = 0.2
_THOUSAND = 1000
_SECOND_MS, _MINUTE_MS, _HOUR_MS, _DAY_MS = 1000, 60_000, 3_600_000, 86_400_000
_DAYS_SHOWN = 100
LOW = "low"
BLANK = "(blank)"
_INVISIBLE = frozenset("\u115f\u1160\u200c\u200d\u2800\u3164\uffa0")
"""Characters that are no spaces, and that are not shown as their codes, but leave nothing to see."""


def named(name: str) -> str:
    """Return a name, or what to show in place of one that nobody could see or click."""
    return name if any(not char.isspace() and char not in _INVISIBLE for char in name) else BLANK


def fit(text: str, width: int, *, right: bool = False) -> str:
    """Return text made safe and exactly `width` cells wide, `…` where something was left out."""
    text = safe(text)
    length = cell_len(text)
    if length > width:
        text = set_cell_size(text, max(0, width - 1)).rstrip() + "…" if width > 0 else ""
        length = cell_len(text)
    padding = " " * (width - length)
    return padding + text if right else text + padding


def bar(value: float, width: int, *, low: bool = False) -> str:
    """Return a bar of `width` cells for a value in [0, 1]; hollow where little stands behind it."""
    value = min(1.0, max(0.0, value))
    if low:
        filled = round(value * width)
        return _LOW_FILL * filled + _TRACK * (width - filled)
    eighths = round(value * width * 8)
    text = _FULL * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")
    return text + _TRACK * (width - len(text))


def spark(values: Sequence[float], width: int) -> str:
    """Return the course of values as a line of bars, the newest at the right end.

    The line shows how a value moved, so it spans from the least value to the greatest; a span of less than
    `_LEAST_SPAN` is not blown up.
    """
    if not values:
        return " " * width
    shown = thin(values, width)
    middle = (min(shown) + max(shown)) / 2
    span = max(_LEAST_SPAN, max(shown) - min(shown))
    places = ((value - middle) / span + 0.5 for value in shown)
    return "".join(_LEVELS[min(len(_LEVELS) - 1, max(0, int(place * len(_LEVELS))))] for place in places).rjust(width)


def interval_line(dimension: DimensionSignal, width: int) -> str:
    """Return a rate and its interval on an axis from 0 to 1 of `width` cells."""
    if dimension.rate is None or dimension.low is None or dimension.high is None:
        return _TRACK * width
    low, rate, high = (min(width - 1, int(share * width)) for share in (dimension.low, dimension.rate, dimension.high))
    cells = [_TRACK] * width
    cells[low : high + 1] = "─" * (high + 1 - low)
    cells[low], cells[high] = "├", "┤"
    cells[rate] = "●"
    return "".join(cells)


def number(value: float) -> str:
    """Return a value in [0, 1] with three decimals."""
    return f"{value:.3f}"


def count(samples: int) -> str:
    """Return a count in at most four characters."""
    if samples < _THOUSAND * 10:
        return str(samples)
    exponent = min(2, int(math.log10(samples)) // 3 - 1)
    return f"{samples // _THOUSAND ** (exponent + 1)}{'kMG'[exponent]}"


def rate(dimension: DimensionSignal) -> str:
    """Return the share of good evidence and its interval, in per cents."""
    if dimension.rate is None or dimension.low is None or dimension.high is None:
        return ""
    return f"{percent(dimension.rate)}% {percent(dimension.low)}–{percent(dimension.high)}"


def signed(delta: float) -> str:
    """Return a change with its sign and an arrow, ` =` where it rounds to nothing."""
    if abs(delta) < 0.0005:  # noqa: PLR2004 - half of the last decimal shown
        return "="
    return f"{'▲' if delta > 0 else '▼'}{abs(delta):.3f}"


def age(then_ms: int, now_ms: int) -> str:
    """Return how long ago something was, in at most four characters; `in 10h` ahead of the clock, `–` if unknown."""
    if then_ms <= 0:
        return "–"
    if then_ms - now_ms >= _SECOND_MS:
        # A clock that was wrong: what it wrote must not look as if it were of this moment.
        return f"in {_span(then_ms - now_ms)}"
    return _span(max(0, now_ms - then_ms))


def ago(then_ms: int, now_ms: int) -> str:
    """Return an age as it is said: `5m ago`, but `in 10h` and `–`."""
    said = age(then_ms, now_ms)
    return f"{said} ago" if 0 < then_ms < now_ms + _SECOND_MS else said


def _span(passed: int) -> str:
    if passed < _MINUTE_MS:
        return f"{passed // _SECOND_MS}s"
    if passed < _HOUR_MS:
        return f"{passed // _MINUTE_MS}m"
    if passed < 2 * _DAY_MS:
        return f"{passed // _HOUR_MS}h"
    if passed < _DAYS_SHOWN * _DAY_MS:
        return f"{passed // _DAY_MS}d"
    return f"{passed // (365 * _DAY_MS)}y" if passed >= 365 * _DAY_MS else f"{passed // (30 * _DAY_MS)}mo"


def short(samples: int) -> str:
    """Return a large count in three characters."""
    if samples < _THOUSAND * 100:
        return f"{samples // _THOUSAND}k".rjust(3)
    return "99k" if samples < _THOUSAND**2 else f"{min(99, samples // _THOUSAND**2)}M".rjust(3)
