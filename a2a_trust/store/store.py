"""The trust store: one home, one writer at a time.

A commit appends rows to the audit log durably, then brings the ledger snapshot up to them, then the cache. Whatever
fails in between, the next opening finds the rows and goes on from there. What a row means is decided in `agents`.
"""

from __future__ import annotations

import contextlib
import logging
import shlex
import sqlite3
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

import filelock
import msgspec

from a2a_trust.agents import Placed, fold_agent
from a2a_trust.amendments import AMENDMENT_KINDS, Amendments
from a2a_trust.errors import AuditDamageError, HomeBusyError, HomeError, PolicyError
from a2a_trust.model import LEDGER_VERSION, ROW_VERSION, AgentRecord, AuditMark, Details, Policy, Row
from a2a_trust.policy import STANDARD
from a2a_trust.refold import AgentFold
from a2a_trust.store import audit, files
from a2a_trust.store.cache import CACHE, Cache, remove_cache
from a2a_trust.store.foreign import refuse_foreign_home
from a2a_trust.store.held import Agents, HeldLedger
from a2a_trust.store.known import new_rows
from a2a_trust.store.reader import AUDIT, POLICY_KIND
from a2a_trust.store.snapshot import BACKUP, LEDGER, read_held, write_both, write_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import TracebackType

_LOG = logging.getLogger("a2a_trust")
LOCK = "ledger.lock"
LEFTOVERS = (f"{LEDGER}.tmp", f"{BACKUP}.tmp", f"{AUDIT}.tmp", f"{AUDIT}.torn-*.tmp", "*.damaged-*.tmp")
"""Temporary files that a killed writer may leave."""
SLICE_ROWS = 4_000
"""Rows appended and made durable at a time."""
AGENTS_KEPT = 128
"""Agents that stay at hand from one slice to the next."""
LOCK_SECONDS = 30.0


class Commit(NamedTuple):
    """What a commit added: evidence that the policy folds, evidence that it does not, observations."""

    folded: int
    unfolded: int
    observations: int
    known: int
    """Rows that were in the audit log already."""


