"""The loop closes: what jurors did becomes trust, and the next run is given it as it was frozen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from homes import rows_of
from jury_runs import events as events_of
from jurymade import hear, ingest
from typer.testing import CliRunner

from a2a_trust import cli
from a2a_trust.advice import DISCLAIMER, for_lead
from a2a_trust.jury import engine
from a2a_trust.jury.journal import append
from a2a_trust.model import DIMENSIONS
from a2a_trust.signals import TrustSignals
from a2a_trust.sources import jury_events as je
from a2a_trust.sources.jury_facts import profile_of
from a2a_trust.store import read_ledger

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from a2a_trust.jury.providers import Call, Provider, Providers, Reply
    from a2a_trust.model import AgentRecord

pytestmark = pytest.mark.usefixtures("no_waiting")


class Listening:
    """Passes calls on to the reference, and keeps what each seat was told."""

    def __init__(self, provider: Provider) -> None:
        self.blocking = provider.blocking
        self.told: list[tuple[je.Actor, str]] = []
        self._provider = provider

    def answer(self, call: Call) -> Reply:
        """Answer as the reference does."""
        self.told.append((call.actor, f"{call.prompt.system}\n{call.prompt.user}"))
        return self._provider.answer(call)

    def reveal(self, call: Call, sealed: bytes) -> bytes:
        """Open as the reference does."""
        return self._provider.reveal(call, sealed)


def listening() -> tuple[Providers, Listening]:
    """The reference providers, the first of them listened to."""
    found = dict(engine.reference_providers())
    name = next(iter(found))
    listener = Listening(found[name])
    return found | {name: listener}, listener


def state_of(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Everything below a folder: when it changed last, and its bytes."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in [folder, *sorted(folder.rglob("*"))]
    }


def records_of(home: Path, cast: Sequence[je.Actor]) -> list[AgentRecord]:
    """What a ledger says of each seat."""
    agents = read_ledger(home).agents
    return [agents[profile_of(actor).fingerprint] for actor in cast]


def cast_of(folder: Path) -> list[je.Actor]:
    """Who took part in a run."""
    opened = events_of(folder)[0]
    assert isinstance(opened, je.RunOpened)
    return opened.cast


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home that three hearings were read into, one of them with a juror who invents quotes."""
    for seed in (1, 2):
        hear(tmp_path / "runs" / str(seed), "tribunal", seed=seed)
    hear(tmp_path / "runs/liar", "tribunal", seed=3, faulty={"bram": "quote_mismatch"})
    command = ["backfill", str(tmp_path / "runs"), "--home", str(tmp_path / "home"), "--include-fixtures"]
    done = CliRunner().invoke(cli.app, command)
    assert done.exit_code == 0, done.output
    return tmp_path / "home"


def test_jurors_have_trust_in_all_four_dimensions(tmp_path: Path, home: Path) -> None:
    """All of it from what their runs show; the integrity of one who invents quotes is low."""
    jurors = [actor for actor in cast_of(tmp_path / "runs/1") if actor.part in ("juror", "foreperson")]
    together = [actor for actor in jurors if actor.id != "solo"]
    assert len(together) == 5
    for record in records_of(home, together):
        assert all(record.trust[dim].samples > 0 for dim in DIMENSIONS), record.profile.name
        assert record.trust[DIMENSIONS[3]].value > 0.6
    (liar,) = [actor for actor in cast_of(tmp_path / "runs/liar") if actor.id == "bram"]
    (record,) = records_of(home, [liar])
    assert record.trust[DIMENSIONS[3]].value < 0.5
    assert record.stats.jury["citation-mismatch"] >= 2


def test_the_next_foreperson_sees_just_the_frozen_text(tmp_path: Path, home: Path) -> None:
    """Byte for byte, and nobody else sees any of it; the ledger is as it was, down to its times."""
    before = state_of(home)
    providers, listener = listening()
    hear(tmp_path / "next", "tribunal", home=home, seed=4, providers=providers)
    assert state_of(home) == before
    opened = events_of(tmp_path / "next")[0]
    assert isinstance(opened, je.RunOpened)
    fingerprints = {profile_of(actor).fingerprint for actor in opened.cast}
    signals = TrustSignals(home)
    text = for_lead([signal for signal in signals.agents() if signal.key in fingerprints]).text
    assert (opened.trust.text, opened.trust.sha256) == (text, je.sha256(text))
    named = signals.provenance
    assert (opened.trust.rows, opened.trust.head, opened.trust.policy) == (named.rows, named.head, named.policy)
    assert "integrity" in text
    seen = [(actor.part, text in told) for actor, told in listener.told]
    assert ("foreperson", True) in seen
    assert {part for part, sees in seen if sees} == {"foreperson"}


