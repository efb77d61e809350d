"""The order of a jury's work, enforced: sealing before anybody is heard, rounds within what was asked for, one ballot.

Pure. Whoever asks for a step out of order has a programming error and is told so by `ProcedureError`; whoever asks for
more than there is gets a `Refusal` with a reason, and may go on without.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING, NamedTuple

from a2a_trust.jury.outcome import Outcome, outcome_of, quorum_needed
from a2a_trust.sources.jury_events import Condition, Rule, sha256

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_ROUNDS = 3
ISOLATED: frozenset[Condition] = frozenset({"solo", "independent"})
"""Topologies without rounds, however many were asked for."""


class ProcedureError(Exception):
    """A step was asked for out of order, or of nobody. A mistake of the engine, never of a juror."""


class Refusal(NamedTuple):
    """The procedure says no: a budget is spent. The run goes on without."""

    what: str
    reason: str


class Quorum(NamedTuple):
    """Whether enough of a panel sealed a verdict."""

    present: int
    needed: int
    empanelled: int

    @property
    def met(self) -> bool:
        """Whether the panel may go on."""
        return self.present >= self.needed


def nonce_of(control: str, item: str, actor: str) -> str:
    """Return the nonce of a seal: nobody who does not know the run's control fingerprint can guess it."""
    message = f"{len(item)}:{item}{actor}"
    return hmac.new(control.encode(), message.encode(), hashlib.sha256).hexdigest()


def commitment(nonce: str, verdict: bytes) -> str:
    """Return what is logged of a sealed verdict: SHA-256 over nonce, a line feed and its canonical JSON."""
    return sha256(nonce.encode() + b"\n" + verdict)


class Panel:
    """The jurors of one item, from their empanelling to their seals; then one `Deliberation` for each condition."""

    def __init__(self, item: str, seats: Sequence[str], *, rule: Rule, rounds: int, options: Sequence[str]) -> None:
        if len(set(seats)) != len(seats) or not seats:
            raise ProcedureError(f"{item}: a panel needs jurors, each in one seat; got {list(seats)}")
        if not 0 <= rounds <= MAX_ROUNDS:
            raise ProcedureError(f"{item}: {rounds} rounds; expected 0 to {MAX_ROUNDS}")
        self.item, self.seats, self.rule, self.rounds, self.options = item, tuple(seats), rule, rounds, tuple(options)
        self._commitments: dict[str, str] = {}
        self._opened: dict[str, bool] = {}
        self._votes: dict[str, str] = {}
        self._sealed = False

    def seal(self, actor: str, nonce: str, verdict: bytes, vote: str) -> str:
        """Fix the verdict of a juror and return its commitment.

        Raises `ProcedureError` for a stranger, a second seal, or once sealing is over.
        """
        self._need_seat(actor)
        if self._sealed:
            raise ProcedureError(f"{self.item}: {actor} seals a verdict after sealing was closed")
        if actor in self._commitments:
            raise ProcedureError(f"{self.item}: {actor} seals a second verdict")
        self._need_option(actor, vote)
        self._commitments[actor] = commitment(nonce, verdict)
        self._votes[actor] = vote
        return self._commitments[actor]

    def close_sealing(self) -> Quorum:
        """End sealing: who has no seal is absent. The quorum must be met for anything to follow."""
        if self._sealed:
            raise ProcedureError(f"{self.item}: sealing is closed a second time")
        self._sealed = True
        return self.quorum

    @property
    def quorum(self) -> Quorum:
        """How many sealed, and how many must have."""
        return Quorum(len(self._commitments), quorum_needed(self.rule, len(self.seats)), len(self.seats))

    @property
    def present(self) -> tuple[str, ...]:
        """Who sealed a verdict, in seat order."""
        return tuple(seat for seat in self.seats if seat in self._commitments)

    @property
    def absent(self) -> tuple[str, ...]:
        """Who did not."""
        return tuple(seat for seat in self.seats if seat not in self._commitments)

    def commitment_of(self, actor: str) -> str:
        """Return what was logged when a juror sealed. Raises `ProcedureError` where it did not."""
        self._need_present(actor)
        return self._commitments[actor]

    def open_seal(self, actor: str, nonce: str, verdict: bytes) -> bool:
        """Tell whether what a juror opens is what it sealed; the sealed verdict counts whatever is opened.

        Raises `ProcedureError` before sealing is closed, for an absent juror, or a second time.
        """
        self._need_sealed("a seal is opened")
        self._need_present(actor)
        if actor in self._opened:
            raise ProcedureError(f"{self.item}: {actor} opens its seal a second time")
        self._opened[actor] = hmac.compare_digest(commitment(nonce, verdict), self._commitments[actor])
        return self._opened[actor]

    def deliberate(self, condition: Condition, foreperson: str | None = None) -> Deliberation:
        """Begin what follows the seals under one topology.

        Raises `ProcedureError` before sealing is closed, or where the quorum is missed.
        """
        self._need_sealed(f"deliberation ({condition}) begins")
        if not self.quorum.met:
            raise ProcedureError(f"{self.item}: deliberation ({condition}) begins without a quorum: {self.quorum}")
        return Deliberation(self, condition, dict(self._votes), foreperson)

    def _need_seat(self, actor: str) -> None:
        if actor not in self.seats:
            raise ProcedureError(f"{self.item}: {actor!r} has no seat; expected one of {', '.join(self.seats)}")

    def _need_present(self, actor: str) -> None:
        self._need_seat(actor)
        if actor not in self._commitments:
            raise ProcedureError(f"{self.item}: {actor} sealed no verdict")

    def _need_option(self, actor: str, vote: str) -> None:
        if vote not in self.options:
            raise ProcedureError(f"{self.item}: {actor} votes {vote!r}; expected one of {', '.join(self.options)}")

    def _need_sealed(self, what: str) -> None:
        if not self._sealed:
            raise ProcedureError(f"{self.item}: {what} before sealing is closed")


