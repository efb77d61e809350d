"""What is left of teams on disk says who owned a task and of which type a member is, where transcripts do not."""

from __future__ import annotations

import itertools
import json
import shutil
from typing import TYPE_CHECKING

import pytest
from claudehomes import agents_of as named_agents_of
from claudehomes import ingest
from claudelog import Transcript, main_file, message, write
from homes import agents_of
from make_claude_fixtures import T, begun

if TYPE_CHECKING:
    from pathlib import Path


pytestmark = pytest.mark.usefixtures("no_waiting")

BOARD = {"id": "1", "subject": "A task", "status": "completed", "owner": "cody", "blocks": [], "blockedBy": []}


def led(team: str = "alpha", *, before: str = "in_progress", named: bool = True) -> dict[str, bytes]:
    """The transcripts of a lead that completes a member's task without saying whose it is, and of the member."""
    lead = begun(1, **({"team": team} if named else {}))
    if not named:
        lead.later().result(lead.later().call("TeamCreate", {"team_name": team}), outcome={"team_name": team})
    lead.recruit("coder", "cody", team, "Write.")
    lead.create_task("1")
    cody = Transcript(2, lead.now + 1_000, team=team, member="cody")
    cody.user(message("team-lead", "Write."))
    cody.work("Edit")
    lead.at(cody.now + 5_000).update_task("1", before, "completed")
    return {main_file(lead): lead.data, main_file(cody): cody.data}


def completions(home: Path) -> dict[str, tuple[int, int]]:
    """Completed tasks of each agent that has any: those that count, and those without work behind them."""
    return {
        name: (stats.tasks_completed, stats.unsupported_completions)
        for name, stats in ((name, agent.stats) for name, agent in named_agents_of(home).items())
        if stats.tasks_completed or stats.unsupported_completions
    }


@pytest.mark.parametrize("before", ["in_progress", "pending"])
@pytest.mark.parametrize(
    ("team", "folder", "named"), [("alpha", "alpha", True), ("Big team!", "big-team-", True), ("alpha", "alpha", False)]
)
def test_the_board_says_whose_a_task_was_that_the_lead_completed(
    tmp_path: Path, team: str, folder: str, before: str, *, named: bool
) -> None:
    """Where the lead's transcript names no owner the member gets what it did, not the lead and not nobody."""
    write(tmp_path, led(team, before=before, named=named))
    write(tmp_path, {f"tasks/{folder}/1.json": json.dumps(BOARD, indent=2), f"tasks/{folder}/.lock": ""})
    summary = ingest(tmp_path / "home", tmp_path / "projects")
    assert (completions(tmp_path / "home"), summary.unused) == ({"coder": (1, 0)}, {})


@pytest.mark.parametrize(
    "board",
    [
        {},
        {"status": "in_progress"},
        {"owner": ""},
        {"owner": None},
        {"owner": ["cody"]},
        {"subject": "Another task of a later team of the same name"},
        {"subject": 7},
        {"id": 2},
        {"id": None},
    ],
    ids=str,
)
def test_a_board_that_says_something_else_is_not_believed(tmp_path: Path, board: dict[str, object]) -> None:
    """Another task, another status or no owner leave it open whose the task was."""
    write(tmp_path, led())
    if board:
        write(tmp_path, {"tasks/alpha/1.json": json.dumps({**BOARD, **board})})
    summary = ingest(tmp_path / "home", tmp_path / "projects")
    assert (completions(tmp_path / "home"), summary.unused) == ({}, {"task-owner-unknown": 1})


@pytest.mark.parametrize(
    "data",
    ["", "{", "[]", "[" * 50_000, '{"id": "1", "subject": "\\ud83d"', '"cody"', json.dumps(BOARD)[:-9], "\x00" * 99],
    ids=range(8),
)
def test_a_board_that_cannot_be_read_costs_nothing_else(tmp_path: Path, data: str) -> None:
    """A file that is being written, or is none, says nothing; the transcripts are read all the same."""
    write(tmp_path, led())
    write(tmp_path, {"tasks/alpha/1.json": data, "teams/alpha/config.json": data})
    summary = ingest(tmp_path / "home", tmp_path / "projects")
    assert (named_agents_of(tmp_path / "home")["coder"].stats.tool_calls, summary.skipped) == (1, {})


def test_what_a_transcript_says_goes_before_the_board(tmp_path: Path) -> None:
    """An owner that was named when the task was completed, or before, stays the owner."""
    files = led()
    lead = begun(3, team="alpha")
    lead.recruit("tester", "tess", "alpha", "Test.")
    lead.create_task("1").update_task("1", owner="tess").update_task("1", "pending", "completed")
    write(tmp_path, {**files, main_file(lead): lead.data, "tasks/alpha/1.json": json.dumps(BOARD)})
    ingest(tmp_path / "home", tmp_path / "projects")
    assert completions(tmp_path / "home") == {"coder": (1, 0), "tester": (0, 1)}


