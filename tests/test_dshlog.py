"""The log builder writes what the harness writes, and the made fixtures are what it builds."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from dshlog import (
    ABSENT,
    LogBuilder,
    decode,
    encode,
    frame,
    frames,
    from_agent,
    from_runtime,
    from_settled,
    from_team,
    is_whole,
    line_of,
    log_name,
    project_dir,
    session_dir,
    tool_block,
)
from make_fixtures import REAL, ROOT, SCENARIOS, T, build

FOLDERS = {
    0: ("a-team", "c-kill-resumed", "e-failures"),
    3: ("v3-a-team",),
    4: ("v4-a-team", "mix-v3-v4"),
}
REAL_LOGS = sorted(path for name in REAL for path in (ROOT / name).rglob("session*.zstd"))
MADE_LOGS = sorted(path for path in ROOT.glob("made-*/**/session*.zstd"))


def relative(path: Path) -> str:
    """The place of a fixture, as the name of a test."""
    return f"{path.relative_to(ROOT).parts[0]}/{path.parent.name}/{path.name}"


def shape(value: object, key: str = "") -> str:
    """The keys of a value in their order, and the types of what stands in them."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{name}:{shape(inner, name)}" for name, inner in value.items()) + "}"
    # How many deltas a model streamed, and which, says nothing about the event.
    if isinstance(value, list) and key != "stream":
        return "[" + "|".join(dict.fromkeys(shape(inner) for inner in value)) + "]"
    return type(value).__name__


def kind_of(event: dict[str, object]) -> str:
    """What an event is: its type, for messages with the kind of their source."""
    data = event.get("data")
    source = data.get("source") if isinstance(data, dict) else None
    return f"{event['type']} {source['kind']}" if isinstance(source, dict) else str(event["type"])


def real_events(generation: int) -> Iterator[dict[str, object]]:
    """All lines of the real logs of a generation."""
    for path in REAL_LOGS:
        if path.relative_to(ROOT).parts[0] in FOLDERS[generation] and path.name == log_name(generation):
            for line in decode(path.read_bytes()).split(b"\n"):
                if line:
                    yield json.loads(line)


def full_log(generation: int) -> LogBuilder:
    """A log with every event that a generation has."""
    log = LogBuilder("a", created_at=T, generation=generation, parent="lead", origin="subagent")
    log.descriptor("Writes code.")
    log.end_seed()
    if generation == 3:
        log.end_seed(inherited=True)
    log.turn_start()
    log.step()
    log.splice("next-turn", removed=1)
    log.user("Please go on.")
    log.user("The context.", from_runtime(generation, "No restriction."))
    log.user("It is done.", from_team("lead", "message", "b", "tester"))
    if generation == 4:
        log.user("It is done.", from_agent("b"))
        log.job("call", "ls", 3)
    if generation == 0:
        log.chunks("reasoning", ["I ", "will ", "look."])
        log.chunks("text", ["I ", "will ", "look."])
        log.chunks("tool-call", ["{", "}", " "], call="call")
    log.assistant("I will look.", reasoning="First", calls=[tool_block("call", "read")])
    log.assistant("I will")
    log.assistant("I will", interrupted=True)
    log.retry()
    call = log.tool("read")
    log.tool("read", "Error: not found", is_error=True, code="FS_NOT_FOUND")
    log.approval(call, "read", "rejected")
    if generation == 0:
        log.repair(call)
    else:
        log.catalog("b", T, "Tests code.")
    log.step_end()
    log.turn_end()
    log.turn_end({"kind": "aborted", "reason": {"kind": "parent"}})
    log.member("b", "tester", "Tests code.")
    log.task("task-1", 1, "pending")
    log.task("task-1", 2, "in_progress", "b")
    log.task("task-1", 3, "completed", "b")
    log.delivered(log.queued("a", "lead", "b"), "b")
    return log


@pytest.mark.parametrize("generation", FOLDERS)
def test_lines_have_the_shape_of_real_ones(generation: int) -> None:
    """Every line has the keys of a real line of its kind, in their order, with values of the same types."""
    real: dict[str, set[str]] = {}
    for event in real_events(generation):
        real.setdefault(kind_of(event), set()).add(shape(event))
    built = [json.loads(line) for line in full_log(generation).lines().splitlines()]
    seen = [event for event in built if kind_of(event) in real]
    assert [shape(event) for event in seen if shape(event) not in real[kind_of(event)]] == []
    # What the real logs of a generation do not hold cannot be compared; that must stay the exception.
    unseen = {kind_of(event) for event in built} - set(real)
    assert unseen <= {"approval/asked", "approval/decided"}


def test_settled_notices_have_the_shape_of_real_ones() -> None:
    """The notice that a subagent went idle has the source and the summary of a real one."""
    real = [event["data"] for event in real_events(0) if kind_of(event) == "user/message subagent-settled"]
    sources = [data["source"] for data in real if isinstance(data, dict)]
    assert sources
    for source in sources:
        built = [
            from_settled(source["senderSessionId"], how) for how in ("finished", "failed", "out-of-room", "stopped")
        ]
        assert source in built
        assert [*source] == [*built[0]]


@pytest.mark.parametrize("path", [*REAL_LOGS, *MADE_LOGS], ids=relative)
def test_logs_fall_into_their_frames(path: Path) -> None:
    """Cut at its frame boundaries a log loses nothing, and only the last frame can be torn."""
    data = path.read_bytes()
    pieces = frames(data)
    assert b"".join(pieces) == data
    assert all(is_whole(piece) for piece in pieces[:-1])
    assert json.loads(decode(pieces[0]))["type"] == "session"
    # The magic number, then a descriptor that says: a checksum, no content size, more than one segment.
    assert {piece[:5] for piece in pieces} == {bytes.fromhex("28b52ffd04")}


