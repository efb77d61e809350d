"""Reading a home: no lock, no writing, whatever a writer does at the same time.

What is read is what was acknowledged when reading began, or a little more; never half a row, never a broken snapshot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_trust.agents import fold_agent
from a2a_trust.amendments import AMENDMENT_KINDS, Amendments
from a2a_trust.errors import AuditDamageError, HomeError, NoLedgerError
from a2a_trust.model import LEDGER_VERSION, AuditMark, Ledger, Policy, Row
from a2a_trust.policy import STANDARD
from a2a_trust.store import audit
from a2a_trust.store.snapshot import BACKUP, LEDGER, read_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

AUDIT = "audit.jsonl"
POLICY_KIND = "policy"


def read_ledger(home: Path) -> Ledger:
    """Return the ledger as it stands, without a lock and without writing.

    Where the snapshot is missing or lags behind, the rows it lacks are folded in memory. Raises `NoLedgerError` where
    nothing was recorded yet.
    """
    path = home / AUDIT
    try:
        ledger = read_snapshot(home / LEDGER) or read_snapshot(home / BACKUP)
        size = audit.last_whole_line(path)
    except OSError as error:
        raise HomeError(f"{error.filename or home}: {error.strerror or error}; expected a folder to read") from None
    if ledger is not None and not audit.stands_on(path, ledger.audit):
        raise AuditDamageError(
            f"{path}: not the log that the ledger stands on, {ledger.audit.rows} rows and {ledger.audit.bytes} bytes: "
            "rows were cut off or edited; see: a2a-trust verify"
        )
    if ledger is None and size == 0:
        msg = f"{home}: nothing is recorded here yet; run: a2a-trust backfill"
        raise NoLedgerError(msg)
    if ledger is not None and ledger.audit.bytes == size:
        return ledger
    return fold_log(read_all_rows(home))


def fold_log(rows: Iterable[Row], policy: Policy | None = None) -> Ledger:
    """Return the ledger that an audit log gives, by definition: each agent the fold of its rows in key order.

    Under its own last policy, or under the one given.
    """
    by_subject: dict[str, list[Row]] = {}
    own, updated_at, mark, amendments = STANDARD, 0, audit.empty_mark(), Amendments()
    for row in rows:
        line = audit.encode_row(row)
        mark = AuditMark(rows=mark.rows + 1, bytes=mark.bytes + len(line) + 1, head=audit.hash_line(line))
        updated_at = max(updated_at, row.time)
        amendments.add(row)
        if row.kind == POLICY_KIND and row.evidence.policy is not None:
            own = row.evidence.policy
        if row.subject:
            by_subject.setdefault(row.subject, []).append(row)
    policy = policy or own
    grouped: dict[str, list[Row]] = {}
    for subject, found in by_subject.items():
        grouped.setdefault(amendments.subject(subject), []).extend(found)
    agents = {subject: fold_agent(subject, found, policy, amendments) for subject, found in sorted(grouped.items())}
    return Ledger(version=LEDGER_VERSION, updated_at=updated_at, agents=agents, policy=policy, audit=mark)


def read_all_rows(home: Path) -> Iterator[Row]:
    """Yield the rows of a home in the order of the file, without a lock; a line that is being written is left out."""
    path = home / AUDIT
    if not path.exists():
        msg = f"{home}: nothing is recorded here yet; run: a2a-trust backfill"
        raise NoLedgerError(msg)
    snapshot = read_snapshot(home / LEDGER)
    acknowledged = snapshot.audit.bytes if snapshot else 0
    reached = 0
    try:
        for row, reached in audit.read_rows(path, audit.empty_mark(), until=audit.last_whole_line(path)):  # noqa: B007
            yield row
    except AuditDamageError:
        # Behind what the ledger stands on it is a write that was never acknowledged; the next writer sets it aside.
        if audit.next_line(path, reached) < acknowledged:
            raise


def read_rows_of(home: Path, subject: str) -> Iterator[Row]:
    """Yield the rows folded under one fingerprint in the order of the file, without a lock."""
    amendments = read_amendments(home)
    members = amendments.members(subject)
    yield from (row for row in _matching(home, [member.encode() for member in members]) if row.subject in members)


def read_amendments(home: Path) -> Amendments:
    """Return what the amendment rows of a home add up to, without a lock."""
    return Amendments(_matching(home, [f'"kind":"{kind}"'.encode() for kind in AMENDMENT_KINDS]))


def _matching(home: Path, wanted: list[bytes]) -> Iterator[Row]:
    """Yield the rows whose lines hold one of the given bytes; only these are parsed."""
    path = home / AUDIT
    left = audit.last_whole_line(path)
    if not left:
        return
    with path.open("rb") as file:
        for line in file:
            left -= len(line)
            if left < 0:
                return
            if any(text in line for text in wanted):
                yield audit.parse_line(line, f"{path}: a row")
