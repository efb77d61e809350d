"""`result.json`, `summary.json` and the log: strict JSON of published schemas, written a piece at a time."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jurylogs import Log as Made
from jurylogs import judges, opinion, survey, tribunal

from a2a_trust.jury import result, summary
from a2a_trust.jury.fold import fold
from a2a_trust.sources import jury_events

JURY = Path(__file__).resolve().parent.parent / "a2a_trust" / "jury"
SCHEMAS = {
    "event-v1.schema.json": jury_events.schema,
    "result-v1.schema.json": result.schema,
    "summary-v1.schema.json": summary.schema,
}


def text_of(log: Made) -> bytes:
    """The result of a log."""
    return b"".join(result.chunks(survey(log.lines()), fold(log.lines())))


def refuse(constant: str) -> None:
    """Fail for what JSON does not know."""
    raise AssertionError(constant)


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_schema_that_ships_is_that_of_the_types(name: str) -> None:
    """The file beside the engine says what its structs say; a change of one is a change of the other."""
    assert json.loads((JURY / name).read_text(encoding="utf-8")) == json.loads(json.dumps(SCHEMAS[name]()))


@pytest.mark.parametrize("make", [tribunal, judges])
def test_a_result_is_strict_json_of_its_type(make: Any) -> None:  # noqa: ANN401 - a function of no arguments
    """No NaN, no key twice, no key unknown; and it says what the log says."""
    log = make()
    text = text_of(log)
    found = msgspec.json.decode(text, type=result.Result)
    pairs = json.loads(text, parse_constant=refuse, object_pairs_hook=lambda one: one)
    assert [key for key, _ in pairs] == list(result.Result.__struct_fields__)
    lines = list(log.lines())
    assert (found.log.lines, found.log.head) == (len(lines), lines[-1][0])
    assert found.cast == tuple(log.events[0].cast)  # type: ignore[attr-defined]
    assert found.run.finished


def test_a_tribunal_is_told_in_full() -> None:
    """Record, positions, seals, ballots, what was cited and what went wrong: each names its event."""
    (item,) = msgspec.json.decode(text_of(tribunal()), type=result.Result).items
    assert [part.content["statement"] for part in item.record] == ["It was locked.\nSee E1."]
    assert [(seal.actor, seal.holds) for seal in item.seals] == [("ada", True), ("ben", False), ("chief", True)]
    (star,) = item.conditions
    assert (star.status, star.outcome, star.tally["guilty"], star.label) == ("decided", "guilty", 3, "guilty")
    assert [(one.actor, one.content["target"]) for one in star.addresses] == [("ada", "chief"), ("ben", "chief")]
    assert [one.content["probability"] for one in star.positions] == [40, 60]
    assert [ballot.actor for ballot in star.ballots if ballot.changed] == ["ben"]
    assert star.announcement is not None
    assert [one.status for one in item.citations] == ["verified", "mismatch"]
    keys = {event.key for event in tribunal().events}
    named = [*item.record, *item.baseline, *item.sealed, *star.addresses, *star.positions, star.announcement]
    assert {part.answer for part in named} <= keys
    assert item.texts["E1"].characters == 27


def test_texts_stay_in_the_log() -> None:
    """A result may be passed on: it holds what was quoted, and hashes of the texts."""
    assert b"the door was locked at nine" not in text_of(tribunal())


def test_an_item_of_a_data_set_is_a_line() -> None:
    """A large result can be read line by line, as it is written."""
    lines = text_of(judges()).splitlines()
    held = [line.rstrip(b",") for line in lines if line.startswith(b'{"item"')]
    assert [json.loads(line)["item"] for line in held] == ["t1", "t2", "t3", "t4", "t5"]


def test_a_resolution_stands_with_its_item() -> None:
    """What a person decided, beside what the judges said."""
    log = judges()
    log.resolve("t3", "accept")
    items = {item.item: item for item in msgspec.json.decode(text_of(log), type=result.Result).items}
    assert items["t3"].resolution is not None
    assert items["t3"].resolution.decision == "accept"
    assert items["t5"].resolution is None
    hashes = [found for found, event in log.lines() if isinstance(event, jury_events.OutcomeReached)]
    assert [item.line for item in items.values()] == hashes


def test_an_unfinished_run_says_so() -> None:
    """A run that was cut short has a result: open items, and no end."""
    log = judges([("accept", "accept", None)])
    log.events = log.events[:-2]
    found = msgspec.json.decode(text_of(log), type=result.Result)
    assert (found.run.finished, found.run.ended, found.run.calls) == (False, None, None)
    assert found.items[0].conditions[0].status == "open"


def test_memory_does_not_grow_with_the_data_set() -> None:
    """Writing ten times as many items needs no more memory than ten times as many numbers."""

    def peak(count: int) -> int:
        log = judges([("accept", "accept", "accept")] * count)
        for event in log.events:
            if isinstance(event, jury_events.Answered):
                event.content = msgspec.Raw(jury_events.canonical(opinion("accept", 80, reason="r" * 600)))
        tracemalloc.start()
        run, _ = summary.summarise(log.lines())
        for _ in result.chunks(run, fold(log.lines())):
            pass
        _, found = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return found

    peak(10)
    small, large = peak(50), peak(500)
    assert large < small + 450 * 400, "each item more is to cost a few numbers, not its answers"
