"""Claude Code: where its transcripts and definitions are found, who its agents are, and what is whose fault."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from claudehomes import agents_of, child_of, ingest, trust_of
from claudelog import CWD, Transcript, agent_file, line_of, main_file, message, slug, write
from make_claude_fixtures import ROOT, T, begun, definition, meta

from a2a_trust import facts
from a2a_trust.health import examine
from a2a_trust.policy import is_coordination, load_policy
from a2a_trust.sources.base import Skips
from a2a_trust.sources.claude_agents import front_matter
from a2a_trust.sources.claude_code import ClaudeCodeSource
from a2a_trust.sources.claude_results import classify
from a2a_trust.store import read_ledger
from a2a_trust.store.reader import read_all_rows

pytestmark = pytest.mark.usefixtures("no_waiting")


# ------------------------------------------------------------------ where things are


@pytest.mark.parametrize(
    ("environ", "expected"),
    [({"CLAUDE_CONFIG_DIR": "/srv/claude"}, Path("/srv/claude/projects")), ({}, Path("~/.claude/projects"))],
    ids=["moved", "default"],
)
def test_transcripts_are_looked_for_where_the_harness_keeps_them(environ: dict[str, str], expected: Path) -> None:
    """`CLAUDE_CONFIG_DIR` moves the folder."""
    assert ClaudeCodeSource().default_roots(environ) == [expected.expanduser()]


def test_files_that_are_no_transcripts_are_left_alone(tmp_path: Path) -> None:
    """A name that says nothing is told by its first lines; other makers' JSON lines are none of ours."""
    log = begun(1)
    write(
        tmp_path,
        {
            "renamed.jsonl": log.data,
            "session.jsonl": line_of({"type": "session", "id": "s", "version": 0}),
            "journal.jsonl": line_of({"type": "started", "sessionId": "x"}),
            "other.jsonl": line_of({"type": "user", "text": "hello"}),
            "notes.txt": log.data,
        },
    )
    found = [Path(logs[0].path).name for logs in ClaudeCodeSource().discover(tmp_path, Skips())]
    assert found == ["renamed.jsonl"]


def test_a_link_that_leads_back_ends_no_search(tmp_path: Path) -> None:
    """Loops are walked once, and dangling links cost themselves."""
    log = begun(1).work()
    write(tmp_path, {main_file(log): log.data})
    (tmp_path / "projects" / "loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "projects" / "00000000-0000-4000-8000-00000000dead.jsonl").symlink_to(tmp_path / "nowhere")
    summary = ingest(tmp_path / "home", tmp_path / "projects")
    assert (summary.sessions, summary.skipped) == ({"main": 1}, {"log-unreadable": 1})


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_costs_itself(tmp_path: Path) -> None:
    """The other transcripts are read, and the run says what was not."""
    one, two = begun(1).work(), begun(2).work()
    write(tmp_path, {main_file(one): one.data, main_file(two): two.data})
    (tmp_path / main_file(two)).chmod(0)
    summary = ingest(tmp_path / "home", tmp_path)
    assert (summary.sessions, summary.unreadable) == ({"main": 1}, 1)


def test_doctor_shows_every_source(tmp_path: Path) -> None:
    """Each installed source is named with the place where it looks, whether that exists or not."""
    report = examine(tmp_path, {"CLAUDE_CONFIG_DIR": str(ROOT / "made-team"), "DSH_HOME": "/nowhere"})
    found = {source.source: (source.exists, source.sessions) for source in report.sources}
    assert (found["claude-code"], found["dsh"][0], "jsonl" in found) == ((True, 3), False, True)


# ------------------------------------------------------------------ who is who


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Plain text.", "Plain text."),
        ("'It''s quoted.'", "It's quoted."),
        ('"Say \\"hi\\".\\nTwice."', 'Say "hi". Twice.'),
        ("Use it: always\\n\\n<example>user: x</example>", "Use it: always <example>user: x</example>"),
        (">\n  Folded\n  text.", "Folded text."),
        ("|-\n  Literal\n\n  text.", "Literal text."),
        ("First line\n  and the second: one", "First line and the second: one"),
        ("", ""),
    ],
    ids=["plain", "single", "double", "no-yaml", "folded", "literal", "continued", "empty"],
)
def test_descriptions_are_read_as_people_and_models_write_them(value: str, expected: str) -> None:
    """Every way to write a description gives its words, with single blanks between them."""
    assert front_matter(definition("reviewer", value)).get("description", "") == expected


