"""Files that cannot be opened, or change while they are read, cost the other logs nothing."""

from __future__ import annotations

import errno
import io
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from a2a_trust.backfill import Options, run
from brokenlogs import T, Tree
from dshlog import LogBuilder
from homes import agents_of, audit_of, differences, ingest

from a2a_trust.policy import STANDARD
from a2a_trust.sources.base import LogFile, Skips
from a2a_trust.sources.dsh import DshSource
from a2a_trust.store import TrustStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from a2a_trust.facts import LogHeader


def refuse(monkeypatch: pytest.MonkeyPatch, path: Path, file: Callable[[], io.BytesIO]) -> None:
    """Let something else happen when a file is opened."""
    opening = open

    def opened(name: Any, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - stands for the function itself
        return file() if str(name) == str(path) else opening(name, *args, **options)

    monkeypatch.setattr("builtins.open", opened)
    monkeypatch.setattr("io.open", opened)


def denied() -> io.BytesIO:
    """A file that may not be opened."""
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


class Broken(io.BytesIO):
    """A file on a disk that fails."""

    def read(self, _size: int | None = -1, /) -> bytes:
        """Fail as a disk does."""
        raise OSError(errno.EIO, os.strerror(errno.EIO))


@pytest.mark.parametrize("file", [denied, Broken], ids=["permission-denied", "disk-error"])
def test_a_log_that_cannot_be_read_is_counted(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, file: Callable[[], io.BytesIO]
) -> None:
    """A log that may not be opened, or whose disk fails, is counted with its path; when it can be read it is."""
    with monkeypatch.context() as patch:
        refuse(patch, tree.victim, file)
        summary = tree.run()
    assert summary.unreadable == 1
    assert tree.tells_of(summary)
    assert tree.others_are_whole()
    tree.run()
    assert differences(agents_of(tree.home), tree.clean.agents) == []


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="nothing is denied to root")
def test_a_log_without_permission_is_counted(tree: Tree) -> None:
    """A log that may not be read is counted with its path."""
    tree.victim.chmod(0)
    summary = tree.run()
    assert (summary.skipped, tree.tells_of(summary)) == ({"log-unreadable": 1}, True)
    assert tree.others_are_whole()


@pytest.mark.parametrize("error", [PermissionError, FileNotFoundError], ids=["denied", "gone"])
def test_a_folder_that_cannot_be_listed_is_counted(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, error: type[OSError]
) -> None:
    """A folder that may not be listed, or is gone by then, is counted with its path."""
    listing = os.scandir
    folder = tree.victim.parent

    def listed(name: Any) -> Any:  # noqa: ANN401 - stands for the function itself
        if str(name) == str(folder):
            raise error(errno.EACCES, os.strerror(errno.EACCES))
        return listing(name)

    monkeypatch.setattr("os.scandir", listed)
    summary = tree.run()
    assert summary.skipped == {"folder-unreadable": 1}
    assert tree.tells_of(summary, folder)
    assert tree.others_are_whole()


class Thief(DshSource):
    """A source under whose hands a folder is taken away: once its logs are listed, or once a header was read."""

    def __init__(self, folder: Path, *, after_header: bool) -> None:
        """Remember what to take, and when."""
        self._folder = folder
        self._after_header = after_header

    def discover(self, root: Path, skips: Skips) -> Iterator[list[LogFile]]:
        """List all logs first."""
        found = list(super().discover(root, skips))
        if not self._after_header:
            shutil.rmtree(self._folder)
        yield from found

    def header(self, log: LogFile) -> LogHeader:
        """Read the header before."""
        header = super().header(log)
        if self._after_header and Path(log.path).parent == self._folder:
            shutil.rmtree(self._folder)
        return header


@pytest.mark.parametrize("after_header", [False, True], ids=["listed", "header-read"])
def test_a_log_that_vanishes_is_counted(tree: Tree, after_header: bool) -> None:  # noqa: FBT001
    """A log that is gone when it is its turn is counted with its path."""
    source = Thief(tree.victim.parent, after_header=after_header)
    with TrustStore(tree.home, STANDARD) as store:
        summary = run(store, {"dsh": source}, Options(paths=[tree.logs], jobs=1), {})
    assert (summary.skipped, tree.tells_of(summary)) == ({"log-unreadable": 1}, True)
    assert tree.others_are_whole()


