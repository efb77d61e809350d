"""Events that are in no file: read from a stream, judged, committed.

Nothing is remembered of the stream. Events that come again, in a stream or in a file, are known by their names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from a2a_trust.attribution import Attribution
from a2a_trust.event_fold import EventFold
from a2a_trust.log_state import LogState
from a2a_trust.sources.jsonl import JsonlSource

if TYPE_CHECKING:
    from collections.abc import Iterable

    from a2a_trust.model import Row
    from a2a_trust.store import TrustStore


class Ingested(Struct, kw_only=True, rename="camel"):
    """What a stream of events gave."""

    lines: int
    lines_used: int
    evidence: int
    evidence_not_folded: int
    observations: int
    known: int
    """Rows that the audit log held already."""
    agents: int
    skipped: dict[str, int] = field(default_factory=dict)
    skipped_at: dict[str, list[str]] = field(default_factory=dict)


def ingest(store: TrustStore, lines: Iterable[bytes], name: str) -> Ingested:
    """Record events; `name` says in remarks where they came from. Raises `HomeError` where the home is not writable."""
    source = JsonlSource()
    reading = source.read_lines(lines, name)
    rows: list[Row] = []
    attribution = Attribution({})
    for part in reading.logs:
        state = LogState(header=part.header)
        fold = EventFold(state, source.classify)
        for fact in part.facts:
            fold.feed(fact)
        rows += attribution.rows(state, fold.findings)[0]
    commit = store.commit(rows)
    return Ingested(
        lines=reading.lines,
        lines_used=reading.used,
        evidence=commit.folded,
        evidence_not_folded=commit.unfolded,
        observations=commit.observations,
        known=commit.known,
        agents=len(store.ledger.agents),
        skipped=dict(sorted(reading.skips.counts.items())),
        skipped_at=dict(sorted(reading.skips.places.items())),
    )