@pytest.mark.parametrize("content", ["", "no front matter", "---\nname: x\n", "---\n- a list\n---\n", "\x00\ufffd---"])
def test_a_file_without_front_matter_defines_nothing(content: str) -> None:
    """What does not begin as a definition, or never ends, is none."""
    assert front_matter(content) == {}


def test_the_definition_of_the_project_goes_before_that_of_the_user(tmp_path: Path) -> None:
    """The same type defined twice is what the project says."""
    cwd = tmp_path / "project"
    log = begun(1, cwd=str(cwd))
    write(
        tmp_path,
        {
            agent_file(log, "a"): child_of(log, "a", 11, cwd=str(cwd)).data,
            agent_file(log, "a").replace(".jsonl", ".meta.json"): meta("reviewer"),
            "agents/reviewer.md": definition("reviewer", "The user's."),
            "project/.claude/agents/deep/reviewer.md": definition("reviewer", "The project's."),
        },
    )
    ingest(tmp_path / "home", tmp_path / "projects")
    assert agents_of(tmp_path / "home")["reviewer"].profile.description == "The project's."


def test_an_edited_definition_changes_nothing_that_was_recorded(tmp_path: Path) -> None:
    """A session keeps the description it was first read with; a later session has the new one."""
    for number, text in ((1, "Old."), (2, "New.")):
        log = begun(number)
        child = child_of(log, f"a{number}", number + 10)
        name = agent_file(log, f"a{number}")
        write(tmp_path, {name: child.data, name.replace(".jsonl", ".meta.json"): meta("reviewer")})
        write(tmp_path, {"agents/reviewer.md": definition("reviewer", text)})
        ingest(tmp_path / "home", tmp_path / "projects")
        (tmp_path / name).write_bytes(child.work().data)
        ingest(tmp_path / "home", tmp_path / "projects")
    found = {
        agent.profile.description: agent.stats.tool_calls for agent in read_ledger(tmp_path / "home").agents.values()
    }
    assert found == {"Old.": 2, "New.": 2}


def test_a_subagent_waits_for_the_log_that_names_it(tmp_path: Path) -> None:
    """Without a file that names its type its findings wait for the result of its spawner's call."""
    log = begun(1)
    call = log.spawn("planner", "Do it.", tool="Task")
    early = log.data
    log.at(T + 30_000).spawned(call, "0a")
    name = f"projects/{slug(CWD)}/agent-0a.jsonl"
    write(tmp_path, {main_file(log): early, name: child_of(log, "0a", 11).data})
    first = ingest(tmp_path / "home", tmp_path)
    write(tmp_path, {main_file(log): log.data})
    second = ingest(tmp_path / "home", tmp_path)
    assert (first.sessions.get("waiting"), second.waiting) == (1, 0)
    assert trust_of(tmp_path / "home")["planner"] == {"competence": (1, 1)}


def test_a_teammate_of_a_newer_harness_is_known_by_its_prompt(tmp_path: Path) -> None:
    """Lines that no longer name team and member still begin with the prompt that the lead gave."""
    lead, mate = begun(1), Transcript(2, T + 20_000, version="2.1.160")
    lead.recruit("coder", "cody", "alpha", "Write   the code.")
    mate.user(message("team-lead", "Write the code."))
    mate.work()
    write(tmp_path, {main_file(lead): lead.data, main_file(mate): mate.data})
    ingest(tmp_path / "home", tmp_path)
    found = agents_of(tmp_path / "home")["coder"].profile
    assert (found.role, found.context, trust_of(tmp_path / "home")["coder"]) == (
        "teammate",
        "team",
        {"competence": (1, 1)},
    )


def test_a_teammate_is_known_by_the_file_of_its_team_too(tmp_path: Path) -> None:
    """Where the lead's log is gone the team's own file names the type, and another team of the same name does not."""
    mate = Transcript(2, T, team="alpha", member="cody")
    mate.user(message("team-lead", "Write."))
    mate.work()
    team = {"name": "alpha", "members": [{"name": "cody", "agentType": "coder"}]}
    other = {"name": "beta", "members": [{"name": "cody", "agentType": "other"}]}
    write(
        tmp_path,
        {
            main_file(mate): mate.data,
            "teams/first/config.json": json.dumps(other),
            "teams/half/config.json": json.dumps(team)[:-5],
            "teams/any-folder/config.json": json.dumps(team),
        },
    )
    ingest(tmp_path / "home", tmp_path / "projects")
    assert trust_of(tmp_path / "home") == {"coder": {"competence": (1, 1)}}


