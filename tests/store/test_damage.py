"""The store: damage is refused and named; snapshots and caches are made anew."""

from __future__ import annotations

import contextlib
import re
import shutil
import sqlite3
from typing import TYPE_CHECKING

import pytest
from homes import FIXTURES, agents_of, audit_of, encode_agents, ingest, rows_of
from storehomes import AUDIT, BACKUP, CACHE, FOLDER, LEDGER, call, commit, content, first_broken_link, lines_of

from a2a_trust.errors import AuditDamageError, HomeError
from a2a_trust.store import Commit, TrustStore, read_ledger
from a2a_trust.store.snapshot import encode_ledger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path


# ---------------------------------------------------------------------- damage before the mark


def refusal(home: Path) -> str:
    """Why a home is not opened."""
    with pytest.raises(AuditDamageError) as caught, TrustStore(home):
        pass
    return str(caught.value)


@pytest.fixture
def three(home: Path) -> Path:
    """A home with a policy row and three others, committed one by one."""
    for number in (1, 2, 3):
        commit(home, call(number))
    return home


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 3.5])
def test_a_cut_off_end_is_refused(three: Path, rows: float) -> None:
    """Where rows are missing on which the ledger stands, the home is not opened."""
    whole = audit_of(three).splitlines(keepends=True)
    kept = b"".join(whole[: int(rows)]) + (b"" if rows == int(rows) else whole[int(rows)][:-1])
    (three / AUDIT).write_bytes(kept)
    told = refusal(three)
    assert told.startswith(f"{three / AUDIT}: {len(kept)} bytes, but the ledger stands on ")


def test_a_missing_log_is_refused(three: Path) -> None:
    """A ledger without the log on which it stands is damage, not a new home."""
    (three / AUDIT).unlink()
    assert refusal(three).startswith(f"{three / AUDIT}: 0 bytes, but the ledger stands on ")


@pytest.mark.parametrize("place", [0.0, 0.2, 0.4, 0.6, 0.8, 0.95])
def test_a_flipped_byte_in_the_last_row_is_refused(three: Path, place: float) -> None:
    """Any change of the last acknowledged row is found, whether or not it is still a row."""
    whole = bytearray(audit_of(three))
    last = whole.rindex(b"\n", 0, -1) + 1
    whole[last + int((len(whole) - last) * place)] ^= 1
    (three / AUDIT).write_bytes(whole)
    assert refusal(three).startswith(f"{three / AUDIT}: row 4")


def test_an_edit_of_the_last_row_is_refused(three: Path) -> None:
    """A last row that was edited with care, and is sound JSON, is found too."""
    whole = audit_of(three)
    edited = whole[: whole.rindex(b'"quality":0.8')] + whole[whole.rindex(b'"quality":0.8') :].replace(
        b"0.8", b"0.9", 1
    )
    (three / AUDIT).write_bytes(edited)
    assert refusal(three).startswith(f"{three / AUDIT}: row 4")


def test_a_refused_home_is_left_as_it_is(three: Path) -> None:
    """Nothing is set aside or written where a person must look first."""
    (three / AUDIT).write_bytes(audit_of(three)[:-10])
    before = content(three)
    refusal(three)
    assert content(three) == before


def test_a_refused_home_is_not_locked(three: Path) -> None:
    """After a refusal the home can be opened again once it is restored."""
    whole = audit_of(three)
    (three / AUDIT).write_bytes(whole[:-10])
    refusal(three)
    (three / AUDIT).write_bytes(whole)
    with TrustStore(three, lock_seconds=0.01) as store:
        assert store.ledger.audit.rows == 4


@pytest.fixture
def edited(three: Path) -> tuple[Path, str]:
    """A home in whose second row a number was edited, and what the refusal must begin with."""
    whole = lines_of(three)
    row = whole[1].replace(b'"quality":0.8', b'"quality":0.9')
    (three / AUDIT).write_bytes(b"\n".join([whole[0], row, *whole[2:], b""]))
    return three, f"{three / AUDIT}: row 3 at byte {len(whole[0]) + len(row) + 2}"


def test_a_rebuild_refuses_damage_in_the_middle(edited: tuple[Path, str]) -> None:
    """A rebuild reads all rows, and names the first that does not follow the one before."""
    home, told = edited
    with TrustStore(home) as store, pytest.raises(AuditDamageError) as caught:
        store.rebuild()
    assert str(caught.value).startswith(told)


