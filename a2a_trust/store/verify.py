"""Checking a home: the chain of the audit log, every step in it, and the views made from it.

A library function first; the command, tests and monitoring call it alike. It reads everything in the order of the
file and writes nothing. What it cannot see without a pin is a log whose rows and ledger were all computed anew.
"""

from __future__ import annotations

import sys
from array import array
from enum import StrEnum
from hashlib import blake2b
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, field

from a2a_trust.agents import Placed, fold_agent
from a2a_trust.amendments import AMENDMENT_KINDS, Amendments
from a2a_trust.errors import HomeError, NoLedgerError, UsageError
from a2a_trust.model import NO_HEAD, AgentRecord, AuditMark, Ledger, Policy, Row
from a2a_trust.policy import STANDARD
from a2a_trust.refold import AgentFold
from a2a_trust.store import audit
from a2a_trust.store.reader import AUDIT, POLICY_KIND
from a2a_trust.store.snapshot import BACKUP, LEDGER, read_snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LISTED = 100
"""Defects of each kind that are listed; the count goes on."""
_REPORT_ROWS = 5000


class DefectKind(StrEnum):
    """What can be wrong, in the order of their exit codes, which begin at 20."""

    EMPTIED = "emptied"
    CUT = "cut-tail"
    OTHER_LOG = "other-log"
    NOT_A_ROW = "not-a-row"
    UNCHAINED = "unchained-row"
    EDITED = "edited-or-missing-row"
    REPEATED = "repeated-row"
    MOVED = "moved-row"
    QUALITY = "wrong-quality"
    STEP = "wrong-step"
    LEDGER = "ledger-differs"

    @property
    def exit_code(self) -> int:
        """The exit code of `verify` where this is the first kind found."""
        return 20 + list(DefectKind).index(self)


class Defect(Struct, frozen=True):
    """One thing that is wrong, and where: row (from 1) and byte, 0 where it has no place in the audit log."""

    kind: DefectKind
    what: str
    row: int = 0
    byte: int = 0


class Verification(Struct, kw_only=True):
    """What was found."""

    rows: int = 0
    bytes: int = 0
    head: str = NO_HEAD
    origin: str = ""
    """SHA-256 of the first line: which log this is."""
    torn_bytes: int = 0
    """Bytes behind the last whole row that nothing stands on: a write that was never acknowledged."""
    checked: list[str] = field(default_factory=list)
    """What the log was held against: `ledger.json`, its backup, a pin."""
    defects: list[Defect] = field(default_factory=list)
    defect_count: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    """How many there are of each kind."""

    @property
    def exit_code(self) -> int:
        """0 where all is well, else the code of the first kind found."""
        return min((defect.kind.exit_code for defect in self.defects), default=0)

    def add(self, kind: DefectKind, what: str, row: int = 0, byte: int = 0) -> None:
        """Note a defect. A flood of one kind hides no other."""
        self.defect_count += 1
        self.counts[kind] = self.counts.get(kind, 0) + 1
        if self.counts[kind] <= LISTED:
            self.defects.append(Defect(kind, what, row, byte))


class Pin(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A place in an audit log, kept elsewhere: whoever has it can prove any edit of what it covers."""

    origin: str
    rows: int
    bytes: int
    head: str


def read_pin(path: Path) -> Pin:
    """Return a pin. Raises `UsageError`."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Pin)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; expected a pin, made with: a2a-trust verify --write-pin") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not a pin: {error}; make one with: a2a-trust verify --write-pin") from None


def pin_of(found: Verification) -> Pin:
    """Return the pin for the end of a log that was verified."""
    return Pin(origin=found.origin, rows=found.rows, bytes=found.bytes, head=found.head)


def verify(
    home: Path, pin: Pin | None = None, report: Callable[[int, int], None] = lambda _done, _all: None
) -> Verification:
    """Check a home, against a pin if there is one. Raises `NoLedgerError` where there is nothing to check.

    `report` is told the bytes done and all of them.
    """
    path = home / AUDIT
    marks: dict[str, AuditMark] = {}
    snapshots: dict[str, Ledger] = {}
    refused: list[str] = []
    for name in (LEDGER, BACKUP):
        there = (home / name).exists()
        try:
            snapshot = read_snapshot(home / name)
        except HomeError as error:
            refused.append(str(error))
            continue
        if snapshot is not None:
            snapshots[name] = snapshot
            marks[name] = snapshot.audit
        elif there:
            refused.append(f"{home / name}: no ledger can be read from it; make it anew: a2a-trust rebuild")
    if pin is not None:
        marks["pin"] = AuditMark(rows=pin.rows, bytes=pin.bytes, head=pin.head)
    if not path.exists() and not marks and not refused:
        raise NoLedgerError(f"{home}: nothing is recorded here yet; run: a2a-trust backfill")
    found = _Check(path, marks, snapshots, pin, report).run()
    if found.rows == 0 and not marks and not refused:
        raise NoLedgerError(f"{path}: holds no row; run: a2a-trust backfill")
    for what in refused:
        found.add(DefectKind.LEDGER, what)
    return found


