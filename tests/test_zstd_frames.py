"""Frames are found where they are, damage costs the frame it is in, and no frame fills the memory."""

from __future__ import annotations

import hashlib
import io
import tracemalloc
from itertools import accumulate
from typing import TYPE_CHECKING

import dshlog
import pytest
import zstandard
from homes import FIXTURES, LOG_GLOB
from hypothesis import given
from hypothesis import strategies as st

from a2a_trust.sources import zstd_frames
from a2a_trust.sources.zstd_frames import (
    MAGIC,
    Frame,
    FrameError,
    FrameTooLargeError,
    Piece,
    decode,
    decode_torn,
    frame_at,
    next_frame,
    walk,
)

if TYPE_CHECKING:
    from pathlib import Path

REAL_LOGS = [path for path in sorted(FIXTURES.rglob(LOG_GLOB)) if path.suffix == ".zstd"]
MODULE = "a2a_trust.sources.zstd_frames"
CHECKSUM = 4
BLOCK = 128 << 10
SKIPPABLE = bytes.fromhex("5a2a4d18") + (5).to_bytes(4, "little") + b"skip!"

both_ways = pytest.mark.parametrize("runs", [False, True], ids=["one-by-one", "in-runs"])


def relative(path: Path) -> str:
    """The place of a fixture, as the name of a test."""
    return f"{path.relative_to(FIXTURES).parts[0]}/{path.parent.name}/{path.name}"


