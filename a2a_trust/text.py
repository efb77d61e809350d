"""Making text from logs safe to show: a name is never markup, a terminal escape, or more than one line.

Pure. Names come from logs that agents wrote; whatever reads like a control is shown as its code.
"""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime

_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp", "Co", "Cn"))
_JOINERS = frozenset("\u200c\u200d")
"""Parts of emoji and of some scripts; harmless."""


def safe(text: str, limit: int = 0) -> str:
    """Return text on one line with every control, bidi mark and surrogate shown as its code.

    With `limit`, at most that many characters, the last one `…` where something was left out.
    """
    shown = "".join(_shown(char) for char in text) if not text.isascii() or not text.isprintable() else text
    return shown if not limit or len(shown) <= limit else shown[: limit - 1] + "…"


def _shown(char: str) -> str:
    if char not in _JOINERS and (char in _BIDI or unicodedata.category(char) in _HIDDEN):
        code = ord(char)
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"  # noqa: PLR2004 - widths of the escapes
    return char


def is_text(found: str) -> bool:
    """Tell whether UTF-8 can hold it; a file's name, or an argument, whose bytes were no text cannot be written."""
    try:
        found.encode()
    except UnicodeEncodeError:
        return False
    return True


def when(time_ms: int, *, exact: bool = False) -> str:
    """Return a time as `2026-11-30 16:55`, or exactly, `2026-11-30 16:55:01.042`, in UTC; `undated` for 0."""
    if time_ms <= 0:
        return "undated"
    try:
        moment = datetime.fromtimestamp(time_ms // 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return f"{time_ms} ms"
    return f"{moment:%Y-%m-%d %H:%M:%S}.{time_ms % 1000:03}" if exact else f"{moment:%Y-%m-%d %H:%M}"


def percent(share: float) -> str:
    """Return a share in [0, 1] as whole per cents, without the sign."""
    return f"{share * 100:.0f}"


def size(count: int) -> str:
    """Return a number of bytes as a person reads it."""
    value = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000 or unit == "GB":  # noqa: PLR2004 - SI prefixes
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    raise AssertionError
