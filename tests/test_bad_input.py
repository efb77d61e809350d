"""Logs of strangers: whatever is wrong with one, the run goes on, others lose nothing, and what is left out is told."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from a2a_trust.backfill import Options, run
from a2a_trust.backfill.extract import Job, extract
from a2a_trust.backfill.run import LINE_SKIPS
from dshlog import LogBuilder, decode, encode, frame, frames, line_of
from homes import FIXTURES, LOG_GLOB, agents_of, audit_of, differences, evidence_by_session, ingest, rows_of, scratch
from hypothesis import given
from hypothesis import strategies as st

from a2a_trust.policy import STANDARD
from a2a_trust.sources.base import LogFile, Skips
from a2a_trust.sources.dsh import DshSource
from a2a_trust.store import TrustStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from a2a_trust.backfill import Summary

    from a2a_trust.facts import LogHeader
    from a2a_trust.model import Row

T = 1796100000000
VICTIMS = {
    "v0": "a-team/sessions/--home-dev-project--/0621a09e-7f05-46cc-8d34-9b126e8ef0cd/session.jsonl.zstd",
    "v4": "v4-a-team/sessions/--home-dev-project--/418ae9aa-e69d-43cd-b128-5a7b0b2a9576/session.v4.jsonl.zstd",
    "raw": "g-raw/sessions/--home-dev-project--/1d680612-d586-4934-87da-2b312cad852d/session.jsonl",
}
"""A teammate's log in each shape. Its team is what may not be harmed."""
LINES_IN_A_FRAME = 7
BOM = b"\xef\xbb\xbf"

Lines = list[bytes]


class Clean(NamedTuple):
    """What a team gives as long as nothing is wrong."""

    agents: bytes
    rows: list[Row]
    lines: int


@cache
def clean_run(folder: str) -> Clean:
    """A run over a folder of the fixtures as it is."""
    with scratch() as home:
        summary = ingest(Path(home), FIXTURES / folder)
        return Clean(agents_of(Path(home)), rows_of(Path(home)), summary.lines)


class Tree:
    """A copy of a team's logs, and the one among them that something happens to."""

    def __init__(self, root: Path, place: str) -> None:
        """Copy the whole folder of the fixtures in which the victim stands."""
        folder, _, inner = place.partition("/")
        self.logs = root / "logs"
        self.home = root / "home"
        self.victim = self.logs / inner
        self.session = self.victim.parent.name
        self.clean = clean_run(folder)
        shutil.copytree(FIXTURES / folder, self.logs, copy_function=shutil.copyfile)

    def lines(self) -> Lines:
        """The victim's lines, without their ends."""
        data = self.victim.read_bytes()
        return (decode(data) if self.victim.suffix == ".zstd" else data).split(b"\n")[:-1]

    def write(self, lines: Lines) -> None:
        """Write the victim anew, the first line in a frame of its own."""
        self.victim.write_bytes(packed(lines) if self.victim.suffix == ".zstd" else b"".join(ended(lines)))

    def run(self) -> Summary:
        """Run over the tree as it is now."""
        return ingest(self.home, self.logs)

    def others_are_whole(self) -> bool:
        """Whether every other session gave all that it gives in a clean run."""
        return others_are_whole(self.home, self.clean, self.session)

    def tells_of(self, summary: Summary, place: object = None) -> bool:
        """Whether the summary names a place, any in the victim unless told otherwise, where something was skipped."""
        start = str(place or self.victim)
        return any(told.startswith(start) for places in summary.skipped_at.values() for told in places)


def others_are_whole(home: Path, clean: Clean, victim: str) -> bool:
    """Whether every session of a clean run but one gave all that it gives there."""
    expected = evidence_by_session(clean.rows)
    found = evidence_by_session(rows_of(home))
    return all(found.get(session) == rows for session, rows in expected.items() if session != victim)


def ended(lines: Sequence[bytes]) -> Lines:
    """Lines with their ends."""
    return [line + b"\n" for line in lines]


def packed(lines: Lines) -> bytes:
    """Lines as a compressed log."""
    rest = [lines[at : at + LINES_IN_A_FRAME] for at in range(1, len(lines), LINES_IN_A_FRAME)]
    return encode(ended(batch) for batch in [lines[:1], *rest])


