"""What `watch` says of a row: which changes are notable, and how one is told to people and to scripts. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from a2a_trust.model import Dimension, Late
from a2a_trust.text import safe, when
from a2a_trust.wording import why

if TYPE_CHECKING:
    from a2a_trust.model import Row

NOTABLE_STEP = 0.05
"""A change of an index that is worth a line."""
_NAME_WIDTH = 40
_WHY_WIDTH = 80


class Told(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A row as a line of JSON: `step` where it moved an index notably, else `row`."""

    event: str
    time: int
    """Of the event in the log, ms."""
    kind: str
    agent: str = ""
    fingerprint: str = ""
    dim: Dimension | None = None
    before: float | None = None
    after: float | None = None
    late: Late | None = None
    """Set where later evidence was folded again; the index is `late.value` now."""
    why: str = ""
    session: str = ""
    id: str = ""
    """Of the row in the audit log."""


def is_notable(row: Row) -> bool:
    """Tell whether a row moved an index by 0.05 or more."""
    # Indices have six places: what is left after rounding is no change.
    return row.delta is not None and round(abs(row.delta), 6) >= NOTABLE_STEP


def told(row: Row) -> Told:
    """Return what is said of a row."""
    return Told(
        event="step" if is_notable(row) else "row",
        time=row.time,
        kind=row.kind,
        agent=row.subject_name or "",
        fingerprint=row.subject or "",
        dim=row.dim,
        before=row.before,
        after=row.after,
        late=row.late,
        why=why(row),
        session=row.session,
        id=row.id,
    )


def line_of(row: Row) -> str:
    """Return a row on one line: time in UTC, agent, dimension, before and after, why."""
    parts = [when(row.time, exact=True)[:19], safe(row.subject_name or "–", _NAME_WIDTH)]
    if row.before is not None and row.after is not None:
        arrow = "▼" if row.after < row.before else "▲"
        parts.append(f"{row.dim} {row.before:.3f} {arrow} {row.after:.3f}")
        if row.late is not None:
            parts.append(f"(late: {row.late.value:.3f} now)")
    elif row.dim is not None:
        parts.append(f"{row.dim} not folded")
    return "  ".join([*parts, f"{row.kind} {safe(why(row), _WHY_WIDTH)}".rstrip()])
