"""From the events of a jury run to facts about who took part in it, and about whose work it judged.

What a run decides is no fact: agreeing with the others, changing one's mind and winning a vote speak of nobody. An
event is named within its hearing, so that what several conditions share, and what is told in two runs, counts once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, TypeAlias

import msgspec
from msgspec import Struct, field

from a2a_trust import facts
from a2a_trust.model import Dimension, Heard, Profile
from a2a_trust.policy import JUDGED, RATINGS
from a2a_trust.sources import jury_events as events
from a2a_trust.sources.json_lines import LineError, seq_of, time_of

if TYPE_CHECKING:
    from collections.abc import Callable

CONTEXT = "jury"
INFRASTRUCTURE = "jury-infrastructure"
"""An observation about a run: so many of its calls failed alike that it was nobody's fault."""
QUOTE_MIN = 12
"""Characters from which on a quote says something; shorter ones stand everywhere."""
ACCEPTED, REJECTED = "accept", "reject"
"""Options of an item whose outcome is a judgement of somebody's work."""
_NUMBERS = range(1 << 53)
_HEARING = 16
"""Digits of its hash that name a hearing."""
_LAST_STEPS = ("ballot", "announcement")
"""Steps that depend on how many rounds there were in all."""

Told: TypeAlias = dict[str, list[facts.AnyFact]]
"""Facts by seat; those about the run itself and about whom it judged under `events.NOBODY`."""


class Seat(Struct, array_like=True):
    """Who sits on it."""

    profile: Profile
    fixture: bool


class Run(Struct, array_like=True):
    """As much of a run's first event as later ones need."""

    id: str = ""
    """Empty until the event was read."""
    hearing: str = ""
    title: str = ""
    is_of_judges: bool = False
    rounds: int = 0
    seats: dict[str, Seat] = field(default_factory=dict)


class Held(Struct, array_like=True):
    """A fact that is one only if the infrastructure was not to blame, which the end of the run tells."""

    seat: str
    code: str
    fact: facts.AnyFact


class Memory(Struct, array_like=True):
    """What must be remembered of a run between two readings of its log."""

    run: Run = field(default_factory=Run)
    clock: int = 0
    held: list[Held] = field(default_factory=list)
    said: dict[str, set[str]] = field(default_factory=dict)
    """By item: what counts once for each answer, and was met."""
    messages: dict[str, list[str]] = field(default_factory=dict)
    """Keys of messages that their targets have not answered yet, by item, condition and target."""
    votes: dict[str, dict[str, str]] = field(default_factory=dict)
    """By item: the valid verdicts of judges, as long as a person may uphold or overrule them."""
    judged: dict[str, Profile] = field(default_factory=dict)
    """By item: whose work it is, until it is judged."""
    begun: set[str] = field(default_factory=set)
    """Seats of which something was told."""
    introduced: set[str] = field(default_factory=set)
    """Fingerprints of those whose work was judged."""


def session_of(run: str, seat: str = events.NOBODY) -> str:
    """Return the session of a seat of a run, or that of the run itself."""
    return events.key_of(events.NAME, run, seat) if seat else events.key_of(events.NAME, run)


def header_of(run: Run, seat: str) -> facts.LogHeader:
    """Return who acted in a session of a run."""
    sitting = run.seats.get(seat)
    return facts.LogHeader(
        source=events.NAME,
        session=session_of(run.id, seat),
        gen=0,
        created=0,
        parent=session_of(run.id),
        cwd=run.title,
        profile=sitting.profile if sitting else None,
        by_event=True,
        copied=True,
        # What a run says of others rests on all who sit in it.
        fixture=sitting.fixture if sitting else any(other.fixture for other in run.seats.values()),
    )


def profile_of(actor: events.Actor) -> Profile:
    """Return the profile of somebody who is asked in a run: never the seat, nor anything of the case."""
    return Profile(
        name=actor.name,
        description=" ".join(actor.persona.split()),
        provider=f"{actor.provider}/{actor.model}" if actor.model else actor.provider,
        context=CONTEXT,
        model=actor.model,
    )