def test_nothing_of_an_instance_is_in_an_identity(tmp_path: Path) -> None:
    """Two runs of a type under other ids, names, colours, titles and prompts are one agent."""
    for number in (1, 2):
        log = begun(number, cwd=f"/srv/{number}")
        call = log.spawn("reviewer", f"Job {number}.", name=f"name{number}", model=f"model{number}")
        log.later().spawned(call, f"a{number}")
        name = agent_file(log, f"a{number}")
        child = child_of(log, f"a{number}", number + 10, cwd=f"/srv/{number}")
        write(tmp_path, {main_file(log): log.data, name: child.data})
    ingest(tmp_path / "home", tmp_path)
    assert {name: agent.stats.sessions for name, agent in agents_of(tmp_path / "home").items()} == {
        "main": 2,
        "reviewer": 2,
    }


# ------------------------------------------------------------------ what is whose fault


@pytest.mark.parametrize(
    ("tool", "text", "reason"),
    [
        ("Bash", "The user doesn't want to proceed with this tool use. …", "denied"),
        ("mcp__x__y", "The user doesn't want to proceed with this tool use. …", "denied"),
        ("ExitPlanMode", "whatever the user said", "denied"),
        ("Bash", "spawn /bin/zsh ENOENT", "environment"),
        ("mcp__x__y", "spawn /bin/zsh ENOENT", None),
        ("Read", "File does not exist.", None),
        ("Bash", "Output: Sibling tool call errored", None),
        ("Bash", "", None),
        ("Bash", f"Permission to use Bash with command {'x' * 400} has been denied."[: facts.TEXT_START], "policy"),
        ("Edit", f"Claude requested permissions to write to /{'x' * 400}, but"[: facts.TEXT_START], "policy"),
        ("Bash", "It said: Permission to use Bash has been denied.", None),
        ("Bash", "Permission for this action has been denied. Reason: …", "policy"),
        ("mcp__x__y", "PreToolUse:mcp__x__y hook error: [check.sh]: no", "policy"),
        ("Write", "PreToolUse:Write hook error: [check.sh]: no", "policy"),
        ("Write", "PostToolUse:Write hook error: [check.sh]: no", None),
        ("Bash", "Bash operation blocked by hook:\n- no", "policy"),
        ("Bash", "The last operation blocked by hook", None),
        ("Bash", "Hook PreToolUse:Bash denied this tool", "policy"),
        ("Bash", "Hook PreToolUse: says no", "policy"),
        ("Bash", "This command requires approval", "policy"),
        ("mcp__x__y", "This command requires approval", None),
        ("Bash", "<error>Command was aborted before completion</error>", "aborted"),
        ("Bash", "out\n<error>Command was aborted before completion</error>", None),
        ("AskUserQuestion", "User declined to answer questions", "denied"),
        ("Bash", "User declined to answer questions", None),
        ("mcp__x__y", 'MCP server "x" is not connected', "environment"),
        ("mcp__x__y", "MCP error -32001: Request timed out", "environment"),
        ("mcp__x__y", "MCP error -32602: Invalid arguments", None),
        ("WebFetch", "Request failed with status code 503", "environment"),
        ("WebFetch", "Request failed with status code 404", None),
        ("Bash", "Request failed with status code 503", None),
        ("WebSearch", "socket hang up", "environment"),
        ("WebFetch", "Unable to verify if domain example.org is safe to fetch.", "environment"),
        ("Agent", "API Error: 529 Overloaded", "provider_error"),
        ("Task", "API Error: Connection error.", "provider_error"),
        ("Agent", "It ended with API Error: 529", None),
        ("Bash", "API Error: 529 Overloaded", None),
    ],
)
def test_an_excuse_stands_at_the_start_and_is_the_harness_s_own(tool: str, text: str, reason: str | None) -> None:
    """What a tool of another maker says of its surroundings excuses nobody."""
    assert classify(tool, facts.Failure("", text)) == reason


