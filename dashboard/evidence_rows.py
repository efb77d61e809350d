"""Which rows of the audit log a filter lets through, and how one is drawn in the list of evidence. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_trust.dashboard import glyphs
from a2a_trust.dashboard.grid import Column
from a2a_trust.dashboard.overview_rows import tone
from msgspec import Struct

from a2a_trust.text import when
from a2a_trust.wording import why

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_trust.dashboard.grid import Piece

    from a2a_trust.model import Row

WIDE = 120
FIELDS = ("agent", "dim", "kind", "session", "tool")
"""What a filter may name before a colon; a word without one may stand anywhere."""


class Filter(Struct, frozen=True):
    """What rows must hold: for each field words of which one must stand in it, and words that must stand anywhere."""

    fields: dict[str, list[str]]
    words: list[str]
    subject: str = ""
    """A fingerprint, empty for all."""


def parse(text: str, subject: str = "") -> Filter:
    """Return the filter that a text like `dim:competence kind:tool agent:impl refused` means. Every text means one."""
    fields: dict[str, list[str]] = {}
    words: list[str] = []
    for word in text.casefold().split():
        field, colon, wanted = word.partition(":")
        if colon and field in FIELDS:
            if wanted:
                fields.setdefault(field, []).append(wanted)
        else:
            words.append(word)
    return Filter(fields, words, subject)


def lets_through(wanted: Filter, row: Row) -> bool:
    """Tell whether a row is among those asked for."""
    if wanted.subject and row.subject != wanted.subject:
        return False
    if not wanted.fields and not wanted.words:
        return True
    texts = {
        "agent": f"{row.subject_name or ''} {row.subject or ''}".casefold(),
        "dim": row.dim or "none",
        "kind": row.kind,
        "session": row.session.casefold(),
        "tool": (row.evidence.tool or "").casefold(),
    }
    if not all(any(word in texts[field] for word in some) for field, some in wanted.fields.items()):
        return False
    anywhere = " ".join((*texts.values(), why(row).casefold(), row.id.casefold()))
    return all(word in anywhere for word in wanted.words)


def columns(width: int) -> list[Column]:
    """Return the columns that fit."""
    wide = width >= WIDE
    fixed = [
        Column("time", "time (UTC)", 19 if wide else 14),
        Column("agent", "agent", 24 if wide else 14),
        Column("kind", "kind", 20 if wide else 17),
        Column("dim", "dimension", 13 if wide else 4),
        Column("step", "value" if wide else "to", 15 if wide else 6),
    ]
    if wide:
        fixed.append(Column("session", "session", 14))
    left = width - sum(column.width + 1 for column in fixed) - 2
    return [*fixed, Column("why", "what", max(8, left))]


def draw(row: Row, width: int) -> list[Sequence[Piece]]:
    """Return the pieces of a row, column by column."""
    wide = width >= WIDE
    moved = row.before is not None and row.after is not None
    style = "" if row.quality is None else tone(row.quality)
    time = when(row.time, exact=True)
    cells: list[Sequence[Piece]] = [
        [(time[:19] if wide else time[5:19], "faint")],
        [(glyphs.named(row.subject_name) if row.subject_name else "–", "strong" if moved else "")],
        [(row.kind, style)],
        [((row.dim or "–") if wide else (row.dim or "–")[:4], "" if row.dim else "faint")],
        [_step(row, wide=wide)],
    ]
    if wide:
        cells.append([(row.session, "faint")])
    cells.append([(why(row), "")])
    return cells


def _step(row: Row, *, wide: bool) -> Piece:
    if row.before is None or row.after is None:
        return ("not folded" if wide and row.dim else "–", "faint")
    arrow = "▼" if row.after < row.before else "▲" if row.after > row.before else "="
    style = "bad" if row.after < row.before else "good"
    if wide:
        return (f"{glyphs.number(row.before)} {arrow} {glyphs.number(row.after)}", style)
    return (f"{arrow}{glyphs.number(row.after)}", style)
