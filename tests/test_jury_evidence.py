"""What happened in a jury run becomes evidence about whoever did it: each rule, and what is nobody's."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from a2a_trust.backfill.anew import judge_anew
from boards import shown
from homes import agents_of, differences, rows_of
from jurymade import CAST, JUDGES, STEP, T0, TEXT, Run, actor, ingest
from typer.testing import CliRunner

from a2a_trust import cli
from a2a_trust.lenses import Lens, fold_by
from a2a_trust.model import Dimension, Profile
from a2a_trust.policy import SEED, STANDARD, quality_of
from a2a_trust.sources import jury_events as je
from a2a_trust.sources.jury_facts import INFRASTRUCTURE
from a2a_trust.store import TrustStore, read_ledger
from a2a_trust.store.verify import verify

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from a2a_trust.model import Row

    Tell = Callable[..., list[Row]]

pytestmark = pytest.mark.usefixtures("no_waiting")

REGISTERED = "member-registered"
WORKER = je.AgentType(name="worker", description="does\n it", provider="acme", context="shop")
FACTS = {"E1": TEXT}


@pytest.fixture
def told(tmp_path: Path) -> Tell:
    """Ingest runs into a home of their own, and give the rows that are about the runs."""

    def tell(*runs: Run, fixtures: bool = False) -> list[Row]:
        for number, run in enumerate(runs):
            run.write(tmp_path / "runs" / str(number))
        ingest(tmp_path / "home", tmp_path / "runs", fixtures=fixtures)
        return [row for row in rows_of(tmp_path / "home") if row.kind not in ("policy", REGISTERED)]

    return tell


def case(**more: Any) -> Run:  # noqa: ANN401 - any field
    """A run of three jurors over one case, nothing said yet."""
    run = Run(**more)
    run.item("case", ("accept", "reject"), texts=FACTS)
    return run


def kinds(rows: list[Row], *, beside: tuple[str, ...] = ("juror-present", "answer-accepted")) -> Counter[Any]:
    """Who gave which kind of evidence how often, but for what every answer gives."""
    return Counter((row.subject_name, row.kind) for row in rows if row.kind not in beside)


# ------------------------------------------------------------------ who


def test_a_juror_is_known_by_what_makes_it_one(told: Tell) -> None:
    """Name, persona without its line ends, provider and model, the context `jury`; never the seat."""
    run = case(title="The ferry")
    run.vote("ada", "baseline")
    (row, _) = told(run)
    expected = Profile(name="Ada", description="ada asks twice", provider="acme/m-1", context="jury")
    assert (row.subject, row.evidence.role) == (expected.fingerprint, "teammate")
    assert (row.evidence.model, row.project, row.evidence.source) == ("m-1", "The ferry", "jury")
    assert (row.session, row.team_id) == ("jury/run-1/ada", "jury/run-1")


def test_all_who_are_asked_are_scored(told: Tell, tmp_path: Path) -> None:
    """The judge, parties and witnesses too; a seat that was never asked is no agent."""
    cast = [*CAST, actor("judge", "judge"), actor("left", "party"), actor("guard", "witness"), actor("spare")]
    run = case(cast=cast)
    for seat in ("left", "guard"):
        run.answer(seat, "statement", {"statement": "so it was"})
    run.answer("judge", "announcement", {"outcome": "accept", "text": "so be it"}, "star")
    told(run)
    agents = read_ledger(tmp_path / "home").agents.values()
    assert {agent.profile.name: agent.stats.sessions for agent in agents} == {"Judge": 1, "Left": 1, "Guard": 1}
    assert {agent.profile.model for agent in agents} == {"m-1"}


@pytest.mark.parametrize(
    ("lens", "keys"),
    [(Lens.MODEL, {"m-1"}), (Lens.PROJECT, {"The ferry"}), (Lens.SOURCE, {"jury"}), (Lens.TOOL, set())],
)
def test_every_lens_has_its_key(told: Tell, lens: Lens, keys: set[str]) -> None:
    """By model, project and source a run adds up; of tools it knows nothing."""
    run = case(title="The ferry")
    run.vote("ada", "baseline")
    run.vote("ben", "baseline")
    assert set(fold_by(lens, told(run), STANDARD)) == keys


# ------------------------------------------------------------------ answers


@pytest.mark.parametrize(("attempt", "expected"), [(1, ["answer-accepted", "juror-present"]), (2, ["juror-present"])])
def test_an_answer_shows_presence_and_at_once_competence(told: Tell, attempt: int, expected: list[str]) -> None:
    """Whoever needed the validator's words was there, and got it right only then."""
    run = case()
    run.vote("ada", "verdict", attempt=attempt)
    assert sorted(row.kind for row in told(run)) == expected


