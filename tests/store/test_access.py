"""The store: who may read and write, and what a reader sees while somebody writes."""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import multiprocessing
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from homes import FIXTURES, agents_of, audit_of, ingest
from storehomes import (
    AUDIT,
    BACKUP,
    CACHE,
    FOLDER,
    LEDGER,
    LEDGER_KEYS,
    LOCK,
    SLICE,
    Calls,
    Killed,
    call,
    commit,
    content,
    first_broken_link,
    parsed,
)
from undelayed import NoWaiting

from a2a_trust.errors import HomeBusyError, HomeError, NoLedgerError, PolicyError
from a2a_trust.policy import SEED
from a2a_trust.store import TrustStore, files, read_ledger
from a2a_trust.store.snapshot import encode_ledger

if TYPE_CHECKING:
    from collections.abc import Iterator

NOBODY = 65_534
"""The user to which root steps down."""


# ---------------------------------------------------------------------- who may read, and who may write


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_files_are_their_owners_alone(home: Path, mask: int) -> None:
    """Whatever the umask, nobody else can read a home or what it holds."""
    before = os.umask(mask)
    try:
        commit(home, call(1))
        with (home / AUDIT).open("ab") as file:
            file.write(b"torn")
        commit(home, call(2))
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (home, *home.iterdir())}
    assert {AUDIT, LEDGER, BACKUP, CACHE, LOCK, "audit.jsonl.torn-1"} <= set(modes)
    assert modes == {name: 0o700 if name == "home" else 0o600 for name in modes}


