"""Verifying a home: every kind of damage is named, and nothing that is sound is called damage."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from faulty import folder_for_homes, read_folder
from made_rows import completed, registered, tool_call
from typer.testing import CliRunner

from a2a_trust import cli
from a2a_trust.errors import AuditDamageError, HomeError, NoLedgerError, UsageError
from a2a_trust.model import NO_HEAD, Dimension, Row
from a2a_trust.policy import SEED
from a2a_trust.store import TrustStore, audit
from a2a_trust.store.reader import AUDIT, fold_log
from a2a_trust.store.repair import repair
from a2a_trust.store.snapshot import BACKUP, LEDGER, encode_ledger, read_snapshot
from a2a_trust.store.verify import DefectKind, Verification, pin_of, read_pin, verify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FIRST = [registered(), *(tool_call(number) for number in range(1, 5))]
SECOND = [registered(1, time=FIRST[-1].time + 500), *completed(6), tool_call(7, failed=True), tool_call(8, agent=1)]
LATE = [tool_call(9, late=6)]
V1_ROW = b'{"time":1796100000000,"session":"s","kind":"tool-success","subject":"x","subjectName":"x","dim":null}'
FATES = {"no ledger", "named", "of another version", "harmless"}
"""Of a flipped bit of a ledger. Harmless are those of a key whose value is also what a missing key means."""


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
    tmp_path /= "home"
    tmp_path.mkdir()
    for name, data in made.items():
        (tmp_path / name).write_bytes(data)
    return tmp_path


@pytest.fixture
def small() -> Iterator[Path]:
    """A sound home with three rows, in memory where that is possible: it is written a great many times."""
    with tempfile.TemporaryDirectory(dir=folder_for_homes()) as folder:
        home = Path(folder) / "home"
        with TrustStore(home) as store:
            store.commit([registered(), tool_call(1)])
        (home / BACKUP).unlink()
        yield home


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


def test_a_log_cut_at_any_byte_is_found(small: Path) -> None:
    """Whatever is missing at the end, to the last newline, is told by the ledger, and without it by a pin."""
    whole, ledger = (small / AUDIT).read_bytes(), (small / LEDGER).read_bytes()
    pin = pin_of(verify(small))
    found: dict[DefectKind, int] = {}
    for size in range(len(whole)):
        (small / AUDIT).write_bytes(whole[:size])
        (small / LEDGER).write_bytes(ledger)
        kind = verify(small).defects[0].kind
        found[kind] = found.get(kind, 0) + 1
        (small / LEDGER).unlink()
        assert verify(small, pin).exit_code == kind.exit_code
    assert found == {DefectKind.EMPTIED: 1, DefectKind.CUT: len(whole) - 1}


def test_without_a_ledger_its_backup_finds_a_cut(home: Path) -> None:
    """The ledger before covers the rows on which it stands, and nothing behind them."""
    backup = read_snapshot(home / BACKUP)
    assert backup is not None
    whole = (home / AUDIT).read_bytes()
    (home / LEDGER).unlink()
    for size, exit_code in ((backup.audit.bytes - 1, DefectKind.CUT.exit_code), (backup.audit.bytes, 0)):
        (home / AUDIT).write_bytes(whole[:size])
        assert verify(home).exit_code == exit_code


def flipped(data: bytes) -> Iterator[bytes]:
    """Data with each of its bits flipped in turn."""
    changed = bytearray(data)
    for place, bit in product(range(len(data)), range(8)):
        changed[place] ^= 1 << bit
        yield bytes(changed)
        changed[place] ^= 1 << bit


def test_every_flipped_bit_is_found(small: Path) -> None:
    """No bit of the audit log can change unseen: each stands in a row whose hash something names."""
    seen, whole = 0, (small / AUDIT).read_bytes()
    for changed in flipped(whole):
        (small / AUDIT).write_bytes(changed)
        seen += bool(verify(small).defects)
    assert seen == 8 * len(whole)


def test_every_flipped_bit_of_a_ledger_is_found_or_harmless(small: Path) -> None:
    """A ledger in which a bit is flipped is none any more, or is named, or holds what it held before."""
    held = read_snapshot(small / LEDGER)
    fates, whole = Counter[str](), (small / LEDGER).read_bytes()
    for changed in flipped(whole):
        (small / LEDGER).write_bytes(changed)
        try:
            now = read_snapshot(small / LEDGER)
        except HomeError:
            fates["of another version"] += 1
            continue
        if now is None:
            fates["no ledger"] += 1
        elif verify(small).defects:
            fates["named"] += 1
        else:
            assert now == held
            fates["harmless"] += 1
    assert (set(fates), sum(fates.values())) == (FATES, 8 * len(whole))


# ------------------------------------------------------------------ each kind of damage


def edit(home: Path) -> None:
    """Improve what one row says, and leave the rest."""
    lines = lines_of(home)
    lines[3] = lines[3].replace(b'"quality":0.8', b'"quality":1.0')
    write_lines(home, lines)


def leave_out(home: Path) -> None:
    """Take a row out."""
    lines = lines_of(home)
    write_lines(home, lines[:3] + lines[4:])


def repeat(home: Path) -> None:
    """Put a row in once more."""
    lines = lines_of(home)
    write_lines(home, [*lines[:4], lines[3], *lines[4:]])


def swap(home: Path) -> None:
    """Let two rows change places."""
    lines = lines_of(home)
    write_lines(home, [*lines[:3], lines[4], lines[3], *lines[5:]])


def cut(home: Path) -> None:
    """Cut the last row off."""
    write_lines(home, lines_of(home)[:-1])


def empty(home: Path) -> None:
    """Leave an empty file."""
    (home / AUDIT).write_bytes(b"")


def vanish(home: Path) -> None:
    """Leave no file at all."""
    (home / AUDIT).unlink()


def put_another_log(home: Path) -> None:
    """Put the sound log of another home in its place."""
    other = home / "other"
    with TrustStore(other, SEED) as store:
        for part in (FIRST, SECOND, LATE):
            store.commit(part)
    (home / AUDIT).write_bytes((other / AUDIT).read_bytes())


def append_unchained(home: Path) -> None:
    """Let a program append that knows nothing of the chain."""
    with (home / AUDIT).open("ab") as file:
        file.write(V1_ROW + b"\n")


def append_nonsense(home: Path) -> None:
    """Append a line that is no row."""
    with (home / AUDIT).open("ab") as file:
        file.write(b"nonsense\n")


def replaced(rows: list[Row], place: int, **changes: object) -> list[Row]:
    """Rows of which one says something else."""
    return [*rows[:place], msgspec.structs.replace(rows[place], **changes), *rows[place + 1 :]]


def change_quality(home: Path) -> None:
    """Give a row another quality and compute everything anew."""
    write_anew(home, lambda rows: replaced(rows, 3, quality=1.0))


def change_step(home: Path) -> None:
    """Let a row claim another effect and compute everything anew."""
    write_anew(home, lambda rows: replaced(rows, 3, after=0.9))


def change_delta(home: Path) -> None:
    """Let a row claim another difference and compute everything anew."""
    write_anew(home, lambda rows: replaced(rows, 3, delta=0.4))


def change_late(home: Path) -> None:
    """Let a late row hide that it was late, and compute everything anew."""
    write_anew(home, lambda rows: replaced(rows, len(rows) - 1, late=None))


def repeat_anew(home: Path) -> None:
    """Repeat a row and compute everything anew."""
    write_anew(home, lambda rows: [*rows, rows[3]])


def change_place_anew(home: Path) -> None:
    """Change where a row comes from and compute the chain anew, but not the ledger."""
    write_anew(home, lambda rows: replaced(rows, len(rows) - 1, seq=99), snapshots=False)


def improve_ledger(home: Path) -> None:
    """Write a better value into the ledger."""
    path = home / LEDGER
    ledger = read_snapshot(path)
    assert ledger is not None
    next(iter(ledger.agents.values())).trust[Dimension.COMPETENCE].value = 0.99
    path.write_bytes(encode_ledger(ledger))


DAMAGES = {
    DefectKind.EMPTIED: [empty, vanish],
    DefectKind.CUT: [cut],
    DefectKind.OTHER_LOG: [put_another_log, change_place_anew],
    DefectKind.NOT_A_ROW: [append_nonsense],
    DefectKind.UNCHAINED: [append_unchained],
    DefectKind.EDITED: [],
    DefectKind.REPEATED: [repeat_anew],
    DefectKind.MOVED: [],
    DefectKind.QUALITY: [change_quality],
    DefectKind.STEP: [change_step, change_delta, change_late],
    DefectKind.LEDGER: [improve_ledger],
}
SECOND_SIGHT = {
    edit: DefectKind.EDITED,
    leave_out: DefectKind.EDITED,
    repeat: DefectKind.REPEATED,
    swap: DefectKind.MOVED,
}
"""Damage that also shows in that the log is not the one on which the ledger stands, unless the ledgers are gone."""


@pytest.mark.parametrize(
    ("kind", "damage"),
    [pytest.param(kind, damage, id=damage.__name__) for kind, found in DAMAGES.items() for damage in found],
)
def test_each_kind_of_damage_has_its_exit_code(kind: DefectKind, damage: Callable[[Path], None], home: Path) -> None:
    """The command names the damage, says where, and ends with the code of its kind."""
    damage(home)
    found = verify(home)
    assert found.defects[0].kind is kind
    result = CliRunner().invoke(cli.app, ["verify", "--home", str(home)])
    assert (result.exit_code, f"{kind}: " in result.output) == (kind.exit_code, True)


@pytest.mark.parametrize("damage", SECOND_SIGHT, ids=lambda damage: damage.__name__)
def test_a_broken_link_is_told_with_both_hashes(damage: Callable[[Path], None], home: Path) -> None:
    """Without any ledger the chain alone tells an edited or missing row, a repeated one, and a moved one."""
    before = [audit.hash_line(line[:-1]) for line in lines_of(home)]
    damage(home)
    for name in (LEDGER, BACKUP):
        (home / name).unlink()
    found = verify(home)
    assert found.defects[0].kind is SECOND_SIGHT[damage]
    if damage is edit:
        row = found.defects[0]
        now = audit.hash_line(lines_of(home)[3][:-1])
        assert (row.row, before[3][:16] in row.what, now[:16] in row.what) == (5, True, True)


def test_exit_codes_are_all_different() -> None:
    """No two kinds share a code, and none has the code of another failure."""
    codes = [kind.exit_code for kind in DefectKind]
    assert len(set(codes)) == len(codes) == len(DAMAGES)
    assert min(codes) == 20


def test_all_defects_are_listed(home: Path) -> None:
    """The first kind decides the exit code, the others are told too."""
    edit(home)
    append_unchained(home)
    found = verify(home)
    assert set(kinds(found)) >= {DefectKind.UNCHAINED, DefectKind.EDITED, DefectKind.QUALITY}
    assert found.exit_code == min(kind.exit_code for kind in kinds(found))


def test_what_verify_finds_can_be_read_by_programs(home: Path) -> None:
    """`--json` gives the same findings, and the same exit code."""
    append_unchained(home)
    result = CliRunner().invoke(cli.app, ["verify", "--json", "--home", str(home)])
    told = json.loads(result.stdout)
    assert result.exit_code == DefectKind.UNCHAINED.exit_code
    assert [defect["kind"] for defect in told["defects"]] == ["unchained-row"]
    assert told["defects"][0]["row"] == told["rows"] == len(lines_of(home))


def test_progress_is_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits learns how far it is, in bytes, up to the end."""
    monkeypatch.setattr("a2a_trust.store.verify._REPORT_ROWS", 4)
    told: list[tuple[int, int]] = []
    verify(home, report=lambda done, total: told.append((done, total)))
    size = (home / AUDIT).stat().st_size
    assert len(told) > 2
    assert told == sorted(told)
    assert told[-1] == (size, size)


