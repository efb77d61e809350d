"""The loop of `watch`, moved by hand: when it looks, commits and writes, and what failures do to it."""

from __future__ import annotations

import errno
import importlib
import os
import shutil
import sqlite3
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from a2a_trust.backfill import watch_loop
from a2a_trust.backfill.changes import Batch
from homes import FIXTURES, LOG_GLOB, agents_of, ingest, rows_of
from watching import Hands

from a2a_trust.errors import AuditDamageError, HomeError
from a2a_trust.sources.jsonl import JsonlSource
from a2a_trust.store import TrustStore, audit, files
from a2a_trust.store.cache import Cache
from a2a_trust.store.snapshot import LEDGER, read_snapshot
from a2a_trust.store.standing import StandingStore
from a2a_trust.store.verify import verify

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from a2a_trust.model import Row

pytestmark = pytest.mark.usefixtures("no_waiting")

TEAM = FIXTURES / "a-team"
OTHER = FIXTURES / "made-latency"
KNOWN = FIXTURES / "made-solo"
"""What the watcher has read when a test begins."""


@pytest.fixture
def hands(tmp_path: Path) -> Hands:
    """A watcher that has caught up with a log."""
    shutil.copytree(KNOWN, tmp_path / "logs" / KNOWN.name)
    hands = Hands(tmp_path / "home", tmp_path / "logs")
    hands.cycle()
    return hands


def put(hands: Hands, tree: Path = TEAM) -> list[Path]:
    """Copy logs below the folder that is followed; return their paths."""
    target = hands.home.parent / "logs" / tree.name
    shutil.copytree(tree, target)
    return sorted(target.rglob(LOG_GLOB))


def held_rows(hands: Hands) -> int:
    """Rows that the snapshot holds."""
    ledger = read_snapshot(hands.home / LEDGER)
    return ledger.audit.rows if ledger else 0


def is_complete(hands: Hands, *trees: Path) -> bool:
    """Whether the home holds what one run over the trees gives, and every row is sound."""
    hands.watcher.finish()
    once = hands.home.parent / "once"
    ingest(once, KNOWN, *(trees or [TEAM]))
    return agents_of(hands.home) == agents_of(once) and not verify(hands.home).defects


