"""The advisory text: what a Lead or a teammate reads of trust before it chooses whom to ask.

Pure and byte-stable: equal signals give equal bytes in every process and under every version of Python. Nothing here
opens a home, looks at the clock or decides who is meant; names come from strangers and cannot leave their row.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import ucd_3_2_0

from a2a_trust.lenses import Lens
from a2a_trust.model import DIMENSIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from a2a_trust.signals import DimensionSignal, Signal

DEFAULT_TOKENS = 200
MIN_TOKENS = 16
CHARS_PER_TOKEN = 4
NAME_CHARS = 64
NAMESAKE_DIGITS = 8
"""Characters of the fingerprint behind the name where two rows would have the same one."""

LEAD_HEADER = "Cross-session trust of agent types you may delegate to:"
OWN_HEADER = "Your cross-session trust profile:"
OTHERS_HEADER = "Recent trust of your collaborators:"
DISCLAIMER = "Historical stats, may be stale, never override current observations."
LOW = "low"

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*", re.ASCII)
"""Names that stand as they are; every other one stands in quotes."""
_KEPT = frozenset(" -_.+/")
"""What a quoted name may hold beside letters, marks and digits: nothing that ends a row, a sentence or a quote."""
_NOTHING_LEFT = '"?"'


class Mode(StrEnum):
    """Who is given the text."""

    OFF = "off"
    LEAD_ONLY = "lead-only"
    ALL = "all"


class Audience(StrEnum):
    """Who reads the text."""

    LEAD = "lead"
    TEAMMATE = "teammate"


DEFAULT_MODE = Mode.LEAD_ONLY


class Advice(NamedTuple):
    """A text, and what of the signals is in it."""

    text: str
    """Empty where there is nothing to say; else its last line is the disclaimer."""
    shown: tuple[str, ...]
    """Keys of the signals that have a row, in the order of the rows."""
    left_out: int
    """Signals with evidence whose row did not fit."""


NOTHING = Advice("", (), 0)


def mode_of(value: str | None, source: str) -> tuple[Mode, str | None]:
    """Return the mode that a setting names, and what is wrong with the setting. Never raises."""
    if not value:
        return DEFAULT_MODE, None
    if value in set(Mode):
        return Mode(value), None
    shown = safe_name(value)
    return DEFAULT_MODE, f"{source} is {shown}, not one of {', '.join(Mode)}; {DEFAULT_MODE} is used"


def reads(mode: Mode, audience: Audience) -> bool:
    """Tell whether a mode gives the text to a reader."""
    return mode is Mode.ALL or (mode is Mode.LEAD_ONLY and audience is Audience.LEAD)


def for_lead(signals: Sequence[Signal], lens: Lens = Lens.FINGERPRINT, max_tokens: int = DEFAULT_TOKENS) -> Advice:
    """Return the text for a Lead over the agent types that it may choose among.

    Whole rows only, newest first; a row that does not fit is left out. Header and disclaimer are never cut; where no
    row fits beside them the text is empty. `max_tokens` below 16 counts as 16.
    """
    return _fit([(_header(LEAD_HEADER, lens), signals)], lens, max_tokens)


def for_teammate(
    own: Sequence[Signal], others: Sequence[Signal], lens: Lens = Lens.FINGERPRINT, max_tokens: int = DEFAULT_TOKENS
) -> Advice:
    """Return the text for a teammate: its own type first, then its collaborators. Limits as for a Lead."""
    return _fit([(_header(OWN_HEADER, lens), own), (_header(OTHERS_HEADER, lens), others)], lens, max_tokens)


def row(signal: Signal, name: str) -> str:
    """Return one row: each dimension with evidence as value/samples, then counts. `name` must be safe."""
    dimensions = ", ".join(
        _dimension(dim, signal.dimensions[dim]) for dim in DIMENSIONS if signal.dimensions[dim].samples
    )
    stats = signal.stats
    return (
        f"{name}: {dimensions}; tasks {stats.tasks_completed}, "
        f"tools {stats.tool_calls}/{stats.tool_errors} err, messages {stats.messages_sent}"
    )


def safe_name(name: str, limit: int = NAME_CHARS) -> str:
    """Return a name that stays inside its row: one line, at most `limit` characters, no markup, control or bidi mark.

    A name that is not one plain ASCII word stands in quotes, which no name can hold, so that it can be read neither
    as a header, nor as a row, nor as the disclaimer. What a letter is, the frozen tables of Unicode 3.2 say: those of
    the running Python change with its version, and the text must not.
    """
    if len(name) <= limit and _PLAIN.fullmatch(name):
        return name
    kept = "".join(char if _is_kept(char) else " " for char in name)
    words = " ".join(kept.split())
    if not words:
        return _NOTHING_LEFT
    if len(words) > limit - 2:
        words = words[: limit - 3] + "…"
    return f'"{words}"'


def _is_kept(char: str) -> bool:
    return char in _KEPT or ucd_3_2_0.category(char)[0] in "LMN"


def _dimension(dim: str, state: DimensionSignal) -> str:
    low = " low-confidence" if state.confidence == LOW else ""
    return f"{dim} {state.value:.2f}/{state.samples}{low}"


def _header(header: str, lens: Lens) -> str:
    """Return the header, and where rows are not agent types, what they are."""
    return header if lens is Lens.FINGERPRINT else f"{header}\n(by {lens}, not by agent type)"


def _fit(sections: Sequence[tuple[str, Sequence[Signal]]], lens: Lens, max_tokens: int) -> Advice:
    """Fill the sections in order; a section costs its header with its first row."""
    room = max(MIN_TOKENS, max_tokens) * CHARS_PER_TOKEN - len(DISCLAIMER)
    lines: list[str] = []
    shown: list[str] = []
    left_out = 0
    names = _names([signal for _, signals in sections for signal in signals], lens)
    for header, signals in sections:
        head = [header]
        for signal in _newest_first(signals):
            block = [*head, row(signal, names[signal.key])]
            cost = sum(len(line) + 1 for line in block)
            if cost > room:
                left_out += 1
                continue
            room -= cost
            lines += block
            shown.append(signal.key)
            head = []
    if not shown:
        return NOTHING._replace(left_out=left_out)
    return Advice("\n".join([*lines, DISCLAIMER]), tuple(shown), left_out)


def _newest_first(signals: Sequence[Signal]) -> Iterator[Signal]:
    """Yield the signals with evidence, the last seen first, then by key."""
    yield from sorted((signal for signal in signals if signal.samples), key=lambda one: (-one.last_seen, one.key))


def _names(signals: Sequence[Signal], lens: Lens) -> dict[str, str]:
    """Return a safe name for each key; those that would read the same get the start of their fingerprint."""
    raw = {signal.key: signal.name for signal in signals if signal.samples}
    plain = {key: safe_name(name) for key, name in raw.items()}
    often = Counter(plain.values())
    room = NAME_CHARS - NAMESAKE_DIGITS - 1
    return {
        key: plain[key] if often[plain[key]] == 1 else f"{safe_name(raw[key], room)}@{_digits(key, lens)}"
        for key in raw
    }


def _digits(key: str, lens: Lens) -> str:
    """Return what tells namesakes apart: a fingerprint is its own digest, another key needs one."""
    digest = key if lens is Lens.FINGERPRINT else hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
    return safe_name(digest[:NAMESAKE_DIGITS])
