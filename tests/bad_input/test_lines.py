"""Lines of strangers: useless ones cost themselves, and those that can be mended count."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from brokenlogs import DEEP, VICTIMS, Lines, T, Tree, counted, first
from dshlog import LogBuilder
from homes import agents_of, differences, ingest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BOM = b"\xef\xbb\xbf"


# ------------------------------------------------------------------ lines that cannot be used

CALL = b'{"type":"tool/call","seq":1,"time":1,"data":{"callId":"c","name":"bash"}}'
PROMPT = b'{"type":"user/message","seq":1,"time":1,"data":{"id":"m","source":{"kind":"user"}}}'
TASK = (
    b'{"type":"team/task","seq":1,"time":1,"data":{"teamId":"OWN",'
    b'"task":{"id":"t","revision":1,"status":"pending","blockedBy":[]}}}'
)
BIG = b"9" * 30
USELESS = [
    ("cut-off", b'{"type":"tool/result","seq":9,"time":1796048479761,"data":{"mess', "malformed-line"),
    ("redacted-by-hand", CALL.replace(b'"bash"', rb'"\*\*\*"'), "malformed-line"),
    ("prose", b"Segmentation fault (core dumped)", "malformed-line"),
    ("nul-bytes", b"\x00" * 4096, "malformed-line"),
    ("nul-bytes-in-a-text", CALL.replace(b'"bash"', b'"b\x00\x00h"'), "malformed-line"),
    ("utf-16", CALL.decode().encode("utf-16"), "malformed-line"),
    ("spliced", CALL[:30] + CALL + CALL[30:], "malformed-line"),
    ("garbage-behind-a-record", PROMPT + b"garbage", "malformed-line"),
    ("half-a-record-behind-a-record", PROMPT + b' {"seq":2,"ty', "malformed-line"),
    ("a-list", b"[1,2,3]", "wrong-shape"),
    ("a-number", b"7", "wrong-shape"),
    ("a-text", b'"tool/call"', "wrong-shape"),
    ("null", b"null", "wrong-shape"),
    ("nan", b"NaN", "wrong-shape"),
    ("numeric-keys", b'{"type":"tool/result","seq":1,"time":1,"data":{"message":{"0":"a","1":"b"}}}', "wrong-shape"),
    ("null-data", b'{"type":"assistant/message","seq":1,"time":1,"data":null}', "wrong-shape"),
    ("null-message", b'{"type":"tool/result","seq":1,"time":1,"data":{"message":null}}', "wrong-shape"),
    ("empty-content", b'{"type":"tool/result","seq":1,"time":1,"data":{"message":{"content":[]}}}', "wrong-shape"),
    ("no-seq", b'{"type":"turn/end","time":1,"data":{}}', "wrong-shape"),
    ("seq-is-text", CALL.replace(b'"seq":1', b'"seq":"1"'), "wrong-shape"),
    ("seq-is-nan", CALL.replace(b'"seq":1', b'"seq":NaN'), "wrong-shape"),
    ("seq-is-infinite", CALL.replace(b'"seq":1', b'"seq":1e999'), "wrong-shape"),
    ("seq-beyond-64-bits", CALL.replace(b'"seq":1', b'"seq":' + BIG), "wrong-shape"),
    ("seq-of-a-million-digits", CALL.replace(b'"seq":1', b'"seq":' + b"9" * 1_000_000), "malformed-line"),
    ("revision-beyond-64-bits", TASK.replace(b'"revision":1', b'"revision":' + BIG), "wrong-shape"),
    ("call-id-is-a-number", CALL.replace(b'"c"', b"12"), "wrong-shape"),
    ("call-id-is-a-list", CALL.replace(b'"c"', b'["c"]'), "wrong-shape"),
    ("name-is-an-object", CALL.replace(b'"bash"', b'{"bash":1}'), "wrong-shape"),
    ("type-is-a-number", CALL.replace(b'"tool/call"', b"5"), "wrong-shape"),
    ("type-is-a-list", CALL.replace(b'"tool/call"', b"[]"), "wrong-shape"),
    ("type-is-an-object", CALL.replace(b'"tool/call"', b"{}"), "wrong-shape"),
    ("no-type", b'{"seq":1,"time":1,"data":{}}', "wrong-shape"),
    ("unknown-type", CALL.replace(b"tool/call", b"tool/dreamt"), "unknown-type"),
    ("never-closed", CALL[:-1] + b',"deep":' + b"[" * DEEP, "malformed-line"),
    ("deep", CALL[:-1] + b',"deep":' + b"[" * DEEP + b"]" * DEEP + b"}", "malformed-line"),
    ("task-of-another-team", TASK.replace(b"OWN", b"other"), "foreign-team"),
]


@pytest.mark.parametrize(("line", "reason"), [case[1:] for case in USELESS], ids=[case[0] for case in USELESS])
def test_a_useless_line_is_counted_and_nothing_else_is_lost(tree: Tree, line: bytes, reason: str) -> None:
    """A line that cannot be used is counted where it stands; every other line of every log still counts."""
    lines = tree.lines()
    at = first(lines, b"tool/result")
    tree.write([*lines[:at], line.replace(b"OWN", tree.session.encode()), *lines[at:]])
    summary = tree.run()
    assert differences(agents_of(tree.home), tree.clean.agents) == []
    assert summary.skipped_at == {reason: [f"{tree.victim}: line {at + 1}"]}
    assert summary.skipped == {reason: 1}
    assert counted(summary) == summary.lines == tree.clean.lines + 1


def test_a_number_beyond_64_bits_is_counted_while_its_agent_is_unknown(room: Path) -> None:
    """What waits for another log is kept in a file, so a number that no file can hold is refused before."""
    child = LogBuilder("child", created_at=T, parent="lead", origin="subagent")
    child.descriptor("Writes code.")
    child.raw(CALL.replace(b'"seq":1', b'"seq":' + BIG))
    child.turn_end()
    child.write(room / "logs")
    summary = ingest(room / "home", room / "logs")
    assert summary.skipped == {"wrong-shape": 1}
    assert summary.waiting > 0


def test_a_record_over_several_lines_is_counted(tree: Tree) -> None:
    """A record that something printed prettily is lost, line by line and counted, and no other session's with it."""
    lines = tree.lines()
    at = first(lines, b"tool/call")
    pretty = json.dumps(json.loads(lines[at]), indent=1).encode().split(b"\n")
    tree.write([*lines[:at], *pretty, *lines[at + 1 :]])
    summary = tree.run()
    assert tree.others_are_whole()
    assert summary.skipped_at["malformed-line"][0] == f"{tree.victim}: line {at + 1}"
    assert counted(summary) == summary.lines


