"""Reference jurors that fail on purpose, one for each fault code, so that every fault can be seen landing.

The code is the model of the seat, so that a faulty juror has a fingerprint of its own. What strikes once strikes the
first attempt of a step and is mended when the validator complains; what a juror would not mend strikes every time.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, get_args

import msgspec

from a2a_trust.jury.providers import ProviderError, Reply
from a2a_trust.jury.reference import answer
from a2a_trust.sources.jury_events import FaultCode, canonical

if TYPE_CHECKING:
    from a2a_trust.jury.providers import Call

NAME = "faulty"
HUNG = "hung"
"""Name of the same provider for a seat whose calls never return: it needs a thread of its own."""
CODES: tuple[FaultCode, ...] = get_args(FaultCode)

_ONCE = {"timeout", "provider_error", "malformed", "missing_field", "unknown_target", "identity_mismatch"}
_HANGS_AT = {"statement", "verdict", "announcement"}
"""A hung call costs its whole deadline: once is enough."""
_NEVER_SAID = "These words were never written in any of the texts."


def provider_of(code: FaultCode) -> str:
    """Return the provider under which a seat with this fault is entered."""
    return HUNG if code == "timeout" else NAME


class FaultyProvider:
    """Answers as the reference does, but for the fault that the model of the seat names."""

    def __init__(self, *, blocking: bool = False) -> None:
        self.blocking = blocking

    def answer(self, call: Call) -> Reply:
        """Return an answer with its fault, block for good, or raise `ProviderError`."""
        code = call.actor.model
        if code == "absent":
            raise ProviderError("nobody is there")
        if call.attempt == 1 or code not in _ONCE:
            return self._struck(code, call)
        return _reply(call, canonical(answer(call)).decode())

    def reveal(self, call: Call, sealed: bytes) -> bytes:
        """Return another verdict than the sealed one, where that is the fault."""
        if call.actor.model != "seal_broken":
            return sealed
        verdict = msgspec.json.decode(sealed)
        return canonical(verdict | {"vote": _other(call, verdict["vote"])})

    def _struck(self, code: str, call: Call) -> Reply:
        if code == "timeout" and call.step in _HANGS_AT:
            threading.Event().wait()
        if code == "provider_error":
            raise ProviderError("the connection was closed")
        content = answer(call)
        text = canonical(_spoilt(code, call, content)).decode()
        return _reply(call, text[:-1] if code == "malformed" else text)


def _reply(call: Call, text: str) -> Reply:
    return Reply(text=text, provider=call.actor.provider, model=call.actor.model)


def _spoilt(code: str, call: Call, content: dict[str, Any]) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    match code:
        case "missing_field":
            content = dict(list(content.items())[1:])
        case "identity_mismatch":
            changes = {"by": "somebody-else"}
        case "unknown_target" if call.step == "address":
            changes = {"target": call.actor.id}
        case "ballot_changed" if call.step == "ballot":
            changes = {"vote": _other(call, content["vote"])}
        case "unadmitted_citation":
            changes = _unadmitted(content)
        case "quote_misplaced" | "quote_mismatch":
            changes = _misquoted(code, content)
        case _:
            pass
    return content | changes


def _unadmitted(content: dict[str, Any]) -> dict[str, Any]:
    field = next((name for name in ("reason", "message", "statement") if name in content), None)
    return {} if field is None else {field: f"{content[field][:600]} So says E99."}


def _misquoted(code: str, content: dict[str, Any]) -> dict[str, Any]:
    """Spoil the first citation: its place by a character, or its words."""
    if not content.get("citations"):
        return {}
    first, *others = content["citations"]
    if code == "quote_misplaced":
        first = first | {"start": first["start"] + 1, "end": first["end"] + 1}
    else:
        first = first | {"quote": _NEVER_SAID}
    return {"citations": [first, *others]}


def _other(call: Call, vote: str) -> str:
    return next(option for option in call.options if option != vote)
