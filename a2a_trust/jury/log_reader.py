"""Reading the log of a jury run: every line checked against the one before it, whatever is wrong named by its line."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from a2a_trust.errors import JuryLogError, RunFolderError
from a2a_trust.sources.jury_events import EVENTS, LINES, LOG_NAME, NO_HASH, Event, RunEnded, RunOpened, chained
from a2a_trust.sources.zstd_frames import walk

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path


class Entry(NamedTuple):
    """One line of a log that was checked."""

    number: int
    """From 1."""
    hash: str
    event: Event


class Tail(NamedTuple):
    """What stands behind the last whole line: bytes [start, end) of the file, none where they are equal."""

    start: int
    end: int


class LogReader:
    """The lines of one log, or of the one in a folder, in order, once. `tail` is known when they are all read."""

    def __init__(self, place: Path) -> None:
        self.path = place / LOG_NAME if place.is_dir() else place
        self.tail = Tail(0, 0)
        self.finished = False
        """Whether the lines so far tell of a finished run."""
        self._number, self._hash, self._time = 0, NO_HASH, 0

    def entries(self) -> Generator[Entry]:
        """Yield the lines. Raises `JuryLogError` at the first that is not as it was written.

        Raises `RunFolderError` where there is no log, or none that can be read.
        """
        try:
            with self.path.open("rb") as file:
                for piece in walk(file, 0, runs=True):
                    if piece.last:
                        self.tail = Tail(piece.start, piece.end)
                    elif piece.damage:
                        raise self._damage(f"bytes {piece.start} to {piece.end} cannot be read ({piece.damage})")
                    else:
                        *lines, rest = piece.content.split(b"\n")
                        yield from map(self._entry, lines)
                        if rest:
                            raise self._damage(f"it is cut short, in the frame that ends with byte {piece.end}")
        except FileNotFoundError:
            raise RunFolderError(f"{self.path}: not there; expected the folder of a jury run") from None
        except OSError as error:
            raise RunFolderError(f"{self.path}: {error.strerror or error}; expected the log of a jury run") from None

    def whole(self) -> Iterator[Entry]:
        """Yield the lines of a log that must end with one. Raises also where something stands behind the last."""
        yield from self.entries()
        torn = self.tail.end - self.tail.start
        if torn:
            todo = (
                "restore the file from a copy" if self.finished else "a run that was killed leaves this: use --resume"
            )
            raise self._damage(f"{torn} bytes from byte {self.tail.start} on are no whole line; {todo}", todo="")

    def _entry(self, line: bytes) -> Entry:
        try:
            held = LINES.decode(line)
            event = EVENTS.decode(held.event)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise self._damage(f"not an event of a jury run: {error}") from None
        body = bytes(held.event)
        if chained(body, self._hash) != held.hash:
            raise self._damage(
                "its hash does not follow from the line before: one of the two was edited, moved or removed"
            )
        if line != b'{"hash":"%s","event":%s}' % (held.hash.encode(), body):
            raise self._damage("something was written around its event")
        if event.time < self._time:
            raise self._damage(f"its time {event.time} is before that of the line above, {self._time}")
        if isinstance(event, RunOpened) != (self._number == 0):
            raise self._damage("a run is opened by the first line, and by no other")
        self._number, self._hash, self._time = self._number + 1, held.hash, event.time
        self.finished = self.finished or (isinstance(event, RunEnded) and event.finished)
        return Entry(self._number, held.hash, event)

    def _damage(self, what: str, todo: str = "; restore the file from a copy") -> JuryLogError:
        return JuryLogError(f"{self.path}: line {self._number + 1}: {what}{todo}")


def read_lines(place: Path) -> Iterator[tuple[str, Event]]:
    """Yield hash and event of each line of a log, or of the one in a folder, in order.

    Raises `JuryLogError` naming the first line that is not as it was written, `RunFolderError` where there is no log.
    """
    for entry in LogReader(place).whole():
        yield entry.hash, entry.event


def read_events(place: Path) -> Iterator[Event]:
    """Yield the events of a log, or of the one in a folder, in order. Raises as `read_lines` does."""
    for entry in LogReader(place).whole():
        yield entry.event
