"""The folder of a jury run: whether it may be used, who uses it, and what a killed run left in it."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING, NamedTuple

import filelock

from a2a_trust.errors import RunFolderError
from a2a_trust.sources.jury_events import (
    LOG_NAME,
    NO_HASH,
    Condition,
    QuorumMissed,
    Resolved,
    RunEnded,
    RunOpened,
    RunResumed,
)
from a2a_trust.store import files
from a2a_trust.text import is_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from a2a_trust.jury.log_reader import Entry, Tail

_LOG = logging.getLogger("a2a_trust")
LOCK_NAME = "jury.lock"
_COPY_BYTES = 1 << 20
_SHOWN = 3
"""Files of a folder that a message names."""


class Recovery(NamedTuple):
    """What stood behind the last whole line when a run was gone on with, and where it was put."""

    bytes: int
    offset: int
    path: Path


class Known:
    """What is known of a log when all of it was read once."""

    def __init__(self, lines: Iterator[Entry]) -> None:
        self.opened: RunOpened | None = None
        self.lines, self.hash, self.time = 0, NO_HASH, 0
        self.epoch, self.finished = 0, False
        self.calls = 0
        """Calls that the run had made when it last ended."""
        self.missed: dict[tuple[str, Condition | None], list[int]] = {}
        """Epochs in which an item, or its panel of one condition, missed its quorum."""
        self.resolved: set[str] = set()
        for self.lines, self.hash, event in lines:
            self.time = event.time
            match event:
                case RunOpened():
                    self.opened = event
                case RunResumed():
                    self.epoch = event.epoch
                case RunEnded():
                    self.finished, self.calls = event.finished, event.calls
                case QuorumMissed():
                    self.missed.setdefault((event.item, event.condition), []).append(event.epoch)
                case Resolved():
                    self.resolved.add(event.key)
                case _:
                    pass


@contextlib.contextmanager
def told(folder: Path) -> Iterator[None]:
    """Tell of a folder that the system does not let us use. Raises `RunFolderError`."""
    try:
        yield
    except OSError as error:
        raise RunFolderError(
            f"{error.filename or folder}: {error.strerror or error}; expected a folder to write a run to"
        ) from None


@contextlib.contextmanager
def locked(folder: Path, seconds: float = 0.0) -> Iterator[filelock.BaseFileLock]:
    """Hold the lock of a folder; what is done under it may keep it by `ExitStack.pop_all`.

    Raises `RunFolderError` where another process holds it for longer than the seconds given.
    """
    lock = filelock.FileLock(folder / LOCK_NAME, timeout=seconds, mode=files.FILE_MODE)
    try:
        lock.acquire()
    except filelock.Timeout:
        raise RunFolderError(f"{folder}: another process is writing this run; wait until it is done") from None
    try:
        yield lock
    finally:
        lock.release()


def expect_text(folder: Path) -> None:
    """Refuse a folder whose name is no text: no view and no index could name it."""
    if not is_text(str(folder)):
        raise RunFolderError(f"{folder}: its name is no text; expected one that UTF-8 can hold: rename it")


def refuse_other_files(folder: Path) -> None:
    """Refuse a folder that holds something and no log: results of a run must not mix with anything."""
    found = sorted(path.name for path in folder.iterdir() if path.name != LOCK_NAME)
    if found and not any(name.startswith(LOG_NAME) for name in found):
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise RunFolderError(
            f"{folder}: holds {', '.join(found[:_SHOWN])}{more}, and no jury run; expected an empty folder: choose "
            "another --output-dir"
        )


def refuse_beginning(folder: Path, state: Known) -> None:
    """Refuse a folder that holds a run already."""
    if state.opened is not None:
        todo = "choose another --output-dir" + ("" if state.finished else ", or go on with that run: --resume")
        raise RunFolderError(
            f"{folder}: holds the {'finished' if state.finished else 'unfinished'} {state.opened.preset} run "
            f"{state.opened.run} with control fingerprint {state.opened.control[:12]}; a folder holds one run: {todo}"
        )


def refuse_resuming(folder: Path, state: Known) -> None:
    """Refuse a folder without a run, with a finished one, or with one that ended with no call left."""
    if state.opened is None:
        raise RunFolderError(f"{folder / LOG_NAME}: holds no whole line, so no run began; run without --resume")
    if state.finished:
        raise RunFolderError(f"{folder}: the run {state.opened.run} is finished; there is nothing to go on with")
    if state.calls >= state.opened.limits.max_calls:
        raise RunFolderError(
            f"{folder}: the run {state.opened.run} made the {state.calls} calls that it may make, so nobody can be "
            "asked again; begin anew with a greater --max-calls in another --output-dir"
        )


def set_aside(path: Path, tail: Tail) -> Recovery | None:
    """Move what stands behind the last whole line to a file of its own: durable there before it is cut here."""
    size = tail.end - tail.start
    if not size:
        return None
    numbers = range(1, 1_000_000)
    aside = next(p for p in (path.with_name(f"{path.name}.torn-{number}") for number in numbers) if not p.exists())
    with path.open("rb") as file:
        file.seek(tail.start)
        while data := file.read(_COPY_BYTES):
            files.append(aside, data)
    files.truncate(path, tail.start)
    # Nothing is set aside in silence.
    _LOG.warning(
        "%s: %d bytes from byte %d on are no whole line and are set aside as %s", path, size, tail.start, aside.name
    )
    return Recovery(size, tail.start, aside)
