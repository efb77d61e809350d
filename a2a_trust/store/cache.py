"""`cache.sqlite`: an index of the audit log, and what was read of each log. Deletable at any time.

The index is stamped with the place in the audit log up to which it is right. If the log is another one, everything
is dropped; if the log has only grown, the missing rows are added and what is known of the session logs stays valid.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from typing import TYPE_CHECKING, NamedTuple

from a2a_trust.model import ADOPTED, NO_HEAD, AuditMark

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from a2a_trust.store.audit import Placement

CACHE = "cache.sqlite"
_LAYOUT = 6
_SCHEMA = """
CREATE TABLE stamp (rows INTEGER NOT NULL, bytes INTEGER NOT NULL, head TEXT NOT NULL, closed INTEGER NOT NULL);
CREATE TABLE row (
    session TEXT NOT NULL, id TEXT NOT NULL, subject TEXT NOT NULL, offset INTEGER NOT NULL,
    PRIMARY KEY (session, id)
) WITHOUT ROWID;
CREATE INDEX row_subject ON row (subject, offset);
CREATE TABLE log (
    session TEXT PRIMARY KEY, source TEXT NOT NULL, parents TEXT NOT NULL, path TEXT NOT NULL, gen INTEGER NOT NULL,
    size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, inode INTEGER NOT NULL, rules INTEGER NOT NULL,
    lines INTEGER NOT NULL, role TEXT NOT NULL, waiting INTEGER NOT NULL, cursor BLOB NOT NULL, state BLOB NOT NULL,
    live BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE copy (path TEXT PRIMARY KEY, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, lines INTEGER NOT NULL)
    WITHOUT ROWID;
CREATE INDEX log_path ON log (path);
CREATE TABLE wait (parent TEXT NOT NULL, session TEXT NOT NULL, PRIMARY KEY (parent, session)) WITHOUT ROWID;
CREATE INDEX wait_session ON wait (session);
"""


class LogEntry(NamedTuple):
    """What is remembered of a session's log between runs."""

    session: str
    source: str
    parents: str
    """A JSON list of the sessions, or ids of agents, whose logs say who the actors of its waiting findings are."""
    path: str
    gen: int
    size: int
    mtime_ns: int
    inode: int
    rules: int
    """Version of the rules under which it was read; under another one it is read again."""
    lines: int
    """Whole lines that the log held."""
    role: str
    """Role of the session's agent, empty while it is not known."""
    waiting: int
    """Findings whose actor is not known yet."""
    cursor: bytes
    state: bytes
    """What is known up to the cursor."""
    live: bytes
    """What is known up to the end, where whole lines stand behind the cursor; else empty."""


class LogStamp(NamedTuple):
    """What tells whether a log is another one than when it was read, and what a summary says of it."""

    session: str
    source: str
    path: str
    gen: int
    size: int
    mtime_ns: int
    inode: int
    rules: int
    lines: int
    role: str
    waiting: int

    @classmethod
    def of(cls, entry: LogEntry) -> LogStamp:
        """Return the stamp of an entry."""
        return cls(*(getattr(entry, name) for name in cls._fields))


_FIELDS = ", ".join(LogEntry._fields)
_SAVE_LOG = f"INSERT OR REPLACE INTO log ({_FIELDS}) VALUES ({', '.join('?' * len(LogEntry._fields))})"  # noqa: S608
_SELECT_LOG = f"SELECT {_FIELDS} FROM log"  # noqa: S608 - names from this file only


_SELECT_STAMPS = f"SELECT {', '.join(LogStamp._fields)} FROM log"  # noqa: S608 - as above
_IDS_AT_ONCE = (8, 64, 512)
"""Ids in one question: few sizes, so that few statements are prepared, each used again and again."""
_PAGES_KB = 8 << 10
"""Pages of the file that are kept in memory: those that the rows of one slice touch."""
_SELECT_WAITING = f"{_SELECT_LOG} WHERE session IN (SELECT session FROM wait WHERE parent = ?) ORDER BY session"  # noqa: S608


class Cache:
    """The index. Any SQLite failure means: close, delete the file, build it again."""

    def __init__(self, home: Path) -> None:
        self._path = home / CACHE
        self._changed = False
        self._db = self._open()

    def _open(self) -> sqlite3.Connection:
        try:
            return self._connect()
        except sqlite3.Error:
            remove_cache(self._path.parent)
            return self._connect()

    def _connect(self) -> sqlite3.Connection:
        self._path.touch(mode=0o600)
        db = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        try:
            # A lost transaction costs time, a torn one would cost evidence: hence a journal, on the safe side of fast.
            db.execute("PRAGMA journal_mode=TRUNCATE")
            db.execute("PRAGMA synchronous=NORMAL")
            db.execute(f"PRAGMA cache_size=-{_PAGES_KB}")
            if db.execute("PRAGMA user_version").fetchone()[0] != _LAYOUT:
                self._create(db)
            if not db.execute("SELECT closed FROM stamp").fetchone()[0]:
                _check(db)
        except sqlite3.Error:
            db.close()
            raise
        return db

    def _create(self, db: sqlite3.Connection) -> None:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for name in tables:
            db.execute(f'DROP TABLE "{name}"')
        db.executescript(_SCHEMA)
        db.execute("INSERT INTO stamp VALUES (0, 0, ?, 1)", (NO_HEAD,))
        db.execute(f"PRAGMA user_version={_LAYOUT}")

    def close(self) -> None:
        """Close the file, and note in it that whoever wrote it came to this point."""
        if self._changed:
            # Where even this fails, the file is checked at the next opening.
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("UPDATE stamp SET closed = 1")
        self._changed = False
        self._db.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Apply several changes at once, or none of them."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            if not self._changed:
                self._db.execute("UPDATE stamp SET closed = 0")
            yield
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")
        self._changed = True

    @property
    def stamp(self) -> AuditMark:
        """The place in the audit log up to which the index is right."""
        rows, size, head = self._db.execute("SELECT rows, bytes, head FROM stamp").fetchone()
        return AuditMark(rows=rows, bytes=size, head=head)

    def reset(self) -> None:
        """Forget everything."""
        self.forget_rows()
        with self.transaction():
            self._db.execute("DELETE FROM log")
            self._db.execute("DELETE FROM copy")

    def forget_rows(self) -> None:
        """Forget the index of the audit log."""
        with self.transaction():
            self._db.execute("DELETE FROM row")
            self._db.execute("UPDATE stamp SET rows = 0, bytes = 0, head = ?", (NO_HEAD,))

    def index(self, placed: Iterable[Placement], mark: AuditMark) -> None:
        """Add rows of the audit log up to a mark."""
        entries = sorted((row.scope, row.id, row.subject or "", offset) for row, offset in placed)
        with self.transaction():
            self._db.executemany("INSERT OR IGNORE INTO row VALUES (?, ?, ?, ?)", entries)
            self._db.execute("UPDATE stamp SET rows = ?, bytes = ?, head = ?", (mark.rows, mark.bytes, mark.head))

    def known(self, sessions: Iterable[str]) -> set[str]:
        """Return the ids of all rows that stand in the given sessions."""
        found: set[str] = set()
        for session in sessions:
            found.update(row_id for (row_id,) in self._db.execute("SELECT id FROM row WHERE session = ?", (session,)))
        return found

    def known_among(self, scope: str, ids: Sequence[str]) -> set[str]:
        """Return which of the ids stand in rows of one scope."""
        found: set[str] = set()
        if self._db.execute("SELECT 1 FROM row WHERE session = ? LIMIT 1", (scope,)).fetchone() is None:
            return found
        place = 0
        while place < len(ids):
            left = len(ids) - place
            size = next((size for size in _IDS_AT_ONCE if size >= left), _IDS_AT_ONCE[-1])
            part = ids[place : place + size]
            query = f"SELECT id FROM row WHERE session = ? AND id IN ({', '.join('?' * size)})"  # noqa: S608 - placeholders only
            padding = [None] * (size - len(part))
            found.update(row_id for (row_id,) in self._db.execute(query, (scope, *part, *padding)))
            place += size
        return found

    def adopted(self, ids: Iterable[str]) -> set[str]:
        """Return which of the ids stand in rows that were adopted from another store."""
        query = "SELECT 1 FROM row WHERE session = ? LIMIT 1"
        if self._db.execute(query, (ADOPTED,)).fetchone() is None:
            return set()
        query = "SELECT 1 FROM row WHERE session = ? AND id = ?"
        return {row_id for row_id in ids if self._db.execute(query, (ADOPTED, row_id)).fetchone()}

    def offsets(self, subject: str, session: str | None = None) -> list[int]:
        """Return where the rows of a subject stand in the audit log, all or those of one session."""
        if session is None:
            query = self._db.execute("SELECT offset FROM row WHERE subject = ? ORDER BY offset", (subject,))
        else:
            query = self._db.execute(
                "SELECT offset FROM row WHERE session = ? AND subject = ? ORDER BY offset", (session, subject)
            )
        return [offset for (offset,) in query]

    def offsets_of(self, scope: str, row_id: str) -> list[int]:
        """Return where the row with an id stands in the audit log; nothing where there is none."""
        query = self._db.execute("SELECT offset FROM row WHERE session = ? AND id = ?", (scope, row_id))
        return [offset for (offset,) in query]

    def subjects(self) -> list[str]:
        """Return all subjects, sorted."""
        query = self._db.execute("SELECT DISTINCT subject FROM row WHERE subject <> '' ORDER BY subject")
        return [subject for (subject,) in query]

    # ------------------------------------------------------------------ session logs

    def log(self, session: str) -> LogEntry | None:
        """Return what is remembered of a session's log."""
        found = self._db.execute(f"{_SELECT_LOG} WHERE session = ?", (session,)).fetchone()
        return LogEntry(*found) if found else None

    def log_stamp(self, session: str) -> LogStamp | None:
        """Return what tells whether a session's log has changed."""
        found = self._db.execute(f"{_SELECT_STAMPS} WHERE session = ?", (session,)).fetchone()
        return LogStamp(*found) if found else None

    def log_stamp_at(self, path: str) -> LogStamp | None:
        """Return what tells whether the log at a path has changed."""
        found = self._db.execute(f"{_SELECT_STAMPS} WHERE path = ?", (path,)).fetchone()
        return LogStamp(*found) if found else None

    def log_stamps(self) -> Iterator[LogStamp]:
        """Yield what tells whether a log has changed, of all logs."""
        return map(LogStamp._make, self._db.execute(_SELECT_STAMPS))

    def logs(self) -> Iterator[LogEntry]:
        """Yield what is remembered of all logs, by session."""
        for found in self._db.execute(f"{_SELECT_LOG} ORDER BY session"):
            yield LogEntry(*found)

    def copy_lines(self, path: str, size: int, mtime_ns: int) -> int | None:
        """Return how many lines a copy of a session's log holds, if it was counted and has not changed since."""
        query = "SELECT lines FROM copy WHERE path = ? AND size = ? AND mtime_ns = ?"
        found = self._db.execute(query, (path, size, mtime_ns)).fetchone()
        return int(found[0]) if found else None

    def save_copy(self, path: str, size: int, mtime_ns: int, lines: int) -> None:
        """Remember how many lines a copy holds."""
        self._db.execute("INSERT OR REPLACE INTO copy VALUES (?, ?, ?, ?)", (path, size, mtime_ns, lines))

    def waiting_below(self, parent: str) -> list[LogEntry]:
        """Return the logs that hold findings whose actor the log of a session, or of an agent's spawner, may tell."""
        return [LogEntry(*found) for found in self._db.execute(_SELECT_WAITING, (parent,))]

    def save_logs(self, entries: Iterable[LogEntry]) -> None:
        """Remember logs, and what each waits for."""
        with self.transaction():
            for entry in entries:
                self._db.execute(_SAVE_LOG, entry)
                self._db.execute("DELETE FROM wait WHERE session = ?", (entry.session,))
                if entry.waiting:
                    waits = [(parent, entry.session) for parent in json.loads(entry.parents)]
                    self._db.executemany("INSERT OR IGNORE INTO wait VALUES (?, ?)", waits)


def remove_cache(home: Path) -> None:
    """Remove the cache of a home, and with it the journal of a writer that died, which belongs to no other file."""
    for suffix in ("", "-journal", "-wal", "-shm"):
        (home / f"{CACHE}{suffix}").unlink(missing_ok=True)


def _check(db: sqlite3.Connection) -> None:
    """Raise `sqlite3.DatabaseError` where the file of a writer that died is not whole."""
    (found,) = db.execute("PRAGMA integrity_check(1)").fetchone()
    if found != "ok":
        raise sqlite3.DatabaseError(found)
    (indexed,) = db.execute("SELECT count(*) FROM row").fetchone()
    (rows,) = db.execute("SELECT rows FROM stamp").fetchone()
    if indexed != rows:
        raise sqlite3.DatabaseError(f"{indexed} rows of {rows} are indexed")


def read_log_entry(home: Path, session: str) -> LogEntry | None:
    """Return what is remembered of a session's log, without writing; `None` where there is no cache to read."""
    path = home / CACHE
    if not path.exists():
        return None
    try:
        with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as db:
            found = db.execute(f"{_SELECT_LOG} WHERE session = ?", (session,)).fetchone()
    except sqlite3.Error:
        return None
    return LogEntry(*found) if found else None


def read_log_paths(home: Path, source: str) -> list[str]:
    """Return the files that were read by a source, without writing; none where there is no cache to read."""
    path = home / CACHE
    if not path.exists():
        return []
    try:
        with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as db:
            query = "SELECT path FROM log WHERE source = ? AND path <> '' ORDER BY path"
            return [found for (found,) in db.execute(query, (source,))]
    except sqlite3.Error:
        return []
