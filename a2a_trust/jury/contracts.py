"""What each step of a jury run must be answered with, and what a wrong answer is told.

Strict: nothing is coerced, cut, filled in or rescued from prose. A probability is in percent, so that 1 is 1 %; what
JSON does not know (NaN, infinities), a key twice, a key that nobody asked for, or a lone surrogate is refused. The
validator's words name the place and what was expected, and quote nothing but the answer itself.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from a2a_trust.sources.jury_events import Actor, FaultCode, Option, Step, canonical
from a2a_trust.text import safe

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_ANSWER_BYTES = 128 << 10
"""Of an answer in UTF-8. The longest that can meet a contract fits, written plainly or as `\\uXXXX`."""
MAX_OFFSET = 10_000_000
MAX_CITATIONS = 8
MAX_WORDS = 1_000
"""Characters of what a validator says."""
_SHOWN = 80
"""Characters of the answer's own text that its complaint repeats."""

Move = Literal["challenge", "support", "question", "inform", "propose", "concede"]
Offset = Annotated[int, Meta(ge=0, le=MAX_OFFSET)]
_Claim = Annotated[str, Meta(max_length=200)]
_NOT_BLANK = r"\S"


class Citation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A span of a named text. Offsets are code points, [start, end), and `quote` is what stands there."""

    source: Annotated[str, Meta(min_length=1, max_length=200)]
    start: Offset
    end: Offset
    quote: Annotated[str, Meta(min_length=1, max_length=2_000, pattern=_NOT_BLANK)]

    def __post_init__(self) -> None:
        if self.end <= self.start:
            raise ValueError(f"`end` must be greater than `start`, and {self.end} is not greater than {self.start}")


Citations = Annotated[tuple[Citation, ...], Meta(max_length=MAX_CITATIONS)]


class _Answer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What every answer may say of itself; checked where it is said."""

    by: _Claim | None = None
    """Who answers: the seat that was asked, or its name."""
    item: _Claim | None = None
    """What it answers about."""


class Statement(_Answer, frozen=True):
    """What a party or a witness says for the record."""

    statement: Annotated[str, Meta(min_length=1, max_length=2_000, pattern=_NOT_BLANK)]
    thesis: Annotated[str, Meta(max_length=300)] = ""
    citations: Citations = ()


class Verdict(_Answer, frozen=True):
    """A verdict as its author writes it: the vote is never derived from the probability."""

    probability: Annotated[float, Meta(ge=0, le=100)]
    """Percent: 1 is 1 %."""
    vote: Option
    confidence: Annotated[float, Meta(ge=0, le=1)]
    reason: Annotated[str, Meta(min_length=1, max_length=700, pattern=_NOT_BLANK)]
    """For others to read, where the procedure shows it to them."""
    citations: Citations = ()
    factors: Annotated[tuple[Annotated[str, Meta(min_length=1, max_length=160)], ...], Meta(max_length=4)] = ()
    uncertainty: Annotated[str, Meta(max_length=400)] = ""


class Position(Verdict, frozen=True):
    """A verdict after somebody was heard."""

    reply: Annotated[str, Meta(max_length=700)] = ""
    """For the one who was heard, alone."""


class Address(_Answer, frozen=True):
    """A message from one juror to another."""

    target: Annotated[str, Meta(min_length=1, max_length=200)]
    move: Move
    message: Annotated[str, Meta(min_length=1, max_length=700, pattern=_NOT_BLANK)]
    citations: Citations = ()


class Ballot(_Answer, frozen=True):
    """The vote, once more."""

    vote: Option


class Announcement(_Answer, frozen=True):
    """The outcome as it is told; it must be the one that the votes came to."""

    outcome: str
    text: Annotated[str, Meta(min_length=1, max_length=700, pattern=_NOT_BLANK)]


Answer: TypeAlias = Statement | Verdict | Position | Address | Ballot | Announcement

CONTRACTS: dict[Step, type[Answer]] = {
    "statement": Statement,
    "baseline": Verdict,
    "verdict": Verdict,
    "address": Address,
    "position": Position,
    "ballot": Ballot,
    "announcement": Announcement,
}
"""The contract of each step that is answered; a seal is opened with bytes, not with an answer."""


class Expected(Struct, frozen=True, kw_only=True):
    """What an answer must agree with beside its contract."""

    actor: Actor
    item: str
    options: tuple[str, ...]
    targets: tuple[str, ...] = ()
    """Whom this actor may address, by seat."""
    outcome: str | None = None
    """What the votes came to, for an announcement."""
    citations_required: bool = False


class ContractError(Exception):
    """An answer that does not meet its contract: the code of the fault, and what its author is told."""

    def __init__(self, code: FaultCode, words: str) -> None:
        words = safe(words, MAX_WORDS)
        super().__init__(words)
        self.code: FaultCode = code
        self.words = words


