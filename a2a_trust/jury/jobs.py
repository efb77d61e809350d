"""What is asked for, and what each attempt at it comes to: the events that stand in the log for it.

Pure but for the provider that is asked. The same code makes the events of a fresh answer and those that a logged one
must equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import msgspec
from msgspec import Struct, field

from a2a_trust.jury.citations import check, unadmitted
from a2a_trust.jury.contracts import (
    MAX_WORDS,
    Answer,
    ContractError,
    Expected,
    citations_of,
    content_of,
    prose_of,
    read_answer,
    schema_of,
    validate,
)
from a2a_trust.jury.procedure import commitment
from a2a_trust.jury.providers import Call, Prompt, Reply
from a2a_trust.sources.jury_events import (
    Actor,
    Answered,
    AttemptFailed,
    CitationStatus,
    Cited,
    Condition,
    FaultCode,
    RequestRefused,
    SealOpened,
    Step,
    WentAbsent,
    key_of,
    sha256,
    step_of,
)
from a2a_trust.text import safe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_trust.jury.providers import Provider
    from a2a_trust.sources.jury_events import Event, Limits

T_co = TypeVar("T_co", covariant=True)

_FAULT_OF: dict[CitationStatus, FaultCode] = {
    "mismatch": "quote_mismatch",
    "misplaced": "quote_misplaced",
    "unadmitted": "unadmitted_citation",
}
"""From the gravest on: an attempt with several bad citations has the fault of the gravest."""


class Request(Struct, frozen=True, kw_only=True):
    """One answer that is wanted."""

    item: str
    condition: Condition | None = None
    step: Step
    round: int = 0
    number: int = 0
    """Tells the answers to one step apart where the same actor gives several; part of the key."""
    actor: Actor
    prompt: Prompt
    expected: Expected
    texts: dict[str, str] = field(default_factory=dict)
    """What may be cited."""
    admitted: tuple[str, ...] = ()
    """Identifiers that may be named in prose, beside the names of `texts`."""
    strict_citations: bool = False
    """Whether a bad citation sinks the last attempt too."""

    def place(self) -> dict[str, Any]:
        """Return the fields that tell what an event is about, and a time that the log will set."""
        return {"time": 0, "item": self.item, "condition": self.condition}

    def key(self, kind: str, *more: str | int) -> str:
        """Return the key of an event of a kind that is about this request."""
        return key_of(kind, self.item, self.condition, step_of(self.step, self.number), self.actor.id, *more)


class Opening(Struct, frozen=True, kw_only=True):
    """One seal that is to be opened."""

    request: Request
    """Whose, with step `open`; its `expected` is that of the verdict."""
    nonce: str
    sealed: bytes
    """The verdict that was sealed, canonical."""
    commitment: str


class Attempt(NamedTuple):
    """One try at one answer."""

    number: int
    final: bool
    prompt: Prompt
    complaint: str
    ms: int = 0


class Fault(NamedTuple):
    """Why an attempt gave nothing usable."""

    code: FaultCode
    words: str
    """As the log holds them and the next attempt is told them: safe, and within their limit."""


class Judged(NamedTuple):
    """What a reply comes to: its events, the last of them an answer or a fault, and the fault if it is one."""

    events: list[Event]
    fault: Fault | None


class Job(Protocol[T_co]):
    """One thing that is asked for, until it is answered or nobody is left to answer."""

    request: Request
    answer_key: str

    def invoke(self, provider: Provider, call: Call) -> Reply:
        """Ask. Raises whatever the provider raises."""

    def judge(self, attempt: Attempt, reply: Reply) -> Judged:
        """Return what a reply comes to."""

    def rebuilt(self, attempt: Attempt, logged: Event) -> Judged:
        """Return what the reply behind a logged answer comes to."""

    def value(self, logged: Event) -> T_co:
        """Return what was asked for from the event that holds it. Raises `msgspec.ValidationError`."""


class Asking:
    """The job of getting an answer."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.answer_key = request.key("answer")

    def invoke(self, provider: Provider, call: Call) -> Reply:
        """Ask for the answer."""
        return provider.answer(call)

    def judge(self, attempt: Attempt, reply: Reply) -> Judged:
        """Check identity, contract and citations, in this order."""
        request = self.request
        try:
            check_reported(request.actor, reply)
            answer = validate(request.step, reply.text, request.expected)
        except ContractError as error:
            return failed(request, attempt, Fault(error.code, error.words), reply)
        cited = cited_events(request, attempt.number, answer)
        fault = citation_fault(cited)
        if fault is not None and (request.strict_citations or not attempt.final):
            judged = failed(request, attempt, fault, reply)
            return Judged([*cited, *judged.events], fault)
        answered = Answered(
            key=self.answer_key,
            **request.place(),
            step=request.step,
            actor=request.actor.id,
            attempt=attempt.number,
            round=request.round,
            prompt=attempt.prompt.sha256,
            shown=attempt.prompt.hashes(),
            content=content_of(answer),
            ms=attempt.ms,
            model=reply.model,
            tokens=reply.tokens,
        )
        return Judged([*cited, answered], None)

    def rebuilt(self, attempt: Attempt, logged: Event) -> Judged:
        """Judge the logged content anew."""
        if not isinstance(logged, Answered):
            return Judged([], Fault("malformed", "not an answer"))
        reply = Reply(text=bytes(logged.content).decode(), model=logged.model, tokens=logged.tokens)
        return self.judge(attempt._replace(ms=logged.ms), reply)

    def value(self, logged: Event) -> Answer:
        """Return the answer."""
        return read_answer(self.request.step, logged.content)  # type: ignore[union-attr] # only answers come here


