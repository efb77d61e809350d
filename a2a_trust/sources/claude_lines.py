"""The lines of Claude Code transcripts: their shapes, as far as anything here asks for them.

Every field may be missing or of any type: a wrong field does not make the line wrong, and is read as absent.
"""

from __future__ import annotations

import hashlib
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct, field

from a2a_trust.sources import json_lines

_Scalar: TypeAlias = str | int | float | bool | None
_TEXT_LIMIT = 512
"""Characters of an id, a name or a type; what is longer is none."""
_LARGEST_NUMBER = 10**9

IRRELEVANT = frozenset(
    [
        "agent-color",
        "agent-name",
        "agent-setting",
        "ai-title",
        "bridge-session",
        "content-replacement",
        "custom-title",
        "file-history-delta",
        "file-history-snapshot",
        "file-history-snapshot-delta",
        "last-prompt",
        "marble-origami-commit",
        "mode",
        "permission-mode",
        "pr-link",
        "queue-operation",
        "speculation-accept",
        "summary",
        "tag",
        "task-summary",
        "worktree-state",
    ]
)
"""Kinds of lines that are known and cannot matter."""
RELEVANT = frozenset(["user", "assistant", "system"])
IN_PASSING = frozenset(["attachment", "progress"])
"""Kinds of lines that at most tell of a run that it began, or how it ended."""
KNOWN = IRRELEVANT | RELEVANT | IN_PASSING


class Input(Struct):
    """What a coordination tool is called with."""

    subagent_type: Any = None
    name: Any = None
    team_name: Any = None
    prompt: Any = None
    subject: Any = None
    to: Any = None
    recipient: Any = None
    message: Any = None
    content: Any = None
    type: Any = None
    task_id: Any = field(default=None, name="taskId")
    status: Any = None
    owner: Any = None


class Block(Struct):
    """A content block of a message."""

    type: Any = None
    text: Any = None
    id: Any = None
    name: Any = None
    input: Input | list[Any] | _Scalar = None
    tool_use_id: Any = None
    is_error: Any = None
    content: Any = None


Blocks: TypeAlias = list[Block | list[Any] | _Scalar]


class Message(Struct):
    """An API message, or the part of one that a line holds."""

    id: Any = None
    model: Any = None
    content: Blocks | dict[str, Any] | _Scalar = None


class Outcome(Struct):
    """The structured result that stands beside a tool's result."""

    success: Any = None
    status: Any = None
    error: Any = None
    message: Any = None
    interrupted: Any = None
    agent_id: Any = field(default=None, name="agentId")
    agent_type: Any = field(default=None, name="agentType")
    team_agent_id: Any = field(default=None, name="agent_id")
    team_agent_type: Any = field(default=None, name="agent_type")
    teammate_id: Any = None
    name: Any = None
    team_name: Any = None
    duration: Any = field(default=None, name="totalDurationMs")
    task: Any = None
    tasks: Any = None
    task_id: Any = field(default=None, name="taskId")
    status_change: Any = field(default=None, name="statusChange")
    recipients: Any = None


class Progress(Struct, rename="camel"):
    """What a `progress` line shows. Of a subagent it repeats what stands in that one's own log."""

    type: Any = None
    agent_id: Any = None


class Attachment(Struct):
    """What the harness put before an agent in the middle of its turn."""

    prompt: Any = None
    mode: Any = field(default=None, name="commandMode")


class Line(Struct, rename="camel"):
    """One line."""

    type: Any = None
    uuid: Any = None
    parent_uuid: Any = None
    session_id: Any = None
    agent_id: Any = None
    is_sidechain: Any = None
    timestamp: Any = None
    cwd: Any = None
    subtype: Any = None
    is_meta: Any = None
    is_compact_summary: Any = None
    is_api_error_message: Any = None
    team_name: Any = None
    agent_name: Any = None
    forked_from: Any = None
    message: Message | list[Any] | _Scalar = None
    outcome: Outcome | list[Any] | _Scalar = field(default=None, name="toolUseResult")
    data: Progress | list[Any] | _Scalar = None
    attachment: Attachment | list[Any] | _Scalar = None
    tool_use: Any = field(default=None, name="toolUseID")
    parent_tool_use: Any = field(default=None, name="parentToolUseID")

    @property
    def identity(self) -> str:
        """The event's own id, the same in each copy: that of the line which this one says it was copied from."""
        origin = self.forked_from
        original = text(origin.get("messageUuid")) if isinstance(origin, dict) else ""
        return original or text(self.uuid)

    @property
    def time(self) -> int:
        """The line's time in ms, 0 where it has none."""
        return json_lines.time_of(self.timestamp)

    @property
    def blocks(self) -> list[Block]:
        """The content blocks; a content of plain text is one block."""
        content = self.message.content if isinstance(self.message, Message) else None
        if isinstance(content, str):
            return [Block(type="text", text=content)]
        return [block for block in content if isinstance(block, Block)] if isinstance(content, list) else []


_DECODER = msgspec.json.Decoder(Line)


def parse(line: bytes | None) -> list[Line]:
    """Return the records on a line. Raises `LineError`."""
    return json_lines.parse(line, Line, _DECODER)


def text(value: object) -> str:
    """Return an id, a name or a type; empty where it is none."""
    return value if isinstance(value, str) and len(value) <= _TEXT_LIMIT else ""


def task_id(value: object) -> str:
    """Return the name of a task on a board, which may be a number; empty where it is none."""
    return str(value) if type(value) is int and abs(value) < _LARGEST_NUMBER else text(value)


def digest(said: str) -> str:
    """Return a short name for a prompt or a title, by which it is known again."""
    return hashlib.blake2b(" ".join(said.split()).encode(), digest_size=12).hexdigest()
