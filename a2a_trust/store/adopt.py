"""Adopting the store of the JavaScript plugin: its `audit.jsonl`, version 1, becomes rows of ours.

Its judgements are history: they keep the quality they were given, whatever the policy here. Each row names the
SHA-256 of the line that it was made from, so adopting twice adds nothing; and it has the id that our own reading of
the same event would have, so that a later backfill adds nothing either.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct, field

from a2a_trust.amendments import MEMBER_REGISTERED
from a2a_trust.errors import UsageError
from a2a_trust.facts import VALID_MS
from a2a_trust.model import ROW_VERSION, Details, Dimension, Profile, Role, Row
from a2a_trust.policy import MESSAGE_SENT, RESPONSE_LATENCY, TASK_COMPLETED, TOOL_ERROR, TOOL_SUCCESS
from a2a_trust.store import audit
from a2a_trust.store.reader import AUDIT

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

ORIGIN = "dsh-a2a-trust v1"
REASONS = 5
"""Unreadable lines told of a file that holds nothing else."""


class _Profile(Struct):
    name: str
    description: str = ""
    provider: str = ""
    context: str = ""


class _Evidence(Struct, rename="camel"):
    profile: _Profile | None = None
    call_id: str = ""
    tool: str = ""
    duration_ms: float | None = None
    task_id: str = ""
    message_id: str = ""
    latency_ms: float | None = None


class _OldRow(Struct, rename="camel"):
    time: Any
    session: str
    kind: str
    subject: str
    subject_name: str | None = None
    dim: Dimension | None = None
    quality: float | None = None
    evidence: _Evidence = field(default_factory=_Evidence)


class Adoption(Struct, kw_only=True):
    """What was found in the other store."""

    rows: list[Row]
    left_out: dict[str, int]
    """Rows of sessions whose logs are read instead, by session."""
    unreadable: list[str]
    """Lines that are no version-1 rows, each with its number and why."""
    sessions: list[str]


def read_store(folder: Path, instead: Collection[str] = ()) -> Adoption:
    """Return the rows of a version-1 store as rows of ours; those of the sessions `instead` are left out.

    Raises `UsageError` where there is no such store.
    """
    path = folder / AUDIT
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; give the folder of a version-1 store") from None
    found = Adoption(rows=[], left_out={}, unreadable=[], sessions=[])
    seen: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    clock = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        old = _old_row(line, f"{path}: line {number}")
        if isinstance(old, str):
            found.unreadable.append(old)
            continue
        if type(old.time) is int and old.time in VALID_MS:
            clock = max(clock, old.time)
        if old.session not in found.sessions:
            found.sessions.append(old.session)
        if old.session in instead:
            left_out[old.session] += 1
            continue
        digest = audit.hash_line(line)
        row_id = _row_id(old, digest)
        seen[row_id] += 1
        if seen[row_id] > 1:
            row_id = f"{row_id}#{seen[row_id]}"
        found.rows.append(_adopted(old, row_id, digest, clock, number))
    found.left_out = dict(left_out)
    if not found.sessions:
        why = [reason.removeprefix(f"{path}: ") for reason in found.unreadable[:REASONS]]
        raise UsageError("; ".join([f"{path}: holds no version-1 rows", *why]))
    return found


def _old_row(line: bytes, place: str) -> _OldRow | str:
    """Return the row on a line, or what is wrong with the line. Raises `UsageError` for a row of ours."""
    if b'"prev"' in line:
        raise UsageError(f"{place}: this is a row of a store of our own, not of version 1; give its folder as --home")
    try:
        return msgspec.json.decode(line, type=_OldRow)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return f"{place}: {error}"


def _row_id(old: _OldRow, digest: str) -> str:
    """Return the id under which `TrustStore.commit` looks for what another store has recorded already."""
    evidence = old.evidence
    if old.kind in (TOOL_SUCCESS, TOOL_ERROR) and evidence.call_id:
        return f"tool:{old.session}:{evidence.call_id}"
    if old.kind == MESSAGE_SENT and evidence.message_id:
        return f"msg:{evidence.message_id}"
    if old.kind == RESPONSE_LATENCY and evidence.message_id:
        return f"lat:{old.session}:{evidence.message_id}"
    if old.kind == TASK_COMPLETED and evidence.task_id:
        return f"task:{old.session}:{evidence.task_id}@t{old.time}:{old.dim}"
    if old.kind == MEMBER_REGISTERED:
        return f"member:{old.session}:{old.subject}"
    return f"v1:{digest}"


def _adopted(old: _OldRow, row_id: str, digest: str, clock: int, number: int) -> Row:
    evidence = old.evidence
    ms = evidence.duration_ms if evidence.duration_ms is not None else evidence.latency_ms
    profile = None
    if old.kind == MEMBER_REGISTERED and evidence.profile is not None:
        stated = evidence.profile
        profile = Profile(
            name=stated.name, description=stated.description, provider=stated.provider, context=stated.context
        )
    return Row(
        v=ROW_VERSION,
        id=row_id,
        time=clock,
        session="",
        gen=0,
        seq=number,
        pos=0,
        kind=old.kind,
        subject=old.subject,
        subject_name=old.subject_name,
        dim=old.dim,
        evidence=Details(
            tool=evidence.tool or None,
            call=evidence.call_id or None,
            ms=None if ms is None else int(ms),
            task=evidence.task_id or None,
            message=evidence.message_id or None,
            given=old.quality,
            role=Role.TEAMMATE,
            profile=profile,
            session=old.session,
            origin=ORIGIN,
            digest=digest,
        ),
    )
