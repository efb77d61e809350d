"""A run that is killed at any event and gone on with ends as if nothing had happened, and asks nothing twice."""

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jury_runs
import pytest

from a2a_trust.errors import JuryLogError, RunFolderError
from a2a_trust.jury import cases, engine, faulty, reference
from a2a_trust.jury.check import check
from a2a_trust.jury.journal import Journal
from a2a_trust.jury.providers import Call, ProviderError, Reply
from a2a_trust.sources.jury_events import (
    LOG_NAME,
    Event,
    Preset,
    QuorumMissed,
    RunEnded,
    RunResumed,
    WentAbsent,
)

SMALL: dict[Preset, dict[str, Any]] = {
    "tribunal": {"condition": "star", "faulty": {"yuki": "malformed", "kofi": "absent"}},
    "panel": {"faulty": {"juror-2": "quote_mismatch", "juror-4": "absent"}},
    "judges": {"faulty": {"brisk": "identity_mismatch"}},
}


class KilledError(BaseException):
    """The process is gone."""


class Asked:
    """A provider that counts what it is asked and says what the reference, or its faulty twin, says."""

    blocking = False

    def __init__(self, inner: Any) -> None:  # noqa: ANN401 - a provider
        self._inner = inner
        self.asked: list[tuple[object, ...]] = []

    def answer(self, call: Call) -> Reply:
        """Count and answer."""
        key = (call.item, call.condition, call.step, call.round, call.actor.id, call.attempt, call.prompt.sha256)
        self.asked.append(key)
        reply: Reply = self._inner.answer(call)
        return reply

    def reveal(self, call: Call, sealed: bytes) -> bytes:
        """Count and open."""
        self.asked.append((call.item, "open", call.actor.id))
        opened: bytes = self._inner.reveal(call, sealed)
        return opened


def providers() -> tuple[dict[str, Asked], list[Asked]]:
    """Counting providers."""
    found = {
        reference.NAME: Asked(reference.ReferenceProvider()),
        faulty.NAME: Asked(faulty.FaultyProvider()),
    }
    return found, list(found.values())


