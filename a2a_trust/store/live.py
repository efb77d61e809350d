"""Reading a home while others write it: the newest rows, the rows of one agent, the state of the chain.

No lock is taken and nothing is written, so a home may lie on a read-only folder. What would cost as much as the whole
audit log is read through the cache, or backwards from the end of the file; only `check_chain` reads everything.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from a2a_trust.amendments import Amendments
from a2a_trust.errors import HomeError, NoLedgerError
from a2a_trust.model import NO_HEAD, AuditMark, Ledger, Row
from a2a_trust.store import audit
from a2a_trust.store.cache import CACHE, LogEntry, read_log_entry
from a2a_trust.store.reader import AUDIT, read_amendments, read_ledger, read_rows_of
from a2a_trust.store.snapshot import BACKUP, LEDGER, read_snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

_BLOCK_BYTES = 1 << 18
_CATCH_UP_BYTES = 32 << 20
"""Up to here an audit log whose snapshot lags behind is folded anew; a longer one is shown as of its snapshot."""
_REPORT_ROWS = 20_000
_ALL = -1
"""No limit, to SQLite."""

FileShape = tuple[int, int, int]
"""Inode, size in bytes and modification time in ns."""


class Shape(NamedTuple):
    """What tells, without reading them, that the files of a home are others than before."""

    ledger: FileShape | None
    audit: FileShape | None


class Page(NamedTuple):
    """Some rows of the audit log that stand one after the other, newest first."""

    rows: list[audit.Placement]
    start: int
    """Byte at which the oldest of them begins; 0 where nothing stands before them."""
    end: int
    """Byte at which the newest of them ends."""
    damaged: int
    """Lines between them that are no rows."""


class Snapshot(NamedTuple):
    """The ledger, and how much of the audit log it does not hold yet."""

    ledger: Ledger
    behind: int
    """Bytes."""


class Chain(NamedTuple):
    """What checking the chain of the audit log found."""

    rows: int
    """Rows that are linked, counted from the first."""
    head: str
    fault: str
    """What is wrong with the row after these; empty where nothing is."""


class Link(NamedTuple):
    """How one line hangs in the chain."""

    hash: str
    prev: str
    """What the row says of the line before."""
    prev_found: str
    """The hash of the line that does stand before it."""
    next_prev: str | None
    """What the row after it says of it; `None` where there is none yet."""

    @property
    def holds(self) -> bool:
        """Tell whether both neighbours agree with it."""
        return self.prev == self.prev_found and self.next_prev in (None, self.hash)


def shape(home: Path) -> Shape:
    """Return what the files of a home look like now."""
    return Shape(file_shape(home / LEDGER), file_shape(home / AUDIT))


def file_shape(path: Path) -> FileShape | None:
    """Return what a file looks like now; `None` where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def read_state(home: Path) -> Snapshot:
    """Return the ledger as `read_ledger` does, but of a long log whose snapshot lags behind only the snapshot.

    Raises `NoLedgerError` where nothing was recorded yet.
    """
    size = audit.last_whole_line(home / AUDIT)
    if size > _CATCH_UP_BYTES:
        ledger = read_snapshot(home / LEDGER) or read_snapshot(home / BACKUP)
        if ledger is not None and ledger.audit.bytes <= size and audit.stands_on(home / AUDIT, ledger.audit):
            return Snapshot(ledger, size - ledger.audit.bytes)
    ledger = read_ledger(home)
    return Snapshot(ledger, max(0, size - ledger.audit.bytes))


def newest_rows(home: Path, count: int, before: int | None = None) -> Page:
    """Return the newest `count` rows, or those that stand right before a byte at which a row begins."""
    path = home / AUDIT
    end = audit.last_whole_line(path) if before is None else before
    rows: list[audit.Placement] = []
    damaged, start = 0, end
    for offset, line in islice(_lines_before(path, end), count):
        start = offset
        try:
            rows.append(audit.Placement(audit.decode_row(line), offset))
        except (msgspec.DecodeError, UnicodeDecodeError, HomeError):
            damaged += 1
    return Page(rows, start, end, damaged)