def test_a_log_that_shrinks_takes_nothing_back(tree: Tree) -> None:
    """A log that was cut between two runs is read again from its start: nothing is lost and nothing counts twice."""
    data = tree.victim.read_bytes()
    tree.run()
    audit = audit_of(tree.home)
    for length in (len(data) // 2, len(data) // 3, len(data)):
        tree.victim.write_bytes(data[:length])
        tree.run()
        assert audit_of(tree.home) == audit


def test_a_log_that_is_replaced_is_read_as_what_it_is(tree: Tree, room: Path) -> None:
    """Where another session's log stands under a name that was read before, both sessions count."""
    half = tree.victim.read_bytes()
    tree.run()
    newcomer = LogBuilder("newcomer", created_at=T)
    newcomer.turn_start()
    newcomer.tool("bash")
    tree.victim.write_bytes(newcomer.lines())
    tree.run()
    tree.victim.write_bytes(half)
    newcomer.write(tree.logs)
    assert ingest(room / "once", tree.logs).skipped == {}
    assert agents_of(tree.home) == agents_of(room / "once")


def test_a_ring_of_links_ends(tree: Tree) -> None:
    """Links that lead back into the tree are followed once, and no log counts twice."""
    (tree.logs / "again").symlink_to(tree.logs, target_is_directory=True)
    (tree.victim.parent / "up").symlink_to(tree.logs / "sessions", target_is_directory=True)
    (tree.logs / "self").symlink_to(tree.logs / "self")
    (tree.logs / "copy").mkdir()
    (tree.logs / "copy" / tree.victim.name).symlink_to(tree.victim)
    summary = tree.run()
    assert differences(agents_of(tree.home), tree.clean.agents) == []
    assert summary.lines == tree.clean.lines


@pytest.mark.parametrize("target", ["nowhere", "session.v3.jsonl"], ids=["broken", "to-itself"])
def test_a_log_that_is_a_dead_link_is_counted(tree: Tree, target: str) -> None:
    """A link that leads to no log is counted with its path."""
    link = tree.logs / "linked" / "session.v3.jsonl"
    link.parent.mkdir()
    link.symlink_to(target)
    summary = tree.run()
    assert (summary.skipped, tree.tells_of(summary, link)) == ({"log-unreadable": 1}, True)
    assert differences(agents_of(tree.home), tree.clean.agents) == []


def test_a_folder_with_the_name_of_a_log_is_counted(tree: Tree) -> None:
    """A folder that is called like a log is no log, and is counted with its path."""
    folder = tree.logs / "odd" / "session.jsonl"
    folder.mkdir(parents=True)
    for _ in range(2):
        summary = tree.run()
        assert (summary.skipped, tree.tells_of(summary, folder)) == ({"log-unreadable": 1}, True)
    assert differences(agents_of(tree.home), tree.clean.agents) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_with_the_name_of_a_log_is_never_opened(team: Tree) -> None:
    """Opening a pipe would wait for ever: it is no log, and is counted with its path."""
    pipe = team.logs / "odd" / "session.jsonl"
    pipe.parent.mkdir()
    os.mkfifo(pipe)
    skips = Skips()
    found = [log.path for logs in DshSource().discover(team.logs, skips) for log in logs]
    assert str(pipe) not in found
    assert [place for places in skips.places.values() for place in places if place.startswith(str(pipe))]


def test_a_name_that_is_no_text_harms_nobody(team: Tree) -> None:
    """A folder whose name is not UTF-8 is read or counted, and nothing else is lost."""
    folder = Path(os.fsdecode(os.fsencode(team.logs) + b"/\xff\xfe"))
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("this file system takes no such name")
    team.victim.rename(folder / team.victim.name)
    summary = team.run()
    assert team.others_are_whole()
    assert agents_of(team.home) == team.clean.agents or team.tells_of(summary, team.logs)
