"""`summary.json`: what a run came to, in numbers. Each is computed from the log alone; docs/juries.md defines them.

`null` stands where a number has no meaning: the polarization of one juror, the grounding of one who cited nothing, a
calibration without a known truth.
"""

from __future__ import annotations

from array import array
from collections import Counter
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, field

from a2a_trust.jury import fold, measures
from a2a_trust.jury.measures import Agreement, Percentiles, Rate, rounded, sorted_counts
from a2a_trust.jury.panels import Panel, panel_of
from a2a_trust.jury.result import encode, schema_of
from a2a_trust.sources.jury_events import (
    Answered,
    AttemptFailed,
    BallotCast,
    Cited,
    Condition,
    Event,
    Hash,
    OutcomeReached,
    Preset,
    SealOpened,
    WentAbsent,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from a2a_trust.jury.contracts import Verdict
    from a2a_trust.jury.fold import Item, Run
    from a2a_trust.sources.jury_events import Actor, RunOpened

LISTED = 100
"""Items named in a list; the count beside it says how many there are."""
ACCEPT, REJECT = "accept", "reject"


class _Part(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A part of the summary; every key is always there."""


class Counts(_Part, frozen=True, kw_only=True):
    """Items by what became of them."""

    items: int
    decided: int
    hung: int
    agreed: int
    review: int
    open: int


class Listed(_Part, frozen=True, kw_only=True):
    """How many items, and the first of them."""

    count: int
    first: tuple[str, ...]


class Reviews(_Part, frozen=True, kw_only=True):
    """Items that went to a person."""

    pending: Listed
    resolved: int


class Grounding(_Part, frozen=True, kw_only=True):
    """Citations by what their check gave. `share`: verified of all; `null` where nothing was cited."""

    verified: int
    misplaced: int
    mismatch: int
    unadmitted: int
    share: float | None


class Calibration(_Part, frozen=True, kw_only=True):
    """Sealed verdicts against the known truth."""

    verdicts: int
    brier: float
    calibration_error: float
    accuracy: Rate
    confidence: float
    """Mean of what the jurors said of themselves."""


class Tokens(_Part, frozen=True, kw_only=True):
    """Tokens of accepted answers, as providers told them."""

    prompt: int
    answer: int
    unknown: int
    """Answers of which nobody told: neither 0 nor anything else."""


class ActorPart(_Part, frozen=True, kw_only=True):
    """What one who was asked did in this run."""

    actor: str
    name: str
    part: str
    provider: str
    model: str
    fixture: bool
    answers: int
    first_try: int
    absent: int
    faults: dict[str, int]
    grounding: Grounding
    latency: Percentiles | None
    confusion: dict[str, dict[str, int]] | None
    """Sealed verdicts by known truth, then by vote."""
    accuracy: Rate | None
    confirmed: int
    """Verdicts of items that a person then decided likewise."""
    overruled: int


class Summary(_Part, frozen=True, kw_only=True):
    """The whole file."""

    version: Literal[1]
    run: str
    preset: Preset
    title: str
    control: Hash
    head: Hash
    finished: bool
    reason: str
    missing: Listed
    counts: Counts
    """Of items and conditions."""
    outcomes: dict[str, int]
    panels: tuple[Panel, ...]
    """Empty for a data set, whose items are too many; see the result."""
    reviews: Reviews
    false_accepts: Listed | None
    """Agreed to accept what should be rejected; `null` where nothing is labelled so, or nothing is accepted at all."""
    false_rejects: Listed | None
    labelled: int
    agreement: Agreement | None
    grounding: Grounding
    calibration: Calibration | None
    calls: int | None
    failed: int | None
    faults: dict[str, int]
    infrastructure: dict[str, int]
    latency: dict[str, Percentiles]
    """By step, of accepted attempts; `all` for all of them."""
    tokens: Tokens
    actors: tuple[ActorPart, ...]


def schema() -> dict[str, Any]:
    """Return the JSON Schema of the file."""
    return schema_of(Summary, "a2a-trust jury summary, version 1")


def chunks(summary: Summary) -> Iterator[bytes]:
    """Yield the file."""
    yield encode(summary) + b"\n"


def summarise(lines: Iterable[tuple[str, Event]]) -> tuple[Run, Summary]:
    """Return a run and its summary in one pass over the lines of its log, with their hashes."""
    reading = fold.Reading(lines)
    counted = _Counted(reading.run.opened)
    for item in reading.items():
        counted.add(item)
    return reading.run, counted.summary(reading.run)


class _List:
    """A count, and the first that were counted."""

    def __init__(self) -> None:
        self.count, self.first = 0, list[str]()

    def add(self, what: str) -> None:
        self.count += 1
        if len(self.first) < LISTED:
            self.first.append(what)

    def listed(self) -> Listed:
        return Listed(count=self.count, first=tuple(self.first))


class _Actor(Struct):
    """What is counted of one actor."""

    answers: int = 0
    first_try: int = 0
    absent: int = 0
    confirmed: int = 0
    overruled: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    citations: Counter[str] = field(default_factory=Counter)
    confusion: dict[str, Counter[str]] = field(default_factory=dict)
    times: Any = field(default_factory=lambda: array("q"))
    """Of accepted attempts, ms: eight bytes each."""


class _Counted:
    """Everything that a summary needs, counted item by item."""

    def __init__(self, opened: RunOpened) -> None:
        self._opened = opened
        self._actors = {actor.id: _Actor() for actor in opened.cast}
        jurors = fold.jurors(opened, opened.conditions[-1]) if opened.conditions else []
        self._votes = measures.Votes([juror.id for juror in jurors])
        self._status: Counter[str] = Counter()
        self._outcomes: Counter[str] = Counter()
        self._panels: list[Panel] = []
        self._missing, self._false_accepts, self._false_rejects = _List(), _List(), _List()
        self._labels: Counter[str] = Counter()
        self._reviewed: dict[str, dict[str, str]] = {}
        # A number each, eight bytes or one: there may be a million verdicts.
        self._forecasts, self._confidences, self._held = array("d"), array("d"), array("b")
        self._right = 0
        self._times: dict[str, array[int]] = {}
        self._tokens = [0, 0, 0]

    def add(self, item: Item) -> None:
        """Count an item."""
        for missing in item.missing():
            self._missing.add(missing)
        sealed = {event.actor: fold.verdict_of(event) for event in item.of(Answered) if event.step == "verdict"}
        self._votes.add({actor: verdict.vote for actor, verdict in sealed.items()})
        for event in item.events:
            self._count(event)
        reached = [item.outcome(condition) for condition in self._opened.conditions]
        label = next((one.label for one in reached if one and one.label), None)
        if label is not None:
            self._judge(label, item.opened.options[0], sealed)
        for condition, one in zip(self._opened.conditions, reached, strict=True):
            self._settle(item, condition, one, sealed)

    def _count(self, event: Event) -> None:
        if isinstance(event, Answered):
            actor = self._actor(event.actor)
            actor.answers += 1
            actor.first_try += event.attempt == 1
            actor.times.append(event.ms)
            self._times.setdefault(event.step, array("q")).append(event.ms)
            for place, count in enumerate(event.tokens or ()):
                self._tokens[place] += count
            self._tokens[2] += event.tokens is None
        elif isinstance(event, AttemptFailed):
            self._actor(event.actor).faults[event.code] += 1
        elif isinstance(event, WentAbsent):
            self._actor(event.actor).absent += 1
            self._actor(event.actor).faults["absent"] += 1
        elif isinstance(event, Cited):
            self._actor(event.actor).citations[event.status] += 1
        elif isinstance(event, SealOpened) and not event.holds:
            self._actor(event.actor).faults["seal_broken"] += 1
        elif isinstance(event, BallotCast) and event.changed:
            self._actor(event.actor).faults["ballot_changed"] += 1

    def _actor(self, seat: str) -> _Actor:
        return self._actors.setdefault(seat, _Actor())

    def _judge(self, label: str, first: str, sealed: dict[str, Verdict]) -> None:
        """Hold the sealed verdicts of an item against its known truth."""
        self._labels[label] += 1
        for seat, verdict in sealed.items():
            self._actor(seat).confusion.setdefault(label, Counter())[verdict.vote] += 1
            self._forecasts.append(verdict.probability / 100)
            self._held.append(label == first)
            self._confidences.append(verdict.confidence)
            self._right += verdict.vote == label

    def _settle(
        self, item: Item, condition: Condition, reached: OutcomeReached | None, sealed: dict[str, Verdict]
    ) -> None:
        self._status[reached.status if reached else "open"] += 1
        if reached is not None:
            self._outcomes[reached.outcome or reached.status] += 1
            if reached.status == "review":
                self._reviewed[item.opened.item] = {seat: verdict.vote for seat, verdict in sealed.items()}
            if (reached.outcome, reached.label) == (ACCEPT, REJECT):
                self._false_accepts.add(item.opened.item)
            if (reached.outcome, reached.label) == (REJECT, ACCEPT):
                self._false_rejects.add(item.opened.item)
        if not self._opened.traces:
            self._panels.append(panel_of(self._opened, item, condition))

    def summary(self, run: Run) -> Summary:
        """Return the summary of a run whose items have all been counted."""
        opened, ended = run.opened, run.ended
        pending = _List()
        for item in self._reviewed:
            if item not in run.resolutions:
                pending.add(item)
        for item, resolution in run.resolutions.items():
            for seat, vote in self._reviewed.get(item, {}).items():
                if vote == resolution.decision:
                    self._actor(seat).confirmed += 1
                else:
                    self._actor(seat).overruled += 1
        faults: Counter[str] = Counter()
        citations: Counter[str] = Counter()
        for actor in self._actors.values():
            faults.update(actor.faults)
            citations.update(actor.citations)
        every = [time for times in self._times.values() for time in times]
        return Summary(
            version=1,
            run=opened.run,
            preset=opened.preset,
            title=opened.title,
            control=opened.control,
            head=run.head,
            finished=run.finished,
            reason=ended.reason if ended else "it has not come to its end",
            missing=self._missing.listed(),
            counts=Counts(
                items=sum(self._status.values()),
                decided=self._status["decided"],
                hung=self._status["hung"],
                agreed=self._status["agreed"],
                review=self._status["review"],
                open=self._status["open"],
            ),
            outcomes=sorted_counts(self._outcomes),
            panels=tuple(self._panels),
            reviews=Reviews(pending=pending.listed(), resolved=len(self._reviewed) - pending.count),
            false_accepts=self._false_accepts.listed() if self._labels[REJECT] else None,
            false_rejects=self._false_rejects.listed() if self._labels[ACCEPT] else None,
            labelled=sum(self._labels.values()),
            agreement=self._votes.agreement(),
            grounding=_grounding(citations),
            calibration=self._calibration(),
            calls=ended.calls if ended else None,
            failed=ended.failed if ended else None,
            faults=sorted_counts(faults),
            infrastructure=sorted_counts(ended.infrastructure) if ended else {},
            latency={
                step: found
                for step, times in (("all", every), *sorted(self._times.items()))
                if (found := measures.percentiles(times)) is not None
            },
            tokens=Tokens(prompt=self._tokens[0], answer=self._tokens[1], unknown=self._tokens[2]),
            actors=tuple(_actor_part(actor, self._actors[actor.id]) for actor in opened.cast),
        )

    def _calibration(self) -> Calibration | None:
        brier, error = (
            measures.brier(self._forecasts, self._held),
            measures.calibration_error(self._forecasts, self._held),
        )
        accuracy = measures.rate(self._right, len(self._forecasts))
        if brier is None or error is None or accuracy is None:
            return None
        return Calibration(
            verdicts=len(self._forecasts),
            brier=round(brier, measures.DIGITS),
            calibration_error=round(error, measures.DIGITS),
            accuracy=accuracy,
            confidence=round(measures.mean(self._confidences) or 0.0, measures.DIGITS),
        )


def _actor_part(actor: Actor, counted: _Actor) -> ActorPart:
    seen = sum(count for votes in counted.confusion.values() for count in votes.values())
    return ActorPart(
        actor=actor.id,
        name=actor.name,
        part=actor.part,
        provider=actor.provider,
        model=actor.model,
        fixture=actor.fixture,
        answers=counted.answers,
        first_try=counted.first_try,
        absent=counted.absent,
        faults=sorted_counts(counted.faults),
        grounding=_grounding(counted.citations),
        latency=measures.percentiles(counted.times),
        confusion={label: sorted_counts(counted.confusion[label]) for label in sorted(counted.confusion)} or None,
        accuracy=measures.rate(sum(votes[label] for label, votes in counted.confusion.items()), seen),
        confirmed=counted.confirmed,
        overruled=counted.overruled,
    )


def _grounding(citations: Counter[str]) -> Grounding:
    cited = sum(citations.values())
    return Grounding(
        verified=citations["verified"],
        misplaced=citations["misplaced"],
        mismatch=citations["mismatch"],
        unadmitted=citations["unadmitted"],
        share=rounded(citations["verified"] / cited) if cited else None,
    )
