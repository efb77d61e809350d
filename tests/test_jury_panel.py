"""The panel: variants before the same personas, who hear of reasons and of nobody."""

import json
from pathlib import Path

import jury_runs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jury_runs import log_of, of

from a2a_trust.jury import cases, engine, panel, personas
from a2a_trust.sources.jury_events import Actor, DigestMade, ItemOpened, OutcomeReached, QuorumMissed, RunOpened

ACTORS = [
    Actor(id=f"juror-{number}", part="juror", name=drawn.name, persona=drawn.text, provider="reference")
    for number, drawn in enumerate(personas.draw(5, 6), 1)
]


def test_each_variant_has_a_panel_of_the_same_personas_and_an_outcome_of_its_own(tmp_path: Path) -> None:
    """The text itself comes first; only it has a known truth, where there is one."""
    log = log_of(tmp_path / "run", "panel")
    assert [item.item for item in of(log, ItemOpened)] == [
        "night-desk", "night-desk.told", "night-desk.kept", "night-desk.person",
    ]  # fmt: skip
    outcomes = of(log, OutcomeReached)
    assert len(outcomes) == 4
    assert len({tuple(event.tally.items()) for event in outcomes}) > 1
    assert len(of(log, RunOpened)[0].cast) == 7


def test_the_known_truth_is_that_of_the_text_and_of_no_variant(tmp_path: Path) -> None:
    """A few other words may well make something else right."""
    case = cases.load("night-desk", "panel")
    assert isinstance(case, cases.CaseFile)
    path = tmp_path / "case.json"
    content = json.loads(Path(case.path).read_text(encoding="utf-8")) | {"truth": {"outcome": "unfair"}}
    path.write_text(json.dumps(content), encoding="utf-8")
    outcomes = of(log_of(tmp_path / "run", "panel", source=path), OutcomeReached)
    assert [event.label for event in outcomes] == ["unfair", None, None, None]
    assert engine.replay(tmp_path / "run") is not None


@pytest.mark.parametrize("rounds", [0, 1, 3])
def test_a_panel_has_as_many_digests_as_rounds(tmp_path: Path, rounds: int) -> None:
    """Each of all reasons."""
    digests = of(log_of(tmp_path / "run", "panel", rounds=rounds), DigestMade)
    assert len(digests) == 4 * rounds
    assert {digest.arguments for digest in digests} <= {7}


@pytest.mark.parametrize("rule", ["majority", "supermajority", "unanimous"])
def test_the_rule_decides_what_the_same_votes_come_to(tmp_path: Path, rule: str) -> None:
    """Seven votes: four, five, seven of them."""
    needed = {"majority": 4, "supermajority": 5, "unanimous": 7}[rule]
    for event in of(log_of(tmp_path / "run", "panel", rule=rule), OutcomeReached):
        assert (event.status == "decided") == (max(event.tally.values()) >= needed)


def test_a_panel_that_misses_its_quorum_stops_by_itself(tmp_path: Path) -> None:
    """Three of seven are dead in every panel: each says so, and the run is unfinished."""
    folder = tmp_path / "run"
    ended = jury_runs.run(folder, "panel", faulty={f"juror-{number}": "absent" for number in (1, 2, 3)})
    assert not ended.finished
    log = jury_runs.events(folder)
    assert [(missed.present, missed.needed) for missed in of(log, QuorumMissed)] == [(4, 5)] * 4
    assert not of(log, OutcomeReached)
    assert engine.replay(folder) is not None


@given(words=st.lists(st.text(max_size=20), max_size=4), who=st.sampled_from(ACTORS), upper=st.booleans())
def test_no_name_persona_or_seat_is_left_in_an_anonymous_text(words: list[str], who: Actor, *, upper: bool) -> None:
    """Wherever it stands, in whatever case."""
    hidden = (who.name, who.persona, who.id, *who.name.split())
    told = " ".join([*words, *(f"({text.upper() if upper else text})" for text in hidden), *words])
    left = panel.anonymous(told, ACTORS).lower()
    assert not any(f"({text.lower()})" in left for text in hidden)


@pytest.mark.parametrize(
    "smuggled",
    [
        "_{name}_", "**{name}**", "{first}'s", "{first}\u200b", "{zero}", "{dotted}", "{under}", "{wide}", "{accented}",
        "{first}{last}", "{first}-{last}", "juror 2", "JUROR_2", "{clause}", "{trade}",
    ],
)  # fmt: skip
def test_a_name_that_is_smuggled_is_taken_out(smuggled: str) -> None:
    """Marks, invisible characters, other forms of the same letters, what a persona says: and nothing around it."""
    who = ACTORS[1]
    first, last = who.name.split()
    trade, clause, *_ = who.persona.replace(";", ".").split(".")
    name = smuggled.format(
        name=who.name, first=first, last=last, clause=clause.strip().upper(), trade=trade,
        zero="\u200b".join(first), dotted=".".join(first), under="_".join(first),
        wide="".join(chr(ord(char) + 0xFEE0) for char in last), accented="\u0308".join(first),
    )  # fmt: skip
    told = panel.anonymous(f"I, {name}, was there: 10 %.", ACTORS)
    letters = "".join(char for char in told if char.isalpha()).lower()
    assert panel.SOMEBODY in told
    assert letters in {"iajurorwasthere", "iajurorswasthere"}
    assert told.startswith("I, ")
    assert told.endswith(", was there: 10 %.")


def test_a_text_that_names_nobody_stays_what_it_is() -> None:
    """Word for word."""
    text = "The rule was left out; a porter must not promise. Édith's case: 10 %."
    assert panel.anonymous(text, ACTORS) == text
