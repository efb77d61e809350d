"""The engine: what a run is prepared from, what it writes, and where each fault lands."""

import itertools
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jury_runs
import msgspec
import pytest
from jury_runs import log_of, of

from a2a_trust.errors import CaseError, JuryLogError, UsageError
from a2a_trust.jury import cases, engine, faulty, prompts
from a2a_trust.jury.case_types import Judge
from a2a_trust.jury.journal import Journal
from a2a_trust.sources.jury_events import (
    Answered,
    AttemptFailed,
    BallotCast,
    Cited,
    FaultCode,
    ItemOpened,
    Limits,
    OutcomeReached,
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
    with pytest.raises(JuryLogError, match="outcome"):
        engine.replay(tmp_path / "forged")


def test_two_processes_that_hash_differently_write_the_same(tmp_path: Path) -> None:
    """No order of a set, and no hash of this process, reaches a log."""
    program = (
        "import sys; from pathlib import Path; import jury_runs; from a2a_trust.sources.jury_events import sha256;"
        "log = jury_runs.log_of(Path(sys.argv[1]), 'tribunal'); print(sha256(b'\\n'.join(jury_runs.told(log))))"
    )
    found = set()
    for seed in ("1", "2"):
        env = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parent)}
        command = [sys.executable, "-c", program, str(tmp_path / seed)]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        found.add(done.stdout)
    assert len(found) == 1
