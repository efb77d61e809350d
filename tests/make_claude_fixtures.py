"""Write the made transcripts below `fixtures/claude-code`, and what each must give.

Run as a script it writes `made-*/`, `expected.json` and `README.md`; the same bytes at each run. Every expectation is
a hand-written list of judgements in the order of their times; only the step formula is computed, by `make_fixtures`.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from claudelog import (
    ABSENT,
    Transcript,
    agent_file,
    line_of,
    main_file,
    message,
    protocol,
    session_id,
    slug,
    write,
)
from make_fixtures import fold, readme_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ROOT: Final = Path(__file__).resolve().parent.parent / "fixtures" / "claude-code"
T: Final = 1_796_100_000_000
"""The millisecond at which every made session starts."""
PROVIDER: Final = "claude-code"
POLICIES: Final = ("standard", "seed")

Files = dict[str, bytes | str]


@dataclass(frozen=True)
class Agent:
    """What one agent must get: judgements in the order of their times, and what moves no score."""

    name: str
    context: str
    standard: str = ""
    seed: str = ""
    """Judgements under `seed`, which scores teammates only."""
    description: str = ""
    excused: Mapping[str, int] = field(default_factory=dict)
    unsupported: int = 0
    failed_spawns: int = 0
    runs: Mapping[str, int] = field(default_factory=dict)
    """Runs by how they stand: `ended`, `stopped`, `open`."""


@dataclass(frozen=True)
class Scenario:
    """Files, what they are for, and what they must give."""

    text: str
    files: Files
    agents: tuple[Agent, ...]
    sessions: int
    """Logs in the files, each as often as a file holds it."""
    waiting: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)


def main(standard: str, **more: object) -> Agent:
    """Return what the main sessions must get together."""
    return Agent("main", "root", standard, **more)  # type: ignore[arg-type]


def subagent(name: str, standard: str, description: str = "", **more: object) -> Agent:
    """Return what a type of subagent must get."""
    return Agent(name, "subagent", standard, description=description, **more)  # type: ignore[arg-type]


def mate(name: str, standard: str, seed: str | None = None, description: str = "", **more: object) -> Agent:
    """Return what a type of teammate must get."""
    seed = standard if seed is None else seed
    return Agent(name, "team", standard, seed, description, **more)  # type: ignore[arg-type]


def definition(name: str, description: str) -> str:
    """Return a file that defines an agent type; the description as it stands in the file."""
    return f"---\nname: {name}\ndescription: {description}\ntools: Read, Edit\nmodel: inherit\n---\n\nYou are {name}.\n"


def begun(number: int, **fields: object) -> Transcript:
    """Open a transcript with a prompt."""
    log = Transcript(number, T, **fields)  # type: ignore[arg-type]
    log.later().user("Please do it.")
    return log


def meta(kind: str) -> str:
    """Return the file beside a subagent's log."""
    return json.dumps({"agentType": kind, "description": "A job"})


# The scenarios.


