"""Following jury runs: each log holds the sessions of all who take part, and grows while the run goes on."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import jury_runs
import pytest
from dshlog import frames
from homes import agents_of, differences, rows_of
from jurymade import CAST, JUDGES, Run, actor, ingest
from watching import Hands

from a2a_trust.sources.jury import JurySource
from a2a_trust.sources.jury_events import LOG_NAME, AgentType
from a2a_trust.store import read_ledger
from a2a_trust.store.verify import verify

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("no_waiting")

WORKER = AgentType(name="worker", provider="acme", context="shop")


def follow(tmp_path: Path) -> Hands:
    """A watcher of a folder of runs, mostly empty yet."""
    (tmp_path / "runs").mkdir(exist_ok=True)
    hands = Hands(tmp_path / "home", tmp_path / "runs", sources={"jury": JurySource()})
    hands.cycle()
    return hands


def grow(hands: Hands, path: Path, data: bytes, seed: int) -> None:
    """Write a log frame by frame, now and then torn and repaired, told or not, with watchers killed in between."""
    luck = random.Random(seed)  # noqa: S311 - the moments of a test
    path.parent.mkdir(parents=True, exist_ok=True)
    written = b""
    for piece in frames(data):
        if luck.random() < 0.3:
            path.write_bytes(written + piece[: luck.randint(0, len(piece))])
            hands.cycle(path)
        written += piece
        path.write_bytes(written)
        if luck.random() < 0.7:
            hands.cycle(path, seconds=luck.random())
        if luck.random() < 0.1:
            hands.restart()
            hands.cycle()


def case(run: str = "run-1", **more: object) -> Run:
    """A run of judges over works, with what was said of each."""
    made = Run("judges", JUDGES, run=run, **more)
    for number in range(12):
        made.item(f"t{number}", judged=WORKER)
        for seat in ("strict", "kind"):
            made.vote(seat, "verdict", "accept" if number % 3 else "reject", attempt=1 + number % 2)
        made.quote("kind", "verified" if number % 2 else "mismatch")
    return made


@pytest.mark.parametrize("seed", range(5))
def test_a_run_that_is_followed_gives_what_one_reading_gives(tmp_path: Path, seed: int) -> None:
    """Whatever stood in its log at the moments at which it was read."""
    hands = follow(tmp_path)
    case().write(tmp_path / "once", lines=2)
    data = (tmp_path / "once" / LOG_NAME).read_bytes()
    path = tmp_path / "runs" / "one" / LOG_NAME
    grow(hands, path, data, seed)
    hands.cycle(path)
    hands.watcher.finish()
    ingest(tmp_path / "whole", tmp_path / "once")
    assert len(rows_of(tmp_path / "home")) > 50
    assert differences(agents_of(tmp_path / "home"), agents_of(tmp_path / "whole")) == []
    assert not verify(tmp_path / "home").defects


def test_a_run_of_the_engine_is_followed_by_default(tmp_path: Path) -> None:
    """Where runs are kept if nothing else is said is among the places that are followed."""
    hands = follow(tmp_path)
    source = JurySource()
    jury_runs.run(tmp_path / "runs" / "one", "judges")
    hands.cycle(tmp_path / "runs" / "one")
    assert [place.name for place in source.default_roots({})] == [".a2a-trust-juries"]
    assert source.default_roots({"A2A_TRUST_JURIES": str(tmp_path / "runs")}) == [tmp_path / "runs"]
    # All that take part are test doubles: it was read, and there is nothing to score.
    assert [row.kind for row in rows_of(tmp_path / "home")] == ["policy"]


@pytest.mark.parametrize("before", [False, True], ids=["never scored", "scored before"])
def test_test_doubles_are_never_scored_while_followed(tmp_path: Path, *, before: bool) -> None:
    """Not even where a run of `backfill` scored them; one more such run finds what was left out."""
    cast = [*CAST[:2], actor("ben", fixture=True)]
    run = Run(cast=cast)
    run.item("case", ("accept", "reject"))
    for seat in ("ada", "ben"):
        run.vote(seat, "baseline")
    hands = follow(tmp_path)
    folder = run.write(tmp_path / "runs" / "one", lines=1)
    if before:
        ingest(tmp_path / "home", tmp_path / "runs", fixtures=True)
    for seat in ("ada", "ben"):
        run.vote(seat, "verdict")
    run.write(folder, lines=1)
    hands.cycle(folder / LOG_NAME)
    hands.watcher.finish()
    ben = [row for row in rows_of(tmp_path / "home") if row.subject_name == "Ben"]
    assert bool(ben) is before
    assert {row.evidence.heard.key.split("/")[0] for row in ben if row.evidence.heard} <= {"seat", "answer"}
    ada = next(agent for agent in read_ledger(tmp_path / "home").agents.values() if agent.profile.name == "Ada")
    assert sum(trust.samples for trust in ada.trust.values()) == 4
    ingest(tmp_path / "home", tmp_path / "runs", fixtures=True)
    ingest(tmp_path / "whole", tmp_path / "runs", fixtures=True)
    assert differences(agents_of(tmp_path / "home"), agents_of(tmp_path / "whole")) == []


def test_two_runs_of_one_hearing_count_once_while_followed(tmp_path: Path) -> None:
    """The one that began later is read first; the earlier one's telling takes its place, as in one reading."""
    hands = follow(tmp_path)
    later = case("run-2", hearing="c" * 64, start=1_790_000_900_000).write(tmp_path / "runs" / "later")
    hands.cycle(later)
    earlier = case("run-1", hearing="c" * 64).write(tmp_path / "runs" / "earlier")
    hands.cycle(earlier)
    hands.watcher.finish()
    ingest(tmp_path / "whole", tmp_path / "runs")
    assert differences(agents_of(tmp_path / "home"), agents_of(tmp_path / "whole")) == []
    assert any(row.supersedes for row in rows_of(tmp_path / "home"))
    assert not verify(tmp_path / "home").defects


def test_a_log_is_found_by_its_path_without_a_look_around(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What else lies beside a log, or beside a file that is none, is not walked through for it."""
    path = case().write(tmp_path / "runs" / "one") / LOG_NAME
    other = path.with_name("report.html")
    other.touch()
    hands = follow(tmp_path)
    rows = len(rows_of(tmp_path / "home"))

    def walked(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("a2a_trust.sources.files.walk", walked)
    hands.cycle(path, other)
    assert len(rows_of(tmp_path / "home")) == rows
