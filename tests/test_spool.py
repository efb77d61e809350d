"""What waits on disk in a run comes back as it was, in its order, and leaves nothing behind."""

from __future__ import annotations

import errno
import io
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from a2a_trust.backfill import spool
from a2a_trust.backfill.spool import SortedRows, Spool
from hypothesis import given
from hypothesis import strategies as st
from made_rows import tool_call

from a2a_trust.errors import HomeError

if TYPE_CHECKING:
    from a2a_trust.model import Row

O_TMPFILE: int = getattr(os, "O_TMPFILE", 0)
ROWS = st.lists(
    st.builds(
        tool_call,
        st.integers(0, 30),
        agent=st.integers(0, 1),
        session=st.sampled_from(["s0", "s1"]),
        late=st.integers(0, 9),
    ),
    max_size=60,
)


def key(row: Row) -> tuple[object, ...]:
    """The place of a row in event-time order."""
    return row.key


@given(st.lists(ROWS, max_size=8), st.integers(1, 20), st.integers(1, 5), st.integers(2, 4))
def test_rows_come_back_in_key_order(parts: list[list[Row]], run: int, block: int, runs: int) -> None:
    """However many runs and blocks they make on disk: what Python's own stable sort gives, as often as asked."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spool, "RUN_ROWS", run)
        patch.setattr(spool, "BLOCK_ROWS", block)
        patch.setattr(spool, "MOST_RUNS", runs)
        with SortedRows(Path()) as rows:
            for part in parts:
                rows.add(part)
            expected = sorted((row for part in parts for row in part), key=key)
            assert list(rows) == expected
            assert list(rows) == expected


@given(st.lists(st.binary(max_size=300)))
def test_records_come_back_as_they_were(records: list[bytes]) -> None:
    """In their order, and each by its place while others are still added."""
    with pytest.MonkeyPatch.context() as patch, Spool(Path()) as kept:
        patch.setattr(spool, "MEMORY_BYTES", 200)
        places = []
        for record in records:
            places.append(kept.append(record))
            assert kept.read(places[0]) == records[0]
        assert [kept.read(place) for place in places] == records
        assert list(kept) == records


@pytest.mark.parametrize("nameless", [True, False], ids=["nameless", "unlinked"])
def test_nothing_stands_in_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, nameless: bool) -> None:
    """A file that has grown out of memory has no name there, or none that stays, whatever the file system can do."""
    opened = os.open

    def unable(path: str, flags: int, *more: int) -> int:
        if flags & O_TMPFILE == O_TMPFILE:
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
        return opened(path, flags, *more)

    if O_TMPFILE and not nameless:
        monkeypatch.setattr(os, "open", unable)
    monkeypatch.setattr(spool, "MEMORY_BYTES", 10)
    with Spool(tmp_path) as kept:
        kept.append(b"more than ten bytes")
        if O_TMPFILE:
            assert list(tmp_path.iterdir()) == []
        assert list(kept) == [b"more than ten bytes"]
    assert list(tmp_path.iterdir()) == []


def test_little_needs_no_file(tmp_path: Path) -> None:
    """Where there is little to hold there is not even a folder to hold it in."""
    with Spool(tmp_path / "missing") as kept:
        kept.append(b"little")
        assert list(kept) == [b"little"]


def test_a_full_disk_is_told_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk without room ends the run with what to do, and says that what was committed stands."""

    class Full(io.BytesIO):
        def write(self, _data: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tempfile.SpooledTemporaryFile", lambda *_, **__: Full())
    told = r"No space left on device.*what was committed stands: make room"
    with Spool(tmp_path) as kept, pytest.raises(HomeError, match=told) as caught:
        kept.append(b"record")
    assert str(caught.value).startswith(str(tmp_path))


@pytest.mark.parametrize("size", [20, 100_000])
def test_a_disk_that_fills_up_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """What could not be written is still in the file's buffer when it is closed, and fails there again."""

    class Full(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def writable(self) -> bool:
            return True

        def seekable(self) -> bool:
            return True

        def seek(self, offset: int, _whence: int = 0) -> int:
            return offset

        def write(self, _data: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: io.BufferedRandom(Full()))
    monkeypatch.setattr(spool, "MEMORY_BYTES", 10)
    with pytest.raises(HomeError, match="No space left on device"), Spool(tmp_path) as kept:
        kept.append(b"x" * size)
