"""Case files and data sets: what is read, what is refused, and that a refusal says where."""

import json
from pathlib import Path
from typing import Any

import pytest

from a2a_trust.errors import CaseError
from a2a_trust.jury import cases
from a2a_trust.jury.case_types import PanelCase, TribunalCase
from a2a_trust.jury.cases import CaseFile, Dataset
from a2a_trust.sources.jury_events import Preset


def shipped(name: str) -> dict[str, Any]:
    """Return a case of the package as JSON, to spoil."""
    preset, _file = cases.SHIPPED[name]
    case = cases.load(name, preset)
    assert isinstance(case, CaseFile)
    found: dict[str, Any] = json.loads(Path(case.path).read_text(encoding="utf-8"))
    return found


def write(tmp_path: Path, content: object) -> Path:
    """Write a case file."""
    path = tmp_path / "case.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_the_tribunal_case_has_the_parts_of_a_hearing() -> None:
    """Seven pieces of evidence, four witnesses, two sides, a judge, five jurors, one foreperson and a lone juror."""
    case = cases.load("cold-store", "tribunal")
    assert isinstance(case, CaseFile)
    court = case.case
    assert isinstance(court, TribunalCase)
    assert list(court.evidence) == [f"E{number}" for number in range(1, 8)]
    assert (len(court.witnesses), len(court.parties), len(court.jurors)) == (4, 2, 5)
    assert court.foreperson in {juror.id for juror in court.jurors}
    assert court.solo.id not in {juror.id for juror in court.jurors}


def test_the_panel_case_has_three_variants_that_differ() -> None:
    """Each variant changes the text."""
    case = cases.load("night-desk", "panel")
    assert isinstance(case, CaseFile)
    assert isinstance(case.case, PanelCase)
    told = list(cases.varied(case.case))
    assert len(told) == 4
    assert len({text for _item, _title, text in told}) == 4


def test_the_data_set_has_twenty_trajectories() -> None:
    """They can be read twice, labels and judged agents included."""
    data = cases.load("trajectories", "judges")
    assert isinstance(data, Dataset)
    rows = list(data.traces())
    assert len(rows) == data.count == 20
    assert rows == list(data.traces())
    assert all(row.label and row.agent for row in rows)


def spoilt() -> list[tuple[Preset, str, list[str | int], object, str]]:
    """Return preset, case, place, value and what the message must say."""
    return [
        ("tribunal", "cold-store", ["charge"], "", "$.charge"),
        ("tribunal", "cold-store", ["surprise"], 1, "surprise"),
        ("tribunal", "cold-store", ["judge", "name"], "Judge\nFenwick", "$.judge.name"),
        ("tribunal", "cold-store", ["judge", "name"], "  ", "$.judge.name"),
        ("tribunal", "cold-store", ["evidence", "E9"], "Later.", "$.evidence"),
        ("tribunal", "cold-store", ["foreperson"], "nobody", "$.foreperson"),
        ("tribunal", "cold-store", ["solo", "id"], "judge", "'judge' stands twice"),
        ("tribunal", "cold-store", ["parties", 1, "side"], "liable", "'liable' stands twice"),
        ("tribunal", "cold-store", ["parties", 0, "relies_on"], ["E8"], "$.parties[0].relies_on"),
        ("tribunal", "cold-store", ["witnesses", 2, "questions"], {"claimant": "Why?"}, "$.witnesses[2].questions"),
        ("tribunal", "cold-store", ["truth", "outcome"], "maybe", "$.truth.outcome"),
        ("panel", "night-desk", ["text"], "x" * 12_001, "$.text"),
        ("panel", "night-desk", ["jurors"], 13, "$.jurors"),
        ("panel", "night-desk", ["jurors"], "7", "$.jurors"),
        ("panel", "night-desk", ["variants", 0, "edits", 0, "find"], "not there", "$.variants[0].edits[0].find"),
        ("panel", "night-desk", ["variants", 1, "id"], "told", "'told' stands twice"),
        ("panel", "night-desk", ["options"], ["fair"], "$.options"),
    ]


