"""What a case file and a line of a data set hold, and their limits: strict, nothing unknown, nothing coerced."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from a2a_trust.sources.jury_events import AgentType, Option

MAX_TEXT = 12_000
"""Characters of the text of a panel."""
PARTIES = 2

_WORDS = r"\S"
Seat: TypeAlias = Annotated[str, Meta(pattern="^[a-z][a-z0-9_-]{0,39}$")]
"""Id of somebody in a case."""
EvidenceId: TypeAlias = Annotated[str, Meta(pattern="^E[1-9][0-9]?$")]
Name: TypeAlias = Annotated[str, Meta(pattern=r"^[^\x00-\x1f\x7f]*[^\x00-\x1f\x7f\s][^\x00-\x1f\x7f]*$", max_length=80)]
"""One line, since it stands where nothing fences it."""
Sentence: TypeAlias = Annotated[str, Meta(pattern=_WORDS, max_length=400)]
Passage: TypeAlias = Annotated[str, Meta(pattern=_WORDS, max_length=2000)]
Options: TypeAlias = Annotated[tuple[Option, ...], Meta(min_length=2, max_length=4)]
"""What can be voted for; a probability is that of the first."""


class _Strict(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Refuses what it does not know."""


class Truth(_Strict, frozen=True, kw_only=True):
    """What is known to be right: never in a prompt, and in the log only with the outcome."""

    outcome: Option
    note: Annotated[str, Meta(max_length=1000)] = ""


class Person(_Strict, frozen=True, kw_only=True):
    """Somebody who takes part."""

    id: Seat
    name: Name
    persona: Annotated[str, Meta(pattern=_WORDS, max_length=1000)]


class Party(Person, frozen=True, kw_only=True):
    """A side, with what it alone is told."""

    side: Option
    """The outcome that it argues for."""
    brief: Passage
    relies_on: Annotated[tuple[EvidenceId, ...], Meta(max_length=8)] = ()


class Witness(Person, frozen=True, kw_only=True):
    """Somebody who knows something, and what each party asks."""

    knows: Passage
    relies_on: Annotated[tuple[EvidenceId, ...], Meta(max_length=8)] = ()
    questions: dict[Seat, Sentence]


class TribunalCase(_Strict, frozen=True, tag="tribunal", tag_field="preset", kw_only=True):
    """A dispute that is heard."""

    id: Seat
    title: Name
    question: Sentence
    options: Options
    charge: Passage
    burden: Sentence
    summary: Passage
    """What is public before the hearing begins."""
    evidence: Annotated[dict[EvidenceId, Passage], Meta(min_length=1, max_length=40)]
    judge: Person
    parties: Annotated[tuple[Party, ...], Meta(min_length=PARTIES, max_length=PARTIES)]
    witnesses: Annotated[tuple[Witness, ...], Meta(max_length=8)]
    jurors: Annotated[tuple[Person, ...], Meta(min_length=2, max_length=12)]
    foreperson: Seat
    solo: Person
    truth: Truth | None = None


class Edit(_Strict, frozen=True, kw_only=True):
    """Words of the case text, standing there once, and those that take their place."""

    find: Annotated[str, Meta(min_length=1, max_length=2000)]
    replace: Annotated[str, Meta(max_length=2000)]


class Variant(_Strict, frozen=True, kw_only=True):
    """The case told otherwise in a few words, so that their effect can be seen."""

    id: Seat
    title: Name
    edits: Annotated[tuple[Edit, ...], Meta(min_length=1, max_length=20)]


class PanelCase(_Strict, frozen=True, tag="panel", tag_field="preset", kw_only=True):
    """A text that panels judge, and variants of it."""

    id: Seat
    title: Name
    question: Sentence
    options: Options
    burden: Sentence
    text: Annotated[str, Meta(pattern=_WORDS, max_length=MAX_TEXT)]
    variants: Annotated[tuple[Variant, ...], Meta(max_length=8)] = ()
    jurors: Annotated[int, Meta(ge=2, le=12)] = 6
    rule: Literal["majority", "supermajority", "unanimous"] = "supermajority"
    truth: Truth | None = None


class Agent(_Strict, frozen=True, kw_only=True):
    """Whose work a trace is, as its profile."""

    name: Annotated[str, Meta(pattern=_WORDS, max_length=200)]
    description: Annotated[str, Meta(max_length=2000)] = ""
    provider: Annotated[str, Meta(max_length=200)] = ""
    context: Annotated[str, Meta(max_length=200)] = ""

    def profile(self) -> AgentType:
        """Return it as the log names it."""
        return AgentType(**msgspec.structs.asdict(self))


class Trajectory(_Strict, frozen=True, kw_only=True):
    """One line of a data set: what an agent was asked and what it gave."""

    trace_id: Annotated[str, Meta(pattern=r"^[^\s\x00-\x1f]([^\x00-\x1f]*[^\s\x00-\x1f])?$", max_length=160)]
    input: Annotated[str, Meta(max_length=50_000)]
    output: Annotated[str, Meta(max_length=100_000)]
    label: Literal["accept", "reject"] | None = None
    agent: Agent | None = None


class Judge(_Strict, frozen=True, kw_only=True):
    """A judge of trajectories, as it is configured."""

    id: Seat
    name: Name
    persona: Annotated[str, Meta(pattern=_WORDS, max_length=1000)]
    provider: Name = "reference"
    model: Annotated[str, Meta(max_length=80)] = ""
    parameters: dict[str, Annotated[str, Meta(max_length=400)]] = {}