def fail_writes(monkeypatch: pytest.MonkeyPatch, fails: Callable[[], bool]) -> None:
    """Let appending to the audit log fail as on a full disk, as long as the callable says so."""
    append = files.append

    def full(path: Path, data: bytes) -> None:
        if fails():
            # Half of it got there, as it does.
            with path.open("ab") as file:
                file.write(data[: len(data) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        append(path, data)

    monkeypatch.setattr(files, "append", full)


# ------------------------------------------------------------------ what is read, and when


def test_a_change_is_read_at_once(hands: Hands) -> None:
    """The rows of a changed log are in the audit log when the cycle ends, and are told."""
    hands.cycle(*put(hands))
    assert rows_of(hands.home)[-len(hands.heard.told) :] == hands.heard.told
    assert len(hands.heard.told) > 100
    assert is_complete(hands)


def test_only_what_changed_is_read(hands: Hands) -> None:
    """A log that nobody told of waits until everything is looked at."""
    first, *others = put(hands)
    hands.cycle(first)
    assert {row.session for row in hands.heard.told} < {path.parent.name for path in [first, *others]}
    hands.cycle(seconds=watch_loop.RESCAN_SECONDS + 1)
    assert is_complete(hands)


@pytest.mark.parametrize("moves", ["the wall clock", "a late cycle"])
def test_after_sleep_everything_is_looked_at(hands: Hands, moves: str) -> None:
    """Whether or not the other clock stood still, a machine that slept may have missed something."""
    put(hands)
    if moves == "the wall clock":
        hands.wall += 3600
    hands.cycle(seconds=1 if moves == "the wall clock" else 30)
    assert is_complete(hands)


def test_a_folder_that_appears_is_read_whole_and_looked_at_again(hands: Hands) -> None:
    """What was put into a new folder before the system followed it is found a moment later."""
    first, *others = put(hands)
    aside = [path.rename(hands.home.parent / f"aside-{number}") for number, path in enumerate(others)]
    hands.cycle(first.parent, *{path.parent for path in others})
    for path, kept in zip(others, aside, strict=True):
        kept.rename(path)
    hands.cycle(seconds=watch_loop.YOUNG_SECONDS[0])
    assert is_complete(hands)


def test_what_is_removed_takes_nothing_back(hands: Hands) -> None:
    """Folders that go, told or not, leave their rows, and the loop goes on."""
    paths = put(hands)
    hands.cycle(*paths)
    shutil.rmtree(hands.home.parent / "logs")
    hands.cycle(*paths, hands.home.parent / "logs")
    hands.cycle(seconds=watch_loop.RESCAN_SECONDS + 1)
    assert is_complete(hands)


def test_the_home_s_own_files_are_no_change(tmp_path: Path) -> None:
    """Following the folder above the home does not lead from each commit to the next."""
    ingest(tmp_path / "home", OTHER)
    hands = Hands(tmp_path / "home", tmp_path, sources={"jsonl": JsonlSource()})
    hands.cycle()
    before = (tmp_path / "home" / "cache.sqlite").stat().st_mtime_ns
    hands.cycle(*(tmp_path / "home").iterdir())
    assert (tmp_path / "home" / "cache.sqlite").stat().st_mtime_ns == before


def test_no_home_is_made_before_there_are_logs(tmp_path: Path) -> None:
    """Who starts watching on a machine without logs finds no home there until the first log comes."""
    hands = Hands(tmp_path / "home", tmp_path / "logs")
    hands.cycle()
    hands.cycle(seconds=watch_loop.RESCAN_SECONDS + 1)
    assert not (tmp_path / "home").exists()
    hands.cycle(*put(hands), *put(hands, KNOWN))
    assert [summary.files for summary in hands.heard.summaries] == [0]
    assert len(hands.heard.told) > 100
    assert is_complete(hands)


def test_a_lost_cache_is_no_loss(hands: Hands) -> None:
    """Where nothing is remembered any more, everything is read again, and counted once."""
    first, *others = put(hands)
    hands.cycle(*others)
    (hands.home / "cache.sqlite").unlink()
    hands.cycle(first)
    hands.cycle()
    assert is_complete(hands)


def test_a_home_that_is_removed_is_made_anew(hands: Hands) -> None:
    """From the logs that still exist."""
    hands.cycle(*put(hands))
    shutil.rmtree(hands.home)
    hands.cycle(*put(hands, OTHER))
    assert is_complete(hands, TEAM, OTHER)


def test_a_system_that_keeps_silent_is_not_relied_on(hands: Hands) -> None:
    """If changes are found that were long due to be told, twice, the files are polled from then on."""
    for tree in (TEAM, OTHER):
        assert hands.heard.distrusted == []
        put(hands, tree)
        # A long time between two cycles would be sleep, which is another reason to look.
        for _ in range(20):
            hands.cycle(seconds=watch_loop.SLEEP_SECONDS * 0.8)
    assert len(hands.heard.distrusted) == 1


def test_what_sleep_missed_is_no_reason_to_poll(hands: Hands) -> None:
    """A system that could not tell is no system that keeps silent."""
    for tree in (TEAM, OTHER, FIXTURES / "made-tasks"):
        put(hands, tree)
        hands.cycle(seconds=3600)
    assert len(hands.heard.told) > 100
    assert hands.heard.distrusted == []


# ------------------------------------------------------------------ the snapshot


def test_the_snapshot_follows_when_nothing_happens(hands: Hands) -> None:
    """It lags behind the rows as long as changes come, and is there with the first cycle without any."""
    hands.cycle(*put(hands))
    assert held_rows(hands) < len(rows_of(hands.home))
    hands.cycle()
    assert held_rows(hands) == len(rows_of(hands.home))


def test_under_load_the_snapshot_is_written_every_few_seconds(hands: Hands) -> None:
    """Changes without end do not hold it up for ever."""
    first, second, *others = put(hands)
    hands.cycle(first)
    hands.cycle()
    rows = held_rows(hands)
    hands.cycle(second, seconds=0.2)
    for path in others:
        hands.cycle(path, seconds=0.2)
    assert held_rows(hands) == rows < len(rows_of(hands.home))
    hands.cycle(first, seconds=watch_loop.SNAPSHOT_SECONDS)
    assert held_rows(hands) == len(rows_of(hands.home))


def test_a_lagging_home_is_whole_for_others(hands: Hands) -> None:
    """Whoever opens the home meanwhile finds every row folded."""
    hands.cycle(*put(hands))
    assert held_rows(hands) < len(rows_of(hands.home))
    ingest(hands.home.parent / "once", KNOWN, TEAM)
    assert agents_of(hands.home) == agents_of(hands.home.parent / "once")
    with TrustStore(hands.home) as store:
        assert store.ledger.audit.rows == len(rows_of(hands.home))
    assert is_complete(hands)


# ------------------------------------------------------------------ others, and failures


def test_what_another_process_wrote_is_read_again(hands: Hands) -> None:
    """A run beside the watcher changes the home under it; the chain goes on behind the other's rows."""
    first, *others = put(hands)
    hands.cycle(first)
    ingest(hands.home, OTHER)
    hands.cycle(*others)
    assert is_complete(hands, TEAM, OTHER)


def test_another_writer_is_waited_for(hands: Hands, monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as another holds the lock, changes are kept; after a while somebody is told, once."""
    monkeypatch.setattr(watch_loop, "LOCK_SECONDS", 0)
    hands.restart()
    hands.cycle()
    paths = put(hands)
    with TrustStore(hands.home):
        hands.cycle(*paths)
        assert hands.heard.remarks == []
        for _ in range(4):
            hands.cycle(seconds=watch_loop.BUSY_SECONDS / 2)
    assert len(hands.heard.remarks) == 1
    assert "another process is writing" in hands.heard.remarks[0]
    hands.cycle()
    assert is_complete(hands)


def test_a_full_disk_is_told_once_and_tried_again_until_it_is_not(
    hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is lost, nothing is there twice, and the waits grow."""
    tries: list[float] = []
    full = True

    def fails() -> bool:
        if full:
            tries.append(hands.now)
        return full

    fail_writes(monkeypatch, fails)
    hands.cycle(*put(hands))
    for _ in range(200):
        hands.cycle(seconds=0.25)
    waits = [later - earlier for earlier, later in pairwise(tries)]
    assert waits == sorted(waits)
    assert waits[-1] > 10 * waits[0]
    assert len(hands.heard.remarks) == 1
    assert "No space left" in hands.heard.remarks[0]
    full = False
    hands.cycle(seconds=watch_loop.RETRY_SECONDS[1])
    assert hands.heard.remarks[1:] == ["Writing works again."]
    assert is_complete(hands)


def test_an_index_that_fails_again_and_again_is_told_and_tried_again(
    hands: Hands, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is made anew once for each commit, not for ever; when it works again everything is recorded."""
    paths = put(hands)
    asked: list[int] = []

    def broken(*_: object) -> set[str]:
        asked.append(1)
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as patch:
        patch.setattr(Cache, "known_among", broken)
        hands.cycle(*paths)
    assert len(asked) == 2
    assert len(hands.heard.remarks) == 1
    assert "disk I/O error" in hands.heard.remarks[0]
    hands.cycle(seconds=1)
    assert is_complete(hands)


def test_a_snapshot_that_cannot_be_written_costs_no_row(hands: Hands, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows are durable before; the snapshot is made up for when there is room."""
    replace = files.replace

    def full(path: Path, data: bytes, backup: Path | None = None) -> None:
        if path.name == LEDGER:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        replace(path, data, backup)

    hands.cycle(*put(hands))
    with monkeypatch.context() as patch:
        patch.setattr(files, "replace", full)
        hands.cycle()
        assert len(hands.heard.remarks) == 1
    hands.cycle(seconds=watch_loop.RETRY_SECONDS[1])
    assert is_complete(hands)


def test_a_home_that_cannot_be_written_at_the_start_is_told_by_its_exit_code(tmp_path: Path) -> None:
    """Before anything was recorded there is nothing to keep: whoever started it is told, and can act."""
    (tmp_path / "home").write_text("a file")
    hands = Hands(tmp_path / "home", TEAM)
    with pytest.raises(HomeError):
        hands.cycle()


def test_a_damaged_audit_log_ends_it(hands: Hands) -> None:
    """No waiting helps against a row that was changed; nothing is written on top of it."""
    hands.cycle(*put(hands))
    hands.watcher.finish()
    path = hands.home / "audit.jsonl"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(AuditDamageError):
        hands.cycle(seconds=watch_loop.RESCAN_SECONDS + 1)


def test_a_stop_in_the_middle_of_catching_up_leaves_a_sound_home(hands: Hands) -> None:
    """What was not committed is read again by the next start."""
    put(hands)
    hands.stop.set()
    with pytest.raises(watch_loop.StoppedError):
        hands.watcher.cycle(Batch(rescan="again"), hands.heard)
    hands.stop.clear()
    hands.restart()
    hands.cycle()
    assert is_complete(hands)


def test_a_stop_between_slices_leaves_no_ledger_behind(hands: Hands, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was committed until then is in the ledger, too, when the watcher has ended."""
    monkeypatch.setattr("a2a_trust.store.store.SLICE_ROWS", 20)
    # By its dotted name the module would be the function that the package offers.
    monkeypatch.setattr(importlib.import_module("a2a_trust.backfill.run"), "TOLD_ROWS", 20)
    put(hands)
    before = len(rows_of(hands.home))
    append = StandingStore._append  # noqa: SLF001 - the moment at which somebody asks to stop

    def stopped(self: StandingStore, rows: list[Row]) -> list[audit.Placement]:
        hands.stop.set()
        return append(self, rows)

    monkeypatch.setattr(StandingStore, "_append", stopped)
    with pytest.raises(watch_loop.StoppedError):
        hands.watcher.cycle(Batch(rescan="again"), hands.heard)
    hands.watcher.finish()
    assert held_rows(hands) == len(rows_of(hands.home)) > before


def test_a_standing_store_reads_the_home_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From commit to commit nothing is read again, unless somebody else has written."""
    ingest(tmp_path / "home", OTHER)
    store = StandingStore(tmp_path / "home", lock_seconds=1)
    opened: list[int] = []
    recover = audit.recover_tail
    monkeypatch.setattr(audit, "recover_tail", lambda *given: (opened.append(1), recover(*given))[1])
    for _ in range(3):
        with store:
            assert store.ledger.agents
    assert len(opened) == 1
    ingest(tmp_path / "home", TEAM)
    opened.clear()
    with store:
        assert len(opened) == 1
        assert store.ledger.audit.rows == len(rows_of(tmp_path / "home"))
