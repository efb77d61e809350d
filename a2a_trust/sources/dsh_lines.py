"""The lines of DeepSeek Harness session logs: which can matter, and what they say.

Lines are told apart by their first bytes, before any JSON is parsed; those that can matter are decoded into typed
structs by their shape, whatever the version of the log: a log of a later format holds the events of its past.
"""

from __future__ import annotations

import contextlib
import re
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta, Struct

from a2a_trust.sources.json_lines import LINE_LIMIT, LineError, clean, scan

_PREFIX = 21
"""Bytes that tell the kinds of lines apart: `{"type":"` and twelve more."""


Number = Annotated[int, Meta(ge=0, lt=2**53)]
"""A number of an event or a revision; JSON's own numbers end there."""


class _Line(Struct, tag_field="type", rename="camel", kw_only=True, gc=False):
    """The envelope of an event. `time` may be anything: a wrong time does not make the event wrong."""

    seq: Number
    time: Any = None


class _Surface(_Line, rename="camel", kw_only=True):
    """An event that shows in the conversation; `surface_op` tells additions from replacements."""

    surface_op: Any = None

    @property
    def appended(self) -> bool:
        """Tell whether the event adds to the conversation rather than replaces a part of it."""
        return self.surface_op is None or self.surface_op == "append"


class Block(Struct, rename="camel"):
    """A content block; a tool result of V0 to V3 is one that holds others."""

    type: str = ""
    text: str | None = None
    tool_call_id: str | None = None
    is_error: Any = None
    content: list[Block] | str | None = None


class SessionHeader(Struct, tag_field="type", tag="session"):
    """The first line of a log; a later one means that logs were put together."""

    id: str


class _CallData(Struct, rename="camel"):
    call_id: str
    name: str


class ToolCall(_Line, tag="tool/call", kw_only=True):
    """An agent calls a tool."""

    data: _CallData


class _ToolError(Struct):
    code: Any = None


class _ToolMessage(Struct, rename="camel"):
    content: list[Block] | str | None = None
    tool_call_id: str | None = None
    is_error: Any = None


class _ResultData(Struct):
    message: _ToolMessage
    error: _ToolError | None = None


class ToolResult(_Surface, tag="tool/result", kw_only=True):
    """A tool call comes back."""

    data: _ResultData

    def outcome(self) -> Block | None:
        """Return call id, error flag and content in one block, whatever the format; `None` for an unknown shape."""
        message = self.data.message
        if message.tool_call_id is not None:
            return Block("tool-result", None, message.tool_call_id, message.is_error, message.content)
        if isinstance(message.content, list) and message.content and message.content[0].tool_call_id is not None:
            return message.content[0]
        return None


class _ModelSource(Struct):
    model: str = ""


class _AssistantMessage(Struct):
    source: _ModelSource | None = None


class _AssistantData(Struct):
    message: _AssistantMessage


class AssistantMessage(_Surface, tag="assistant/message", kw_only=True):
    """The agent's model finished a step."""

    data: _AssistantData


class _UserSource(Struct, rename="camel"):
    kind: str = ""
    team_id: str = ""
    message_id: str = ""
    sender_id: str = ""
    sender_session_id: str = ""


class _UserData(Struct):
    id: str = ""
    source: _UserSource | None = None


class UserMessage(_Surface, tag="user/message", kw_only=True):
    """Something reaches the agent: a person's prompt, a message of its team, a notice."""

    data: _UserData


class _Profile(Struct):
    id: str
    name: str
    phase: str
    description: str = ""
    provider: str = ""
    context: str = ""


class _MemberData(Struct, rename="camel"):
    team_id: str
    member: _Profile


class TeamMember(_Line, tag="team/member", kw_only=True):
    """A snapshot of a team member."""

    data: _MemberData


class _Task(Struct, rename="camel"):
    id: str
    revision: Number
    status: str
    owner_id: str | None = None


