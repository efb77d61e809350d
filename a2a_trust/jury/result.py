"""`result.json`: everything that a run came to, item by item, as strict JSON of a published schema.

The structs are the format; where a part is an event of the log, it stands here as it stands there, so that each number
names its event. The file is written item by item: a data set of any size needs no more memory than one of its items.
Of the texts that may be cited it holds the hashes; the log holds the texts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from a2a_trust.sources.jury_events import (
    Actor,
    AgentType,
    Answered,
    AttemptFailed,
    BallotCast,
    Cited,
    Condition,
    DigestMade,
    Hash,
    Limits,
    PhaseClosed,
    Preset,
    QuorumMissed,
    RequestRefused,
    Resolved,
    Rule,
    Sealed,
    SealOpened,
    Trust,
    WentAbsent,
    sha256,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from a2a_trust.jury.fold import Item, Run

VERSION = 1


class _Part(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A part of the result; every key is always there."""


class RunPart(_Part, frozen=True, kw_only=True):
    """The run."""

    id: str
    preset: Preset
    title: str
    conditions: tuple[Condition, ...]
    rule: Rule
    rounds: int
    order: str
    seed: int
    limits: Limits
    trust: Trust
    control: Hash
    hearing: Hash
    case: Hash
    version: str
    """Of a2a-trust."""
    began: int
    """ms since 1970, UTC, as all times."""
    ended: int | None
    finished: bool
    reason: str
    """Why it is not finished."""
    epochs: int
    """Times that it was started or resumed."""
    calls: int | None
    failed: int | None
    infrastructure: dict[str, int]


class LogPart(_Part, frozen=True, kw_only=True):
    """The log that all of this was computed from."""

    lines: int
    head: Hash
    """Hash of its last line."""


class AnswerPart(_Part, frozen=True, kw_only=True):
    """An answer that met its contract."""

    answer: str
    """Key of the event that holds it."""
    actor: str
    round: int
    attempt: int
    ms: int
    content: dict[str, Any]
    """By the contract of its step."""


class SealPart(_Part, frozen=True, kw_only=True):
    """A sealed verdict."""

    actor: str
    commitment: Hash
    holds: bool | None
    """Whether what was opened is what was sealed; `null` before it was opened."""


class ConditionPart(_Part, frozen=True, kw_only=True):
    """What one condition came to."""

    condition: Condition
    status: Literal["decided", "hung", "agreed", "review", "open"]
    outcome: str | None
    tally: dict[str, int]
    reason: str
    label: str | None
    addresses: tuple[AnswerPart, ...]
    positions: tuple[AnswerPart, ...]
    ballots: tuple[BallotCast, ...]
    announcement: AnswerPart | None


class TextPart(_Part, frozen=True, kw_only=True):
    """A text that may be cited."""

    sha256: Hash
    characters: int
    """Code points."""


class ItemPart(_Part, frozen=True, kw_only=True):
    """One item."""

    item: str
    question: str
    options: tuple[str, ...]
    texts: dict[str, TextPart]
    judged: AgentType | None
    record: tuple[AnswerPart, ...]
    baseline: tuple[AnswerPart, ...]
    sealed: tuple[AnswerPart, ...]
    seals: tuple[SealPart, ...]
    conditions: tuple[ConditionPart, ...]
    citations: tuple[Cited, ...]
    faults: tuple[AttemptFailed | WentAbsent, ...]
    phases: tuple[PhaseClosed, ...]
    digests: tuple[DigestMade, ...]
    refusals: tuple[RequestRefused | QuorumMissed, ...]
    missing: tuple[str, ...]
    """Answers that nobody ever gave, `<item>/<condition>/<step>[-<n>]/<actor>`."""
    resolution: Resolved | None
    line: Hash | None
    """Hash of the line of its last outcome: what a person who decides has seen."""


class Result(_Part, frozen=True, kw_only=True):
    """The whole file."""

    version: Literal[1]
    run: RunPart
    log: LogPart
    cast: tuple[Actor, ...]
    items: tuple[ItemPart, ...]


def schema() -> dict[str, Any]:
    """Return the JSON Schema of the file."""
    return schema_of(Result, "a2a-trust jury result, version 1")