def outcomes(number: int) -> Scenario:
    """Let one main session meet every class of outcome."""
    log = begun(number, version="2.1.149")
    log.bookkeeping("custom-title", customTitle="Outcomes").bookkeeping("summary", summary="…", leafUuid="x")
    log.work().work(good=False)
    failures = [
        ("Bash", "Exit code 2\nmake: *** [test]"),
        ("Edit", "The user doesn't want to proceed with this tool use. The tool use was rejected."),
        ("mcp__tracker__file", "The user doesn't want to take this action right now. STOP what you are doing."),
        ("Read", "<tool_use_error>Sibling tool call errored</tool_use_error>"),
        ("Read", "Cancelled: parallel tool call Bash(make) errored"),
        ("Bash", "[Request interrupted by user for tool use]"),
        ("Bash", "Hook PreToolUse:Bash denied this tool"),
        ("Bash", "Permission to use Bash with command rm has been denied."),
        ("Bash", "posix_spawn '/bin/zsh' ENOENT"),
        ("Write", "<tool_use_error>File has not been read yet. Read it first before writing to it.</tool_use_error>"),
        ("Grep", "<tool_use_error>InputValidationError: Grep failed: pattern is missing</tool_use_error>"),
        ("Fly", "<tool_use_error>Error: No such tool available: Fly</tool_use_error>"),
        ("mcp__tracker__file", "Exit code 2"),
        ("Bash", "It said: The user doesn't want to proceed with this tool use"),
        ("ExitPlanMode", "Not this plan."),
    ]
    for tool, text in failures:
        log.later().result(log.later().call(tool, {}), text, error=True)
    log.later().result(log.later().call("NotebookEdit"), "No.", outcome={"success": False, "message": "no cell"})
    log.later().result(log.later().call("Glob"), [{"type": "text", "text": "a\nb"}], error=False, outcome=["a", "b"])
    log.later().result(log.later().call("Read"), "x", outcome="a string")
    log.later().result(log.later().call("TodoWrite", {"todos": []}), outcome={"oldTodos": [], "newTodos": []})
    log.later().call("Bash", {"command": "sleep 1"})
    log.later().user("[Request interrupted by user]")
    log.later().user("Go on.")
    log.later().add(
        "assistant",
        isApiErrorMessage=True,
        message={"model": "<synthetic>", "role": "assistant", "content": [{"type": "text", "text": "API Error"}]},
    )
    log.work("Bash")
    excused = {"denied": 2, "sibling_failed": 2, "aborted": 1, "policy": 2, "environment": 1}
    return Scenario(
        "One main session, every class of outcome: what the user, a sibling, a hook, a permission or the machine is "
        "the reason for, exit codes, mistakes, `success: false` without `is_error`, another maker's tool that says "
        "what only the harness's own may, an excuse in the middle of a text, an unanswered call, a synthetic API "
        "error.",
        {main_file(log): log.data},
        (main("ok err ok err err err err err err ok ok ok", excused=excused),),
        sessions=1,
    )


def subagents(number: int) -> Scenario:
    """Spawn subagents in the current layout."""
    log = begun(number)
    files: Files = {}
    kinds = [("reviewer", "rev"), ("plug:helper", "help"), ("Explore", "expl"), (None, "gen")]
    calls = [(log.spawn(kind, f"Job {agent}."), kind, agent) for kind, agent in kinds]
    for call, kind, agent in calls:
        child = Transcript(number * 10 + len(files) + 1, T + 10_000, session=log.session, agent=agent)
        child.user(f"Job {agent}.")
        child.work().work(good=False)
        child.later().say("All done.")
        files[agent_file(log, agent)] = child.data
        files[agent_file(log, agent).replace(".jsonl", ".meta.json")] = meta(kind or "general-purpose")
        log.at(child.now).spawned(call, agent, agentType=kind or "general-purpose")
    log.later().result(log.spawn("ghost", "Boo."), "Agent type 'ghost' not found.", error=True)
    denied = "The user doesn't want to proceed with this tool use."
    log.later().result(log.spawn("reviewer", "Boo."), denied, error=True)
    launched = log.spawn("Explore", "Later.", run_in_background=True)
    log.later().result(launched, outcome={"isAsync": True, "status": "async_launched", "agentId": "bg"})
    log.later().user(notice("bg", "completed"))
    log.spawn("Explore", "Never answered.")
    flow = Transcript(number * 10 + 9, T + 90_000, session=log.session, agent="wf1")
    flow.user("A step.")
    flow.work()
    folder = "subagents/workflows/wf_made"
    files[agent_file(log, "wf1", folder=folder)] = flow.data
    files[agent_file(log, "wf1", folder=folder).replace(".jsonl", ".meta.json")] = meta("workflow-subagent")
    files[f"projects/{slug('/home/dev/project')}/{log.session}/{folder}/journal.jsonl"] = line_of({"type": "started"})
    log.work()
    files |= {
        main_file(log): log.data,
        "agents/reviewer.md": definition("reviewer", '"Reviews code.\\n\\n<example>Say: \\"look\\"</example>"'),
        "plugins/cache/market/plug/1.0.0/agents/helper.md": definition("helper", ">\n  Helps\n    with:   things"),
        "plugins/cache/market/plug/1.0.0/.claude-plugin/plugin.json": json.dumps({"name": "plug"}),
    }
    return Scenario(
        "The current layout: a file for each subagent with a `.meta.json` beside it, one in a workflow; types that are "
        "defined by the user and by a plugin, built in, and not named at all. Then a type that is not there, a spawn "
        "that the user refused, one in the background that a notice ends, one that never ends.",
        files,
        (
            main("ok", excused={}),
            subagent("reviewer", "ok err", 'Reviews code. <example>Say: "look"</example>', runs={"ended": 1}),
            subagent("plug:helper", "ok err", "Helps with: things", runs={"ended": 1}),
            subagent("Explore", "ok err", runs={"ended": 2}),
            subagent("general-purpose", "ok err", runs={"ended": 1}),
            subagent("workflow-subagent", "ok"),
            subagent("ghost", "", failed_spawns=1),
        ),
        sessions=6,
    )