class TrustStore:
    """The only writer of a home. Use it as a context manager: it holds the lock while it is open."""

    def __init__(
        self, home: Path, policy: Policy | None = None, *, stated: str = "", lock_seconds: float = LOCK_SECONDS
    ) -> None:
        self.home = home
        self._stated = stated or (policy.name if policy else "")
        self.recovery: audit.Recovery | None = None
        """What had to be set aside when the home was opened."""
        self._failed = False
        self._wanted = policy
        self._cache_remade = False
        self._lock = filelock.FileLock(home / LOCK, timeout=lock_seconds, mode=files.FILE_MODE)

    # ------------------------------------------------------------------ opening

    def __enter__(self) -> Self:
        try:
            self._prepare()
            self._lock.acquire()
        except filelock.Timeout:
            msg = f"{self.home}: another process is writing to this home; try again when it is done"
            raise HomeBusyError(msg) from None
        except OSError as error:
            raise _home_error(self.home, error) from None
        try:
            self._open_twice()
        except OSError as error:
            self._lock.release()
            raise _home_error(self.home, error) from None
        except sqlite3.Error as error:
            self._lock.release()
            raise HomeError(f"{self.home / CACHE}: {error}; the home must be a folder you may write to") from None
        except BaseException:
            self._lock.release()
            raise
        if self.recovery is not None:
            # Whatever the command was about: nothing is set aside in silence.
            _LOG.warning(
                "%s: %d bytes from byte %d on were never acknowledged and are set aside as %s: %s",
                self.home / AUDIT,
                self.recovery.bytes,
                self.recovery.offset,
                Path(self.recovery.path).name,
                self.recovery.why,
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if isinstance(error, sqlite3.Error):
                raise self._cache_failed(error) from None
        finally:
            self.cache.close()
            self._lock.release()

    def _prepare(self) -> None:
        """Look whose home it is, and make it where there is none."""
        refuse_foreign_home(self.home)
        files.make_folder(self.home)

    def _open_twice(self) -> None:
        """Open the home; where the cache turns out to be broken, without it, since it can be made anew."""
        try:
            self._open()
        except sqlite3.Error:
            self._cache_remade = True
            remove_cache(self.home)
            self._open()

    def _open(self) -> None:
        path = self.home / AUDIT
        for pattern in LEFTOVERS:
            # Only the holder of the lock makes these, and the lock is ours: whoever left them is dead.
            for leftover in self.home.glob(pattern):
                files.remove(leftover)
        ledger, used = _best_snapshot(self.home)
        mark, recovery = audit.recover_tail(path, ledger.audit if ledger else audit.empty_mark())
        self.recovery = recovery or self.recovery
        self._writer = audit.AuditWriter(path, mark)
        self.cache = Cache(self.home)
        try:
            self._load(path, ledger, mark, used)
        except BaseException:
            self.cache.close()
            raise

    def _load(self, path: Path, ledger: HeldLedger | None, mark: AuditMark, used: str) -> None:
        """Bring index and ledger up to the audit log."""
        self._sync_cache(path, mark)
        self.amendments = Amendments(self._rows_of(""))
        behind = ledger is None or ledger.audit != mark
        if ledger is None or behind:
            ledger = self._catch_up(path, ledger, mark)
        self.ledger = ledger
        self._agents: dict[str, AgentFold] = {}
        if used != LEDGER and mark.rows and any((self.home / name).exists() for name in (LEDGER, BACKUP)):
            # What is no ledger must not become the backup.
            write_both(self.home, ledger)
        elif behind and mark.rows:
            self._write_snapshot()
        if mark.rows == 0:
            # Whoever made the folder may have died before its name was durable.
            files.sync_name(self.home)
            self._append([_policy_row(0, 0, self._wanted or STANDARD)])
            self._write_snapshot()
        elif self._wanted is not None and self._wanted != ledger.policy:
            raise PolicyError(
                f"{self.home}: the home stands under policy {ledger.policy.name!r}, not {self._wanted.name!r}; "
                f"change it with: a2a-trust policy --set {shlex.quote(self._stated)}"
            )

    def _sync_cache(self, path: Path, mark: AuditMark) -> None:
        """Bring the index up to the audit log; start it anew if it is the index of another log."""
        stamp = self.cache.stamp
        if stamp == mark:
            return
        if stamp.rows > mark.rows or not audit.stands_on(path, stamp):
            self.cache.reset()
            stamp = self.cache.stamp
        for part in audit.slices(audit.read_rows(path, stamp, until=mark.bytes), SLICE_ROWS):
            line = audit.encode_row(part[-1].row)
            stamp = AuditMark(
                rows=stamp.rows + len(part), bytes=part[-1].offset + len(line) + 1, head=audit.hash_line(line)
            )
            self.cache.index(part, stamp)

    def _catch_up(self, path: Path, ledger: HeldLedger | None, mark: AuditMark) -> HeldLedger:
        """Return the ledger after rows that no snapshot holds."""
        policy, updated_at, subjects = (ledger.policy, ledger.updated_at, set()) if ledger else (STANDARD, 0, set())
        anew = ledger is None
        for row, _ in audit.read_rows(path, ledger.audit if ledger else audit.empty_mark(), until=mark.bytes):
            updated_at = max(updated_at, row.time)
            anew = anew or row.kind == POLICY_KIND or row.kind in AMENDMENT_KINDS
            if row.kind == POLICY_KIND and row.evidence.policy is not None:
                policy = row.evidence.policy
            if row.subject:
                subjects.add(self.amendments.subject(row.subject))
        agents = Agents() if anew or ledger is None else ledger.agents
        for subject in self._subjects() if anew else sorted(subjects):
            agents[subject] = self._fold(subject, policy)
        return HeldLedger(version=LEDGER_VERSION, updated_at=updated_at, agents=agents, policy=policy, audit=mark)

    # ------------------------------------------------------------------ reading

    @property
    def policy(self) -> Policy:
        """The policy under which the ledger stands."""
        return self.ledger.policy

    def rows(self) -> Iterator[Row]:
        """Yield all rows in the order of the file."""
        for row, _ in audit.read_rows(self.home / AUDIT, audit.empty_mark(), until=self._writer.mark.bytes):
            yield row

    def _rows_of(self, fingerprint: str, session: str | None = None) -> Iterator[Row]:
        """Yield the rows of one fingerprint; of the empty one, the rows that are about no agent."""
        return audit.read_row_at(self.home / AUDIT, self.cache.offsets(fingerprint, session))

    def _rows_under(self, subject: str, session: str | None = None) -> Iterator[Row]:
        """Yield the rows that are folded under a subject: its own, and those of its aliases."""
        for member in self.amendments.members(subject):
            yield from self._rows_of(member, session)

    def _subjects(self) -> list[str]:
        return sorted({self.amendments.subject(fingerprint) for fingerprint in self.cache.subjects()})

    def _fold(self, subject: str, policy: Policy) -> AgentRecord:
        return fold_agent(subject, self._rows_under(subject), policy, self.amendments)

    # ------------------------------------------------------------------ writing

    def commit(self, rows: Iterable[Row]) -> Commit:
        """Append what is not known yet, in key order, and bring all views up to it.

        When this returns every row is durable. Raises `HomeError` where the home cannot be written; what was
        appended until then stays.
        """
        return self.commit_ordered(sorted(rows, key=lambda row: row.key))

    def commit_ordered(self, rows: Iterable[Row]) -> Commit:
        """Do what `commit` does with rows that are in key order, holding one slice of them at a time.

        They may be asked for a second time.
        """
        try:
            with self._writing():
                return self._commit(rows)
        except sqlite3.DatabaseError:
            if self._cache_remade:
                raise
            self._cache_remade = True
            self.cache.close()
            with self._writing():
                remove_cache(self.home)
                self._open()
            return self.commit_ordered(rows)

    def _commit(self, ordered: Iterable[Row]) -> Commit:
        folded = unfolded = observations = known = 0
        for part in audit.slices(ordered, SLICE_ROWS):
            new = new_rows(self.home, self.cache, part)
            known += len(part) - len(new)
            evidence = [row.quality for row, _ in self._append(new) if row.dim is not None]
            folded += len(evidence) - evidence.count(None)
            unfolded += evidence.count(None)
            observations += len(new) - len(evidence)
        if folded + unfolded + observations:
            self._write_snapshot()
        return Commit(folded, unfolded, observations, known)

    def set_policy(self, policy: Policy) -> bool:
        """Put the home under another policy; tell whether that changed anything. One row, then a new fold of all."""
        if policy == self.policy:
            return False
        with self._writing():
            self._append([_policy_row(self._count_policies(), self.ledger.updated_at, policy)])
            self._refold()
        return True

    def refold(self) -> None:
        """Fold every agent anew from the audit log alone and write the snapshot. Raises `HomeError`."""
        with self._writing():
            self._refold()

    def _refold(self) -> None:
        self._agents.clear()
        self.ledger.agents = Agents()
        for subject in self._subjects():
            self.ledger.agents[subject] = self._fold(subject, self.policy)
        self._write_snapshot()

    def amend(self, rows: Iterable[Row]) -> None:
        """Append amendments and fold everything anew: they may change any agent. Raises `HomeError`."""
        with self._writing():
            for row in self._append(rows):
                self.amendments.add(row.row)
            self._refold()

    def rebuild(self) -> None:
        """Make index and ledger anew from the audit log alone. What is remembered of the session logs stays."""
        path, mark = self.home / AUDIT, self._writer.mark
        with self._writing():
            self.cache.forget_rows()
            self._sync_cache(path, mark)
            self.amendments = Amendments(self._rows_of(""))
            self.ledger = self._catch_up(path, None, mark)
            # A backup that this replay did not give would bring back what the rebuild is to undo.
            write_both(self.home, self.ledger)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Let nothing be written any more once a write has failed, and tell what stands."""
        if self._failed:
            raise HomeError(f"{self.home}: an earlier write failed, and this run writes nothing more; run it again")
        try:
            yield
        except OSError as error:
            raise self._write_failed(error) from None

    def _cache_failed(self, error: sqlite3.Error) -> HomeError:
        """Remove an index that failed; whatever it said is found again in the audit log and the session logs."""
        self._failed = True
        self.cache.close()
        with contextlib.suppress(OSError):
            remove_cache(self.home)
        return HomeError(f"{self.home / CACHE}: {error}; it was removed, and no row with it: run the command again")

    def _write_failed(self, error: OSError) -> HomeError:
        """Say what stands after a failed write, read anew from the file. Nothing is tried again with this store."""
        self._failed = True
        path, acknowledged = self.home / AUDIT, self._writer.mark
        try:
            tail = audit.find_tail(path, acknowledged)
        except (OSError, AuditDamageError) as second:
            state = f"and the audit log could not be read again ({second})"
        else:
            rest = tail.size - tail.sound.bytes
            state = f"{tail.sound.rows} rows stand, {acknowledged.rows} of them acknowledged"
            state += f"; behind them are {rest} bytes that are no row" if rest else ""
        place = error.filename or self.home
        return HomeError(f"{place}: {error.strerror or error}; {state}; the next run goes on from there")

    def _count_policies(self) -> int:
        return len([row_id for row_id in self.cache.known([""]) if row_id.startswith(f"{POLICY_KIND}:")])

    def _append(self, rows: Iterable[Row]) -> list[audit.Placement]:
        """Place rows, append them, and bring ledger and cache in memory and on disk up to them."""
        out = [self._place(row) for row in rows]
        placed = self._writer.append(out)
        self.cache.index(placed, self._writer.mark)
        for agent in self._agents.values():
            agent.flushed()
        self._put_back(max(0, len(self._agents) - AGENTS_KEPT))
        self.ledger.audit = self._writer.mark
        return placed

    def _place(self, row: Row) -> Row:
        """Return a row with what it does to its agent."""
        self.ledger.updated_at = max(self.ledger.updated_at, row.time)
        if row.kind == POLICY_KIND and row.evidence.policy is not None:
            self.ledger.policy = row.evidence.policy
        if row.subject is None:
            return row
        subject = self.amendments.subject(row.subject)
        agent = self._agents.pop(subject, None)
        if agent is None:
            agent = AgentFold(
                subject,
                self.policy,
                self.ledger.agents.get(subject),
                lambda session: self._rows_under(subject, session),
                self.amendments,
            )
        # The one that was at work last stands last.
        self._agents[subject] = agent
        return _with_step(row, agent.add(row))

    def _put_back(self, count: int) -> None:
        """Put agents whose rows are all appended back into the ledger, those first that were not touched for long."""
        for subject in list(islice(self._agents, count)):
            self.ledger.agents[subject] = self._agents.pop(subject).record()

    def _write_snapshot(self) -> None:
        self._put_back(len(self._agents))
        write_snapshot(self.home, self.ledger)


def _with_step(row: Row, did: Placed) -> Row:
    return msgspec.structs.replace(
        row, quality=did.quality, before=did.before, after=did.after, delta=did.delta, late=did.late
    )


def _policy_row(number: int, time: int, policy: Policy) -> Row:
    return Row(
        v=ROW_VERSION,
        id=f"{POLICY_KIND}:{number}",
        time=time,
        session="",
        gen=0,
        seq=number,
        pos=0,
        kind=POLICY_KIND,
        evidence=Details(policy=policy),
    )


def _home_error(home: Path, error: OSError) -> HomeError:
    return HomeError(f"{error.filename or home}: {error.strerror or error}; the home must be a folder you may write to")


def _best_snapshot(home: Path) -> tuple[HeldLedger | None, str]:
    """Return the snapshot, or the one before where it is missing or no ledger, and the name of its file.

    Whether it stands on the audit log is checked by recovery: one that does not is a sign that rows were lost or
    edited, and never a reason to look for an older one that does.
    """
    for name in (LEDGER, BACKUP):
        snapshot = read_held(home / name)
        if snapshot is not None:
            return snapshot, name
    return None, ""