@pytest.mark.parametrize(("preset", "name", "place", "value", "said"), spoilt())
def test_a_spoilt_case_is_refused_with_its_place(  # noqa: PLR0913, PLR0917 - a row of the table above
    tmp_path: Path, preset: Preset, name: str, place: list[Any], value: object, said: str
) -> None:
    """The message names the file and the place in it."""
    content = shipped(name)
    inner: Any = content
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    path = write(tmp_path, content)
    with pytest.raises(CaseError) as refused:
        cases.load(path, preset)
    assert str(path) in str(refused.value)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "raw",
    [b"", b"[]", b"null", b"{", b'{"preset": "tribunal"}', b'{"preset": "feast"}', b"\xff\xfe", b"[" * 100_000],
)
def test_what_is_no_case_is_refused(tmp_path: Path, raw: bytes) -> None:
    """Neither a traceback nor a guess."""
    path = tmp_path / "case.json"
    path.write_bytes(raw)
    with pytest.raises(CaseError):
        cases.load(path, "tribunal")


def test_a_key_that_stands_twice_is_refused(tmp_path: Path) -> None:
    """Nobody could say which of the two counts."""
    path = write(tmp_path, shipped("night-desk"))
    path.write_text(path.read_text(encoding="utf-8").replace('"jurors":', '"jurors": 3, "jurors":'), encoding="utf-8")
    with pytest.raises(CaseError, match="stands twice"):
        cases.load(path, "panel")


def test_a_case_for_another_preset_is_refused_with_the_right_one() -> None:
    """So that the command can be put right."""
    with pytest.raises(CaseError, match="--preset tribunal"):
        cases.load("cold-store", "panel")


def test_a_case_that_is_not_there_names_those_that_are(tmp_path: Path) -> None:
    """Nobody has to search for the names of the cases."""
    with pytest.raises(CaseError, match="cold-store, night-desk, trajectories"):
        cases.load(tmp_path / "none.json", "tribunal")


GOOD = {"trace_id": "a", "input": "x", "output": "y"}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([GOOD, {**GOOD, "trace_id": "a"}], "line 2"),
        ([GOOD, {**GOOD, "trace_id": " b"}], "line 2, at `$.trace_id`"),
        ([GOOD, {**GOOD, "trace_id": "b\nc"}], "line 2, at `$.trace_id`"),
        ([{**GOOD, "label": "perhaps"}], "line 1, at `$.label`"),
        ([{**GOOD, "score": 1}], "score"),
        ([{"trace_id": "a", "input": "x"}], "output"),
        ([{**GOOD, "output": "y" * 100_001}], "line 1, at `$.output`"),
        ([], "holds no trace"),
    ],
)
def test_a_spoilt_line_is_refused_with_its_number(tmp_path: Path, rows: list[object], said: str) -> None:
    """The first bad line is named; blank lines count as lines."""
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with pytest.raises(CaseError) as refused:
        cases.load(path, "judges")
    assert said in str(refused.value)


def test_too_many_traces_are_refused(tmp_path: Path) -> None:
    """The budget is checked while the data set is read, before anything else."""
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps({**GOOD, "trace_id": str(n)}) + "\n" for n in range(4)), encoding="utf-8")
    with pytest.raises(CaseError, match="line 4"):
        cases.load(path, "judges", max_traces=3)


def test_a_data_set_that_changes_while_it_is_judged_is_found_out(tmp_path: Path) -> None:
    """What was checked is what is judged: a line changed, added or taken away between two readings is seen."""
    path = tmp_path / "data.jsonl"
    lines = [json.dumps({**GOOD, "trace_id": str(number)}) + "\n" for number in range(3)]
    path.write_text("".join(lines), encoding="utf-8")
    data = cases.load(path, "judges")
    assert isinstance(data, Dataset)
    for other in (lines[:2], [*lines, lines[0]], [lines[0], lines[2], lines[1]]):
        path.write_text("".join(other), encoding="utf-8")
        with pytest.raises(CaseError, match="changed while"):
            list(data.traces())


def test_a_map_of_judged_agents_and_a_list_of_judges_are_read(tmp_path: Path) -> None:
    """Both are strict JSON files."""
    agents = tmp_path / "agents.json"
    agents.write_text('{"*": {"name": "repairer", "provider": "spawn"}}', encoding="utf-8")
    assert cases.load_agents(agents)["*"].profile().name == "repairer"
    judges = tmp_path / "judges.json"
    rows = [{"id": seat, "name": seat, "persona": "Reads.", "parameters": {"checks": seat}} for seat in ("one", "two")]
    judges.write_text(json.dumps(rows), encoding="utf-8")
    assert [judge.id for judge in cases.load_judges(judges)] == ["one", "two"]
    judges.write_text(json.dumps(rows[:1]), encoding="utf-8")
    with pytest.raises(CaseError, match=r"judges\.json"):
        cases.load_judges(judges)
