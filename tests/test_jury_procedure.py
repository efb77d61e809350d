"""The procedure: nobody is heard before all are sealed, no more rounds than asked for, one ballot each."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from juries import opened

from a2a_trust.jury.bench import Bench, Jury
from a2a_trust.jury.calls import Caller
from a2a_trust.jury.journal import Journal
from a2a_trust.jury.procedure import Deliberation, Panel, ProcedureError, Refusal, commitment, nonce_of
from a2a_trust.sources.jury_events import Condition, ItemOpened, Rule, sha256

if TYPE_CHECKING:
    from pathlib import Path

SEATS = ("j1", "j2", "j3", "j4")
NONCE = nonce_of("a" * 64, "t1", "j1")


def panel(rounds: int = 1, seats: tuple[str, ...] = SEATS, kind: Any = "majority") -> Panel:  # noqa: ANN401 - a rule
    """A panel that nobody has sealed for."""
    return Panel("t1", seats, rule=Rule(kind=kind), rounds=rounds, options=("yes", "no"))


def sealed(rounds: int = 1, absent: tuple[str, ...] = ()) -> Panel:
    """A panel whose sealing is closed; all vote yes but j1."""
    made = panel(rounds)
    for seat in SEATS:
        if seat not in absent:
            made.seal(seat, NONCE, seat.encode(), "no" if seat == "j1" else "yes")
    made.close_sealing()
    return made


def test_no_deliberation_begins_before_sealing_is_closed() -> None:
    """Not even when everybody has sealed."""
    made = panel()
    for seat in SEATS:
        made.seal(seat, NONCE, b"{}", "yes")
    for step in (lambda: made.deliberate("mesh"), lambda: made.open_seal("j1", NONCE, b"{}")):
        with pytest.raises(ProcedureError, match="before sealing is closed"):
            step()


def test_no_seal_is_taken_after_sealing_was_closed() -> None:
    """Nor a second one of anybody before."""
    made = panel()
    made.seal("j1", NONCE, b"{}", "yes")
    with pytest.raises(ProcedureError, match="second verdict"):
        made.seal("j1", NONCE, b"{}", "yes")
    made.close_sealing()
    with pytest.raises(ProcedureError, match="after sealing was closed"):
        made.seal("j2", NONCE, b"{}", "yes")
    with pytest.raises(ProcedureError, match="a second time"):
        made.close_sealing()


def test_the_quorum_is_counted_at_sealing_and_needed_from_there() -> None:
    """Three of four are needed: with two the panel does not go on."""
    made = sealed(absent=("j1", "j4"))
    assert (made.quorum, made.quorum.met) == ((2, 3, 4), False)
    assert (made.present, made.absent) == (("j2", "j3"), ("j1", "j4"))
    with pytest.raises(ProcedureError, match="without a quorum"):
        made.deliberate("digest")
    assert sealed(absent=("j4",)).quorum.met


def test_rounds_are_those_asked_for_and_no_more() -> None:
    """More are refused with a reason, and the run may go on."""
    talk = sealed(rounds=2).deliberate("mesh")
    assert [talk.begin_round(), talk.begin_round()] == [1, 2]
    assert talk.begin_round() == Refusal("round-3", "2 of 2 rounds are held")
    assert talk.rounds_held == 2


@pytest.mark.parametrize("condition", ["solo", "independent"])
def test_who_is_isolated_has_no_rounds_whatever_was_asked_for(condition: Condition) -> None:
    """And nobody to address."""
    talk = sealed(rounds=3).deliberate(condition)
    assert isinstance(talk.begin_round(), Refusal)
    assert talk.targets("j1") == ()


@pytest.mark.parametrize("rounds", [-1, 4])
def test_a_panel_is_asked_for_at_most_three_rounds(rounds: int) -> None:
    """Limits are limits for the engine too."""
    with pytest.raises(ProcedureError, match="expected 0 to 3"):
        panel(rounds)


def test_a_topology_says_who_may_address_whom() -> None:
    """A star has a centre, a mesh has none, a digest has no addresses; who is absent is addressed by nobody."""
    made = sealed(absent=("j4",))
    star = made.deliberate("star", foreperson="j2")
    assert [star.targets(seat) for seat in ("j1", "j2", "j3")] == [("j2",), ("j1", "j3"), ("j2",)]
    mesh = made.deliberate("mesh")
    assert [mesh.targets(seat) for seat in ("j1", "j2", "j3")] == [("j2", "j3"), ("j1", "j3"), ("j1", "j2")]
    assert made.deliberate("digest").targets("j1") == ()
    with pytest.raises(ProcedureError, match="not present"):
        mesh.targets("j4")
    with pytest.raises(ProcedureError, match="needs a foreperson"):
        made.deliberate("star", foreperson="j9")


def test_messages_go_where_the_topology_allows_and_within_a_round() -> None:
    """The engine cannot deliver what nobody may send."""
    star = sealed().deliberate("star", foreperson="j1")
    with pytest.raises(ProcedureError, match="outside a round"):
        star.deliver("j2", "j1")
    star.begin_round()
    star.deliver("j2", "j1")
    for target in ("j3", "j2", "j9"):
        with pytest.raises(ProcedureError, match="cannot address"):
            star.deliver("j2", target)
    with pytest.raises(ProcedureError, match="there is none here"):
        star.make_digest()


def test_a_digest_is_made_within_a_round() -> None:
    """Never before one, never after a ballot."""
    talk = sealed().deliberate("digest")
    with pytest.raises(ProcedureError, match="outside a round"):
        talk.make_digest()
    talk.begin_round()
    talk.make_digest()
    talk.cast("j1", None)
    for late in (talk.make_digest, talk.begin_round, lambda: talk.move("j2", "no")):
        with pytest.raises(ProcedureError, match="after a ballot"):
            late()


def test_who_does_not_move_keeps_its_position() -> None:
    """The vote that counts is the one that was held last."""
    talk = sealed().deliberate("digest")
    talk.begin_round()
    talk.move("j2", "no")
    assert [talk.vote_of(seat) for seat in SEATS] == ["no", "no", "yes", "yes"]
    with pytest.raises(ProcedureError, match="expected one of yes, no"):
        talk.move("j3", "maybe")


def test_the_frozen_vote_counts_whatever_the_ballot_says_and_once() -> None:
    """A ballot that says something else is told apart; one that is missing is not."""
    talk = sealed().deliberate("independent")
    assert talk.cast("j1", "no") == ("no", False)
    assert talk.cast("j2", "no") == ("yes", True)
    assert talk.cast("j3", None) == ("yes", False)
    with pytest.raises(ProcedureError, match="second ballot"):
        talk.cast("j2", "yes")
    with pytest.raises(ProcedureError, match="before j4 cast"):
        talk.outcome()
    talk.cast("j4", "yes")
    assert talk.outcome()[:3] == ("decided", "yes", {"yes": 3, "no": 1})


def test_conditions_begin_from_the_same_seals() -> None:
    """What one topology does to the votes, another does not see."""
    made = sealed()
    one, other = made.deliberate("mesh"), made.deliberate("digest")
    one.begin_round()
    one.move("j2", "no")
    assert (one.vote_of("j2"), other.vote_of("j2")) == ("no", "yes")
    assert (one.rounds_held, other.rounds_held) == (1, 0)


def test_an_unknown_panel_is_refused(tmp_path: Path) -> None:
    """The bench hears nobody who was never sealed."""
    with Journal.create(tmp_path / "run", opened()) as journal:
        bench = Bench(journal, Caller(journal, {}))
        unknown = Jury(ItemOpened(key="item/t1", time=0, item="t1", question="?", options=("a",), texts={}), [])
        with pytest.raises(ProcedureError, match="t1: no panel of this item has sealed"):
            bench.deliberate(unknown, "digest")


@pytest.mark.parametrize("seats", [(), ("j1", "j1")])
def test_a_panel_has_jurors_each_in_one_seat(seats: tuple[str, ...]) -> None:
    """A seat taken twice would vote twice."""
    with pytest.raises(ProcedureError, match="each in one seat"):
        panel(seats=seats)


@given(st.binary(max_size=50), st.binary(max_size=50))
def test_a_seal_holds_for_what_was_sealed_and_for_nothing_else(verdict: bytes, other: bytes) -> None:
    """One byte is enough; another nonce too."""
    made = panel()
    for seat in SEATS:
        made.seal(seat, NONCE, verdict, "yes")
    made.close_sealing()
    assert made.open_seal("j1", NONCE, verdict)
    assert made.open_seal("j2", NONCE, other) == (other == verdict)
    assert not made.open_seal("j3", "0" * 64, verdict)
    with pytest.raises(ProcedureError, match="a second time"):
        made.open_seal("j1", NONCE, verdict)


def test_a_commitment_is_what_anybody_can_compute() -> None:
    """SHA-256 over nonce, a line feed and the verdict."""
    assert commitment(NONCE, b"{}") == sha256(f"{NONCE}\n{{}}") == sealed_commitment(b"{}")


def sealed_commitment(verdict: bytes) -> str:
    """What a panel says of a seal."""
    made = panel()
    made.seal("j1", NONCE, verdict, "yes")
    return made.commitment_of("j1")


def test_nonces_differ_for_each_item_and_actor() -> None:
    """Equal verdicts have different commitments, also where names run into each other."""
    pairs = [("t1", "j1"), ("t1", "j2"), ("t2", "j1"), ("t", "1j1"), ("t1j", "1"), ("1:t", "1")]
    assert len({nonce_of("a" * 64, *pair) for pair in pairs}) == len(pairs)
    assert nonce_of("a" * 64, "t1", "j1") != nonce_of("b" * 64, "t1", "j1")


class Anyhow(RuleBasedStateMachine):
    """Steps in any order: whatever is allowed, the order of a hearing holds."""

    steps = st.sampled_from(["seal", "close", "begin", "round", "digest", "move", "deliver", "cast", "outcome"])

    @initialize(rounds=st.integers(0, 3), condition=st.sampled_from(["independent", "star", "mesh", "digest"]))
    def start(self, rounds: int, condition: Condition) -> None:
        """A panel and a topology."""
        self.panel, self.condition, self.asked = panel(rounds), condition, rounds
        self.talk: Deliberation | None = None
        self.done: list[str] = []

    @rule(step=steps, seat=st.sampled_from([*SEATS, "j9"]), other=st.sampled_from(SEATS))
    def take(self, step: str, seat: str, other: str) -> None:
        """Try a step and note it where it was taken."""
        with contextlib.suppress(ProcedureError):
            if self.act(step, seat, other):
                self.done.append(step)

    def act(self, step: str, seat: str, other: str) -> bool:
        """Take a step; whether it was."""
        match step:
            case "seal":
                self.panel.seal(seat, NONCE, b"{}", "yes")
            case "close":
                self.panel.close_sealing()
            case "begin":
                made = self.panel.deliberate(self.condition, foreperson="j1")
                self.talk = self.talk or made
            case _ if self.talk is None:
                return False
            case "round":
                return isinstance(self.talk.begin_round(), int)
            case "digest":
                self.talk.make_digest()
            case "move":
                self.talk.move(seat, "no")
            case "deliver":
                self.talk.deliver(seat, other)
            case "cast":
                self.talk.cast(seat, "no")
            case _:
                self.talk.outcome()
        return True

    @invariant()
    def order_holds(self) -> None:
        """Seals, close, rounds, what belongs in a round, ballots, outcome: each behind the one before."""
        order = getattr(self, "done", [])
        rank = {"seal": 0, "close": 1, "begin": 2, "round": 3, "digest": 3, "move": 3, "deliver": 3, "cast": 4}
        ranks = [rank[step] for step in order if step in rank and step != "begin"]
        assert ranks == sorted(ranks)
        assert order.count("round") <= (0 if self.condition == "independent" else self.asked)
        assert order.count("close") <= 1
        assert order.count("cast") <= len(SEATS)
        if "digest" in order or "deliver" in order or "move" in order:
            assert "round" in order
        if "outcome" in order:
            assert order.count("cast") == order.count("seal")


TestAnyhow = Anyhow.TestCase