@pytest.mark.parametrize("tail", [b'{"v":2,"id":"half', b"\0\0\0", b"x"])
def test_half_a_row_at_the_end_is_no_damage(tail: bytes, home: Path) -> None:
    """What no newline ends was never acknowledged: it is told, and is no defect; nor is it for a repair."""
    with (home / AUDIT).open("ab") as file:
        file.write(tail)
    found = verify(home)
    assert (found.defects, found.torn_bytes) == ([], len(tail))
    assert repair(home) is None
    with TrustStore(home) as store:
        assert store.recovery is not None
        assert store.recovery.bytes == len(tail)
    assert verify(home).torn_bytes == 0


@pytest.mark.parametrize("damage", [empty, vanish, cut, put_another_log, improve_ledger])
def test_a_home_that_never_was_is_told_from_one_that_lost_its_log(damage: Callable[[Path], None], home: Path) -> None:
    """Without log and ledger there is nothing to verify, and no defect either."""
    damage(home)
    for name in (AUDIT, LEDGER, BACKUP):
        (home / name).unlink(missing_ok=True)
    with pytest.raises(NoLedgerError):
        verify(home)


@pytest.mark.parametrize("name", [LEDGER, BACKUP])
@pytest.mark.parametrize("data", [b"", b"garbage", b"[]", b"\xff"])
def test_a_file_that_is_no_ledger_is_named(name: str, data: bytes, home: Path) -> None:
    """A view that cannot be read does not agree."""
    (home / name).write_bytes(data)
    found = verify(home)
    assert kinds(found) == [DefectKind.LEDGER]
    assert str(home / name) in found.defects[0].what