def validate(step: Step, text: str | bytes, expected: Expected) -> Answer:
    """Return the answer that a text holds.

    Raises `ContractError`: `malformed` for what is no JSON object of the contract or within its limits,
    `missing_field`, `identity_mismatch` for a claim to be somebody else or to answer about something else,
    `unknown_target`.
    """
    answer = _decode(step, _bytes_of(text))
    _check_identity(answer, expected)
    if isinstance(answer, Verdict | Ballot):
        _check_choice("vote", answer.vote, expected.options)
    if isinstance(answer, Announcement) and expected.outcome is not None:
        _check_choice("outcome", answer.outcome, (expected.outcome,))
    if isinstance(answer, Address) and answer.target not in expected.targets:
        raise ContractError(
            "unknown_target",
            f"`target` is {_shown(answer.target)}, whom you cannot address here; expected {_listed(expected.targets)}",
        )
    citations = citations_of(answer)
    if expected.citations_required and not citations:
        raise ContractError("missing_field", "`citations` is empty; expected at least one quote from the texts")
    if len(set(citations)) < len(citations):
        raise ContractError("malformed", "`citations` holds the same span twice; expected each once")
    return answer


def read_answer(step: Step, content: bytes | msgspec.Raw) -> Answer:
    """Return an answer as it stands in a log. Raises `msgspec.ValidationError` where it does not meet its contract."""
    return msgspec.json.decode(content, type=CONTRACTS[step])


def content_of(answer: Answer) -> msgspec.Raw:
    """Return the one JSON text of an answer, as logs hold it."""
    return msgspec.Raw(canonical(answer))


@cache
def schema_of(step: Step) -> dict[str, Any]:
    """Return the JSON Schema of a step's contract, for prompts. Made once: a run asks for it with every call."""
    return msgspec.json.schema(CONTRACTS[step])


def citations_of(answer: Answer) -> tuple[Citation, ...]:
    """Return what an answer cites."""
    return () if isinstance(answer, Ballot | Announcement) else answer.citations


def prose_of(answer: Answer) -> str:
    """Return all free text of an answer, a passage a line: where identifiers may be named."""
    passages: tuple[str, ...]
    match answer:
        case Statement():
            passages = (answer.statement, answer.thesis)
        case Verdict():
            reply = (answer.reply,) if isinstance(answer, Position) else ()
            passages = (answer.reason, *answer.factors, answer.uncertainty, *reply)
        case Address():
            passages = (answer.message,)
        case Announcement():
            passages = (answer.text,)
        case Ballot():
            passages = ()
    return "\n".join(passage for passage in passages if passage)


def _bytes_of(text: str | bytes) -> bytes:
    try:
        data = text.encode() if isinstance(text, str) else text
    except UnicodeEncodeError as error:
        raise ContractError("malformed", f"a lone surrogate at character {error.start}; expected UTF-8") from None
    if len(data) > MAX_ANSWER_BYTES:
        raise ContractError("malformed", f"{len(data)} bytes; expected one JSON object of at most {MAX_ANSWER_BYTES}")
    return data


def _decode(step: Step, data: bytes) -> Answer:
    try:
        answer = msgspec.json.decode(data, type=CONTRACTS[step])
        json.loads(data, object_pairs_hook=_without_twins)
    except msgspec.ValidationError as error:
        words = str(error)
        code: FaultCode = "missing_field" if words.startswith("Object missing required field") else "malformed"
        raise ContractError(code, _plainer(words)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ContractError(
            "malformed", f"not one JSON object and nothing else, without a code fence or other text: {error}"
        ) from None
    return answer


def _without_twins(pairs: Sequence[tuple[str, object]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise ContractError("malformed", f"the key {_shown(key)} stands twice in one object; expected each once")
        seen.add(key)


def _plainer(words: str) -> str:
    """Return a decoder's words without regular expressions and without the whole of a long key."""
    words = words.replace(r"`str` matching regex '\\S'", "`str` that is not blank")
    return re.sub(r"`([^`]{80})[^`]+`", r"`\1…`", words)


def _check_identity(answer: Answer, expected: Expected) -> None:
    actor = expected.actor
    if answer.by is not None and answer.by not in (actor.id, actor.name):
        raise ContractError(
            "identity_mismatch",
            f"`by` is {_shown(answer.by)}, but you are {_shown(actor.id)}; leave it out or be right",
        )
    if answer.item is not None and answer.item != expected.item:
        raise ContractError(
            "identity_mismatch",
            f"`item` is {_shown(answer.item)}, but this is about {_shown(expected.item)}; leave it out or be right",
        )


def _check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise ContractError("malformed", f"`{name}` is {_shown(value)}; expected {_listed(choices)}")


def _listed(choices: Sequence[str]) -> str:
    if not choices:
        return "nobody: there is no one to choose"
    return " or ".join(filter(None, (", ".join(map(_shown, choices[:-1])), _shown(choices[-1]))))


def _shown(text: str) -> str:
    return f"'{safe(text, _SHOWN)}'"
