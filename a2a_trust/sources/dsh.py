"""The source `dsh`: session logs of the DeepSeek Harness, format generations 0 to 4.

Finds logs, decodes them frame by frame, and turns the lines that can matter into facts. A torn last frame is the
normal state of a live log: its whole lines count, and are read again when the frame is whole. A damaged frame loses
that frame only. Nothing is ever written, and nothing is guessed: what is not understood is counted.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar

import msgspec
from msgspec import Struct

from a2a_trust import facts
from a2a_trust.sources import dsh_facts, dsh_lines, files, json_lines, zstd_frames
from a2a_trust.sources.base import LogFile, LogPart, LogUnreadableError, Reading, Skips

if TYPE_CHECKING:
    import os
    from collections.abc import Container, Iterable, Iterator, Mapping

NAME = "dsh"
KNOWN_GENERATIONS = range(5)
_LOG_NAME = re.compile(r"session(?:\.v([1-9][0-9]{0,3}))?\.jsonl(?:\.zstd?)?", re.ASCII)
_SEQ = re.compile(rb'\{"type":"[^"]*","seq":([0-9]{1,15})\b', re.ASCII)
_SEGMENT = 8 << 20
"""Bytes of a log read at a time."""
_HEADER_STEPS = (1 << 12, 1 << 20)
"""Bytes from the start of a log in which its header is looked for: mostly the first suffice."""
_TAIL = 32
"""Bytes before the cursor that must still be there for a log to be the same one."""
_LOST_LINE_END = re.compile(rb'\}[ \x00\t\r]*\{"type":"')
"""Two records on one line: inside a JSON text these bytes cannot stand."""
_USED, _INHERITED, _IRRELEVANT = "used", "inherited", "irrelevant"


class _Header(Struct, rename="camel"):
    """The first line of a log."""

    id: str
    type: str
    version: int
    created_at: Any = None
    cwd: str | None = None
    parent_session: str | None = None
    origin: str | None = None
    agent_preset: str | None = None
    seed_length: dsh_lines.Number | None = None
    is_seeded: bool | None = None


class _Cursor(Struct, array_like=True):
    """Where to go on in a log, and what the reader must remember of what it has read."""

    header: facts.LogHeader
    cut: int | None
    """First own seq; `None` while the end of the inherited history has not been read."""
    offset: int = 0
    lines: int = 0
    clock: int = 0
    tail: bytes = b""
    raw: bool = False
    rest: bytes = b""
    """Begin of a line that the next frame goes on with. The harness ends frames with lines; other writers may not."""
    foreign: bool = False
    """Behind a second header: two logs in one file, or one log twice."""


class DshSource:
    """Reader of DeepSeek Harness logs."""

    name: ClassVar[str] = NAME

    def default_roots(self, environ: Mapping[str, str]) -> list[Path]:
        """Return `$DSH_HOME/sessions`, else `~/.dsh/sessions`."""
        home = environ.get("DSH_HOME")
        return [(Path(home) if home else Path("~/.dsh").expanduser()) / "sessions"]

    def discover(self, root: Path, skips: Skips) -> Iterator[list[LogFile]]:
        """Yield the candidate logs of each session folder below `root`: known generations, the newest first."""
        if root.is_file():
            candidate = _log_file(str(root), root.name, skips)
            if candidate is not None:
                yield [candidate]
            return
        for found in files.folders(str(root), skips):
            yield from _candidates(found, skips)

    def around(self, path: Path, skips: Skips) -> Iterator[list[LogFile]]:
        """Yield the candidate logs of the session folder that a log stands in."""
        if _LOG_NAME.fullmatch(path.name):
            yield from _candidates(files.entries(str(path.parent), skips), skips)

    def header(self, log: LogFile) -> facts.LogHeader:
        """Return who wrote a log."""
        with json_lines.open_log(log) as file:
            return _read_header(log, file).header

    def read(self, log: LogFile, cursor: bytes | None) -> Reading:
        """Read a log from a cursor, or from its start."""
        return _LogReader(log, cursor).read()

    def locate(self, log: LogFile, seqs: Container[int]) -> dict[int, tuple[int | None, int]]:
        """Find events by their seq: frame and line of each."""
        found: dict[int, tuple[int | None, int]] = {}
        number = 0
        with json_lines.open_log(log) as file:
            raw = _read_header(log, file).raw
            file.seek(0)
            blocks = (
                ((None, line) for line in file) if raw else ((p.start, p.content) for p in zstd_frames.walk(file, 0))
            )
            for start, block in blocks:
                for line in block.rstrip(b"\n").split(b"\n") if block else ():
                    number += 1
                    match = _SEQ.match(line)
                    if match and (seq := int(match[1])) in seqs:
                        found[seq] = (start, number)
        return found

    def classify(self, tool: str, failure: facts.Failure, refused: bool) -> str | None:  # noqa: FBT001 - Classifier
        """Return the reason why nobody is to blame for a failed call."""
        return dsh_facts.classify(tool, failure, refused)


def _candidates(found: Iterable[os.DirEntry[str]], skips: Skips) -> Iterator[list[LogFile]]:
    """Yield the logs among the entries of a folder, if there are any."""
    named = [entry for entry in found if entry.name.startswith("session")]
    candidates = [log for entry in named if (log := _log_file(entry.path, entry.name, skips))]
    if candidates:
        yield sorted(candidates, key=lambda log: (-log.gen, -log.size, log.path))


def _log_file(path: str, name: str, skips: Skips) -> LogFile | None:
    """Return a log by its file name; count one of a generation that this version does not know."""
    match = _LOG_NAME.fullmatch(name)
    if match is None:
        return None
    gen = int(match[1] or 0)
    if gen not in KNOWN_GENERATIONS:
        skips.add("newer-format", path)
        return None
    found = files.stat_of(path, skips)
    if found is None:
        return None
    return LogFile(source=NAME, path=path, gen=gen, size=found.st_size, mtime_ns=found.st_mtime_ns, inode=found.st_ino)


def _first_line(file: BinaryIO) -> tuple[bytes, bool]:
    """Return the first line of a log, and whether the log is not compressed. Raises `LogUnreadableError`."""
    line, raw = b"", False
    for limit in _HEADER_STEPS:
        try:
            file.seek(0)
            data = file.read(limit)
        except OSError as error:
            raise LogUnreadableError("log-unreadable", error.strerror or str(error)) from None
        if not data:
            raise LogUnreadableError("header-unreadable", "the file is empty")
        raw = data[:4] != zstd_frames.MAGIC and int.from_bytes(data[:4], "little") not in zstd_frames.SKIPPABLE
        try:
            frame = None if raw else zstd_frames.frame_at(data, 0)
            content = data if raw else b"" if frame is None else zstd_frames.decode(data, frame)
        except zstd_frames.FrameError as error:
            raise LogUnreadableError("header-unreadable", f"first frame: {error}") from None
        line, newline, _ = content.partition(b"\n")
        if newline or len(data) < limit or frame is not None:
            break
    return line, raw


def _read_header(log: LogFile, file: BinaryIO) -> _Cursor:
    """Make the cursor for the start of a log from its first bytes."""
    line, raw = _first_line(file)
    reason = "header-unreadable"
    line = line.removeprefix(b"\xef\xbb\xbf")
    try:
        header = msgspec.json.decode(line, type=_Header)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        try:
            header = msgspec.convert(json_lines.clean(msgspec.json.decode(line)), _Header)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise LogUnreadableError(reason, "the first line is no session header") from None
    if header.type != "session" or not header.id:
        raise LogUnreadableError(reason, "the first line is no session header")
    if header.version not in KNOWN_GENERATIONS:
        raise LogUnreadableError("unknown-version", f"version {header.version}, known up to {KNOWN_GENERATIONS[-1]}")
    created = header.created_at if _is_time(header.created_at) else 0
    seeded = bool(header.is_seeded) or bool(header.seed_length)
    log_header = facts.LogHeader(
        source=NAME,
        session=header.id,
        gen=log.gen,
        created=created,
        parent=header.parent_session or "",
        subagent=header.origin == "subagent",
        preset=header.agent_preset or "",
        cwd=header.cwd or "",
        seeded=seeded,
    )
    cut = None if header.is_seeded else max(0, header.seed_length or 0)
    return _Cursor(header=log_header, cut=cut, raw=raw)


def _is_time(value: object) -> bool:
    return type(value) is int and value in facts.VALID_MS


class _LogReader:
    """One reading of one log: from bytes to lines to facts."""

    def __init__(self, log: LogFile, cursor: bytes | None) -> None:
        self._log = log
        self._given = msgspec.msgpack.decode(cursor, type=_Cursor) if cursor else None

    def read(self) -> Reading:
        with json_lines.open_log(self._log) as file:
            try:
                return self._read(file)
            except OSError as error:
                reason = "log-unreadable"
                raise LogUnreadableError(reason, error.strerror or str(error)) from None

    def _read(self, file: BinaryIO) -> Reading:
        cursor = self._given
        if cursor is not None and not _stands_at(file, cursor):
            cursor = None
        restarted = self._given is not None and cursor is None
        if cursor is None:
            file.seek(0)
            cursor = _read_header(self._log, file)
        self._cursor = cursor
        self._seeking = cursor.cut is None
        self._reading = Reading(logs=[LogPart(header=cursor.header)], cursor=b"", restarted=restarted)
        self._part = self._reading.logs[0]
        self._where = dsh_facts.Where(cursor.header.session, 0, dated=False)
        file.seek(cursor.offset)
        if cursor.raw:
            self._read_raw(file)
        else:
            self._read_frames(file)
        self._reading.total_lines = self._cursor.lines
        if self._cursor.cut is None:
            self._reading.skips.add("seed-boundary-lost", self._log.path)
        return self._reading

    # ------------------------------------------------------------------ bytes to lines

    def _read_frames(self, file: BinaryIO) -> None:
        cursor, reading, start = self._cursor, self._reading, self._cursor.offset
        offset = start
        if cursor.cut is None:
            # A seed and the mark behind it stand in one frame, so frames are taken one by one until it was met.
            for piece in zstd_frames.walk(file, offset):
                self._take_piece(piece, file)
                offset = piece.end
                reading.bytes_read = offset - start
                if piece.last:
                    return
                if not self._seeking:
                    break
            file.seek(offset)
        for piece in zstd_frames.walk(file, offset, runs=True):
            self._take_piece(piece, file)
            reading.bytes_read = piece.end - start

    def _take_piece(self, piece: zstd_frames.Piece, file: BinaryIO) -> None:
        cursor, reading = self._cursor, self._reading
        if piece.damage:
            reading.skips.add("damaged-frame", f"{self._log.path}: frame at byte {piece.start}: {piece.damage}")
            if not piece.last:
                cursor.rest = b""
        content = cursor.rest + piece.content
        whole = content.rfind(b"\n") + 1
        if not piece.last:
            cursor.rest = content[whole:]
            self._take(content[:whole], self._part.facts)
            return
        self._commit(file, piece.start)
        unsure, used = cursor.cut is None, reading.used
        self._take(content[:whole], self._part.torn_facts)
        if unsure:
            # As long as a seed is torn it is not known where it ends.
            reading.inherited += reading.used - used
            reading.used = used
            self._part.torn_facts.clear()

    def _read_raw(self, file: BinaryIO) -> None:
        reading, start = self._reading, self._cursor.offset
        offset, held, too_long = start, b"", False
        while part := file.read(_SEGMENT):
            reading.bytes_read += len(part)
            head, newline, rest = part.rpartition(b"\n")
            if not newline:
                held, too_long = (b"", True) if too_long or len(held) > json_lines.LINE_LIMIT else (held + part, False)
                continue
            block = held + head + newline
            if too_long:
                reading.lines += 1
                reading.skips.add("line-too-long", f"{self._log.path}: line {self._cursor.lines + 1}")
                block = block.partition(b"\n")[2]
            self._take(block, self._part.facts)
            held, too_long = rest, False
            offset = start + reading.bytes_read - len(rest)
        self._commit(file, offset)

    def _commit(self, file: BinaryIO, offset: int) -> None:
        """Put the cursor behind what has been read for good; what is read after this is read again."""
        cursor = self._cursor
        cursor.offset = offset
        file.seek(max(0, offset - _TAIL))
        cursor.tail = file.read(min(offset, _TAIL))
        self._reading.cursor = msgspec.msgpack.encode(cursor)

    # ------------------------------------------------------------------ lines to facts

    def _take(self, block: bytes, into: list[facts.AnyFact]) -> None:
        """Read whole lines, each into exactly one count."""
        if _LOST_LINE_END.search(block):
            block = _LOST_LINE_END.sub(b'}\n{"type":"', block)
        lines = block.split(b"\n")
        if not lines[-1]:
            lines.pop()
        cursor, reading = self._cursor, self._reading
        kept = dsh_lines.worth_a_look(lines)
        reading.lines += len(lines)
        reading.irrelevant += len(lines) - len(kept)
        before = cursor.lines
        for index, line in kept:
            cursor.lines = before + index + 1
            try:
                uses = self._take_line(line, into)
            except json_lines.LineError as error:
                reading.skips.add(error.reason, f"{self._log.path}: line {cursor.lines}")
                continue
            if _USED in uses:
                reading.used += 1
            elif _INHERITED in uses:
                reading.inherited += 1
            else:
                reading.irrelevant += 1
        cursor.lines = before + len(lines)
        self._seeking = cursor.cut is None

    def _take_line(self, line: bytes, into: list[facts.AnyFact]) -> tuple[str, ...]:
        """Add the facts of the events on a line, and tell what each was good for. Raises `LineError`."""
        if not dsh_lines.can_matter(line):
            return ()
        events = dsh_lines.parse(line)
        if len(events) == 1:
            return (self._take_event(events[0], into),)
        return tuple([self._take_event(event, into) for event in events])

    def _take_event(self, event: dsh_lines.AnyLine, into: list[facts.AnyFact]) -> str:
        """Add the facts of an event, and tell what it was good for."""
        cursor = self._cursor
        if isinstance(event, dsh_lines.SessionHeader) or cursor.foreign:
            return self._take_header(event)
        clocked = type(event) in dsh_lines.CLOCKED
        if clocked and type(event.time) is int and event.time > cursor.clock and event.time in facts.VALID_MS:
            cursor.clock = event.time
        if self._seeking and isinstance(event, dsh_lines.EndSeed) and event.inherited:
            # Marks of the parent may stand in the seed: in one batch the last mark counts, and what is before it is a
            # copy. A mark in a later batch takes nothing back.
            reading = self._reading
            reading.inherited += reading.used
            reading.used = reading.undated = 0
            into.clear()
            cursor.cut = event.seq + 1
            return _INHERITED
        if cursor.cut is None or event.seq < cursor.cut:
            return _INHERITED
        where = self._where
        where.time, where.dated = cursor.clock or cursor.header.created, cursor.clock > 0
        found = dsh_facts.facts_of(event, where)
        if not found:
            return _IRRELEVANT
        into.extend(found)
        if clocked and not where.dated:
            self._reading.undated += 1
        return _USED

    def _take_header(self, event: dsh_lines.AnyLine) -> str:
        """Take a header, or what follows a second one: it belongs to another log. Raises `LineError` for both."""
        cursor = self._cursor
        if isinstance(event, dsh_lines.SessionHeader):
            cursor.foreign = cursor.lines > 1
        if cursor.foreign:
            raise json_lines.LineError("other-session")
        return _IRRELEVANT


def _stands_at(file: BinaryIO, cursor: _Cursor) -> bool:
    """Tell whether a log still holds what stood before the cursor."""
    file.seek(max(0, cursor.offset - len(cursor.tail)))
    return file.read(len(cursor.tail)) == cursor.tail
