"""Repair of a damaged audit log: keep what is sound, and everything else as evidence for a person.

The only thing here that shortens an audit log. It is asked for by name, never done on its own: what stands behind a
damaged row was acknowledged once, and only a person can say what became of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import filelock
from msgspec import Struct

from a2a_trust.errors import AuditDamageError, HomeBusyError, HomeError
from a2a_trust.store import audit, files
from a2a_trust.store.cache import remove_cache
from a2a_trust.store.foreign import refuse_foreign_home
from a2a_trust.store.reader import AUDIT
from a2a_trust.store.snapshot import BACKUP, LEDGER, read_snapshot
from a2a_trust.store.store import LOCK, LOCK_SECONDS, TrustStore

if TYPE_CHECKING:
    from pathlib import Path


class Repair(Struct, frozen=True):
    """What was kept and what was set aside."""

    rows_kept: int
    bytes_kept: int
    bytes_set_aside: int
    damage: str
    kept_as: list[str]
    """Files that hold everything as it was found."""


def repair(home: Path) -> Repair | None:
    """Keep the sound rows before the first damaged one; `None` where no row is damaged.

    The whole log, and the snapshots that stood on it, are kept under new names. The cache goes, so that the next
    backfill reads again every session log that still exists, and brings back what it can. Raises `HomeError` where
    the home is another program's, or cannot be written.
    """
    refuse_foreign_home(home)
    path = home / AUDIT
    lock = filelock.FileLock(home / LOCK, timeout=LOCK_SECONDS, mode=files.FILE_MODE)
    try:
        with lock:
            found = _damage(home)
            if not found.why:
                return None
            size = path.stat().st_size if path.exists() else 0
            kept = [_set_aside(home / name) for name in (AUDIT, LEDGER, BACKUP) if (home / name).exists()]
            # Only when the second names are durable may the first ones go.
            files.sync_folder(home)
            remove_cache(home)
            sound = b""
            if found.offset:
                with path.open("rb") as file:
                    sound = file.read(found.offset)
            files.replace(path, sound)
            # A crash before this leaves a ledger that stands on more than there is, which is damage to be repaired.
            for name in (LEDGER, BACKUP):
                files.remove(home / name)
            files.sync_folder(home)
    except filelock.Timeout:
        raise HomeBusyError(f"{home}: another process is writing to this home; try again when it is done") from None
    except OSError as error:
        raise HomeError(f"{error.filename or home}: {error.strerror or error}; repair needs to write there") from None
    with TrustStore(home) as store:
        store.refold()
    return Repair(found.rows, found.offset, size - found.offset, found.why, kept)


class _Damage(NamedTuple):
    """Where the sound rows end, in bytes and rows, and what is wrong behind them; nothing where all is well."""

    offset: int
    rows: int
    why: str
    torn: bool = False
    """Only the last line has no end: a write that did not come through, unless a snapshot stands on it."""


def _damage(home: Path) -> _Damage:
    """Find the first damage: in the log itself, else in that a snapshot stands on rows which are not there."""
    path = home / AUDIT
    found = _first_damage(path)
    for name in (LEDGER, BACKUP):
        snapshot = read_snapshot(home / name)
        if snapshot is not None and not audit.stands_on(path, snapshot.audit):
            mark = snapshot.audit
            why = f"{home / name} stands on {mark.rows} rows ({mark.bytes} bytes), which are not those of the log"
            return found._replace(why=found.why or why)
    return found._replace(why="" if found.torn else found.why)


def _first_damage(path: Path) -> _Damage:
    """Find the first damaged row.

    A row that names another one before it than the one that stands there accuses both: the one before goes too.
    """
    before = offset = rows = 0
    head = audit.empty_mark().head
    if not path.exists():
        return _Damage(0, 0, "")
    with path.open("rb") as file:
        for line in file:
            place = f"{path}: row {rows + 1} at byte {offset}"
            if not line.endswith(b"\n"):
                return _Damage(offset, rows, f"{place}: the line has no end", torn=True)
            try:
                row = audit.parse_line(line, place)
            except AuditDamageError as error:
                return _Damage(offset, rows, str(error))
            if row.prev != head:
                why = f"{place}: it names {row.prev[:12]} as the row before, which is {head[:12]}"
                return _Damage(before, max(0, rows - 1), why)
            before, offset, rows = offset, offset + len(line), rows + 1
            head = audit.hash_line(line[:-1])
    return _Damage(offset, rows, "")


def _set_aside(path: Path) -> str:
    """Give a file a second name that is still free."""
    number = 1
    while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    try:
        files.system.link(path, aside)
    except OSError:
        files.replace(aside, path.read_bytes())
    return aside.name
