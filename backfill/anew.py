"""Judging again: what this version's rules say of logs that still exist, against what was recorded.

Nothing is edited. Where the judgement of an event differs, a row that supersedes the old one is appended; where the
rules would no longer make a row, an observation withdraws it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from a2a_trust.backfill.attribute import Readings, attribute
from a2a_trust.backfill.extract import Job, decode_states, extract
from a2a_trust.backfill.spool import SortedRows
from msgspec import Struct

from a2a_trust.amendments import WITHDRAWN
from a2a_trust.attribution import RULES_VERSION
from a2a_trust.model import ROW_VERSION, Details, Row
from a2a_trust.sources.base import LogFile
from a2a_trust.store.known import adopted_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from a2a_trust.store import TrustStore
    from a2a_trust.store.cache import LogEntry

_ANEW = re.compile(r"~[0-9]+\Z", re.ASCII)


class Judgement(Struct, frozen=True, kw_only=True, rename="camel"):
    """How an event was judged before, and how it is now; one of them is missing where there was no row."""

    id: str
    name: str
    before: str | None
    now: str | None


def judge_anew(store: TrustStore) -> list[Judgement]:
    """Append what differs for every session whose log is still where it was read, and return it."""
    entries = [entry for entry in store.cache.logs() if entry.path and Path(entry.path).exists()]
    rows, settled = read_anew(store, entries)
    sessions = {session for entry in entries for session in _sessions_in(entry)}
    recorded = _recorded(store, sessions)
    adopted = store.cache.adopted(map(adopted_id, rows.values()))
    out: list[Row] = []
    judgements: list[Judgement] = []
    for row_id in sorted(rows.keys() | recorded.keys()):
        old, new = recorded.get(row_id), rows.get(row_id)
        # Of an event that had copies, the one that was read may be gone: that is no judgement.
        if old is not None and new is None and (old.event or old.session not in settled):
            continue
        if old is not None and new is not None and _judgement(old) == _judgement(new):
            continue
        if old is None and new is not None and new.session not in sessions:
            continue
        # An event that was adopted keeps the judgement that it was given: it is history.
        if new is not None and adopted_id(new) in adopted:
            continue
        written = _superseding(old, new)
        if not _unknown(store, written):
            continue
        out += written
        shown = new or old
        judgements.append(
            Judgement(
                id=row_id,
                name=(shown.subject_name or "") if shown else "",
                before=said(old),
                now=said(new),
            )
        )
    store.commit(out)
    return judgements


def _unknown(store: TrustStore, rows: list[Row]) -> bool:
    """Tell whether a commit would write any of the rows."""
    return any(row.id not in store.cache.known([row.scope]) for row in rows)


def read_anew(store: TrustStore, entries: Iterable[LogEntry]) -> tuple[dict[str, Row], set[str]]:
    """Read logs from their start and return their rows by id, and the sessions of which nothing waits."""
    first: dict[str, Row] = {}
    settled: set[str] = set()

    def remember(entry: LogEntry) -> None:
        if not entry.waiting:
            settled.update(_sessions_in(entry))

    with Readings(store.home) as readings, SortedRows(store.home) as rows:
        for entry in entries:
            job = Job(_log_of(entry), entry.session, fixtures=entry.rules == RULES_VERSION)
            done = extract(job)
            if not done.failed:
                readings.add(job.log, done)
        attribute(store.cache, readings, rows, remember)
        for row in rows:
            first.setdefault(row.id, row)
    return first, settled


def _sessions_in(entry: LogEntry) -> list[str]:
    """Return the sessions in a file of which something was read."""
    return [state.header.session for state in decode_states(entry.state) if state.started or not state.header.by_event]


def _log_of(entry: LogEntry) -> LogFile:
    found = Path(entry.path).stat()
    return LogFile(
        source=entry.source,
        path=entry.path,
        gen=entry.gen,
        size=found.st_size,
        mtime_ns=found.st_mtime_ns,
        inode=found.st_ino,
    )


def _recorded(store: TrustStore, sessions: set[str]) -> dict[str, Row]:
    """Return the rows that count now, of the given sessions, by the id of the event that they judge."""
    found: dict[str, Row] = {}
    superseded: set[str] = set()
    for row in store.rows():
        if row.supersedes:
            superseded.add(row.supersedes)
        known = row.event is not None or row.session in sessions
        if known and not row.evidence.digest and row.evidence.source and row.kind != WITHDRAWN:
            found[row.id] = row
    return {_ANEW.sub("", row.id): row for row in found.values() if row.id not in superseded}


def _judgement(row: Row) -> Mapping[str, object]:
    """Return what two judgements of an event are compared by: not where it stands in which format's log."""
    details = msgspec.structs.replace(row.evidence, rules=None)
    return {"kind": row.kind, "subject": row.subject, "dim": row.dim, "time": row.time, "details": details}


def _superseding(old: Row | None, new: Row | None) -> list[Row]:
    if old is None:
        return [new] if new is not None else []
    number = int(old.id.rpartition("~")[2]) + 1 if _ANEW.search(old.id) else 1
    stem = _ANEW.sub("", old.id)
    same_agent = new is not None and new.subject == old.subject
    rows: list[Row] = []
    if not same_agent:
        rows.append(
            Row(
                v=ROW_VERSION,
                id=f"{WITHDRAWN}:{stem}~{number}",
                time=old.time,
                session=old.session,
                gen=old.gen,
                seq=old.seq,
                pos=old.pos,
                team_id=old.team_id,
                kind=WITHDRAWN,
                subject=old.subject,
                subject_name=old.subject_name,
                supersedes=old.id,
                evidence=Details(role=old.evidence.role, source=old.evidence.source),
            )
        )
    if new is not None:
        supersedes = old.id if same_agent else None
        rows.append(msgspec.structs.replace(new, id=f"{stem}~{number}", supersedes=supersedes))
    return rows


def said(row: Row | None) -> str | None:
    """Return in words how a row judges its event."""
    if row is None:
        return None
    details = row.evidence
    parts = [row.kind, details.reason or details.code or "", details.tool or details.task or ""]
    return " ".join(part for part in parts if part)
