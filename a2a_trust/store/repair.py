"""Repair of a damaged audit log: keep what is sound, and everything else as evidence for a person.

The only thing here that shortens an audit log. It is asked for by name, never done on its own: what stands behind a
damaged row was acknowledged once, and only a person can say what became of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import filelock
from msgspec import Struct

from a2a_trust.errors import AuditDamageError, HomeBusyError
from a2a_trust.store import audit, files
from a2a_trust.store.cache import CACHE
from a2a_trust.store.reader import AUDIT
from a2a_trust.store.snapshot import BACKUP, LEDGER
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
    backfill reads again every session log that still exists, and brings back what it can.
    """
    path = home / AUDIT
    lock = filelock.FileLock(home / LOCK, timeout=LOCK_SECONDS, mode=files.FILE_MODE)
    try:
        with lock:
            offset, rows, damage = _first_damage(path)
            if not damage:
                return None
            size = path.stat().st_size
            kept = [_set_aside(home / name) for name in (AUDIT, LEDGER, BACKUP) if (home / name).exists()]
            with path.open("rb") as file:
                files.replace(path, file.read(offset))
            for name in (LEDGER, BACKUP, CACHE):
                files.remove(home / name)
            files.sync_folder(home)
    except filelock.Timeout:
        raise HomeBusyError(f"{home}: another process is writing to this home; try again when it is done") from None
    with TrustStore(home) as store:
        store.refold()
    return Repair(rows, offset, size - offset, damage, kept)


def _first_damage(path: Path) -> tuple[int, int, str]:
    """Return the end of the sound rows, in bytes and rows, and what is wrong behind it; nothing where all is well.

    A row that names another one before it than the one that stands there accuses both: the one before goes too.
    """
    before = offset = rows = 0
    head = audit.empty_mark().head
    with path.open("rb") as file:
        for line in file:
            place = f"{path}: row {rows + 1} at byte {offset}"
            try:
                row = audit.parse_line(line, place)
                audit.check_line(line, head, place)
            except AuditDamageError as error:
                linked = rows == 0 or not line.endswith(b"\n") or str(error).startswith(f"{place} is damaged")
                return (offset, rows, str(error)) if linked else (before, rows - 1, str(error))
            del row
            before, offset, rows = offset, offset + len(line), rows + 1
            head = audit.hash_line(line[:-1])
    return offset, rows, ""


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
