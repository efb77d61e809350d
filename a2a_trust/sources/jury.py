"""The source `jury`: the logs of jury runs, each with a session for everybody who took part.

A log is a chain, and what it says is worth what the chain is: from the first line on that does not hang on the line
before it nothing is evidence. A torn last frame is the normal state of a run that goes on. It is left until it is
whole: where the run was killed, going on with it sets the frame aside and asks again. Nothing is ever written.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, ClassVar, TypeVar

import msgspec
from msgspec import Struct, field

from a2a_trust import facts
from a2a_trust.sources import files, json_lines, zstd_frames
from a2a_trust.sources import jury_events as events
from a2a_trust.sources.base import LogFile, LogPart, LogUnreadableError, Reading, Skips
from a2a_trust.sources.jury_facts import Memory, Teller, header_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

_TAIL = 32
"""Bytes before the cursor that must still be there for a log to be the same one."""


T = TypeVar("T")


class _Cursor(Struct, array_like=True):
    """Where to go on in a log, and what must be remembered of it."""

    offset: int = 0
    lines: int = 0
    tail: bytes = b""
    rest: bytes = b""
    """Begin of a line that the next frame goes on with. The engine ends frames with lines."""
    hash: str = events.NO_HASH
    """Of the last line of the chain."""
    broken: bool = False
    memory: Memory = field(default_factory=Memory)


class _Tag(Struct):
    """As much of an event as tells whether this version knows it."""

    type: str
    v: int = events.VERSION


_CURSORS = msgspec.msgpack.Decoder(_Cursor)
_TAGS = msgspec.json.Decoder(_Tag)


class JurySource:
    """Reader of the logs of jury runs."""

    name: ClassVar[str] = events.NAME

    def default_roots(self, environ: Mapping[str, str]) -> list[Path]:
        """Return `$A2A_TRUST_JURIES`, else `~/.a2a-trust-juries`."""
        folder = environ.get("A2A_TRUST_JURIES")
        return [Path(folder) if folder else Path("~/.a2a-trust-juries").expanduser()]

    def discover(self, root: Path, skips: Skips) -> Iterator[list[LogFile]]:
        """Yield the log of each run below a folder. Copies are read too: an event counts once."""
        paths = [str(root)] if root.is_file() else sorted(files.walk(str(root), events.LOG_NAME, skips))
        for path in paths:
            if os.path.basename(path) != events.LOG_NAME:  # noqa: PTH119 - a path as text
                continue
            state = files.stat_of(path, skips)
            if state is not None:
                yield [
                    LogFile(
                        source=self.name,
                        path=path,
                        gen=0,
                        size=state.st_size,
                        mtime_ns=state.st_mtime_ns,
                        inode=state.st_ino,
                    )
                ]

    def around(self, path: Path, skips: Skips) -> Iterator[list[LogFile]]:
        """Yield a file that `discover` would find."""
        if path.is_file():
            yield from self.discover(path, skips)

    def header(self, log: LogFile) -> facts.LogHeader:
        """Return the file's key, its path: a run has a session for everybody in it."""
        return facts.LogHeader(source=self.name, session=f"{self.name}:{log.path}", gen=0, created=0)

    def read(self, log: LogFile, cursor: bytes | None) -> Reading:
        """Read a log from a cursor, or from its start."""
        given = _CURSORS.decode(cursor) if cursor else None
        with json_lines.open_log(log) as file:
            try:
                kept = given is not None and _stands_at(file, given)
                reader = _LogReader(log.path, given if given is not None and kept else _Cursor())
                reader.read(file)
            except OSError as error:
                reason = "log-unreadable"
                raise LogUnreadableError(reason, error.strerror or str(error)) from None
        reader.reading.restarted = given is not None and not kept
        return reader.reading

    def locate(self, log: LogFile, seqs: Container[int]) -> dict[int, tuple[int | None, int]]:
        """Find events by the number that their names give: frame and line of each."""
        with json_lines.open_log(log) as file:
            reader = _LogReader(log.path, _Cursor(), seqs)
            reader.read(file)
        return reader.places

    def classify(self, tool: str, failure: facts.Failure, refused: bool) -> str | None:  # noqa: ARG002, FBT001 - Source
        """Return nothing: no tool is called in a run."""
        return None