@pytest.mark.parametrize(
    ("code", "kind", "dim"),
    [
        ("timeout", "juror-absent", Dimension.RELIABILITY),
        ("provider_error", "juror-absent", Dimension.RELIABILITY),
        ("absent", "juror-absent", Dimension.RELIABILITY),
        ("malformed", "answer-abandoned", Dimension.COMPETENCE),
        ("missing_field", "answer-abandoned", Dimension.COMPETENCE),
        ("unknown_target", "answer-abandoned", Dimension.COMPETENCE),
        ("unadmitted_citation", "answer-abandoned", Dimension.COMPETENCE),
        ("quote_misplaced", "answer-abandoned", Dimension.COMPETENCE),
        ("quote_mismatch", "answer-abandoned", Dimension.COMPETENCE),
        ("identity_mismatch", "answer-abandoned", Dimension.COMPETENCE),
    ],
)
def test_an_answer_that_never_came(told: Tell, code: je.FaultCode, kind: str, dim: Dimension) -> None:
    """Who did not answer was not there; who answered wrongly to the end did not manage."""
    run = case()
    run.absent("ada", "verdict", code)
    run.end()
    (row,) = told(run)
    assert (row.kind, row.dim, row.evidence.reason) == (kind, dim, code)


def test_an_absence_waits_for_the_end_of_its_run(told: Tell) -> None:
    """Before that it is not known whether anybody was to blame; a run that goes on tells it at its own end."""
    run = case()
    run.absent("ada", "verdict")
    assert told(run) == []
    run.add(je.RunResumed(key="resumed/1", time=0, epoch=1))
    run.vote("ada", "verdict")
    assert kinds(told(run)) == {}
    run.end(epoch=1)
    (row,) = [row for row in told(run) if row.kind == "juror-absent"]
    assert row.time == T0 + 2 * STEP


def test_a_fault_that_struck_the_run_is_nobodys(told: Tell, tmp_path: Path) -> None:
    """It becomes one observation of the run; what else went wrong stays with whoever did it."""
    run = case()
    for seat in ("ada", "ben"):
        run.absent(seat, "verdict")
    run.fault("chief", "verdict", "identity_mismatch")
    run.absent("chief", "verdict", "malformed")
    run.end(infrastructure={"timeout": 6, "identity_mismatch": 5}, calls=9)
    rows = told(run)
    assert kinds(rows) == {("Chief", "answer-abandoned"): 1, (None, INFRASTRUCTURE): 1}
    (row,) = [row for row in rows if row.kind == INFRASTRUCTURE]
    assert (row.subject, row.dim, row.session) == (None, None, "jury/run-1")
    assert row.evidence.reason == "identity_mismatch 5 of 9, timeout 6 of 9"
    assert [agent.profile.name for agent in read_ledger(tmp_path / "home").agents.values()] == ["Chief"]
    assert verify(tmp_path / "home").exit_code == 0
    again = ingest(tmp_path / "again", tmp_path / "runs")
    assert again.skipped == {"infrastructure": 3}
    assert again.sessions == {"teammate": 1}


# ------------------------------------------------------------------ integrity


