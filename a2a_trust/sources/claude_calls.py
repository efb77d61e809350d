"""What Claude Code agents do with their coordination tools: spawning, messages, tasks.

Results name what changed, calls name who and to whom; only together do they say what happened.
"""

from __future__ import annotations

import json
import re
from typing import Any

from msgspec import Struct, field

from a2a_trust import facts
from a2a_trust.sources import claude_lines as lines

SPAWNING = ("Task", "Agent")
MESSAGE = re.compile(r"<teammate-message\s+teammate_id=\"([^\"]*)\"[^>]*>(.*?)</teammate-message>", re.DOTALL)
_PROSE = (None, "message", "broadcast")
_UNIQUE = re.compile(r"[A-Za-z]+_[A-Za-z0-9_-]{16,}", re.ASCII)
"""Ids of calls that no other call has; some gateways only count calls."""


class OpenCall(Struct, array_like=True):
    """A call that waits for its result: the tool, and what of its input the result does not repeat."""

    tool: str
    id: str = ""
    event: str = ""
    seq: int = 0
    time: int = 0
    begun: bool = False
    """Whether the agent that it spawns was seen to run."""
    kind: str = ""
    """The type of agent that it names; empty where it names none."""
    name: str = ""
    team: str = ""
    prompt: str = ""
    targets: list[str] = field(default_factory=list)
    owner: str | None = None
    task: str = ""
    status: str = ""
    subject: str = ""
    """Digest of the title of a task that it puts on the board."""


class Where:
    """The place of a line: its number, its time, 0 for none, and its identity."""

    __slots__ = ("event", "seq", "time")

    def __init__(self, seq: int, time: int, event: str) -> None:
        self.seq = seq
        self.time = time
        self.event = event


def event_of_call(call: str, where: Where) -> str:
    """Return the identity of a call or its result: the call's own id, where no other call can have it."""
    return call if _UNIQUE.fullmatch(call) else f"{where.event}/{call}"


def targets_of(call: OpenCall, outcome: lines.Outcome | None) -> list[str]:
    """Return to whom a message was delivered: a broadcast names them in its result."""
    told = outcome.recipients if outcome is not None else None
    if not call.targets or not isinstance(told, list):
        return call.targets
    return list(dict.fromkeys(lines.text(name) for name in told))


def opened(tool: str, given: object) -> OpenCall:
    """Keep of a call's input what its result does not repeat."""
    call = OpenCall(tool)
    if not isinstance(given, lines.Input):
        return call
    if tool in SPAWNING:
        call.kind = lines.text(given.subagent_type)
        call.name, call.team = lines.text(given.name), lines.text(given.team_name)
        call.prompt = lines.digest(given.prompt) if isinstance(given.prompt, str) else ""
    elif tool == "SendMessage":
        said = given.message if given.message is not None else given.content
        target = lines.text(given.to) or lines.text(given.recipient)
        if isinstance(said, str) and given.type in _PROSE and not is_protocol(said):
            call.targets = [target]
    elif tool == "TaskUpdate":
        call.task = lines.task_id(given.task_id)
        call.status = lines.text(given.status)
        call.owner = lines.text(given.owner) if isinstance(given.owner, str) else None
    elif tool == "TaskCreate":
        call.subject = lines.digest(given.subject) if isinstance(given.subject, str) else ""
    elif tool == "TeamCreate":
        call.team = lines.text(given.team_name)
    return call


def event_of_answer(line: lines.Line, where: Where) -> str:
    """Return the identity of what the model said: its message and the time, which a fork keeps that renames lines."""
    message = lines.text(line.message.id) if isinstance(line.message, lines.Message) else ""
    return f"{message}@{where.time}" if message and where.time else where.event


def messages(found: list[tuple[str, str]], where: Where) -> list[facts.AnyFact]:
    """Return the messages of teammates on a line, but none of the team's machinery.

    A message is known by its sender, its words and its time: it has no id, and a fork may rename its line.
    """
    return [
        facts.MessageSeen(
            where.seq,
            where.time,
            f"{lines.digest(f'{sender} {body}')}@{where.time}/{number}",
            sender,
            dated=where.time > 0,
            event=where.event,
        )
        for number, (sender, body) in enumerate(found)
        if sender != "system" and not is_protocol(body)
    ]


def is_protocol(body: str) -> bool:
    """Tell whether a message is one of the team's machinery: idle notifications, shutdowns, approvals."""
    body = body.strip()
    if not body.startswith("{"):
        return False
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and isinstance(value.get("type"), str)


def task_change(call: OpenCall, outcome: lines.Outcome | None, where: Where) -> list[facts.TaskChange]:
    """Return what a task became; the structured result says from what, the call who owns it now."""
    if call.tool == "TaskCreate":
        task = outcome.task if outcome else None
        name = lines.task_id(task.get("id")) if isinstance(task, dict) else ""
        if not name:
            return []
        return [facts.TaskChange(where.seq, where.time, name, "", facts.STATUSES[0], created=True, event=where.event)]
    name = (lines.task_id(outcome.task_id) if outcome else "") or call.task
    change = outcome.status_change if outcome else None
    before, after = (_status(change, "from"), _status(change, "to")) if isinstance(change, dict) else ("", "")
    after = after or (call.status if call.status in facts.STATUSES else "")
    if not name or not (after or call.owner is not None):
        return []
    return [facts.TaskChange(where.seq, where.time, name, before, after, call.owner, event=where.event)]


def tasks_seen(outcome: lines.Outcome | None, where: Where) -> list[facts.AnyFact]:
    """Return what a look at the board, or at one task of it, showed."""
    shown = outcome.tasks if outcome is not None and isinstance(outcome.tasks, list) else []
    if outcome is not None and isinstance(outcome.task, dict):
        shown = [outcome.task]
    tasks = [task for task in shown if isinstance(task, dict)]
    return [
        facts.TaskSeen(
            where.seq, where.time, name, _status(task, "status"), lines.text(task.get("owner")), event=where.event
        )
        for task in tasks
        if (name := lines.task_id(task.get("id"))) and _status(task, "status") and "owner" in task
    ]


def _status(change: dict[str, Any], key: str) -> str:
    value = lines.text(change.get(key))
    return value if value in facts.STATUSES else ""
