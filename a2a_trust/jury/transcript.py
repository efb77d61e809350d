"""`transcript.md`: a run as one reads it, in the order of its log. Names and texts are escaped, never markup."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from a2a_trust.jury.case_types import TribunalCase
from a2a_trust.jury.empanel import case_of
from a2a_trust.jury.fold import verdict_of
from a2a_trust.jury.markdown import inline, quoted
from a2a_trust.jury.tribunal import slots
from a2a_trust.sources.jury_events import (
    NOBODY,
    Answered,
    AttemptFailed,
    BallotCast,
    Cited,
    DigestMade,
    Event,
    OutcomeReached,
    PhaseClosed,
    QuorumMissed,
    RequestRefused,
    Resolved,
    SealOpened,
    WentAbsent,
)
from a2a_trust.text import when

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from a2a_trust.jury.contracts import Verdict
    from a2a_trust.jury.fold import Item, Run

SHOWN = 200
"""Items told in full; of a larger data set the rest is counted."""
QUOTE_SHOWN = 200
_SECTIONS = {
    "statement": "Record",
    "baseline": "Before the record was heard",
    "verdict": "Sealed verdicts",
    "open": "Seals opened",
    "address": "Round",
    "position": "Round",
    "ballot": "Ballot",
    "announcement": "Announcement",
}


def chunks(run: Run, items: Iterable[Item]) -> Iterator[bytes]:
    """Yield the file, one item at a time."""
    yield _text(_head(run))
    teller = _Teller(run)
    left_out = 0
    for number, item in enumerate(items):
        if number < SHOWN:
            yield _text(teller.item(item))
        else:
            left_out += 1
    if left_out:
        yield _text([f"And {left_out} more items: all of them are in `result.json`.", ""])


def _text(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")


def outcome_line(reached: OutcomeReached) -> str:
    """Return an outcome in a few words, as plain text."""
    votes = ", ".join(f"{option} {count}" for option, count in reached.tally.items())
    named = {"hung": "hung, no decision", "review": "goes to a person"}.get(reached.status, reached.outcome or "")
    reason = f": {reached.reason}" if reached.reason else ""
    return f"{named} ({votes}){reason}"


def opinion(verdict: Verdict) -> str:
    """Return a verdict in a few words, as plain text."""
    return f"{verdict.vote}, {verdict.probability:g} %, confidence {verdict.confidence:g}"


def _head(run: Run) -> Iterator[str]:
    opened = run.opened
    yield f"# {inline(opened.title or 'A jury run')}"
    yield ""
    yield f"* run: {inline(opened.run)}, preset {opened.preset}, a2a-trust {inline(opened.version)}"
    named = ", ".join(opened.conditions)
    yield f"* conditions: {named}; rounds {opened.rounds}, order {opened.order}, seed {opened.seed}"
    yield f"* began: {when(opened.time)} UTC"
    state = "finished" if run.finished else f"not finished: {run.ended.reason if run.ended else 'it was cut short'}"
    yield f"* state: {inline(state)}"
    yield f"* control fingerprint: `{opened.control}`"
    yield f"* log: {run.lines} lines, head `{run.head}`"
    yield ""
    yield from ("| seat | part | name | asked through |", "|---|---|---|---|")
    for actor in opened.cast:
        through = "/".join(part for part in (actor.provider, actor.model) if part)
        double = ", a test double" if actor.fixture else ""
        yield f"| {inline(actor.id)} | {actor.part} | {inline(actor.name)} | {inline(through)}{double} |"
    yield ""
    if opened.trust.text:
        yield f"Trust, as it was frozen when the run began and shown ({opened.trust.mode}):"
        yield from ("", quoted(opened.trust.text), "")


def _statements(run: Run) -> Iterator[tuple[str, str]]:
    """Yield kind and question of each statement of a hearing, in order; nothing where the log holds no such case."""
    try:
        case = case_of(run.opened.material)
    except msgspec.ValidationError:
        return
    if isinstance(case, TribunalCase):
        for kind, party, witness in slots(case, run.opened.order):
            yield kind, f"asked by {party.name}: {witness.questions[party.id]}" if witness else ""


class _Teller:
    """Tells one item after another."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._names = {actor.id: actor.name for actor in run.opened.cast}
        self._said = dict(enumerate(_statements(run), start=1))
        self._section = ""
        self._cited: list[Cited] = []
        """Of the attempt that comes next: citations are logged before it."""

    def item(self, item: Item) -> Iterator[str]:
        """Yield the lines of an item."""
        opened = item.opened
        self._section = ""
        yield f"## {inline(opened.item)}"
        yield from ("", quoted(opened.question), "")
        for name, fact in opened.facts.items():
            yield from (f"{inline(name.capitalize())}:", "", quoted(fact), "")
        yield f"Options: {inline(', '.join(opened.options))}. Texts: {inline(', '.join(opened.texts))}."
        if opened.judged is not None:
            yield f"Judged: {inline(opened.judged.name)}."
        yield ""
        for event in item.events:
            yield from self._event(event)
        resolution = self._run.resolutions.get(opened.item)
        if resolution is not None:
            yield from self._resolution(resolution)

    def _name(self, seat: str) -> str:
        return f"**{inline(self._names.get(seat, seat))}**"

    def _heading(self, event: Event) -> Iterator[str]:
        """Yield a heading where another part of the procedure begins."""
        step = getattr(event, "step", {BallotCast: "ballot", SealOpened: "open"}.get(type(event), NOBODY))
        if not step:
            return
        title = _SECTIONS[step]
        condition, number = getattr(event, "condition", None), getattr(event, "round", 0)
        if title == "Round":
            title = f"Round {number}" if number else self._section.partition(": ")[2] or title
        section = f"{condition}: {title}" if condition else title
        if section != self._section:
            self._section = section
            yield from (f"### {section}", "")

    def _event(self, event: Event) -> Iterator[str]:
        yield from self._heading(event)
        match event:
            case Answered():
                yield from self._answer(event)
                yield from self._citations()
            case Cited():
                self._cited.append(event)
            case AttemptFailed():
                told = f"attempt {event.attempt} failed, {event.code}: {inline(event.words)}"
                yield from (f"* {self._name(event.actor)}: {told}", "")
                yield from self._citations()
            case WentAbsent():
                told = f"no answer within {event.attempts} attempts; the last one: {event.code}"
                yield from (f"* {self._name(event.actor)}: {told}", "")
            case SealOpened():
                told = "as sealed" if event.holds else "NOT what was sealed; the sealed verdict counts"
                yield from (f"* {self._name(event.actor)}: {told}", "")
            case BallotCast():
                changed = f"; its ballot said {inline(str(event.submitted))}, the frozen vote counts"
                yield f"* {self._name(event.actor)}: {inline(event.vote)}{changed if event.changed else ''}"
                yield ""
            case _:
                yield from self._turn(event)

    def _citations(self) -> Iterator[str]:
        """Yield what was cited in the attempt that was told."""
        for event in self._cited:
            where = f"{inline(event.source)}, {event.start} to {event.end}" if event.end else "what is not admitted"
            found = f", stands in {inline(event.found_in)} at {event.found}" if event.found is not None else ""
            yield f"* cites {where}, {event.status}{found}: “{inline(event.quote, QUOTE_SHOWN)}”"
        if self._cited:
            yield ""
        self._cited = []

    def _turn(self, event: Event) -> Iterator[str]:
        """Yield what the procedure itself did."""
        match event:
            case DigestMade():
                told = f"An anonymous digest of {event.arguments} arguments is shown, `{event.text[:12]}`."
            case PhaseClosed():
                absent = f", absent {', '.join(self._name(seat) for seat in event.absent)}" if event.absent else ""
                named = f"{event.phase} {event.round}" if event.round else event.phase
                told = f"Closed: {named}, {len(event.present)} present{absent}, state `{event.state[:12]}`."
            case QuorumMissed():
                told = f"No quorum: {event.present} of {event.empanelled} present, {event.needed} needed."
            case RequestRefused():
                told = f"Refused: {inline(event.what)}: {inline(event.reason)}"
            case OutcomeReached():
                label = f" Known truth: {inline(event.label)}." if event.label else ""
                told = f"**Outcome, {event.condition}: {inline(outcome_line(event))}.**{label}"
            case _:
                return
        yield from (told, "")

    def _answer(self, event: Answered) -> Iterator[str]:
        name = self._name(event.actor)
        content: dict[str, Any] = msgspec.json.decode(event.content)
        if event.step in {"baseline", "verdict", "position"}:
            verdict = verdict_of(event)
            yield from (f"{name}: {inline(opinion(verdict))}", "", quoted(verdict.reason), "")
            if reply := content.get("reply"):
                yield from ("Reply:", "", quoted(reply), "")
        elif event.step == "address":
            yield f"{name} to {self._name(content['target'])}, {inline(content['move'])}:"
            yield from ("", quoted(content["message"]), "")
        elif event.step == "statement":
            number = int(event.key.split("/")[3].partition("-")[2] or 0)
            kind, question = self._said.get(number, ("", ""))
            told = f"S{number}, {kind} of {name}" if kind else name
            if question:
                yield from (f"{told}, {inline(question)}", "")
            elif content.get("thesis"):
                yield from (f"{told}: {inline(content['thesis'])}", "")
            else:
                yield from (told, "")
            yield from (quoted(content["statement"]), "")
        elif event.step == "announcement":
            yield from (f"{name}: {inline(content['outcome'])}", "", quoted(content["text"]), "")

    def _resolution(self, event: Resolved) -> Iterator[str]:
        yield f"**Decided by {inline(event.resolver)} at {when(event.time)} UTC: {inline(event.decision)}.**"
        yield from ("", quoted(event.note), "")
