"""What a run has read and not yet committed: on disk, so that it may be more than memory holds.

The files have no name, or lose it when they are closed, whatever ends the process. While little is held there are none.
"""

from __future__ import annotations

import contextlib
import heapq
import tempfile
from operator import attrgetter
from typing import TYPE_CHECKING, Self

import msgspec

from a2a_trust.errors import HomeError
from a2a_trust.model import Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from types import TracebackType

MEMORY_BYTES = 1 << 20
"""Up to here a spool stays in memory."""
RUN_ROWS = 10_000
"""Rows that are sorted in memory; each further so many become a run on disk."""
BLOCK_ROWS = 128
"""Rows of a run that are in memory while runs are merged."""
MOST_RUNS = 64
"""Runs that are merged at a time; where there are more, these become one."""
_SIZE_BYTES = 8
_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(list[Row])
_by_key = attrgetter("key")


class Spool:
    """Records of any size, read back by their place or in the order in which they came.

    Raises `HomeError` where the folder cannot hold them.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = tempfile.SpooledTemporaryFile(MEMORY_BYTES, dir=str(folder))  # noqa: SIM115 - see `close`
        self._end = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Forget all records."""
        # What a full disk did not take is tried once more here; it is not wanted any more.
        with contextlib.suppress(OSError):
            self._file.close()

    def append(self, record: bytes) -> int:
        """Add a record and return its place."""
        place = self._end
        try:
            if place + len(record) > MEMORY_BYTES:
                # Before it is written, or a large record would be in memory twice more.
                self._file.rollover()
            self._file.seek(place)
            self._file.write(len(record).to_bytes(_SIZE_BYTES, "little"))
            self._file.write(record)
            self._file.flush()
        except OSError as error:
            raise HomeError(
                f"{self._folder}: {error.strerror or error} while a temporary file was written there; what was "
                "committed stands: make room and run the command again"
            ) from None
        self._end += _SIZE_BYTES + len(record)
        return place

    def read(self, place: int) -> bytes:
        """Return the record at a place."""
        self._file.seek(place)
        size = int.from_bytes(self._file.read(_SIZE_BYTES), "little")
        return self._file.read(size)

    def __iter__(self) -> Iterator[bytes]:
        place = 0
        while place < self._end:
            record = self.read(place)
            yield record
            place += _SIZE_BYTES + len(record)


class SortedRows:
    """Rows in key order, given back as often as they are asked for; rows of equal keys in the order they came in."""

    def __init__(self, folder: Path) -> None:
        self._spool = Spool(folder)
        self._held: list[Row] = []
        self._runs: list[list[int]] = []
        """The places of the blocks of each run."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._spool.close()

    def add(self, rows: Iterable[Row]) -> None:
        """Add rows in whatever order."""
        self._held += rows
        if len(self._held) < RUN_ROWS:
            return
        self._held.sort(key=_by_key)
        self._runs.append(self._write(self._held))
        self._held = []
        if len(self._runs) == MOST_RUNS:
            self._runs = [self._write(self._merged())]

    def __iter__(self) -> Iterator[Row]:
        self._held.sort(key=_by_key)
        return self._merged()

    def _merged(self) -> Iterator[Row]:
        if not self._runs:
            return iter(self._held)
        return heapq.merge(*map(self._read, self._runs), self._held, key=_by_key)

    def _write(self, rows: Iterable[Row]) -> list[int]:
        places, block = [], []
        for row in rows:
            block.append(row)
            if len(block) == BLOCK_ROWS:
                places.append(self._spool.append(_ENCODER.encode(block)))
                block = []
        if block:
            places.append(self._spool.append(_ENCODER.encode(block)))
        return places

    def _read(self, run: list[int]) -> Iterator[Row]:
        for place in run:
            yield from _DECODER.decode(self._spool.read(place))