def test_an_unreadable_ledger_without_a_log_is_no_new_home(small: Path) -> None:
    """Something was recorded there once."""
    vanish(small)
    (small / LEDGER).write_bytes(b"garbage")
    assert kinds(verify(small)) == [DefectKind.LEDGER]


def test_a_log_that_nothing_is_held_against_is_told_so(small: Path) -> None:
    """Without ledger and pin a cut end cannot be seen, and nobody is told that it was looked for."""
    cut(small)
    (small / LEDGER).unlink()
    result = CliRunner().invoke(cli.app, ["verify", "--home", str(small)])
    assert result.exit_code == 0
    assert "held against nothing" in result.output
    assert "could not be seen" in result.output
    assert "the views agree" not in result.output


def test_a_flood_of_one_kind_hides_no_other(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exit code is that of the first kind, though thousands of another were found before it."""
    monkeypatch.setattr("a2a_trust.store.verify.LISTED", 2)
    write_lines(home, [b"nonsense\n"] * 5)
    found = verify(home)
    assert found.exit_code == DefectKind.CUT.exit_code
    assert kinds(found) == [*[DefectKind.CUT] * 2, *[DefectKind.NOT_A_ROW] * 2]
    assert (found.counts[DefectKind.NOT_A_ROW], found.defect_count) == (5, sum(found.counts.values()))


@pytest.mark.parametrize("damage", [leave_out, repeat])
def test_a_row_too_few_or_too_many_in_the_middle_is_no_cut(damage: Callable[[Path], None], home: Path) -> None:
    """Where the row is there on which the ledger stands, the broken link tells what was done."""
    pin = read_pin(pinned(home))
    damage(home)
    found = verify(home, pin)
    assert found.defects[0].kind is SECOND_SIGHT[damage]
    assert not {DefectKind.CUT, DefectKind.OTHER_LOG} & set(kinds(found))


@pytest.mark.parametrize("change", [{"v": 3}, {"v": 3, "kind": ["of", "another", "shape"]}], ids=["same", "other"])
def test_a_row_of_a_newer_version_is_named_and_left(change: dict[str, object], small: Path) -> None:
    """No program folds what it does not know, nor sets it aside."""
    rows = [json.loads(line) for line in lines_of(small)]
    newer = json.dumps({**rows[-1], **change, "prev": audit.hash_line(lines_of(small)[-1][:-1])}).encode() + b"\n"
    write_lines(small, [*lines_of(small), newer])
    before = (small / AUDIT).read_bytes()
    for act in (lambda: TrustStore(small).__enter__(), lambda: repair(small)):
        with pytest.raises(HomeError, match="written by a newer version; update a2a-trust"):
            act()
    assert "newer version" in verify(small).defects[0].what
    assert ((small / AUDIT).read_bytes(), list(small.glob("*.torn-*"))) == (before, [])


# ------------------------------------------------------------------ pins


def pinned(home: Path) -> Path:
    """Write a pin outside the home."""
    path = home.parent / "pin.json"
    assert CliRunner().invoke(cli.app, ["verify", "--home", str(home), "--write-pin", str(path)]).exit_code == 0
    return path


def test_only_a_pin_finds_a_log_and_ledger_made_anew(home: Path) -> None:
    """Who computes chain, steps and ledger anew deceives everybody but the keeper of a pin."""
    pin = read_pin(pinned(home))
    rows = [msgspec.structs.replace(row, kind="tool-success") for row in (*FIRST, *SECOND, *LATE) if row.dim]
    for path in list(home.iterdir()):
        path.unlink()
    with TrustStore(home) as store:
        store.commit(rows)
    assert verify(home).defects == []
    assert verify(home, pin).defects != []


def test_a_pin_holds_while_the_log_grows(home: Path) -> None:
    """New rows behind what a pin covers are no defect."""
    path = pinned(home)
    with TrustStore(home) as store:
        store.commit([tool_call(20)])
    found = verify(home, read_pin(path))
    assert (found.defects, "pin" in found.checked) == ([], True)


@pytest.mark.parametrize("damage", [cut, empty, put_another_log, change_step, edit])
def test_a_pin_finds_damage_without_any_ledger(damage: Callable[[Path], None], home: Path) -> None:
    """The command holds the log against a pin that is kept elsewhere."""
    path = pinned(home)
    damage(home)
    for name in (LEDGER, BACKUP):
        (home / name).unlink(missing_ok=True)
    result = CliRunner().invoke(cli.app, ["verify", "--home", str(home), "--pin", str(path)])
    assert result.exit_code in {kind.exit_code for kind in DefectKind}


def test_no_pin_is_written_of_a_damaged_log(home: Path) -> None:
    """A pin says that all was well."""
    edit(home)
    path = home.parent / "new-pin.json"
    result = CliRunner().invoke(cli.app, ["verify", "--home", str(home), "--write-pin", str(path)])
    assert (result.exit_code != 0, path.exists()) == (True, False)


@pytest.mark.parametrize("content", [None, b"", b"{}", b'{"origin":1}', b"\xff"])
def test_what_is_no_pin_is_refused(content: bytes | None, tmp_path: Path) -> None:
    """One line says that the file is no pin and how to make one."""
    path = tmp_path / "pin.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match="write-pin"):
        read_pin(path)


# ------------------------------------------------------------------ repair


@pytest.mark.parametrize(
    "damage",
    [edit, leave_out, repeat, swap, cut, empty, vanish, put_another_log, append_unchained, append_nonsense],
    ids=lambda damage: damage.__name__,
)
def test_a_repair_keeps_everything_and_the_home_works_again(damage: Callable[[Path], None], home: Path) -> None:
    """The files as they were found stand under other names, what is sound is kept, and a writer can go on."""
    damage(home)
    before = read_folder(home)
    done = repair(home)
    assert done is not None
    after = read_folder(home)
    assert set(before.values()) <= set(after.values())
    assert sorted(name for name in after if ".damaged-" in name) == sorted(done.kept_as)
    assert before.get(AUDIT, b"").startswith(after[AUDIT][: done.bytes_kept])
    with TrustStore(home) as store:
        store.commit([*FIRST, *SECOND, *LATE])
    assert verify(home).defects == []
    assert repair(home) is None


def test_a_repair_of_a_sound_home_does_nothing(home: Path) -> None:
    """Not a byte changes."""
    before = read_folder(home)
    assert repair(home) is None
    assert read_folder(home) == before


def test_a_writer_refuses_a_cut_log_and_says_what_to_do(home: Path) -> None:
    """Nothing is written on top of damage; the message names the repair, which then lets the home work again."""
    cut(home)
    with pytest.raises(AuditDamageError, match="verify --repair"), TrustStore(home):
        pass
    result = CliRunner().invoke(cli.app, ["verify", "--repair", "--json", "--home", str(home)])
    assert json.loads(result.stdout)["rows_kept"] == len(lines_of(home))


def test_another_programs_home_is_not_repaired(tmp_path: Path) -> None:
    """A version-1 store is no damaged store of ours: nothing is written to it, not even a lock."""
    (tmp_path / AUDIT).write_bytes(V1_ROW + b"\n")
    with pytest.raises(HomeError, match="adopt"):
        repair(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [AUDIT]