def noise(size: int, seed: int = 0) -> bytes:
    """Bytes that do not compress, the same each time."""
    blocks = (hashlib.sha256(b"%d %d" % (seed, number)).digest() for number in range(size // 32 + 1))
    return b"".join(blocks)[:size]


CONTENTS = [
    b"".join(
        b'{"type":"tool/call","seq":%d,"data":{"callId":"%s"}}\n' % (seq, noise(8, seq).hex().encode())
        for seq in range(first, first + 3)
    )
    for first in range(0, 18, 3)
]
FRAMES = [dshlog.frame([content]) for content in CONTENTS]
LOG = b"".join(FRAMES)
STARTS = [0, *accumulate(map(len, FRAMES))]


def rle_bomb(blocks: int) -> bytes:
    """A frame of four bytes a block, each of which holds 128 KiB of one byte."""
    middle, last = ((BLOCK << 3 | 1 << 1 | is_last).to_bytes(3, "little") + b"\0" for is_last in (0, 1))
    return MAGIC + b"\x00\x58" + middle * (blocks - 1) + last


def pieces_of(data: bytes, *, runs: bool = False, offset: int = 0) -> list[Piece]:
    """What a walk gives, checked to cover the data without a gap and to end once."""
    pieces = list(walk(io.BytesIO(data), offset, runs=runs))
    assert [piece.start for piece in pieces] == [offset, *(piece.end for piece in pieces[:-1])]
    assert pieces[-1].end == offset + len(data)
    assert [piece.last for piece in pieces] == [False] * (len(pieces) - 1) + [True]
    return pieces


def content_of(pieces: list[Piece]) -> bytes:
    """All that a walk read."""
    return b"".join(piece.content for piece in pieces)


def damage_in(pieces: list[Piece]) -> list[tuple[int, int]]:
    """Where a walk met damage."""
    return [(piece.start, piece.end) for piece in pieces if piece.damage]


# ------------------------------------------------------------------ sound logs


@pytest.mark.parametrize("path", REAL_LOGS, ids=relative)
def test_every_frame_of_a_real_log_is_found(path: Path) -> None:
    """The frames of a log are those that the decoder itself sees, one by one, and the last may be torn."""
    data = path.read_bytes()
    expected = dshlog.frames(data)
    if dshlog.is_whole(expected[-1]):
        expected.append(b"")
    pieces = pieces_of(data)
    assert [data[piece.start : piece.end] for piece in pieces] == expected
    assert [piece.content for piece in pieces] == [dshlog.decode(frame) for frame in expected]
    assert damage_in(pieces) == []


@pytest.mark.parametrize("path", REAL_LOGS, ids=relative)
def test_runs_of_frames_hold_what_the_frames_hold(path: Path) -> None:
    """Decoded in one go, frames end where they end one by one and hold the same."""
    data = path.read_bytes()
    one_by_one, runs = pieces_of(data), pieces_of(data, runs=True)
    assert content_of(runs) == content_of(one_by_one)
    assert {piece.end for piece in runs} <= {piece.end for piece in one_by_one}
    assert runs[-1] == one_by_one[-1]


@both_ways
@pytest.mark.parametrize("segment", [1, 7, 100, 1000])
def test_the_size_of_the_parts_read_changes_nothing(monkeypatch: pytest.MonkeyPatch, segment: int, runs: bool) -> None:  # noqa: FBT001
    """However much of a log is read at a time, the same comes out."""
    data = LOG + FRAMES[0][:-9]
    expected = pieces_of(data, runs=runs)
    monkeypatch.setattr(f"{MODULE}._SEGMENT", segment)
    pieces = pieces_of(data, runs=runs)
    assert (content_of(pieces), pieces[-1]) == (content_of(expected), expected[-1])


@both_ways
@pytest.mark.parametrize("first", range(len(STARTS)))
def test_a_walk_goes_on_from_any_boundary(first: int, runs: bool) -> None:  # noqa: FBT001
    """From a boundary on, places are counted from the beginning of the log."""
    start = STARTS[first]
    pieces = pieces_of(LOG[start:], runs=runs, offset=start)
    assert content_of(pieces) == b"".join(CONTENTS[first:])
    assert pieces[-1] == Piece(len(LOG), len(LOG), b"", last=True)


SIZES = (0, 1, 255, 256, 65_791, 65_792, BLOCK, BLOCK + 1, 3 * BLOCK + 5)


@both_ways
@pytest.mark.parametrize("checksum", [False, True], ids=["bare", "checksum"])
@pytest.mark.parametrize("sized", [False, True], ids=["unsized", "sized"])
@pytest.mark.parametrize("level", [-1, 3, 19])
def test_frames_of_any_writer_are_found(level: int, sized: bool, checksum: bool, runs: bool) -> None:  # noqa: FBT001
    """Frames with and without content size, checksum and several blocks, compressible or not, come back whole."""
    writer = zstandard.ZstdCompressor(level, write_content_size=sized, write_checksum=checksum)
    contents = [make(size) for size in SIZES for make in (bytes, noise)]
    pieces = pieces_of(b"".join(map(writer.compress, contents)), runs=runs)
    assert content_of(pieces) == b"".join(contents)
    assert damage_in(pieces) == []


@both_ways
@given(contents=st.lists(st.binary(max_size=200), max_size=8), torn=st.integers(0, 12))
def test_what_is_written_is_read(contents: list[bytes], torn: int, runs: bool) -> None:  # noqa: FBT001
    """Any contents come back in their order, and a torn last frame is no damage."""
    frames = [dshlog.frame([content]) for content in contents]
    data = b"".join(frames)
    pieces = pieces_of(data[: len(data) - torn], runs=runs)
    assert b"".join(contents).startswith(content_of(pieces))
    whole = sum(end <= len(data) - torn for end in accumulate(map(len, frames)))
    assert content_of(pieces[:-1]) == b"".join(contents[:whole])
    assert damage_in(pieces) == []


@both_ways
@pytest.mark.parametrize("at", range(len(FRAMES) + 1))
def test_skippable_frames_are_passed_over(at: int, runs: bool) -> None:  # noqa: FBT001
    """A frame that says it may be skipped is, at any place, and is no damage."""
    pieces = pieces_of(b"".join([*FRAMES[:at], SKIPPABLE, *FRAMES[at:]]), runs=runs)
    assert content_of(pieces) == b"".join(CONTENTS)
    assert damage_in(pieces) == []


@both_ways
def test_a_frame_may_hold_frames(runs: bool) -> None:  # noqa: FBT001
    """What looks like frames inside the content of a frame is content."""
    bare = zstandard.ZstdCompressor(write_checksum=False)
    inner = [dshlog.frame([noise(70, 1)]) + dshlog.frame([noise(80, 2)]), bare.compress(noise(60, 3))]
    contents = [b"before\n", noise(50, 4) + inner[0] + noise(50, 5), noise(40, 6) + inner[1], b"after\n"]
    frames = [dshlog.frame([content]) for content in contents]
    assert inner[0] in frames[1]
    assert inner[1] in frames[2]
    for count in range(len(frames) + 1):
        pieces = pieces_of(b"".join(frames[:count]), runs=runs)
        assert content_of(pieces) == b"".join(contents[:count])
        assert damage_in(pieces) == []


# ------------------------------------------------------------------ torn logs


@both_ways
def test_a_log_cut_at_any_byte_loses_what_is_cut_off(runs: bool) -> None:  # noqa: FBT001
    """Whole frames before the cut are read, what stands of the cut one is its beginning, and nothing is damaged."""
    for cut in range(len(LOG)):
        whole = sum(start <= cut for start in STARTS[1:])
        pieces = pieces_of(LOG[:cut], runs=runs)
        assert content_of(pieces[:-1]) == b"".join(CONTENTS[:whole])
        assert pieces[-1].start == STARTS[whole]
        assert CONTENTS[whole].startswith(pieces[-1].content)
        assert damage_in(pieces) == []


def test_whole_blocks_of_a_torn_frame_are_read() -> None:
    """Of a frame that lacks only its checksum everything is read, and of one of several blocks those that are there."""
    blocks = [noise(50, 1), noise(60, 2), noise(70, 3)]
    torn = dshlog.frame(blocks)
    assert decode_torn(torn[:-CHECKSUM]) == b"".join(blocks)
    assert decode_torn(torn[: -CHECKSUM - 71]) == b"".join(blocks[:2])
    assert decode_torn(torn[: -CHECKSUM - 71 - 63]) == blocks[0]


@pytest.mark.parametrize("data", [b"", MAGIC[:2], MAGIC, MAGIC + b"\x04", b"no frame", bytes(99)])
def test_nothing_can_be_read_of_nothing(data: bytes) -> None:
    """What does not even begin like a frame is no error."""
    assert decode_torn(data) == b""


# ------------------------------------------------------------------ damage


@both_ways
@pytest.mark.parametrize("number", range(len(FRAMES)))
def test_a_bit_that_flips_costs_at_most_its_frame(number: int, runs: bool) -> None:  # noqa: FBT001
    """For each bit of a frame: all other frames are read, and the frame is too or is named where it begins."""
    start, end = STARTS[number : number + 2]
    without = b"".join(CONTENTS[:number] + CONTENTS[number + 1 :])
    for bit in range(start * 8, end * 8):
        flipped = bytearray(LOG)
        flipped[bit // 8] ^= 1 << bit % 8
        pieces = pieces_of(bytes(flipped), runs=runs)
        assert all(start <= place < end for place, _ in damage_in(pieces))
        if content_of(pieces) != b"".join(CONTENTS):
            # The last frame may still be written, and of a frame that seems to go on its beginning is read.
            rest = pieces[-1].content if number == len(FRAMES) - 1 else b""
            assert content_of(pieces) == without + rest
            assert rest[: len(CONTENTS[number])] == CONTENTS[number][: len(rest)]
            assert start in [place for place, _ in damage_in(pieces)] or pieces[-1].start == start


@both_ways
@pytest.mark.parametrize("swallowed", [1, 2, 3])
@pytest.mark.parametrize("number", [0, 1])
def test_a_wrong_length_swallows_no_other_frame(number: int, swallowed: int, runs: bool) -> None:  # noqa: FBT001
    """A block length that reaches to the end of a later frame costs the frame that it stands in."""
    start, end = STARTS[number], STARTS[number + 1 + swallowed]
    head = start + len(MAGIC) + 2
    length = end - CHECKSUM - head - 3
    damaged = LOG[:head] + (length << 3 | 2 << 1 | 1).to_bytes(3, "little") + LOG[head + 3 :]
    assert frame_at(damaged, start) == Frame(start, end, BLOCK)
    pieces = pieces_of(damaged, runs=runs)
    assert content_of(pieces) == b"".join(CONTENTS[:number] + CONTENTS[number + 1 :])
    assert damage_in(pieces) == [(start, STARTS[number + 1])]


@both_ways
def test_a_length_that_leads_behind_the_end_swallows_nothing(runs: bool) -> None:  # noqa: FBT001
    """A frame that seems to go on behind the end of the log, in its middle, costs itself."""
    head = len(MAGIC) + 2
    damaged = LOG[:head] + (100_000 << 3 | 2 << 1).to_bytes(3, "little") + LOG[head + 3 :]
    pieces = pieces_of(damaged, runs=runs)
    assert content_of(pieces) == b"".join(CONTENTS[1:])
    assert damage_in(pieces) == [(0, STARTS[1])]


@both_ways
def test_a_skippable_frame_without_end_swallows_nothing(runs: bool) -> None:  # noqa: FBT001
    """A length of 4 GB in a frame that may be skipped costs that frame."""
    endless = SKIPPABLE[:4] + b"\xff" * 4
    pieces = pieces_of(b"".join([*FRAMES[:2], endless, *FRAMES[2:]]), runs=runs)
    assert content_of(pieces) == b"".join(CONTENTS)
    assert damage_in(pieces) == [(STARTS[2], STARTS[2] + len(endless))]


GARBAGE = {
    "one-byte": b"\x00",
    "nul-bytes": bytes(5000),
    "text": b"kernel panic - not syncing\n",
    "noise": noise(300),
    "a-magic-number": MAGIC,
    "magic-numbers": MAGIC * 50,
    "a-torn-frame": FRAMES[0][:-9],
    "a-frame-with-another-checksum": FRAMES[0][:-CHECKSUM] + b"oops",
    "a-bomb": rle_bomb(600),
}


@both_ways
@pytest.mark.parametrize("at", [0, 1, 3, len(FRAMES) - 1])
@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE)
def test_garbage_between_frames_is_passed_over(
    monkeypatch: pytest.MonkeyPatch,
    garbage: bytes,
    at: int,
    runs: bool,  # noqa: FBT001
) -> None:
    """Whatever stands between frames costs no frame, and is named with the place where it begins."""
    monkeypatch.setattr(f"{MODULE}.FRAME_OUTPUT_LIMIT", 1 << 20)
    pieces = pieces_of(b"".join([*FRAMES[:at], garbage, *FRAMES[at:]]), runs=runs)
    assert content_of(pieces) == b"".join(CONTENTS)
    assert damage_in(pieces) == [(STARTS[at], STARTS[at] + len(garbage))]


AT_THE_END = ("nul-bytes", "text", "a-frame-with-another-checksum")
at_the_end = pytest.mark.parametrize("garbage", [GARBAGE[name] for name in AT_THE_END], ids=AT_THE_END)


@both_ways
@at_the_end
def test_garbage_at_the_end_may_still_become_a_frame(garbage: bytes, runs: bool) -> None:  # noqa: FBT001
    """What stands behind the last sound frame is damage, but the last piece: it will be looked at again."""
    pieces = pieces_of(LOG + garbage, runs=runs)
    assert content_of(pieces) == b"".join(CONTENTS)
    assert damage_in(pieces) == [(len(LOG), len(LOG) + len(garbage))]
    assert pieces[-1].damage


@both_ways
@at_the_end
def test_a_torn_frame_behind_damage_is_read(garbage: bytes, runs: bool) -> None:  # noqa: FBT001
    """Damage in front of a log's torn last frame does not cost what stands whole in that frame."""
    pieces = pieces_of(LOG + garbage + FRAMES[0][:-CHECKSUM], runs=runs)
    assert content_of(pieces) == b"".join([*CONTENTS, CONTENTS[0]])
    assert damage_in(pieces) == [(len(LOG), len(LOG) + len(garbage))]
    assert (pieces[-1].start, pieces[-1].damage) == (len(LOG) + len(garbage), "")


parts = st.sampled_from([*FRAMES, SKIPPABLE, MAGIC, FRAMES[1][:-3], FRAMES[2][5:], bytes(30)]) | st.binary(max_size=30)


@both_ways
@given(st.lists(parts, max_size=8))
def test_any_bytes_can_be_walked(runs: bool, parts: list[bytes]) -> None:  # noqa: FBT001
    """Whatever a file holds, a walk covers all of it and raises nothing; sound frames on their own are all read."""
    pieces = pieces_of(b"".join(parts), runs=runs)
    if all(part in FRAMES for part in parts):
        assert damage_in(pieces) == []


# ------------------------------------------------------------------ bombs


@pytest.fixture
def small_limit(monkeypatch: pytest.MonkeyPatch) -> int:
    """Call a frame of more than a mebibyte a bomb."""
    limit = 1 << 20
    monkeypatch.setattr(f"{MODULE}.FRAME_OUTPUT_LIMIT", limit)
    monkeypatch.setattr(f"{MODULE}._RUN_OUTPUT_LIMIT", limit)
    return limit


BOMBS = {
    "repeated-bytes": rle_bomb(600),
    "compressed": zstandard.ZstdCompressor(19, write_content_size=False).compress(bytes(600 * BLOCK)),
    "compressed-and-sized": zstandard.ZstdCompressor(19, write_content_size=True).compress(bytes(600 * BLOCK)),
}
every_bomb = pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)


@every_bomb
def test_a_bomb_is_refused(small_limit: int, bomb: bytes) -> None:
    """A frame that would hold more than the limit is an error of its own, which says so."""
    frame = frame_at(bomb, 0)
    assert frame is not None
    assert frame.bound >= 600 * BLOCK
    with pytest.raises(FrameTooLargeError, match=f"more than {small_limit} bytes"):
        decode(bomb, frame)


@both_ways
@every_bomb
@pytest.mark.parametrize("torn", [0, 2], ids=["whole", "torn"])
def test_a_bomb_never_fills_the_memory(small_limit: int, bomb: bytes, torn: int, runs: bool) -> None:  # noqa: FBT001
    """A few kilobytes that would hold 79 MB take a few megabytes to refuse, at the end of a log and between frames."""
    logs = [LOG + bomb[: len(bomb) - torn], *([] if torn else [bomb + LOG, FRAMES[0] + bomb + FRAMES[1]])]
    tracemalloc.start()
    try:
        for log in logs:
            pieces_of(log, runs=runs)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * small_limit


def test_a_torn_bomb_gives_nothing(small_limit: int) -> None:
    """Of a bomb that is torn nothing is taken."""
    assert small_limit < 600 * BLOCK
    assert decode_torn(rle_bomb(600)[:-1]) == b""


def test_a_large_frame_is_no_bomb() -> None:
    """Many megabytes in one frame, below the limit, come back whole."""
    content = noise(1000) * 80_000
    data = dshlog.frame([content])
    frame = frame_at(data, 0)
    assert frame is not None
    assert decode(data, frame) == content


def test_the_limit_of_a_frame_leaves_room_for_real_ones() -> None:
    """The largest frame of the fixtures is far below the limit."""
    largest = max(len(dshlog.decode(frame)) for path in REAL_LOGS for frame in dshlog.frames(path.read_bytes()))
    assert largest * 100 < zstd_frames.FRAME_OUTPUT_LIMIT


# ------------------------------------------------------------------ the parts of a walk


def test_frame_at_tells_a_frame_from_its_beginning() -> None:
    """A whole frame has its place; a cut one has none yet; anything else is an error."""
    assert frame_at(LOG, STARTS[2]) == Frame(STARTS[2], STARTS[3], BLOCK)
    assert [frame_at(FRAMES[0][:cut], 0) for cut in range(len(FRAMES[0]))] == [None] * len(FRAMES[0])
    assert frame_at(SKIPPABLE, 0) == Frame(0, len(SKIPPABLE), 0)
    assert [frame_at(SKIPPABLE[:cut], 0) for cut in range(4, len(SKIPPABLE))] == [None] * (len(SKIPPABLE) - 4)


@pytest.mark.parametrize("data", [b"\x00", b"text", b"\x28\xb5\x2f\xfe", MAGIC + b"\x04\x58\x07\x00\x00"])
def test_frame_at_refuses_what_is_no_frame(data: bytes) -> None:
    """Another magic number, or a kind of block that does not exist, is no frame."""
    with pytest.raises(FrameError):
        frame_at(data, 0)


@pytest.mark.parametrize("change", [b"", b"\x00"], ids=["cut", "changed"])
def test_decode_refuses_what_does_not_fit_its_checksum(change: bytes) -> None:
    """A frame whose checksum is not that of its content is an error, and so is one that ends too early."""
    data = FRAMES[0][:-1] + change
    with pytest.raises(FrameError):
        decode(data, Frame(0, len(data), BLOCK))


def test_next_frame_finds_the_first_sound_one() -> None:
    """Magic numbers without a frame, torn and damaged frames are passed over; without a sound one there is none."""
    damaged = FRAMES[0][:-1] + b"\x00"
    assert next_frame(LOG, 0) == 0
    assert next_frame(LOG, 1) == STARTS[1]
    assert next_frame(MAGIC * 3 + damaged + LOG, 0) == len(MAGIC) * 3 + len(damaged)
    assert next_frame(MAGIC * 3 + damaged + FRAMES[0][:-1], 0) is None
    assert next_frame(b"", 0) is None
