"""Zstandard frames one by one: where each begins and ends, and what it holds.

A log is a row of independent frames, and its last one may be torn. The one-shot calls of zstd libraries read one frame
and stop, their streams do not tell a torn frame from the end; so frames are walked here by their headers (RFC 8878,
section 3.1.1) and handed to the decoder whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import zstandard

if TYPE_CHECKING:
    from collections.abc import Iterator

MAGIC = b"\x28\xb5\x2f\xfd"
SKIPPABLE = range(0x184D2A50, 0x184D2A60)
FRAME_OUTPUT_LIMIT = 1 << 30
"""Bytes that one frame may hold; more is a bomb."""
_BLOCK_LIMIT = 128 << 10
"""A block holds at most this many bytes (RFC 8878, section 3.1.1.2.4)."""
_BOUND_OF_ONE_CALL = 64 << 20
_STEP = 1 << 20
_TORN_STEP = 1 << 14
_RUN_OUTPUT_LIMIT = 64 << 20
"""Bytes that frames decoded in one go may hold; beyond, they are decoded one by one."""
_SEGMENT = 1 << 18
"""Bytes of a log read at a time."""
_FRAME_LIMIT = 256 << 20
"""Bytes of a frame on disk; a longer one is taken for damage."""
_SKIPPABLE_HEAD = 8
_RLE, _RESERVED = 1, 3
_DECOMPRESSOR = zstandard.ZstdDecompressor(max_window_size=1 << 27)
"""One context a process: making one costs more than a small frame. It must not be shared between threads."""


class FrameError(Exception):
    """Bytes that are no frame, or a frame that cannot be decoded. The message says why."""


class FrameTooLargeError(FrameError):
    """A frame that would hold more than `FRAME_OUTPUT_LIMIT` bytes."""


class Frame(NamedTuple):
    """A whole frame's place in the data, [start, end), and the most that it can hold, in bytes."""

    start: int
    end: int
    bound: int


class Piece(NamedTuple):
    """A stretch of a log, [start, end) in bytes from its beginning: a frame, or what is damaged between frames."""

    start: int
    end: int
    content: bytes
    damage: str = ""
    """Why nothing of it could be read; empty for a sound frame."""
    last: bool = False
    """What stands behind the last whole frame: `content` is what could be read of it."""


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def walk(file: _Readable, offset: int, *, runs: bool = False) -> Iterator[Piece]:
    """Yield the frames of a log from a frame boundary on, ending with what stands behind the last whole frame.

    A damaged frame is a piece of its own; where its length cannot be trusted, it ends at the next sound frame. A
    damaged frame at the very end is part of the last piece, since its writer may still replace it. With `runs`, sound
    frames that follow each other may come as one piece, which is several times faster where frames are small.
    """
    data, place, ended, single_until = b"", 0, False, 0
    while True:
        if runs and place >= single_until:
            run = _run_of_frames(data, place)
            if run is not None:
                yield Piece(offset + place, offset + run[0], run[1])
                place = run[0]
                continue
            single_until = len(data)
        frame, damage = None, ""
        try:
            frame = frame_at(data, place) if place < len(data) else None
            if frame is not None:
                content = decode(data, frame)
                yield Piece(offset + frame.start, offset + frame.end, content)
                place = frame.end
                continue
        except FrameError as error:
            damage = str(error)
        following = next_frame(data, place + 1) if damage or ended or len(data) - place > _FRAME_LIMIT else None
        if following is None and damage and ended:
            following = _torn_frame(data, place + 1)
        if following is not None:
            yield Piece(offset + place, offset + following, b"", damage or "its length is wrong")
            place = following
        elif ended:
            rest = data[place:]
            yield Piece(offset + place, offset + len(data), b"" if damage else decode_torn(rest), damage, last=True)
            return
        else:
            more = file.read(max(_SEGMENT, len(data) - place))
            ended = not more
            data, offset, place, single_until = data[place:] + more, offset + place, 0, 0


def _run_of_frames(data: bytes, start: int) -> tuple[int, bytes] | None:
    """Decode all whole frames from a boundary on in one go: where they end, and what they hold.

    The last frame is found by its magic number and decoded by itself: that what was decoded in one go ends with just
    its content shows that both began at true boundaries. `None` where anything is not as it should be.
    """
    last = data.rfind(MAGIC, start)
    try:
        frame = frame_at(data, last) if last > start else None
        if frame is None and last > start:
            before = data.rfind(MAGIC, start, last)
            frame = frame_at(data, before) if before > start else None
            if frame is None or frame.end != last:
                return None
        if frame is None or not MAGIC.startswith(data[frame.end : frame.end + 4]):
            return None
        ending = decode(data, frame)
        content = _stream(memoryview(data)[start : frame.end], _RUN_OUTPUT_LIMIT)
    except FrameError:
        return None
    return (frame.end, content) if ending and content.endswith(ending) else None


