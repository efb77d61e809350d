"""Text of strangers in Markdown: it reads as written, and is never markup, HTML, a link or a control character."""

from __future__ import annotations

import re

from a2a_trust.text import safe

_MARKS = re.compile(r"[\\`*_\[\]<>&|~@$]|:(?=//)")
_LINE_START = re.compile(r"^(\s*)([#+=\-]|\d{1,9}(?=[.)]))")
_ORDERED = re.compile(r"^(\s*\d{1,9})([.)])")
_WWW = re.compile(r"(?i)\b(www)\.")


def inline(text: str, limit: int = 0) -> str:
    """Return text for one place on one line."""
    shown = _MARKS.sub(lambda found: "\\" + found[0], safe(text, limit).strip())
    shown = _WWW.sub(r"\1\\.", shown)
    shown = _ORDERED.sub(r"\1\\\2", shown)
    return _LINE_START.sub(lambda found: found[0] if found[2].isdigit() else f"{found[1]}\\{found[2]}", shown)


def quoted(text: str) -> str:
    """Return text of any lines as a block quote, its lines kept; without a line end."""
    lines = [inline(line.strip()) for line in text.splitlines()] or [""]
    return "\n".join(f"> {line}\\" if line and following else f"> {line}" for line, following in _following(lines))


def _following(lines: list[str]) -> list[tuple[str, bool]]:
    """Return each line, and whether another one of its paragraph follows."""
    return [(line, bool(after)) for line, after in zip(lines, [*lines[1:], ""], strict=True)]