def older(number: int) -> Scenario:
    """Spawn subagents in the layout of 2.0: beside the main file, without a file that names their type."""
    log = begun(number, version="2.0.60")
    call = log.spawn("planner", "Plan it.", tool="Task")
    child = Transcript(number * 10 + 1, T + 10_000, session=log.session, agent="0a1b", version="2.0.60")
    child.user("Plan it.")
    child.work().work()
    for event in child.events:
        log.add("progress", data={"type": "agent_progress", "agentId": "0a1b", "message": event}, toolUseID=call)
    log.at(child.now).spawned(call, "0a1b")
    orphan = Transcript(number * 10 + 2, T, session=session_id(number + 500), agent="0c2d", version="2.0.60")
    orphan.user("Whose am I?")
    orphan.work()
    folder = f"projects/{slug('/home/dev/project')}"
    return Scenario(
        "The layout of 2.0: subagents beside the main file, named only by their spawner's result, their lines inlined "
        "there as `progress` too. The spawner of one is not there: its judgements wait.",
        {
            main_file(log): log.data,
            f"{folder}/agent-0a1b.jsonl": child.data,
            f"{folder}/agent-0c2d.jsonl": orphan.data,
        },
        (main(""), subagent("planner", "ok ok", runs={"ended": 1})),
        sessions=3,
        waiting=1,
    )


def inline(number: int) -> Scenario:
    """Spawn subagents in the oldest layout: between the lines of their parent."""
    log = begun(number, version="1.0.58")
    first, second = log.spawn("scout", "Look left.", tool="Task"), log.spawn("writer", "Write it.", tool="Task")
    one = Transcript(number * 10 + 1, T + 10_000, session=log.session, sidechain=True, version="1.0.58")
    two = Transcript(number * 10 + 2, T + 10_500, session=log.session, sidechain=True, version="1.0.58")
    one.user("Look left.")
    two.user("Write it.")
    one.work().work(good=False)
    two.work("Write")
    for pair in zip(one.lines, [*two.lines, *[b""] * len(one.lines)], strict=False):
        for line in pair:
            log.raw(line)
    log.at(T + 20_000).spawned(first, "")
    log.spawned(second, "")
    log.work()
    return Scenario(
        "The oldest layout: two subagents whose lines stand interleaved in their parent's file, without an id; each is "
        "known by its prompt.",
        {main_file(log): log.data},
        (
            main("ok"),
            subagent("scout", "ok err", runs={"ended": 1}),
            subagent("writer", "ok", runs={"ended": 1}),
        ),
        sessions=3,
    )