def _lines_before(path: Path, end: int) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that end at or before a byte, last one first, each with its place and without its newline."""
    if end <= 0:
        return
    with path.open("rb") as file:
        held, start = b"", end
        while start > 0:
            size = min(_BLOCK_BYTES, start)
            start -= size
            file.seek(start)
            held = file.read(size) + held
            first, *lines = held.split(b"\n")
            place = start + len(held)
            for line in reversed(lines):
                place -= len(line)
                if line:
                    yield place, line
                place -= 1
            held = first
            if start and lines:
                held += b"\n"
        if held.strip(b"\n"):
            yield 0, held.rstrip(b"\n")


def newest_rows_of(home: Path, subject: str, count: int, before: int | None = None) -> Page | None:
    """Return the newest rows folded under one fingerprint as `newest_rows` does; `None` where there is no index.

    `start` is then the place of the oldest of them, 0 where nothing older is known.
    """
    path = home / AUDIT
    end = audit.last_whole_line(path)
    indexed = _indexed_bytes(home)
    if indexed is None:
        return None
    members = amendments(home).members(subject)
    offsets = _offsets(home, members, count, end if before is None else before)
    if offsets is None:
        return None
    rows = [audit.Placement(row, place) for row, place in zip(audit.read_row_at(path, offsets), offsets, strict=True)]
    later = rows_since(home, indexed)[0] if before is None else []
    newer = [placed for placed in reversed(later) if placed.row.subject in members]
    return Page([*newer, *rows], offsets[-1] if len(offsets) == count else 0, end, 0)


def amendments(home: Path) -> Amendments:
    """Return what people said about rows after the fact: rows without a subject, which the index finds."""
    indexed = _indexed_bytes(home)
    offsets = _offsets(home, [""], _ALL, indexed) if indexed is not None else None
    if indexed is None or offsets is None:
        return read_amendments(home)
    found = Amendments(audit.read_row_at(home / AUDIT, offsets[::-1]))
    for placed in rows_since(home, indexed)[0]:
        found.add(placed.row)
    return found


def rows_since(home: Path, offset: int) -> tuple[list[audit.Placement], int]:
    """Return the whole rows behind a byte in the order of the file, and where the last of them ends."""
    path = home / AUDIT
    end = audit.last_whole_line(path)
    rows: list[audit.Placement] = []
    if offset >= end:
        return rows, min(offset, end)
    with path.open("rb") as file:
        file.seek(offset)
        for line in file:
            if offset >= end:
                break
            with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, HomeError):
                rows.append(audit.Placement(audit.decode_row(line), offset))
            offset += len(line)
    return rows, offset


def rows_of(home: Path, subject: str, newest: int) -> tuple[list[Row], bool]:
    """Return the newest rows folded under a fingerprint in the order of the file, and whether these are all."""
    page = newest_rows_of(home, subject, newest + 1)
    rows = list(read_rows_of(home, subject)) if page is None else [placed.row for placed in reversed(page.rows)]
    return rows[-newest:], len(rows) <= newest


def _indexed_bytes(home: Path) -> int | None:
    """Return up to which byte of the audit log the index is right; `None` where there is none of this log."""
    stamp = _ask(home, "SELECT rows, bytes, head FROM stamp")
    if not stamp:
        return None
    mark = AuditMark(rows=stamp[0][0], bytes=stamp[0][1], head=stamp[0][2])
    return mark.bytes if audit.stands_on(home / AUDIT, mark) else None


def _offsets(home: Path, subjects: Sequence[str], newest: int, before: int) -> list[int] | None:
    """Return where the newest rows of some subjects stand before a byte, newest first."""
    places = ", ".join("?" * len(subjects))
    query = f"SELECT offset FROM row WHERE subject IN ({places}) AND offset < ? ORDER BY offset DESC LIMIT ?"  # noqa: S608 - placeholders only
    found = _ask(home, query, *subjects, before, newest)
    return None if found is None else [offset for (offset,) in found]


def sessions_by_source(home: Path) -> dict[str, int]:
    """Return how many session logs were read of each source; empty where there is no cache to ask."""
    return dict(_ask(home, "SELECT source, COUNT(*) FROM log GROUP BY source ORDER BY source") or [])


class LogPlace(NamedTuple):
    """Where a session's log lies, and how far it was read."""

    path: str
    size: int
    mtime_ns: int


def newest_logs(home: Path, count: int = 50) -> list[LogPlace]:
    """Return the session logs that changed last, when they were read; empty where there is no cache to ask."""
    query = "SELECT path, size, mtime_ns FROM log ORDER BY mtime_ns DESC LIMIT ?"
    return [LogPlace(*found) for found in _ask(home, query, count) or []]


def session_log(home: Path, session: str) -> LogEntry | None:
    """Return what is remembered of a session's log; `None` where there is no cache to ask."""
    return read_log_entry(home, session)


def _ask(home: Path, query: str, *values: str | int) -> list[Any] | None:
    """Return what the cache answers; `None` where there is no cache, or none that can be asked."""
    try:
        # Opened for reading, a file that is not there is not made.
        with contextlib.closing(sqlite3.connect(f"{(home / CACHE).resolve().as_uri()}?mode=ro", uri=True)) as db:
            return db.execute(query, values).fetchall()
    except sqlite3.Error:
        return None


def link_at(home: Path, offset: int) -> Link | None:
    """Return how the row that begins at a byte hangs in the chain; `None` where no row begins there."""
    path = home / AUDIT
    with path.open("rb") as file:
        file.seek(offset)
        line, after = file.readline(), file.readline()
    before = next(_lines_before(path, offset), None)
    try:
        row = audit.decode_row(line)
        following = audit.decode_row(after).prev if after.endswith(b"\n") else None
    except (msgspec.DecodeError, UnicodeDecodeError, HomeError):
        return None
    return Link(
        hash=audit.hash_line(line.rstrip(b"\n")),
        prev=row.prev,
        prev_found=audit.hash_line(before[1]) if before else NO_HEAD,
        next_prev=following,
    )


def check_chain(home: Path, report: Callable[[int], None] = lambda _: None) -> Chain:
    """Follow the chain from the first row to the last whole one, and compare it with the snapshot.

    Only the links are checked, not what the rows say. Reads the whole log; `report` gets the rows so far.
    """
    path = home / AUDIT
    left = audit.last_whole_line(path)
    if not left:
        raise NoLedgerError(f"{home}: nothing is recorded here yet; run: a2a-trust backfill")
    snapshot = read_snapshot(home / LEDGER)
    head, rows, offset = NO_HEAD, 0, 0
    with path.open("rb") as file:
        for line in file:
            if offset >= left:
                break
            if not line.endswith(b'"prev":"%s"}\n' % head.encode()):
                return Chain(rows, head, f"row {rows + 1} at byte {offset} does not name the row before it")
            head = hashlib.sha256(memoryview(line)[:-1]).hexdigest()
            rows, offset = rows + 1, offset + len(line)
            if snapshot is not None and rows == snapshot.audit.rows and head != snapshot.audit.head:
                return Chain(rows - 1, head, f"row {rows} is not the row that ledger.json stands on")
            if rows % _REPORT_ROWS == 0:
                report(rows)
    if snapshot is not None and rows < snapshot.audit.rows:
        return Chain(rows, head, f"ledger.json stands on {snapshot.audit.rows} rows: the end of the log is missing")
    return Chain(rows, head, "")
