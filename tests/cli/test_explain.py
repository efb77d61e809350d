"""The command `explain`: each step to a number, and the line it comes from."""

from __future__ import annotations

import re
import shutil
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from commandline import CACHE, WIDE, Done, agents_in, cells, every_folder
from dshlog import decode, frames
from homes import FIXTURES
from make_fixtures import T, lead, work

from a2a_trust.model import DIMENSIONS
from a2a_trust.policy import BUILT_IN
from a2a_trust.reputation import step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Explained = list[tuple[dict[str, Any], dict[str, Any]]]
"""Agents as `show --json` prints them, each with its explanation."""


@pytest.fixture(scope="module")
def known_explanations() -> dict[tuple[str, str], Explained]:
    """What was explained already: many tests look at the same explanations."""
    return {}


@pytest.fixture
def explained(
    run: Callable[..., Done], home_of: Callable[..., Path], known_explanations: dict[tuple[str, str], Explained]
) -> Callable[..., Explained]:
    """Every agent of a folder of the fixtures, and its explanation."""

    def ask(folder: str, policy: str = "standard") -> Explained:
        if (folder, policy) not in known_explanations:
            home = home_of(folder, policy=policy)
            agents = agents_in(run("show", "--json", "--by", "fingerprint", "--limit", "0", home=home))
            known_explanations[folder, policy] = [
                (agent, run("explain", key, "--json", home=home).json()) for key, agent in agents.items()
            ]
        return known_explanations[folder, policy]

    return ask