class _TaskData(Struct, rename="camel"):
    team_id: str
    task: _Task


class TeamTask(_Line, tag="team/task", kw_only=True):
    """A snapshot of a task of the team's board."""

    data: _TaskData


class _Message(Struct, rename="camel"):
    id: str
    sender_id: str
    target_id: str = ""
    delivery: str | None = None


class _QueuedData(Struct, rename="camel"):
    team_id: str
    message: _Message


class MessageQueued(_Line, tag="team/message/queued", kw_only=True):
    """A member sends a message."""

    data: _QueuedData


class _DeliveredData(Struct, rename="camel"):
    team_id: str
    message_id: str
    target_id: str


class MessageDelivered(_Line, tag="team/message/delivered", kw_only=True):
    """The target's log holds the message."""

    data: _DeliveredData


class TurnStart(_Line, tag="turn/start", kw_only=True):
    """A turn begins."""


class TurnEnd(_Line, tag="turn/end", kw_only=True):
    """A turn ends, for whatever reason."""


class _SeedData(Struct):
    inherited: Any = None


class EndSeed(_Line, tag="session/end-seed", kw_only=True):
    """The end of inherited history, or a resumption."""

    data: _SeedData | None = None

    @property
    def inherited(self) -> bool:
        """Tell whether the history before it is a copy of the parent's."""
        return self.data is not None and self.data.inherited is True


class LlmRetry(_Line, tag="llm/retry", kw_only=True):
    """The model's provider failed and is asked again."""


class _AskedData(Struct, rename="camel"):
    id: str
    call_id: str = ""


class ApprovalAsked(_Line, tag="approval/asked", kw_only=True):
    """Somebody is asked to approve a call."""

    data: _AskedData


class _DecidedData(Struct):
    id: str
    outcome: str


class ApprovalDecided(_Line, tag="approval/decided", kw_only=True):
    """An approval is decided."""

    data: _DecidedData


class _DescriptorData(Struct):
    mode: str = ""
    provider: str = ""


class Descriptor(_Line, tag="subagent/descriptor", kw_only=True):
    """What a spawned session says of itself."""

    data: _DescriptorData


class _JobCall(Struct, rename="camel"):
    call_id: str = ""


class _JobData(Struct, rename="camel"):
    tool_call: _JobCall | None = None
    detail: Any = None


class JobSettled(_Line, tag="job/settled", kw_only=True):
    """A background command is over; `detail` holds its exit code."""

    data: _JobData


AnyEvent: TypeAlias = (
    ToolCall
    | ToolResult
    | AssistantMessage
    | UserMessage
    | TeamMember
    | TeamTask
    | MessageQueued
    | MessageDelivered
    | TurnStart
    | TurnEnd
    | EndSeed
    | LlmRetry
    | ApprovalAsked
    | ApprovalDecided
    | Descriptor
    | JobSettled
)
AnyLine: TypeAlias = SessionHeader | AnyEvent

CLOCKED = frozenset(
    (ToolCall, ToolResult, AssistantMessage, UserMessage, TeamMember, TeamTask, MessageQueued, MessageDelivered)
)
"""Lines whose times drive a log's clock. Frozen: another list would give other event times."""

_TAGS = frozenset(
    str(line.__struct_config__.tag)
    for line in (
        SessionHeader,
        *CLOCKED,
        TurnStart,
        TurnEnd,
        EndSeed,
        LlmRetry,
        ApprovalAsked,
        ApprovalDecided,
        Descriptor,
        JobSettled,
    )
)