def team(number: int) -> Scenario:
    """Run a team: tasks, rework, messages, and what looks like them."""
    name = f"alpha{number}"
    lead = begun(number, team=name)
    lead.later().result(lead.later().call("TeamCreate", {"team_name": name}), outcome={"team_name": name})
    for task in "12345":
        lead.create_task(task)
    lead.recruit("coder", "cody", name, "Write the code.")
    lead.recruit("tester", "tess", name, "Test the code.")
    lead.update_task("2", owner="tess").update_task("4", owner="cody")
    cody = Transcript(number * 10 + 1, T + 60_000, team=name, member="cody")
    cody.user(message("team-lead", "Write the code."))
    cody.update_task("1", "pending", "in_progress", owner="cody").work("Edit")
    cody.update_task("1", "in_progress", "completed")
    cody.later().user(message("tess", "Is it ready?"))
    cody.later(5).say("It is.")
    cody.send("tess", "It is ready.").send("tess", {"type": "shutdown_request"})
    cody.send("tess", json.dumps({"type": "idle_notification"}))
    cody.later().user(message("tess", protocol("idle_notification")) + "\n" + message("system", "tess left"))
    cody.later(90_000).say("Nothing to answer.")
    cody.update_task("3", "pending", "in_progress").update_task("3", "in_progress", "completed")
    cody.update_task("5", "pending", "in_progress").update_task("5", "in_progress", "deleted")
    tess = Transcript(number * 10 + 2, T + 60_500, team=name, member="tess")
    tess.user(message("team-lead", "Test the code."))
    tess.later().user(message("cody", "It is ready.") + "\n" + message("team-lead", "How far are you?"))
    tess.later(61_000).say("Testing.")
    tess.work("Bash")
    tess.later().user(message("cody", "And now?"))
    tess.later(700_000).say("Still testing.")
    call = tess.later().call("SendMessage", {"type": "broadcast", "content": "All green.", "summary": "Green"})
    told = {"success": True, "message": "Message broadcast", "recipients": ["team-lead", "cody"]}
    tess.later(5).result(call, outcome=told)
    lead.at(tess.now).update_task("2", "pending", "completed")
    lead.update_task("5", "deleted", "pending")
    board = {"id": "1", "subject": "A task", "status": "completed", "owner": "cody", "blockedBy": []}
    lead.later(5).result(lead.later().call("TaskList"), outcome={"tasks": [board]})
    lead.update_task("1", "completed", "in_progress").update_task("4", "pending", "completed")
    lead.later().result(
        lead.later().call("TaskUpdate", {"taskId": "9", "status": "completed"}),
        "Task not found",
        outcome={"success": False, "taskId": "9", "error": "Task not found"},
    )
    return Scenario(
        "A team whose members write transcripts of their own. cody claims task 1, works and completes it, and the lead "
        "reopens it; completes task 3 without work; deletes task 5. The lead completes task 2 for tess, who worked "
        "since it was hers, and task 4 for cody, who did too, but task 9 is not there. Answers after 5 ms, 61 s (two "
        "messages on one line) and 700 s; a first prompt, idle notifications and the words of the system need none. A "
        "broadcast to two; a shutdown and a notification that are no messages.",
        {
            main_file(lead): lead.data,
            main_file(cody): cody.data,
            main_file(tess): tess.data,
            "agents/coder.md": definition("coder", "Writes code: fast, and well"),
        },
        (
            main(""),
            mate(
                "coder",
                "ok done fast sent reopen done",
                "ok ok done ok fast sent ok ok ok ok done ok ok ok done",
                "Writes code: fast, and well",
                unsupported=1,
            ),
            mate("tester", "slow slow ok late sent sent done", "slow slow ok late sent sent ok done"),
        ),
        sessions=3,
    )


def resume(number: int) -> Scenario:
    """Copy history: a resume, two kinds of forks, a part of a history, a longer copy of a file."""
    log = begun(number)
    log.work().work(good=False)
    half = len(log.events)
    log.work("Bash")
    resumed = Transcript(number * 10 + 1, log.now, session=session_id(number * 10 + 1), parent=log.events[-1]["uuid"])  # type: ignore[arg-type]
    resumed.later().user("Where were we?")
    resumed.work(good=False)
    branch = Transcript(
        number * 10 + 2, log.now + 30_000, session=session_id(number * 10 + 2), parent=log.events[half - 1]["uuid"]
    )  # type: ignore[arg-type]
    branch.later().user("Another way.")
    branch.work("Write")
    newer = Transcript(number * 10 + 3, log.now + 50_000, session=session_id(number * 10 + 3), parent="x")
    newer.later().user("A third way.")
    newer.work("Write").work("Write")
    tail = Transcript(
        number * 10 + 4, log.now + 90_000, session=session_id(number * 10 + 4), parent=log.events[-1]["uuid"]
    )  # type: ignore[arg-type]
    tail.later().user("After a while.")
    tail.work("Glob")
    moved = "/home/dev/elsewhere"
    copied = log.copied(resumed.session, cwd=moved, gitBranch="other")
    files: Files = {
        main_file(log): log.data,
        # An older harness resumes into a new file, under a new session, with all the history.
        main_file(resumed, moved): copied + resumed.data,
        # A fork from the middle.
        main_file(branch): log.copied(branch.session, upto=half) + branch.data,
        # A newer fork has uuids of its own and says whence they came.
        main_file(newer): log.forked(newer.session, number * 10 + 3) + newer.data,
        # Only the end of a history, under the session that it had; then a session of its own.
        main_file(tail): log.copied(since=half) + tail.data,
        # A copy of a file from before it grew, in a backup.
        f"projects/backup/{log.session}.jsonl": log.copied(upto=half),
    }
    return Scenario(
        "One history in six files: resumed under a new session in another folder, forked from its middle, forked with "
        "new uuids, its end alone in front of another session, an older copy. What all of them repeat counts once.",
        files,
        (main("ok err ok err ok ok ok ok"),),
        sessions=7,
    )


