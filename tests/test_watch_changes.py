"""What `watch` learns of changes, from the operating system and by polling; waits only until something is told."""

from __future__ import annotations

import shutil
import threading
from typing import TYPE_CHECKING

import pytest
from a2a_trust.backfill import changes as module
from a2a_trust.backfill.changes import Batch, FileChanges

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MOST_BATCHES = 400
"""Of a quarter of a second at most: far more than any machine needs."""


class Followed:
    """The changes below some folders, taken until something is among them."""

    def __init__(self, *roots: Path, poll: bool) -> None:
        """Follow the folders."""
        self.stop = threading.Event()
        self.remarks: list[str] = []
        self.changes = FileChanges(roots, self.stop, self.remarks.append, poll=poll)

    def until(self, holds: Callable[[Batch], bool]) -> None:
        """Take batches until one is as wanted."""
        for _ in range(MOST_BATCHES):
            if holds(self.changes.take()):
                return
        raise AssertionError

    def until_told(self, path: Path) -> None:
        """Take batches until one tells of a path, or of the folder above it as a new one."""
        self.until(lambda batch: bool({str(path), str(path.parent)} & batch.paths))

    def until_rescan(self) -> None:
        """Take batches until one asks for a look at everything."""
        self.until(lambda batch: bool(batch.rescan))


@pytest.fixture(params=[False, True], ids=["told", "polled"])
def follow(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Followed]]:
    """Follow folders, in either way."""
    monkeypatch.setattr(module, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(module, "ROOTS_SECONDS", 0.01)
    made: list[Followed] = []

    def start(*roots: Path) -> Followed:
        made.append(Followed(*roots, poll=request.param))
        return made[-1]

    yield start
    for one in made:
        one.changes.close()


def test_the_first_batch_asks_for_everything(follow: Callable[..., Followed], tmp_path: Path) -> None:
    """Following begins before the first look, so that nothing falls in between."""
    followed = follow(tmp_path)
    assert followed.changes.take().rescan
    (tmp_path / "log").write_text("1")
    followed.until_told(tmp_path / "log")


def test_files_and_folders_are_told(follow: Callable[..., Followed], tmp_path: Path) -> None:
    """A file that grows, one in a new folder below a new folder, one that was moved there with its folder."""
    (tmp_path / "log").write_text("1")
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    (outside / "inner").mkdir(parents=True)
    (outside / "inner" / "log").write_text("1")
    followed = follow(tmp_path)
    followed.until_rescan()
    with (tmp_path / "log").open("a") as file:
        file.write("2")
    followed.until_told(tmp_path / "log")
    (tmp_path / "a").mkdir()
    followed.until(lambda batch: not batch.paths)
    (tmp_path / "a" / "log").write_text("1")
    followed.until_told(tmp_path / "a" / "log")
    outside.rename(tmp_path / "b")
    followed.until(lambda batch: any(path.startswith(str(tmp_path / "b")) for path in batch.paths))


def test_a_folder_that_comes_later_is_followed(follow: Callable[..., Followed], tmp_path: Path) -> None:
    """Also one that went and came again: each time everything is looked at, and each change after that is told."""
    root = tmp_path / "not" / "yet"
    followed = follow(root, tmp_path / "never")
    followed.until_rescan()
    for _ in range(2):
        root.mkdir(parents=True)
        followed.until_rescan()
        (root / "log").write_text("1")
        followed.until_told(root / "log")
        shutil.rmtree(tmp_path / "not")
        followed.until_rescan()


def test_a_single_file_is_followed(follow: Callable[..., Followed], tmp_path: Path) -> None:
    """A root may be a log itself."""
    (tmp_path / "log").write_text("1")
    followed = follow(tmp_path / "log")
    followed.until_rescan()
    with (tmp_path / "log").open("a") as file:
        file.write("2")
    followed.until_told(tmp_path / "log")


def test_paths_are_told_as_the_root_names_them(follow: Callable[..., Followed], tmp_path: Path) -> None:
    """A root that is a link stays one: logs are remembered by these names."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    followed = follow(tmp_path / "link")
    followed.until_rescan()
    (tmp_path / "real" / "log").write_text("1")
    followed.until(lambda batch: str(tmp_path / "link" / "log") in batch.paths)


def test_polling_sees_what_changes_within_a_second(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A file of the same size and second, but for a later nanosecond, is another one."""
    monkeypatch.setattr(module, "POLL_SECONDS", 0.01)
    log = tmp_path / "log"
    log.write_text("1")
    followed = Followed(tmp_path, poll=True)
    followed.until_rescan()
    import os  # noqa: PLC0415 - beside its only use

    whole = log.stat().st_mtime_ns // 10**9 * 10**9
    for nanosecond in (1, 2):
        os.utime(log, ns=(whole, whole + nanosecond))
        followed.until_told(log)
    followed.changes.close()


@pytest.mark.parametrize("error", [OSError(28, "watch limit reached"), RuntimeError("too many open files")])
def test_where_the_system_cannot_follow_the_files_are_polled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: Exception
) -> None:
    """A limit of the system is told once, and costs nothing but time."""

    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(module, "POLL_SECONDS", 0.01)
    monkeypatch.setattr("watchfiles.watch", fails)
    followed = Followed(tmp_path, poll=False)
    followed.until_rescan()
    followed.until_rescan()
    (tmp_path / "log").write_text("1")
    followed.until_told(tmp_path / "log")
    assert len(followed.remarks) == 1
    assert "as with --poll" in followed.remarks[0]
    followed.changes.close()


def test_a_failure_in_between_asks_for_everything_and_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What was lost with a queue of the system is found by looking."""
    failed: list[int] = []
    follow = FileChanges._follow  # noqa: SLF001 - where the system's failure comes up

    def once(self: FileChanges, roots: list[Path]) -> Iterator[set[str]]:
        for number, found in enumerate(follow(self, roots)):
            if number and not failed:
                failed.append(number)
                raise RuntimeError("queue lost")
            yield found

    monkeypatch.setattr(FileChanges, "_follow", once)
    followed = Followed(tmp_path, poll=False)
    followed.until_rescan()
    followed.until_rescan()
    followed.until_rescan()
    (tmp_path / "log").write_text("1")
    followed.until_told(tmp_path / "log")
    assert (failed, followed.remarks) == ([1], [])
    followed.changes.close()


def test_a_stop_ends_the_waiting(tmp_path: Path) -> None:
    """Nothing is waited for once somebody asked to stop."""
    for roots in ((tmp_path,), (tmp_path / "never",)):
        for poll in (True, False):
            followed = Followed(*roots, poll=poll)
            followed.changes.take()
            followed.stop.set()
            assert followed.changes.take() == Batch()
            followed.changes.close()