def kill_after(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Let the journal write so many times, and the process end then: what belongs together is written at once."""
    real = Journal._append  # noqa: SLF001 - the one place where events are added
    written = 0

    def dying(journal: Journal, events: Sequence[Event]) -> None:
        nonlocal written
        if written >= count:
            raise KilledError
        written += 1
        real(journal, events)

    monkeypatch.setattr(Journal, "_append", dying)


def writes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count, by its length, how often the journal writes."""
    real = Journal._append  # noqa: SLF001 - as above
    found: list[int] = []

    def counting(journal: Journal, events: Sequence[Event]) -> None:
        found.append(len(events))
        real(journal, events)

    monkeypatch.setattr(Journal, "_append", counting)
    return found


def small(tmp_path: Path, preset: Preset) -> tuple[str | Path, dict[str, Any]]:
    """A case that is small enough to be killed at each of its events."""
    if preset == "tribunal":
        return jury_runs.CASES[preset], SMALL[preset]
    if preset == "panel":
        case = cases.load("night-desk", "panel")
        assert isinstance(case, cases.CaseFile)
        content = json.loads(Path(case.path).read_text(encoding="utf-8"))
        path = tmp_path / "small.json"
        few = {"jurors": 4, "variants": content["variants"][:1]}
        path.write_text(json.dumps(content | few), encoding="utf-8")
        return path, SMALL[preset]
    path = tmp_path / "few.jsonl"
    data = cases.load("trajectories", "judges")
    assert isinstance(data, cases.Dataset)
    path.write_bytes(b"".join(data.path.read_bytes().splitlines(keepends=True)[:4]))
    return path, SMALL[preset]


@pytest.mark.parametrize("preset", ["tribunal", "panel", "judges"])
@pytest.mark.usefixtures("no_waiting")
def test_a_kill_at_any_event_changes_nothing(tmp_path: Path, preset: Preset, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log ends the same but for times, and no call whose answer is logged is made again."""
    source, options = small(tmp_path, preset)
    whole, counted = providers()
    with monkeypatch.context() as patch:
        written = writes(patch)
        jury_runs.run(tmp_path / "whole", preset, source, providers=whole, **options)
    expected = jury_runs.told(jury_runs.events(tmp_path / "whole"))
    calls = sum(len(provider.asked) for provider in counted)
    for count in range(1, len(written)):
        folder = tmp_path / str(count)
        asked, counted = providers()
        with monkeypatch.context() as patch:
            kill_after(patch, count)
            with pytest.raises(KilledError):
                jury_runs.run(folder, preset, source, providers=asked, **options)
        engine.replay(folder)
        jury_runs.resume(folder, preset, source, asked)
        assert jury_runs.told(jury_runs.events(folder)) == expected
        # A call is made again only if the kill came between its answer and the log.
        assert sum(len(provider.asked) for provider in counted) <= calls + 1
        assert engine.replay(folder) is not None


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_process_that_is_killed_outright_is_gone_on_with(tmp_path: Path) -> None:
    """Wherever it is: in a call, in the middle of a frame, behind its last event, before its views."""
    data = cases.load("trajectories", "judges")
    assert isinstance(data, cases.Dataset)
    rows = [json.loads(line) for line in data.path.read_bytes().splitlines()]
    many = tmp_path / "many.jsonl"
    many.write_text(
        "".join(json.dumps(row | {"trace_id": f"{row['trace_id']}-{n}"}) + "\n" for n in range(40) for row in rows),
        encoding="utf-8",
    )
    command = [str(Path(sys.executable).parent / "a2a-trust"), "jury", "run", str(many), "-q", "--output-dir"]
    first = ["--faulty", "brisk=malformed", "--trust", "off"]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    whole = tmp_path / "whole"
    code = subprocess.run([*command, str(whole), *first], check=False, **quiet).returncode
    expected, size = jury_runs.told(jury_runs.events(whole)), (whole / LOG_NAME).stat().st_size
    kills = 0
    for number in range(6):
        folder = tmp_path / str(number)
        log = folder / LOG_NAME
        chance = random.Random(number)  # noqa: S311 - where a test kills
        for part in range(1, 5):
            more = ["--resume"] if log.exists() else first
            process = subprocess.Popen([*command, str(folder), *more], **quiet)
            # Every fourth is killed near its end, the others after some part of the log.
            until = size - 1 if part == 4 else size * chance.uniform(part - 0.9, part) / 4
            while process.poll() is None and (not log.exists() or log.stat().st_size < until):
                time.sleep(0.001)
            time.sleep(chance.uniform(0, 0.05))
            process.kill()
            kills += process.wait() == -signal.SIGKILL
        done = subprocess.run([*command, str(folder), "--resume"], check=False, **quiet).returncode
        log_of_it = jury_runs.events(folder)
        assert jury_runs.told(log_of_it) == expected
        assert engine.replay(folder) is not None
        # A run that was killed as it went away, its views written, has nothing left to go on with.
        assert done in {code, RunFolderError.exit_code}
        assert check(folder).holds
    assert kills > 12


def test_a_finished_run_is_not_gone_on_with(tmp_path: Path) -> None:
    """Also where somebody was missing: there is nothing to go on with."""
    jury_runs.run(tmp_path / "run", "tribunal", condition="independent", faulty={"kofi": "absent"})
    with pytest.raises(RunFolderError, match="finished"):
        jury_runs.resume(tmp_path / "run", "tribunal")


def test_another_case_is_not_taken_for_the_one_that_was_begun(tmp_path: Path) -> None:
    """A run goes on with its own case."""
    case = cases.load("cold-store", "tribunal")
    first = engine.prepare(case, engine.RunOptions(preset="tribunal"), jury_runs.NO_TRUST)
    Journal.create(tmp_path / "run", first).close()
    with Journal.resume(tmp_path / "run") as journal, pytest.raises(RunFolderError, match="another case"):
        engine.run(journal, cases.load("night-desk", "panel"), engine.reference_providers())


class Sleepers:
    """Jurors that are not there at first."""

    blocking = False

    def __init__(self, seats: set[str]) -> None:
        self.seats = seats

    def answer(self, call: Call) -> Reply:
        """Answer, if awake."""
        if call.actor.id in self.seats and call.step == "verdict":
            raise ProviderError("asleep")
        return reference.ReferenceProvider().answer(call)

    def reveal(self, call: Call, sealed: bytes) -> bytes:  # noqa: ARG002 - honest
        """Open what was sealed."""
        return sealed


def test_a_missed_quorum_stops_the_run_and_resuming_asks_the_absent_again(tmp_path: Path) -> None:
    """Two of five are away: three is less than two thirds. When they are back, the run goes on from their verdicts."""
    asleep = Sleepers({"kofi", "bram"})
    folder = tmp_path / "run"
    ended = jury_runs.run(folder, "tribunal", providers={reference.NAME: asleep})
    assert not ended.finished
    missed = [event for event in jury_runs.events(folder) if isinstance(event, QuorumMissed)]
    assert [(event.present, event.needed, event.empanelled) for event in missed] == [(3, 4, 5)]
    assert engine.replay(folder) == ended
    asleep.seats = {"kofi"}
    ended = jury_runs.resume(folder, "tribunal", providers={reference.NAME: asleep})
    assert ended.finished
    assert ended.missing == ("cold-store/-/verdict/kofi",)
    assert engine.replay(folder) == ended
    log = jury_runs.events(folder)
    assert sorted(event.epoch for event in log if isinstance(event, WentAbsent)) == [0, 0, 1]
    assert [event.epoch for event in log if isinstance(event, RunResumed)] == [1]
    assert [event.finished for event in log if isinstance(event, RunEnded)] == [False, True]


def test_a_lone_juror_who_is_away_does_not_hold_up_the_panel(tmp_path: Path) -> None:
    """Its own condition waits; the others come to their outcomes, and resuming adds what is missing."""
    asleep = Sleepers({"solo"})
    folder = tmp_path / "run"
    assert not jury_runs.run(folder, "tribunal", providers={reference.NAME: asleep}).finished
    assert outcomes(folder) == ["independent", "star", "mesh"]
    asleep.seats = set()
    assert jury_runs.resume(folder, "tribunal", providers={reference.NAME: asleep}).finished
    assert sorted(outcomes(folder)) == ["independent", "mesh", "solo", "star"]
    assert engine.replay(folder) is not None


def outcomes(folder: Path) -> list[str]:
    """The conditions that came to an outcome, in order."""
    return [str(event.condition) for event in jury_runs.events(folder) if type(event).__name__ == "OutcomeReached"]


def test_an_edited_prompt_wording_is_told_from_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log of another version says so, and is not called damaged."""
    jury_runs.run(tmp_path / "run", "panel")
    monkeypatch.setattr("a2a_trust.jury.prompts.fingerprint", lambda: "0" * 64)
    with pytest.raises(JuryLogError, match="worded otherwise"):
        engine.replay(tmp_path / "run")