class _LogReader:
    """One reading of one log: from bytes to lines to facts. With `seqs`, it also notes where these come from."""

    def __init__(self, path: str, cursor: _Cursor, seqs: Container[int] | None = None) -> None:
        self.reading = Reading(logs=[], cursor=b"", restarted=False)
        self.places: dict[int, tuple[int | None, int]] = {}
        self._path = path
        self._cursor = cursor
        self._seqs = seqs
        self._teller = Teller(cursor.memory)

    def read(self, file: BinaryIO) -> None:
        """Read all that stands behind the cursor."""
        start = self._cursor.offset
        file.seek(start)
        # A frame is found again by its start, so that where lines are looked for frames come one by one.
        for piece in zstd_frames.walk(file, start, runs=self._seqs is None):
            self._take_piece(piece, file)
        run = self._cursor.memory.run
        self.reading.logs = [
            LogPart(header=header_of(run, seat), facts=told) for seat, told in self._teller.told.items()
        ]
        self.reading.bytes_read = self._cursor.offset - start
        self.reading.total_lines = self._cursor.lines
        if self._teller.excused:
            self.reading.skips.add("infrastructure", self._path, self._teller.excused)

    def _take_piece(self, piece: zstd_frames.Piece, file: BinaryIO) -> None:
        cursor = self._cursor
        if piece.damage:
            self.reading.skips.add("damaged-frame", f"{self._path}: frame at byte {piece.start}: {piece.damage}")
        if piece.last:
            self._commit(file, piece.start)
            return
        content = b"" if piece.damage else cursor.rest + piece.content
        whole = content.rfind(b"\n") + 1
        cursor.rest = content[whole:]
        for line in content[:whole].split(b"\n")[:-1]:
            cursor.lines += 1
            self._take(line, piece.start)

    def _commit(self, file: BinaryIO, offset: int) -> None:
        """Put the cursor behind the last whole frame."""
        cursor = self._cursor
        cursor.offset = offset
        file.seek(max(0, offset - _TAIL))
        cursor.tail = file.read(min(offset, _TAIL))
        self.reading.cursor = msgspec.msgpack.encode(cursor)

    def _take(self, line: bytes, frame: int) -> None:
        """Read a line into exactly one count."""
        reading, memory = self.reading, self._cursor.memory
        reading.lines += 1
        try:
            used = self._teller.take(self._event_of(line))
        except json_lines.LineError as error:
            reading.skips.add(error.reason, f"{self._path}: line {self._cursor.lines}")
            return
        reading.used += used
        reading.irrelevant += not used
        reading.undated += used and not memory.clock
        if self._seqs is not None:
            for seq in self._teller.named:
                if seq in self._seqs:
                    self.places.setdefault(seq, (frame, self._cursor.lines))
            self._teller.named.clear()

    def _event_of(self, line: bytes) -> events.Event:
        """Return the event on a line of the chain. Raises `LineError`."""
        cursor = self._cursor
        if cursor.broken:
            raise json_lines.LineError("chain-broken")
        if len(line) > json_lines.LINE_LIMIT:
            raise json_lines.LineError("line-too-long")
        found = _decoded(line, events.LINES)
        if found.hash != events.chained(found.event, cursor.hash):
            cursor.broken = True
            raise json_lines.LineError("chain-broken")
        cursor.hash = found.hash
        try:
            return _decoded(found.event, events.EVENTS)
        except json_lines.LineError as error:
            raise _unknown(found.event) or error from None


def _decoded(data: bytes | msgspec.Raw, decoder: msgspec.json.Decoder[T]) -> T:
    """Decode a line, or the event on it. Raises `LineError`."""
    try:
        return decoder.decode(data)
    except msgspec.ValidationError:
        raise json_lines.LineError("wrong-shape") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise json_lines.LineError("malformed-line") from None


def _unknown(event: msgspec.Raw) -> json_lines.LineError | None:
    """Return why this version does not know an event, `None` where it should."""
    try:
        tag = _TAGS.decode(event)
    except msgspec.DecodeError:
        return None
    if tag.v > events.VERSION:
        return json_lines.LineError("newer-event")
    return None if tag.type in events.TYPES else json_lines.LineError("unknown-type")


def _stands_at(file: BinaryIO, cursor: _Cursor) -> bool:
    """Tell whether a log still holds what stood before the cursor."""
    file.seek(max(0, cursor.offset - len(cursor.tail)))
    return file.read(len(cursor.tail)) == cursor.tail
