"""The tribunal: one hearing, four conditions that go on from it."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import jury_runs
import msgspec
import pytest
from jury_runs import Authored, log_of, of

from a2a_trust.jury import cases, engine, reference
from a2a_trust.jury.providers import Call, ProviderError, Reply
from a2a_trust.sources.jury_events import (
    Answered,
    Cited,
    MessageDelivered,
    OutcomeReached,
    PhaseClosed,
    RequestRefused,
    canonical,
)


def test_a_tribunal_hears_its_case_once_for_all_conditions(tmp_path: Path) -> None:
    """Twelve statements, one baseline and one sealed verdict each, then the four conditions."""
    log = log_of(tmp_path / "run", "tribunal")
    steps = Counter((answer.step, answer.condition) for answer in of(log, Answered))
    assert steps == {
        ("statement", None): 12,
        ("baseline", None): 5, ("baseline", "solo"): 1,
        ("verdict", None): 5, ("verdict", "solo"): 1,
        ("address", "star"): 5, ("position", "star"): 5,
        ("address", "mesh"): 5, ("position", "mesh"): 5,
        ("ballot", "solo"): 1, ("ballot", "independent"): 5, ("ballot", "star"): 5, ("ballot", "mesh"): 5,
        ("announcement", "solo"): 1, ("announcement", "independent"): 1, ("announcement", "star"): 1,
        ("announcement", "mesh"): 1,
    }  # fmt: skip
    assert [outcome.condition for outcome in of(log, OutcomeReached)] == ["solo", "independent", "star", "mesh"]
    assert {outcome.label for outcome in of(log, OutcomeReached)} == {"liable"}


@pytest.mark.parametrize("condition", ["solo", "independent", "star", "mesh"])
def test_one_condition_alone_comes_to_what_it_comes_to_among_all(tmp_path: Path, condition: str) -> None:
    """Conditions share a hearing and nothing else."""
    alone = of(log_of(tmp_path / "alone", "tribunal", condition=condition), OutcomeReached)
    among = of(log_of(tmp_path / "among", "tribunal"), OutcomeReached)
    assert [canonical(e) for e in timeless(alone)] == [
        canonical(e) for e in timeless(among) if e.condition == condition
    ]


def timeless(events: list[Any]) -> list[Any]:
    """Events at time 0."""
    return [msgspec.structs.replace(event, time=0) for event in events]


def test_rounds_are_held_as_asked_and_none_where_jurors_do_not_hear_each_other(tmp_path: Path) -> None:
    """Three rounds of five messages in star and mesh; none in solo and independent."""
    log = log_of(tmp_path / "run", "tribunal", rounds=3)
    rounds = Counter((phase.condition, phase.round) for phase in of(log, PhaseClosed) if phase.phase == "round")
    assert rounds == {(condition, number): 1 for condition in ("star", "mesh") for number in (1, 2, 3)}


def test_reversing_the_hearing_reverses_the_order_of_the_statements(tmp_path: Path) -> None:
    """Same statements and people, other order, other outcome probabilities."""
    standard, reverse = (
        [answer.actor for answer in of(log_of(tmp_path / order, "tribunal", order=order), Answered)[:12]]
        for order in ("standard", "reverse")
    )
    assert standard[:2] == reverse[:2][::-1] == ["claimant", "defendant"]
    assert standard[2:10:2] == reverse[2:10:2][::-1]


def test_what_was_sealed_counts_whatever_is_opened_or_voted(tmp_path: Path) -> None:
    """A broken seal and a changed ballot are told, and change no tally."""
    plain = of(log_of(tmp_path / "plain", "tribunal", condition="independent"), OutcomeReached)
    for code in ("seal_broken", "ballot_changed"):
        bent = of(log_of(tmp_path / code, "tribunal", condition="independent", faulty={"bram": code}), OutcomeReached)
        assert [event.tally for event in bent] == [event.tally for event in plain]


class Away:
    """The reference, but for those calls that a function picks: nobody answers them."""

    blocking = False

    def __init__(self, away: Any) -> None:  # noqa: ANN401 - a function of a call
        self._away = away

    def answer(self, call: Call) -> Reply:
        """Answer, or not."""
        if self._away(call):
            raise ProviderError("away")
        return reference.ReferenceProvider().answer(call)

    def reveal(self, call: Call, sealed: bytes) -> bytes:  # noqa: ARG002 - honest
        """Return what was sealed."""
        return sealed


def test_a_statement_that_is_missing_is_named_and_the_numbers_of_the_others_stay(tmp_path: Path) -> None:
    """S3 is the third statement of the hearing also where S2 was never given."""
    away = Away(
        lambda call: call.step == "statement" and call.actor.id == "defendant" and call.prompt.data["kind"] == "opening"
    )
    folder = tmp_path / "run"
    ended = jury_runs.run(folder, "tribunal", providers={reference.NAME: away})
    assert ended.finished
    assert ended.missing == ("cold-store/-/statement/defendant",)
    log = jury_runs.events(folder)
    (record,) = [phase for phase in of(log, PhaseClosed) if phase.phase == "record"]
    assert record.absent == ("S2",)
    assert record.present[:2] == ("S1", "S3")
    assert engine.replay(folder) is not None


def test_a_star_without_its_foreperson_is_told_and_goes_on_to_its_ballots(tmp_path: Path) -> None:
    """Nobody is there to speak to; the sealed verdicts decide."""
    folder = tmp_path / "run"
    away = Away(lambda call: call.step == "verdict" and call.actor.part == "foreperson")
    jury_runs.run(folder, "tribunal", condition="star", providers={reference.NAME: away})
    log = jury_runs.events(folder)
    assert [refused.reason for refused in of(log, RequestRefused)] == ["nobody is there to speak to"]
    assert not of(log, MessageDelivered)
    assert sum(of(log, OutcomeReached)[0].tally.values()) == 4
    assert engine.replay(folder) is not None


def test_who_is_silent_in_a_round_keeps_its_earlier_position(tmp_path: Path) -> None:
    """And its vote counts."""
    folder = tmp_path / "run"
    away = Away(lambda call: call.step == "position")
    ended = jury_runs.run(folder, "tribunal", condition="mesh", providers={reference.NAME: away})
    assert ended.finished
    log = jury_runs.events(folder)
    plain = log_of(tmp_path / "plain", "tribunal", condition="independent")
    assert of(log, OutcomeReached)[0].tally == of(plain, OutcomeReached)[0].tally
    (held,) = [phase for phase in of(log, PhaseClosed) if phase.phase == "round"]
    assert held.absent
    assert not set(held.absent) & set(held.present)


def test_what_the_evidence_itself_names_was_not_invented_by_who_repeats_it(tmp_path: Path) -> None:
    """An error E42 that stands in the evidence looks like evidence and is none; E99 stands nowhere."""
    case = cases.load("cold-store", "tribunal")
    content = json.loads(Path(case.path).read_text(encoding="utf-8"))
    content["evidence"]["E1"] += " The display showed error E42 and then E043."
    path = tmp_path / "case.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    provider = Authored(
        lambda call: (
            reference.answer(call)
            | ({"reason": "E42, E43 and E99."} if (call.step, call.actor.id) == ("verdict", "bram") else {})
        )
    )
    jury_runs.run(tmp_path / "run", "tribunal", path, providers={reference.NAME: provider}, condition="independent")
    cited = of(jury_runs.events(tmp_path / "run"), Cited)
    assert {(event.actor, event.source) for event in cited if event.status == "unadmitted"} == {("bram", "E99")}
    assert engine.replay(tmp_path / "run") is not None


@pytest.mark.parametrize("condition", ["star", "mesh"])
def test_a_reply_reaches_the_one_who_spoke_and_nobody_else(tmp_path: Path, condition: str) -> None:
    """With what it is shown next, within its condition."""
    provider = Authored(
        lambda call: (
            reference.answer(call)
            | ({"reply": f"reply of {call.actor.id} in {call.round}"} if call.step == "position" else {})
        )
    )
    jury_runs.run(tmp_path / "run", "tribunal", providers={reference.NAME: provider}, condition=condition, rounds=2)
    log = jury_runs.events(tmp_path / "run")
    due = {(sent.sender, f"reply of {sent.target} in {sent.round}") for sent in of(log, MessageDelivered)}
    shown = {
        (call.actor.id, text)
        for call in provider.calls
        for text in re.findall(r"reply of \w+ in \d", call.prompt.shown.get("replies", ""))
    }
    assert shown
    assert shown <= due
    assert {seat for seat, _ in due} == {seat for seat, text in shown if text.endswith("1")}
    others = [call for call in provider.calls if "replies" not in call.prompt.shown]
    assert not any("reply of" in call.prompt.user for call in others)
    assert engine.replay(tmp_path / "run") is not None


def test_in_a_star_everybody_speaks_to_the_foreperson_and_she_to_one(tmp_path: Path) -> None:
    """In seat order, she last."""
    sent = of(log_of(tmp_path / "run", "tribunal", condition="star"), MessageDelivered)
    assert [message.sender for message in sent] == ["maren", "kofi", "bram", "yuki", "lucia"]
    assert {message.target for message in sent[:-1]} == {"lucia"}
    assert sent[-1].target != "lucia"


@pytest.mark.parametrize("condition", ["star", "mesh"])
def test_providers_that_block_lead_to_the_same_outcomes(tmp_path: Path, condition: str) -> None:
    """Their answers are logged as they arrive; what they come to does not depend on it."""
    slow = reference.ReferenceProvider()
    slow.blocking = True
    found = []
    for name, provider in (("slow", slow), ("plain", reference.ReferenceProvider())):
        folder = tmp_path / name
        jury_runs.run(folder, "tribunal", condition=condition, providers={reference.NAME: provider})
        assert engine.replay(folder) is not None
        found.append([canonical(event) for event in timeless(of(jury_runs.events(folder), OutcomeReached))])
    assert found[0] == found[1]