def frame_at(data: bytes, start: int) -> Frame | None:
    """Return the frame that begins at `start`, `None` where the data ends before the frame does.

    Raises `FrameError` if there is no frame at `start`.
    """
    size = len(data)
    magic = data[start : start + 4]
    if magic != MAGIC:
        return _not_a_frame(data, start, magic)
    if start + 5 > size:
        return None
    descriptor = data[start + 4]
    single_segment = descriptor >> 5 & 1
    dictionary_size = (0, 1, 2, 4)[descriptor & 3]
    content_size = (single_segment, 2, 4, 8)[descriptor >> 6]
    place = start + 5 + (not single_segment) + dictionary_size + content_size
    bound = 0
    while place + 3 <= size:
        block = data[place] | data[place + 1] << 8 | data[place + 2] << 16
        kind = block >> 1 & 3
        if kind == _RESERVED:
            raise FrameError("reserved block type")
        place += 3 + (1 if kind == _RLE else block >> 3)
        bound += _BLOCK_LIMIT
        if block & 1:
            place += 4 * (descriptor >> 2 & 1)
            return Frame(start, place, bound) if place <= size else None
    return None


def _not_a_frame(data: bytes, start: int, magic: bytes) -> Frame | None:
    """Return a skippable frame, `None` at the very end of the data; raise for anything else."""
    if len(magic) < len(MAGIC) and MAGIC.startswith(magic):
        return None
    if int.from_bytes(magic, "little") not in SKIPPABLE:
        raise FrameError("no frame")
    head = data[start : start + _SKIPPABLE_HEAD]
    end = start + _SKIPPABLE_HEAD + int.from_bytes(head[4:], "little")
    return Frame(start, end, 0) if len(head) == _SKIPPABLE_HEAD and end <= len(data) else None


def decode(data: bytes, frame: Frame) -> bytes:
    """Return what a whole frame holds.

    Raises `FrameTooLargeError` beyond `FRAME_OUTPUT_LIMIT` bytes, `FrameError` where the frame is damaged (its
    checksum included).
    """
    if frame.bound == 0:
        return b""
    content = data[frame.start : frame.end]
    if frame.bound > _BOUND_OF_ONE_CALL:
        return _stream(content, FRAME_OUTPUT_LIMIT)
    decoder = _DECOMPRESSOR.decompressobj()
    try:
        held = decoder.decompress(content)
    except (zstandard.ZstdError, MemoryError) as error:
        raise FrameError(str(error)) from None
    if not decoder.eof:
        raise FrameError("the frame ends too early")
    return held


def decode_torn(data: bytes) -> bytes:
    """Return what can be read of a frame whose end is missing."""
    try:
        return _stream(data, FRAME_OUTPUT_LIMIT, torn=True)
    except FrameTooLargeError:
        return b""


def _stream(data: bytes | memoryview, limit: int, *, torn: bool = False) -> bytes:
    """Decode in bounded steps, so that a bomb is met before it fills the memory."""
    parts: list[bytes] = []
    held = 0
    reader = _DECOMPRESSOR.stream_reader(data, read_across_frames=not torn)
    try:
        while part := reader.read(_TORN_STEP if torn else _STEP):
            parts.append(part)
            held += len(part)
            if held > limit:
                raise FrameTooLargeError(f"would hold more than {limit} bytes")
    except (zstandard.ZstdError, MemoryError) as error:
        if not torn:
            raise FrameError(str(error)) from None
    return b"".join(parts)


def _torn_frame(data: bytes, start: int) -> int | None:
    """Return where a last, torn frame begins behind a damaged place: a magic number and content that can be read."""
    place = data.find(MAGIC, start)
    while place >= 0:
        try:
            if frame_at(data, place) is None and decode_torn(data[place:]):
                return place
        except FrameError:
            pass
        place = data.find(MAGIC, place + 1)
    return None


def next_frame(data: bytes, start: int) -> int | None:
    """Return where the next frame behind a damaged place begins: a magic number, a walk to the end, sound content."""
    place = data.find(MAGIC, start)
    while place >= 0:
        try:
            frame = frame_at(data, place)
            if frame is not None:
                decode(data, frame)
                return place
        except FrameTooLargeError:
            return place
        except FrameError:
            pass
        place = data.find(MAGIC, place + 1)
    return None
