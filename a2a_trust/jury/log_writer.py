"""Writing the log of a jury run: lines gathered into frames, durable within 200 ms, or at once where that is asked for.

A thread of our own does the writing, so that an interrupt, which reaches the main thread alone, never cuts a frame.
After a write or sync that failed nobody knows what reached the disk: nothing is written any more, and the next call
says why.
"""

from __future__ import annotations

import threading
from time import monotonic
from typing import TYPE_CHECKING

import zstandard

from a2a_trust.errors import JuryLogError
from a2a_trust.store import files

if TYPE_CHECKING:
    from pathlib import Path

DELAY = 0.2
"""Seconds that a line may wait for its frame."""
_FRAME_BYTES = 1 << 20
"""Bytes of lines that are not kept waiting."""


class LogWriter:
    """The end of one log. Used by one thread; the file is written by another."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._compressor = zstandard.ZstdCompressor(level=6, write_checksum=True)
        self._changed = threading.Condition()
        self._pending: list[bytes] = []
        self._size = 0
        self._due: float | None = None
        self._closed = False
        self._failure: Exception | None = None
        self._thread: threading.Thread | None = None

    def add(self, lines: bytes) -> None:
        """Take whole lines, which will stand in one frame. Raises `JuryLogError` where writing failed before."""
        with self._changed:
            self._check()
            if self._thread is None:
                self._thread = threading.Thread(target=self._write_on, name="jury-log", daemon=True)
                self._thread.start()
            self._pending.append(lines)
            self._size += len(lines)
            if self._due is None or self._size >= _FRAME_BYTES:
                self._due = monotonic() + (DELAY if self._size < _FRAME_BYTES else 0)
                self._changed.notify_all()

    def sync(self) -> None:
        """Return when all that was added would survive a power loss. Raises `JuryLogError` where it would not."""
        with self._changed:
            if self._pending:
                self._due = monotonic()
                self._changed.notify_all()
            self._changed.wait_for(lambda: not self._pending or self._failure is not None)
            self._check()

    def close(self) -> None:
        """Write what was added and stop. Raises `JuryLogError` where writing failed."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()
        with self._changed:
            self._check()

    def _check(self) -> None:
        if self._failure is not None:
            why = getattr(self._failure, "strerror", None) or self._failure
            raise JuryLogError(
                f"{self._path}: cannot be written: {why}; mend that, then go on with the run: --resume"
            ) from self._failure

    def _write_on(self) -> None:
        """Write frames as they fall due, until closed or until one fails."""
        with self._changed:
            while self._failure is None and not (self._closed and not self._pending):
                wait = None if self._due is None else self._due - monotonic()
                if not self._closed and (wait is None or wait > 0):
                    self._changed.wait(wait)
                    continue
                try:
                    files.append(self._path, self._compressor.compress(b"".join(self._pending)))
                except Exception as error:  # noqa: BLE001 - whatever it is, the other thread is told
                    self._failure = error
                else:
                    self._pending, self._size, self._due = [], 0, None
                self._changed.notify_all()
