"""Lenses: the same fold over the same rows, by another key than the fingerprint.

Lead models invent names and descriptions at each spawn, so a fingerprint may never come back. By name, model, tool or
project the rows still add up to something that does. Pure.
"""

from __future__ import annotations

from bisect import bisect_right
from enum import StrEnum
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from a2a_trust.agents import MODEL_SEEN, Judged, Tally, judge
from a2a_trust.amendments import Amendments
from a2a_trust.policy import MESSAGE_SENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from a2a_trust.model import AgentRecord, Key, Policy, Row

ENOUGH_RECURRING = 0.5
"""Share of the evidence that must stand on recurring fingerprints for the view to be by fingerprint."""
RECURS = 2
"""Registrations from which on a key is a recurring one."""


class Lens(StrEnum):
    """The keys by which rows can be folded."""

    FINGERPRINT = "fingerprint"
    NAME = "name"
    MODEL = "model"
    TOOL = "tool"
    PROJECT = "project"
    SOURCE = "source"


class _Models:
    """Which model each session ran at any place of the global order."""

    def __init__(self) -> None:
        self._seen: dict[str, list[tuple[Key, str]]] = {}

    def add(self, row: Row) -> None:
        if row.kind == MODEL_SEEN and row.evidence.model:
            self._seen.setdefault(row.session, []).append((row.key, row.evidence.model))

    def sort(self) -> None:
        for seen in self._seen.values():
            seen.sort()

    def of(self, row: Row) -> str | None:
        """Return the model of whom a row judges; task rows and messages may stand in another's log."""
        if row.evidence.model:
            return row.evidence.model
        actor = row.evidence.owner or (row.evidence.sender if row.kind == MESSAGE_SENT else None) or row.session
        seen = self._seen.get(actor)
        if not seen:
            return None
        place = bisect_right(seen, row.key, key=itemgetter(0))
        return seen[max(0, place - 1)][1]


def fold_by(lens: Lens, rows: Iterable[Row], policy: Policy) -> dict[str, AgentRecord]:
    """Return the record of each key of a lens, in the order of the keys.

    Rows without the key (a task has no tool) are left out. A record's `fingerprint` holds the key.
    """
    by_fingerprint: dict[str, list[Row]] = {}
    models, amendments = _Models(), Amendments()
    for row in rows:
        amendments.add(row)
        if row.subject:
            by_fingerprint.setdefault(row.subject, []).append(row)
            models.add(row)
    models.sort()
    by_subject: dict[str, list[Row]] = {}
    for fingerprint, found in by_fingerprint.items():
        by_subject.setdefault(amendments.subject(fingerprint), []).extend(found)
    grouped: dict[str, list[tuple[Key, Judged]]] = {}
    for subject, found in by_subject.items():
        for judged in judge(found, policy, amendments):
            key = subject if lens is Lens.FINGERPRINT else _key(lens, judged.row, models)
            if key:
                grouped.setdefault(key, []).append((judged.row.key, judged))
    records: dict[str, AgentRecord] = {}
    for key in sorted(grouped):
        tally = Tally(key, policy)
        for _, judged in sorted(grouped[key], key=itemgetter(0)):
            tally.add(*judged)
        records[key] = tally.record
    return records


def _key(lens: Lens, row: Row, models: _Models) -> str | None:
    match lens:
        case Lens.FINGERPRINT:
            return row.subject
        case Lens.NAME:
            return row.subject_name
        case Lens.MODEL:
            return models.of(row)
        case Lens.TOOL:
            return row.evidence.tool
        case Lens.PROJECT:
            return row.evidence.project or row.project
        case Lens.SOURCE:
            return row.evidence.source


class _Recurring(NamedTuple):
    """What of a home comes back under one key."""

    share: float
    """Share of the evidence on keys that come back; 1 where there is no evidence."""
    keys: int


def _recurring(agents: Mapping[str, AgentRecord], key_of: Callable[[AgentRecord], str]) -> _Recurring:
    evidence = recurring = 0
    sessions: dict[str, int] = {}
    for agent in agents.values():
        sessions[key_of(agent)] = sessions.get(key_of(agent), 0) + agent.stats.sessions
    back = {key for key, count in sessions.items() if key and count >= RECURS}
    for agent in agents.values():
        samples = sum(state.samples for state in agent.trust.values())
        evidence += samples
        recurring += samples if key_of(agent) in back else 0
    return _Recurring(recurring / evidence if evidence else 1.0, len(back))


def _fingerprint(agent: AgentRecord) -> str:
    return agent.fingerprint


def _name(agent: AgentRecord) -> str:
    return agent.profile.name


def _model(agent: AgentRecord) -> str:
    return agent.profile.model


def recurring_shares(agents: Mapping[str, AgentRecord]) -> tuple[float, float]:
    """Return the shares of the evidence that stand on recurring fingerprints, and on recurring names."""
    return _recurring(agents, _fingerprint).share, _recurring(agents, _name).share


def default_lens(agents: Mapping[str, AgentRecord]) -> Lens:
    """Return by fingerprint; where too little evidence stands on fingerprints that come back, by name, else by model.

    Where none of the three comes back often enough, the one that does most, the fingerprint first. A single model
    tells nobody apart, so it is no lens to fall back to.
    """
    models = _recurring(agents, _model)
    shares = {
        Lens.FINGERPRINT: _recurring(agents, _fingerprint).share,
        Lens.NAME: _recurring(agents, _name).share,
        Lens.MODEL: models.share if models.keys > 1 else 0.0,
    }
    for lens, share in shares.items():
        if share >= ENOUGH_RECURRING:
            return lens
    return max(shares, key=lambda lens: shares[lens])