def test_an_index_is_not_made_over_damage_in_the_middle(edited: tuple[Path, str]) -> None:
    """Where the index must be made anew all rows are read, and damage is refused, each time."""
    home, told = edited
    (home / CACHE).unlink()
    assert [refusal(home).startswith(told) for _ in range(2)] == [True, True]


def test_a_reader_refuses_a_cut_off_end(three: Path) -> None:
    """Whoever only reads is not given numbers from a log whose end is gone."""
    whole = audit_of(three).splitlines(keepends=True)
    (three / AUDIT).write_bytes(b"".join(whole[:-1]))
    with pytest.raises(AuditDamageError):
        read_ledger(three)


# ---------------------------------------------------------------------- a snapshot that is gone

BROKEN = {
    "missing": None,
    "empty": b"",
    "garbage": b"\xff\xfe garbage",
    "other JSON": b"[]",
    "null": b"null",
    "no agents": b'{"version":1}',
    "half": b'{"version":1,"updatedAt":1796100000003,"agents":{"',
}
broken = pytest.mark.parametrize("data", BROKEN.values(), ids=list(BROKEN))
which = pytest.mark.parametrize("names", [(LEDGER,), (BACKUP,), (LEDGER, BACKUP)], ids=" and ".join)


def spoil(home: Path, names: Iterable[str], data: bytes | None) -> None:
    """Replace files by something else, or by nothing."""
    for name in names:
        (home / name).unlink()
        if data is not None:
            (home / name).write_bytes(data)


@broken
@which
def test_a_broken_snapshot_costs_a_writer_nothing(copied: Path, names: tuple[str, ...], data: bytes | None) -> None:
    """Opening goes on from the backup, or from the log alone, to the same agents, byte for byte."""
    expected = agents_of(copied)
    spoil(copied, names, data)
    with TrustStore(copied) as store:
        assert encode_agents(store.ledger) == expected


@broken
@which
def test_a_broken_snapshot_costs_a_reader_nothing(copied: Path, names: tuple[str, ...], data: bytes | None) -> None:
    """Reading folds what the snapshots do not hold, to the same ledger, byte for byte."""
    expected = encode_ledger(read_ledger(copied))
    spoil(copied, names, data)
    assert encode_ledger(read_ledger(copied)) == expected


@broken
def test_a_broken_snapshot_is_written_anew_by_the_next_run(home: Path, data: bytes | None) -> None:
    """The run after the loss leaves a snapshot as it was, though it adds nothing."""
    ingest(home, FOLDER)
    expected = (home / LEDGER).read_bytes()
    spoil(home, [LEDGER], data)
    ingest(home, FOLDER)
    assert (home / LEDGER).read_bytes() == expected


def test_rebuilding_needs_nothing_but_the_log(copied: Path) -> None:
    """Where only the audit log is left, a rebuild makes the ledger that was there."""
    expected = (copied / LEDGER).read_bytes()
    spoil(copied, [LEDGER, BACKUP, CACHE], None)
    with TrustStore(copied) as store:
        store.rebuild()
    assert (copied / LEDGER).read_bytes() == expected


def test_rebuilding_undoes_what_was_done_to_the_ledger(copied: Path) -> None:
    """Numbers that somebody wrote into the snapshot are gone after a rebuild."""
    expected = (copied / LEDGER).read_bytes()
    (copied / LEDGER).write_bytes(re.sub(rb'"value":0\.[0-9]+', b'"value":0.99', expected))
    with TrustStore(copied) as store:
        store.rebuild()
    assert (copied / LEDGER).read_bytes() == expected


def test_rebuilding_leaves_no_backup_of_what_it_undid(copied: Path) -> None:
    """Who removes the ledger afterwards does not bring back what somebody wrote into it."""
    expected = (copied / LEDGER).read_bytes()
    (copied / LEDGER).write_bytes(re.sub(rb'"value":0\.[0-9]+', b'"value":0.99', expected))
    with TrustStore(copied) as store:
        store.rebuild()
    assert (copied / BACKUP).read_bytes() == expected