def two_sessions(number: int) -> Scenario:
    """Put two sessions into one file, begin in mid-session, repeat lines with other bytes."""
    one, two = begun(number), begun(number + 500)
    one.work()
    copies = [line_of({**event, "gitBranch": "other", "cwd": "/home/dev/elsewhere"}) for event in one.events]
    cut = Transcript(number * 10 + 1, T + 50_000, session=session_id(number * 10 + 1), parent="lost")
    lost = "toolu_00000000lost0000made"
    cut.result(lost, "Too late.", error=True)
    cut.work("Bash")
    cut.update_task("7", "in_progress", "completed")
    two.work("Write", good=False)
    two.later().result(two.later().call("Read", call="call_1"))
    two.later().result(two.later().call("Read", call="call_1"))
    return Scenario(
        "Two sessions in one file, the first one's lines twice, with other bytes the second time; a file that begins "
        "in mid-session, with a result whose call is lost and a task whose owner is; a gateway that counts its calls "
        "instead of naming them.",
        {main_file(one): one.data + b"".join(copies) + two.data, main_file(cut): cut.data},
        (main("ok err ok ok ok"),),
        sessions=3,
    )


def clock(number: int) -> Scenario:
    """Run the clock backwards, and leave it out."""
    log = begun(number)
    log.work()
    log.later(-48 * 3_600_000).work(good=False)
    log.at(T + 100_000)
    for bad in (ABSENT, None, "yesterday", "1999-12-31T23:59:59Z", 17, "2026-11-30T00:00:00"):
        call = log.stamp(bad).call("Read", {})
        log.stamp(bad).result(call)
    boss = f"beta{number}"
    lead = begun(number * 10 + 1, team=boss)
    lead.recruit("clerk", "carl", boss, "Wait.")
    carl = Transcript(number * 10 + 2, T + 60_000, team=boss, member="carl")
    carl.user(message("team-lead", "Wait."))
    carl.stamp(ABSENT).user(message("team-lead", "Undated?"))
    carl.later().say("Yes.")
    carl.later().user(message("team-lead", "Backwards?"))
    carl.later(-5_000).say("Yes.")
    carl.later(10_000).user(message("team-lead", "And forwards?"))
    carl.later(20).say("Yes.")
    return Scenario(
        "A clock that jumps back 48 hours; lines without a time, or with one that is none; a time without a zone, "
        "which is UTC. An undated message and an answer from before its message have no latency.",
        {main_file(log): log.data, main_file(lead): lead.data, main_file(carl): carl.data},
        (main("ok ok ok ok ok err ok ok"), mate("clerk", "fast")),
        sessions=3,
    )