def schema_of(kind: type, title: str) -> dict[str, Any]:
    """Return the JSON Schema of a struct."""
    (found,), components = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **found, "$defs": components}


def chunks(run: Run, items: Iterable[Item]) -> Iterator[bytes]:
    """Yield the file, one item at a time: those of a data set a line each, others indented."""
    indent = -1 if run.opened.traces else 2
    yield b'{"version": %d,\n"run": %s,\n' % (VERSION, encode(run_part(run)))
    yield b'"log": %s,\n' % encode(LogPart(lines=run.lines, head=run.head))
    yield b'"cast": %s,\n"items": [' % encode(run.opened.cast)
    between = b"\n"
    for item in items:
        yield between + encode(item_part(run, item), indent)
        between = b",\n"
    yield b"\n]}\n"


def encode(value: Any, indent: int = 2) -> bytes:  # noqa: ANN401 - any part
    """Return JSON, indented unless `indent` is negative."""
    text = msgspec.json.encode(value, order="deterministic")
    return text if indent < 0 else msgspec.json.format(text, indent=indent)


def run_part(run: Run) -> RunPart:
    """Return what the file says of the run."""
    opened, ended = run.opened, run.ended
    return RunPart(
        id=opened.run,
        preset=opened.preset,
        title=opened.title,
        conditions=opened.conditions,
        rule=opened.rule,
        rounds=opened.rounds,
        order=opened.order,
        seed=opened.seed,
        limits=opened.limits,
        trust=opened.trust,
        control=opened.control,
        hearing=opened.hearing,
        case=opened.case,
        version=opened.version,
        began=opened.time,
        ended=ended.time if ended else None,
        finished=run.finished,
        reason=ended.reason if ended else "it has not come to its end",
        epochs=run.epochs,
        calls=ended.calls if ended else None,
        failed=ended.failed if ended else None,
        infrastructure=ended.infrastructure if ended else {},
    )


def item_part(run: Run, item: Item) -> ItemPart:
    """Return what the file says of an item."""
    opened = item.opened
    answers = item.of(Answered)
    openings = {event.actor: event.holds for event in item.of(SealOpened)}
    return ItemPart(
        item=opened.item,
        question=opened.question,
        options=opened.options,
        texts={name: TextPart(sha256=sha256(text), characters=len(text)) for name, text in opened.texts.items()},
        judged=opened.judged,
        record=_answers(answers, "statement"),
        baseline=_answers(answers, "baseline"),
        sealed=_answers(answers, "verdict"),
        seals=tuple(
            SealPart(actor=event.actor, commitment=event.commitment, holds=openings.get(event.actor))
            for event in item.of(Sealed)
        ),
        conditions=tuple(_condition(item, condition) for condition in run.opened.conditions),
        citations=tuple(item.of(Cited)),
        faults=tuple(event for event in item.events if isinstance(event, AttemptFailed | WentAbsent)),
        phases=tuple(item.of(PhaseClosed)),
        digests=tuple(item.of(DigestMade)),
        refusals=tuple(event for event in item.events if isinstance(event, RequestRefused | QuorumMissed)),
        missing=tuple(item.missing()),
        resolution=run.resolutions.get(opened.item),
        line=item.line or None,
    )


def _condition(item: Item, condition: Condition) -> ConditionPart:
    reached = item.outcome(condition)
    mine = [event for event in item.of(Answered) if event.condition == condition]
    return ConditionPart(
        condition=condition,
        status=reached.status if reached else "open",
        outcome=reached.outcome if reached else None,
        tally=reached.tally if reached else {},
        reason=reached.reason if reached else "",
        label=reached.label if reached else None,
        addresses=_answers(mine, "address"),
        positions=_answers(mine, "position"),
        ballots=tuple(event for event in item.of(BallotCast) if event.condition == condition),
        announcement=next(iter(_answers(mine, "announcement")), None),
    )


def _answers(events: Iterable[Answered], step: str) -> tuple[AnswerPart, ...]:
    return tuple(
        AnswerPart(
            answer=event.key,
            actor=event.actor,
            round=event.round,
            attempt=event.attempt,
            ms=event.ms,
            content=msgspec.json.decode(event.content),
        )
        for event in events
        if event.step == step
    )
