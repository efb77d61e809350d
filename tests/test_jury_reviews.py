"""The review queue: a view of the logs, and decisions that go into the log first and only once."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import sys
import threading
from typing import TYPE_CHECKING

import pytest
from jurylogs import judges, tribunal

from a2a_trust.errors import ResolutionError, RunFolderError, TrustError
from a2a_trust.jury import reviews
from a2a_trust.jury.journal import read_events
from a2a_trust.jury.reviews import DATABASE, Key, Queue, Review
from a2a_trust.jury.views import NAMES, Views, write_all
from a2a_trust.sources.jury_events import LOG_NAME, Resolved, sha256

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CASE = sha256("case")
WAITS = Key("run-1", CASE, "t3")


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A folder of two runs: one with reviews, one without."""
    root = tmp_path / "juries"
    write_all(judges().write(root / "one"))
    write_all(tribunal().write(root / "two"))
    return root


def database_of_somebody_else(path: Path) -> None:
    """Another program's data, under a name that is ours."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.executescript("CREATE TABLE books (title TEXT); INSERT INTO books VALUES ('Emma'); PRAGMA user_version = 1")


def text_of_somebody_else(path: Path) -> None:
    """No database at all."""
    path.write_text("a list of books\n" * 100)


def waiting(place: Path) -> list[str]:
    """The traces that wait in a place."""
    with Queue(place) as queue:
        return [review.trace for review in queue.reviews()]


def resolve(place: Path, key: Key = WAITS, decision: str = "accept", **more: str) -> Review:
    """Resolve a review as a person would."""
    said = {"line": "", "resolver": "Ann", "note": "the output is right"} | more
    with Queue(place) as queue:
        return queue.resolve(key, said["line"], decision, said["resolver"], said["note"])


def resolutions(folder: Path) -> list[Resolved]:
    """The decisions in a log."""
    return [event for event in read_events(folder) if isinstance(event, Resolved)]


def test_what_went_to_a_person_waits(runs: Path) -> None:
    """Each with its key, its reason and the votes that there are."""
    with Queue(runs) as queue:
        first, second = queue.reviews()
    assert (first.run, first.dataset, first.trace) == WAITS
    assert (first.reason, first.votes) == ("they disagree", {"strict": "accept", "kind": "reject"})
    assert (second.reason, second.votes) == ("a judge is absent", {"strict": "reject"})


def test_a_listing_writes_nothing_where_there_is_nothing(tmp_path: Path) -> None:
    """Neither a folder nor a database comes into being by looking; nor one in the folder of a single run."""
    assert waiting(tmp_path / "nowhere") == []
    assert waiting(tmp_path) == []
    assert list(tmp_path.iterdir()) == []
    run = judges().write(tmp_path / "run")
    assert waiting(run) == ["t3", "t5"]
    assert [path.name for path in run.iterdir()] == [LOG_NAME]


def test_the_database_can_be_deleted(runs: Path) -> None:
    """It is an index: without it, or with an empty file in its place, the same waits."""
    before = waiting(runs)
    assert (runs / DATABASE).exists()
    for content in (None, b""):
        (runs / DATABASE).unlink()
        if content is not None:
            (runs / DATABASE).write_bytes(content)
        assert waiting(runs) == before


@pytest.mark.parametrize("damage", [b"\xff" * 4096, b""])
def test_a_damaged_index_is_made_anew(runs: Path, damage: bytes) -> None:
    """One of ours, as its header says; also one of another version."""
    before = waiting(runs)
    content = (runs / DATABASE).read_bytes()
    (runs / DATABASE).write_bytes(content[:100] + damage)
    assert waiting(runs) == before
    with contextlib.closing(sqlite3.connect(runs / DATABASE)) as db:
        db.execute("PRAGMA user_version = 99")
    assert waiting(runs) == before
    assert (runs / DATABASE).read_bytes() == content


@pytest.mark.parametrize("make", [database_of_somebody_else, text_of_somebody_else])
def test_what_somebody_else_keeps_there_stays(
    runs: Path, make: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    """Not a byte of it changes, the same waits, and it is said that there is no index."""
    before = waiting(runs)
    (runs / DATABASE).unlink()
    make(runs / DATABASE)
    content = (runs / DATABASE).read_bytes()
    assert waiting(runs) == before
    assert resolve(runs).resolution is not None
    assert (runs / DATABASE).read_bytes() == content
    assert "is no index of reviews" in caplog.text


@pytest.mark.skipif(sys.platform in {"win32", "darwin"}, reason="any bytes are a name on Linux alone")
def test_a_folder_whose_name_is_no_text_hides_no_other(runs: Path) -> None:
    """It is named among those that were not read; asked for by itself it is refused."""
    odd = runs / os.fsdecode(b"odd-\x9b")
    shutil.copytree(runs / "one", odd)
    assert waiting(runs) == ["t3", "t5"]
    with Queue(runs) as queue:
        assert queue.unread() == [(odd.name, "its name is no text; rename it")]
    for look in (Queue, Views):
        with pytest.raises(RunFolderError, match="is no text"):
            look(odd)


def test_a_log_that_changed_is_read_again_and_no_other(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stale row is never shown; what did not change costs nothing."""
    assert waiting(runs) == ["t3", "t5"]
    read: list[str] = []
    whole = reviews.reviews_of
    monkeypatch.setattr(reviews, "reviews_of", lambda folder: read.append(folder.name) or whole(folder))
    log = judges()
    log.resolve("t5", "reject")
    log.write(runs / "one")
    assert waiting(runs) == ["t3"]
    assert waiting(runs) == ["t3"]
    assert read == ["one"]
    shutil.rmtree(runs / "one")
    assert waiting(runs) == []


