"""Whatever a log holds, no other loses anything, and what is left out is told."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from a2a_trust.backfill.extract import Job, extract
from brokenlogs import Lines, T, clean_run, counted, ended, others_are_whole, packed, places
from dshlog import decode, frame, line_of
from homes import FIXTURES, LOG_GLOB, audit_of, ingest, scratch
from hypothesis import given
from hypothesis import strategies as st

from a2a_trust.sources.base import LogFile

if TYPE_CHECKING:
    from collections.abc import Iterator

TEAMS = {
    "made-latency-cut": "00000000-0000-4000-8000-000300020002",
    "made-tasks": "00000000-0000-4000-8000-000800010002",
    "made-generations": "00000000-0000-4000-8000-000600010002",
    "made-failures": "00000000-0000-4000-8000-001700010002",
    "made-forks": "00000000-0000-4000-8000-001600030002",
    "g-raw": "1d680612-d586-4934-87da-2b312cad852d",
    "a-team": "0621a09e-7f05-46cc-8d34-9b126e8ef0cd",
}
"""Folders, each with a session that is nobody's Lead or parent: what its log says is nothing to the others."""
HOSTILE = [
    *(None, True, False, 0, -1, 5, 1.5, 2**53, 2**63, 2**64, -(2**63) - 1, 10**30, T, T * 1000),
    *(float("nan"), float("inf"), "", "x", "\x00", "\ud83d", "\x1b[31m", "\u202e", "../../x", "x" * 70_000),
    *("completed", "append", "team-message"),
    *([], {}, [[]], [None], {"0": "a"}, {"type": "x"}, [{"type": "tool-result", "toolCallId": 5}]),
]


def slots(value: object) -> Iterator[tuple[Any, Any]]:
    """Every place in a JSON value that holds another one: its container and the key in it."""
    pending = [value]
    while pending:
        holder = pending.pop()
        keys = holder if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ()
        for key in keys:
            yield holder, key
            pending.append(holder[key])  # type: ignore[index]


def change_value(line: bytes, at: int, value: object) -> bytes:
    """Put another value somewhere into a record, or take one out."""
    record = json.loads(line)
    places = list(slots(record))
    holder, key = places[at % len(places)]
    if value == "take-out":
        del holder[key]
    else:
        holder[key] = value
    return json.dumps(record, separators=(",", ":")).encode()


def change_lines(lines: Lines, change: tuple[str, int, int, object]) -> Lines:
    """Change a log line by line."""
    how, where, at, value = change
    where %= len(lines)
    before, line, after = lines[:where], lines[where], lines[where + 1 :]
    cut = at % (len(line) + 1)
    if how == "value" and line.startswith(b"{") and line.endswith(b"}"):
        try:
            line = change_value(line, at, value)
        except (ValueError, RecursionError):
            line = b""
    middle = {
        "value": [line],
        "cut": [line[:cut]],
        "drop": [],
        "twice": [line, line],
        "later": [*after[:1], line],
        "bytes": [line[:cut] + b"\x00\xff{\x1b" + line[cut:]],
        "joined": [line + b"".join(after[:1])],
    }[how]
    return [*before, *middle, *(after[1:] if how in {"later", "joined"} else after)]


def change_bytes(data: bytes, change: tuple[str, int, int]) -> bytes:
    """Change a log byte by byte."""
    how, where, length = change
    where %= len(data) + 1
    before, middle, after = data[:where], data[where : where + length], data[where + length :]
    flipped = bytes(byte ^ (1 << length % 8) for byte in middle[:1]) + middle[1:]
    return {
        "flip": before + flipped + after,
        "drop": before + after,
        "twice": before + middle + middle + after,
        "nul": before + bytes(length) + after,
        "cut": before,
    }[how]


line_changes = st.tuples(
    st.sampled_from(["value"] * 6 + ["cut", "drop", "twice", "later", "bytes", "joined"]),
    places,
    places,
    st.sampled_from([*HOSTILE, "take-out"]),
)
byte_changes = st.tuples(st.sampled_from(["flip", "flip", "drop", "twice", "nul", "cut"]), places, st.integers(1, 99))


def no_json(name: str) -> None:
    """Refuse NaN and its like."""
    raise ValueError(name)


def check_run(root: Path, folder: str, session: str) -> None:
    """Run over a folder with a broken log: it ends, adds up, is idempotent, and harms no other session."""
    home = root / "home"
    summary = ingest(home, root / "logs")
    assert counted(summary) == summary.lines
    assert others_are_whole(home, clean_run(folder), session)
    for line in audit_of(home).splitlines():
        json.loads(line, parse_constant=no_json)
    audit = audit_of(home)
    ingest(home, root / "logs")
    assert audit_of(home) == audit


def broken_copy(root: Path, folder: str, session: str) -> Path:
    """Copy a folder of the fixtures, and return the newest log of a session in it."""
    shutil.copytree(FIXTURES / folder, root / "logs", copy_function=shutil.copyfile)
    return max((root / "logs").rglob(f"{session}/{LOG_GLOB}"))


@given(st.sampled_from(sorted(TEAMS.items())), st.lists(line_changes, min_size=1, max_size=4))
def test_a_log_that_says_anything_harms_no_other(
    team: tuple[str, str], changes: list[tuple[str, int, int, object]]
) -> None:
    """However the records of a log are changed, the run ends, adds up, and other sessions lose nothing."""
    folder, session = team
    with scratch() as name:
        path = broken_copy(Path(name), folder, session)
        data = path.read_bytes()
        lines = (decode(data) if path.suffix == ".zstd" else data).split(b"\n")[:-1]
        for change in changes:
            lines = change_lines(lines, change) or [b""]
        path.write_bytes(packed(lines) if path.suffix == ".zstd" else b"".join(ended(lines)))
        check_run(Path(name), folder, session)


@given(st.sampled_from(sorted(TEAMS.items())), st.lists(byte_changes, min_size=1, max_size=4))
def test_a_log_of_any_bytes_harms_no_other(team: tuple[str, str], changes: list[tuple[str, int, int]]) -> None:
    """However the bytes of a log are changed, the run ends, adds up, and other sessions lose nothing."""
    folder, session = team
    with scratch() as name:
        path = broken_copy(Path(name), folder, session)
        for change in changes:
            path.write_bytes(change_bytes(path.read_bytes(), change))
        check_run(Path(name), folder, session)


@given(st.binary(max_size=300), st.booleans())
def test_any_bytes_can_be_extracted(data: bytes, framed: bool) -> None:  # noqa: FBT001
    """Reading a file never raises, whatever stands in it, behind a header or not."""
    header = line_of({"type": "session", "version": 0, "id": "a", "createdAt": T, "delegationDepth": 0})
    with scratch() as name:
        path = Path(name) / "session.jsonl"
        path.write_bytes(frame([header]) + frame([data]) + data if framed else header + data)
        found = path.stat()
        log = LogFile(
            source="dsh", path=str(path), gen=0, size=found.st_size, mtime_ns=found.st_mtime_ns, inode=found.st_ino
        )
        assert not extract(Job(log, "a")).failed
