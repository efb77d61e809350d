"""Judges of trajectories: agreement decides, everything else goes to a person."""

import json
from pathlib import Path
from typing import Any

import jury_runs
import pytest
from jury_runs import log_of, of

from a2a_trust.jury import cases, engine, judges
from a2a_trust.jury.case_types import Judge
from a2a_trust.sources.jury_events import BallotCast, Cited, FaultCode, ItemOpened, OutcomeReached

EXPECTED = {
    "lighthouse-hours": ("agreed", "accept"),
    "empty-answer": ("agreed", "reject"),
    "invented-quote": ("agreed", "reject"),
    "quote-from-elsewhere": ("agreed", "accept"),
    "instruction-in-output": ("agreed", "reject"),
    "instruction-in-input": ("agreed", "accept"),
    "smooth-but-wrong": ("agreed", "accept"),
    "hedged-but-right": ("review", None),
    "number-from-nowhere": ("review", None),
}


def test_the_data_set_shows_every_kind_of_ending(tmp_path: Path) -> None:
    """Agreement, shared rejection, disagreement, instructions that are data, and accepting what is wrong."""
    outcomes = {event.item: event for event in of(log_of(tmp_path / "run", "judges"), OutcomeReached)}
    assert len(outcomes) == 20
    assert {name: (outcomes[name].status, outcomes[name].outcome) for name in EXPECTED} == EXPECTED
    false_accepts = [e.item for e in outcomes.values() if e.outcome == "accept" and e.label == "reject"]
    assert sorted(false_accepts) == ["quote-from-elsewhere", "smooth-but-wrong"]


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


def test_half_of_all_calls_failing_alike_is_told_as_infrastructure(tmp_path: Path) -> None:
    """Nobody's fault."""
    wrong: dict[str, FaultCode] = {"careful": "absent", "brisk": "absent"}
    ended = jury_runs.run(tmp_path / "run", "judges", faulty=wrong)
    assert ended.infrastructure == {"provider_error": 120}
    assert len(ended.missing) == 40


def test_a_quote_that_is_wrong_to_the_last_sinks_a_judge_and_not_a_juror(tmp_path: Path) -> None:
    """A juror's verdict counts without its ground; a judge's trace goes to a person."""
    court = log_of(tmp_path / "court", "tribunal", condition="independent", faulty={"bram": "quote_mismatch"})
    assert "bram" in of(court, OutcomeReached)[0].tally or len(of(court, BallotCast)) == 5
    bench = log_of(tmp_path / "bench", "judges", faulty={"careful": "quote_misplaced"})
    assert {outcome.status for outcome in of(bench, OutcomeReached)} == {"review"}
    assert {cited.status for cited in of(bench, Cited) if cited.actor == "careful"} == {"misplaced"}


@pytest.mark.parametrize("window", [1, 3, 64])
def test_a_window_changes_nothing_but_the_order_of_the_log(
    tmp_path: Path, window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How many traces are under way is no part of what they come to."""
    monkeypatch.setattr(judges, "WINDOW", window)
    log = log_of(tmp_path / "run", "judges")
    monkeypatch.undo()
    plain = log_of(tmp_path / "plain", "judges")
    assert sorted(jury_runs.told(log)) == sorted(jury_runs.told(plain))


def test_what_waits_in_memory_is_one_window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trace is read when its window begins, not before."""
    lines = [json.dumps({"trace_id": str(n), "input": "x", "output": "It is done."}) + "\n" for n in range(40)]
    path = tmp_path / "data.jsonl"
    path.write_text("".join(lines), encoding="utf-8")
    monkeypatch.setattr(judges, "WINDOW", 8)
    read: list[str] = []
    real = cases.Dataset.traces

    def watched(data: cases.Dataset) -> Any:  # noqa: ANN401 - an iterator
        for trace in real(data):
            read.append(trace.trace_id)
            yield trace

    monkeypatch.setattr(cases.Dataset, "traces", watched)
    ahead: list[int] = []

    def look(call: Any) -> dict[str, Any]:  # noqa: ANN401 - a call
        ahead.append(len(read) - int(call.item))
        cite = {"source": "output", "start": 0, "end": 11, "quote": "It is done."}
        return {"probability": 90, "vote": "accept", "confidence": 1, "reason": "Done.", "citations": [cite]}

    jury_runs.run(tmp_path / "run", "judges", path, providers={"reference": jury_runs.Authored(look)})
    assert len(ahead) == 80
    assert max(ahead) <= 8
