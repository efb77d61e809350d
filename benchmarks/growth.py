"""Logs that go on: one more frame at the end of a session's log, as the harness would have written it."""

from __future__ import annotations

import json
import re
from itertools import count
from typing import TYPE_CHECKING

import zstandard

if TYPE_CHECKING:
    from pathlib import Path

LATER_THAN_ALL = 2_000_000_000_000
"""A time, in ms, later than anything in a corpus."""
_BATCH = 1_000
"""More than a line of packed rows holds: no seq comes twice."""
_CALL_ID = re.compile(rb'"callId":"([^"]+)"')
_NUMBER = count(1)


def leads(root: Path) -> list[Path]:
    """Return the logs of the sessions that no other session spawned, in the order in which they began."""
    begun = [(_begun(path), path) for path in root.rglob("session*.zstd")]
    return [path for created, path in sorted(begun) if created]


def _begun(path: Path) -> int:
    with path.open("rb") as file:
        header = json.loads(zstandard.ZstdDecompressor().stream_reader(file).read(1 << 16).partition(b"\n")[0])
    return 0 if header.get("parentSession") else int(header["createdAt"])


def grow(path: Path, time: int = 0) -> None:
    """Append a frame with one tool call and its result, at a time in ms or right after what is there."""
    with path.open("rb") as file:
        lines = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True).read().splitlines()
    result = next(line for line in reversed(lines) if line.startswith(b'{"type":"tool/result"'))
    call_id = _CALL_ID.search(result)[1]
    call = next(line for line in reversed(lines) if line.startswith(b'{"type":"tool/call"') and call_id in line)
    new_id = b"call_more_%d_%d" % (len(lines), next(_NUMBER))
    last = json.loads(lines[-1])
    frame = b""
    for number, line in enumerate((call, result), start=1):
        event = json.loads(line.replace(call_id, new_id))
        event["seq"] = int(last.get("seq", last.get("seq0", 0))) + _BATCH + number
        event["time"] = max(time, int(last.get("time", last.get("time0", 0)))) + number
        frame += json.dumps(event, separators=(",", ":")).encode() + b"\n"
    with path.open("ab") as out:
        out.write(zstandard.ZstdCompressor(level=3, write_checksum=True, write_content_size=False).compress(frame))