class _Check:
    """One pass over the file, and a second one where a link is broken."""

    def __init__(
        self,
        path: Path,
        marks: dict[str, AuditMark],
        snapshots: dict[str, Ledger],
        pin: Pin | None,
        report: Callable[[int, int], None],
    ) -> None:
        self._path = path
        self._marks = marks
        self._snapshots = snapshots
        self._pin = pin
        self._report = report
        self._found = Verification(checked=list(marks))
        self._replay = _Replay(path)
        self._ids: set[int] = set()
        self._heads = {mark.head for mark in marks.values()}
        self._met: set[str] = set()
        """Those heads that are the hash of a line of the log."""
        self._apart: list[tuple[str, Defect]] = []
        """Where the log ends elsewhere than a mark says; by the name of the mark."""
        self._broken: list[tuple[int, int, str, str]] = []
        """Row, byte, the hash it names, the hash that stands before it."""

    def run(self) -> Verification:
        found = self._found
        size = self._path.stat().st_size if self._path.exists() else 0
        for line, offset in self._lines():
            if not line.endswith(b"\n"):
                # No damage in itself: where something stands on more than is whole, the end was cut off.
                found.torn_bytes = len(line)
                break
            self._take(line, offset)
            if found.rows % _REPORT_ROWS == 0:
                self._report(offset, size)
        self._place_broken_links()
        self._check_ends(size)
        self._report(size, size)
        return found

    def _lines(self) -> Iterator[tuple[bytes, int]]:
        if not self._path.exists():
            return
        offset = 0
        with self._path.open("rb") as file:
            for line in file:
                yield line, offset
                offset += len(line)

    def _take(self, line: bytes, offset: int) -> None:
        found = self._found
        number, content = found.rows + 1, line.removesuffix(b"\n")
        row = self._row_of(content, number, offset)
        if row is not None:
            if row.prev != found.head:
                self._broken.append((number, offset, row.prev, found.head))
            identity = int.from_bytes(blake2b(f"{row.scope}\n{row.id}".encode(), digest_size=8).digest(), "big")
            if identity in self._ids:
                found.add(DefectKind.REPEATED, f"a row with the id {row.id} stands above it already", number, offset)
            else:
                self._ids.add(identity)
                self._check_step(row, number, offset)
        found.rows, found.bytes, found.head = number, offset + len(line), audit.hash_line(content)
        found.origin = found.origin or found.head
        if found.head in self._heads:
            self._met.add(found.head)
        for name, mark in self._marks.items():
            if mark.rows == number:
                self._check_mark(name, mark)

    def _row_of(self, content: bytes, number: int, offset: int) -> Row | None:
        try:
            row = audit.decode_row(content)
        except HomeError as error:
            # It may be a flipped bit as well: what cannot be read is told, and the other rows are checked.
            self._found.add(DefectKind.NOT_A_ROW, str(error), number, offset)
            return None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            try:
                foreign = isinstance(msgspec.json.decode(content), dict)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                foreign = False
            if foreign and b'"prev"' not in content:
                self._found.add(
                    DefectKind.UNCHAINED, "a row of another program: it names no row before it", number, offset
                )
            else:
                self._found.add(DefectKind.NOT_A_ROW, str(error), number, offset)
            return None
        if not row.prev:
            self._found.add(DefectKind.UNCHAINED, "it names no row before it", number, offset)
            return None
        return row

    def _check_step(self, row: Row, number: int, offset: int) -> None:
        did = self._replay.add(row, offset)
        if row.quality != did.quality:
            what = f"quality {row.quality}, but policy {self._replay.policy.name} gives {did.quality}"
            self._found.add(DefectKind.QUALITY, what, number, offset)
        elif (row.before, row.after, row.late, row.delta) != (did.before, did.after, did.late, did.delta):
            stands = f"{row.before} → {row.after}, by {row.delta}, late {_late(row)}"
            self._found.add(
                DefectKind.STEP,
                f"{stands}; the rows above give {did.before} → {did.after}, by {did.delta}, late {_late(did)}",
                number,
                offset,
            )

    def _check_mark(self, name: str, mark: AuditMark) -> None:
        """Hold the log, now that a mark's last row is read, against the mark."""
        found = self._found
        if (found.bytes, found.head) != (mark.bytes, mark.head):
            here = f"here are {found.bytes} and {found.head[:12]}"
            what = f"{name} stands on {mark.bytes} bytes and head {mark.head[:12]}, {here}"
            self._apart.append((name, Defect(DefectKind.OTHER_LOG, what, found.rows)))
        elif name in self._snapshots:
            for what in _differences(self._snapshots[name], self._replay):
                found.add(DefectKind.LEDGER, f"{name}: {what}", found.rows)

    def _check_ends(self, size: int) -> None:
        found = self._found
        for name, mark in self._marks.items():
            if mark.rows < 1:
                what = f"{name} stands on {mark.rows} rows, which no log has"
                self._apart.append((name, Defect(DefectKind.OTHER_LOG, what)))
            if mark.rows <= found.rows:
                continue
            kind = DefectKind.EMPTIED if size == 0 else DefectKind.CUT
            what = f"{name} stands on {mark.rows} rows ({mark.bytes} bytes), the log holds {found.rows} ({found.bytes})"
            self._apart.append((name, Defect(kind, what, found.rows + 1, found.bytes)))
        if self._pin is not None and found.rows and found.origin != self._pin.origin:
            what = "the pin was made of a log with another first row"
            self._apart.append(("pin", Defect(DefectKind.OTHER_LOG, what, 1)))
        for name, defect in self._apart:
            # Where the row that the mark names is there, and a link above it broken, nothing was cut: that link tells.
            if not (self._broken and self._marks[name].head in self._met):
                found.add(defect.kind, defect.what, defect.row, defect.byte)
        # What decides the exit code is what a person must look at first: the order of the kinds, not of the file.
        found.defects.sort(key=lambda defect: (defect.kind.exit_code, defect.row))

    def _place_broken_links(self) -> None:
        """Tell a moved row from a missing one: does the row that a link names stand elsewhere in the file?"""
        if not self._broken:
            return
        wanted = {named for _, _, named, _ in self._broken}
        places = {}
        for number, (line, _) in enumerate(self._lines(), 1):
            digest = audit.hash_line(line.removesuffix(b"\n"))
            if digest in wanted:
                places[digest] = number
        for number, offset, named, before in self._broken:
            links = f"it names {named[:16]} as the row before it, which is {before[:16]}"
            if named in places or named == NO_HEAD:
                where = f"row {places[named]}" if named in places else "the beginning"
                self._found.add(DefectKind.MOVED, f"{links}; it belongs behind {where}", number, offset)
            else:
                self._found.add(DefectKind.EDITED, f"{links}; a row was edited or removed here", number, offset)