def damaged(number: int) -> Scenario:
    """Damage lines in every way that has been seen."""
    log = begun(number)
    log.lines[0] = b"\xef\xbb\xbf" + log.lines[0]
    log.work()
    log.raw(b"{\n").raw(b"\x00" * 64 + b"\n").raw(b"[1,2]\n").raw(b"17\n").raw(b'"user"\n').raw(b"\n")
    log.raw(b'{"type":"user","message":{"0":"a","1":"b"},"sessionId":7,"uuid":[]}\n')
    log.raw(b'{"type":"assistant","message":null}\n').raw(b'{"type":"newer-than-us","uuid":"u","sessionId":"s"}\n')
    log.raw(b'{"type":"user","n":' + b"9" * 5_000 + b"}\n").raw(b"[" * 50_000 + b"\n")
    log.raw(line_of({"type": "user", "sessionId": log.session, "uuid": "nan"})[:-2] + b',"cost":NaN}\n')
    call = log.later().call("Read", {"file_path": "a\x00b\u2028c\ud83d"})
    log.later().result(call, "lone \ud83d surrogate\u2029")
    call = log.later().call("Bash")
    log.later().result(call)
    glued = log.lines.pop(-2).rstrip(b"\n") + log.lines.pop(-1)
    log.raw(glued)
    log.work(good=False)
    whole = log.data
    log.work()
    return Scenario(
        "A byte order mark, malformed lines, NUL bytes, JSON that is no line, wrong shapes, a kind that nobody knows, "
        "a number of 5,000 digits, nesting of 50,000, NaN, lone surrogates, separators that are no line ends, two "
        "records on one line, and at the end half a line.",
        {main_file(log): whole + log.data[len(whole) :][:-9]},
        (main("ok ok ok err"),),
        sessions=1,
        skipped={"malformed-line": 3, "unknown-type": 1, "wrong-shape": 6},
    )


def names(number: int) -> Scenario:
    """Name types in every way that could hurt."""
    hostile = [
        "[bold red]coder[/] <script>alert(1)</script>",
        "\x1b[31mred\x1b[0m\x07",
        "two\nlines",
        "\u202eesrever\u202c",
        "unit\x1fseparator",
        "x" * 300,
        "caf\u00e9",
        "cafe\u0301",
        "../../etc/passwd",
        " ",
    ]
    log = begun(number)
    files: Files = {}
    for count, kind in enumerate(hostile):
        agent = f"n{count}"
        child = Transcript(number * 100 + count, T + 10_000, session=log.session, agent=agent)
        child.user("Go.")
        child.work()
        files[agent_file(log, agent)] = child.data
        files[agent_file(log, agent).replace(".jsonl", ".meta.json")] = meta(kind)
    files[main_file(log)] = log.data
    return Scenario(
        "Types named with markup, terminal escapes, line breaks, right-to-left marks, U+001F, 300 characters, one name "
        "in two Unicode normalisations (two agents), a path, one blank.",
        files,
        (main(""), *(subagent(kind, "ok") for kind in hostile)),
        sessions=len(hostile) + 1,
    )


def runs(number: int) -> Scenario:
    """Run subagents to their end, into a failure, and not to an end at all; in the background and waited for."""
    log = begun(number, version="2.1.20")
    log.spawned(log.spawn("builder", "Build."), "b0")
    for count, kind in enumerate(("builder", "builder", "builder", "digger", "digger"), 1):
        call = log.spawn(kind, f"Job {count}.", run_in_background=True)
        log.later(5).result(call, outcome={"isAsync": True, "status": "async_launched", "agentId": f"b{count}"})
    log.later().user(notice("b4", "running"))
    half = len(log.events)
    log.later().user(notice("b1", "completed"))
    log.later().user(notice("shell-7", "failed"))
    log.work()
    log.later().add("attachment", attachment=queued(notice("b2", "completed")))
    log.later().add("attachment", attachment={"type": "todo_reminder", "content": []})
    log.later().result(
        log.later().call("TaskOutput", {"task_id": "b3"}),
        outcome={"retrieval_status": "success", "task": {"task_id": "b3", "status": "completed"}},
    )
    log.later().user(notice("b5", "failed"))
    dug = log.spawn("digger", "Dig.")
    log.later().add("progress", data={"type": "agent_progress", "agentId": "d1", "prompt": "Dig."}, parentToolUseID=dug)
    log.later().result(dug, "[Request interrupted by user for tool use]", error=True)
    log.later().result(log.spawn("ghost", "Boo."), "Agent type 'ghost' not found.", error=True)
    walk = log.spawn("walker", "Walk.", tool="Task")
    walker = Transcript(number * 10 + 1, log.now + 10, session=log.session, agent="0e3f", version="2.1.20")
    walker.user("Walk.")
    walker.work().work(good=False)
    for event in walker.events:
        shown = {"type": "agent_progress", "agentId": "0e3f", "message": event}
        log.later().add("progress", data=shown, parentToolUseID=walk, toolUseID="agent_msg_made")
    fork = Transcript(number * 10 + 2, log.now + 50_000, parent=log.events[half - 1]["uuid"])  # type: ignore[arg-type]
    fork.later().user(notice("b1", "completed"))
    fork.work("Bash")
    folder = f"projects/{slug('/home/dev/project')}"
    return Scenario(
        "Runs. builder comes to its end four times: waited for, by a notice, by a notice in the middle of a turn, and "
        "asked for; a fork has another notice of the second. digger still runs, failed, and was interrupted; ghost "
        "could not start; walker still runs and is known by what is shown of it in its spawner's log. A notice of a "
        "shell, and one that says that a run goes on, end nothing.",
        {
            main_file(log): log.data,
            main_file(fork): log.copied(fork.session, upto=half) + fork.data,
            f"{folder}/agent-0e3f.jsonl": walker.data,
        },
        (
            main("ok ok"),
            subagent("builder", "", runs={"ended": 4}),
            subagent("digger", "", runs={"stopped": 2, "open": 1}),
            subagent("ghost", "", failed_spawns=1),
            subagent("walker", "ok err", runs={"open": 1}),
        ),
        sessions=3,
    )


