"""Text of strangers in Markdown: it reads as written, and is never markup, HTML, a link or a control character."""

from __future__ import annotations

import re

from a2a_trust.text import safe

_MARKS = re.compile(r"[\\`*_\[\]<>&|~@$]|:(?=//)")
_LINE_START = re.compile(r"^(\d{0,9})([#+=\-.)])")
"""Of a heading, a list, a rule, or what would make one of the line above."""
_WWW = re.compile(r"(?i)\b(www)\.")


def inline(text: str, limit: int = 0) -> str:
    """Return text for a place within a line, not at its beginning."""
    return _WWW.sub(r"\1\\.", _MARKS.sub(lambda found: "\\" + found[0], safe(text, limit).strip()))


def quoted(text: str) -> str:
    """Return text of any lines as a block quote, its lines kept; without a line end."""
    lines = [_LINE_START.sub(r"\1\\\2", inline(line.strip())) for line in text.splitlines()] or [""]
    return "\n".join(f"> {line}\\" if line and following else f"> {line}" for line, following in _following(lines))


def _following(lines: list[str]) -> list[tuple[str, bool]]:
    """Return each line, and whether another one of its paragraph follows."""
    return [(line, bool(after)) for line, after in zip(lines, [*lines[1:], ""], strict=True)]
