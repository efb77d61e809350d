"""Runs, actors and providers that several tests of juries share."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from a2a_trust.jury.calls import Request
from a2a_trust.jury.contracts import Expected
from a2a_trust.jury.providers import Call, Prompt, Reply
from a2a_trust.sources.jury_events import Actor, Limits, Rule, RunEnded, RunOpened, Sealed, Trust, key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

OPTIONS = ("guilty", "not_guilty")
TEXTS = {"E1": "The glass was broken from within.", "E2": "Nobody heard the glass."}
SPAN = {"source": "E1", "start": 4, "end": 20, "quote": "glass was broken"}
MISPLACED = SPAN | {"start": 5, "end": 21}
INVENTED = SPAN | {"quote": "glass was mended"}
VERDICT: dict[str, Any] = {"probability": 70, "vote": "guilty", "confidence": 0.5, "reason": "It fits."}


def opened(limits: Limits | None = None, **more: Any) -> RunOpened:  # noqa: ANN401 - fields of a run
    """A run of a panel."""
    fields: dict[str, Any] = {
        "run": "r1", "preset": "panel", "conditions": ("digest",), "control": "a" * 64, "hearing": "b" * 64,
        "case": "c" * 64, "cast": [], "rule": Rule(kind="majority"), "rounds": 1, "seed": 7, "version": "1",
    }  # fmt: skip
    return RunOpened(key="run", time=0, limits=limits or Limits(), trust=Trust(mode="off"), **fields | more)


def sealed(item: str, actor: str = "j1") -> Sealed:
    """A seal."""
    return Sealed(key=key_of("seal", item, actor), time=0, item=item, actor=actor, commitment="d" * 64)


def ended(epoch: int = 0, *, finished: bool = True) -> RunEnded:
    """The end of a run."""
    return RunEnded(key=key_of("ended", epoch), time=0, epoch=epoch, finished=finished, calls=0, failed=0)


def actor(seat: str = "j1", provider: str = "script") -> Actor:
    """A juror."""
    return Actor(id=seat, part="juror", name=f"Juror {seat}", provider=provider, model="m1")


def request(seat: str = "j1", item: str = "t1", **more: Any) -> Request:  # noqa: ANN401 - fields of a request
    """A verdict that is wanted."""
    who = more.pop("actor", None) or actor(seat)
    fields: dict[str, Any] = {
        "item": item,
        "step": "verdict",
        "actor": who,
        "prompt": Prompt(system="You are a juror.", user=f"Judge {item}.", shown={"record": item}),
        "expected": Expected(actor=who, item=item, options=OPTIONS),
        "texts": TEXTS,
    }
    return Request(**fields | more)


def verdict(**more: object) -> str:
    """A verdict as a provider gives it."""
    return json.dumps(VERDICT | more)


class Scripted:
    """A provider that gives what a function of the call says, and counts: an exception is raised, a text returned."""

    def __init__(self, script: Callable[[Call], object] | Sequence[object], *, blocking: bool = False) -> None:
        self.blocking = blocking
        self.calls: list[Call] = []
        self._script = script

    def answer(self, call: Call) -> Reply:
        """Say what the script says: from its start for a list, its last entry again and again."""
        self.calls.append(call)
        script = self._script
        said = script(call) if callable(script) else script[min(len(self.calls), len(script)) - 1]
        if isinstance(said, BaseException):
            raise said
        return Reply(text=said) if isinstance(said, str) else said  # type: ignore[return-value] # may be anything

    def reveal(self, call: Call, sealed: bytes) -> bytes:  # noqa: ARG002 - honest
        """Open what was sealed."""
        return sealed