@pytest.mark.parametrize("data", [None, b"garbage"])
def test_opening_from_the_backup_writes_the_ledger(copied: Path, data: bytes | None) -> None:
    """Also where the backup stands on the whole log; and what is no ledger does not become the backup."""
    expected = (copied / LEDGER).read_bytes()
    (copied / BACKUP).write_bytes(expected)
    spoil(copied, [LEDGER], data)
    with TrustStore(copied):
        pass
    assert ((copied / LEDGER).read_bytes(), (copied / BACKUP).read_bytes()) == (expected, expected)


@pytest.mark.parametrize("data", [b'{"time":1', b'\n{"time":1}\n', b'nonsense\n{"a":1}\n', b'{"v":2}\n'])
def test_a_log_without_a_row_of_ours_is_not_set_aside(home: Path, data: bytes) -> None:
    """Only a first row that was not written to its end may go: the rest was whole once, or is not ours."""
    home.mkdir()
    (home / AUDIT).write_bytes(data)
    with pytest.raises(AuditDamageError, match="nothing was set aside"), TrustStore(home):
        pass
    assert (audit_of(home), (home / LEDGER).exists(), list(home.glob("*.torn-*"))) == (data, False, [])


# ---------------------------------------------------------------------- a cache that is gone


@pytest.mark.parametrize(
    "spoiled",
    [
        None,
        lambda _: b"",
        lambda _: b"garbage" * 1000,
        lambda data: data[: len(data) // 2],
        lambda data: data[:4096] + bytes(len(data) - 4096),
        lambda data: data[:100] + b"\xff" * 3996 + data[4096:],
    ],
    ids=["missing", "empty", "garbage", "half", "zeros behind the first page", "noise in the first page"],
)
def test_a_broken_cache_is_made_anew(home: Path, spoiled: Callable[[bytes], bytes] | None) -> None:
    """Without its index a home knows every row all the same, and takes in what is new."""
    ingest(home, FOLDER)
    whole = (home / CACHE).read_bytes()
    spoil(home, [CACHE], spoiled(whole) if spoiled else None)
    known = len(rows_of(home)) - 1
    again = ingest(home, FOLDER, FIXTURES / "made-clock")
    assert (again.known, again.evidence > 0, first_broken_link(home)) == (known, True, None)


def test_a_cache_with_a_broken_page_is_made_anew(tmp_path: Path) -> None:
    """Whichever page of the file is damaged, at most one run is refused, and the next ends in the same agents."""
    ingest(tmp_path / "whole", FOLDER, FIXTURES / "made-clock")
    expected = agents_of(tmp_path / "whole")
    ingest(tmp_path / "first", FOLDER)
    size = (tmp_path / "first" / CACHE).stat().st_size
    failed = {}
    for page in range(size // 4096):
        place = shutil.copytree(tmp_path / "first", tmp_path / str(page))
        with (place / CACHE).open("r+b") as file:
            file.seek(page * 4096)
            file.write(b"\xa5" * 4096)
        with contextlib.suppress(HomeError):
            ingest(place, FOLDER, FIXTURES / "made-clock")
        try:
            ingest(place, FOLDER, FIXTURES / "made-clock")
            outcome = "the same agents" if agents_of(place) == expected else "other agents"
        except (HomeError, sqlite3.Error) as error:
            outcome = str(error)
        if outcome != "the same agents":
            failed[page] = outcome
    assert failed == {}


def test_a_cache_of_another_log_is_made_anew(tmp_path: Path) -> None:
    """An index that came from elsewhere hides no row."""
    ingest(tmp_path / "one", FOLDER)
    ingest(tmp_path / "other", FIXTURES / "made-clock")
    shutil.copy(tmp_path / "other" / CACHE, tmp_path / "one" / CACHE)
    with TrustStore(tmp_path / "one") as store:
        assert store.cache.known(row.session for row in store.rows()) == {row.id for row in store.rows()}


def test_a_cache_that_lags_behind_is_brought_up(home: Path) -> None:
    """An index from before the last commit learns its rows when the home is opened."""
    commit(home, call(1))
    older = (home / CACHE).read_bytes()
    commit(home, call(2), call(3))
    (home / CACHE).write_bytes(older)
    assert commit(home, call(2), call(3)) == Commit(0, 0, 0, 2)
