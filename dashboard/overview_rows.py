"""How one agent is drawn in the overview: two lines, or one, in as many columns as the terminal has room for. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_trust.dashboard import glyphs
from a2a_trust.dashboard.board import MUCH_UNATTRIBUTABLE, Order, SortKey, unattributable_share
from a2a_trust.dashboard.grid import Column, Piece
from a2a_trust.dashboard.trends import Window, total_change, total_course
from msgspec import Struct

from a2a_trust.lenses import Lens
from a2a_trust.model import DIMENSIONS, Policy, Role
from a2a_trust.text import when

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_trust.signals import DimensionSignal, Signal

WIDE, WIDEST = 112, 168
"""Columns of the terminal from which on there is more in a row."""
FAIR, GOOD = 0.4, 0.7
"""Values from which on a bar is yellow, and green."""
MARK, UNATTRIBUTABLE_MARK = "✓", "◌"
_DIM_WIDTHS = {"narrow": 11, "wide": 17, "widest": 21}
_SHORT_ROLES = {Role.TEAMMATE: "team", Role.SUBAGENT: "sub", Role.MAIN: "main"}
_COUNT_DIGITS = 999


class Look(Struct, frozen=True, kw_only=True):
    """What decides how rows are drawn, beside the agent."""

    width: int
    lens: Lens
    order: Order
    window: Window
    now: int
    policy: Policy
    marked: frozenset[str] = frozenset()
    compact: bool = False

    @property
    def size(self) -> str:
        """Return `narrow`, `wide` or `widest`."""
        return "widest" if self.width >= WIDEST else "wide" if self.width >= WIDE else "narrow"


def tone(value: float) -> str:
    """Return the name of the style of a value in [0, 1]."""
    return "good" if value >= GOOD else "fair" if value >= FAIR else "bad"


def columns(look: Look) -> list[Column]:
    """Return the columns that fit."""
    size, dim_width = look.size, _DIM_WIDTHS[look.size]
    tail = [Column("total", "total", 6), Column("change", f"Δ{look.window}", 7)]
    if size == "widest":
        tail += [Column("spark", "last 64 steps", 0), Column("seen", "last seen", 11)]
    fixed = 2 + sum(column.width + 1 for column in tail) + len(DIMENSIONS) * (dim_width + 1)
    free = look.width - fixed - 2
    spark = 0
    if size == "widest":
        spark = min(64, max(16, free - 34))
        free -= spark
        tail[2] = tail[2]._replace(width=spark)
    title = "agent type" if look.lens is Lens.FINGERPRINT else str(look.lens)
    made = [
        Column("mark", "", 1),
        Column("name", title, max(12, free)),
        *(Column(dim, dim, dim_width) for dim in DIMENSIONS),
        *tail,
    ]
    shown = {SortKey.SAMPLES: SortKey.NAME, SortKey.SEEN: SortKey.SEEN if size == "widest" else SortKey.CHANGE}
    at = shown.get(look.order.key, look.order.key)
    arrow = "↑" if look.order.ascending else "↓"
    return [
        column._replace(arrow=arrow, title=column.title if at == look.order.key else f"{column.title} {look.order.key}")
        if column.key == at
        else column
        for column in made
    ]


def draw(signal: Signal, line: int, look: Look, spark: int) -> list[Sequence[Piece]]:
    """Return the pieces of one line of an agent, column by column; `spark` is the width of that column, if any."""
    cells: list[Sequence[Piece]] = []
    cells.append([(MARK if line == 0 and signal.key in look.marked else " ", "note")])
    cells.append(_name(signal, look) if line == 0 else [(_identity(signal, look), "faint")])
    for dim in DIMENSIONS:
        dimension = signal.dimensions[dim]
        cells.append(_value(dimension, look, scored=signal.scored) if line == 0 else [_below(dimension)])
    if line == 0:
        cells.append([("–", "faint") if signal.total is None else (glyphs.number(signal.total), "strong")])
        cells.append([_change(signal, look)])
    else:
        cells += _under_total(signal, look)
    if look.size == "widest":
        cells.append([_spark(signal, look, spark)] if line == 0 else [])
        if line == 0:
            cells.append([(glyphs.ago(signal.last_seen, look.now), "")])
        else:
            cells.append([(when(signal.last_seen)[5:], "faint")])
    return cells


def _name(signal: Signal, look: Look) -> list[Piece]:
    name = glyphs.named(signal.name if look.lens is Lens.FINGERPRINT else signal.key)
    if unattributable_share(signal) >= MUCH_UNATTRIBUTABLE:
        return [(f"{UNATTRIBUTABLE_MARK} ", "note"), (name, "strong")]
    return [(name, "strong")]


def _identity(signal: Signal, look: Look) -> str:
    """Return what tells an agent type from another of its name; of another lens, how much stands behind it."""
    if look.lens is not Lens.FINGERPRINT:
        samples = f"{glyphs.count(signal.samples)} samples"
        return samples if look.size == "narrow" else f"{samples}, {glyphs.count(signal.stats.sessions)} sessions"
    profile = signal.profile
    where = "/".join(part for part in (profile.provider, profile.context) if part)
    role = _SHORT_ROLES[profile.role] if look.size == "narrow" else profile.role
    text = f"{role} {where}".strip()
    if look.size != "narrow":
        text = " · ".join(part for part in (text, profile.model) if part)
    return text


def _value(dimension: DimensionSignal, look: Look, *, scored: bool) -> list[Piece]:
    width = _DIM_WIDTHS[look.size]
    if dimension.value is None:
        return [("no evidence" if scored else "not scored", "faint")]
    low = dimension.confidence == glyphs.LOW
    if look.size == "narrow":
        number = f"{dimension.value:.2f}".removeprefix("0")[:3]
        samples = f"{dimension.samples:<3}" if dimension.samples <= _COUNT_DIGITS else glyphs.short(dimension.samples)
        room = width - len(number) - 5
    else:
        number = glyphs.number(dimension.value)
        samples = f"{glyphs.count(dimension.samples):<4}"
        room = width - len(number) - 6
    style = "faint" if low else tone(dimension.value)
    return [
        (glyphs.bar(dimension.value, room, low=low) + " ", style),
        (number, "faint" if low else ""),
        ("/" + samples, "faint"),
    ]


def _below(dimension: DimensionSignal) -> Piece:
    if dimension.value is None:
        return ("", "")
    if dimension.confidence == glyphs.LOW:
        return ("not enough", "fair")
    return (glyphs.rate(dimension), "faint")


def _change(signal: Signal, look: Look) -> Piece:
    change = total_change(signal, look.policy, look.window.since(look.now))
    if change is None:
        return ("", "")
    text = glyphs.signed(change.delta)
    style = "faint" if text == "=" else "good" if change.delta > 0 else "bad"
    return (text + ("" if change.whole else "~"), style)


def _spark(signal: Signal, look: Look, width: int) -> Piece:
    values = total_course(signal, look.policy)
    style = "faint" if signal.total is None else tone(values[-1]) if values else ""
    return (glyphs.spark(values, width), style)


def _under_total(signal: Signal, look: Look) -> list[Sequence[Piece]]:
    if look.size == "widest":
        return [[], []]
    text, style = _spark(signal, look, 6)
    return [[(text, style)], [(glyphs.ago(signal.last_seen, look.now), "faint")]]