class Revealing:
    """The job of having a seal opened."""

    def __init__(self, opening: Opening) -> None:
        self.opening = opening
        self.request = opening.request
        self.answer_key = key_of("opened", opening.request.item, opening.request.actor.id)

    def invoke(self, provider: Provider, call: Call) -> Reply:
        """Have the seal opened."""
        reveal = getattr(provider, "reveal", None)
        opened = reveal(call, self.opening.sealed) if reveal is not None else self.opening.sealed
        if not isinstance(opened, bytes):
            raise TypeError(f"reveal() gave a {type(opened).__name__}, not bytes")
        return Reply(text=opened.decode(errors="surrogateescape"))

    def judge(self, attempt: Attempt, reply: Reply) -> Judged:
        """Check that it is a verdict, and whether it is the one that was sealed."""
        request, opening = self.request, self.opening
        try:
            verdict = content_of(validate("verdict", reply.text, request.expected))
        except ContractError as error:
            return failed(request, attempt, Fault(error.code, error.words), reply)
        opened = SealOpened(
            key=self.answer_key,
            time=0,
            item=request.item,
            actor=request.actor.id,
            nonce=opening.nonce,
            verdict=verdict,
            holds=commitment(opening.nonce, bytes(verdict)) == opening.commitment,
        )
        return Judged([opened], None)

    def rebuilt(self, attempt: Attempt, logged: Event) -> Judged:
        """Open the logged verdict anew."""
        if not isinstance(logged, SealOpened):
            return Judged([], Fault("malformed", "not an opened seal"))
        return self.judge(attempt, Reply(text=bytes(logged.verdict).decode()))

    def value(self, logged: Event) -> SealOpened:
        """Return the opened seal as it stands in the log."""
        return logged  # type: ignore[return-value] # only opened seals come here


def call_of(request: Request, attempt: Attempt, limits: Limits, seed: int) -> Call:
    """Return the call of an attempt."""
    return Call(
        actor=request.actor,
        item=request.item,
        condition=request.condition,
        step=request.step,
        round=request.round,
        attempt=attempt.number,
        prompt=attempt.prompt,
        schema=schema_of("verdict" if request.step == "open" else request.step),
        options=request.expected.options,
        targets=request.expected.targets,
        complaint=attempt.complaint,
        seed=seed,
        deadline=limits.deadline,
    )