def _late(of: Row | Placed) -> str:
    return f"{of.late.rows} rows, {of.late.value}" if of.late else "not"


class _Replay:
    """What each row must have done, given the rows above it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._amendments = Amendments()
        self._agents: dict[str, AgentFold] = {}
        self._offsets: dict[str, array[int]] = {}
        self.policy: Policy = STANDARD
        self.updated_at = 0

    def add(self, row: Row, offset: int) -> Placed:
        """Return what a row did."""
        self.updated_at = max(self.updated_at, row.time)
        if row.kind == POLICY_KIND and row.evidence.policy is not None:
            self.policy = row.evidence.policy
            self._agents.clear()
        if row.kind in AMENDMENT_KINDS:
            self._amendments.add(row)
            self._agents.clear()
        if row.subject is None:
            return Placed()
        subject = self._amendments.subject(row.subject)
        did = self._agent(subject).add(row)
        self._agents[subject].flushed()
        self._offsets.setdefault(row.subject, array("Q")).append(offset)
        return did

    def _agent(self, subject: str) -> AgentFold:
        agent = self._agents.get(subject)
        if agent is None:
            known = any(member in self._offsets for member in self._amendments.members(subject))
            record = self._fold(subject) if known else None
            agent = self._agents[subject] = AgentFold(
                subject, self.policy, record, lambda session: self._stored(subject, session), self._amendments
            )
        return agent

    def _fold(self, subject: str) -> AgentRecord:
        return fold_agent(subject, self._stored(subject, None), self.policy, self._amendments)

    def _stored(self, subject: str, session: str | None) -> Iterator[Row]:
        for member in self._amendments.members(subject):
            for row in audit.read_row_at(self._path, self._offsets.get(member, array("Q"))):
                if session is None or row.session == session:
                    yield _slim(row)

    def records(self) -> dict[str, AgentRecord]:
        """Return all agents as they stand."""
        subjects = {self._amendments.subject(fingerprint) for fingerprint in self._offsets}
        return {subject: self._agent(subject).record() for subject in sorted(subjects)}


def _slim(row: Row) -> Row:
    """Return a row without what no fold looks at, and with one copy of what many rows share: a subject has many."""
    return msgspec.structs.replace(
        row,
        kind=sys.intern(row.kind),
        session=sys.intern(row.session),
        subject=sys.intern(row.subject or ""),
        subject_name=sys.intern(row.subject_name or ""),
        team_id=None,
        prev="",
    )


def _differences(ledger: Ledger, replay: _Replay) -> Iterator[str]:
    """Yield how a snapshot differs from the replay up to its mark."""
    if ledger.updated_at != replay.updated_at:
        yield f"updated at {ledger.updated_at}; the audit log says {replay.updated_at}"
    if ledger.policy != replay.policy:
        yield f"policy {ledger.policy.name!r}, the audit log says {replay.policy.name!r}"
    records = replay.records()
    for key in sorted(ledger.agents.keys() | records.keys()):
        if key not in records or key not in ledger.agents:
            yield f"agent {key[:12]} is {'not in the audit log' if key not in records else 'missing'}"
        elif ledger.agents[key] != records[key]:
            yield f"agent {key[:12]} ({records[key].profile.name!r}) is not what the audit log gives"