def board(number: int) -> Scenario:
    """Leave the files of teams that are still there to say what the transcripts do not."""
    name = f"gamma{number}"
    lead = begun(number, team=name)
    lead.recruit("coder", "cody", name, "Write the code.")
    for task in "123":
        lead.create_task(task, f"Task {task}")
    cody = Transcript(number * 10 + 1, lead.now + 1_000, team=name, member="cody")
    cody.user(message("team-lead", "Write the code."))
    cody.work("Edit").work("Edit", good=False)
    lead.at(cody.now + 1_000)
    for task in "123":
        lead.update_task(task, "in_progress", "completed")
    stray = Transcript(number * 10 + 2, T + 90_000, version="2.1.160")
    stray.user(message("team-lead", "Test the code."))
    stray.work("Bash")
    held = {"id": "1", "subject": "Task 1", "status": "completed", "owner": "cody", "blocks": [], "blockedBy": []}
    member = {"name": "tess", "agentId": "tess@delta", "agentType": "tester", "prompt": "Test the code."}
    return Scenario(
        "The files of two teams. The lead completes three tasks and names no owner: of the first the board says that "
        "it was cody's, the second bears another title there, the third is not there. Of a member whose lead's "
        "transcript is gone its team's `config.json` knows the prompt.",
        {
            main_file(lead): lead.data,
            main_file(cody): cody.data,
            main_file(stray): stray.data,
            f"tasks/{name}/1.json": json.dumps(held, indent=2),
            f"tasks/{name}/2.json": json.dumps({**held, "id": "2", "subject": "Of another time"}, indent=2),
            f"tasks/{name}/.highwatermark": "3",
            "teams/delta/config.json": json.dumps({"name": "delta", "members": [member]}, indent=2),
        },
        (main(""), mate("coder", "ok err done"), mate("tester", "ok")),
        sessions=3,
    )


def notice(agent: str, status: str) -> str:
    """Return what the harness says of a run in the background."""
    return f"<task-notification>\n<task-id>{agent}</task-id>\n<status>{status}</status>\n</task-notification>"


def queued(said: str) -> dict[str, str]:
    """Return a notice as it reaches an agent in the middle of its turn."""
    return {"type": "queued_command", "prompt": said, "commandMode": "task-notification"}


SCENARIOS: Final[dict[str, tuple[int, Callable[[int], Scenario]]]] = {
    "made-outcomes": (1, outcomes),
    "made-subagents": (2, subagents),
    "made-subagents-older": (3, older),
    "made-subagents-inline": (4, inline),
    "made-team": (5, team),
    "made-resume": (6, resume),
    "made-two-sessions": (7, two_sessions),
    "made-clock": (8, clock),
    "made-damaged": (9, damaged),
    "made-names": (10, names),
    "made-runs": (11, runs),
    "made-board": (12, board),
}