class Teller:
    """Tells the facts of one event after the other. `told` holds them; `memory` what later events need."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.told: Told = {}
        self.named: list[int] = []
        """The `seq` of each fact that an event led to, told or held, in the order of the events."""
        self.excused = 0
        """Facts that the end of their run took back before they were told: the infrastructure was to blame."""

    def take(self, event: events.Event) -> bool:
        """Take the next event of the log; tell whether it matters. Raises `LineError` for one that fits nowhere."""
        if isinstance(event, events.RunOpened) is bool(self.memory.run.id):
            reason = "session-unknown"
            raise LineError(reason)
        self.memory.clock = max(self.memory.clock, time_of(event.time))
        rule = self._RULES.get(type(event))
        if rule is not None:
            rule(self, event)
        return rule is not None

    @property
    def _run(self) -> Run:
        return self.memory.run

    # ------------------------------------------------------------------ telling

    def _heard(self, key: str, seat: str) -> Heard:
        sitting = self._run.seats.get(seat)
        fixture = sitting.fixture if sitting else header_of(self._run, seat).fixture
        return Heard(run=self._run.id, key=key, fixture=fixture)

    def _name(self, key: str, step: str = "") -> str:
        """Name an event within all runs: by its hearing, and what of the procedure lies behind it."""
        rounds = f"/{self._run.rounds}" if step in _LAST_STEPS else ""
        # A tilde ends the ids of rows that supersede another.
        return f"{self._run.hearing[:_HEARING]}{rounds}/{key.replace('~', '%7E')}"

    def _seq(self, name: str) -> int:
        self.named.append(seq_of(name))
        return self.named[-1]

    def _known(self, *seats: str) -> None:
        if not self._run.seats.keys() >= set(seats):
            reason = "session-unknown"
            raise LineError(reason)

    def _tell(self, seat: str, *found: facts.AnyFact) -> None:
        told = self.told.setdefault(seat, [])
        if seat and seat not in self.memory.begun:
            self.memory.begun.add(seat)
            name = self._name(events.key_of("seat", seat))
            told.append(facts.Begun(self._seq(name), found[0].time, event=name, heard=found[0].heard))
        told.extend(found)

    def _verdict(
        self,
        about: str,
        kind: str,
        dim: Dimension | None,
        name: str,
        heard: Heard,
        **more: object,
    ) -> facts.Verdict:
        _fit(more.get("ms"))
        seq = self._seq(f"{about}:{name}")
        fields = {"about": about, "kind": kind, "dim": dim, "event": name, "heard": heard, **more}
        return facts.Verdict(seq, self.memory.clock, **fields)  # type: ignore[arg-type]

    def _once(self, item: str, what: str) -> bool:
        """Tell whether something that counts once for an answer is met for the first time."""
        met = self.memory.said.setdefault(item, set())
        first = what not in met
        met.add(what)
        return first

    # ------------------------------------------------------------------ the run

    def _opened(self, event: events.RunOpened) -> None:
        _fit(event.rounds)
        self.memory.run = Run(
            id=event.run,
            hearing=event.hearing,
            title=event.title,
            is_of_judges=event.preset == "judges",
            rounds=event.rounds,
            seats={actor.id: Seat(profile_of(actor), actor.fixture) for actor in event.cast},
        )

    def _item(self, event: events.ItemOpened) -> None:
        agent = event.judged
        if agent is not None:
            description = " ".join(agent.description.split())
            self.memory.judged[event.item] = Profile(
                name=agent.name, description=description, provider=agent.provider, context=agent.context
            )

    def _ended(self, event: events.RunEnded) -> None:
        """Blame those who were absent, but for what befell the whole run: that becomes one observation of it."""
        codes = event.infrastructure
        for held in self.memory.held:
            if held.code in codes:
                self.excused += 1
            else:
                self._tell(held.seat, held.fact)
        self.memory.held = []
        if codes:
            nobody, heard = events.NOBODY, self._heard(event.key, events.NOBODY)
            reason = ", ".join(f"{code} {count} of {event.calls}" for code, count in sorted(codes.items()))
            name = f"{self._run.id}/{event.key}"
            self._tell(nobody, self._verdict("infrastructure", INFRASTRUCTURE, None, name, heard, reason=reason))

    # ------------------------------------------------------------------ answers

    def _answered(self, event: events.Answered) -> None:
        self._known(event.actor)
        if event.step == "open":
            return
        name, heard = self._name(event.key, event.step), self._heard(event.key, event.actor)
        dim = Dimension.RELIABILITY
        found = [self._verdict("present", "juror-present", dim, name, heard, ms=event.ms)]
        if event.attempt == 1:
            found.append(self._verdict("answer", "answer-accepted", Dimension.COMPETENCE, name, heard, ms=event.ms))
        if event.step == "verdict" and self._run.is_of_judges:
            self.memory.votes.setdefault(event.item, {})[event.actor] = _vote_of(event)
        self._tell(event.actor, *found)
        waiting = self.memory.messages.get(_place(event, event.actor)) if event.step == "position" else None
        if waiting:
            message = waiting.pop(0)
            seq = self._seq(f"reply:{name}")
            self._tell(event.actor, facts.Replied(seq, self.memory.clock, message, event.ms, event=name, heard=heard))

    def _failed(self, event: events.AttemptFailed) -> None:
        self._known(event.actor)
        answer = _answer_of(event.key)
        if event.code == "identity_mismatch" and self._once(event.item, f"identity/{answer}"):
            heard = self._heard(event.key, event.actor)
            name = self._name(answer, event.step)
            self._hold(
                event.actor,
                event.code,
                self._verdict("identity", "identity-mismatch", Dimension.INTEGRITY, name, heard),
            )

    def _absent(self, event: events.WentAbsent) -> None:
        self._known(event.actor)
        name, heard = self._name(event.key, event.step), self._heard(event.key, event.actor)
        unanswered = event.code in (*events.PROVIDER_FAULTS, "absent")
        kind, dim = (
            ("juror-absent", Dimension.RELIABILITY) if unanswered else ("answer-abandoned", Dimension.COMPETENCE)
        )
        self._hold(
            event.actor,
            event.code,
            self._verdict("absent", kind, dim, name, heard, reason=event.code),
        )
        if event.step == "position":
            # Nobody answers these any more.
            self.memory.messages.pop(_place(event, event.actor), None)

    def _hold(self, seat: str, code: str, fact: facts.AnyFact) -> None:
        self.memory.held.append(Held(seat, code, fact))

    def _cited(self, event: events.Cited) -> None:
        self._known(event.actor)
        _fit(event.start, event.end)
        is_observed = event.status == "unadmitted"
        answer = _answer_of(event.key)
        if not is_observed and len(event.quote.strip()) < QUOTE_MIN:
            return
        if not self._once(event.item, f"{event.status}/{answer}"):
            return
        heard = msgspec.structs.replace(
            self._heard(event.key, event.actor),
            source=event.source,
            start=event.start,
            end=event.end,
            quote=events.sha256(event.quote),
            text=event.text,
        )
        self._tell(
            event.actor,
            self._verdict(
                f"citation-{event.status}",
                f"citation-{event.status}",
                None if is_observed else Dimension.INTEGRITY,
                self._name(answer),
                heard,
            ),
        )

    def _seal(self, event: events.SealOpened) -> None:
        self._known(event.actor)
        if not event.holds:
            self._tell_breach(event.actor, "seal", "seal-broken", self._name(event.key), event.key)

    def _ballot(self, event: events.BallotCast) -> None:
        self._known(event.actor)
        if event.changed:
            self._tell_breach(event.actor, "ballot", "ballot-changed", self._name(event.key, "ballot"), event.key)

    def _tell_breach(self, seat: str, about: str, kind: str, name: str, key: str) -> None:
        self._tell(seat, self._verdict(about, kind, Dimension.INTEGRITY, name, self._heard(key, seat)))

    def _message(self, event: events.MessageDelivered) -> None:
        self._known(event.sender, event.target)
        name, heard = self._name(event.key), self._heard(event.key, event.sender)
        seq = self._seq(f"message:{name}")
        self._tell(
            event.sender,
            facts.MessageSent(seq, self.memory.clock, event.key, event.target, event=name, heard=heard),
        )
        self.memory.messages.setdefault(_place(event, event.target), []).append(event.key)

    # ------------------------------------------------------------------ judgements of work

    def _outcome(self, event: events.OutcomeReached) -> None:
        if not self._run.is_of_judges:
            return
        self.memory.said.pop(event.item, None)
        if event.status != "review":
            self.memory.votes.pop(event.item, None)
        if event.status == "agreed":
            self._judge(event.item, event.outcome or "", event.key)

    def _resolved(self, event: events.Resolved) -> None:
        for seat, vote in self.memory.votes.pop(event.item, {}).items():
            kind = "verdict-confirmed" if vote == event.decision else "verdict-overruled"
            name = self._name(events.key_of(event.key, seat))
            heard = self._heard(event.key, seat)
            self._tell(seat, self._verdict("resolution", kind, Dimension.COMPETENCE, name, heard))
        self._judge(event.item, event.decision, event.key)

    def _judge(self, item: str, decision: str, key: str) -> None:
        """Tell how the work of an item was judged, once, about whoever did it."""
        profile = self.memory.judged.pop(item, None)
        if profile is None or decision not in (ACCEPTED, REJECTED):
            return
        nobody, heard = events.NOBODY, self._heard(key, events.NOBODY)
        if profile.fingerprint not in self.memory.introduced:
            self.memory.introduced.add(profile.fingerprint)
            name = self._name(f"judged/{profile.fingerprint}")
            seq = self._seq(f"judged:{name}")
            self._tell(nobody, facts.Introduced(seq, self.memory.clock, profile, event=name, heard=heard))
        rating = RATINGS[decision == ACCEPTED]
        name = self._name(f"item/{item}")
        verdict = self._verdict(JUDGED, JUDGED, Dimension.COMPETENCE, name, heard, rating=rating, profile=profile)
        self._tell(nobody, verdict)

    # Of the class: methods that an object holds of itself keep it, and its log, from being freed with its last user.
    _RULES: ClassVar[dict[type[events.Event], Callable[..., None]]] = {
        events.RunOpened: _opened,
        events.ItemOpened: _item,
        events.Answered: _answered,
        events.AttemptFailed: _failed,
        events.WentAbsent: _absent,
        events.Cited: _cited,
        events.SealOpened: _seal,
        events.BallotCast: _ballot,
        events.MessageDelivered: _message,
        events.OutcomeReached: _outcome,
        events.RunEnded: _ended,
        events.Resolved: _resolved,
    }


class _Voted(Struct):
    vote: str


def _vote_of(event: events.Answered) -> str:
    """Return the vote of a verdict. Raises `LineError` where it holds none."""
    try:
        return msgspec.json.decode(event.content, type=_Voted).vote
    except (msgspec.DecodeError, RecursionError):
        raise LineError("wrong-shape") from None


def _place(event: events.Answered | events.WentAbsent | events.MessageDelivered, target: str) -> str:
    return f"{event.item}/{event.condition}/{target}"


def _answer_of(key: str) -> str:
    """Return what the keys of all events about one answer share: item, condition, step and seat."""
    return "/".join(key.split("/")[1:5])


def _fit(*numbers: object) -> None:
    """Raise `LineError` for a number that no reader could hold."""
    if any(number is not None and number not in _NUMBERS for number in numbers):
        raise LineError("wrong-shape")