@pytest.mark.parametrize(
    ("status", "quality"), [("verified", 1.0), ("misplaced", 0.25), ("mismatch", 0.0), ("unadmitted", None)]
)
def test_a_citation_is_worth_what_its_check_found(told: Tell, status: je.CitationStatus, quality: float | None) -> None:
    """An identifier that was never admitted is observed and moves no score."""
    run = case()
    run.quote("ada", status)
    (row,) = told(run)
    assert (row.kind, row.quality) == (f"citation-{status}", quality)
    assert quality_of(STANDARD, row, supported=True) == quality
    assert quality_of(SEED, row, supported=True) is None


def test_a_citation_can_be_checked_again(told: Tell) -> None:
    """Its row says which text was cited, where, and the hashes of text and quote; words are not kept."""
    run = case()
    run.quote("ada", "verified")
    (row,) = told(run)
    heard = row.evidence.heard
    assert heard is not None
    assert (heard.run, heard.key) == ("run-1", run.events[-1].key)
    assert (heard.source, heard.start, heard.end) == ("E1", 4, 17)
    assert heard.text == je.sha256(TEXT)
    assert heard.quote == je.sha256(TEXT[4:17])


@pytest.mark.parametrize(
    ("quote", "counts"), [("x" * 12, True), ("x" * 11, False), (" " * 40, False), ("  x" * 4, False)]
)
def test_a_quote_must_be_long_enough_to_say_something(told: Tell, quote: str, *, counts: bool) -> None:
    """Twelve characters, white space around them aside: a lone space stands in every text."""
    run = case()
    run.quote("ada", "verified", f" {quote} ")
    assert bool(told(run)) is counts


def test_an_answer_gives_at_most_one_citation_of_each_status(told: Tell) -> None:
    """Over all its attempts, too; another answer gives its own."""
    run = case()
    for attempt in (1, 2):
        for number in range(4):
            run.quote("ada", ("verified", "mismatch")[number % 2], attempt=attempt, number=number)
    run.quote("ben", "verified")
    rows = told(run)
    assert kinds(rows) == {
        ("Ada", "citation-verified"): 1,
        ("Ada", "citation-mismatch"): 1,
        ("Ben", "citation-verified"): 1,
    }
    assert {row.evidence.heard.key.rpartition("/")[2] for row in rows if row.evidence.heard} == {"0", "1"}


def test_a_broken_seal_and_a_changed_ballot_are_told(told: Tell) -> None:
    """Those that hold give nothing: keeping one's word is no feat."""
    run = case()
    for seat in ("ada", "ben"):
        run.vote(seat, "verdict")
        run.seal(seat, holds=seat == "ben")
        run.ballot(seat, "accept", "star", "reject" if seat == "ben" else None)
    assert kinds(told(run)) == {("Ada", "seal-broken"): 1, ("Ben", "ballot-changed"): 1}


def test_a_claimed_identity_counts_once_for_each_answer(told: Tell) -> None:
    """However often it is claimed."""
    run = case()
    for attempt in (1, 2, 3):
        run.fault("ada", "verdict", "identity_mismatch", attempt)
    run.absent("ada", "verdict", "identity_mismatch")
    run.end()
    assert kinds(told(run)) == {("Ada", "identity-mismatch"): 1, ("Ada", "answer-abandoned"): 1}


# ------------------------------------------------------------------ communication


@pytest.mark.parametrize(("ms", "quality"), [(40, 1.0), (61_000, 0.5), (601_000, 0.0)])
def test_a_message_and_its_answer(told: Tell, ms: int, quality: float) -> None:
    """The sender sent it; the target took as long as its own answer took, whatever others did in between."""
    run = case()
    run.message("ada", "chief", "look", "star")
    run.vote("ben", "verdict")
    run.vote("chief", "position", condition="star", number=1, ms=ms)
    run.vote("chief", "position", condition="star", number=2, ms=ms)
    rows = [row for row in told(run) if row.dim is Dimension.COMMUNICATION]
    assert [(row.subject_name, row.kind, row.quality) for row in rows] == [
        ("Ada", "message-sent", 0.7),
        ("Chief", "response-latency", quality),
    ]
    assert rows[1].evidence.message == rows[0].evidence.message


