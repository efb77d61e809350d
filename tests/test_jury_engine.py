"""The engine: what a run is prepared from, what it writes, and where each fault lands."""

import itertools
import json
from collections import Counter
from pathlib import Path
from typing import Any

import jury_runs
import msgspec
import pytest

from a2a_trust.errors import CaseError, UsageError
from a2a_trust.jury import cases, engine, faulty, prompts
from a2a_trust.jury.case_types import Judge
from a2a_trust.jury.journal import Journal
from a2a_trust.sources.jury_events import (
    Answered,
    AttemptFailed,
    BallotCast,
    Cited,
    Event,
    FaultCode,
    ItemOpened,
    Limits,
    OutcomeReached,
    PhaseClosed,
    Preset,
    RunOpened,
    Sealed,
    SealOpened,
    Trust,
    WentAbsent,
    canonical,
    sha256,
)

PRESETS: list[Preset] = ["tribunal", "panel", "judges"]
QUICK = Limits(deadline=0.05)


def log_of(folder: Path, preset: Preset, **options: Any) -> list[Event]:  # noqa: ANN401 - fields of the options
    """The events of a run."""
    jury_runs.run(folder, preset, **options)
    return jury_runs.events(folder)


def of(log: list[Event], kind: type[Any]) -> list[Any]:
    """The events of a kind."""
    return [event for event in log if isinstance(event, kind)]


# --- a run ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", PRESETS)
def test_the_same_seed_gives_the_same_bytes_but_for_times_and_the_id(tmp_path: Path, preset: Preset) -> None:
    """And another seed does not."""
    one = jury_runs.told(log_of(tmp_path / "one", preset, seed=3))
    assert one == jury_runs.told(log_of(tmp_path / "two", preset, seed=3))
    assert one != jury_runs.told(log_of(tmp_path / "three", preset, seed=4))


@pytest.mark.parametrize("preset", PRESETS)
def test_every_case_of_the_package_comes_to_an_end_without_a_fault(tmp_path: Path, preset: Preset) -> None:
    """With every quote in its place, and a log that can be walked through again."""
    log = log_of(tmp_path / "run", preset)
    assert not of(log, AttemptFailed)
    assert {cited.status for cited in of(log, Cited)} == {"verified"}
    assert all(opened.holds for opened in of(log, SealOpened))
    ended = engine.replay(tmp_path / "run")
    assert ended is not None
    assert ended.finished
    assert ended.calls == len(of(log, Answered))


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


@pytest.mark.parametrize("preset", PRESETS)
def test_nothing_of_the_others_is_shown_before_every_verdict_is_sealed(tmp_path: Path, preset: Preset) -> None:
    """Per item: all seals, then the first that is opened, then the first message, digest, ballot or outcome."""
    log = log_of(tmp_path / "run", preset, rounds=0 if preset == "judges" else 3)
    for item in of(log, ItemOpened):
        kinds = [type(event).__name__ for event in log if getattr(event, "item", "") == item.item]
        late = ("MessageDelivered", "DigestMade", "BallotCast", "OutcomeReached")
        after = min(kinds.index(kind) for kind in late if kind in kinds)
        assert "Sealed" not in kinds[after:]
    seals = {(seal.item, seal.actor): seal.commitment for seal in of(log, Sealed)}
    for opened in of(log, SealOpened):
        assert sha256(opened.nonce.encode() + b"\n" + bytes(opened.verdict)) == seals[opened.item, opened.actor]


def test_a_seal_cannot_be_guessed_from_its_verdict(tmp_path: Path) -> None:
    """Equal verdicts of two actors, items or runs have different commitments."""
    seals = [
        seal.commitment for seed in (1, 2) for seal in of(log_of(tmp_path / str(seed), "judges", seed=seed), Sealed)
    ]
    assert len(seals) == len(set(seals)) == 80


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


def test_the_truth_of_a_case_stands_in_the_log_with_the_outcome_alone(tmp_path: Path) -> None:
    """The material from which a run can be walked through again has none."""
    log = log_of(tmp_path / "run", "tribunal")
    note = "broken, and that the alarms"
    assert not any(note in canonical(event).decode() for event in log)
    assert "truth" not in of(log, RunOpened)[0].material


# --- faults ---------------------------------------------------------------------------------------------------------

SEATS: dict[Preset, str] = {"tribunal": "bram", "panel": "juror-2", "judges": "careful"}