@pytest.mark.parametrize(
    ("preset", "mode", "who"),
    [
        ("tribunal", "off", set()),
        ("tribunal", "lead-only", {"foreperson"}),
        ("tribunal", "all", {"foreperson", "juror"}),
        ("panel", "all", set()),
        ("judges", "all", set()),
    ],
)
def test_who_sees_the_signal_is_what_the_mode_says(
    tmp_path: Path, preset: je.Preset, mode: je.TrustMode, who: set[str]
) -> None:
    """In a panel no juror does, whatever the mode; what judges see is the trace."""
    hear(tmp_path / "runs", preset)
    ingest(tmp_path / "home", tmp_path / "runs", fixtures=True)
    providers, listener = listening()
    hear(tmp_path / "next", preset, home=tmp_path / "home", mode=mode, providers=providers)
    assert {actor.part for actor, told in listener.told if DISCLAIMER in told} == who


def test_the_signal_moves_no_vote(tmp_path: Path, home: Path) -> None:
    """With it or without, the same votes come to the same outcomes."""
    hear(tmp_path / "with", "tribunal", home=home, seed=5)
    hear(tmp_path / "without", "tribunal", seed=5, mode="off")
    counted = [
        [
            (event.key, event.tally, event.outcome)
            for event in events_of(tmp_path / name)
            if type(event) is je.OutcomeReached
        ]
        for name in ("with", "without")
    ]
    assert counted[0] == counted[1] != []


def test_hearing_a_case_again_as_it_was_adds_nothing(tmp_path: Path) -> None:
    """Test doubles say the same again: a second telling is no second hearing. Another seed is."""
    for name, seed in (("one", 1), ("same", 1), ("other", 2)):
        hear(tmp_path / name, "tribunal", seed=seed)
    ingest(tmp_path / "home", tmp_path / "one", fixtures=True)
    again = ingest(tmp_path / "home", tmp_path / "same", fixtures=True)
    assert (again.evidence, again.observations) == (0, 0)
    assert ingest(tmp_path / "home", tmp_path / "other", fixtures=True).evidence > 0


def test_conditions_told_one_by_one_are_what_they_are_told_together(tmp_path: Path) -> None:
    """One run of all conditions, or one run for each: every juror has the same evidence, as often."""
    hear(tmp_path / "all/run", "tribunal")
    for condition in ("solo", "independent", "star", "mesh"):
        hear(tmp_path / "each" / condition, "tribunal", condition=condition)
    for name in ("all", "each"):
        ingest(tmp_path / f"home-{name}", tmp_path / name, fixtures=True)
    told = [
        sorted((row.subject or "", row.kind, row.id) for row in rows_of(tmp_path / f"home-{name}"))
        for name in ("all", "each")
    ]
    assert told[0] == told[1]


def test_what_judges_agree_on_and_people_decide_comes_back(tmp_path: Path) -> None:
    """The workers of a data set have a record of it; a decision on a review is read when it is there, once."""
    hear(tmp_path / "runs/one", "judges")
    ingest(tmp_path / "home", tmp_path / "runs", fixtures=True)
    rows = rows_of(tmp_path / "home")
    outcomes = [event for event in events_of(tmp_path / "runs/one") if isinstance(event, je.OutcomeReached)]
    agreed = [event for event in outcomes if event.status == "agreed"]
    reviews = [event for event in outcomes if event.status == "review"]
    assert agreed
    assert reviews
    assert 0 < sum(row.kind == "judged" for row in rows) <= len(agreed)
    opened = events_of(tmp_path / "runs/one")[0]
    assert isinstance(opened, je.RunOpened)
    item = reviews[0].item
    resolution = je.Resolved(
        key=je.key_of("resolution", item),
        time=0,
        item=item,
        case=opened.case,
        decision="reject",
        resolver="ann",
        note="read",
    )
    append(tmp_path / "runs/one", resolution)
    ingest(tmp_path / "home", tmp_path / "runs", fixtures=True)
    new = [row for row in rows_of(tmp_path / "home") if row.id not in {known.id for known in rows}]
    assert {row.kind for row in new} <= {"verdict-confirmed", "verdict-overruled", "judged", "member-registered"}
    assert sum(row.kind.startswith("verdict-") for row in new) >= 1
    again = ingest(tmp_path / "home", tmp_path / "runs", fixtures=True)
    assert (again.evidence, again.bytes_read) == (0, 0)
