"""Two or more agents side by side as a page of text. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_trust.dashboard import glyphs
from a2a_trust.dashboard.compare import verdicts
from a2a_trust.dashboard.overview_rows import tone
from rich.text import Text

from a2a_trust.lenses import Lens
from a2a_trust.model import DIMENSIONS
from a2a_trust.text import when

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from a2a_trust.signals import DimensionSignal, Signal

_NAME = 26
_NARROW_NAME = 18
_WIDE = 110


def letters(signals: Sequence[Signal]) -> list[str]:
    """Return what each agent is called on the page: names may be the same."""
    return [chr(ord("A") + place) for place in range(len(signals))]


def page(signals: Sequence[Signal], lens: Lens, width: int, styles: Mapping[str, str]) -> Text:
    """Return the page."""
    text = Text()
    name = _NAME if width >= _WIDE else _NARROW_NAME
    marks = letters(signals)
    text.append("Side by side\n", "bold")
    for mark, signal in zip(marks, signals, strict=True):
        text.append(f"{mark} ", styles["note"])
        text.append(glyphs.fit(_called(signal, lens), name), "bold")
        profile = signal.profile
        where = "/".join(part for part in (profile.role, profile.provider, profile.context) if part)
        about = f"{signal.key[:12]} {where}" if lens is Lens.FINGERPRINT else f"{lens}"
        total = "no total" if signal.total is None else f"total {signal.total:.4f}"
        text.append(" " + glyphs.fit(f"{total}  {signal.samples} samples  {about}", max(10, width - name - 4)) + "\n")
    _verdicts(text, signals, marks, lens, styles)
    for dim in DIMENSIONS:
        text.append(f"\n{dim}\n", "bold")
        for mark, signal in zip(marks, signals, strict=True):
            text.append(f"{mark} ", styles["note"])
            text.append(glyphs.fit(_called(signal, lens), name) + " ", styles["faint"])
            _line(text, signal.dimensions[dim], width - name - 3, styles, scored=signal.scored)
    text.append(
        "\nThe bar is the index, which forgets after about ten events; ├──●──┤ is the share of good evidence with its "
        '95 % interval.\n"Better" is said only where two intervals do not overlap.\n',
        styles["faint"],
    )  # fmt: skip
    for mark, signal in zip(marks, signals, strict=True):
        text.append(
            f"{mark} last seen {when(signal.last_seen)} UTC, {signal.stats.sessions} sessions\n", styles["faint"]
        )
    return text


def _called(signal: Signal, lens: Lens) -> str:
    return glyphs.named(signal.name if lens is Lens.FINGERPRINT else signal.key)


def _line(text: Text, state: DimensionSignal, room: int, styles: Mapping[str, str], *, scored: bool) -> None:
    if state.value is None:
        text.append("no evidence\n" if scored else "not scored\n", styles["faint"])
        return
    low = state.confidence == glyphs.LOW
    bars = max(6, min(20, room // 5))
    figures = f" {glyphs.number(state.value)}/{glyphs.count(state.samples):<4} "
    text.append(glyphs.bar(state.value, bars, low=low), styles["faint" if low else tone(state.value)])
    text.append(figures)
    left = max(8, room - bars - len(figures) - 14)
    text.append(glyphs.interval_line(state, left), styles["faint" if low else ""])
    text.append(f" {glyphs.rate(state)}\n", styles["faint"])


def _verdicts(
    text: Text, signals: Sequence[Signal], marks: Sequence[str], lens: Lens, styles: Mapping[str, str]
) -> None:
    text.append("\nBetter at\n", "bold")
    for verdict in verdicts(signals):
        text.append(f"{verdict.dim:<14} ")
        if verdict.better is None or verdict.worse is None:
            text.append(f"cannot tell yet: {verdict.why}\n", styles["faint"])
            continue
        better, worse = signals[verdict.better], signals[verdict.worse]
        text.append(f"{marks[verdict.better]} {glyphs.fit(_called(better, lens), 20).rstrip()}", styles["good"])
        text.append(f" is better than {marks[verdict.worse]} {glyphs.fit(_called(worse, lens), 20).rstrip()}")
        one, other = better.dimensions[verdict.dim], worse.dimensions[verdict.dim]
        text.append(f" ({glyphs.rate(one)} against {glyphs.rate(other)})\n", styles["faint"])