@pytest.mark.parametrize(("preset", "code"), list(itertools.product(PRESETS, faulty.CODES)))
def test_each_fault_is_told_where_it_happened_and_the_run_is_finished(
    tmp_path: Path, preset: Preset, code: FaultCode
) -> None:
    """One juror that fails is the only one of whom anything is told, and the log can be walked through again."""
    folder = tmp_path / "run"
    seat = SEATS[preset]
    ended = jury_runs.run(folder, preset, faulty={seat: code}, limits=QUICK)
    assert ended.finished
    log = jury_runs.events(folder)
    faults = of(log, AttemptFailed)
    assert {fault.actor for fault in faults} <= {seat}
    shows = {
        "ballot_changed": [cast.actor for cast in of(log, BallotCast) if cast.changed],
        "seal_broken": [opened.actor for opened in of(log, SealOpened) if not opened.holds],
        "absent": [absent.actor for absent in of(log, WentAbsent)],
    }.get(code, [fault.actor for fault in faults if fault.code == code])
    happens = not (code == "ballot_changed" and preset == "judges") and not (
        code == "unknown_target" and preset != "tribunal"
    )
    if code == "unadmitted_citation" and preset != "tribunal":
        happens = False
    assert set(shows) == ({seat} if happens else set())
    replayed = engine.replay(folder)
    assert replayed is not None
    assert canonical(replayed) == canonical(ended)


def test_a_run_with_six_jurors_that_fail_differently_finishes(tmp_path: Path) -> None:
    """Dead, slow, lying about a quote, changing a ballot, opening another verdict and breaking JSON."""
    wrong: dict[str, FaultCode] = {
        "juror-1": "absent", "juror-2": "timeout", "juror-3": "quote_mismatch",
        "juror-4": "ballot_changed", "juror-5": "seal_broken", "juror-6": "malformed",
    }  # fmt: skip
    ended = jury_runs.run(tmp_path / "run", "panel", faulty=wrong, limits=QUICK)
    assert ended.finished
    assert ended.missing
    assert all(place.endswith("/juror-1") for place in ended.missing)
    log = jury_runs.events(tmp_path / "run")
    assert {fault.code for fault in of(log, AttemptFailed)} == {
        "provider_error", "timeout", "quote_mismatch", "malformed",
    }  # fmt: skip
    assert engine.replay(tmp_path / "run") is not None


def test_what_was_sealed_counts_whatever_is_opened_or_voted(tmp_path: Path) -> None:
    """A broken seal and a changed ballot are told, and change no tally."""
    plain = of(log_of(tmp_path / "plain", "tribunal", condition="independent"), OutcomeReached)
    for code in ("seal_broken", "ballot_changed"):
        bent = of(log_of(tmp_path / code, "tribunal", condition="independent", faulty={"bram": code}), OutcomeReached)
        assert [event.tally for event in bent] == [event.tally for event in plain]


def test_a_quote_that_is_wrong_to_the_last_sinks_a_judge_and_not_a_juror(tmp_path: Path) -> None:
    """A juror's verdict counts without its ground; a judge's trace goes to a person."""
    court = log_of(tmp_path / "court", "tribunal", condition="independent", faulty={"bram": "quote_mismatch"})
    assert "bram" in of(court, OutcomeReached)[0].tally or len(of(court, BallotCast)) == 5
    bench = log_of(tmp_path / "bench", "judges", faulty={"careful": "quote_misplaced"})
    assert {outcome.status for outcome in of(bench, OutcomeReached)} == {"review"}
    assert {cited.status for cited in of(bench, Cited) if cited.actor == "careful"} == {"misplaced"}


def test_half_of_all_calls_failing_alike_is_told_as_infrastructure(tmp_path: Path) -> None:
    """Nobody's fault."""
    wrong: dict[str, FaultCode] = {"careful": "absent", "brisk": "absent"}
    ended = jury_runs.run(tmp_path / "run", "judges", faulty=wrong)
    assert ended.infrastructure == {"provider_error": 120}
    assert len(ended.missing) == 40


# --- preparing ------------------------------------------------------------------------------------------------------


def variations() -> list[dict[str, Any]]:
    """Options that each change what is asked, and so the fingerprint."""
    return [
        {},
        {"seed": 8},
        {"rounds": 2},
        {"order": "reverse"},
        {"condition": "mesh"},
        {"rule": "unanimous"},
        {"limits": Limits(max_attempts=5)},
        {"limits": Limits(deadline=1)},
        {"faulty": {"bram": "absent"}},
        {"provider": "reference/other"},
        {"providers": {"judge": "reference/other"}},
        {"trust": Trust(mode="all")},
        {"trust": Trust(mode="lead-only", text="row", sha256=sha256("row"))},
    ]


def test_the_control_fingerprint_covers_whatever_changes_what_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """No two of these runs are the same, and the same run is."""
    found = [jury_runs.opened("tribunal", **options).control for options in variations()]
    monkeypatch.setattr(prompts, "VERSION", 99)
    found.append(jury_runs.opened("tribunal").control)
    monkeypatch.undo()
    monkeypatch.setattr("a2a_trust.__version__", "99")
    found.append(jury_runs.opened("tribunal").control)
    monkeypatch.undo()
    assert len(set(found)) == len(found)
    assert jury_runs.opened("tribunal", run="another").control == found[0]