def test_a_copied_backup_is_its_owners_alone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the backup is a copy nobody else can read it."""

    class Linkless(NoWaiting):
        def link(self, source: Path, target: Path) -> None:
            raise OSError(1, "Operation not permitted", str(source), None, str(target))

    monkeypatch.setattr(files, "system", Linkless())
    before = os.umask(0)
    try:
        commit(home, call(1))
    finally:
        os.umask(before)
    assert (home / BACKUP).stat().st_mode & 0o777 == 0o600


def test_a_second_writer_is_told_to_wait(home: Path) -> None:
    """Whoever does not get the lock in time is told so, and changes nothing."""
    with TrustStore(home), pytest.raises(HomeBusyError) as caught, TrustStore(home, lock_seconds=0.01):
        pass
    assert str(caught.value) == f"{home}: another process is writing to this home; try again when it is done"


def test_the_lock_is_free_after_a_failure(home: Path) -> None:
    """An exception in the middle of writing does not leave the home locked."""
    with pytest.raises(Killed), TrustStore(home):
        raise Killed
    with TrustStore(home, lock_seconds=0.01) as store:
        assert store.ledger.audit.rows == 1


def test_the_lock_is_free_after_a_refused_policy(home: Path) -> None:
    """A refusal does not leave the home locked."""
    commit(home, call(1))
    with pytest.raises(PolicyError), TrustStore(home, SEED):
        pass
    with TrustStore(home, lock_seconds=0.01) as store:
        assert store.ledger.audit.rows == 2


def test_a_home_that_is_a_file_is_refused(home: Path) -> None:
    """A home must be a folder."""
    home.write_bytes(b"")
    with pytest.raises(HomeError, match="the home must be a folder you may write to"), TrustStore(home):
        pass


def test_writers_in_two_processes_lose_and_repeat_nothing(tmp_path: Path) -> None:
    """Two processes that commit logs at once, some of them the same, end in what one after the other gives."""
    folders = [FIXTURES / name for name in ("a-team", "made-tasks", "made-clock", "a-team", "e-failures", "made-tasks")]
    home, alone = tmp_path / "home", tmp_path / "alone"
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, context) as pool:
        running = [pool.submit(ingest, home, folder) for folder in folders]
        added = sum(done.result().evidence for done in running)
    expected = ingest(alone, *set(folders)).evidence
    ids = [row["id"] for row in parsed(home)]
    assert (agents_of(home), added, first_broken_link(home)) == (agents_of(alone), expected, None)
    assert len(ids) == len(set(ids))


# ---------------------------------------------------------------------- reading while somebody writes


def test_a_reader_at_any_moment_sees_a_sound_ledger(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before every call that a writer makes, what is read is the fold of the rows that stand in the log."""
    ingest(home, FIXTURES / "made-clock")
    wrong = []

    def read(number: int) -> None:
        ledger = read_ledger(home)
        if ledger.audit.rows != audit_of(home).count(b"\n"):
            wrong.append(number)

    class Slow(Calls):
        def write(self, descriptor: int, data: memoryview) -> int:
            return super().write(descriptor, data[: max(1, len(data) // 2)])

    monkeypatch.setattr(SLICE, 30)
    calls = Slow(home, read)
    monkeypatch.setattr(files, "system", calls)
    ingest(home, FOLDER)
    assert (wrong, len(calls.made) > 50) == ([], True)


def test_a_reader_at_any_moment_finds_a_snapshot(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no moment without a whole `ledger.json`, nor, once there was one, without its backup."""
    commit(home, call(1))
    missing = []

    def look(number: int) -> None:
        missing.extend(
            (number, name)
            for name in (LEDGER, BACKUP)
            if not (home / name).exists() or list(json.loads((home / name).read_bytes())) != LEDGER_KEYS
        )

    monkeypatch.setattr(files, "system", Calls(home, look))
    commit(home, call(2))
    assert missing == []


def test_readers_in_another_thread_see_only_sound_ledgers(home: Path) -> None:
    """A loop of readers beside a loop of commits sees ledgers that only grow, and never fails."""
    commit(home, call(0))
    done = threading.Event()

    def read() -> list[int]:
        rows = []
        while not done.is_set():
            rows.append(read_ledger(home).audit.rows)
        return rows

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        running = pool.submit(read)
        for number in range(1, 25):
            commit(home, call(number))
        done.set()
        rows = running.result()
    assert rows == sorted(rows)


def test_a_ledger_that_lags_behind_is_brought_up_in_memory(home: Path) -> None:
    """A reader folds the rows that the snapshot does not hold yet."""
    commit(home, call(1))
    older = (home / LEDGER).read_bytes()
    commit(home, call(2), call(3, "tool-error"))
    newer = (home / LEDGER).read_bytes()
    (home / LEDGER).write_bytes(older)
    assert encode_ledger(read_ledger(home)) == newer


def test_reading_writes_nothing(copied: Path) -> None:
    """A reader leaves every file as it was, also where it has to fold."""
    (copied / LEDGER).write_bytes((copied / BACKUP).read_bytes())
    before = content(copied)
    read_ledger(copied)
    assert content(copied) == before


@pytest.mark.parametrize("made", [False, True], ids=["no folder", "an empty folder"])
def test_reading_where_nothing_is_recorded_says_what_to_do(home: Path, *, made: bool) -> None:
    """Without a home there is no ledger; the message names the command that makes one."""
    if made:
        home.mkdir()
    with pytest.raises(NoLedgerError) as caught:
        read_ledger(home)
    assert str(caught.value) == f"{home}: nothing is recorded here yet; run: a2a-trust backfill"


def test_reading_makes_no_home(home: Path) -> None:
    """A look at a home that is not there does not make one."""
    with pytest.raises(NoLedgerError):
        read_ledger(home)
    assert not home.exists()


def test_reading_what_is_no_home_is_told(home: Path) -> None:
    """A home that is a file is refused in words."""
    home.write_bytes(b"")
    with pytest.raises((HomeError, NoLedgerError)):
        read_ledger(home)


@pytest.fixture
def read_only(copied: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home, named from within its parent, that this process may read and not write; root steps down for it."""
    for path in copied.iterdir():
        path.chmod(0o444)
    copied.chmod(0o555)
    copied.parent.chmod(0o755)
    monkeypatch.chdir(copied.parent)
    root = os.geteuid() == 0
    try:
        if root:
            with contextlib.suppress(PermissionError):
                os.seteuid(NOBODY)
        if os.access(copied.name, os.W_OK, effective_ids=True):
            pytest.skip("nothing can be denied to this user")
        yield Path(copied.name)
    finally:
        if root:
            os.seteuid(0)
        copied.chmod(0o700)


def test_a_folder_that_may_only_be_read_can_be_read(read_only: Path) -> None:
    """A reader needs no right to write, neither for a lock nor for a cache."""
    with pytest.raises(PermissionError):
        (read_only / "new").touch()
    assert read_ledger(read_only).audit.bytes == len(audit_of(read_only))
