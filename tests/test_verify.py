"""Verifying a home: every kind of damage is named, and nothing that is sound is called damage."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec
import pytest
from faulty import read_folder
from made_rows import completed, registered, tool_call
from typer.testing import CliRunner

from a2a_trust import cli
from a2a_trust.errors import AuditDamageError, HomeError, NoLedgerError, UsageError
from a2a_trust.model import NO_HEAD, Row
from a2a_trust.policy import SEED
from a2a_trust.store import TrustStore, audit
from a2a_trust.store.reader import AUDIT, fold_log
from a2a_trust.store.repair import repair
from a2a_trust.store.snapshot import BACKUP, LEDGER, encode_ledger, read_snapshot
from a2a_trust.store.verify import DefectKind, Pin, Verification, pin_of, read_pin, verify

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FIRST = [registered(), *(tool_call(number) for number in range(1, 5))]
SECOND = [registered(1, time=FIRST[-1].time + 500), *completed(6), tool_call(7, failed=True), tool_call(8, agent=1)]
LATE = [tool_call(9, late=6)]
CUTS = 0
FLIPS = 0
SNAPSHOT_FLIPS: dict[str, dict[str, int]] = {}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a sound home: rows in order, a late one, and one that is only observed."""
    home = tmp_path_factory.mktemp("made") / "home"
    for rows in (FIRST, SECOND, LATE):
        with TrustStore(home) as store:
            store.commit(rows)
    return read_folder(home)


@pytest.fixture
def home(made: dict[str, bytes], tmp_path: Path) -> Path:
    """A copy of that home."""
    for name, data in made.items():
        (tmp_path / name).write_bytes(data)
    return tmp_path


def lines_of(home: Path) -> list[bytes]:
    """The lines of an audit log, with their ends."""
    return (home / AUDIT).read_bytes().splitlines(keepends=True)


def write_lines(home: Path, lines: list[bytes]) -> None:
    """Make an audit log of lines."""
    (home / AUDIT).write_bytes(b"".join(lines))


def chained(rows: list[Row]) -> list[bytes]:
    """Lines that link rows anew, as somebody would who knows how the log is made."""
    lines, head = [], NO_HEAD
    for row in rows:
        line = audit.encode_row(msgspec.structs.replace(row, prev=head))
        head = audit.hash_line(line)
        lines.append(line + b"\n")
    return lines


def write_anew(home: Path, change: Callable[[list[Row]], list[Row]], *, snapshots: bool = True) -> None:
    """Change rows and compute the chain anew, and the snapshots too, as far as they can be made from it."""
    rows = change([audit.decode_row(line[:-1]) for line in lines_of(home)])
    lines = chained(rows)
    write_lines(home, lines)
    if snapshots:
        ledger = fold_log(audit.decode_row(line[:-1]) for line in lines)
        (home / LEDGER).write_bytes(encode_ledger(ledger))
        (home / BACKUP).unlink()


def kinds(found: Verification) -> list[DefectKind]:
    """The kinds of what was found, as they are listed."""
    return [defect.kind for defect in found.defects]


def test_a_sound_home_has_no_defects(home: Path) -> None:
    """A home that only the store wrote is sound, and both snapshots were looked at."""
    found = verify(home)
    assert (found.defects, found.exit_code, found.torn_bytes) == ([], 0, 0)
    assert found.rows == len(lines_of(home)) == 1 + len(FIRST) + len(SECOND) + len(LATE)
    assert found.bytes == (home / AUDIT).stat().st_size
    assert found.checked == [LEDGER, BACKUP]


def test_verifying_writes_nothing(home: Path) -> None:
    """Not a byte changes, and no file appears."""
    before = {path.name: path.read_bytes() for path in home.iterdir()}
    verify(home)
    assert {path.name: path.read_bytes() for path in home.iterdir()} == before


# ------------------------------------------------------------------ every byte, every bit


def test_a_log_cut_at_any_byte_is_found_by_its_ledger(home: Path) -> None:
    """Whatever is missing at the end, to the last newline, is a cut tail, or an emptied file."""
    whole = (home / AUDIT).read_bytes()
    found: dict[DefectKind, int] = {}
    for size in range(len(whole)):
        (home / AUDIT).write_bytes(whole[:size])
        kind = verify(home).defects[0].kind
        found[kind] = found.get(kind, 0) + 1
    assert found == {DefectKind.EMPTIED: 1, DefectKind.CUT: CUTS - 1}
    assert len(whole) == CUTS


def test_a_log_cut_at_any_byte_is_found_by_its_backup_or_a_pin(home: Path) -> None:
    """Without the newest ledger, the one before covers what it stands on; a pin covers everything."""
    whole, backup = (home / AUDIT).read_bytes(), read_snapshot(home / BACKUP)
    assert backup is not None
    pin = pin_of(verify(home))
    (home / LEDGER).unlink()
    missed = 0
    for size in range(len(whole)):
        (home / AUDIT).write_bytes(whole[:size])
        missed += not verify(home).defects
        assert verify(home, pin).exit_code in (DefectKind.EMPTIED.exit_code, DefectKind.CUT.exit_code)
    assert missed == len(whole) - backup.audit.bytes


def test_every_flipped_bit_is_found(home: Path) -> None:
    """No bit of the audit log can change unseen: each stands in a row whose hash something names."""
    whole = (home / AUDIT).read_bytes()
    unseen = []
    for place in range(len(whole)):
        for bit in range(8):
            changed = bytearray(whole)
            changed[place] ^= 1 << bit
            (home / AUDIT).write_bytes(changed)
            if not verify(home).defects:
                unseen.append((place, bit))
    assert unseen == []
    assert len(whole) * 8 == FLIPS


@pytest.mark.parametrize("name", [LEDGER, BACKUP])
def test_every_flipped_bit_of_a_snapshot_is_found_or_harmless(home: Path, name: str) -> None:
    """A snapshot that is still one and is said to be sound holds what it held before; else it is none, or named."""
    whole = (home / name).read_bytes()
    held = read_snapshot(home / name)
    fate = {"named": 0, "no snapshot": 0, "harmless": 0}
    for place in range(len(whole)):
        for bit in range(8):
            changed = bytearray(whole)
            changed[place] ^= 1 << bit
            (home / name).write_bytes(changed)
            found = read_snapshot(home / name)
            if found is None:
                fate["no snapshot"] += 1
            elif verify(home).defects:
                fate["named"] += 1
            else:
                assert found == held, (place, bit)
                fate["harmless"] += 1
    assert fate == SNAPSHOT_FLIPS[name]
