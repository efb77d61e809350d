"""Claude Code: what is known to break readers of session logs costs its line and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from claudehomes import agents_of, child_of, ingest, stats_of, trust_of
from claudelog import ABSENT, Transcript, agent_file, line_of, main_file, message, write
from homes import agents_of as encoded_agents_of
from make_claude_fixtures import T, begun, meta

from a2a_trust.lenses import Lens
from a2a_trust.signals import TrustSignals

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("no_waiting")


def faulty(log: Transcript, fault: str) -> bytes:
    """A transcript with one thing wrong between its two pieces of work."""
    log.work()
    own = {"uuid": "u", "sessionId": log.session}
    lines = {
        "malformed": b"{oops\n",
        "redacted": b'{"type":"user","message":"a \\* b"}\n',
        "pretty-printed": b'{\n  "type": "user"\n}\n',
        "spliced": log.lines[-1][:40] + log.lines[-2],
        "missing-end": log.lines[-2].rstrip(b"\n") + b"{half\n",
        "nul-bytes": b"\x00" * 4_096 + b"\n",
        "utf-16": '{"type":"user"}'.encode("utf-16") + b"\n",
        "numeric-keys": line_of({"type": "user", **own, "message": {"0": "a"}}),
        "null-content": line_of(
            {"type": "assistant", "uuid": "u", "sessionId": log.session, "message": {"content": None}}
        ),
        "blocks-that-are-none": line_of({"type": "user", **own, "message": {"content": [None, 7, [], {"type": 3}]}}),
        "infinite": b'{"type":"user","uuid":"u","sessionId":"s","n":Infinity}\n',
        "deep": b'{"type":' + b"[" * 100_000 + b"\n",
        "own-parent": line_of({"type": "system", "uuid": "u", "parentUuid": "u", "sessionId": log.session}),
        "ids-of-other-types": line_of({"type": "user", "uuid": ["u"], "sessionId": 7, "message": {"content": "x"}}),
        "unanswered-by-anybody": line_of({"type": "progress", "uuid": "p", "sessionId": log.session, "data": []}),
    }
    log.raw(lines[fault])
    return log.work().data


FAULTS = [
    "malformed",
    "redacted",
    "pretty-printed",
    "spliced",
    "missing-end",
    "nul-bytes",
    "utf-16",
    "numeric-keys",
    "null-content",
    "blocks-that-are-none",
    "infinite",
    "deep",
    "own-parent",
    "ids-of-other-types",
    "unanswered-by-anybody",
]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_costs_its_line_and_nothing_else(tmp_path: Path, fault: str) -> None:
    """What stands before and behind a bad line counts, and every line is in one count."""
    log = begun(1)
    write(tmp_path, {main_file(log): faulty(log, fault)})
    summary = ingest(tmp_path / "home", tmp_path)
    counted = summary.lines_used + summary.lines_irrelevant + summary.lines_inherited + sum(summary.skipped.values())
    assert (trust_of(tmp_path / "home"), counted) == ({"main": {"competence": (2, 2)}}, summary.lines)


def test_a_line_without_an_end_in_sight_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line above the limit is counted and costs itself, also when it is read in several parts."""
    monkeypatch.setattr("a2a_trust.sources.json_lines.LINE_LIMIT", 4_096)
    monkeypatch.setattr("a2a_trust.sources.json_lines._SEGMENT", 1_000)
    log = begun(1).work()
    log.later().user("x" * 9_000)
    log.work()
    write(tmp_path, {main_file(log): log.data + b"y" * 9_000})
    ingest(tmp_path / "home", tmp_path)
    with (tmp_path / main_file(log)).open("ab") as file:
        file.write(b"\n" + begun(2).work().data)
    summary = ingest(tmp_path / "home", tmp_path)
    assert (summary.skipped, trust_of(tmp_path / "home")) == ({"line-too-long": 1}, {"main": {"competence": (3, 3)}})


def test_a_file_that_moves_adds_nothing(tmp_path: Path) -> None:
    """The same transcript under another project's folder is met again, and known."""
    log = begun(1).work()
    write(tmp_path, {main_file(log): log.data})
    ingest(tmp_path / "home", tmp_path)
    (tmp_path / "projects").rename(tmp_path / "archive")
    summary = ingest(tmp_path / "home", tmp_path)
    assert (summary.evidence, summary.observations, summary.known) == (0, 0, 3)


def test_a_project_is_the_folder_that_the_lines_name(tmp_path: Path) -> None:
    """Two projects whose names give the same folder stay apart in the lens by project."""
    for number, cwd in ((1, "/home/dev/a-b"), (2, "/home/dev/a/b")):
        log = begun(number, cwd=cwd).work()
        write(tmp_path, {main_file(log, cwd): log.data})
    ingest(tmp_path / "home", tmp_path)
    keys = [signal.key for signal in TrustSignals(tmp_path / "home").by(Lens.PROJECT)]
    assert keys == ["/home/dev/a-b", "/home/dev/a/b"]


@pytest.mark.parametrize("hostile", ["re\x00viewer", "\x00", "a/../b", "a\\b", "..", "\ud83dreviewer"], ids=ascii)
def test_a_name_that_is_no_path_is_none(tmp_path: Path, hostile: str) -> None:
    """NUL bytes, folders and half a character in names of types, members, teams and folders reach no file."""
    log = Transcript(1, T, team=hostile, member=hostile, cwd=f"/{hostile}")
    log.recruit(hostile, hostile, hostile, "Go.")
    log.create_task("1").update_task("1", "in_progress", "completed")
    child = child_of(log, "a1", 2, cwd=f"/{hostile}")
    name = agent_file(log, "a1", cwd="x")
    write(tmp_path, {main_file(log, "x"): log.data, name: child.data, "tasks/other/1.json": "{}"})
    write(tmp_path, {name.replace(".jsonl", ".meta.json"): meta(f"{hostile}:{hostile}")})
    summary = ingest(tmp_path / "home", tmp_path / "projects")
    kind = hostile.replace("\ud83d", "\ufffd")
    assert (stats_of(tmp_path / "home", f"{kind}:{kind}").tool_calls, summary.skipped) == (1, {})


def test_a_file_without_a_single_time_gives_rates_and_no_latency(tmp_path: Path) -> None:
    """Nobody is stamped with the time of the reading."""
    log = Transcript(1, T)
    log.stamp(ABSENT).user("Please do it.")
    for _ in range(2):
        log.stamp(ABSENT).user(message("cody", "Ready?"))
        log.stamp(ABSENT).say("Yes.")
        call = log.stamp(ABSENT).call("Read")
        log.stamp(ABSENT).result(call)
    write(tmp_path, {main_file(log): log.data})
    ingest(tmp_path / "home", tmp_path)
    (agent,) = agents_of(tmp_path / "home").values()
    assert (agent.first_seen, agent.last_seen) == (0, 0)
    assert trust_of(tmp_path / "home") == {"main": {"competence": (2, 2)}}


def test_a_file_that_vanishes_or_shrinks_between_two_runs_takes_nothing(tmp_path: Path) -> None:
    """What was recorded outlives its log, and a file that is cut is read from its start."""
    log = begun(1).work().work().work(good=False)
    write(tmp_path, {main_file(log): log.data})
    ingest(tmp_path / "home", tmp_path)
    before = encoded_agents_of(tmp_path / "home")
    write(tmp_path, {main_file(log): log.data[:1_000]})
    ingest(tmp_path / "home", tmp_path)
    (tmp_path / main_file(log)).unlink()
    ingest(tmp_path / "home", tmp_path)
    assert encoded_agents_of(tmp_path / "home") == before
