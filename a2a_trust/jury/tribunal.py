"""The tribunal: a dispute is heard once, verdicts are sealed once, and each condition goes on from that one state."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from a2a_trust.jury import prompts
from a2a_trust.jury.bench import Jury
from a2a_trust.jury.citations import identifiers
from a2a_trust.jury.contracts import Address, Position, Statement, content_of
from a2a_trust.jury.procedure import Refusal
from a2a_trust.jury.prompts import Matter, Record, Spoken
from a2a_trust.sources.jury_events import Actor, Condition, ItemOpened, key_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from a2a_trust.jury.bench import Bench, Positions
    from a2a_trust.jury.calls import Request
    from a2a_trust.jury.case_types import Party, TribunalCase, Witness
    from a2a_trust.jury.providers import Prompt
    from a2a_trust.sources.jury_events import Option

CONDITIONS: tuple[Condition, ...] = ("solo", "independent", "star", "mesh")
WITH_ROUNDS: frozenset[Condition] = frozenset({"star", "mesh"})


class Tribunal:
    """One hearing of one case."""

    def __init__(self, bench: Bench, case: TribunalCase, label: Option | None) -> None:
        self._bench = bench
        self._case = case
        self._label = label
        facts = {"charge": case.charge, "burden": case.burden, "summary": case.summary}
        self._evidence = {name: case.evidence[name] for name in sorted(case.evidence, key=lambda name: int(name[1:]))}
        self._matter = Matter(question=case.question, options=case.options, facts=facts)
        self._record = Record.of(self._evidence)
        self._item = ItemOpened(
            key=key_of("item", case.id),
            time=0,
            item=case.id,
            question=case.question,
            options=case.options,
            texts=self._evidence,
            admitted=_named_by(case),
            facts=facts,
        )

    def walk(self) -> None:
        """Hear the case, seal the verdicts, and take every condition to its outcome."""
        self._bench.open_item(self._item)
        self._hear()
        for jury, conditions in self._sealed():
            for condition in conditions:
                self._decide(jury, condition)

    # --- the record -------------------------------------------------------------------------------------------

    def _hear(self) -> None:
        """Take the statements in the order of the hearing; one that is not given is missing, and named so."""
        statements: list[Spoken] = []
        absent = []
        for number, (kind, party, witness) in enumerate(slots(self._case, self._bench.opened.order), 1):
            (answer,) = self._bench.ask([self._statement(kind, party, witness, number)])
            name = f"S{number}"
            if isinstance(answer, Statement):
                statements.append(_spoken(name, kind, party, witness, answer, self._record.texts))
                self._record = Record.of(self._evidence, statements)
            else:
                absent.append(name)
        present = [said.id for said in statements]
        self._bench.close(self._item.item, None, "record", present, absent, self._record.text)

    def _statement(self, kind: str, party: Party, witness: Witness | None, number: int) -> Request:
        actor = self._bench.seat(party.id if witness is None else witness.id)
        if witness is None:
            prompt = prompts.opening_or_closing(actor, kind, party, self._matter, self._record)
            texts = self._record.texts
        else:
            prompt = prompts.testimony(actor, witness, party, self._matter, self._evidence)
            texts = self._evidence
        return self._bench.request(self._item, actor, "statement", prompt, number=number, texts=texts)

    # --- verdicts ---------------------------------------------------------------------------------------------

    def _sealed(self) -> list[tuple[Jury, tuple[Condition, ...]]]:
        """Return the juries that reached their quorum, with the conditions that go on from what they sealed."""
        bench = self._bench
        juries = list(_juries(self._item, bench.opened.cast, bench.opened.conditions))
        seats = [(jury, actor) for jury, _conditions in juries for actor in jury.actors]
        first = bench.ask(
            [
                bench.request(
                    self._item, actor, "baseline", prompts.baseline(actor, self._matter), condition=jury.condition
                )
                for jury, actor in seats
            ]
        )
        for jury, _conditions in juries:
            own = [(seat.id, answer) for (of, seat), answer in zip(seats, first, strict=True) if of is jury]
            state = [(seat, content_of(answer)) for seat, answer in own if answer is not None]
            absent = [seat for seat, answer in own if answer is None]
            present = [seat for seat, _content in state]
            bench.close(self._item.item, jury.condition, "baseline", present, absent, state)
        verdicts = bench.ask([self._verdict(jury, actor) for jury, actor in seats])
        going_on = []
        for jury, conditions in juries:
            own_verdicts = [answer for (of, _seat), answer in zip(seats, verdicts, strict=True) if of is jury]
            if bench.seal(jury, own_verdicts):
                going_on.append((jury, conditions))
        return going_on

    def _verdict(self, jury: Jury, actor: Actor) -> Request:
        prompt = prompts.verdict(actor, self._matter, self._record, self._bench.trust_for(actor))
        texts = self._record.texts
        return self._bench.request(self._item, actor, "verdict", prompt, condition=jury.condition, texts=texts)

    # --- deliberation -----------------------------------------------------------------------------------------

    def _decide(self, jury: Jury, condition: Condition) -> None:
        """Take one condition from the sealed state to its outcome, and let the judge announce it."""
        bench = self._bench
        positions = bench.deliberate(jury, condition)
        while (number := bench.begin_round(positions)) is not None:
            self._round(positions, number)
        ballots = [
            bench.request(
                self._item, actor, "ballot", prompts.ballot(actor, self._matter, positions[actor]), condition=condition
            )
            for actor in jury.present
        ]
        bench.vote(positions, bench.ask(ballots))
        reached = bench.outcome(positions, self._label)
        judge = bench.seat(self._case.judge.id)
        told = reached.outcome or reached.status
        prompt = prompts.announcement(judge, self._matter, reached.tally, told)
        bench.ask(
            [
                bench.request(
                    self._item,
                    judge,
                    "announcement",
                    prompt,
                    condition=condition,
                    outcome=told,
                    texts=self._record.texts,
                )
            ]
        )

    def _round(self, positions: Positions, number: int) -> None:
        """Let everybody speak once, in seat order; who is spoken to says at once where it stands then."""
        silent: list[str] = []
        speakers = list(_speakers(positions))
        if not speakers:
            self._bench.refuse(positions, Refusal(f"round-{number}", "nobody is there to speak to"))
        for index, speaker in enumerate(speakers, 1):
            turn = _Turn(number, (number - 1) * len(speakers) + index, speaker)
            silent += self._turn(positions, turn)
        present = [actor.id for actor in positions.jury.present if actor.id not in silent]
        condition = positions.deliberation.condition
        self._bench.close(self._item.item, condition, "round", present, silent, positions.state(), round_=number)

    def _turn(self, positions: Positions, turn: _Turn) -> list[str]:
        """Take one turn; return who did not answer, and so keeps the position that it had."""
        bench, speaker = self._bench, turn.speaker
        targets = positions.deliberation.targets(speaker.id)
        named = {seat: bench.seat(seat).name for seat in targets}
        (message,) = bench.ask(
            [
                self._spoken_to(
                    positions,
                    turn,
                    speaker,
                    targets,
                    prompts.address(
                        speaker,
                        self._matter,
                        self._record,
                        positions[speaker],
                        named,
                        positions.replies_to(speaker),
                        bench.trust_for(speaker),
                    ),
                )
            ]
        )
        if not isinstance(message, Address):
            return [speaker.id]
        bench.deliver(positions, turn.round, speaker, message)
        target = bench.seat(message.target)
        prompt = prompts.position(
            target,
            self._matter,
            self._record,
            positions[target],
            speaker.name,
            message,
            positions.replies_to(target),
            bench.trust_for(target),
        )
        (answer,) = bench.ask([self._spoken_to(positions, turn, target, (), prompt)])
        if not isinstance(answer, Position):
            return [target.id]
        positions.move(target, answer)
        positions.reply(speaker, target, answer.reply)
        return []

    def _spoken_to(
        self, positions: Positions, turn: _Turn, actor: Actor, targets: tuple[str, ...], prompt: Prompt
    ) -> Request:
        """Return what is asked in a turn: of its speaker to address one of `targets`, or of who was addressed."""
        return self._bench.request(
            self._item,
            actor,
            "address" if targets else "position",
            prompt,
            condition=positions.deliberation.condition,
            round_=turn.round,
            number=turn.number,
            targets=targets,
            texts=self._record.texts,
        )


def _named_by(case: TribunalCase) -> tuple[str, ...]:
    """Return what looks like evidence in the case itself and is none: whoever repeats it has invented nothing."""
    told = [case.question, case.charge, case.burden, case.summary, *case.evidence.values()]
    told += [party.brief for party in case.parties]
    told += [words for witness in case.witnesses for words in (witness.knows, *witness.questions.values())]
    return tuple(sorted(set(identifiers("\n".join(told))) - set(case.evidence)))


class _Turn(NamedTuple):
    """One juror speaking to another."""

    round: int
    number: int
    """Of the turn in its condition, over all rounds."""
    speaker: Actor


def slots(case: TribunalCase, order: str) -> Iterator[tuple[str, Party, Witness | None]]:
    """Yield kind, party and witness of each statement: S1 is the first. A reversed hearing reverses all but the phases.

    It is the order of the statements, so S3 is the third slot even where S2 was never given.
    """
    step = -1 if order == "reverse" else 1
    parties, witnesses = case.parties[::step], case.witnesses[::step]
    for party in parties:
        yield "opening", party, None
    for witness in witnesses:
        for party in parties:
            yield "testimony", party, witness
    for party in parties:
        yield "closing", party, None


def _spoken(  # noqa: PLR0913, PLR0917 - a statement is all of these
    name: str, kind: str, party: Party, witness: Witness | None, said: Statement, texts: Mapping[str, str]
) -> Spoken:
    """Return a statement as it enters the record; what it cites is named only where there is such a text."""
    cites = tuple(dict.fromkeys(cite.source for cite in said.citations if cite.source in texts))
    if witness is None:
        return Spoken(id=name, kind=kind, speaker=party.name, side=party.side, text=said.statement, cites=cites)
    return Spoken(
        id=name,
        kind=kind,
        speaker=witness.name,
        question=witness.questions[party.id],
        asker=party.name,
        text=said.statement,
        cites=cites,
    )


def _juries(
    item: ItemOpened, cast: Sequence[Actor], conditions: Sequence[Condition]
) -> Iterator[tuple[Jury, tuple[Condition, ...]]]:
    """Yield the juries that this run needs: the lone juror by itself, and the panel that all other conditions share."""
    jurors = [actor for actor in cast if actor.part in {"juror", "foreperson"}]
    solo: tuple[Condition, ...] = tuple(condition for condition in conditions if condition == "solo")
    shared: tuple[Condition, ...] = tuple(condition for condition in conditions if condition != "solo")
    if solo:
        yield Jury(item, [actor for actor in jurors if "solo" in actor.conditions], "solo"), solo
    if shared:
        yield Jury(item, [actor for actor in jurors if "solo" not in actor.conditions]), shared


def _speakers(positions: Positions) -> Iterator[Actor]:
    """Yield who speaks, in order: everybody who has somebody to speak to; a foreperson after all others."""
    present = positions.jury.present
    star = positions.deliberation.condition == "star"
    for actor in sorted(present, key=lambda actor: star and actor.part == "foreperson"):
        if positions.deliberation.targets(actor.id):
            yield actor
