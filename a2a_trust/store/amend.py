"""What people do to a ledger: retract a session, rate an agent, reset one, say that two are one. Each is a row.

Nothing is edited and everything can be undone by another row. A person's act has the time at which it was done, so
these functions, and only these, are given the time of a clock.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from a2a_trust.amendments import ALIAS, RESET, RETRACT
from a2a_trust.errors import UnknownAgentError, UsageError
from a2a_trust.log_state import LogState
from a2a_trust.model import DIMENSIONS, ROW_VERSION, Details, Dimension, Row
from a2a_trust.policy import FEEDBACK, RATINGS
from a2a_trust.store import audit
from a2a_trust.store.reader import AUDIT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from a2a_trust.model import AgentRecord
    from a2a_trust.store.cache import LogEntry
    from a2a_trust.store.store import Commit, TrustStore

COMMENT_LIMIT = 500
"""Characters of a comment."""
FEEDBACK_LIMIT = 3
"""Ratings that one observer may give one agent for one session."""
PREFIX_LENGTH = 4
"""Characters of a fingerprint from which on it may be given as a prefix."""
CANDIDATES = 10
"""Agents listed where several answer to what was asked for."""


def _row(kind: str, row_id: str, now_ms: int, details: Details) -> Row:
    return Row(v=ROW_VERSION, id=row_id, time=now_ms, session="", gen=0, seq=0, pos=0, kind=kind, evidence=details)


def _next_id(store: TrustStore, stem: str, scope: str = "") -> str:
    """Return the next free id of a kind of amendment: each act is one more row."""
    return f"{stem}:{sum(row_id.startswith(f'{stem}:') for row_id in store.cache.known([scope])) + 1}"


def _comment(text: str) -> str | None:
    if len(text) > COMMENT_LIMIT:
        raise UsageError(f"the comment has {len(text)} characters; at most {COMMENT_LIMIT} are kept")
    return text or None


def _agent(store: TrustStore, fingerprint: str) -> AgentRecord:
    record = store.ledger.agents.get(fingerprint)
    if record is None:
        raise UnknownAgentError(f"no agent has the fingerprint {fingerprint[:12]!r}; see: a2a-trust show")
    return record


def retract(store: TrustStore, sessions: Sequence[str], why: str, now_ms: int, *, undo: bool = False) -> None:
    """Let sessions count for nothing, or count again with `undo`. Raises `UsageError` for one that has no rows."""
    recorded = _sessions_of_rows(store)
    for session in sessions:
        if session not in recorded:
            raise UsageError(f"no row stands in session {session!r}; give a session id, or the path of its log")
        if undo and session not in store.amendments.retracted:
            raise UsageError(f"session {session!r} is not retracted")
    rows = []
    for session in sessions:
        details = Details(session=session, comment=_comment(why), undo=undo or None)
        rows.append(_row(RETRACT, _next_id(store, f"{RETRACT}:{session}", session), now_ms, details))
    store.amend(rows)


def sessions_at(store: TrustStore, wanted: str) -> list[str]:
    """Return the sessions that an argument names: one by its id, or all whose logs were read at or below a path."""
    recorded = _sessions_of_rows(store)
    if wanted in recorded:
        return [wanted]
    if not wanted:
        return []
    # One file has several names: through a link, or by way of another folder.
    place = Path(wanted).resolve()
    entries = [entry for entry in store.cache.logs() if entry.path and Path(entry.path).resolve().is_relative_to(place)]
    found = dict.fromkeys(session for entry in entries for session in _sessions_in(entry))
    return [session for session in found if session in recorded]


def _sessions_of_rows(store: TrustStore) -> set[str]:
    """Return the sessions that rows are about, adopted rows among them: these stand in no session of their own."""
    return {row.evidence.session or row.session for row in store.rows()} - {""}


def _sessions_in(entry: LogEntry) -> Iterator[str]:
    """Yield the sessions of a file; some harnesses write several into one."""
    yield entry.session
    state = entry.live or entry.state
    if state:
        yield from (log.header.session for log in msgspec.msgpack.decode(state, type=list[LogState]))


def find_agent(store: TrustStore, wanted: str, among: Collection[str] | None = None) -> str:
    """Return the fingerprint that has a name or begins so, of all that have rows: aliased ones can be named too.

    Raises `UnknownAgentError` where none, or more than one, answers; the message lists the candidates.
    """
    names = {key: _name(store, key) for key in store.cache.subjects() if among is None or key in among}
    found = _answering(names, wanted)
    if not found:
        raise UnknownAgentError(
            f"no agent is named {wanted!r}, and no fingerprint begins so with {PREFIX_LENGTH} characters or more; "
            "see: a2a-trust show"
        )
    if len(found) > 1:
        candidates = "; ".join(f"{key[:12]} ({_described(store, key, names[key])})" for key in found[:CANDIDATES])
        raise UnknownAgentError(f"{len(found)} agents answer to {wanted!r}, give a fingerprint: {candidates}")
    return found[0]


def find_alias(store: TrustStore, one: str, other: str) -> tuple[str, str]:
    """Return the fingerprints of an alias that is to be undone. Raises `UnknownAgentError` as `find_agent` does."""
    aliases = store.amendments.aliases
    names = {key: _name(store, key) for key in {*aliases, *aliases.values()}}
    # Agents that were joined often share a name: only together the two names say which alias is meant.
    found = [
        (key, to)
        for key, to in sorted(aliases.items())
        if _answering({key: names[key]}, one) and _answering({to: names[to]}, other)
    ]
    if len(found) > 1:
        candidates = "; ".join(f"{key[:12]} under {to[:12]}" for key, to in found[:CANDIDATES])
        raise UnknownAgentError(
            f"{len(found)} aliases answer to {one!r} and {other!r}, give fingerprints: {candidates}"
        )
    return found[0] if found else (find_agent(store, one), find_agent(store, other))


def _answering(names: Mapping[str, str], wanted: str) -> list[str]:
    """Return the fingerprints that are the wanted one, else those with that name, else those that begin so."""
    if wanted in names:
        return [wanted]
    found = [key for key, name in names.items() if name == wanted]
    if not found and len(wanted) >= PREFIX_LENGTH:
        found = [key for key in names if key.startswith(wanted.lower())]
    return sorted(found)


def _name(store: TrustStore, fingerprint: str) -> str:
    """Return the name of an agent as its own rows tell it: a fold may have got the name of an alias."""
    aliases, record = store.amendments.aliases, store.ledger.agents.get(fingerprint)
    if record is not None and fingerprint not in aliases.values():
        return record.profile.name
    rows = audit.read_row_at(store.home / AUDIT, store.cache.offsets(fingerprint))
    return next((row.subject_name for row in rows if row.subject_name), "")


def _described(store: TrustStore, fingerprint: str, name: str) -> str:
    target = store.amendments.aliases.get(fingerprint)
    return f"{name or '-'}, folded under {target[:12]}" if target else name or "-"


def _check_recorded(store: TrustStore, fingerprint: str) -> None:
    """Refuse a fingerprint that is no agent; one that is folded under another still is one."""
    if fingerprint not in store.amendments.aliases:
        _agent(store, fingerprint)


def reset(store: TrustStore, fingerprint: str, dim: Dimension | None, why: str, now_ms: int) -> None:
    """Let an agent begin anew in one dimension, or all: older evidence moves no score any more, statistics stay."""
    _check_recorded(store, fingerprint)
    details = Details(agent=fingerprint, scope=dim, comment=_comment(why))
    store.amend([_row(RESET, _next_id(store, f"{RESET}:{fingerprint}"), now_ms, details)])


def alias(store: TrustStore, one: str, other: str, now_ms: int, *, undo: bool = False) -> None:
    """Fold the rows of one fingerprint under another, or no longer with `undo`. Raises `UsageError` for a cycle."""
    if undo:
        if store.amendments.aliases.get(one) != other:
            known = ", ".join(f"{key[:12]} of {to[:12]}" for key, to in store.amendments.aliases.items()) or "none"
            raise UsageError(f"{one[:12]} is not an alias of {other[:12]}; aliases, by fingerprint: {known}")
    else:
        if _leads_to(store.amendments.aliases, other, one):
            raise UsageError(f"{other[:12]} is folded under {one[:12]} already: an alias would close a circle")
        _check_recorded(store, other)
        _check_recorded(store, one)
    details = Details(agent=one, alias=other, undo=undo or None)
    store.amend([_row(ALIAS, _next_id(store, f"{ALIAS}:{one}"), now_ms, details)])


def _leads_to(aliases: Mapping[str, str], start: str, end: str) -> bool:
    """Tell whether a chain of aliases comes by an agent, wherever it ends."""
    while start != end and start in aliases:
        start = aliases[start]
    return start == end


class Feedback(Struct, frozen=True, kw_only=True):
    """What an observer, a person or an agent, thinks of an agent: ratings from 1 to 5 by dimension."""

    ratings: dict[Dimension, int]
    comment: str = ""
    observer: str = ""
    session: str = ""
    """The session that it is about, where it is about one."""


def feedback(store: TrustStore, fingerprint: str, given: Feedback, now_ms: int) -> Commit:
    """Record feedback about an agent.

    Raises `UsageError` for a rating out of range, and for a fourth one by one observer for one agent in one session.
    """
    record = _agent(store, fingerprint)
    low, high = RATINGS
    for dim, rating in given.ratings.items():
        if not low <= rating <= high:
            raise UsageError(f"{dim} {rating}: a rating is a whole number from {low} to {high}")
    if not given.ratings:
        raise UsageError(f"nothing is rated; rate at least one of {', '.join(DIMENSIONS)}")
    details = Details(
        role=record.profile.role,
        comment=_comment(given.comment),
        observer=given.observer or None,
        session=given.session or None,
    )
    stem = f"{FEEDBACK}:{given.observer}:{fingerprint}"
    earlier = {
        row_id.rpartition(":")[0] for row_id in store.cache.known([given.session]) if row_id.startswith(f"{stem}:")
    }
    if len(earlier) >= FEEDBACK_LIMIT:
        who = f"observer {given.observer!r}" if given.observer else "an observer without a name"
        raise UsageError(f"{who} has rated this agent {FEEDBACK_LIMIT} times in this session, which is the limit")
    rows = [
        Row(
            v=ROW_VERSION,
            id=f"{stem}:{len(earlier) + 1}:{dim}",
            time=now_ms,
            session=given.session,
            gen=0,
            seq=0,
            pos=DIMENSIONS.index(dim),
            kind=FEEDBACK,
            subject=fingerprint,
            subject_name=record.profile.name,
            dim=dim,
            evidence=msgspec.structs.replace(details, rating=rating),
        )
        for dim, rating in given.ratings.items()
    ]
    return store.commit(rows)