def test_a_decision_goes_into_the_log_and_the_views_follow(runs: Path) -> None:
    """The queue, the result and the numbers say it, and all views are what the log gives."""
    review = resolve(runs)
    assert review.resolution is not None
    assert (review.resolution.decision, review.resolution.resolver) == ("accept", "Ann")
    assert [(event.item, event.decision, event.note) for event in resolutions(runs / "one")] == [
        ("t3", "accept", "the output is right")
    ]
    assert waiting(runs) == ["t5"]
    views = Views(runs / "one")
    assert [views.difference(name) for name in NAMES] == [None] * len(NAMES)
    assert views.summary.reviews.resolved == 1
    assert [(part.confirmed, part.overruled) for part in views.summary.actors] == [(1, 0), (0, 1)]


@pytest.mark.parametrize(
    ("key", "decision", "more", "told"),
    [
        (Key("run-2", CASE, "t3"), "accept", {}, "nothing of that name"),
        (Key("run-1", CASE, "t9"), "accept", {}, "nothing of that name"),
        # Agreed: never a matter for a person here.
        (Key("run-1", CASE, "t1"), "accept", {}, "nothing of that name"),
        (Key("run-1", CASE[:12], "t3"), "accept", {}, "data set"),
        (Key("run-1", "0" * 64, "t3"), "accept", {}, "data set"),
        (WAITS, "maybe", {}, "expected one of accept, reject"),
        (WAITS, "", {}, "expected one of"),
        (WAITS, "accept", {"note": " \n"}, "--note is blank"),
        (WAITS, "accept", {"resolver": "\t"}, "--resolver is blank"),
        (WAITS, "accept", {"note": "x" * 2001}, "2001 characters"),
        (WAITS, "accept", {"note": "a\udc9b"}, "--note 'a.*' is no text"),
        (WAITS, "accept", {"resolver": "\ud800"}, "--resolver .* is no text"),
        (Key("run-1", CASE, "t\udc9b"), "accept", {}, "--trace .* is no text"),
        (WAITS, "accept", {"line": "0123456789ab"}, "another log|made from the outcome 0123456789ab"),
    ],
)
def test_a_decision_that_does_not_fit_is_refused(
    runs: Path, key: Key, decision: str, more: dict[str, str], told: str
) -> None:
    """Unknown, stale or blank: nothing is written, and the reason is told."""
    before = (runs / "one" / LOG_NAME).read_bytes()
    with pytest.raises(ResolutionError, match=told):
        resolve(runs, key, decision, **more)
    assert (runs / "one" / LOG_NAME).read_bytes() == before


def test_a_decision_stands(runs: Path) -> None:
    """Nobody decides twice, not even alike."""
    resolve(runs)
    with pytest.raises(ResolutionError, match="before, as accept by Ann"):
        resolve(runs, decision="reject")
    assert len(resolutions(runs / "one")) == 1


def test_of_many_who_decide_at_once_one_does(runs: Path) -> None:
    """However they race, one decision stands in the log, and the views are those of the last line."""
    told: list[str] = []

    def decide(number: int) -> None:
        try:
            resolve(runs, decision=("accept", "reject")[number % 2], resolver=f"r{number}")
            told.append("done")
        except TrustError as error:
            told.append(type(error).__name__)

    threads = [threading.Thread(target=decide, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told) == ["ResolutionError"] * 3 + ["done"]
    assert len(resolutions(runs / "one")) == 1
    views = Views(runs / "one")
    assert [views.difference(name) for name in NAMES] == [None] * len(NAMES)


def test_the_decision_names_the_outcome_that_was_seen(runs: Path) -> None:
    """The hash of its line, or how it begins."""
    with Queue(runs) as queue:
        seen = queue.find("t3").line
    assert resolve(runs, line=seen[:12]).resolution is not None


def test_a_run_that_stands_twice_is_ambiguous(runs: Path) -> None:
    """A copy of a run's folder has the same keys: the decision must name one of them."""
    shutil.copytree(runs / "one", runs / "copy")
    with pytest.raises(ResolutionError, match="two folders, copy and one"):
        resolve(runs)
    assert resolve(runs / "copy").folder == "copy"
    with Queue(runs) as queue, pytest.raises(ResolutionError, match="in 2 runs"):
        queue.find("t3")


def test_a_log_that_cannot_be_read_is_named(runs: Path) -> None:
    """Damage of one log hides no other, and is told."""
    log = runs / "two" / LOG_NAME
    log.write_bytes(log.read_bytes()[:-9])
    with Queue(runs) as queue:
        ((folder, reason),) = queue.unread()
        assert (folder, bool(reason)) == ("two", True)
        assert [review.trace for review in queue.reviews()] == ["t3", "t5"]


def test_a_run_that_goes_on_has_no_reviews_yet(tmp_path: Path) -> None:
    """What a resumed run may still decide is no matter for a person."""
    log = judges()
    log.events.pop()
    log.write(tmp_path / "run")
    assert waiting(tmp_path) == []


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs a folder that its reader may not write")
def test_a_queue_needs_no_right_to_write(runs: Path) -> None:
    """A folder that may only be read is listed all the same."""
    runs.chmod(0o500)
    try:
        assert waiting(runs) == ["t3", "t5"]
    finally:
        runs.chmod(0o700)