def test_a_board_that_is_gone_takes_nothing_away(tmp_path: Path) -> None:
    """What was recorded stays when the team is deleted, also when everything is read from its start again."""
    files = led()
    write(tmp_path, {**files, "tasks/alpha/1.json": json.dumps(BOARD)})
    ingest(tmp_path / "home", tmp_path / "projects")
    before = agents_of(tmp_path / "home")
    shutil.rmtree(tmp_path / "tasks")
    (tmp_path / "home" / "cache.sqlite").unlink()
    summary = ingest(tmp_path / "home", tmp_path / "projects")
    assert (agents_of(tmp_path / "home"), summary.evidence) == (before, 0)


def test_a_copy_that_lost_its_beginning_asks_no_board(tmp_path: Path) -> None:
    """Of a copy without the task's creation nobody knows which task it is: every copy that knows says the same."""
    (name, data), *others = led().items()
    tail = b"".join(data.splitlines(keepends=True)[-2:])
    for order in ((data, tail), (tail, data)):
        root = tmp_path / str(order[0] is data)
        write(root, {**dict(others), "tasks/alpha/1.json": json.dumps(BOARD)})
        for number, content in enumerate(order):
            write(root, {name.replace("000001", f"00009{number}"): content})
            ingest(root / "home", root / "projects")
    assert agents_of(tmp_path / "True" / "home") == agents_of(tmp_path / "False" / "home")
    assert completions(tmp_path / "True" / "home") == {"coder": (1, 0)}


def test_a_member_of_a_newer_harness_is_known_by_the_prompt_in_the_file_of_its_team(tmp_path: Path) -> None:
    """Where the lead's log is gone and no line names the team, the prompt tells; one that two types share does not."""
    mate = Transcript(2, T, version="2.1.160")
    mate.user(message("team-lead", "Write   the code."))
    mate.work()
    one = {"name": "cody", "agentType": "coder", "prompt": "Write the code."}
    other = {"name": "tess", "agentType": "tester", "prompt": "Write the code."}
    for count, members in enumerate(([one], [one, {**one, "name": "carl"}], [one, other], [{**one, "prompt": 7}, 7])):
        root = tmp_path / str(count)
        write(root, {main_file(mate): mate.data, "teams/t/config.json": json.dumps({"name": "t", "members": members})})
        ingest(root / "home", root / "projects")
    found = [list(named_agents_of(tmp_path / str(count) / "home")) for count in range(4)]
    assert found == [["coder"], ["coder"], [], []]


def joined_late() -> dict[str, bytes]:
    """A lead whose lines name the team only after a while, and who did not spawn the member whose task it completes."""
    first = begun(1, team="alpha")
    first.recruit("coder", "cody", "alpha", "Write.")
    cody = Transcript(2, T + 20_000, team="alpha", member="cody")
    cody.user(message("team-lead", "Write."))
    lead = begun(3).work()
    lead.fields["teamName"] = "alpha"
    lead.at(T + 30_000).create_task("1").update_task("1", owner="cody")
    cody.at(T + 40_000).work("Edit")
    lead.at(T + 50_000).update_task("1", "pending", "completed")
    return {main_file(log): log.data for log in (lead, first, cody)}


def named_late() -> dict[str, bytes]:
    """A session that names its team at once, and itself only later."""
    log = Transcript(1, T, team="alpha")
    log.user("Please do it.")
    log.work()
    log.fields["agentName"] = "cody"
    log.work(good=False)
    return {main_file(log): log.data}


@pytest.mark.parametrize("files", [joined_late(), named_late(), led(named=False)], ids=["joined", "named", "made"])
def test_who_an_agent_is_does_not_depend_on_how_far_its_log_was_read(tmp_path: Path, files: dict[str, bytes]) -> None:
    """Cut behind any line, and read before or after the logs of the others, it comes to the same agents."""
    (name, data), *_ = files.items()
    write(tmp_path / "whole", files)
    ingest(tmp_path / "home", tmp_path / "whole")
    lines = data.splitlines(keepends=True)
    for cut, others in itertools.product(range(1, len(lines)), ({}, files)):
        root = tmp_path / f"{cut}-{len(others)}"
        write(root, {**others, name: b"".join(lines[:cut])})
        ingest(root / "home", root)
        write(root, files)
        ingest(root / "home", root)
        assert agents_of(root / "home") == agents_of(tmp_path / "home")
