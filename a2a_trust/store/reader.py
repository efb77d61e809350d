"""Reading a home: no lock, no writing, whatever a writer does at the same time.

What is read is what was acknowledged when reading began, or a little more; never half a row, never a broken snapshot.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from a2a_trust.agents import fold_agent
from a2a_trust.amendments import AMENDMENT_KINDS, Amendments
from a2a_trust.errors import AuditDamageError, HomeError, NoLedgerError
from a2a_trust.model import LEDGER_VERSION, AuditMark, Ledger, Policy, Row
from a2a_trust.policy import STANDARD
from a2a_trust.store import audit
from a2a_trust.store.snapshot import BACKUP, LEDGER, Glance, read_glance, read_snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

T = TypeVar("T")

AUDIT = "audit.jsonl"
POLICY_KIND = "policy"


def default_home(environ: Mapping[str, str]) -> Path:
    """Return `$A2A_TRUST_HOME`, else `~/.a2a-trust`."""
    home = environ.get("A2A_TRUST_HOME")
    return Path(home or "~/.a2a-trust").expanduser()


def read_ledger(home: Path) -> Ledger:
    """Return the ledger as it stands, without a lock and without writing.

    Where the snapshot is missing or lags behind, the rows it lacks are folded in memory. Raises `NoLedgerError` where
    nothing was recorded yet, `AuditDamageError` where the snapshot stands on rows that are gone.
    """
    ledger = _newest(home, read_snapshot)
    size = _log_size(home)
    if ledger is not None:
        _check_ground(home, ledger.audit)
        if ledger.audit.bytes == size:
            return ledger
    elif size == 0:
        raise NoLedgerError(f"{home}: nothing is recorded here yet; run: a2a-trust backfill")
    return fold_log(read_all_rows(home))


def read_snapshot_alone(home: Path) -> Ledger:
    """Return the newest whole snapshot, however far it lags behind the audit log; its own mark says how far it goes.

    Takes time with the number of agents, never with the length of the log. Only where there is no snapshot at all is
    the log folded. Raises what `read_ledger` raises.
    """
    ledger = _newest(home, read_snapshot)
    if ledger is None:
        return read_ledger(home)
    _check_ground(home, ledger.audit)
    return ledger


def glance(home: Path, *, fold: bool = True) -> Glance:
    """Return what `read_snapshot_alone` does, without the histories of the agents. Raises what it raises.

    Without `fold` a home that has no readable snapshot counts as one where nothing was recorded: its log, however
    long, is not folded.
    """
    try:
        found = read_glance(home / LEDGER)
    except OSError as error:
        raise _unreadable(home, error) from None
    if found is None and fold:
        return Glance(read_ledger(home), [])
    if found is None:
        # The generation before may know nothing of what was recorded since: better to say so than to show it.
        if (home / LEDGER).exists():
            raise HomeError(f"{home / LEDGER}: damaged; make it anew: a2a-trust rebuild")
        raise NoLedgerError(f"{home}: there is no snapshot to read")
    _check_ground(home, found.ledger.audit)
    return found


def _newest(home: Path, read: Callable[[Path], T | None]) -> T | None:
    try:
        return read(home / LEDGER) or read(home / BACKUP)
    except OSError as error:
        raise _unreadable(home, error) from None


def _log_size(home: Path) -> int:
    try:
        return audit.last_whole_line(home / AUDIT)
    except OSError as error:
        raise _unreadable(home, error) from None


def _unreadable(home: Path, error: OSError) -> HomeError:
    return HomeError(f"{error.filename or home}: {error.strerror or error}; expected a folder to read")


def _check_ground(home: Path, mark: AuditMark) -> None:
    """Refuse a snapshot whose rows are not there any more: its numbers could not be proved."""
    path = home / AUDIT
    if not audit.stands_on(path, mark):
        raise AuditDamageError(
            f"{path}: not the log that the ledger stands on, {mark.rows} rows and {mark.bytes} bytes: "
            "rows were cut off or edited; see: a2a-trust verify"
        )


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
    ledger = read_snapshot(home / LEDGER)
    # Without a ledger nothing says what was acknowledged; the first row always was.
    settled = ledger.audit.bytes if ledger else 1
    for row, _ in audit.read_rows(path, audit.empty_mark(), until=audit.last_whole_line(path), settled=settled):
        yield row


def read_rows_of(home: Path, subject: str) -> Iterator[Row]:
    """Yield the rows folded under one fingerprint in the order of the file, without a lock."""
    amendments = read_amendments(home)
    members = amendments.members(subject)
    yield from (row for row in _matching(home, [member.encode() for member in members]) if row.subject in members)


def read_amendments(home: Path) -> Amendments:
    """Return what the amendment rows of a home add up to, without a lock."""
    return Amendments(read_amendment_rows(home))


def read_amendment_rows(home: Path) -> Iterator[Row]:
    """Yield the amendment rows of a home in the order of the file, without a lock."""
    rows = _matching(home, [f'"kind":"{kind}"'.encode() for kind in AMENDMENT_KINDS])
    yield from (row for row in rows if row.kind in AMENDMENT_KINDS)


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
