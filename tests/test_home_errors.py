"""A home that cannot be written: one clear error, nothing half done, and the next run goes on."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from faulty import Disk, Fault, How, as_nobody, folder_for_homes, read_folder
from made_rows import registered, tool_call

from a2a_trust.errors import HomeError
from a2a_trust.store import TrustStore
from a2a_trust.store.reader import AUDIT, read_all_rows
from a2a_trust.store.repair import repair
from a2a_trust.store.verify import verify

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def home() -> Iterator[Path]:
    """A home with two rows, below a folder that anybody may enter."""
    with tempfile.TemporaryDirectory(dir=folder_for_homes()) as root:
        home = Path(root) / "home"
        with TrustStore(home) as store:
            store.commit([registered(), tool_call(1)])
        yield home


def test_a_folder_that_may_not_be_written_is_told_and_left_alone(home: Path) -> None:
    """The error names the place; not a byte changes."""
    before = read_folder(home)
    with as_nobody(home), pytest.raises(HomeError, match=r"ermission"), TrustStore(home) as store:
        store.commit([tool_call(2)])
    assert read_folder(home) == before


def test_a_repair_of_such_a_folder_is_refused(home: Path) -> None:
    """Nor does a repair end in anything but a clear error."""
    with as_nobody(home), pytest.raises(HomeError, match=r"ermission"):
        repair(home)


def test_a_file_in_the_place_of_the_home_is_told(tmp_path: Path) -> None:
    """A home must be a folder."""
    (tmp_path / "home").write_text("not a folder", encoding="utf-8")
    with pytest.raises(HomeError, match="folder"), TrustStore(tmp_path / "home"):
        pass


def test_a_folder_that_vanishes_during_a_run_is_told(home: Path) -> None:
    """The next run begins a home anew."""
    with TrustStore(home) as store:
        shutil.rmtree(home)
        with pytest.raises(HomeError):
            store.commit([tool_call(2)])
    with TrustStore(home) as store:
        store.commit([registered(), tool_call(1)])
    assert verify(home).defects == []


def test_a_full_disk_is_told_with_what_stands(home: Path) -> None:
    """The error says how many rows stand and how many were acknowledged."""
    disk = Disk(home, Fault(1, How.ENOSPC, written=10))
    with (
        disk.installed(),
        pytest.raises(HomeError, match="3 rows stand, 3 of them acknowledged"),
        TrustStore(home) as store,
    ):
        store.commit([tool_call(2)])


def test_nothing_is_written_after_a_failed_write(home: Path) -> None:
    """What was read back after a failed sync is not built upon: the store refuses, and another run goes on."""
    disk = Disk(home, Fault(2, How.EIO))
    with disk.installed(), TrustStore(home) as store:
        with pytest.raises(HomeError, match="next run"):
            store.commit([tool_call(2)])
        size = (home / AUDIT).stat().st_size
        with pytest.raises(HomeError, match="earlier write failed"):
            store.commit([tool_call(3)])
        assert (home / AUDIT).stat().st_size == size
    disk.revive()
    with disk.installed(), TrustStore(home) as store:
        assert store.commit([tool_call(2), tool_call(3)]).known == 1
    assert [row.id for row in read_all_rows(home)][-1] == tool_call(3).id
    assert verify(home).defects == []