class Deliberation:
    """One condition of a panel: rounds, then one ballot each, then the outcome."""

    def __init__(self, panel: Panel, condition: Condition, votes: dict[str, str], foreperson: str | None) -> None:
        if condition == "star" and foreperson not in panel.seats:
            raise ProcedureError(f"{panel.item}: a star needs a foreperson with a seat, not {foreperson!r}")
        self.panel, self.condition, self.foreperson = panel, condition, foreperson
        self.rounds_held = 0
        self._votes = votes
        self._ballots: dict[str, bool] = {}

    @property
    def present(self) -> tuple[str, ...]:
        """Who has a vote, in seat order."""
        return self.panel.present

    def begin_round(self) -> int | Refusal:
        """Begin a round and return its number, from 1; a reason where no more were asked for.

        Raises `ProcedureError` once a ballot was cast.
        """
        self._need_no_ballot("a round begins")
        budget = 0 if self.condition in ISOLATED else self.panel.rounds
        if self.rounds_held >= budget:
            why = f"{budget} of {budget} rounds are held"
            if self.condition in ISOLATED:
                why = f"jurors do not hear each other under {self.condition}"
            return Refusal(f"round-{self.rounds_held + 1}", why)
        self.rounds_held += 1
        return self.rounds_held

    def targets(self, sender: str) -> tuple[str, ...]:
        """Return whom a juror may address: under `star` the foreperson, and she anybody; under `mesh` anybody else.

        Only those who are present. Raises `ProcedureError` for a stranger or somebody absent.
        """
        self._need_vote(sender)
        others = tuple(seat for seat in self.present if seat != sender)
        match self.condition:
            case "mesh":
                return others
            case "star":
                return others if sender == self.foreperson else tuple(s for s in others if s == self.foreperson)
            case _:
                return ()

    def deliver(self, sender: str, target: str) -> None:
        """Note that one juror addresses another. Raises `ProcedureError` outside a round or the topology."""
        self._need_round(f"{sender} addresses {target}")
        if target not in self.targets(sender):
            raise ProcedureError(f"{self._name}: {sender} cannot address {target}")

    def make_digest(self) -> None:
        """Note that the arguments are shown to all. Raises `ProcedureError` outside a round or another topology."""
        self._need_round("a digest is made")
        if self.condition != "digest":
            raise ProcedureError(f"{self._name}: a digest is made, and there is none here")

    def move(self, actor: str, vote: str) -> None:
        """Note the vote of a juror who was heard anew; who is not heard keeps the vote it has.

        Raises `ProcedureError` outside a round, or for somebody absent.
        """
        self._need_round(f"{actor} takes a position")
        self._need_vote(actor)
        self.panel._need_option(actor, vote)  # noqa: SLF001 - one state machine in two classes
        self._votes[actor] = vote

    def vote_of(self, actor: str) -> str:
        """Return the vote that a juror has now. Raises `ProcedureError` for somebody absent."""
        self._need_vote(actor)
        return self._votes[actor]

    def cast(self, actor: str, submitted: str | None) -> tuple[str, bool]:
        """Cast the vote that is frozen, and tell whether the ballot said another one.

        Raises `ProcedureError` for a second ballot or somebody absent.
        """
        self._need_vote(actor)
        if actor in self._ballots:
            raise ProcedureError(f"{self._name}: {actor} casts a second ballot")
        self._ballots[actor] = submitted is not None and submitted != self._votes[actor]
        return self._votes[actor], self._ballots[actor]

    def outcome(self) -> Outcome:
        """Return what the votes come to. Raises `ProcedureError` before all who are present cast theirs."""
        missing = [seat for seat in self.present if seat not in self._ballots]
        if missing:
            raise ProcedureError(f"{self._name}: the outcome is asked for before {', '.join(missing)} cast a ballot")
        panel = self.panel
        return outcome_of(panel.rule, [self._votes[seat] for seat in self.present], panel.options, len(panel.seats))

    @property
    def _name(self) -> str:
        return f"{self.panel.item} ({self.condition})"

    def _need_vote(self, actor: str) -> None:
        if actor not in self._votes:
            raise ProcedureError(f"{self._name}: {actor!r} is not present; present are {', '.join(self.present)}")

    def _need_round(self, what: str) -> None:
        self._need_no_ballot(what)
        if not self.rounds_held:
            raise ProcedureError(f"{self._name}: {what} outside a round")

    def _need_no_ballot(self, what: str) -> None:
        if self._ballots:
            raise ProcedureError(f"{self._name}: {what} after a ballot was cast")
