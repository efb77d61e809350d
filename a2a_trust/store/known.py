"""Which rows of a commit are new: each event is recorded once, whoever tells of it, and however often."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from a2a_trust.amendments import MEMBER_REGISTERED
from a2a_trust.policy import MESSAGE_SENT, TASK_COMPLETED
from a2a_trust.store import audit
from a2a_trust.store.reader import AUDIT

if TYPE_CHECKING:
    from pathlib import Path

    from a2a_trust.model import Row
    from a2a_trust.store.cache import Cache


def new_rows(home: Path, cache: Cache, rows: list[Row]) -> list[Row]:
    """Return the rows that are not recorded yet, each id once."""
    scopes = [row.scope for row in rows]
    ids: dict[str, list[str]] = {}
    for row, scope in zip(rows, scopes, strict=True):
        ids.setdefault(scope, []).append(row.id)
    recorded = {scope: cache.known_among(scope, asked) for scope, asked in ids.items()}
    adopted = cache.adopted(map(adopted_id, rows))
    new: list[Row] = []
    for row, scope in zip(rows, scopes, strict=True):
        known = recorded[scope]
        found: Row | None = row
        if row.id in known:
            found = _retold(home, cache, row)
        elif adopted and adopted_id(row) in adopted:
            found = None
        if found is not None and found.id not in known:
            known.add(found.id)
            new.append(found)
    return new


def _retold(home: Path, cache: Cache, row: Row) -> Row | None:
    """Return what supersedes the recorded row of an event that was told before; `None` where that one stays.

    Two runs may tell of one hearing, each at its own time. Whichever is read first, the earlier one counts; of
    equal times that of the run whose id sorts first.
    """
    if row.evidence.heard is None:
        return None
    stands, number = row.id, 1
    while cache.offsets_of(row.scope, f"{row.id}~{number}"):
        stands, number = f"{row.id}~{number}", number + 1
    # What is not recorded yet stands before it in the same slice.
    known = next(audit.read_row_at(home / AUDIT, cache.offsets_of(row.scope, stands)), None)
    if known is None or known.key[:-1] <= row.key[:-1]:
        return None
    return msgspec.structs.replace(row, id=f"{row.id}~{number}", supersedes=stands)


def adopted_id(row: Row) -> str:
    """Return the id under which a row adopted from another store records what this row records."""
    details = row.evidence
    if details.digest:
        return ""
    if row.kind == MESSAGE_SENT:
        return f"msg:{details.message}"
    if row.kind == MEMBER_REGISTERED:
        return f"member:{row.team_id}:{row.subject}"
    if row.kind == TASK_COMPLETED:
        return f"task:{row.session}:{details.task}@t{row.time}:{row.dim}"
    return row.id