def test_a_message_that_was_not_answered_waits_for_nobody(told: Tell) -> None:
    """The next answer is that to the next message."""
    run = case()
    run.message("ada", "chief", "look", "star")
    run.absent("chief", "position")
    run.events[-1].condition = "star"
    run.message("ben", "chief", "look there", "star")
    run.vote("chief", "position", condition="star", number=2)
    (row,) = [row for row in told(run) if row.kind == "response-latency"]
    assert row.evidence.message == "message/case/star/1/ben"


def test_agreeing_and_changing_ones_mind_is_no_evidence(told: Tell) -> None:
    """Two runs that differ in nothing but the votes give the same."""

    def deliberate(*votes: str) -> Run:
        run = case()
        for seat, vote in zip(("ada", "ben", "chief"), votes, strict=True):
            run.vote(seat, "baseline", "accept")
            run.vote(seat, "verdict", vote)
            run.ballot(seat, vote, "star")
        run.outcome("star", "decided", "accept", label="reject")
        return run

    same = [(row.id, row.kind) for row in told(deliberate("accept", "accept", "accept"))]
    assert [(row.id, row.kind) for row in told(deliberate("accept", "reject", "accept"))] == same


# ------------------------------------------------------------------ judges, and whom they judge


def judged(*votes: tuple[str, str | None], start: int = T0, **more: Any) -> Run:  # noqa: ANN401 - any field
    """Two judges over traces of one worker."""
    run = Run("judges", more.pop("cast", JUDGES), start=start, rule=je.Rule(kind="agreement"), rounds=0, **more)
    for number, pair in enumerate(votes, start=1):
        run.item(f"t{number}", judged=WORKER)
        for seat, vote in zip(("strict", "kind"), pair, strict=True):
            if vote is None:
                run.absent(seat, "verdict", "malformed")
            else:
                run.vote(seat, "verdict", vote)
        agreed = pair[0] == pair[1]
        run.outcome("independent", "agreed" if agreed else "review", pair[0] if agreed else None)
    run.end()
    return run


def test_what_judges_agree_on_is_evidence_about_whose_work_it_was(told: Tell, tmp_path: Path) -> None:
    """Accepted is the best, rejected the worst; a disagreement says nothing of anybody."""
    rows = told(judged(("accept", "accept"), ("reject", "reject"), ("accept", "reject")))
    found = [row for row in rows if row.kind == "judged"]
    profile = Profile(name="worker", description="does it", provider="acme", context="shop")
    assert [(row.subject, row.dim, row.quality) for row in found] == [
        (profile.fingerprint, Dimension.COMPETENCE, 1.0),
        (profile.fingerprint, Dimension.COMPETENCE, 0.0),
    ]
    assert {row.evidence.model for row in found} == {None}
    assert read_ledger(tmp_path / "home").agents[profile.fingerprint].profile == profile
    assert kinds(rows) == {("worker", "judged"): 2}


def test_a_persons_decision_is_read_when_it_comes(told: Tell) -> None:
    """Each judge with a valid verdict is upheld or overruled, and the work is judged: once."""
    run = judged(("accept", "reject"), ("accept", None))
    told(run)
    run.resolve("t1", "reject")
    run.resolve("t2", "accept")
    run.resolve("t2", "reject")
    rows = [row for row in told(run) if row.time >= T0 + 10 * STEP]
    assert [(row.subject_name, row.kind) for row in sorted(rows, key=lambda row: (row.time, row.subject_name))] == [
        ("Kind", "verdict-confirmed"),
        ("Strict", "verdict-overruled"),
        ("worker", "judged"),
        ("Strict", "verdict-confirmed"),
        ("worker", "judged"),
    ]
    assert [row.evidence.rating for row in rows if row.kind == "judged"] == [1, 5]