def first(lines: Lines, kind: bytes) -> int:
    """The index of the first line of a kind."""
    return next(at for at, line in enumerate(lines) if line.startswith(b'{"type":"%s"' % kind))


def counted(summary: Summary) -> int:
    """The lines of a run that are in some count."""
    skipped = sum(summary.skipped.get(reason, 0) for reason in LINE_SKIPS)
    return summary.lines_used + summary.lines_irrelevant + summary.lines_inherited + skipped


@pytest.fixture
def room() -> Iterator[Path]:
    """A folder for homes and logs, where many of them cost little."""
    with scratch() as folder:
        yield Path(folder)


@pytest.fixture(params=VICTIMS)
def tree(room: Path, request: pytest.FixtureRequest) -> Tree:
    """A team whose victim is a log of V0, of V4, or without compression."""
    return Tree(room, VICTIMS[request.param])


@pytest.fixture
def team(room: Path) -> Tree:
    """A team of V0."""
    return Tree(room, VICTIMS["v0"])


# ------------------------------------------------------------------ lines that cannot be used

CALL = b'{"type":"tool/call","seq":1,"time":1,"data":{"callId":"c","name":"bash"}}'
PROMPT = b'{"type":"user/message","seq":1,"time":1,"data":{"id":"m","source":{"kind":"user"}}}'
TASK = (
    b'{"type":"team/task","seq":1,"time":1,"data":{"teamId":"OWN",'
    b'"task":{"id":"t","revision":1,"status":"pending","blockedBy":[]}}}'
)
BIG = b"9" * 30
DEEP = 100_000

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


# ------------------------------------------------------------------ what a log lacks, or has too much of


def test_a_result_that_was_never_written_blames_nobody(tree: Tree) -> None:
    """A call whose result is missing is unanswered, and that is all that changes."""
    lines = tree.lines()
    at = first(lines, b"tool/result")
    tree.write(lines[:at] + lines[at + 1 :])
    tree.run()
    place = tree.session, json.loads(lines[at])["seq"]
    gone = [row.id for row in tree.clean.rows if (row.session, row.seq) == place and row.kind.startswith("tool-")]
    found = {row.id: row.kind for row in rows_of(tree.home)}
    assert [found.get(name) for name in gone] == ["call-unanswered"]
    assert tree.others_are_whole()


