"""The seam between the engine and whatever answers for a juror: a model, a program, a test double.

A provider gets one call at a time and returns a text, which it need not check. Whatever it raises is a fault of the
call, never of the run; only the words of a `ProviderError` are logged. What it knows is in the call: no other juror's,
and nothing that the prompt was not made of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from a2a_trust.sources.jury_events import Actor, Condition, Hash, Step, canonical, sha256

if TYPE_CHECKING:
    from collections.abc import Mapping

COMPLAINT = "complaint"
"""Name of the part in which an attempt is told what was wrong with the one before it."""


class Prompt(Struct, frozen=True, kw_only=True):
    """What an actor is shown."""

    system: str
    user: str
    shown: dict[str, str] = field(default_factory=dict)
    """The named parts of the text: record, digest, message, replies, trust, complaint."""
    data: dict[str, Any] = field(default_factory=dict)
    """The same, typed, for providers that compute rather than read; it holds nothing that the text does not tell."""

    @property
    def sha256(self) -> Hash:
        """Hash of the whole text, as sent."""
        return sha256(canonical([self.system, self.user]))

    def hashes(self) -> dict[str, Hash]:
        """Return the hashes of the parts, by name."""
        return {name: sha256(text) for name, text in sorted(self.shown.items())}

    def with_complaint(self, words: str) -> Prompt:
        """Return the prompt of another attempt, which is told what was wrong with the one before it."""
        if not words:
            return self
        told = f"{self.user}\n\nYour answer before this one was refused: {words}\nAnswer again, in full."
        return replace(self, user=told, shown=self.shown | {COMPLAINT: words})


class Call(Struct, frozen=True, kw_only=True):
    """One attempt at one answer, or the opening of one seal."""

    actor: Actor
    item: str
    condition: Condition | None = None
    step: Step
    round: int = 0
    attempt: int = 1
    prompt: Prompt
    schema: dict[str, Any] = field(default_factory=dict)
    """JSON Schema of the contract."""
    options: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    complaint: str = ""
    """What was wrong with the attempt before this one; part of the prompt as well."""
    seed: int = 0
    """For providers that draw at random: of the run, the same in each call, and in no prompt."""
    deadline: float = 0.0
    """Seconds from now in which an answer counts."""


class Reply(Struct, frozen=True, kw_only=True):
    """What came back. Provider and model are what answered, where it says so; others than configured are a fault."""

    text: str
    provider: str = ""
    model: str = ""
    tokens: tuple[int, int] | None = None
    """Of prompt and answer."""


class ProviderError(Exception):
    """A provider could not answer. The message says why, in words that may stand in a log."""


class Provider(Protocol):
    """What answers. One instance may be called from several threads at a time if it is `blocking`."""

    blocking: bool
    """Whether a call may take long: it is then made in a thread of its own and left behind at its deadline."""

    def answer(self, call: Call) -> Reply:
        """Return the answer to a call. Raises `ProviderError`, or anything."""

    def reveal(self, call: Call, sealed: bytes) -> bytes:  # noqa: ARG002 - for those that say something else
        """Return the verdict that this actor says it sealed: as a rule just that."""
        return sealed


Providers: TypeAlias = "Mapping[str, Provider]"
"""By `Actor.provider`."""
