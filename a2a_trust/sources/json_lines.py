"""Reading files of JSON lines: from where the last reading stopped, and never further than the last whole line.

A line that is not what it should be costs that line, never the file: stray bytes, lone surrogates, numbers that are
none, several records on a line. Nothing is guessed.
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from a2a_trust.facts import VALID_MS
from a2a_trust.sources import files
from a2a_trust.sources.base import LogFile, LogUnreadableError, Skips

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SUFFIX = ".jsonl"
LINE_LIMIT = 64 << 20
"""Bytes; longer lines are skipped."""
_SEGMENT = 8 << 20
"""Bytes of a file read at a time."""
_TAIL = 32
"""Bytes before the cursor that must still be there for a file to be the same one."""
_JSON = json.JSONDecoder(parse_constant=lambda _: None)
_BLANK = " \t\r\n\x00"

_TIME_LIMIT = 64
"""Characters of a time."""

T = TypeVar("T")


class LineError(Exception):
    """A line that cannot be used. `reason` is what the summary counts."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Place(Struct, array_like=True):
    """Where to go on in a file, and what stood just before."""

    offset: int = 0
    lines: int = 0
    tail: bytes = b""


class Line(NamedTuple):
    """A whole line without its end; `None` for one that is too long to be looked at."""

    number: int
    content: bytes | None


def discover(source: str, root: Path, is_log: Callable[[str], bool], skips: Skips) -> Iterator[list[LogFile]]:
    """Yield each file below a folder, or the file itself, that is a log of a source by its path. Each stands alone."""
    paths = [str(root)] if root.is_file() else sorted(files.walk(str(root), SUFFIX, skips))
    for path in paths:
        yield from _log_at(source, path, is_log, skips)


def around(source: str, path: Path, is_log: Callable[[str], bool], skips: Skips) -> Iterator[list[LogFile]]:
    """Yield a file if `discover` would find it in its folder."""
    if path.name.endswith(SUFFIX):
        yield from _log_at(source, str(path), is_log, skips)


def _log_at(source: str, path: str, is_log: Callable[[str], bool], skips: Skips) -> Iterator[list[LogFile]]:
    if is_log(path) and (state := files.stat_of(path, skips)) is not None:
        yield [
            LogFile(source=source, path=path, gen=0, size=state.st_size, mtime_ns=state.st_mtime_ns, inode=state.st_ino)
        ]


def open_log(log: LogFile) -> BinaryIO:
    """Open a log for reading. Raises `LogUnreadableError`."""
    try:
        return open(log.path, "rb")  # noqa: PTH123 - a path as text
    except OSError as error:
        reason = "log-unreadable"
        raise LogUnreadableError(reason, error.strerror or str(error)) from None


def stands_at(file: BinaryIO, place: Place) -> bool:
    """Tell whether a file still holds what stood before a place."""
    file.seek(max(0, place.offset - len(place.tail)))
    return file.read(len(place.tail)) == place.tail


def new_lines(file: BinaryIO, place: Place) -> Iterator[Line]:
    """Yield the whole lines behind a place, and move the place behind them."""
    file.seek(place.offset)
    held, too_long = b"", False
    while part := file.read(_SEGMENT):
        block = held + part
        *whole, held = block.split(b"\n")
        for content in whole:
            place.lines += 1
            place.offset += len(content) + 1
            yield Line(place.lines, None if too_long or len(content) > LINE_LIMIT else content)
            too_long = False
        if len(held) > LINE_LIMIT:
            place.offset += len(held)
            held, too_long = b"", True
    if too_long:
        # Its end has not been written yet: the next reading meets the whole line again.
        place.offset = _start_of_line(file, place.offset)
    file.seek(max(0, place.offset - _TAIL))
    place.tail = file.read(min(place.offset, _TAIL))


def _start_of_line(file: BinaryIO, offset: int) -> int:
    """Return where the line begins in which a byte stands."""
    while offset:
        start = max(0, offset - _SEGMENT)
        file.seek(start)
        found = file.read(offset - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        offset = start
    return 0


def parse(line: bytes | None, shape: type[T], decoder: msgspec.json.Decoder[T]) -> list[T]:
    """Return the records on a line: one, or more where line ends were lost. Raises `LineError`."""
    if line is None:
        reason = "line-too-long"
        raise LineError(reason)
    try:
        return [decoder.decode(line)]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return [_converted(record, shape) for record in scan(line)]


def _converted(record: Any, shape: type[T]) -> T:  # noqa: ANN401 - any JSON value
    try:
        return msgspec.convert(clean(record), shape)
    except (msgspec.ValidationError, RecursionError):
        reason = "wrong-shape"
        raise LineError(reason) from None


def scan(line: bytes) -> list[Any]:
    """Return the JSON values on a line. Raises `LineError` where anything on it is none."""
    text = line.decode("utf-8", "replace").strip(f"\ufeff{_BLANK}")
    records: list[Any] = []
    place = 0
    try:
        while not records or place < len(text):
            record, place = _JSON.raw_decode(text, place)
            records.append(record)
            while place < len(text) and text[place] in _BLANK:
                place += 1
    except (ValueError, RecursionError):
        reason = "malformed-line"
        raise LineError(reason) from None
    return records


def clean(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return a JSON value with every lone surrogate replaced, so that it can be hashed, stored and printed."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, list):
        return [clean(item) for item in value]
    if isinstance(value, dict):
        return {clean(key): clean(item) for key, item in value.items()}
    return value


def time_of(value: object) -> int:
    """Return a time in ms; a time without a zone is UTC. 0 for what is none."""
    if isinstance(value, str) and len(value) <= _TIME_LIMIT:
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return 0
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        try:
            milliseconds = round(moment.timestamp() * 1000)
        except (OverflowError, ValueError):
            return 0
        return milliseconds if milliseconds in VALID_MS else 0
    return value if type(value) is int and value in VALID_MS else 0


def seq_of(identity: str) -> int:
    """Return a number for an event, the same in each copy: by it the event's line is found again."""
    return int.from_bytes(hashlib.blake2b(identity.encode(), digest_size=6).digest(), "big")