@pytest.mark.parametrize(
    "time",
    [
        *(None, True, 0, -T, T // 1000, T * 1_000_000, float(T), float("inf"), float("nan"), 10**30),
        *("2026-11-30T12:00:00Z", "\ud83d", [T], {"ms": T}),
    ],
    ids=ascii,
)
def test_times_that_are_none_are_counted_and_never_made_up(tree: Tree, time: object) -> None:
    """A log whose times are no times loses no judgement: it is placed where it was created, and its lines counted."""
    lines = [json.loads(line) for line in tree.lines()]
    for event in lines[1:]:
        event["time"] = time
    tree.write([json.dumps(event, separators=(",", ":")).encode() for event in lines])
    summary = tree.run()
    own = [row for row in rows_of(tree.home) if row.session == tree.session]
    judged = [row.id for row in tree.clean.rows if row.session == tree.session and row.kind.startswith("tool-")]
    assert sorted(row.id for row in own if row.kind.startswith("tool-")) == sorted(judged)
    assert {row.time for row in own} == {lines[0]["createdAt"]}
    assert summary.lines_undated > 0


def test_a_log_that_begins_in_the_middle_gives_what_it_holds(tree: Tree) -> None:
    """Results whose calls are missing are counted as of no use, not guessed."""
    lines = tree.lines()
    at = first(lines, b"tool/result")
    tree.write([lines[0], *lines[at:]])
    summary = tree.run()
    assert summary.unused.get("result-without-call") == 1
    assert tree.others_are_whole()


def test_a_second_session_in_a_log_is_not_the_first_ones(tree: Tree) -> None:
    """Where two logs were put into one file, the second one's events are not the first one's work, and are told."""
    other = next(path for path in sorted(tree.logs.rglob(tree.victim.name)) if path.parent.name != tree.session)
    lines, data = tree.lines(), other.read_bytes()
    tree.write(lines + (decode(data) if other.suffix == ".zstd" else data).split(b"\n")[:-1])
    summary = tree.run()
    assert evidence_by_session(rows_of(tree.home)) == evidence_by_session(tree.clean.rows)
    assert tree.tells_of(summary, f"{tree.victim}: line {len(lines) + 1}")


def test_a_log_that_is_deleted_leaves_its_evidence(tree: Tree) -> None:
    """What was read stays, whether its logs stay or not."""
    tree.run()
    audit = audit_of(tree.home)
    shutil.rmtree(tree.logs)
    tree.logs.mkdir()
    tree.run()
    assert (audit_of(tree.home), agents_of(tree.home)) == (audit, tree.clean.agents)


@pytest.mark.parametrize("parents", [("b", "a"), ("a", "b"), ("b", "c", "a")], ids=["pair", "itself", "ring"])
def test_parents_in_a_ring_end_the_search(room: Path, parents: tuple[str, ...]) -> None:
    """Sessions that name each other, or themselves, as their parent wait, and are counted as waiting."""
    for session, parent in zip("abc", parents, strict=False):
        log = LogBuilder(session, created_at=T, parent=parent, origin="subagent")
        log.descriptor("Looks around.")
        log.tool("bash")
        log.write(room / "logs")
    for _ in range(2):
        summary = ingest(room / "home", room / "logs")
        assert sum(summary.sessions.values()) == len(parents)


def test_names_are_kept_as_they_are(room: Path) -> None:
    """Escape sequences, markup and marks of direction in a name make neither an error nor another agent."""
    ingest(room / "plain", FIXTURES / "made-names")
    names = {row.subject_name for row in rows_of(room / "plain")}
    assert {"\x1b[31mred\x1b[0m\x1b]0;title\x07", "two\nlines\r\nand\ta tab\u2028and more"} < names
    assert "lone \ufffd surrogate" in names


# ------------------------------------------------------------------ files that are no logs


def headed(**fields: object) -> Callable[[Tree], bytes]:
    """The victim with other fields in its header."""

    def change(tree: Tree) -> bytes:
        lines = tree.lines()
        header = json.loads(lines[0]) | fields
        return packed([line_of(header)[:-1], *lines[1:]])

    return change


def headed_by(line: bytes) -> Callable[[Tree], bytes]:
    """The victim with something else for a header."""
    return lambda tree: packed([line, *tree.lines()[1:]])


def as_utf_16(tree: Tree) -> bytes:
    """The victim's text, as another system would write it."""
    return b"\n".join(tree.lines()).decode().encode("utf-16")


BOMB = bytes.fromhex("28b52ffd0058") + bytes.fromhex("02001000") * 599 + bytes.fromhex("03001000")
"""A frame of 2.4 kB that would hold 79 MB: each block repeats one byte 128 Ki times."""


@pytest.fixture
def bombs_are_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take a frame for a bomb that a test can afford."""
    monkeypatch.setattr("a2a_trust.sources.zstd_frames.FRAME_OUTPUT_LIMIT", 1 << 20)


NO_LOGS: list[tuple[str, Callable[[Tree], bytes], str]] = [
    ("empty", lambda _: b"", "header-unreadable"),
    ("nul-bytes", lambda _: bytes(5000), "header-unreadable"),
    ("a-picture", lambda _: b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 9, "header-unreadable"),
    ("utf-16", as_utf_16, "header-unreadable"),
    ("bomb", lambda _: BOMB, "header-unreadable"),
    ("half-a-header", lambda tree: packed(tree.lines())[:50], "header-unreadable"),
    ("no-header", lambda tree: packed(tree.lines()[1:]), "header-unreadable"),
    ("header-is-a-list", headed_by(b"[]"), "header-unreadable"),
    ("header-is-deep", headed_by(b"[" * DEEP), "header-unreadable"),
    ("header-is-long", lambda tree: b"\n".join([b" " * (2 << 20), *tree.lines()]), "header-unreadable"),
    ("header-of-another-type", headed(type="sessions"), "header-unreadable"),
    ("id-is-a-number", headed(id=5), "header-unreadable"),
    ("id-is-empty", headed(id=""), "header-unreadable"),
    ("id-is-null", headed(id=None), "header-unreadable"),
    ("version-is-text", headed(version="0"), "header-unreadable"),
    ("version-is-nan", headed(version=float("nan")), "header-unreadable"),
    ("version-of-the-future", headed(version=99), "unknown-version"),
    ("seed-beyond-64-bits", headed(seedLength=10**30), "header-unreadable"),
]


@pytest.mark.usefixtures("bombs_are_small")
@pytest.mark.parametrize(("make", "reason"), [case[1:] for case in NO_LOGS], ids=[case[0] for case in NO_LOGS])
def test_a_file_that_is_no_log_is_counted(team: Tree, make: Callable[[Tree], bytes], reason: str) -> None:
    """A file that cannot be read as a log is counted with its path, and the other sessions lose nothing."""
    team.victim.write_bytes(make(team))
    for _ in range(2):
        summary = team.run()
        assert summary.skipped == {reason: 1}
        assert team.tells_of(summary)
        assert team.others_are_whole()


@pytest.mark.parametrize("zstd", [True, False], ids=["packed", "plain"])
def test_a_log_is_known_by_its_content(team: Tree, zstd: bool) -> None:  # noqa: FBT001
    """Whether a log is compressed is told by its first bytes, not by its name."""
    lines = team.lines()
    name = "session.jsonl" if zstd else "session.jsonl.zstd"
    team.victim.unlink()
    (team.victim.parent / name).write_bytes(packed(lines) if zstd else b"".join(ended(lines)))
    assert team.run().skipped == {}
    assert differences(agents_of(team.home), team.clean.agents) == []


def test_a_newer_format_is_counted_and_the_known_one_is_read(tree: Tree) -> None:
    """A log of a format that is not known yet is told of, and the session's newest known log is read."""
    newer = tree.victim.with_name("session.v9.jsonl.zstd")
    shutil.copyfile(tree.victim, newer)
    summary = tree.run()
    assert (summary.skipped, summary.skipped_at) == ({"newer-format": 1}, {"newer-format": [str(newer)]})
    assert differences(agents_of(tree.home), tree.clean.agents) == []


def test_an_older_generation_stands_in_for_an_unreadable_one(room: Path) -> None:
    """Where the header of a session's newest log cannot be read, the one before it is read, and both are told."""
    tree = room / "logs"
    shutil.copytree(FIXTURES / "made-generations", tree)
    newest = sorted(tree.rglob("session.v4.jsonl.zstd"))
    for path in newest:
        path.write_bytes(b"\x00" * 100)
    summary = ingest(room / "home", tree)
    assert sorted(place.partition(": ")[0] for place in summary.skipped_at["header-unreadable"]) == list(
        map(str, newest)
    )
    for path in newest:
        path.unlink()
    ingest(room / "without", tree)
    assert agents_of(room / "home") == agents_of(room / "without")


# ------------------------------------------------------------------ frames


@pytest.mark.parametrize("victim", ["v0", "v4"])
def test_a_damaged_frame_loses_that_frame_only(room: Path, victim: str) -> None:
    """A byte that changed costs the lines of its frame, told with the byte where the frame begins."""
    tree = Tree(room, VICTIMS[victim])
    lines = tree.lines()
    tree.write(lines)
    pieces = frames(tree.victim.read_bytes())
    place = sum(map(len, pieces[:3]))
    tree.victim.write_bytes(b"".join([*pieces[:3], pieces[3][:-6] + b"\x00\x00" + pieces[3][-4:], *pieces[4:]]))
    summary = tree.run()
    assert summary.skipped == {"damaged-frame": 1}
    assert tree.tells_of(summary, f"{tree.victim}: frame at byte {place}: ")
    assert summary.lines == tree.clean.lines - LINES_IN_A_FRAME
    assert tree.others_are_whole()


FOREIGN_BYTES = [
    ("nul-bytes", bytes(4096), 1),
    ("prose", b"Segmentation fault (core dumped)\n", 1),
    ("half-a-frame", frame([b"x" * 99])[:-9], 1),
    ("a-magic-number", b"\x28\xb5\x2f\xfd", 1),
    ("a-skippable-frame", bytes.fromhex("502a4d18") + (9).to_bytes(4, "little") + b"skip this", 0),
    ("a-bomb", BOMB, 1),
]


@pytest.mark.usefixtures("bombs_are_small")
@pytest.mark.parametrize(("data", "skips"), [case[1:] for case in FOREIGN_BYTES], ids=[c[0] for c in FOREIGN_BYTES])
@pytest.mark.parametrize("victim", ["v0", "v4"])
def test_foreign_bytes_between_frames_lose_no_line(room: Path, victim: str, data: bytes, skips: int) -> None:
    """What stands between two frames is passed over and counted once, with its place."""
    tree = Tree(room, VICTIMS[victim])
    pieces = frames(tree.victim.read_bytes())
    place = sum(map(len, pieces[:9]))
    tree.victim.write_bytes(b"".join([*pieces[:9], data, *pieces[9:]]))
    summary = tree.run()
    assert summary.skipped.get("damaged-frame", 0) == skips
    assert tree.tells_of(summary, f"{tree.victim}: frame at byte {place}: ") is bool(skips)
    assert differences(agents_of(tree.home), tree.clean.agents) == []


# ------------------------------------------------------------------ files that cannot be opened, or change under way


def refuse(monkeypatch: pytest.MonkeyPatch, path: Path, file: Callable[[], io.BytesIO]) -> None:
    """Let something else happen when a file is opened."""
    opening = open

    def opened(name: Any, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - stands for the function itself
        return file() if str(name) == str(path) else opening(name, *args, **options)

    monkeypatch.setattr("builtins.open", opened)
    monkeypatch.setattr("io.open", opened)


def denied() -> io.BytesIO:
    """A file that may not be opened."""
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


class Broken(io.BytesIO):
    """A file on a disk that fails."""

    def read(self, _size: int | None = -1, /) -> bytes:
        """Fail as a disk does."""
        raise OSError(errno.EIO, os.strerror(errno.EIO))


@pytest.mark.parametrize("file", [denied, Broken], ids=["permission-denied", "disk-error"])
def test_a_log_that_cannot_be_read_is_counted(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, file: Callable[[], io.BytesIO]
) -> None:
    """A log that may not be opened, or whose disk fails, is counted with its path; when it can be read it is."""
    with monkeypatch.context() as patch:
        refuse(patch, tree.victim, file)
        summary = tree.run()
    assert summary.unreadable == 1
    assert tree.tells_of(summary)
    assert tree.others_are_whole()
    tree.run()
    assert differences(agents_of(tree.home), tree.clean.agents) == []


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="nothing is denied to root")
def test_a_log_without_permission_is_counted(tree: Tree) -> None:
    """A log that may not be read is counted with its path."""
    tree.victim.chmod(0)
    summary = tree.run()
    assert (summary.skipped, tree.tells_of(summary)) == ({"log-unreadable": 1}, True)
    assert tree.others_are_whole()


@pytest.mark.parametrize("error", [PermissionError, FileNotFoundError], ids=["denied", "gone"])
def test_a_folder_that_cannot_be_listed_is_counted(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, error: type[OSError]
) -> None:
    """A folder that may not be listed, or is gone by then, is counted with its path."""
    listing = os.scandir
    folder = tree.victim.parent

    def listed(name: Any) -> Any:  # noqa: ANN401 - stands for the function itself
        if str(name) == str(folder):
            raise error(errno.EACCES, os.strerror(errno.EACCES))
        return listing(name)

    monkeypatch.setattr("os.scandir", listed)
    summary = tree.run()
    assert summary.skipped == {"folder-unreadable": 1}
    assert tree.tells_of(summary, folder)
    assert tree.others_are_whole()


class Thief(DshSource):
    """A source under whose hands a folder is taken away: once its logs are listed, or once a header was read."""

    def __init__(self, folder: Path, *, after_header: bool) -> None:
        """Remember what to take, and when."""
        self._folder = folder
        self._after_header = after_header

    def discover(self, root: Path, skips: Skips) -> Iterator[list[LogFile]]:
        """List all logs first."""
        found = list(super().discover(root, skips))
        if not self._after_header:
            shutil.rmtree(self._folder)
        yield from found

    def header(self, log: LogFile) -> LogHeader:
        """Read the header before."""
        header = super().header(log)
        if self._after_header and Path(log.path).parent == self._folder:
            shutil.rmtree(self._folder)
        return header


@pytest.mark.parametrize("after_header", [False, True], ids=["listed", "header-read"])
def test_a_log_that_vanishes_is_counted(tree: Tree, after_header: bool) -> None:  # noqa: FBT001
    """A log that is gone when it is its turn is counted with its path."""
    source = Thief(tree.victim.parent, after_header=after_header)
    with TrustStore(tree.home, STANDARD) as store:
        summary = run(store, {"dsh": source}, Options(paths=[tree.logs], jobs=1), {})
    assert (summary.skipped, tree.tells_of(summary)) == ({"log-unreadable": 1}, True)
    assert tree.others_are_whole()


def test_a_log_that_shrinks_takes_nothing_back(tree: Tree) -> None:
    """A log that was cut between two runs is read again from its start: nothing is lost and nothing counts twice."""
    data = tree.victim.read_bytes()
    tree.run()
    audit = audit_of(tree.home)
    for length in (len(data) // 2, len(data) // 3, len(data)):
        tree.victim.write_bytes(data[:length])
        tree.run()
        assert audit_of(tree.home) == audit


def test_a_log_that_is_replaced_is_read_as_what_it_is(tree: Tree, room: Path) -> None:
    """Where another session's log stands under a name that was read before, both sessions count."""
    half = tree.victim.read_bytes()
    tree.run()
    newcomer = LogBuilder("newcomer", created_at=T)
    newcomer.turn_start()
    newcomer.tool("bash")
    tree.victim.write_bytes(newcomer.lines())
    tree.run()
    tree.victim.write_bytes(half)
    newcomer.write(tree.logs)
    assert ingest(room / "once", tree.logs).skipped == {}
    assert agents_of(tree.home) == agents_of(room / "once")


def test_a_ring_of_links_ends(tree: Tree) -> None:
    """Links that lead back into the tree are followed once, and no log counts twice."""
    (tree.logs / "again").symlink_to(tree.logs, target_is_directory=True)
    (tree.victim.parent / "up").symlink_to(tree.logs / "sessions", target_is_directory=True)
    (tree.logs / "self").symlink_to(tree.logs / "self")
    (tree.logs / "copy").mkdir()
    (tree.logs / "copy" / tree.victim.name).symlink_to(tree.victim)
    summary = tree.run()
    assert differences(agents_of(tree.home), tree.clean.agents) == []
    assert summary.lines == tree.clean.lines


@pytest.mark.parametrize("target", ["nowhere", "session.v3.jsonl"], ids=["broken", "to-itself"])
def test_a_log_that_is_a_dead_link_is_counted(tree: Tree, target: str) -> None:
    """A link that leads to no log is counted with its path."""
    link = tree.logs / "linked" / "session.v3.jsonl"
    link.parent.mkdir()
    link.symlink_to(target)
    summary = tree.run()
    assert (summary.skipped, tree.tells_of(summary, link)) == ({"log-unreadable": 1}, True)
    assert differences(agents_of(tree.home), tree.clean.agents) == []


def test_a_folder_with_the_name_of_a_log_is_counted(tree: Tree) -> None:
    """A folder that is called like a log is no log, and is counted with its path."""
    folder = tree.logs / "odd" / "session.jsonl"
    folder.mkdir(parents=True)
    for _ in range(2):
        summary = tree.run()
        assert (summary.skipped, tree.tells_of(summary, folder)) == ({"log-unreadable": 1}, True)
    assert differences(agents_of(tree.home), tree.clean.agents) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_with_the_name_of_a_log_is_never_opened(team: Tree) -> None:
    """Opening a pipe would wait for ever: it is no log, and is counted with its path."""
    pipe = team.logs / "odd" / "session.jsonl"
    pipe.parent.mkdir()
    os.mkfifo(pipe)
    skips = Skips()
    found = [log.path for logs in DshSource().discover(team.logs, skips) for log in logs]
    assert str(pipe) not in found
    assert [place for places in skips.places.values() for place in places if place.startswith(str(pipe))]


def test_a_name_that_is_no_text_harms_nobody(team: Tree) -> None:
    """A folder whose name is not UTF-8 is read or counted, and nothing else is lost."""
    folder = Path(os.fsdecode(os.fsencode(team.logs) + b"/\xff\xfe"))
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("this file system takes no such name")
    team.victim.rename(folder / team.victim.name)
    summary = team.run()
    assert team.others_are_whole()
    assert agents_of(team.home) == team.clean.agents or team.tells_of(summary, team.logs)


# ------------------------------------------------------------------ anything at all

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


places = st.integers(0, 1 << 20)
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