def check_reported(actor: Actor, reply: Reply) -> None:
    """Refuse what comes from another provider or model than the one configured. Raises `ContractError`.

    A provider whose service answers to several names reports the one that was configured.
    """
    for name, reported, configured in (
        ("provider", reply.provider, actor.provider),
        ("model", reply.model, actor.model),
    ):
        if reported and configured and reported != configured:
            raise ContractError(
                "identity_mismatch", f"the {name} that answered is {reported!r}, and {configured!r} was asked"
            )


def failed(request: Request, attempt: Attempt, fault: Fault, reply: Reply | None = None) -> Judged:
    """Return a failed attempt; of what came back only the hash is kept."""
    event = AttemptFailed(
        key=request.key("fault", attempt.number),
        **request.place(),
        step=request.step,
        actor=request.actor.id,
        attempt=attempt.number,
        round=request.round,
        prompt=attempt.prompt.sha256,
        shown=attempt.prompt.hashes(),
        code=fault.code,
        words=fault.words,
        reply=None if reply is None else sha256(reply.text.encode("utf-8", "surrogatepass")),
        ms=attempt.ms,
    )
    return Judged([event], fault)


def absence(request: Request, attempts: int, code: FaultCode, epoch: int) -> WentAbsent:
    """Return that nobody is left to answer a request."""
    return WentAbsent(
        key=request.key("absent", epoch),
        **request.place(),
        step=request.step,
        actor=request.actor.id,
        round=request.round,
        attempts=attempts,
        code=code,
        epoch=epoch,
    )


def refusal(request: Request, max_calls: int) -> RequestRefused:
    """Return that a request is not made, since the run may make no more calls."""
    what = f"{step_of(request.step, request.number)}/{request.actor.id}"
    return RequestRefused(
        key=key_of("refused", request.item, request.condition, what),
        **request.place(),
        what=what,
        reason=f"the {max_calls} calls that the run may make are made",
    )


def cited_events(request: Request, attempt: int, answer: Answer) -> list[Cited]:
    """Return each citation of an answer, checked, and each identifier in its prose that was never admitted."""
    events: list[Cited] = []
    actor: dict[str, Any] = {"step": request.step, "actor": request.actor.id}
    for citation in citations_of(answer):
        found, text = check(citation, request.texts), request.texts.get(citation.source)
        events.append(
            Cited(
                key=request.key("citation", attempt, len(events)),
                **request.place(),
                **actor,
                **msgspec.structs.asdict(citation),
                **found._asdict(),
                text=None if text is None else sha256(text),
            )
        )
    for stranger in unadmitted(prose_of(answer), request.texts, request.admitted):
        key = request.key("citation", attempt, len(events))
        span: dict[str, Any] = {"source": stranger, "start": 0, "end": 0, "quote": stranger}
        events.append(Cited(key=key, **request.place(), **actor, **span, status="unadmitted"))
    return events


def citation_fault(cited: Sequence[Cited]) -> Fault | None:
    """Return the gravest fault among citations, with words on each that is bad; `None` where all are right."""
    bad = [event for event in cited if event.status != "verified"]
    for status, code in _FAULT_OF.items():
        if any(event.status == status for event in bad):
            return Fault(code, safe("; ".join(map(_words, bad)), MAX_WORDS))
    return None


def _words(event: Cited) -> str:
    source, quote = safe(event.source, 60), safe(event.quote, 60)
    match event.status:
        case "unadmitted":
            return f"{source} was never admitted"
        case "misplaced":
            return (
                f"'{quote}' does not stand at {event.start} to {event.end} of {source}, but from {event.found} on of "
                f"{safe(event.found_in, 60)}"
            )
        case _:
            return f"'{quote}' stands neither at {event.start} to {event.end} of {source} nor anywhere else"


def recheck(request: Request, event: Cited) -> Cited:
    """Return a logged citation of an attempt that failed, checked anew against the same texts."""
    if event.status == "unadmitted":
        known = unadmitted(event.source, request.texts, request.admitted) != [event.source]
        return msgspec.structs.replace(event, status="verified" if known else "unadmitted")
    found = check(event, request.texts)
    return msgspec.structs.replace(event, status=found.status, found=found.found, found_in=found.found_in)
