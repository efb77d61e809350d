"""Whether what an answer cites stands where it says. Pure.

Offsets are code points. Comparison is exact: case, spaces and Unicode forms count, since a quote is evidence.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from a2a_trust.jury.contracts import Citation
    from a2a_trust.sources.jury_events import CitationStatus, Cited

MAX_UNADMITTED = 8
"""Identifiers of one answer that are told of."""

_IDENTIFIER = re.compile(r"(?<![A-Za-z0-9])([A-Z]{1,3})0*([0-9]{1,9})(?![A-Za-z0-9])", re.ASCII)


class Checked(NamedTuple):
    """What a check found."""

    status: CitationStatus
    found: int | None = None
    """Where the quote stands instead, nearest to where it was said to."""
    found_in: str = ""
    """In which text."""


def check(citation: Citation | Cited, texts: Mapping[str, str]) -> Checked:
    """Return whether the slice of the cited text equals the quote.

    `misplaced` where the quote stands elsewhere, in the cited text or another; `mismatch` where it stands nowhere.
    """
    text = texts.get(citation.source)
    if text is not None and citation.end <= len(text) and text[citation.start : citation.end] == citation.quote:
        return Checked("verified")
    for name in sorted(texts, key=lambda name: (name != citation.source, name)):
        found = _nearest(texts[name], citation.quote, citation.start if name == citation.source else 0)
        if found is not None:
            return Checked("misplaced", found, name)
    return Checked("mismatch")


def identifiers(prose: str) -> list[str]:
    """Return the identifiers in a text, each once, in order: up to three capitals and a number."""
    return list(dict.fromkeys(found.group() for found in _IDENTIFIER.finditer(prose)))


def unadmitted(prose: str, names: Collection[str], admitted: Collection[str] = ()) -> list[str]:
    """Return the identifiers in a text that look like names of texts and were never admitted, each once, in order.

    One looks like a name where its capitals are those of one: E99 where there is an E1. Zeros before the number do not
    count. `admitted` are those that may be named beside: an error E42 that the evidence tells of.
    """
    named = {found.groups() for name in names if (found := _IDENTIFIER.fullmatch(name))}
    known = named | {found.groups() for name in admitted if (found := _IDENTIFIER.fullmatch(name))}
    kinds = {letters for letters, _ in named}
    strangers = (
        found.group() for found in _IDENTIFIER.finditer(prose) if found[1] in kinds and found.groups() not in known
    )
    return list(dict.fromkeys(strangers))[:MAX_UNADMITTED]


def _nearest(text: str, quote: str, start: int) -> int | None:
    """Return where a quote stands in a text nearest to a place, the earlier one of two as near."""
    before, after = text.rfind(quote, 0, start + len(quote)), text.find(quote, start)
    places = [place for place in (before, after) if place >= 0]
    return min(places, key=lambda place: abs(place - start), default=None)
