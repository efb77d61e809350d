"""Sentences of a text as exact spans of it, in code points."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

MIN_QUOTE = 12
"""Characters that a quote needs before it counts for or against its author."""
MAX_QUOTE = 600
_SENTENCE = re.compile(r"[^\s.!?。][^.!?。]*(?:[.!?](?=\S)[^.!?。]*)*[.!?。]?")


class Span(Struct, frozen=True):
    """A passage, exactly as it stands in its text."""

    source: str
    start: int
    quote: str

    def cite(self) -> dict[str, Any]:
        """Return it as a citation."""
        return {
            "source": self.source,
            "start": self.start,
            "end": self.start + len(self.quote),
            "quote": self.quote,
        }


def sentences(source: str, text: str) -> Iterator[Span]:
    """Yield the sentences of a text, long ones cut."""
    for found in _SENTENCE.finditer(text):
        quote = found[0].rstrip()[:MAX_QUOTE].rstrip()
        yield Span(source, found.start(), quote)


def clip(text: str, limit: int) -> str:
    """Return a text of at most `limit` characters."""
    return text if len(text) <= limit else text[: limit - 1] + "…"
