"""One row of the audit log in full, its place in the session log, the line itself, and how it hangs in the chain."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from a2a_trust.dashboard.explanation import locate
from a2a_trust.dashboard.glyphs import named
from msgspec import Struct
from rich.text import Text

from a2a_trust.sources import zstd_frames
from a2a_trust.store import live
from a2a_trust.text import safe, when
from a2a_trust.wording import why

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_trust.model import Row
    from a2a_trust.store.audit import Placement

LINE_SHOWN = 4000
"""Characters of the log's line that are shown."""
_LABEL = 12


class RowPlace(Struct, frozen=True, kw_only=True):
    """Where a row comes from, as far as that can still be found."""

    file: str | None
    frame: int | None
    line: int | None
    text: str | None
    """The line itself."""
    link: live.Link | None


def find_place(home: Path, placed: Placement) -> RowPlace:
    """Find the line that a row comes from. Never fails for what is gone."""
    row = placed.row
    log = locate([row], home).get((row.session, row.gen))
    path = log.path if log else None
    frame, number = log.places.get(row.seq, (None, None)) if log else (None, None)
    text = None
    if path is not None and number is not None:
        try:
            text = read_line(Path(path), number)
        except OSError:
            text = None
    try:
        link = live.link_at(home, placed.offset)
    except OSError:
        link = None
    return RowPlace(file=path, frame=frame, line=number, text=text, link=link)


def read_line(path: Path, number: int) -> str | None:
    """Return a line of a log, raw or compressed, by its number from 1; at most its first characters."""
    with path.open("rb") as file:
        compressed = file.read(4) == zstd_frames.MAGIC
        file.seek(0)
        blocks = (piece.content for piece in zstd_frames.walk(file, 0)) if compressed else iter(file)
        passed = 0
        for block in blocks:
            lines = block.rstrip(b"\n").split(b"\n") if block else []
            if passed + len(lines) >= number:
                return lines[number - passed - 1][: LINE_SHOWN * 4].decode("utf-8", "replace")[:LINE_SHOWN]
            passed += len(lines)
    return None


def page(placed: Placement, place: RowPlace | None, styles: Mapping[str, str]) -> Text:
    """Return the page; without a place, what the row alone tells."""
    row = placed.row
    text = Text()
    text.append(f"{row.kind}", "bold")
    text.append(f"  {safe(why(row))}\n\n")
    for label, value in _fields(row):
        text.append(f"{label:<{_LABEL}}", styles["faint"])
        text.append(f"{value}\n")
    text.append("\nIn the session log\n", "bold")
    _add_place(text, row, place, styles)
    text.append("\nIn the chain of the audit log\n", "bold")
    _add_link(text, placed, place, styles)
    return text


def _fields(row: Row) -> list[tuple[str, str]]:
    fields = [
        ("time", f"{when(row.time, exact=True)} UTC"),
        ("agent", safe(named(row.subject_name)) if row.subject_name else "–"),
        ("fingerprint", row.subject or "–"),
        ("dimension", row.dim or "none: an observation, it moves no score"),
    ]
    if row.before is not None and row.after is not None:
        fields.append(("step", f"quality {row.quality}: {row.before} → {row.after} ({row.delta:+})"))
    elif row.dim:
        fields.append(("step", "recorded; the policy did not fold it"))
    if row.late:
        fields.append(
            ("late", f"came after {row.late.rows} rows of a greater key; the value was {row.late.value} then")
        )
    if row.supersedes:
        fields.append(("supersedes", safe(row.supersedes)))
    details = msgspec.to_builtins(row.evidence)
    fields += [
        (name, safe(value if isinstance(value, str) else msgspec.json.encode(value).decode(), 1000))
        for name, value in details.items()
    ]
    return [*fields, ("id", safe(row.id)), ("team", safe(row.team_id or "–"))]


def _add_place(text: Text, row: Row, place: RowPlace | None, styles: Mapping[str, str]) -> None:
    fields = [("session", safe(row.session) or "–"), ("seq", str(row.seq))]
    if place is not None:
        fields.insert(1, ("file", safe(place.file) if place.file else "no longer where it was"))
        if place.frame is not None:
            fields.append(("frame", f"at byte {place.frame}"))
        if place.line is not None:
            fields.append(("line", str(place.line)))
    for label, value in fields:
        text.append(f"{label:<{_LABEL}}", styles["faint"])
        text.append(f"{value}\n")
    if place is None:
        text.append("looking for it …\n", styles["faint"])
    elif place.text is not None:
        cut = " …" if len(place.text) >= LINE_SHOWN else ""
        text.append(f"{safe(place.text)}{cut}\n", styles["note"])


def _add_link(text: Text, placed: Placement, place: RowPlace | None, styles: Mapping[str, str]) -> None:
    text.append(f"{'begins at':<{_LABEL}}", styles["faint"])
    text.append(f"byte {placed.offset}\n")
    link = place.link if place else None
    if link is None:
        return
    holds = link.prev == link.prev_found
    for label, value, good in (
        ("prev says", link.prev, holds),
        ("row before", link.prev_found, holds),
        ("own hash", link.hash, True),
        ("next says", link.next_prev or "nobody yet: it is the newest row", link.next_prev in (None, link.hash)),
    ):
        text.append(f"{label:<{_LABEL}}", styles["faint"])
        text.append(f"{value}\n", "" if good else styles["bad"])
    verdict = "The chain holds here." if link.holds else "THE CHAIN IS BROKEN HERE."
    text.append(f"{verdict}\n", styles["good" if link.holds else "bad"])
