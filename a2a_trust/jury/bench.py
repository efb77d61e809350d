"""What all presets do alike: asking, sealing and opening, closing phases, taking ballots, reaching an outcome.

Everything goes through the journal by key, so that each step can be taken again and finds what it did before. What was
sealed counts, whatever is opened later; what is frozen counts, whatever a ballot says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from a2a_trust.jury.calls import Opening, Request
from a2a_trust.jury.contracts import Answer, Ballot, Expected, Position, Verdict, content_of
from a2a_trust.jury.outcome import outcome_of
from a2a_trust.jury.procedure import Deliberation, Panel, ProcedureError, Refusal, nonce_of
from a2a_trust.jury.prompts import Replied
from a2a_trust.jury.providers import Prompt
from a2a_trust.sources.jury_events import (
    Actor,
    BallotCast,
    Condition,
    DigestMade,
    Event,
    Id,
    ItemOpened,
    MessageDelivered,
    Option,
    OutcomeReached,
    PhaseClosed,
    QuorumMissed,
    RequestRefused,
    Sealed,
    Step,
    canonical,
    key_of,
    sha256,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Literal

    import msgspec

    from a2a_trust.jury.calls import Caller
    from a2a_trust.jury.contracts import Address
    from a2a_trust.jury.journal import Journal
    from a2a_trust.jury.outcome import Outcome

    Phase = Literal["record", "baseline", "sealed", "round", "ballot"]

NOTHING_SHOWN = Prompt(system="", user="")
E = TypeVar("E", bound=Event)


class Jury:
    """The jurors of one item, with what each sealed."""

    def __init__(self, item: ItemOpened, actors: Sequence[Actor], condition: Condition | None = None) -> None:
        self.item = item
        self.actors = actors
        self.condition = condition
        """That of a panel of its own, as the lone juror is; `None` for the panel that conditions share."""
        self.sealed: dict[str, Verdict] = {}
        """Verdicts in seat order."""
        self.panel: Panel | None = None

    @property
    def present(self) -> list[Actor]:
        """Who sealed a verdict, in seat order."""
        return [actor for actor in self.actors if actor.id in self.sealed]


class Positions:
    """Where the jurors of one condition stand, from their seals to their ballots."""

    def __init__(self, jury: Jury, deliberation: Deliberation) -> None:
        self.jury = jury
        self.deliberation = deliberation
        self._held = dict(jury.sealed)
        self._replies: dict[str, list[Replied]] = {}

    def __getitem__(self, actor: Actor) -> Verdict:
        return self._held[actor.id]

    def move(self, actor: Actor, position: Position) -> None:
        """Take a new position in the place of an earlier one."""
        self.deliberation.move(actor.id, position.vote)
        self._held[actor.id] = position

    def reply(self, to: Actor, speaker: Actor, text: str) -> None:
        """Take a reply to the one who spoke; a blank one says nothing."""
        if text.strip():
            self._replies.setdefault(to.id, []).append(Replied(speaker=speaker.name, text=text))

    def replies_to(self, actor: Actor) -> list[Replied]:
        """Return what was answered to one's own messages, in order."""
        return self._replies.get(actor.id, [])

    def state(self) -> list[tuple[str, msgspec.Raw]]:
        """Return what a phase ends with."""
        return [(seat, content_of(verdict)) for seat, verdict in self._held.items()]