def steps_of(explanation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All steps of all dimensions."""
    for dimension in explanation["dimensions"]:
        yield from dimension["steps"]


@pytest.mark.parametrize("policy", BUILT_IN)
@every_folder
def test_the_steps_lead_to_the_value(explained: Callable[..., Explained], folder: str, policy: str) -> None:
    """Folding the steps from the start gives the value that is shown, for every agent and dimension."""
    for agent, explanation in explained(folder, policy):
        for dimension in explanation["dimensions"]:
            value = dimension["start"]
            for one in dimension["steps"]:
                assert one["before"] == value
                value = step(value, one["quality"], BUILT_IN[policy])
                assert one["after"] == value
            shown = agent["dimensions"][dimension["dim"]]
            assert (value if dimension["steps"] else None, len(dimension["steps"])) == (
                shown["value"],
                shown["samples"],
            )


@pytest.mark.parametrize(
    "act",
    [
        ["feedback", "researcher", "--competence", "1", "--reliability", "5"],
        ["reset", "researcher", "competence", "--why", "a new prompt"],
        ["retract", str(FIXTURES / "a-team"), "--why", "a test"],
        ["alias", "implementer", "researcher"],
    ],
    ids=lambda act: act[0],
)
def test_the_steps_lead_to_the_value_after_an_amendment(
    run: Callable[..., Done], copy_of: Callable[..., Path], act: list[str]
) -> None:
    """What people said of an agent is in its explanation as it is in its numbers."""
    copy_of("a-team", "b-shared-home")
    assert run("amend", *act).code == 0
    shown = run("show", "researcher", "--json").json()["dimensions"]
    steps = run("explain", "researcher", "--json").json()["dimensions"]
    found = {dimension["dim"]: (dimension["value"], len(dimension["steps"])) for dimension in steps}
    assert found == {dim: (state["value"] or found[dim][0], state["samples"]) for dim, state in shown.items()}


@every_folder
def test_the_steps_stand_in_the_order_of_their_times(explained: Callable[..., Explained], folder: str) -> None:
    """Time, session, generation and seq go up from step to step."""
    for _, explanation in explained(folder):
        for dimension in explanation["dimensions"]:
            keys = [(one["time"], one["session"], one["gen"], one["seq"]) for one in dimension["steps"]]
            assert keys == sorted(keys)


@every_folder
def test_every_step_leads_to_its_line(explained: Callable[..., Explained], folder: str) -> None:
    """File, frame and line of a step lead to the line of the log that holds its seq."""
    steps = [one for _, explanation in explained(folder) for one in steps_of(explanation)]
    wrong = [
        one
        for one in steps
        if seqs_in(one["file"])[None][one["line"] - 1] != one["seq"]
        or one["seq"] not in seqs_in(one["file"])[one.get("frame")]
    ]
    assert wrong == []


@cache
def seqs_in(file: str) -> dict[int | None, list[int | None]]:
    """The seq of each line of a log, and of each line of the frame that begins at a byte."""
    data = Path(file).read_bytes()
    if file.endswith(".jsonl"):
        return {None: seqs(data)}
    found = {None: seqs(decode(data))}
    start = 0
    for piece in frames(data):
        found[start] = seqs(decode(piece))
        start += len(piece)
    return found


def seqs(text: bytes) -> list[int | None]:
    """The seq of each line; the last one may be torn."""
    return [
        int(found[1]) if (found := re.match(rb'\{"type":"[^"]*","seq":(\d+)', line)) else None
        for line in text.split(b"\n")
    ]


def test_a_log_that_is_read_in_two_encodings_is_named_as_it_was_read(run: Callable[..., Done], tmp_path: Path) -> None:
    """Beside a longer plain copy of the same log, a step names the file that its row was made from."""
    log = lead(93)
    for number in range(5):
        work(log, T + 1000 + number)
    plain = log.write(tmp_path / "logs", zstd=False)
    log.write(tmp_path / "logs")
    run("backfill", tmp_path / "logs")
    files_named = {one["file"] for one in steps_of(run("explain", "main", "--json").json())}
    assert files_named == {str(plain)}


@pytest.fixture
def moved(run: Callable[..., Done], tmp_path: Path) -> Path:
    """A home whose logs are no longer where they were."""
    shutil.copytree(FIXTURES / "a-team", tmp_path / "logs")
    run("backfill", tmp_path / "logs")
    shutil.rmtree(tmp_path / "logs")
    return tmp_path / "home"


@pytest.mark.usefixtures("moved")
def test_a_log_that_is_gone_has_no_place(run: Callable[..., Done]) -> None:
    """Without the log a step still says what it did, and names no file, frame or line."""
    steps = list(steps_of(run("explain", "researcher", "--json").json()))
    assert steps
    assert [one for one in steps if {"file", "frame", "line"} & one.keys()] == []


@pytest.mark.usefixtures("moved")
def test_a_log_that_is_gone_is_told(run: Callable[..., Done]) -> None:
    """The list of logs says of each that it is gone."""
    out = run("explain", "researcher").out
    logs = re.findall(r"^\[\d+\] \S+: (.*)$", out, re.MULTILINE)
    assert set(logs) == {"its log is no longer where it was"}


def test_a_cache_that_is_gone_is_no_failure(run: Callable[..., Done], copy_of: Callable[..., Path]) -> None:
    """Without what is remembered of the logs, an explanation has no places, and all its numbers."""
    home = copy_of("a-team")
    before = run("explain", "main", "--json").json()["dimensions"][0]
    (home / CACHE).unlink()
    after = run("explain", "main", "--json").json()["dimensions"][0]
    assert (after["value"], len(after["steps"])) == (before["value"], len(before["steps"]))


def test_the_table_of_steps_holds_the_numbers_of_its_json(
    run: Callable[..., Done], home_of: Callable[..., Path]
) -> None:
    """Each step stands with its time, kind, quality, values, and place."""
    home = home_of("a-team")
    (dimension,) = run("explain", "implementer", "competence", "--json", home=home).json()["dimensions"]
    out = run("explain", "implementer", "competence", "--limit", "0", home=home, columns=WIDE).out
    assert f"\ncompetence: {dimension['value']} after {len(dimension['steps'])} pieces of evidence\n" in out
    shown = [cells(line)[1:5] for line in out.splitlines() if "→" in line and not line.startswith("time")]
    assert [(kind, quality, course) for kind, quality, course, _ in shown] == [
        (one["kind"], str(one["quality"]), f"{one['before']} → {one['after']}") for one in dimension["steps"]
    ]
    assert [re.sub(r"^\[\d+\] ", "", place) for *_, place in shown] == [
        f"{one['seq']} @{one['frame']}" for one in dimension["steps"]
    ]


def test_the_table_of_steps_names_the_logs(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """Below the table each log stands under its number."""
    home = home_of("a-team")
    files_named = {one["file"] for one in steps_of(run("explain", "implementer", "--json", home=home).json())}
    out = run("explain", "implementer", "--limit", "0", home=home).out
    assert set(re.findall(r"^\[\d+\] \S+: (.*)$", out, re.MULTILINE)) == files_named


def test_a_limit_keeps_the_newest_steps(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """Of more steps than are asked for the newest are shown, and where the others led."""
    home = home_of("a-team")
    (dimension,) = run("explain", "implementer", "competence", "--json", home=home).json()["dimensions"]
    out = run("explain", "implementer", "competence", "--limit", "2", home=home, columns=WIDE).out
    left_out = len(dimension["steps"]) - 2
    assert f"… {left_out} earlier ones, which lead to {dimension['steps'][-2]['before']}; all with --limit 0" in out
    assert out.count(" → ") - out.count("before → after") == 2


@pytest.mark.parametrize("wanted", ["rel", "reliability", "REL"])
def test_one_dimension_is_explained(run: Callable[..., Done], home_of: Callable[..., Path], wanted: str) -> None:
    """A dimension, or its first letters, keeps the others out."""
    found = run("explain", "researcher", wanted, "--json", home=home_of("a-team")).json()
    assert [dimension["dim"] for dimension in found["dimensions"]] == ["reliability"]


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ("honesty", f"is no dimension; there are {', '.join(DIMENSIONS)}"),
        ("com", "is more than one dimension; there are competence, communication"),
        ("c", "is more than one dimension; there are competence, communication"),
    ],
)
def test_a_dimension_that_is_not_one_is_told(
    run: Callable[..., Done], home_of: Callable[..., Path], wanted: str, told: str
) -> None:
    """What names no dimension, or more than one, is refused with those that it may mean."""
    done = run("explain", "researcher", wanted, home=home_of("a-team"))
    assert (done.code, done.err) == (2, f"a2a-trust: '{wanted}' {told}\n")


def test_no_evidence_is_told(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """A dimension of which nothing is known says so."""
    assert "\nintegrity: no evidence\n" in run("explain", "researcher", home=home_of("a-team")).out