_IRRELEVANT = frozenset(
    [
        "agent/inbox/spliced",
        "assistant/attempt",
        "assistant/chunk",
        "approval/policy",
        "command/done",
        "command/run",
        "compaction/end",
        "compaction/prune",
        "compaction/start",
        "compaction/summary",
        "developer/message",
        "feedback/message-delete",
        "feedback/message-put",
        "feedback/record",
        "goal/change",
        "hook/invoked",
        "hook/result",
        "job/registered",
        "llm/retry-started",
        "permission/preset",
        "plan/mode",
        "reasoning-chunks",
        "request/context",
        "request/header",
        "sandbox/mode",
        "schedule/change",
        "session/title",
        "session/title-llm-request",
        "step/end",
        "step/start",
        "subagent/catalog",
        "system/message",
        "text-chunks",
        "todo/write",
        "tool-call-chunks",
        "tool/code-dispatch",
        "tool/code-dispatch-start",
        "tool/ptc-dispatch",
        "tool/ptc-dispatch-start",
    ]
)
"""Kinds of lines that are known and cannot matter."""


def _prefixes(tags: frozenset[str]) -> dict[bytes, str]:
    """Return the first bytes of each kind of line, `seq0` included for packed rows."""
    return {f'{{"type":"{tag}","seq'.encode()[:_PREFIX]: tag for tag in tags}


_RELEVANT_PREFIXES = frozenset(_prefixes(_TAGS))
_IRRELEVANT_PREFIXES = frozenset(_prefixes(_IRRELEVANT)) - _RELEVANT_PREFIXES
_STREAM, _STREAM_END = b',"stream":[', b']},"surfaceOp":"append"}'
"""Where the stream stands in a message of V4, the last and by far the largest part of its `data`. It is no more looked
into than the lines are that it is in V0."""
_LONG = 1 << 11
"""Bytes of a line from which on it pays to cut the stream out."""
_TYPE = re.compile(rb'\{"type":"([^"\\]{1,80})"')
_DECODER: msgspec.json.Decoder[AnyLine] = msgspec.json.Decoder(AnyLine)


def worth_a_look(lines: list[bytes]) -> list[tuple[int, bytes]]:
    """Return the lines, with their index, that cannot be told at once to be irrelevant."""
    return [(index, line) for index, line in enumerate(lines) if line[:_PREFIX] not in _IRRELEVANT_PREFIXES]


def can_matter(line: bytes) -> bool:
    """Tell from its first bytes whether a line must be parsed; raise `LineError` for a kind that is not known."""
    if line[:_PREFIX] in _RELEVANT_PREFIXES:
        return True
    match = _TYPE.match(line)
    if match is None:
        return True
    tag = match[1].decode("utf-8", "replace")
    if tag in _IRRELEVANT or tag.startswith("tool-workflow/"):
        return False
    if tag not in _TAGS:
        msg = "unknown-type"
        raise LineError(msg)
    return True


def parse(line: bytes) -> list[AnyLine]:
    """Return the events on a line: one, or more where line ends were lost. Raises `LineError`."""
    size = len(line)
    if size > LINE_LIMIT:
        msg = "line-too-long"
        raise LineError(msg)
    place = line.find(_STREAM) if size > _LONG else -1
    if place > 0 and line.find(_STREAM_END, place) == size - len(_STREAM_END):
        # What is left balances only where the stream is a part of `data`; else the line is read whole.
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return [_DECODER.decode(line[:place] + _STREAM_END[1:])]
    try:
        return [_DECODER.decode(line)]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _salvage(line)


def _salvage(line: bytes) -> list[AnyLine]:
    """Parse a line leniently: stray bytes and lone surrogates replaced, several records accepted, none guessed."""
    if not line.strip():
        return []
    records = scan(line)
    events: list[AnyLine] = []
    tags = [record.get("type") if isinstance(record, dict) else None for record in records]
    for record, tag in zip(records, tags, strict=True):
        if not isinstance(tag, str) or tag not in _TAGS:
            continue
        try:
            events.append(msgspec.convert(clean(record), AnyLine))
        except (msgspec.ValidationError, RecursionError):
            msg = "wrong-shape"
            raise LineError(msg) from None
    if not events and not all(isinstance(tag, str) and tag in _IRRELEVANT for tag in tags):
        msg = "wrong-shape"
        raise LineError(msg)
    return events
