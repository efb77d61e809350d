"""The fold of a jury's log: items one by one, as each is done, and how each juror stood."""

from __future__ import annotations

import pytest
from jurylogs import Log, actor, judges, opinion, survey, tribunal

from a2a_trust.errors import JuryLogError
from a2a_trust.jury import fold


def test_items_of_a_data_set_are_yielded_as_they_are_done() -> None:
    """After each outcome its item comes, before the next line is read."""
    read = 0

    def lines():  # noqa: ANN202 - lines with their hashes
        nonlocal read
        for line in judges().lines():
            read += 1
            yield line

    items = fold.fold(lines())
    first = next(items)
    assert first.opened.item == "t1"
    assert first.outcome("independent") is not None
    assert read == 7
    assert [item.opened.item for item in items] == ["t2", "t3", "t4", "t5"]


def test_an_item_without_an_outcome_comes_last() -> None:
    """What a kill left open is told as well."""
    log = Log("judges", [actor("a"), actor("b")], traces=2)
    log.item("t1")
    log.item("t2")
    log.outcome("independent", "review", None)
    assert [(item.opened.item, item.number, bool(item.line)) for item in fold.fold(log.lines())] == [
        ("t2", 2, True),
        ("t1", 1, False),
    ]


def test_what_follows_a_verdict_belongs_to_its_item() -> None:
    """The item of a tribunal is not over with its outcome: it is announced."""
    (item,) = fold.fold(tribunal().lines())
    assert item.of(type(item.events[-1]))[-1].step == "announcement"  # type: ignore[attr-defined]


def test_an_event_about_no_item_is_damage() -> None:
    """Nothing is told about an item that was never opened."""
    log = Log("judges", [actor("a")], traces=1)
    log.item("t1")
    del log.events[-1]
    log.answer("a", "verdict", opinion("accept", 80))
    with pytest.raises(JuryLogError, match="not open"):
        list(fold.fold(log.lines()))


def test_a_position_is_kept_until_there_is_another() -> None:
    """Who is never addressed stands where its sealed verdict was; who is moved twice in a round, where it was last."""
    log = tribunal()
    (item,) = fold.fold(log.lines())
    run = survey(log.lines())
    stood = {course.actor.id: course for course in fold.courses(run.opened, item, "star")}
    assert list(stood) == ["ada", "ben", "chief"]
    assert stood["ada"].final is stood["ada"].sealed
    chief = stood["chief"]
    assert [position.probability for _, position in chief.moves] == [40, 60]
    assert chief.after(0) is chief.sealed
    assert chief.after(1) is chief.final


def test_a_run_is_told_by_its_last_end() -> None:
    """A resumed run is open until it ends again; resolutions belong to it."""
    log = judges()
    log.events.pop()
    log.end(finished=False, reason="cut")
    run = survey(log.lines())
    assert (run.finished, run.epochs, run.lines) == (False, 1, len(log.events))
    from a2a_trust.sources.jury_events import RunResumed  # noqa: PLC0415

    log.add(RunResumed(key="resumed/1", time=0, epoch=1))
    assert survey(log.lines()).ended is None
    log.end(epoch=1)
    log.resolve("t3", "accept")
    run = survey(log.lines())
    assert (run.finished, run.epochs, list(run.resolutions)) == (True, 2, ["t3"])
    assert run.time == log.events[-1].time