# What is written.


def fingerprint(agent: Agent) -> str:
    """Return the first digits of an agent's fingerprint, for fields without U+001F."""
    fields = (agent.name, agent.description, PROVIDER, agent.context)
    return hashlib.sha256("\x1f".join(fields).encode()).hexdigest()[:12]


def expectation(scenario: Scenario) -> dict[str, object]:
    """Return the entry of a scenario in `expected.json`."""
    policies: dict[str, dict[str, object]] = {policy: {} for policy in POLICIES}
    evidence = dict.fromkeys(POLICIES, 0)
    for agent in scenario.agents:
        for policy in POLICIES:
            if policy == "seed" and agent.context != "team":
                continue
            kinds, trust = fold(agent.standard if policy == "standard" else agent.seed)
            policies[policy][agent.name] = {
                **({} if "\x1f" in agent.name else {"fingerprint": fingerprint(agent)}),
                "kinds": kinds,
                "trust": trust,
                "unattributable": dict(agent.excused),
                "failedSpawns": agent.failed_spawns,
                "runs": {"ended": 0, "stopped": 0, "open": 0, **agent.runs},
                "unsupportedCompletions": agent.unsupported if policy == "standard" else 0,
            }
            evidence[policy] += sum(kinds.values())
    counts = {"sessions": scenario.sessions, "waiting": scenario.waiting, "skipped": dict(scenario.skipped)}
    return {**counts, "evidence": evidence, **policies}


def readme(scenarios: Mapping[str, Scenario], expected: Mapping[str, Mapping[str, object]]) -> str:
    """Return the text of `README.md`."""
    lines = [
        "# Transcripts of Claude Code for the tests",
        "",
        "Each folder stands for a configuration folder (`~/.claude`): `projects`, and where it matters `agents`,",
        "`plugins`, `teams` and `tasks`. All are written by `tests/make_claude_fixtures.py`; nothing in them comes",
        "from a real session.",
        "",
        "`expected.json` says what each must give, under the policies `standard` and `seed`. `sessions` counts logs: a",
        "session or a subagent, once for each file it stands in; `waiting` those whose agent only another log could",
        "name; `skipped` the lines that could not be used, by reason. `kinds` counts what is folded, a completed task",
        "once for each dimension; `trust` is `[value, samples, good]`; `runs` are those of subagents: come to an end,",
        "cut short, or without an end so far.",
        "",
        "| folder | what it holds |",
        "|---|---|",
        *(f"| {name} | {scenario.text} |" for name, scenario in scenarios.items()),
        "",
        "## What they must give",
        "",
        "Each dimension as value/samples/good. `T` is 1796100000000, where every made session starts.",
    ]
    for name, entry in expected.items():
        skipped = entry["skipped"]
        assert isinstance(skipped, dict)
        left_out = ", ".join(f"{count} {reason}" for reason, count in skipped.items()) or "nothing skipped"
        lines += ["", f"### {name}", "", f"{entry['sessions']} sessions, {entry['waiting']} waiting, {left_out}."]
        evidence = entry["evidence"]
        assert isinstance(evidence, dict)
        for policy in POLICIES:
            agents = entry[policy]
            assert isinstance(agents, dict)
            lines += ["", f"`{policy}`: {evidence[policy]} evidence", ""]
            lines += readme_table(agents) if agents else ["No agent is scored."]
    return "\n".join(lines) + "\n"


def build(root: Path) -> None:
    """Write all made trees below `root`, and the two files that say what they must give."""
    scenarios = {name: make(number) for name, (number, make) in SCENARIOS.items()}
    for name, scenario in scenarios.items():
        shutil.rmtree(root / name, ignore_errors=True)
        write(root / name, scenario.files)
    expected = {name: expectation(scenario) for name, scenario in scenarios.items()}
    text = json.dumps(expected, ensure_ascii=True, indent=1)
    write(root, {"expected.json": text + "\n", "README.md": readme(scenarios, expected)})


if __name__ == "__main__":
    build(ROOT)