def test_nothing_is_upheld_that_did_not_go_to_a_person(told: Tell) -> None:
    """A decision on an item on which the judges agreed, or that nobody knows, changes nothing."""
    run = judged(("accept", "accept"))
    before = told(run)
    run.resolve("t1", "reject")
    run.resolve("t9", "reject")
    assert told(run) == before


def test_a_worker_that_is_not_named_is_not_judged(told: Tell) -> None:
    """The judges are upheld all the same."""
    run = Run("judges", JUDGES)
    run.item("t1")
    for seat, vote in (("strict", "accept"), ("kind", "reject")):
        run.vote(seat, "verdict", vote)
    run.outcome("independent", "review", None)
    run.resolve("t1", "accept")
    assert kinds(told(run)) == {("Strict", "verdict-confirmed"): 1, ("Kind", "verdict-overruled"): 1}


# ------------------------------------------------------------------ shown


def test_every_view_says_what_juries_saw(told: Tell, tmp_path: Path) -> None:
    """Counts by kind on the pages of an agent; behind each number what was cited, where, and the line of the log."""
    run = case()
    run.quote("ada", "mismatch")
    run.vote("ada", "verdict", attempt=2)
    run.vote("ada", "position", condition="star", number=1)
    told(run)

    def said(*words: str) -> str:
        done = CliRunner().invoke(cli.app, [*words, "--home", str(tmp_path / "home")], env={"COLUMNS": "160"})
        assert done.exit_code == 0, done.output
        return done.output

    counts = "answer-accepted 1, citation-mismatch 1, juror-present 2"
    assert f"juries {counts}" in said("show", "Ada")
    said("report", "--output", str(tmp_path / "report.html"))
    assert f"<dt>juries</dt><dd>{counts}</dd>" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert any(counts in line for line in shown(tmp_path / "home", "enter", "end", size=(120, 40)))
    steps = json.loads(said("explain", "Ada", "integrity", "--json"))["dimensions"][0]["steps"]
    assert [(step["why"], step["line"]) for step in steps] == [("E1 4–17 in case verdict ada", 3)]


# ------------------------------------------------------------------ once


def told_hearing(condition: je.Condition, *, start: int, run: str, **more: Any) -> Run:  # noqa: ANN401 - any field
    """A hearing that several runs can tell, and one condition of it."""
    told = case(hearing=je.sha256("one hearing"), start=start, run=run, conditions=(condition,), **more)
    for seat in ("ada", "ben", "chief"):
        told.vote(seat, "baseline")
        told.quote(seat, "verified")
        told.vote(seat, "verdict")
    told.message("ada", "chief", "look", condition)
    told.vote("chief", "position", condition=condition, number=1)
    told.ballot("ada", "accept", condition, "reject")
    return told


def test_several_conditions_count_their_hearing_once(told: Tell) -> None:
    """Told in two runs, the record, baselines and verdicts are one; what each condition adds is its own."""
    rows = told(told_hearing("star", start=T0, run="a"), told_hearing("mesh", start=T0 + 10**6, run="b"))
    shared = [row for row in rows if "/-/" in row.id]
    assert len(shared) == 3 * (2 + 1 + 2)
    assert {row.time < T0 + 10**6 for row in shared} == {True}
    added = Counter(row.kind for row in rows if row not in shared)
    each = dict.fromkeys(("message-sent", "response-latency", "ballot-changed"), 2)
    assert added == each | {"juror-present": 4, "answer-accepted": 4}


def test_a_run_in_another_folder_is_the_same_run(told: Tell) -> None:
    """However often it is copied."""
    run = told_hearing("star", start=T0, run="a")
    assert len(told(run, run, run)) == len(told(run))


