"""Hooks: what a harness runs at the start of a session or of a turn, to add the advisory text to the context.

In: the host's JSON on standard input. Out: JSON with the text as additional context, or nothing. A hook never fails a
session, never blocks a prompt, never writes, and stays silent where there is nothing to say.

Claude Code and Codex agree on the fields used here: https://code.claude.com/docs/en/hooks (SessionStart,
UserPromptSubmit, "Add context for Claude") and https://learn.chatgpt.com/docs/hooks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from a2a_trust.briefing import Reader, brief
from a2a_trust.errors import NoLedgerError
from a2a_trust.settings import read_settings
from a2a_trust.signals import TrustSignals

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

HOSTS = ("claude-code", "codex")
EVENTS = ("SessionStart", "UserPromptSubmit")
"""Events whose additional context reaches the model before it acts."""
FOLD_BYTES = 2 << 20
"""Longest audit log that is folded by another lens inside a hook; a longer one would keep the session waiting."""


class HookInput(Struct, frozen=True, kw_only=True):
    """The fields of the host's input that matter here; all others are left alone."""

    hook_event_name: str
    agent_type: str | None = None
    """Name of the agent that the session runs as, where it is not the default one."""


class Context(Struct, frozen=True, kw_only=True, rename="camel"):
    """The event's own part of the answer."""

    hook_event_name: str
    additional_context: str


class HookOutput(Struct, frozen=True, kw_only=True, rename="camel"):
    """The answer."""

    hook_specific_output: Context


class Answer(Struct, frozen=True):
    """What a hook prints, and what there is to remark beside it."""

    output: bytes
    """Empty for silence."""
    remarks: list[str]


def answer(data: bytes, place: Path, environ: Mapping[str, str], max_tokens: int | None = None) -> Answer:
    """Return the answer to a host's input. Never raises: whatever goes wrong is a remark beside silence."""
    try:
        return _answer(data, place, environ, max_tokens)
    except NoLedgerError:
        return Answer(b"", [])
    except Exception as error:  # noqa: BLE001 - a session must never fail for what is wrong with its memory
        return Answer(b"", [f"no advice: {type(error).__name__}: {error}"])


def _answer(data: bytes, place: Path, environ: Mapping[str, str], max_tokens: int | None) -> Answer:
    event = msgspec.json.decode(data, type=HookInput)
    if event.hook_event_name not in EVENTS:
        return Answer(b"", [])
    settings = read_settings(place, environ)
    reader = Reader(name=event.agent_type, mode=settings.mode, max_tokens=max_tokens or settings.max_tokens)
    briefing = brief(TrustSignals.at_a_glance(place, fold=False), reader, settings.problems, fold_bytes=FOLD_BYTES)
    if not briefing.text:
        return Answer(b"", briefing.problems)
    context = Context(hook_event_name=event.hook_event_name, additional_context=briefing.text)
    return Answer(msgspec.json.encode(HookOutput(hook_specific_output=context)), briefing.problems)
