"""When a call of a Claude Code agent failed, and when nobody is to blame for it.

A text may only ever excuse, and only where it stands at the start. What the harness itself says when it did not let a
tool run is believed for every tool; what a tool says of its surroundings only for the harness's own tools. A failure
keeps only the start of its text, so no text is known by what stands behind a command or a path of any length.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from a2a_trust import facts
from a2a_trust.sources.claude_calls import SPAWNING

if TYPE_CHECKING:
    from a2a_trust.sources import claude_lines as lines

_WRAPPER = re.compile(r"\s*<tool_use_error>(.*?)(?:</tool_use_error>\s*)?\Z", re.DOTALL)
_EXIT = re.compile(r"(?:Error: )?Exit code (-?[0-9]{1,9})\b", re.ASCII)
_FOREIGN_TOOL = re.compile(r"mcp__")
"""Tools of other makers: their text is theirs."""
_PLAN = "ExitPlanMode"
_INTERRUPTED = "interrupted"
"""The code of a command that was interrupted: only the structured part of its result says so."""
_API_ERROR = re.compile(r"API Error:")

_OF_HARNESS = tuple(
    (reason, re.compile(start, re.DOTALL))
    for reason, start in (
        ("denied", r"The user doesn't want to (?:proceed with this tool use|take this action right now)"),
        ("denied", r"User rejected tool use"),
        ("sibling_failed", r"Sibling tool call errored"),
        ("sibling_failed", r"Cancelled: parallel tool call "),
        ("aborted", r"\[Request interrupted by user"),
        ("policy", r"Hook PreToolUse:"),
        ("policy", r"PreToolUse:\S{1,150} hook error\b"),
        ("policy", r"\S{1,150} operation blocked by hook\b"),
        ("policy", r"[Pp]ermission to use \S"),
        ("policy", r"Permission for this action has been denied\b"),
        ("policy", r"Claude requested permissions? to \S"),
        ("environment", r"MCP error -32000: Connection closed"),
        ("environment", r"MCP error -32001\b"),
        ("environment", r'MCP server "[^"]{1,150}" is not connected\b'),
    )
)
_OF_SURROUNDINGS = tuple(
    (reason, re.compile(start, re.DOTALL))
    for reason, start in (
        ("policy", r"This command requires approval\b"),
        ("aborted", r"<error>Command was aborted before completion\b"),
        ("environment", r"(?:Error: )?(?:posix_spawn|spawn) .{1,200}? (?:ENOENT|EAGAIN|ENOMEM|EACCES)"),
        ("environment", r"(?:Error: )?(?:getaddrinfo|connect|read) E[A-Z_]{3,20}\b"),
        ("environment", r"(?:Error: )?fetch failed"),
        ("environment", r"(?:Error: )?ENOSPC\b"),
    )
)
_OF_WEB = tuple(
    ("environment", re.compile(start, re.ASCII))
    for start in (
        r"(?:Error: )?Request failed with status code 5[0-9]{2}\b",
        r"(?:Error: )?socket hang up\b",
        r"(?:Error: )?Unable to verify if domain\b",
    )
)
_OF_TOOL = {
    "AskUserQuestion": (("denied", re.compile(r"User declined to answer questions\b")),),
    **dict.fromkeys(("WebFetch", "WebSearch"), _OF_WEB),
    **dict.fromkeys(SPAWNING, (("provider_error", _API_ERROR),)),
}
"""What only one tool says."""


def text_of(content: object) -> str:
    """Return the text of a tool's result without the wrapper that the harness puts around errors."""
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        content = next((part for part in parts if isinstance(part, str)), "")
    if not isinstance(content, str):
        return ""
    match = _WRAPPER.match(content)
    return (match[1] if match else content).lstrip()


def failure_of(tool: str, block: lines.Block, outcome: lines.Outcome | None) -> facts.Failure | None:
    """Return what a failed call left, `None` where it did not fail; some only say so in their structured part.

    An agent that a provider's failure ended may come back as if it had completed; the failure is its answer then.
    """
    text = text_of(block.content)[: facts.TEXT_START]
    if block.is_error is True:
        return facts.Failure("", text)
    if outcome is not None and outcome.success is False:
        told = next((said for said in (outcome.error, outcome.message) if isinstance(said, str)), text)
        return facts.Failure("", (told or text)[: facts.TEXT_START])
    if tool == "Bash" and outcome is not None and outcome.interrupted is True:
        return facts.Failure(_INTERRUPTED, text)
    if tool in SPAWNING and _API_ERROR.match(text):
        return facts.Failure("", text)
    return None


def exit_code(tool: str, failure: facts.Failure) -> int | None:
    """Return the code with which a command ended that a tool ran: the tool itself did its work."""
    match = None if failure.code or _FOREIGN_TOOL.match(tool) else _EXIT.match(failure.text)
    return int(match[1]) if match else None


def classify(tool: str, failure: facts.Failure) -> str | None:
    """Return why nobody is to blame for a failed call, `None` where the agent is."""
    if tool == _PLAN:
        return "denied"
    if failure.code == _INTERRUPTED:
        return "aborted"
    texts = _OF_HARNESS if _FOREIGN_TOOL.match(tool) else (*_OF_HARNESS, *_OF_SURROUNDINGS, *_OF_TOOL.get(tool, ()))
    return next((reason for reason, start in texts if start.match(failure.text)), None)
