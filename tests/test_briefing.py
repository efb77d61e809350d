"""Who is told about whom, and that the text, the JSON and the MCP answers never differ in a number."""

import re
import tempfile
from pathlib import Path

import msgspec
import pytest
from homes import FIXTURES, ingest
from hypothesis import given
from hypothesis import strategies as st
from signalhomes import TIME, ledger_of, ledgers, plant, record

from a2a_trust.advice import DISCLAIMER, LEAD_HEADER, Audience, Mode
from a2a_trust.briefing import Briefing, Reader, brief
from a2a_trust.lenses import Lens
from a2a_trust.model import Dimension, Ledger, Role
from a2a_trust.signals import TrustSignals
from a2a_trust.tools import Listing, Query, Tools

COMPETENCE = Dimension.COMPETENCE
SOME = {COMPETENCE: (0.5, 9, 5)}
ROW_NUMBERS = re.compile(r"(competence|reliability|communication|integrity) ([\d.]+)/(\d+)( low-confidence)?")
COUNTS = re.compile(r"; tasks (\d+), tools (\d+)/(\d+) err, messages (\d+)$")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a Lead, two teammates and a subagent."""
    agents = [
        record("lead", SOME, role=Role.MAIN, last_seen=TIME + 9),
        record("one", SOME, last_seen=TIME + 3),
        record("two", SOME, last_seen=TIME + 2),
        record("helper", SOME, role=Role.SUBAGENT, last_seen=TIME + 1),
    ]
    return plant(tmp_path / "home", ledger_of(agents))


def names(briefing: Briefing) -> list[str]:
    """Who has a row in the text, in order."""
    rows = [line.partition(":")[0] for line in briefing.text.splitlines() if COUNTS.search(line)]
    assert rows == [one.name for key in briefing.shown for one in [*briefing.own, *briefing.agents] if one.key == key]
    return rows


def told(home: Path, **reader: object) -> list[str]:
    """Who has a row in the text for a reader."""
    return names(brief(TrustSignals(home, catch_up=False), Reader(**reader)))


def test_a_lead_reads_of_those_it_can_delegate_to(home: Path) -> None:
    """All teammates and subagents, newest first, and no main agent."""
    assert told(home) == ["one", "two", "helper"]


def test_a_lead_does_not_read_of_itself(home: Path) -> None:
    """Not even where it is of a type that is a teammate elsewhere."""
    assert told(home, name="one") == ["two", "helper"]


def test_a_teammate_reads_of_itself_and_then_of_the_others(home: Path) -> None:
    """Its own row is the first, however old."""
    assert told(home, audience=Audience.TEAMMATE, name="two", mode=Mode.ALL) == ["two", "one", "helper"]


def test_only_those_that_could_be_chosen(home: Path) -> None:
    """Agents can be named, or given by the start of their fingerprint."""
    start = record("two").fingerprint[:8]
    assert told(home, agents=["helper", start, "nobody"]) == ["two", "helper"]
    assert told(home, agents=[]) == []


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("audience", list(Audience))
def test_the_mode_decides_who_reads(home: Path, mode: Mode, audience: Audience) -> None:
    """`off` silences all, `lead-only` teammates; the numbers are there all the same."""
    briefing = brief(TrustSignals(home, catch_up=False), Reader(mode=mode, audience=audience, name="one"))
    silent = mode is Mode.OFF or (mode is Mode.LEAD_ONLY and audience is Audience.TEAMMATE)
    assert (briefing.text == "", len(briefing.agents)) == (silent, 2)


def test_where_types_do_not_recur_rows_are_by_the_lens_that_does(tmp_path: Path) -> None:
    """Names that come back under new descriptions are folded by name, and the text says so."""
    for number in range(2):
        ingest(tmp_path / "home", FIXTURES / ["a-team", "g-raw"][number])
    signals = TrustSignals(tmp_path / "home")
    briefing = brief(signals, Reader(lens=Lens.NAME))
    assert briefing.text.splitlines()[1] == "(by name, not by agent type)"
    by_name = {signal.key: signal for signal in signals.by(Lens.NAME)}
    assert {signal.key for signal in briefing.agents} == {"researcher", "implementer", "reviewer"}
    assert all(signal.dimensions == by_name[signal.key].dimensions for signal in briefing.agents)


@pytest.mark.parametrize("lens", list(Lens))
def test_every_lens_holds_the_work_of_those_in_question_alone(
    tmp_path_factory: pytest.TempPathFactory, lens: Lens
) -> None:
    """Whatever the key, a row and the JSON beside it are folded from what the agents did that could be chosen."""
    home = tmp_path_factory.getbasetemp() / "every-lens"
    if not home.exists():
        ingest(home, FIXTURES / "a-team")
    signals = TrustSignals(home)
    chosen = {one.key for one in signals.agents() if one.name in {"researcher", "reviewer"}}
    folded = {one.key: one for one in signals.by(lens, subjects=chosen)}
    reader = Reader(lens=lens, agents=["researcher", "reviewer"], max_tokens=2000)
    briefing = brief(TrustSignals.at_a_glance(home, now=TIME), reader)
    assert briefing.shown
    assert {one.key for one in briefing.agents} == set(folded)
    for signal in briefing.agents:
        assert (signal.dimensions, signal.stats) == (folded[signal.key].dimensions, folded[signal.key].stats)


def test_who_is_asked_for_and_unknown_is_told(tmp_path: Path) -> None:
    """A name that no agent answers to is remarked on, beside the rows of the others."""
    ingest(tmp_path / "home", FIXTURES / "a-team")
    briefing = brief(TrustSignals(tmp_path / "home"), Reader(agents=["researcher", "nobody"]))
    assert [one.name for one in briefing.agents] == ["researcher"]
    assert briefing.problems == ["no agent answers to 'nobody'"]


def test_a_log_too_long_to_fold_is_told(tmp_path: Path) -> None:
    """In a hurry, rows are agent types although these do not recur."""
    agents = [record("a", SOME, description=str(number), sessions=1, last_seen=TIME + number) for number in range(3)]
    signals = TrustSignals(plant(tmp_path / "home", ledger_of(agents, 1000)), catch_up=False)
    assert signals.default_lens() is Lens.NAME
    briefing = brief(signals, Reader(), fold_bytes=999)
    assert (briefing.lens, len(briefing.problems), len(briefing.shown)) == (Lens.FINGERPRINT, 1, 3)


@given(ledger=ledgers(), audience=st.sampled_from(Audience), tokens=st.integers(16, 1000))
def test_text_json_and_mcp_agree_on_every_number(ledger: Ledger, audience: Audience, tokens: int) -> None:
    """Whatever the ledger, the three forms give the same values, samples, confidences and counts."""
    with tempfile.TemporaryDirectory() as folder:
        home = plant(Path(folder) / "home", ledger)
        reader = Reader(audience=audience, name="worker-a", lens=Lens.FINGERPRINT, max_tokens=tokens, mode=Mode.ALL)
        briefing = brief(TrustSignals.at_a_glance(home, now=TIME), reader)
        tools = Tools(home, lambda: TIME)
        listed = {one.key: one for one in tools.list(Listing(lens=Lens.FINGERPRINT, limit=1000)).agents}
        asked = {key: tools.query(Query(agent=key)).agent for key in ledger.agents}
    as_json = msgspec.json.decode(msgspec.json.encode(briefing), type=Briefing)
    signals = {signal.key: signal for signal in [*as_json.own, *as_json.agents]}
    for key, signal in signals.items():
        for other in (listed[key], asked[key]):
            assert msgspec.structs.replace(other, name="", profile=signal.profile) == msgspec.structs.replace(
                signal, name=""
            )
    rows = [line for line in briefing.text.split("\n") if COUNTS.search(line)]
    assert len(rows) == len(briefing.shown)
    for row, key in zip(rows, briefing.shown, strict=True):
        signal = signals[key]
        numbers = {dim: (value, int(samples), bool(low)) for dim, value, samples, low in ROW_NUMBERS.findall(row)}
        assert numbers == {
            dim: (f"{state.value:.2f}", state.samples, state.confidence == "low")
            for dim, state in signal.dimensions.items()
            if state.samples
        }
        found = COUNTS.search(row)
        stats = signal.stats
        assert found is not None
        assert [int(number) for number in found.groups()] == [
            stats.tasks_completed,
            stats.tool_calls,
            stats.tool_errors,
            stats.messages_sent,
        ]


@pytest.mark.parametrize("name", [LEAD_HEADER, DISCLAIMER, "x\n" + DISCLAIMER])
def test_a_name_that_plays_a_line_stays_a_name(tmp_path: Path, name: str) -> None:
    """Header and disclaimer stand where they belong and nowhere else."""
    home = plant(tmp_path / "home", ledger_of([record(name, SOME)]))
    lines = brief(TrustSignals(home, catch_up=False), Reader()).text.splitlines()
    assert [lines.count(LEAD_HEADER), lines.count(DISCLAIMER), len(lines)] == [1, 1, 3]