def test_asking_live_jurors_again_is_new_evidence(told: Tell) -> None:
    """A run of its own is a hearing of its own, as its log says."""
    first, second = (case(run=name) for name in ("a", "b"))
    for run in (first, second):
        run.vote("ada", "verdict")
    assert kinds(told(first, second), beside=()) == {("Ada", "juror-present"): 2, ("Ada", "answer-accepted"): 2}


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_a_hearing_counts_at_its_earliest_time_whichever_run_is_read_first(
    tmp_path: Path, order: tuple[int, ...]
) -> None:
    """Whichever run is read first the agents are the same, byte for byte, and reading again adds nothing."""
    for number, condition in enumerate(("star", "mesh", "star")):
        told_hearing(condition, start=T0 + number * 10**6, run=str(number)).write(tmp_path / "runs" / str(number))  # type: ignore[arg-type]
    ingest(tmp_path / "whole", tmp_path / "runs")
    for number in order:
        ingest(tmp_path / "home", tmp_path / "runs" / str(number))
    assert differences(agents_of(tmp_path / "home"), agents_of(tmp_path / "whole")) == []
    (tmp_path / "home/cache.sqlite").unlink()
    again = ingest(tmp_path / "home", tmp_path / "runs")
    assert (again.evidence, again.observations) == (0, 0)
    assert differences(agents_of(tmp_path / "home"), agents_of(tmp_path / "whole")) == []
    with TrustStore(tmp_path / "home") as store:
        assert judge_anew(store) == []
        store.rebuild()
    assert differences(agents_of(tmp_path / "home"), agents_of(tmp_path / "whole")) == []


# ------------------------------------------------------------------ test doubles


def test_test_doubles_count_only_where_that_is_asked_for(tmp_path: Path) -> None:
    """They are counted as skipped; asked for later they are all there, once, and nothing else changes."""
    run = case(cast=[actor("ada", fixture=True), actor("ben"), actor("chief", "foreperson")])
    for seat in ("ada", "ben"):
        run.vote(seat, "verdict")
    run.write(tmp_path / "runs")
    without = ingest(tmp_path / "home", tmp_path / "runs")
    assert (without.skipped, without.sessions) == ({"fixture": 1}, {"teammate": 1})
    run.vote("ada", "position", condition="star", number=1)
    run.write(tmp_path / "runs")
    ingest(tmp_path / "home", tmp_path / "runs")
    assert {row.subject_name for row in rows_of(tmp_path / "home")} == {None, "Ben"}
    late = ingest(tmp_path / "home", tmp_path / "runs", fixtures=True)
    assert (late.evidence, late.observations) == (4, 1)
    ingest(tmp_path / "whole", tmp_path / "runs", fixtures=True)
    assert differences(agents_of(tmp_path / "home"), agents_of(tmp_path / "whole")) == []
    for fixtures in (True, False, True):
        again = ingest(tmp_path / "home", tmp_path / "runs", fixtures=fixtures)
        assert (again.evidence, again.observations, again.bytes_read) == (0, 0, 0)


def test_switching_test_doubles_on_and_off_loses_nothing(tmp_path: Path) -> None:
    """A log that grew while they were off is whole as soon as they are on."""
    run = case(cast=[actor("ada", fixture=True), actor("ben")])
    for number, fixtures in enumerate((True, False, False, True, False, True), start=1):
        for seat in ("ada", "ben"):
            run.vote(seat, "position", condition="star", number=number)
        run.write(tmp_path / "runs")
        ingest(tmp_path / "home", tmp_path / "runs", fixtures=fixtures)
    ingest(tmp_path / "whole", tmp_path / "runs", fixtures=True)
    assert differences(agents_of(tmp_path / "home"), agents_of(tmp_path / "whole")) == []


def test_what_test_doubles_judge_is_no_judgement(told: Tell) -> None:
    """Neither their agreement nor a decision over their verdicts speaks of the worker."""
    run = judged(("accept", "accept"), ("accept", "reject"), cast=[JUDGES[0], actor("kind", fixture=True)])
    run.resolve("t2", "accept")
    assert kinds(told(run)) == {("Strict", "verdict-confirmed"): 1}
    assert kinds(told(run, fixtures=True))["worker", "judged"] == 2