class Bench:
    """The journal, the caller and the cast of one run."""

    def __init__(self, journal: Journal, caller: Caller) -> None:
        self.opened = journal.opened
        self.missed = False
        """Whether a quorum was missed."""
        self.missing: list[str] = []
        """Answers that are missing, by place; the first hundred."""
        self._journal = journal
        self._caller = caller
        self._seats = {actor.id: actor for actor in self.opened.cast}

    def seat(self, actor: Id) -> Actor:
        """Return who sits in a seat."""
        return self._seats[actor]

    def trust_for(self, actor: Actor) -> str:
        """Return the signal as an actor of a tribunal is shown it; empty where it is not."""
        trust = self.opened.trust
        sees = trust.mode == "all" or (trust.mode == "lead-only" and actor.part == "foreperson")
        return trust.text if sees else ""

    def open_item(self, item: ItemOpened) -> ItemOpened:
        """Put a question and its texts before the jurors."""
        return self._put(item)

    def request(  # noqa: PLR0913 - a request is all of these
        self,
        item: ItemOpened,
        actor: Actor,
        step: Step,
        prompt: Prompt,
        *,
        condition: Condition | None = None,
        round_: int = 0,
        number: int = 0,
        targets: tuple[str, ...] = (),
        outcome: str | None = None,
        texts: Mapping[str, str] | None = None,
        strict_citations: bool = False,
        citations_required: bool = False,
    ) -> Request:
        """Return a request for an answer; `texts` are those that may be cited and named."""
        expected = Expected(
            actor=actor,
            item=item.item,
            options=item.options,
            targets=targets,
            outcome=outcome,
            citations_required=citations_required,
        )
        return Request(
            item=item.item,
            condition=condition,
            step=step,
            round=round_,
            number=number,
            actor=actor,
            prompt=prompt,
            expected=expected,
            texts=dict(texts or {}),
            admitted=item.admitted,
            strict_citations=strict_citations,
        )

    def ask(self, requests: Sequence[Request]) -> list[Answer | None]:
        """Return the answers to requests, in their order; `None` is missing, and noted as such."""
        answers = self._caller.ask(requests)
        self._note_missing(requests, answers)
        return answers

    def _note_missing(self, requests: Sequence[Request], given: Sequence[object | None]) -> None:
        for request, answer in zip(requests, given, strict=True):
            if answer is None and len(self.missing) < 100:  # noqa: PLR2004 - as the event states
                self.missing.append("/".join((request.item, request.condition or "-", request.step, request.actor.id)))

    def close(  # noqa: PLR0913, PLR0917 - a phase is all of these
        self,
        item: str,
        condition: Condition | None,
        phase: Phase,
        present: Sequence[str],
        absent: Sequence[str],
        state: object,
        *,
        round_: int = 0,
    ) -> None:
        """End a phase."""
        self._put(_phase(item, condition, phase, present, absent, state, round_))

    # --- seals ------------------------------------------------------------------------------------------------

    def seal(self, jury: Jury, answers: Sequence[Answer | None]) -> bool:
        """Seal and open the verdicts of a jury; return whether its quorum was met. Where not, nothing is opened."""
        self.seal_all([(jury, answers)])
        return jury.panel is not None

    def seal_all(self, juries: Sequence[tuple[Jury, Sequence[Answer | None]]]) -> None:
        """Seal the verdicts of several juries, durably and all before the first is opened; then open them."""
        seals: list[Event] = []
        panels = []
        for jury, answers in juries:
            panel = self._empanel(jury)
            for actor, answer in zip(jury.actors, answers, strict=True):
                if isinstance(answer, Verdict):
                    jury.sealed[actor.id] = answer
                    seals.append(self._sealed(panel, actor, answer))
            panels.append((jury, panel))
        self._journal.put_all(seals)
        for jury, panel in panels:
            if panel.close_sealing().met:
                jury.panel = panel
            else:
                self._miss(jury, panel)
        self._journal.sync()
        going_on = [(jury, jury.panel) for jury, _panel in panels if jury.panel is not None]
        self._journal.put_all([_sealing_closed(jury, panel) for jury, panel in going_on])
        self._open([(jury, panel, actor) for jury, panel in going_on for actor in jury.present])

    def _empanel(self, jury: Jury) -> Panel:
        seats = [actor.id for actor in jury.actors]
        options = jury.item.options
        return Panel(jury.item.item, seats, rule=self.opened.rule, rounds=self.opened.rounds, options=options)

    def _sealed(self, panel: Panel, actor: Actor, verdict: Verdict) -> Sealed:
        nonce = nonce_of(self.opened.control, panel.item, actor.id)
        commitment = panel.seal(actor.id, nonce, bytes(content_of(verdict)), verdict.vote)
        return Sealed(
            key=key_of("seal", panel.item, actor.id), time=0, item=panel.item, actor=actor.id, commitment=commitment
        )

    def _miss(self, jury: Jury, panel: Panel) -> None:
        """Note that too few are present; the run ends unfinished, and asks the absent again when it is gone on with."""
        self.missed = True
        present, needed, empanelled = panel.quorum
        epoch = self._journal.epoch
        self._put(
            QuorumMissed(
                key=key_of("quorum", panel.item, jury.condition, epoch),
                time=0,
                item=panel.item,
                condition=jury.condition,
                present=present,
                needed=needed,
                empanelled=empanelled,
                epoch=epoch,
            )
        )

    def _open(self, sealed: Sequence[tuple[Jury, Panel, Actor]]) -> None:
        """Have seals opened. What is opened is logged as it is; what was sealed counts whatever that is."""
        openings = []
        for jury, panel, actor in sealed:
            verdict = bytes(content_of(jury.sealed[actor.id]))
            nonce = nonce_of(self.opened.control, panel.item, actor.id)
            request = self.request(jury.item, actor, "open", NOTHING_SHOWN, condition=jury.condition)
            openings.append(
                Opening(request=request, nonce=nonce, sealed=verdict, commitment=panel.commitment_of(actor.id))
            )
        opened = self._caller.reveal(openings)
        self._note_missing([opening.request for opening in openings], opened)
        for (_jury, panel, actor), found in zip(sealed, opened, strict=True):
            if found is not None:
                panel.open_seal(actor.id, found.nonce, bytes(found.verdict))

    # --- what follows -----------------------------------------------------------------------------------------

    def deliberate(self, jury: Jury, condition: Condition) -> Positions:
        """Begin one condition from the sealed state."""
        if jury.panel is None:
            raise ProcedureError(f"{jury.item.item}: no panel of this item has sealed its verdicts")
        lead = next((actor.id for actor in jury.actors if actor.part == "foreperson"), None)
        return Positions(jury, jury.panel.deliberate(condition, foreperson=lead))

    def begin_round(self, positions: Positions) -> int | None:
        """Return the number of the next round, `None` where there is none any more."""
        found = positions.deliberation.begin_round()
        return None if isinstance(found, Refusal) else found

    def refuse(self, positions: Positions, refusal: Refusal) -> None:
        """Log that the procedure said no."""
        item, condition = positions.jury.item.item, positions.deliberation.condition
        key = key_of("refused", item, condition, refusal.what)
        self._put(
            RequestRefused(key=key, time=0, item=item, condition=condition, what=refusal.what, reason=refusal.reason)
        )

    def deliver(self, positions: Positions, round_: int, sender: Actor, message: Address) -> None:
        """Hand a message to the one whom it names."""
        positions.deliberation.deliver(sender.id, message.target)
        item, condition = positions.jury.item.item, positions.deliberation.condition
        self._put(
            MessageDelivered(
                key=key_of("message", item, condition, round_, sender.id),
                time=0,
                item=item,
                condition=condition,
                round=round_,
                sender=sender.id,
                target=message.target,
                text=sha256(message.message),
            )
        )

    def digest(self, positions: Positions, round_: int, arguments: int, text: str) -> None:
        """Log what everybody on a panel is shown of the others."""
        positions.deliberation.make_digest()
        item = positions.jury.item.item
        key = key_of("digest", item, round_)
        self._put(DigestMade(key=key, time=0, item=item, round=round_, arguments=arguments, text=sha256(text)))

    def vote(self, positions: Positions, answers: Sequence[Answer | None]) -> None:
        """Cast the ballots of all who are present, durably: the vote that counts is the one that was frozen."""
        item, condition = positions.jury.item.item, positions.deliberation.condition
        ballots, silent = [], []
        for actor, answer in zip(positions.jury.present, answers, strict=True):
            submitted = answer.vote if isinstance(answer, Ballot) else None
            vote, changed = positions.deliberation.cast(actor.id, submitted)
            silent += [] if submitted else [actor.id]
            ballots.append(
                BallotCast(
                    key=key_of("ballot", item, condition, actor.id),
                    time=0,
                    item=item,
                    condition=condition,
                    actor=actor.id,
                    vote=vote,
                    submitted=submitted,
                    changed=changed,
                )
            )
        self._journal.put_all(ballots)
        present = [actor.id for actor in positions.jury.present if actor.id not in silent]
        votes = [(ballot.actor, ballot.vote) for ballot in ballots]
        self.close(item, condition, "ballot", present, silent, votes)
        self._journal.sync()

    def outcome(self, positions: Positions, label: Option | None) -> OutcomeReached:
        """Log what the votes come to, durably; only now is the label told.

        A log that is walked through again tells the label itself: nothing else knows it.
        """
        item, condition = positions.jury.item.item, positions.deliberation.condition
        event = self._outcome(item, condition, positions.deliberation.outcome(), label)
        self.sync()
        return event

    def outcome_of(self, jury: Jury, condition: Condition, label: Option | None) -> OutcomeReached:
        """Log what the sealed verdicts of judges come to, who need no ballots; the caller makes it durable."""
        votes = [verdict.vote for verdict in jury.sealed.values()]
        found = outcome_of(self.opened.rule, votes, jury.item.options, len(jury.actors))
        return self._outcome(jury.item.item, condition, found, label)

    def sync(self) -> None:
        """Make durable what was logged."""
        self._journal.sync()

    def _outcome(self, item: str, condition: Condition, found: Outcome, label: Option | None) -> OutcomeReached:
        key = key_of("outcome", item, condition)
        logged = self._journal.take(key)
        if isinstance(logged, OutcomeReached) and self._journal.replaying:
            label = logged.label
        event = OutcomeReached(
            key=key,
            time=0,
            item=item,
            condition=condition,
            status=found.status,
            outcome=found.outcome,
            tally=found.tally,
            reason=found.reason,
            label=label,
        )
        return self._put(event, logged)

    def _put(self, event: E, logged: Event | None = None) -> E:
        """Log an event, or compare it with the one that was taken from the log already."""
        if logged is None:
            return self._journal.put(event)
        self._journal.same(logged, event)
        return event


def _sealing_closed(jury: Jury, panel: Panel) -> PhaseClosed:
    state = [(seat, content_of(verdict)) for seat, verdict in jury.sealed.items()]
    return _phase(jury.item.item, jury.condition, "sealed", panel.present, panel.absent, state, 0)


def _phase(  # noqa: PLR0913, PLR0917 - as `close`
    item: str,
    condition: Condition | None,
    phase: Phase,
    present: Sequence[str],
    absent: Sequence[str],
    state: object,
    round_: int,
) -> PhaseClosed:
    """Return the end of a phase; a round's number is part of its name, since there may be several."""
    return PhaseClosed(
        key=key_of("phase", item, condition, f"{phase}-{round_}" if round_ else phase),
        time=0,
        item=item,
        condition=condition,
        phase=phase,
        round=round_,
        present=tuple(present),
        absent=tuple(absent),
        state=sha256(canonical(state)),
    )
