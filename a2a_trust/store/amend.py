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
from a2a_trust.model import DIMENSIONS, ROW_VERSION, Details, Dimension, Row
from a2a_trust.policy import FEEDBACK, RATINGS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_trust.model import AgentRecord
    from a2a_trust.store.store import Commit, TrustStore

COMMENT_LIMIT = 500
"""Characters of a comment."""
FEEDBACK_LIMIT = 3
"""Ratings that one observer may give one agent for one session."""


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
    for session in sessions:
        if not store.cache.known([session]):
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
    if store.cache.known([wanted]):
        return [wanted]
    path = str(Path(wanted).absolute())
    return [entry.session for entry in store.cache.logs() if f"{entry.path}/".startswith(f"{path}/")]


def reset(store: TrustStore, fingerprint: str, dim: Dimension | None, why: str, now_ms: int) -> None:
    """Let an agent begin anew in one dimension, or all: older evidence moves no score any more, statistics stay."""
    _agent(store, fingerprint)
    details = Details(agent=fingerprint, scope=dim, comment=_comment(why))
    store.amend([_row(RESET, _next_id(store, f"{RESET}:{fingerprint}"), now_ms, details)])


def alias(store: TrustStore, one: str, other: str, now_ms: int, *, undo: bool = False) -> None:
    """Fold the rows of one fingerprint under another, or no longer with `undo`. Raises `UsageError` for a cycle."""
    if undo:
        if store.amendments.aliases.get(one) != other:
            known = ", ".join(f"{key[:12]} of {to[:12]}" for key, to in store.amendments.aliases.items()) or "none"
            raise UsageError(f"{one[:12]} is not an alias of {other[:12]}; aliases, by fingerprint: {known}")
    else:
        if store.amendments.subject(other) == one or one == other:
            raise UsageError(f"{other[:12]} is folded under {one[:12]} already: an alias would close a circle")
        _agent(store, other)
        if one not in store.ledger.agents and one not in store.amendments.aliases:
            raise UnknownAgentError(f"no agent has the fingerprint {one[:12]!r}; see: a2a-trust show")
    details = Details(agent=one, alias=other, undo=undo or None)
    store.amend([_row(ALIAS, _next_id(store, f"{ALIAS}:{one}"), now_ms, details)])


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