@pytest.mark.parametrize(
    ("tool", "text", "interrupted", "kind", "reason"),
    [
        ("Bash", "", True, "tool-unattributable", "aborted"),
        ("Bash", "Exit code 137", True, "tool-unattributable", "aborted"),
        ("Bash", "", False, "tool-success", None),
        ("Bash", "", "true", "tool-success", None),
        ("mcp__x__y", "", True, "tool-success", None),
    ],
)
def test_a_command_that_was_interrupted_is_no_success(  # noqa: PLR0913, PLR0917 - a table
    tmp_path: Path, tool: str, text: str, interrupted: object, kind: str, reason: str | None
) -> None:
    """Only the structured part of its result says so, and only that of the harness's own tool is believed."""
    log = begun(1)
    log.result(log.call(tool, {"command": "sleep 9"}), text, error=False, outcome={"interrupted": interrupted})
    write(tmp_path, {main_file(log): log.data})
    ingest(tmp_path / "home", tmp_path)
    rows = [row for row in read_all_rows(tmp_path / "home") if row.kind.startswith(("tool-", "exit-"))]
    assert [(row.kind, row.evidence.reason) for row in rows] == [(kind, reason)]


@pytest.mark.parametrize(
    ("text", "error", "reason", "observed"),
    [
        ("API Error: 529 Overloaded", True, "provider_error", []),
        ("API Error: 529 Overloaded", False, "provider_error", ["run-stopped"]),
        ("Agent type 'reviewer' not found.", True, None, ["spawn-failed"]),
        ("All done; the API Error: is mended.", False, None, ["run-ended"]),
    ],
)
def test_an_agent_that_its_provider_failed_is_no_failed_spawn(
    tmp_path: Path, text: str, *, error: bool, reason: str | None, observed: list[str]
) -> None:
    """It neither ran to its end nor could it not start; who it was is known all the same."""
    log = begun(1)
    child = child_of(log, "a1", 2)
    told = {"status": "completed", "agentId": "a1"}
    call = log.spawn("reviewer", "Do it.")
    log.later().result(call, text, error=error, **({} if error else {"outcome": told}))
    write(tmp_path, {main_file(log): log.data, f"projects/{slug(CWD)}/agent-a1.jsonl": child.data})
    ingest(tmp_path / "home", tmp_path)
    rows = list(read_all_rows(tmp_path / "home"))
    assert [row.kind for row in rows if row.kind in ("run-ended", "run-stopped", "spawn-failed")] == observed
    assert [row.evidence.reason for row in rows if row.evidence.tool == "Agent"] == [reason]
    assert bool(trust_of(tmp_path / "home").get("reviewer")) is not error


def test_coordination_tools_are_in_the_policy() -> None:
    """Calls to boards, mailboxes and other agents are recorded and not folded."""
    standard = load_policy("standard")
    coordination = ("Agent", "Task", "SendMessage", "TaskUpdate", "TeamCreate", "TodoWrite", "ExitPlanMode")
    assert [tool for tool in coordination if not is_coordination(standard, tool)] == []
    assert not is_coordination(standard, "Bash")


def test_work_of_another_session_supports_no_completion(tmp_path: Path) -> None:
    """A session that completes its task without work is not helped by another that works at the time."""
    idle, busy = begun(1), begun(2)
    idle.create_task("1").update_task("1", "pending", "in_progress")
    busy.work().work().work()
    idle.later(60_000).update_task("1", "in_progress", "completed")
    write(tmp_path, {main_file(idle): idle.data, main_file(busy): busy.data})
    ingest(tmp_path / "home", tmp_path)
    assert agents_of(tmp_path / "home")["main"].stats.unsupported_completions == 1


def test_a_fork_that_lost_who_owned_a_task_judges_nobody(tmp_path: Path) -> None:
    """The end of a history, without the line that named the owner, does not make the lead the owner."""
    log = begun(1, team="alpha1")
    log.recruit("coder", "cody", "alpha1", "Write.")
    log.create_task("1").update_task("1", owner="cody")
    half = len(log.events)
    log.update_task("1", "in_progress", "completed")
    tail = Transcript(2, T + 50_000)
    for order in ((0, 1), (1, 0)):
        files = [
            {main_file(log): log.data},
            {main_file(tail): log.copied(tail.session, since=half)},
        ]
        home = tmp_path / f"home-{order[0]}"
        for number in order:
            write(tmp_path / f"logs-{order[0]}", files[number])
            ingest(home, tmp_path / f"logs-{order[0]}")
        owners = {row.subject_name for row in read_all_rows(home) if row.kind == "task-completed"}
        assert owners == {"coder"}