def test_built_frames_have_the_window_of_the_harness() -> None:
    """A built frame asks for a window of 2 MiB, as the harness does however short a frame is."""
    assert frame([b"x"])[:6] == bytes.fromhex("28b52ffd0458")


def test_a_log_can_be_encoded_again() -> None:
    """Raw lines that are framed again decode to the same lines in the same frames."""
    batches = [decode(piece) for piece in frames(REAL_LOGS[0].read_bytes())]
    again = encode([batch] for batch in batches)
    assert [decode(piece) for piece in frames(again)] == batches


def test_torn_frames_hold_whole_lines() -> None:
    """The last frames of `made-torn` are torn behind whole lines: one in its checksum, the others in a line."""
    tails = []
    for path in sorted((ROOT / "made-torn").rglob("session*.zstd")):
        last = frames(path.read_bytes())[-1]
        assert not is_whole(last)
        lines = decode(last).split(b"\n")
        assert len(lines) > 2
        assert all(json.loads(line) for line in lines[:-1])
        tails.append(bool(lines[-1]))
    assert sorted(tails) == [False, True, True]


def test_each_made_tree_is_a_later_state_or_stands_alone() -> None:
    """No two made trees share a session, but for the torn one and what became of it."""
    trees: dict[str, set[str]] = {}
    for path in MADE_LOGS:
        trees.setdefault(path.parent.name, set()).add(path.relative_to(ROOT).parts[0])
    assert {frozenset(names) for names in trees.values() if len(names) > 1} == {
        frozenset({"made-torn", "made-torn-later"})
    }


def test_frames_follow_the_builder() -> None:
    """The header has a frame of its own, and every closed frame holds the lines since the one before."""
    log = LogBuilder("a", created_at=T)
    log.turn_start()
    log.frame().frame().turn_end()
    assert [decode(piece).count(b"\n") for piece in frames(log.zstd())] == [1, 1, 1]
    assert decode(log.zstd()) == log.lines() == b"".join(log.batches())


def test_the_clock_and_the_numbers_are_cursors() -> None:
    """Events take time and number from the cursors, unless the next one is told otherwise."""
    log = LogBuilder("a", created_at=T)
    log.turn_start()
    log.later(5).stamp("soon").number("first")
    log.turn_end()
    log.stamp(None).chunks("text", ["a", "b", "c"], dt=2)
    log.unstamped().number(ABSENT)
    log.turn_start()
    log.renumber(40).at(T)
    log.turn_end()
    cursors = [(event.get("seq", "-"), event.get("time", "-")) for event in log.events]
    assert cursors == [(0, T), ("first", "soon"), ("-", "-"), ("-", "-"), (40, T)]
    assert [log.events[2]["seq0"], log.events[2]["time0"]] == [2, T + 5]


@pytest.mark.parametrize(
    ("cwd", "name"),
    [
        ("/home/dev/project", "--home-dev-project--"),
        ("C:\\dev\\my project", "--C-dev-my~0020project--"),
        ("/", "--root--"),
        ("/home/dev/caf\u00e9~\U0001f600", "--home-dev-caf~00E9~007E~D83D~DE00--"),
        (None, "_no-cwd"),
    ],
)
def test_project_directories_follow_the_working_directory(cwd: str | None, name: str) -> None:
    """A project directory is named after its working directory as the harness names it."""
    assert project_dir(cwd) == name


def test_session_directories_escape_what_a_path_could_mean() -> None:
    """Dots and slashes of a session id never reach the file system."""
    assert session_dir("../a_b-1") == "~002E~002E~002Fa_b-1"


def test_lines_are_written_as_javascript_writes_them() -> None:
    """Only control characters and lone surrogates are escaped, and nothing is padded."""
    line = line_of({"a": ["\ud83d", "\U0001f600", "\u2028\x1b", 1e30]})
    assert line == '{"a":["\\ud83d","\U0001f600","\u2028\\u001b",1e+30]}\n'.encode()


def test_made_fixtures_are_what_the_script_writes(tmp_path: Path) -> None:
    """The script writes the same bytes each time, and what it writes is what is kept."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        build(tmp_path / name)
    one, two = (
        {
            path.relative_to(tmp_path / name): path.read_bytes()
            for path in (tmp_path / name).rglob("*")
            if path.is_file()
        }
        for name in ("one", "two")
    )
    assert one == two
    kept = {path.relative_to(ROOT): path.read_bytes() for path in ROOT.glob("made-*/**/*") if path.is_file()}
    assert one.pop(Path("README.md")).decode() == (ROOT / "README.md").read_text(encoding="utf-8")
    expected = json.loads((ROOT / "expected.json").read_text(encoding="utf-8"))
    assert json.loads(one.pop(Path("expected.json"))) == {name: expected[name] for name in SCENARIOS}
    assert set(expected) == {*REAL, *SCENARIOS}
    assert sorted(one) == sorted(kept)
    # Another release of zstd may compress to other bytes; frames and lines are what counts.
    assert {path: [decode(piece) for piece in frames(data)] for path, data in one.items()} == {
        path: [decode(piece) for piece in frames(data)] for path, data in kept.items()
    }
