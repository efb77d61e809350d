"""When a call of a Claude Code agent failed, and when nobody is to blame for it.

A text may only ever excuse, and only where it stands at the start. What the harness itself says when it did not let a
tool run is believed for every tool; what a tool says of its surroundings only for the harness's own tools.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from a2a_trust import facts

if TYPE_CHECKING:
    from a2a_trust.sources import claude_lines as lines

_WRAPPER = re.compile(r"\s*<tool_use_error>(.*?)(?:</tool_use_error>\s*)?\Z", re.DOTALL)
_EXIT = re.compile(r"(?:Error: )?Exit code (-?[0-9]{1,9})\b", re.ASCII)
_FOREIGN_TOOL = re.compile(r"mcp__")
"""Tools of other makers: their text is theirs."""
_PLAN = "ExitPlanMode"

_OF_HARNESS = tuple(
    (reason, re.compile(start, re.DOTALL))
    for reason, start in (
        ("denied", r"The user doesn't want to (?:proceed with this tool use|take this action right now)"),
        ("denied", r"User rejected tool use"),
        ("sibling_failed", r"Sibling tool call errored"),
        ("sibling_failed", r"Cancelled: parallel tool call "),
        ("aborted", r"\[Request interrupted by user"),
        ("policy", r"Hook PreToolUse:.{1,120}? denied"),
        ("policy", r"[Pp]ermission to use .{1,200}? has been denied"),
        ("policy", r"Claude requested permissions? to .{1,200}?, but you haven't granted it"),
        ("environment", r"MCP error -32000: Connection closed"),
    )
)
_OF_SURROUNDINGS = tuple(
    ("environment", re.compile(start, re.DOTALL))
    for start in (
        r"(?:Error: )?(?:posix_spawn|spawn) .{1,200}? (?:ENOENT|EAGAIN|ENOMEM|EACCES)",
        r"(?:Error: )?(?:getaddrinfo|connect|read) E[A-Z_]{3,20}\b",
        r"(?:Error: )?fetch failed",
        r"(?:Error: )?ENOSPC\b",
    )
)


def text_of(content: object) -> str:
    """Return the text of a tool's result without the wrapper that the harness puts around errors."""
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        content = next((part for part in parts if isinstance(part, str)), "")
    if not isinstance(content, str):
        return ""
    match = _WRAPPER.match(content)
    return (match[1] if match else content).lstrip()


def failure_of(block: lines.Block, outcome: lines.Outcome | None) -> facts.Failure | None:
    """Return what a failed call left, `None` where it did not fail; some only say so in their structured part."""
    if block.is_error is True:
        return facts.Failure("", text_of(block.content)[: facts.TEXT_START])
    if outcome is not None and outcome.success is False:
        told = next((text for text in (outcome.error, outcome.message) if isinstance(text, str)), "")
        return facts.Failure("", (told or text_of(block.content))[: facts.TEXT_START])
    return None


def exit_code(tool: str, failure: facts.Failure) -> int | None:
    """Return the code with which a command ended that a tool ran: the tool itself did its work."""
    match = None if _FOREIGN_TOOL.match(tool) else _EXIT.match(failure.text)
    return int(match[1]) if match else None


def classify(tool: str, failure: facts.Failure) -> str | None:
    """Return why nobody is to blame for a failed call, `None` where the agent is."""
    if tool == _PLAN:
        return "denied"
    reason = next((reason for reason, start in _OF_HARNESS if start.match(failure.text)), None)
    if reason is None and not _FOREIGN_TOOL.match(tool):
        reason = next((reason for reason, start in _OF_SURROUNDINGS if start.match(failure.text)), None)
    return reason
