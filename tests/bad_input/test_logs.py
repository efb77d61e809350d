"""Logs of strangers: what one lacks or has too much of, and what is no log at all."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest
from brokenlogs import DEEP, LINES_IN_A_FRAME, VICTIMS, T, Tree, ended, first, packed
from dshlog import LogBuilder, decode, frame, frames, line_of
from homes import FIXTURES, agents_of, audit_of, differences, evidence_by_session, ingest, rows_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


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
