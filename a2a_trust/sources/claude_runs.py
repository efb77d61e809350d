"""The runs of the subagents that a Claude Code agent spawns: begun, come to their end, cut short.

A run stands where it was called: by whatever a transcript tells that it began, and by whatever it tells that a run in
the background is over, every copy of the transcript says the same. Only the end of a run that its spawner waited for
stands at its result.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from a2a_trust import facts
from a2a_trust.model import Profile
from a2a_trust.sources import claude_lines as lines
from a2a_trust.sources.claude_calls import OpenCall

if TYPE_CHECKING:
    from a2a_trust.sources.claude_calls import Where

NOTICE_START = "<task-notification>"
_NOTICE = re.compile(
    r"<task-notification>.*?<task-id>([^<]{1,200})</task-id>.*?<status>([a-z_]{1,40})</status>", re.DOTALL
)
_COMPLETED = "completed"
_CUT_SHORT = frozenset(["cancelled", "error", "failed", "killed", "stopped"])


class Background(Struct, array_like=True):
    """A run in the background: nothing is known of its end yet."""

    call: OpenCall
    profile: Profile


def started(call: OpenCall, profile: Profile) -> list[facts.AnyFact]:
    """Return that a run began, if that was not said before."""
    if call.begun:
        return []
    call.begun = True
    return [facts.Run(call.seq, call.time, profile, "started", call.id, event=call.event)]


def ended(call: OpenCall, profile: Profile, where: Where, ms: object) -> list[facts.AnyFact]:
    """Return that a run for which its spawner waited came to its end."""
    duration = ms if type(ms) is int and ms >= 0 else None
    end = facts.Run(where.seq, where.time, profile, "ended", call.id, duration, event=where.event)
    return [*started(call, profile), end]


def stopped(call: OpenCall, profile: Profile, where: Where, reason: str | None) -> list[facts.AnyFact]:
    """Return that a run for which its spawner waited was cut short, and by what if that is known."""
    end = facts.Run(where.seq, where.time, profile, "stopped", call.id, reason=reason or "", event=where.event)
    return [*started(call, profile), end]


def over(running: dict[str, Background], agent: str, status: str) -> list[facts.AnyFact]:
    """Return how a run in the background ended, and forget it; nothing where it goes on, or is none of these."""
    if agent not in running or not (status == _COMPLETED or status in _CUT_SHORT):
        return []
    run = running.pop(agent)
    call = run.call
    state, reason = ("ended", "") if status == _COMPLETED else ("stopped", status)
    return [facts.Run(call.seq, call.time, run.profile, state, call.id, reason=reason, event=call.event)]


def notices(said: str) -> list[tuple[str, str]]:
    """Return the agents of which the harness told how they are, each with its status."""
    return _NOTICE.findall(said) if said.lstrip().startswith(NOTICE_START) else []


def notice_in(line: lines.Line) -> str:
    """Return the notice that reached an agent in the middle of its turn; empty for any other attachment."""
    given = line.attachment
    if not isinstance(given, lines.Attachment) or given.mode != "task-notification":
        return ""
    return given.prompt if isinstance(given.prompt, str) else ""