def test_one_hearing_told_twice_has_one_name_and_a_live_one_is_its_own() -> None:
    """Condition, rounds and trust leave the hearing of fixtures what it is; seed and cast do not."""
    hearing = jury_runs.opened("tribunal").hearing
    same = ({"condition": "mesh"}, {"rounds": 3}, {"trust": Trust(mode="all")})
    assert {jury_runs.opened("tribunal", **options).hearing for options in same} == {hearing}
    other = ({"seed": 8}, {"faulty": {"bram": "absent"}}, {"order": "reverse"})
    assert hearing not in {jury_runs.opened("tribunal", **options).hearing for options in other}
    live = {jury_runs.opened("tribunal", provider="somewhere/model", run=run).hearing for run in ("a", "b")}
    assert len(live) == 2
    assert not any(actor.fixture for actor in jury_runs.opened("tribunal", provider="somewhere/model").cast)


REFUSED: list[tuple[Preset, dict[str, Any], type[Exception], str]] = [
    ("tribunal", {"condition": "digest"}, UsageError, "solo, independent, star, mesh"),
    ("tribunal", {"rounds": 4}, UsageError, "0 to 3"),
    ("tribunal", {"rule": "agreement"}, UsageError, "majority"),
    ("tribunal", {"faulty": {"nobody": "absent"}}, UsageError, "judge, claimant"),
    ("tribunal", {"limits": Limits(max_calls=50)}, CaseError, "64 calls"),
    ("panel", {"limits": Limits(max_calls=83)}, CaseError, "84 calls"),
    ("judges", {"limits": Limits(max_calls=39)}, CaseError, "40 calls"),
    ("judges", {"limits": Limits(max_traces=19)}, CaseError, "20 traces"),
    ("judges", {"rule": "majority"}, UsageError, "agreement"),
    ("judges", {"judges": (Judge(id="a", name="A", persona="x"),)}, UsageError, "at least two"),
    (
        "judges",
        {"judges": (Judge(id="a", name="A", persona="x"), Judge(id="a", name="B", persona="y"))},
        UsageError,
        "same id",
    ),
    (
        "judges",
        {"judges": (Judge(id="a", name="A", persona="x"), Judge(id="b", name="B", persona="x"))},
        UsageError,
        "configured alike",
    ),
]


@pytest.mark.parametrize(("preset", "options", "error", "said"), REFUSED)
def test_what_contradicts_itself_or_asks_for_too_much_is_refused_before_anything_is_written(
    preset: Preset, options: dict[str, Any], error: type[Exception], said: str
) -> None:
    """In one line that says what was expected."""
    with pytest.raises(error) as refused:
        jury_runs.opened(preset, **options)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_run_without_faults_makes_the_calls_that_were_planned(tmp_path: Path, preset: Preset) -> None:
    """Counted before it begins; opening seals comes on top."""
    case = cases.load(jury_runs.CASES[preset], preset)
    first = jury_runs.opened(preset)
    planned = engine.planned_calls(case, first.cast, first.conditions, first.rounds)
    assert planned == len(of(log_of(tmp_path / "run", preset), Answered))


def test_three_judges_must_all_agree(tmp_path: Path) -> None:
    """Two against one goes to a person."""
    judges = tuple(
        Judge(id=f"j{number}", name=f"J{number}", persona="Reads.", parameters={"checks": checks})
        for number, checks in enumerate(("failure", "failure,empty", "hedge"))
    )
    log = log_of(tmp_path / "run", "judges", judges=judges)
    for outcome in of(log, OutcomeReached):
        assert (outcome.status == "agreed") == (3 in outcome.tally.values())
    assert any(set(outcome.tally.values()) == {1, 2} for outcome in of(log, OutcomeReached))


def test_the_judged_agent_is_named_by_its_row_else_by_the_map(tmp_path: Path) -> None:
    """By id first, then by the star."""
    rows: list[dict[str, Any]] = [
        {"trace_id": "a", "input": "x", "output": "y", "agent": {"name": "own"}},
        {"trace_id": "b", "input": "x", "output": "y"},
        {"trace_id": "c", "input": "x", "output": "y"},
    ]
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    names = tmp_path / "agents.json"
    names.write_text('{"a": {"name": "not"}, "b": {"name": "mapped"}, "*": {"name": "rest"}}', encoding="utf-8")
    log = log_of(tmp_path / "run", "judges", source=path, agents=cases.load_agents(names))
    assert [item.judged.name for item in of(log, ItemOpened)] == ["own", "mapped", "rest"]
    assert engine.replay(tmp_path / "run") is not None


def test_an_outcome_that_was_edited_is_found_by_walking_again(tmp_path: Path) -> None:
    """Also by somebody who chains the log anew: what a vote comes to follows from the votes."""
    log = log_of(tmp_path / "run", "tribunal", condition="independent")
    for index, event in enumerate(log):
        if isinstance(event, OutcomeReached):
            log[index] = msgspec.structs.replace(event, outcome="not_liable")
    first = log[0]
    assert isinstance(first, RunOpened)
    forged = Journal.create(tmp_path / "forged", first)
    forged.put_all(log[1:])
    forged.close()
    with pytest.raises(Exception, match="outcome"):
        engine.replay(tmp_path / "forged")
