"""Write the made logs below `fixtures/dsh`, and what each must give.

Run as a script it writes `made-*/sessions`, the made part of `expected.json`, and `README.md`; the same bytes at each
run. Every expectation is a hand-written list of judgements in key order. Only the step formula is computed here, apart
from the library on purpose: what is tested must not make its own answers.
"""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dshlog import (
    ABSENT,
    LogBuilder,
    frame,
    from_agent,
    from_runtime,
    from_team,
    tool_block,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

ROOT: Final = Path(__file__).resolve().parent.parent / "fixtures" / "dsh"
T: Final = 1_796_100_000_000
"""The millisecond at which every made session starts."""

POLICIES: Final = ("standard", "seed")
DIMENSIONS: Final = ("competence", "reliability", "integrity", "communication")
BOTH: Final = ("competence", "reliability")
JUDGEMENTS: Final[dict[str, tuple[str, tuple[str, ...], float]]] = {
    "ok": ("tool-success", ("competence",), 0.8),
    "err": ("tool-error", ("competence",), 0.0),
    "done": ("task-completed", BOTH, 1.0),
    "reopen": ("task-reopened", BOTH, 0.0),
    "sent": ("message-sent", ("communication",), 0.7),
    "fast": ("response-latency", ("communication",), 1.0),
    "slow": ("response-latency", ("communication",), 0.5),
    "late": ("response-latency", ("communication",), 0.0),
}
REAL: Final = {
    "a-team": "V0: a Lead, a fresh researcher and implementer, a forked reviewer; a whole life of a task board",
    "b-shared-home": "V0: one home, three Leads, two working directories, the same teammate definitions",
    "c-kill-killed": "V0: the tree right after a kill: the Lead's last frame is torn, a teammate's turn is open",
    "c-kill-resumed": "V0: the same tree after it was resumed: repaired tail, made-up results",
    "e-failures": "V0: a failed spawn, an LLM error, denials, sandbox errors, compaction, cancellations",
    "f-fork": "V0: a user's fork of a Lead that then runs a team of its own",
    "g-raw": "V0: written without compression",
    "mix-v3-v4": "V3 and V4 side by side: a V3 session that a V4 harness resumed",
    "v3-a-team": "V3: the a-team again",
    "v4-a-team": "V4: the a-team again",
}


@dataclass(frozen=True)
class Agent:
    """What one agent must get: judgements in key order, and what moves no score."""

    profile: tuple[str, str, str, str]
    standard: str = ""
    seed: str | None = None
    """As under `standard` where it is `None`."""
    excused: Mapping[str, int] = field(default_factory=dict)
    excused_seed: Mapping[str, int] | None = None
    unsupported: int = 0
    failed_spawns: int = 0
    hashed: bool = True
    """Whether the plain rule gives the fingerprint: no separator and no lone surrogate in a field."""


@dataclass(frozen=True)
class Log:
    """One log file of a tree: its builder, or its bytes where the builder's own would be too whole."""

    builder: LogBuilder
    data: bytes | None = None


@dataclass(frozen=True)
class Scenario:
    """A tree of logs, what it is for, and what it must give."""

    text: str
    logs: tuple[Log, ...]
    agents: Mapping[str, Agent]
    waiting: int = 0
    skipped: int = 0


def step(value: float, quality: float) -> float:
    """Return the value of a dimension after one judgement."""
    alpha = 0.10 if quality >= 0.5 else 0.30
    return math.floor((alpha * quality + (1 - alpha) * value) * 1e6 + 0.5) / 1e6


def fold(history: str) -> tuple[dict[str, int], dict[str, list[float | int]]]:
    """Return the counts by kind and [value, samples, good] by dimension for judgements in key order."""
    kinds: dict[str, int] = {}
    trust: dict[str, list[float | int]] = {}
    for kind, dims, quality in (JUDGEMENTS[word] for word in history.split()):
        kinds[kind] = kinds.get(kind, 0) + len(dims)
        for dim in dims:
            value, samples, good = trust.get(dim, [0.5, 0, 0])
            trust[dim] = [step(value, quality), samples + 1, good + (quality >= 0.5)]
    return dict(sorted(kinds.items())), {dim: trust[dim] for dim in DIMENSIONS if dim in trust}


# Pieces that the scenarios share.


def lead_id(tree: int, number: int = 1) -> str:
    """Return the session id of a made Lead; no two trees share one, so that all can be read at once."""
    return f"session-00000000-0000-4000-8000-{tree:04}{number:04}0001"


def mate_id(tree: int, number: int) -> str:
    """Return the session id of a made teammate or subagent."""
    return f"00000000-0000-4000-8000-{tree:04}{number:04}0002"


def tree_of(session: str) -> int:
    """Return the number of the tree that a session belongs to."""
    return int(session[-12:-8])


def main(standard: str) -> Agent:
    """Return what the main agents of a tree must get together."""
    return Agent(("main", "", "", "root"), standard)


def coder(
    standard: str,
    seed: str | None = None,
    *,
    name: str = "coder",
    excused: Mapping[str, int] | None = None,
    unsupported: int = 0,
) -> Agent:
    """Return what a teammate that was made by `mate` must get."""
    profile = (name, f"Works as {name}.", "spawn", "fresh")
    return Agent(profile, standard, seed, excused=excused or {}, unsupported=unsupported)


def lead(tree: int, number: int = 1, generation: int = 0) -> LogBuilder:
    """Open the log of a root session whose first turn has read one file by `T + 30`."""
    log = LogBuilder(lead_id(tree, number), created_at=T, generation=generation)
    log.end_seed()
    log.turn_start()
    log.step()
    log.frame().later(10).user("Please build it.")
    log.user("Current runtime context.", from_runtime(generation, "No restriction."))
    log.frame().later(10).assistant("", reasoning="I read first.", calls=[tool_block("call_lead", "read")])
    log.later(10).result(log.call("read", call="call_lead"))
    return log.frame()


def child(parent: LogBuilder, number: int, *, label: str, model: str = "script-1") -> LogBuilder:
    """Open the log of a fresh subagent of `parent` at the parent's time."""
    log = LogBuilder(
        mate_id(tree_of(parent.session), number),
        created_at=parent.now,
        generation=parent.generation,
        parent=parent.session,
        origin="subagent",
    )
    log.descriptor(label, agent_model=model)
    log.end_seed()
    prompted(log, model)
    return log


def prompted(log: LogBuilder, model: str = "script-1") -> None:
    """Give a session its first turn, its prompt and a first message of its model."""
    log.turn_start()
    log.step()
    log.frame().later(5).user("Do your part.")
    log.frame().later(5).assistant("On it.", model=model)
    log.frame()


def mate(parent: LogBuilder, number: int, name: str = "coder", *, model: str = "script-1") -> LogBuilder:
    """Spawn a teammate and open its log."""
    label = f"Works as {name}."
    parent.later(10).spawn(mate_id(tree_of(parent.session), number), name, label)
    parent.frame()
    return child(parent, number, label=label, model=model)


def tell(parent: LogBuilder, to: LogBuilder, at: int, delivery: str = "wakeup") -> str:
    """Let the Lead send a team message that reaches the teammate in the same millisecond."""
    message = parent.at(at).queued(parent.session, "lead", to.session, delivery=delivery)
    parent.delivered(message, to.session)
    parent.frame()
    to.at(at).user("Please go on.", from_team(parent.session, message, parent.session, "lead"))
    to.frame()
    return message


def work(log: LogBuilder, at: int, *, good: bool = True) -> None:
    """Let a session run one work tool."""
    log.at(at).tool("bash", "ok" if good else "Error: cannot read", is_error=not good)
    log.frame()


def logs(*builders: LogBuilder) -> tuple[Log, ...]:
    """Return the logs as they are."""
    return tuple(Log(builder) for builder in builders)


# The scenarios.


def same_ms(tree: int) -> Scenario:
    """Put judgements of one agent and dimension on one millisecond."""
    first, second = lead(tree, 1), lead(tree, 2)
    one, two = mate(first, 1), mate(second, 2)
    first.at(T + 500).task("task-1", 1, "pending")
    first.at(T + 600).task("task-1", 2, "in_progress", one.session)
    work(one, T + 1000, good=False)
    work(one, T + 1000)
    work(two, T + 1000)
    work(two, T + 1000, good=False)
    work(one, T + 2000)
    first.at(T + 2000).task("task-1", 3, "completed", one.session)
    tell(first, one, T + 10_000)
    tell(second, two, T + 10_000, "quiet")
    tell(first, one, T + 70_000)
    one.at(T + 75_000).assistant()
    two.at(T + 75_000).assistant()
    return Scenario(
        "Judgements of one agent and dimension in one millisecond: in one session, in two, and in one event "
        "(one answer to two messages, 65 s and 5 s after them). The session id decides first, then the seq, then the "
        "order in which the messages were claimed.",
        logs(first, second, one, two),
        {"main": main("ok ok sent sent sent"), "coder": coder("err ok ok err ok done slow fast")},
    )


def latency(tree: int) -> Scenario:
    """Answer at, and one millisecond behind, both limits."""
    boss = lead(tree)
    one = mate(boss, 1)
    for at, ms in ((1000, 60_000), (100_000, 60_001), (200_000, 600_000), (900_000, 600_001), (1_600_000, 5)):
        tell(boss, one, T + at)
        one.at(T + at + ms).assistant()
        one.frame()
    return Scenario(
        "Answers after exactly 60,000 ms, 60,001 ms, exactly 600,000 ms, 600,001 ms and 5 ms.",
        logs(boss, one),
        {"main": main("ok sent sent sent sent sent"), "coder": coder("fast slow slow late fast")},
    )


def latency_cut(tree: int) -> Scenario:
    """Put something between a message and its answer, each time something else."""
    boss = lead(tree, 1)
    one = mate(boss, 1)
    tell(boss, one, T + 1000)
    one.later(10).retry()
    one.later(50).assistant()
    tell(boss, one, T + 2000)
    one.later(10).turn_end()
    one.later(10).turn_start()
    one.step()
    one.later(10).assistant()
    tell(boss, one, T + 3000)
    one.later(10).end_seed()
    one.later(10).assistant()
    tell(boss, one, T + 4000, "quiet")
    one.later(10).assistant()
    twice = tell(boss, one, T + 5000)
    one.later(30).assistant()
    one.later(70).user("Please go on.", from_team(boss.session, twice, boss.session, "lead"))
    one.later(10).assistant()
    nowhere = from_team(boss.session, "team-message-that-was-never-queued", boss.session, "lead")
    one.at(T + 6000).user("Please go on.", nowhere)
    one.later(10).assistant()
    tell(boss, one, T + 7000)

    boss4 = lead(tree, 2, generation=4)
    two = mate(boss4, 2, "writer")
    two.at(T + 1000).user("Please go on.", from_agent(boss4.session))
    two.later(500).assistant()
    boss4.at(T + 2000).user("It is written.", from_agent(two.session))
    boss4.later(61_000).assistant()
    two.at(T + 70_000).user("Please go on.", from_agent(boss4.session))
    two.later(10).retry()
    two.later(50).assistant()

    boss3 = lead(tree, 3, generation=3)
    three = mate(boss3, 3, "tester")
    tell(boss3, three, T + 1000)
    three.later(200).assistant()
    message = boss3.at(T + 2000).queued(three.session, "tester", boss3.session)
    boss3.user("It is tested.", from_team(boss3.session, message, three.session, "tester"))
    boss3.later(300).assistant()
    return Scenario(
        "Between message and answer: a retry, a turn end, a resume, each its own message, no latency. A quiet message, "
        "one that reaches its target twice, one that no log queued, one never answered. Then V4 agent messages, both "
        "ways, one retried, and V3 team messages, which have no delivery and wake.",
        logs(boss, one, boss4, two, boss3, three),
        {
            "main": main("ok ok ok sent sent sent sent fast sent sent sent sent slow sent"),
            "coder": coder("fast", excused={"provider_error": 1}),
            "writer": coder("fast sent", name="writer", excused={"provider_error": 1}),
            "tester": coder("fast sent", name="tester"),
        },
    )


def _torn(log: LogBuilder, cut: int) -> Log:
    """Tear the last frame of a log: all lines but the last are in it whole, `cut` bytes of the file are missing."""
    *whole, last = log.batches()
    half = last.rindex(b"\n", 0, len(last) - 1) + 200
    torn = frame([last[:half], last[half:]])
    return Log(log, b"".join(frame([batch]) for batch in whole) + torn[: len(torn) - cut])


def _noise() -> str:
    """Return text that does not compress away, so that a cut lands inside its block."""
    return "".join(hashlib.sha256(bytes([number])).hexdigest() for number in range(8))


def _torn_logs(tree: int, *, later: bool) -> tuple[Log, ...]:
    boss = lead(tree)
    one = mate(boss, 1)
    two = mate(boss, 2, "tester")
    boss.frame().at(T + 1000)
    message = boss.queued(boss.session, "lead", one.session)
    boss.later(100).tool("bash")
    boss.later(100).tool("grep", _noise(), is_error=True)
    work(one, T + 1000)
    one.at(T + 1300).tool("bash", "Error: it failed", is_error=True)
    open_call = one.later(100).call("write")
    work(two, T + 1000)
    two.at(T + 1100).tool("bash")
    two.tool("edit", "Error: not found", is_error=True)
    if not later:
        one.later(100).result(open_call, _noise())
        last = two.batches()
        checksum_cut = b"".join(frame([batch]) for batch in last)[:-2]
        return (_torn(boss, 40), _torn(one, 40), Log(two, checksum_cut))
    boss.frame().later(100).turn_end()
    one.repair(open_call)
    one.step_end()
    one.turn_end("interrupted")
    one.frame().at(T + 7000).end_seed()
    one.turn_start()
    one.step()
    one.frame().at(T + 8000).user("Please go on.", from_team(boss.session, message, boss.session, "lead"))
    one.frame().later(100).assistant()
    work(one, T + 9000)
    two.frame()
    work(two, T + 2000)
    return logs(boss, one, two)


def torn(tree: int) -> Scenario:
    """Tear the last frames of three logs."""
    return Scenario(
        "Torn last frames that hold whole lines. The Lead's: a message and a tool's result stand whole before the cut "
        "line. The coder's: a failure stands whole, the result of the next call is cut. The tester's: every line is "
        "whole, only the checksum is cut.",
        _torn_logs(tree, later=False),
        {"main": main("ok sent ok"), "coder": coder("ok err"), "tester": coder("ok ok err", name="tester")},
    )


def torn_later(tree: int) -> Scenario:
    """Complete the logs of `torn`."""
    return Scenario(
        "The tree of `made-torn` later. The Lead's frame was a write under way and is whole now; the coder's was "
        "repaired as the harness does at a resume: the whole lines again in a frame of their own, a made-up result "
        "for the open call, the turn closed; the tester's is whole and goes on.",
        _torn_logs(tree, later=True),
        {
            "main": main("ok sent ok err"),
            "coder": coder("ok err fast ok", excused={"unknown_outcome": 1}),
            "tester": coder("ok ok err ok", name="tester"),
        },
    )


def replaced(tree: int) -> Scenario:
    """Write more than one result for a call."""
    boss, boss3 = lead(tree, 1), lead(tree, 2, generation=3)
    one, two = mate(boss, 1), mate(boss3, 2, "tester")
    first, second = one.at(T + 1000).tool("bash"), one.at(T + 2000).tool("bash", "Error: no", is_error=True)
    one.at(T + 3000).result(first, "pruned", is_error=True, surface=one.replaced(12, 12))
    one.later(10).result(second, "pruned", surface=one.replaced(14, 14))
    third = one.at(T + 4000).tool("bash")
    one.later(10).result(third, "Error: no", is_error=True)
    one.at(T + 5000).result(one.call("bash"), "Error: no", is_error=True, surface=ABSENT)
    fifth = one.at(T + 6000).call("bash")
    one.result(fifth, "pruned", is_error=True, surface=one.replaced(20, 14))
    one.later(10).result(fifth)
    sixth = two.at(T + 1000).tool("bash", "Error: no", is_error=True)
    two.at(T + 2000).result(sixth, "pruned", surface=two.replaced(8, 8))
    work(two, T + 3000)
    return Scenario(
        "More than one result for a call: replaced later (V0 and V3 shape), appended twice, no `surfaceOp` at all, "
        "a replacement before the result itself. The first one that is appended counts.",
        logs(boss, one, boss3, two),
        {"main": main("ok ok"), "coder": coder("ok err ok err ok"), "tester": coder("err ok", name="tester")},
    )


def _system(log: LogBuilder) -> None:
    message = {
        "role": "system",
        "content": [{"type": "text", "text": "You are an agent."}],
        "source": {"kind": "system"},
    }
    log.event("system/message", {"turn": 1, "step": 1, "message": message | {"id": log.new_id()}}, surface="append")


def _generation(tree: int, generation: int) -> tuple[LogBuilder, LogBuilder]:
    """Return a Lead's log and a teammate's in one generation; the later one knows more, under other seqs."""
    boss = LogBuilder(lead_id(tree, 1), created_at=T, generation=generation)
    one = LogBuilder(
        mate_id(tree, 1), created_at=T + 100, generation=generation, parent=boss.session, origin="subagent"
    )
    for log in (boss, one):
        if generation == 4:
            _system(log)
            _system(log)
        prompted(log)
    boss.at(T + 100).spawn(one.session, "coder", "Works as coder.")
    message = boss.at(T + 500).queued(boss.session, "lead", one.session, message="team-message-1")
    boss.at(T + 800).task("task-1", 1, "pending")
    boss.at(T + 900).task("task-1", 2, "in_progress", one.session)
    one.at(T + 500).user("Please go on.", from_team(boss.session, message, boss.session, "lead"))
    one.at(T + 600).assistant()
    one.at(T + 1000).result(one.call("bash", call="call_1"), nested=True)
    one.at(T + 2000).result(one.call("bash", call="call_2"), "Error: no", is_error=True)
    return boss, one


def generations(tree: int) -> Scenario:
    """Put two generations of one session side by side."""
    boss3, one3 = _generation(tree, 3)
    boss, one = _generation(tree, 4)
    boss.at(T + 5000).task("task-1", 3, "completed", one.session)
    one.at(T + 6000).user("Once more.", from_agent(boss.session))
    one.at(T + 6100).assistant()
    work(one, T + 7000)
    other0, other = lead(tree, 2), lead(tree, 2, generation=4)
    old, new = mate(other0, 2, "tester"), mate(other, 2, "tester")
    old.chunks("text", ["Now ", "I ", "run ", "it."])
    for log in (old, new):
        log.assistant("Now I run it.")
        log.at(T + 1000).result(log.call("bash", call="call_1"))
    work(new, T + 2000, good=False)
    return Scenario(
        "Two generations of a session in one directory: V3 and V4 of a Lead and its coder, V0 and V4 of another Lead "
        "and its tester. The V4 logs repeat the past under other seqs, with results in both shapes, and go on. Only "
        "the highest counts.",
        logs(boss3, one3, boss, one, other0, other, old, new),
        {
            "main": main("ok sent sent"),
            "coder": coder("fast ok err done fast ok"),
            "tester": coder("ok err", name="tester"),
        },
    )


def call_ids(tree: int) -> Scenario:
    """Use call ids more than once."""
    boss = lead(tree)
    one, two = mate(boss, 1), mate(boss, 2, "tester")
    for at, good in ((1000, True), (2000, False), (3000, True)):
        one.at(T + at).result(one.call("bash", call="call_00"), is_error=not good)
    one.at(T + 4000).result(one.call("bash", call="call_01"))
    two.at(T + 1000).result(two.call("bash", call="call_00"), is_error=True)
    return Scenario(
        "A provider that gives one call id to three calls of a session, each with its result, and the same id in "
        "another session. Every one counts.",
        logs(boss, one, two),
        {"main": main("ok"), "coder": coder("ok err ok ok"), "tester": coder("err", name="tester")},
    )


def tasks(tree: int) -> Scenario:
    """Walk tasks through every change of status."""
    boss = lead(tree)
    one, two = mate(boss, 1, "worker"), mate(boss, 2, "helper")
    me, a, b = boss.session, one.session, two.session

    def board(task: int, at: int, *revisions: tuple[int, str, str | None]) -> None:
        for number, status, owner in revisions:
            boss.at(T + at).task(f"task-{task}", number, status, owner)
            at += 1

    board(1, 1000, (1, "pending", None), (2, "in_progress", a))
    work(one, T + 1100)
    board(1, 1200, (3, "completed", a), (4, "completed", a), (5, "pending", None), (6, "in_progress", a))
    work(one, T + 1300)
    board(1, 1400, (7, "completed", a))
    board(2, 2000, (1, "completed", a))
    board(3, 3000, (1, "pending", None))
    work(one, T + 3100)
    board(3, 3200, (3, "completed", a), (4, "pending", None))
    board(4, 4000, (1, "pending", None), (2, "in_progress", a), (3, "pending", None), (4, "in_progress", b))
    work(two, T + 4100)
    board(4, 4200, (5, "completed", b))
    board(5, 5000, (1, "pending", None), (2, "in_progress", a), (3, "deleted", a))
    board(6, 6000, (1, "pending", None), (2, "in_progress", b))
    work(two, T + 6100)
    board(6, 6200, (3, "completed", b), (4, "deleted", b))
    board(7, 7000, (1, "pending", None), (2, "in_progress", b), (3, "completed", b))
    board(8, 8000, (1, "pending", None), (2, "in_progress", a))
    work(one, T + 8100)
    board(8, 8200, (3, "in_progress", b), (4, "completed", b))
    board(9, 9000, (1, "pending", None), (2, "in_progress", b), (3, "in_progress", a))
    work(one, T + 9100)
    board(9, 9200, (4, "completed", a))
    board(10, 10_000, (1, "pending", None), (2, "in_progress", a))
    work(one, T + 10_100)
    board(10, 10_200, (3, "completed", b))
    board(11, 11_000, (1, "pending", None), (2, "in_progress", b))
    work(two, T + 11_100)
    board(11, 11_200, (3, "completed", b), (4, "in_progress", a))
    board(12, 12_000, (1, "pending", None), (2, "in_progress", me))
    work(boss, T + 12_100)
    board(12, 12_200, (3, "completed", me))
    board(13, 13_000, (1, "pending", None), (2, "in_progress", b))
    work(two, T + 13_100, good=False)
    two.at(T + 13_200).tool("team_task_list")
    board(13, 13_300, (3, "completed", b))
    return Scenario(
        "task-1 completed, edited, reopened, completed again; task-2 completed in its first revision; task-3 a gap "
        "from revision 1 to 3, then reopened; task-4 released and done by another; task-5 deleted; task-6 deleted when "
        "completed; task-7 completed by the Lead for a helper that did nothing; task-8 and task-9 reassigned, without "
        "and with work of the new owner; task-10 with a new owner in the completing revision; task-11 reassigned "
        "after completion; task-12 the Lead's own; task-13 with only a failed call and a look at the board.",
        logs(boss, one, two),
        {
            "main": main("ok ok done"),
            "worker": coder(
                "ok done reopen ok done ok reopen ok ok done ok",
                "ok done ok done done ok ok ok done ok",
                name="worker",
                unsupported=1,
            ),
            "helper": coder(
                "ok done ok done ok done reopen err",
                "ok done ok done done done done ok done err ok done",
                name="helper",
                unsupported=4,
            ),
        },
    )


def unanswered(tree: int) -> Scenario:
    """Leave calls without a result."""
    boss = lead(tree)
    one, two = mate(boss, 1), mate(boss, 2, "tester")
    work(one, T + 1000)
    one.at(T + 2000).call("bash")
    one.later(100).turn_end({"kind": "aborted", "reason": {"kind": "parent"}})
    one.turn_start()
    one.step()
    work(one, T + 3000)
    one.at(T + 4000).call("bash")
    one.later(100).end_seed()
    one.at(T + 5000).call("bash")
    one.later(100).turn_start()
    one.step()
    one.at(T + 6000).call("bash")
    work(two, T + 1000)
    two.at(T + 2000).call("write")
    return Scenario(
        "Calls without a result: one before a turn end, one before a resume, one before a turn start (three unanswered "
        "calls of the coder), and one of each teammate in flight at the end of its log. None is evidence.",
        logs(boss, one, two),
        {"main": main("ok"), "coder": coder("ok ok"), "tester": coder("ok", name="tester")},
    )


def clock(tree: int) -> Scenario:
    """Write times that run backwards or are none."""
    boss = lead(tree)
    one = mate(boss, 1)
    two = LogBuilder(mate_id(tree, 2), created_at=T + 40, parent=boss.session, origin="subagent")
    boss.spawn(two.session, "undated", "Works as undated.")
    three = LogBuilder(mate_id(tree, 3), created_at="yesterday", parent=boss.session, origin="subagent")
    boss.spawn(three.session, "ageless", "Works as ageless.")
    # The clock of the coder stands at T + 100,000 when it falls back to T + 40,000.
    tell(boss, one, T + 100_000)
    one.at(T + 40_000).assistant()
    work(one, T + 30_000, good=False)
    boss.at(T + 100_100).task("task-1", 1, "pending")
    boss.later(100).task("task-1", 2, "in_progress", one.session)
    one.at(T + 200_000).user("The clock is ahead.")
    work(one, T + 100_300)
    boss.at(T + 150_000).task("task-1", 3, "completed", one.session)
    message = boss.at(T + 200_100).queued(boss.session, "lead", two.session)
    for log in (two, three):
        log.turn_start()
        log.step()
    invalid: tuple[object, ...] = ("soon", -5, 1e30, ABSENT, None, True, 999_999_999_999, 4_000_000_000_001, [T], 0)
    for number, time in enumerate(invalid):
        for log in (two, three):
            call = log.stamp(time).call("bash")
            log.stamp(time).result(call, is_error=number == 1)
    two.stamp("soon").user("Please go on.", from_team(boss.session, message, boss.session, "lead"))
    two.stamp(-1).assistant()
    work(two, T + 300_000)
    two.stamp(1e30).result(two.call("bash"), "Error: no", is_error=True)
    return Scenario(
        "The coder's clock falls back from T + 100 s to T + 40 s before an answer (0 ms by event time) and again "
        "before the work for task-1, which event time therefore puts behind the completion. The undated and the "
        "ageless teammate begin with ten calls whose times are text, negative, out of range, missing, null, true, a "
        "list; the ageless one's `createdAt` is text too. An undated answer ends no latency.",
        logs(boss, one, two, three),
        {
            "main": main("ok sent sent"),
            "coder": coder("fast err ok", "fast err done ok", unsupported=1),
            "undated": coder("ok err ok ok ok ok ok ok ok ok ok err", name="undated"),
            "ageless": coder("ok err ok ok ok ok ok ok ok ok", name="ageless"),
        },
    )


def two_models(tree: int) -> Scenario:
    """Run one agent type on two models."""
    first, second = lead(tree, 1), lead(tree, 2)
    one = mate(first, 1, model="model-a")
    two = mate(second, 2, model="model-b")
    work(one, T + 1000)
    work(two, T + 1500)
    two.assistant(model="model-a")
    work(one, T + 2000, good=False)
    work(two, T + 2500)
    return Scenario(
        "One fingerprint in two teams, on model-a and on model-b, which changes to model-a in mid-session. One agent.",
        logs(first, second, one, two),
        {"main": main("ok ok"), "coder": coder("ok ok err ok")},
    )


def strangers(tree: int) -> Scenario:
    """Let a roster, an owner and a sender name sessions of others."""
    boss, other = lead(tree, 1), lead(tree, 2)
    one = mate(boss, 1)
    honest = mate(other, 2, "honest")
    boss.spawn(honest.session, "thief", "Works as thief.")
    boss.spawn(other.session, "usurper", "Works as usurper.")
    work(one, T + 900)
    work(honest, T + 1000)
    work(honest, T + 2000, good=False)
    for task, owner in (("task-1", mate_id(tree, 77)), ("task-2", lead_id(tree, 77))):
        boss.at(T + 2100).task(task, 1, "pending")
        boss.task(task, 2, "in_progress", owner)
        boss.at(T + 2200).task(task, 3, "completed", owner)
    boss.task("task-3", 1, "completed", other.session, team=other.session)
    boss.queued(other.session, "lead", one.session, team=other.session)
    message = boss.at(T + 3000).queued(mate_id(tree, 77), "nobody", one.session)
    one.at(T + 3000).user("Hello.", from_team(boss.session, message, mate_id(tree, 77), "nobody"))
    one.at(T + 3100).assistant()
    boss4 = lead(tree, 3, generation=4)
    writer = mate(boss4, 3, "writer")
    writer.at(T + 1000).user("Hello.", from_agent(mate_id(tree, 77)))
    writer.later(100).assistant()
    return Scenario(
        "A roster that names another team's teammate (thief) and that team's Lead (usurper): both sessions stay what "
        "their own headers say. Owners and senders that are in no roster, and events of another team in a Lead's log, "
        "give nobody anything; the teammate that answers such a message still answered it.",
        logs(boss, other, one, honest, boss4, writer),
        {
            "main": main("ok ok ok"),
            "coder": coder("ok fast"),
            "honest": coder("ok err", name="honest"),
            "thief": coder("", name="thief"),
            "usurper": coder("", name="usurper"),
            "writer": coder("fast", name="writer"),
        },
    )


def _subagent(
    number: int,
    parent: str,
    created_at: int,
    *,
    mode: str,
    preset: str | None = None,
) -> LogBuilder:
    log = LogBuilder(
        mate_id(tree_of(parent), number), created_at=created_at, parent=parent, origin="subagent", agent_preset=preset
    )
    log.descriptor("Look around.", mode=mode)
    log.end_seed()
    prompted(log)
    work(log, created_at + 1000)
    work(log, created_at + 2000, good=False)
    return log


def plain(name: str, standard: str, *, backend: str = "spawn", context: str = "fresh") -> Agent:
    """Return what a plain subagent must get: nothing under `seed`, which scores teammates only."""
    return Agent((name, "", backend, context), standard)


def subagent_alone(tree: int) -> Scenario:
    """Leave a one-shot subagent alone."""
    return Scenario(
        "A one-shot subagent whose parent's log is not there. Its descriptor settles what it is.",
        logs(_subagent(1, lead_id(tree, 77), T, mode="one-shot")),
        {"subagent": plain("subagent", "ok err")},
    )


def subagent_waiting(tree: int) -> Scenario:
    """Leave open what two subagents are."""
    boss = lead(tree)
    return Scenario(
        "Two continuable subagents that must wait: one's parent's log is not there, the other's ends before the "
        "subagent was created.",
        logs(
            boss,
            _subagent(1, lead_id(tree, 77), T, mode="continuable", preset="orphan"),
            _subagent(2, boss.session, T + 50_000, mode="continuable", preset="early"),
        ),
        {"main": main("ok")},
        waiting=2,
    )


def subagents(tree: int) -> Scenario:
    """Run plain subagents beside a teammate."""
    boss = lead(tree)
    one = mate(boss, 1)
    explorer = _subagent(2, boss.session, T + 1000, mode="one-shot", preset="explorer")
    planner = _subagent(3, boss.session, T + 1000, mode="continuable", preset="planner")
    work(one, T + 1000)
    work(boss, T + 9000)
    return Scenario(
        "A one-shot subagent (explorer), a continuable one that is in no roster although its parent's log goes on "
        "behind its start (planner), and a teammate.",
        logs(boss, one, explorer, planner),
        {
            "main": main("ok ok"),
            "coder": coder("ok"),
            "explorer": plain("explorer", "ok err"),
            "planner": plain("planner", "ok err"),
        },
    )


def _fork(number: int, parent: LogBuilder, preset: str, *, boundary: bool = True) -> LogBuilder:
    """Fork a one-shot subagent off everything that stands in the parent's log."""
    seed = len(parent.events)
    log = LogBuilder(
        mate_id(tree_of(parent.session), number),
        created_at=parent.now + 10,
        generation=parent.generation,
        parent=parent.session,
        origin="subagent",
        seed_length=seed,
        is_seeded=True,
        agent_preset=preset,
    )
    log.inherit(parent, seed)
    # The harness writes the seed and the mark behind it in one batch.
    if boundary:
        log.end_seed(inherited=log.generation > 0)
    log.descriptor("Look around.", mode="one-shot", provider="fork")
    log.turn = parent.turn
    log.turn_start()
    log.step()
    log.frame().later(10).user("Do your part.")
    log.later(10).assistant("On it.")
    return log


def forks(tree: int) -> Scenario:
    """Fork subagents, with the boundary of the seed and without."""
    boss, boss4 = lead(tree, 1), lead(tree, 2, generation=4)
    for log in (boss, boss4):
        work(log, T + 100, good=False)
        log.later(10).turn_end()
    old = _fork(1, boss, "fork-v0")
    new = _fork(2, boss4, "fork-v4")
    work(new, T + 1000)
    grandchild = _fork(3, new, "fork-of-fork")
    lost = _fork(4, boss4, "fork-lost", boundary=False)
    for log in (old, grandchild, lost):
        work(log, T + 2000)
        work(log, T + 3000, good=False)
    return Scenario(
        "Forked one-shot subagents: V0 with `seedLength`, V4 with an inherited `session/end-seed`, a fork of that fork "
        "(its seed holds such a mark of its own), and a V4 fork that lost the mark: skipped and counted. What a seed "
        "repeats of the parent counts once, for the parent.",
        logs(boss, boss4, old, new, grandchild, lost),
        {
            "main": main("ok ok err err"),
            "fork-v0": plain("fork-v0", "ok err", backend="fork", context="fork"),
            "fork-v4": plain("fork-v4", "ok", backend="fork", context="fork"),
            "fork-of-fork": plain("fork-of-fork", "ok err", backend="fork", context="fork"),
        },
        skipped=1,
    )


@dataclass(frozen=True)
class Failure:
    """A failed call and what it is: a reason, or `None` for the agent's own fault."""

    tool: str
    reason: str | None
    code: str | None = None
    text: str = "Error: it did not work"
    approval: str | None = None


_REJECTED: Final = 'Error: the user rejected escalating this operation to "danger-full-access"'
_NO_CHANNEL: Final = (
    'Error: sandbox escalation to "danger-full-access" requires approval, but no approval channel is there'
)
_SANDBOX: Final = "Error: [sandbox: file access denied under workspace-write mode]"
_NO_BACKEND: Final = 'Error: sandbox mode "workspace-write" is requested but no sandbox backend is usable on this host'
_VERSION: Final = "Error: unsupported Agent Teams event version 1"
_NO_SPAWN: Final = 'Error: no subagent provider registered for "spawn"'
_STALE: Final = 'Error: stale team task "task-3": expected revision 1, current revision 2'
_BLOCKED: Final = 'Error: team task "task-3" is not ready to claim'

FAILURES: Final = (
    Failure("bash", "unknown_outcome", "TOOL_OUTCOME_UNKNOWN"),
    Failure("bash", "unknown_outcome", "TOOL_NOT_STARTED"),
    Failure("bash", "aborted", "ABORTED"),
    Failure("bash", "aborted", "ABORT_ERR"),
    Failure("bash", "aborted", "TOOL_ABORTED"),
    Failure("bash", "aborted", "TOOL_ABORTED_BY_PARENT"),
    Failure("write", "denied", text=_REJECTED),
    Failure("write", "denied", text=_NO_CHANNEL),
    Failure("write", "policy", "FS_SANDBOX_DENIED"),
    Failure("bash", "policy", "DELEGATED_CALLER"),
    Failure("write", "policy", text=_SANDBOX),
    Failure("bash", "environment", "SANDBOX_UNAVAILABLE"),
    Failure("bash", "environment", "NO_PROVIDER"),
    Failure("bash", "environment", text=_NO_BACKEND),
    Failure("write", "denied", approval="rejected"),
    Failure("write", "denied", approval="cancelled"),
    Failure("write", "denied", approval="unavailable"),
    Failure("write", "denied", "FS_NOT_FOUND", approval="rejected"),
    Failure("write", "environment", "SANDBOX_UNAVAILABLE", approval="rejected"),
    Failure("write", None, approval="allowed-once"),
    Failure("read", None, "FS_NOT_FOUND"),
    Failure("read", None, "INVALID_ARGS"),
    Failure("no_such_tool", None, "UNKNOWN_TOOL"),
    Failure("bash", None),
    Failure("bash", None, "TEAM_TASK_BLOCKED"),
    Failure("bash", None, text=_STALE),
    Failure("bash", None, text=_BLOCKED),
    Failure("write", None, "INVALID_ARGS", _REJECTED),
    Failure("write", None, "FS_NOT_FOUND", _SANDBOX),
    Failure("bash", None, text=f"the log says: {_REJECTED}"),
    Failure("bash", None, text=f"1 failed\n{_SANDBOX}"),
    Failure("bash", None, text=f"Error: 1 failed\n{_NO_BACKEND}"),
    Failure("bash", None, text=f"Error: 1 failed\n{_NO_CHANNEL}"),
)
COORDINATION_FAILURES: Final = (
    Failure("team_task_update", "race", "TEAM_TASK_STALE_REVISION"),
    Failure("team_task_update", "race", "TEAM_TASK_BLOCKED"),
    Failure("team_task_update", "race", text=_STALE),
    Failure("team_task_update", "race", text=_BLOCKED),
    Failure("team_task_list", "environment", text=_VERSION),
    Failure("spawn_teammate", "environment", text=_NO_SPAWN),
    Failure("send_message", None, "TEAM_MEMBER_NOT_FOUND"),
    Failure("team_task_get", None, "TEAM_TASK_NOT_FOUND"),
    Failure("todo_write", None, "INVALID_ARGS"),
)


def _reasons(failures: Iterable[Failure]) -> dict[str, int]:
    """Count the failures by their reason."""
    counts: dict[str, int] = {}
    for failure in failures:
        if failure.reason is not None:
            counts[failure.reason] = counts.get(failure.reason, 0) + 1
    return dict(sorted(counts.items()))


def _fail(log: LogBuilder, failures: Iterable[Failure]) -> None:
    for failure in failures:
        call = log.later(1000).call(failure.tool)
        if failure.approval is not None:
            log.approval(call, failure.tool, failure.approval)
        log.later(10).result(call, failure.text, is_error=True, code=failure.code)
        log.frame()


def failures(tree: int) -> Scenario:
    """Fail in every way that the rules know, in both shapes of a result."""
    trees: list[LogBuilder] = []
    for number, generation in ((1, 0), (2, 4)):
        boss = lead(tree, number, generation)
        one = mate(boss, number, f"coder-v{generation}")
        _fail(one, (*FAILURES, *COORDINATION_FAILURES))
        undecided = one.later(1000).call("write")
        one.approval(undecided, "write", None)
        one.result(undecided, "Error: it did not work", is_error=True)
        allowed = one.later(1000).call("write")
        one.approval(allowed, "write", "allowed-once")
        one.result(allowed)
        run = one.later(1000).call("bash")
        if generation:
            one.job(run, "exit 3", 3)
        one.result(run, "(no output)\n[exit code: 3]", meta={"cwd": "/home/dev/project"} if generation else None)
        if not generation:
            one.repair(one.later(1000).call("bash"))
            one.repair("call_never_logged", started=False)
        trees += [boss, one]
    faults = " ".join("err" for failure in FAILURES if failure.reason is None)
    coordination = " ".join("err" for failure in COORDINATION_FAILURES if failure.reason is None)
    standard, seed = f"{faults} err ok ok", f"{faults} {coordination} err ok ok"
    agents = {"main": main("ok ok")}
    for generation in (0, 4):
        name = f"coder-v{generation}"
        excused, excused_seed = _reasons(FAILURES), _reasons((*FAILURES, *COORDINATION_FAILURES))
        if not generation:
            # The made-up result for the call that was logged; the other one belongs to no call.
            excused["unknown_outcome"] += 1
            excused_seed["unknown_outcome"] += 1
        profile = (name, f"Works as {name}.", "spawn", "fresh")
        agents[name] = Agent(profile, standard, seed, excused=excused, excused_seed=excused_seed)
    return Scenario(
        "Every row of the classification of failures, by code and by the start of the text, in the shape of V0 and of "
        "V4; the same texts in the middle of a text, behind a code that is not known, and from other tools, which "
        "excuse nothing; approvals of every outcome; coordination tools that fail; non-zero exit codes, which are no "
        "failures; results that the harness made up.",
        logs(*trees),
        agents,
    )


def solo(tree: int) -> Scenario:
    """Run a main agent alone."""
    boss = lead(tree)
    boss.frame().later(100).step_end()
    boss.step()
    boss.frame().later(100).chunks("reasoning", ["I ", "look ", "at ", "it."], dt=2)
    boss.chunks("tool-call", ['{"com', 'mand":"', 'ls"}'], call="call_solo", dt=1)
    boss.assistant("", calls=[tool_block("call_solo", "bash", '{"command":"ls"}')])
    boss.frame().result(boss.call("bash", '{"command":"ls"}', call="call_solo"), "README.md\n")
    boss.frame().later(100).tool("todo_write")
    boss.later(100).tool("read", "Error: cannot read", is_error=True, code="FS_NOT_FOUND")
    boss.frame().later(100).step_end()
    boss.turn_end()
    return Scenario(
        "One session of one person, no team: the main agent is scored under `standard`.",
        logs(boss),
        {"main": main("ok ok err")},
    )


NAMES: Final = (
    "[bold red]coder[/] <script>alert(1)</script> & \"quoted\" 'name'",
    "\x1b[31mred\x1b[0m\x1b]0;title\x07",
    "two\nlines\r\nand\ta tab\u2028and more",
    "\u202eesrever\u202c \u200fmark\u200e",
    "unit\x1fseparator",
    "lone \ud83d surrogate",
    "x" * 300,
    "\u7de8\u78bc\u8005",
    "caf\u00e9",
    "cafe\u0301",
    "=cmd|' /C calc'!A0",
    " ",
)


def names(tree: int) -> Scenario:
    """Give teammates hostile names."""
    boss = lead(tree)
    built = [boss]
    agents = {"main": main("ok")}
    for number, name in enumerate(NAMES, 1):
        boss.later(10).spawn(mate_id(tree, number), name, f"Does {name}.")
        one = child(boss, number, label=f"Does {name}.")
        work(one, T + 1000 + number)
        built.append(one)
        plain_hash = "\x1f" not in name and "\ud83d" not in name
        shown = name.replace("\ud83d", "\ufffd")
        agents[shown] = Agent((name, f"Does {name}.", "spawn", "fresh"), "ok", hashed=plain_hash)
    return Scenario(
        "Names and descriptions with markup, terminal escapes, line breaks, right-to-left marks, U+001F, a lone "
        "surrogate (shown as U+FFFD here), 300 characters, CJK, one name in two Unicode normalisations (two agents), "
        "a spreadsheet formula, one blank.",
        logs(*built),
        agents,
    )


SCENARIOS: Final[dict[str, tuple[int, Callable[[int], Scenario]]]] = {
    # The number sets the session ids: one tree read twice keeps its own.
    "made-same-ms": (1, same_ms),
    "made-latency": (2, latency),
    "made-latency-cut": (3, latency_cut),
    "made-torn": (4, torn),
    "made-torn-later": (4, torn_later),
    "made-replaced": (5, replaced),
    "made-generations": (6, generations),
    "made-call-ids": (7, call_ids),
    "made-tasks": (8, tasks),
    "made-unanswered": (9, unanswered),
    "made-clock": (10, clock),
    "made-two-models": (11, two_models),
    "made-strangers": (12, strangers),
    "made-subagent-alone": (13, subagent_alone),
    "made-subagent-waiting": (14, subagent_waiting),
    "made-subagents": (15, subagents),
    "made-forks": (16, forks),
    "made-failures": (17, failures),
    "made-solo": (18, solo),
    "made-names": (19, names),
}


# What is written.


def expectation(scenario: Scenario) -> dict[str, object]:
    """Return the entry of a scenario in `expected.json`."""
    policies: dict[str, dict[str, object]] = {policy: {} for policy in POLICIES}
    evidence = dict.fromkeys(POLICIES, 0)
    for name, agent in scenario.agents.items():
        fingerprint = hashlib.sha256("\x1f".join(agent.profile).encode("utf-8", "replace")).hexdigest()[:12]
        for policy in POLICIES:
            standard = policy == "standard"
            if not standard and (agent.profile[3] == "root" or not agent.profile[1]):
                continue
            kinds, trust = fold(agent.standard if standard or agent.seed is None else agent.seed)
            excused = agent.excused if standard or agent.excused_seed is None else agent.excused_seed
            policies[policy][name] = {
                **({"fingerprint": fingerprint} if agent.hashed else {}),
                "kinds": kinds,
                "trust": trust,
                "unattributable": dict(excused),
                "failedSpawns": agent.failed_spawns,
                "unsupportedCompletions": agent.unsupported if standard else 0,
            }
            evidence[policy] += sum(kinds.values())
    sessions = len({log.builder.session for log in scenario.logs})
    counts = {"sessions": sessions, "waiting": scenario.waiting, "skipped": scenario.skipped}
    return {**counts, "evidence": evidence, **policies}


def write_tree(name: str, scenario: Scenario, root: Path) -> None:
    """Write the logs of a scenario below `root`, in place of what stood there."""
    top = root / name
    shutil.rmtree(top, ignore_errors=True)
    for log in scenario.logs:
        path = log.builder.write(top / "sessions")
        if log.data is not None:
            path.write_bytes(log.data)


def _cell(trust: Mapping[str, list[float]], dim: str) -> str:
    if dim not in trust:
        return "–"
    value, samples, good = trust[dim]
    return f"{value:g}/{samples}/{good}"


def _shown(name: str) -> str:
    """Write a name so that it can do nothing to a table."""
    text = json.dumps(name)[1:-1]
    if len(text) >= 70:
        text = f"{text[:20]} and so on, {len(name)} characters"
    return text.replace("\\", "\\\\").replace("<", "&lt;").replace("|", "&#124;").strip() or "(blank)"


def readme_table(agents: Mapping[str, Mapping[str, object]]) -> list[str]:
    """Return the lines of the table of one scenario under one policy."""
    lines = [
        "| agent | evidence by kind (one per dimension) | not evidence | competence | reliability | communication |",
        "|---|---|---|---|---|---|",
    ]
    for name, agent in agents.items():
        kinds, excused, trust = (agent[key] for key in ("kinds", "unattributable", "trust"))
        assert isinstance(kinds, dict)
        assert isinstance(excused, dict)
        assert isinstance(trust, dict)
        other = {key: agent[key] for key in ("failedSpawns", "unsupportedCompletions") if agent[key]}
        runs = agent.get("runs", {})
        assert isinstance(runs, dict)
        other |= {f"runs {how}": count for how, count in runs.items() if count}
        cells = [
            ", ".join(f"{kind} {count}" for kind, count in counts.items()) or "–" for counts in (kinds, excused | other)
        ]
        dims = [_cell(trust, dim) for dim in ("competence", "reliability", "communication")]
        lines.append(f"| {' | '.join([_shown(name), *cells, *dims])} |")
    return lines


def readme(scenarios: Mapping[str, Scenario], expected: Mapping[str, Mapping[str, object]]) -> str:
    """Return the text of `README.md`."""
    lines = [
        "# Session logs for the tests",
        "",
        "Session trees of the DeepSeek Harness, each below `<folder>/sessions`. The folders named `made-…` are written",
        "by `tests/make_fixtures.py`; the others were written by the harness itself, driven by a scripted model. Their",
        "prose is word salad, and the working directory in them is `/home/dev/…`.",
        "",
        "`expected.json` says what each must give, under the policies `standard` and `seed`:",
        "`{folder: {sessions, waiting, skipped, evidence: {policy: rows}, policy: {agent: {fingerprint, kinds, trust,",
        "unattributable, failedSpawns, unsupportedCompletions}}}}`. `sessions` counts session directories, `waiting`",
        "those of which it is not known yet whose they are, `skipped` those whose seed has no boundary. A fingerprint",
        "is its first twelve digits, left out where a field needs another hash than the plain one. `kinds` counts what",
        "is folded, a completed task once for each dimension; `trust` is `[value, samples, good]`.",
        "",
        "| folder | what it holds |",
        "|---|---|",
        *(f"| {name} | {text} |" for name, text in REAL.items()),
        *(f"| {name} | {scenario.text} |" for name, scenario in scenarios.items()),
        "",
        "## What the made logs must give",
        "",
        "Each dimension as value/samples/good. `T` is 1796100000000, where every made session starts. Answers that are",
        "not judged, for a retry, a turn boundary or a resume, stand in no column; nor do unanswered calls and exit",
        "codes.",
    ]
    for name, entry in expected.items():
        if name not in scenarios:
            continue
        lines += ["", f"### {name}", ""]
        counts = f"{entry['sessions']} sessions, {entry['waiting']} waiting, {entry['skipped']} skipped"
        lines += [f"{counts}. {scenarios[name].text}"]
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
    scenarios = {name: make(tree) for name, (tree, make) in SCENARIOS.items()}
    for name, scenario in scenarios.items():
        write_tree(name, scenario, root)
    path = root / "expected.json"
    old = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    expected = {name: entry for name, entry in old.items() if name in REAL}
    expected |= {name: expectation(scenario) for name, scenario in scenarios.items()}
    text = json.dumps(expected, ensure_ascii=True, indent=1)
    path.write_text(text + "\n", encoding="utf-8", newline="\n")
    (root / "README.md").write_text(readme(scenarios, expected), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    build(ROOT)
