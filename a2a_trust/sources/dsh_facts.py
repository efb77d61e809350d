"""What the events of DeepSeek Harness logs say as facts, and when nobody is to blame for a failed call.

One rule a kind of event; the table of excuses stands at the end.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from a2a_trust import facts
from a2a_trust.sources import dsh_lines as lines
from a2a_trust.sources.json_lines import LineError

if TYPE_CHECKING:
    from collections.abc import Callable

_EXIT_TEXT = re.compile(r"\[exit code: (-?[0-9]{1,9})\]\s*\Z", re.ASCII)
_EXIT_DETAIL = re.compile(r"exit code: (-?[0-9]{1,9})", re.ASCII)
_EXIT_TEXT_LENGTH = 64
_PHASES = ("provisioning", "active", "failed")


class Where:
    """The place of an event: its session, its event time, and whether the log had told a time by then.

    One for all events of a reading, each of which finds its own time in it.
    """

    __slots__ = ("dated", "session", "time")

    def __init__(self, session: str, time: int, *, dated: bool) -> None:
        self.session = session
        self.time = time
        self.dated = dated


def facts_of(event: lines.AnyEvent, where: Where) -> list[facts.AnyFact]:
    """Return the facts of an event, none where it cannot matter. Raises `LineError` for a shape that is not known."""
    return _RULES[type(event)](event, where)


def _wrong_shape() -> LineError:
    return LineError("wrong-shape")


def _call(event: lines.ToolCall, where: Where) -> list[facts.AnyFact]:
    return [facts.Call(event.seq, where.time, event.data.call_id, event.data.name)]


def _result(event: lines.ToolResult, where: Where) -> list[facts.AnyFact]:
    if not event.appended:
        return []
    outcome = event.outcome()
    if outcome is None or outcome.tool_call_id is None:
        raise _wrong_shape()
    call = outcome.tool_call_id
    texts = _texts(outcome.content)
    if outcome.is_error is True:
        error = event.data.error
        code = error.code if error is not None and isinstance(error.code, str) else ""
        text = texts[0][: facts.TEXT_START] if texts else ""
        return [facts.Result(event.seq, where.time, call, facts.Failure(code, text))]
    found: list[facts.AnyFact] = []
    exit_code = _EXIT_TEXT.search(texts[-1][-_EXIT_TEXT_LENGTH:]) if texts else None
    if exit_code and int(exit_code[1]):
        found.append(facts.ExitCode(event.seq, where.time, call, int(exit_code[1])))
    return [*found, facts.Result(event.seq, where.time, call)]


def _texts(content: list[lines.Block] | str | None) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [block.text for block in content or () if block.text is not None]


def _answer(event: lines.AssistantMessage, where: Where) -> list[facts.AnyFact]:
    if not event.appended:
        return []
    source = event.data.message.source
    return [facts.Answer(event.seq, where.time, source.model if source else "", where.dated)]


def _user_message(event: lines.UserMessage, where: Where) -> list[facts.AnyFact]:
    source = event.data.source
    if not event.appended or source is None:
        return []
    if source.kind == "team-message":
        if not (source.message_id and source.sender_id and source.team_id):
            raise _wrong_shape()
        return [
            facts.MessageSeen(event.seq, where.time, source.message_id, source.sender_id, source.team_id, where.dated)
        ]
    if source.kind == "agent-message":
        if not (event.data.id and source.sender_session_id):
            raise _wrong_shape()
        return [facts.MessageSeen(event.seq, where.time, event.data.id, source.sender_session_id, "", where.dated)]
    return []


def _own_team(team: str, where: Where) -> None:
    if team != where.session:
        raise LineError("foreign-team")


def _member(event: lines.TeamMember, where: Where) -> list[facts.AnyFact]:
    _own_team(event.data.team_id, where)
    member = event.data.member
    if not member.id or not member.name or member.phase not in _PHASES:
        raise _wrong_shape()
    return [
        facts.Member(
            event.seq,
            where.time,
            member.id,
            member.name,
            member.description,
            member.provider,
            member.context,
            member.phase == "failed",
        )
    ]


def _task(event: lines.TeamTask, where: Where) -> list[facts.AnyFact]:
    _own_team(event.data.team_id, where)
    task = event.data.task
    if not task.id or task.revision < 1 or task.status not in facts.STATUSES:
        raise _wrong_shape()
    return [facts.TaskRevision(event.seq, where.time, task.id, task.revision, task.status, task.owner_id or "")]


def _queued(event: lines.MessageQueued, where: Where) -> list[facts.AnyFact]:
    _own_team(event.data.team_id, where)
    message = event.data.message
    if not message.id or not message.sender_id:
        raise _wrong_shape()
    waking = message.delivery in (None, "wakeup")
    return [facts.MessageQueued(event.seq, where.time, message.id, message.sender_id, message.target_id, waking)]


def _delivered(event: lines.MessageDelivered, where: Where) -> list[facts.AnyFact]:
    _own_team(event.data.team_id, where)
    return [facts.MessageDelivered(event.seq, where.time, event.data.message_id, event.data.target_id)]


def _turn(event: lines.TurnStart | lines.TurnEnd, where: Where) -> list[facts.AnyFact]:
    return [facts.Boundary(event.seq, where.time)]


def _resumed(event: lines.EndSeed, where: Where) -> list[facts.AnyFact]:
    return [facts.Boundary(event.seq, where.time, resumed=True)]


def _retry(event: lines.LlmRetry, where: Where) -> list[facts.AnyFact]:
    return [facts.Retry(event.seq, where.time)]


def _asked(event: lines.ApprovalAsked, where: Where) -> list[facts.AnyFact]:
    if not event.data.call_id:
        return []
    return [facts.ApprovalAsked(event.seq, where.time, event.data.id, event.data.call_id)]


def _decided(event: lines.ApprovalDecided, where: Where) -> list[facts.AnyFact]:
    refused = event.data.outcome in ("rejected", "cancelled", "unavailable")
    return [facts.ApprovalDecided(event.seq, where.time, event.data.id, not refused)]


def _descriptor(event: lines.Descriptor, where: Where) -> list[facts.AnyFact]:
    return [facts.Descriptor(event.seq, where.time, event.data.mode == "one-shot", event.data.provider)]


def _job(event: lines.JobSettled, where: Where) -> list[facts.AnyFact]:
    call, detail = event.data.tool_call, event.data.detail
    match = _EXIT_DETAIL.match(detail) if isinstance(detail, str) else None
    if call is None or not call.call_id or match is None or int(match[1]) == 0:
        return []
    return [facts.ExitCode(event.seq, where.time, call.call_id, int(match[1]))]


_RULES: dict[type, Callable[..., list[facts.AnyFact]]] = {
    lines.ToolCall: _call,
    lines.ToolResult: _result,
    lines.AssistantMessage: _answer,
    lines.UserMessage: _user_message,
    lines.TeamMember: _member,
    lines.TeamTask: _task,
    lines.MessageQueued: _queued,
    lines.MessageDelivered: _delivered,
    lines.TurnStart: _turn,
    lines.TurnEnd: _turn,
    lines.EndSeed: _resumed,
    lines.LlmRetry: _retry,
    lines.ApprovalAsked: _asked,
    lines.ApprovalDecided: _decided,
    lines.Descriptor: _descriptor,
    lines.JobSettled: _job,
}

# ------------------------------------------------------------------ excuses

_REASON_BY_CODE = {
    "TOOL_OUTCOME_UNKNOWN": "unknown_outcome",
    "TOOL_NOT_STARTED": "unknown_outcome",
    "FS_SANDBOX_DENIED": "policy",
    "DELEGATED_CALLER": "policy",
    "SANDBOX_UNAVAILABLE": "environment",
    "NO_PROVIDER": "environment",
}
_RACE_CODES = ("TEAM_TASK_STALE_REVISION", "TEAM_TASK_BLOCKED")
_ABORTED = ("ABORT", "TOOL_ABORT")

_REASON_BY_TEXT = tuple(
    (reason, re.compile(rf"Error: {start}"))
    for reason, start in (
        ("denied", r"the user rejected"),
        ("denied", r"sandbox escalation .{0,120}?requires approval, but no approval channel"),
        ("policy", r"\[sandbox: "),
        ("environment", r"sandbox mode .{0,120}?no sandbox backend is usable"),
        ("environment", r"unsupported Agent Teams event version"),
        ("environment", r"no subagent provider registered"),
    )
)
_RACE_TEXT = re.compile(r"Error: (?:stale team task|team task .{0,120}? is not ready to claim)")
_FOREIGN_TOOL = re.compile(r"mcp|.*__", re.IGNORECASE)
"""Tools of other makers: their text is theirs, and excuses nobody."""


def classify(tool: str, failure: facts.Failure, refused: bool) -> str | None:  # noqa: FBT001 - see Classifier
    """Return why nobody is to blame for a failed call: by its code, a refused approval, or the start of its text.

    A text may only ever excuse: it is looked at where the harness gave no code, and only for the harness's own tools.
    """
    of_team = tool.startswith("team_")
    reason = _REASON_BY_CODE.get(failure.code)
    if reason is None and failure.code.startswith(_ABORTED):
        reason = "aborted"
    if reason is None and of_team and failure.code in _RACE_CODES:
        reason = "race"
    if reason is None and refused:
        reason = "denied"
    if reason is None and not failure.code and not _FOREIGN_TOOL.match(tool):
        reason = next((excuse for excuse, start in _REASON_BY_TEXT if start.match(failure.text)), None)
        if reason is None and of_team and _RACE_TEXT.match(failure.text):
            reason = "race"
    return reason