@pytest.mark.parametrize(("victim", "part"), [("v0", 1 << 20), ("v4", 1 << 20), ("raw", 1 << 20), ("raw", 64)])
def test_a_line_that_is_too_long_is_counted(
    room: Path, monkeypatch: pytest.MonkeyPatch, victim: str, part: int
) -> None:
    """A line over the limit is counted where it stands, and so are lines behind it, however the log is read."""
    tree = Tree(room, VICTIMS[victim])
    lines = tree.lines()
    limit = max(map(len, lines)) + 100
    monkeypatch.setattr("a2a_trust.sources.dsh_lines.LINE_LIMIT", limit)
    monkeypatch.setattr("a2a_trust.sources.dsh._SEGMENT", part)
    at = first(lines, b"tool/result")
    tree.write([*lines[:at], CALL.replace(b"bash", b"x" * limit), *lines[at:], b"prose"])
    summary = tree.run()
    assert summary.skipped_at == {
        "line-too-long": [f"{tree.victim}: line {at + 1}"],
        "malformed-line": [f"{tree.victim}: line {len(lines) + 2}"],
    }
    assert differences(agents_of(tree.home), tree.clean.agents) == []


# ------------------------------------------------------------------ lines that can still be used


def added(field: bytes) -> Callable[[Lines], Lines]:
    """Add a field that nobody knows to every line but the header."""
    return lambda lines: [lines[0], *(line[:-1] + b"," + field + b"}" for line in lines[1:])]


def pairs(between: bytes) -> Callable[[Lines], Lines]:
    """Put two records on each line."""
    return lambda lines: [lines[0], *(between.join(lines[at : at + 2]) for at in range(1, len(lines), 2))]


def dumped(**how: Any) -> Callable[[Lines], Lines]:  # noqa: ANN401 - whatever `json.dumps` takes
    """Write every record as another program would."""
    return lambda lines: [json.dumps(json.loads(line), **how).encode() for line in lines]


USABLE: list[tuple[str, Callable[[Lines], Lines]]] = [
    ("carriage-returns", lambda lines: [line + b"\r" for line in lines]),
    ("byte-order-mark", lambda lines: [BOM + lines[0], *lines[1:]]),
    ("blank-lines", lambda lines: [line for known in lines for line in (known, b"")]),
    ("spaces-around", lambda lines: [lines[0], *(b"  " + line + b" " for line in lines[1:])]),
    ("nul-bytes-before", lambda lines: [lines[0], *(b"\x00" * 9 + line for line in lines[1:])]),
    ("two-on-a-line", pairs(b"")),
    ("two-on-a-line-apart", pairs(b"  ")),
    ("two-on-a-line-and-nul-bytes", pairs(b"\x00\x00")),
    ("other-separators", dumped(separators=(", ", ": "))),
    ("other-order-of-keys", dumped(sort_keys=True)),
    ("line-ends-of-unicode", added('"x":"\u2028\u2029\x85"'.encode())),
    ("a-lone-surrogate", added(rb'"x":"\ud83d"')),
    ("half-a-surrogate-pair-in-bytes", added(b'"x":"\xed\xa0\xbd"')),
    ("no-utf-8", added(b'"x":"na\xefve"')),
    ("nan", added(b'"x":NaN')),
    ("infinite", added(b'"x":-Infinity')),
    ("beyond-doubles", added(b'"x":1e999')),
    ("beyond-64-bits", added(b'"x":' + BIG)),
    ("nested", added(b'"x":' + b"[" * 99 + b"]" * 99)),
]


@pytest.mark.parametrize("change", [case[1] for case in USABLE], ids=[case[0] for case in USABLE])
def test_a_line_that_can_be_mended_counts(tree: Tree, change: Callable[[Lines], Lines]) -> None:
    """What is wrong around the records of a log, or in what nobody needs, costs nothing."""
    tree.write(change(tree.lines()))
    summary = tree.run()
    assert summary.skipped == {}
    assert differences(agents_of(tree.home), tree.clean.agents) == []
    assert counted(summary) == summary.lines
