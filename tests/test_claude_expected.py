"""The transcripts in `fixtures/claude-code` give, number for number, what the table beside them states."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from a2a_trust.backfill import Options, run
from a2a_trust.backfill.run import LINE_SKIPS
from expectations import Result, results
from make_claude_fixtures import ROOT, SCENARIOS, build

from a2a_trust.agents import resolve
from a2a_trust.policy import BUILT_IN
from a2a_trust.sources.claude_code import ClaudeCodeSource
from a2a_trust.store import TrustStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from a2a_trust.backfill import Summary


EXPECTED: dict[str, Any] = json.loads((ROOT / "expected.json").read_text(encoding="utf-8"))
CASES = [(folder, policy) for folder in EXPECTED for policy in BUILT_IN]
all_cases = pytest.mark.parametrize(("folder", "policy"), CASES, ids=["-".join(case) for case in CASES])


def ingest(home: Path, folder: str, policy: str) -> Summary:
    """Run the transcripts of a folder into a home."""
    with TrustStore(home, BUILT_IN[policy]) as store:
        return run(store, {"claude-code": ClaudeCodeSource()}, Options(paths=[ROOT / folder], jobs=1), {})


@pytest.fixture(scope="module")
def result_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Result]:
    """A run over a folder under a policy, made when it is first asked for."""
    return results(tmp_path_factory, ingest)


@pytest.fixture
def result(result_of: Callable[[str, str], Result], folder: str, policy: str) -> Result:
    """The run that a test asks about."""
    return result_of(folder, policy)


def of_agents(folder: str, policy: str, key: str) -> dict[str, Any]:
    """One column of the expected table, by agent."""
    return {name: agent[key] for name, agent in EXPECTED[folder][policy].items()}


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fixtures, written anew."""
    root = tmp_path_factory.mktemp("fixtures")
    build(root)
    return root


def test_the_made_transcripts_are_what_the_builder_builds(rebuilt: Path) -> None:
    """Every file below the folder is written by the script, byte for byte."""
    kept = {path.relative_to(ROOT): path.read_bytes() for path in ROOT.rglob("*") if path.is_file()}
    made = {path.relative_to(rebuilt): path.read_bytes() for path in rebuilt.rglob("*") if path.is_file()}
    assert made == kept


def test_every_made_folder_has_its_expectation() -> None:
    """No folder is read without a table that says what it must give."""
    assert {path.name for path in ROOT.iterdir() if path.is_dir()} == set(EXPECTED) == set(SCENARIOS)


@all_cases
def test_agents_and_fingerprints_are_the_expected_ones(result: Result, folder: str, policy: str) -> None:
    """Every expected agent is found under its fingerprint, and nobody else of a role that the policy scores."""
    expected = EXPECTED[folder][policy]
    assert sorted(result.agents) == sorted(expected)
    known = {name: agent["fingerprint"] for name, agent in expected.items() if "fingerprint" in agent}
    assert {name: result.agents[name].fingerprint[:12] for name in known} == known


@all_cases
def test_kinds_of_evidence_are_the_expected_ones(result: Result, folder: str, policy: str) -> None:
    """Each agent has exactly the expected evidence of each kind."""
    found = {}
    for name, agent in result.agents.items():
        own = [row for row in result.rows if row.subject == agent.fingerprint]
        found[name] = Counter(row.kind for row, quality in resolve(own, BUILT_IN[policy]) if quality is not None)
    assert found == of_agents(folder, policy, "kinds")


@all_cases
def test_trust_is_the_expected_one(result: Result, folder: str, policy: str) -> None:
    """Each dimension with evidence has exactly the expected value, samples and good ones; the others have none."""
    found = {
        name: {
            dim.value: [state.value, state.samples, state.good] for dim, state in agent.trust.items() if state.samples
        }
        for name, agent in result.agents.items()
    }
    assert found == of_agents(folder, policy, "trust")


@all_cases
def test_what_moves_no_score_is_counted(result: Result, folder: str, policy: str) -> None:
    """Failures without a fault, failed spawns and completions without work are counted, and nothing else is."""
    found = {
        name: (agent.stats.unattributable, agent.stats.failed_spawns, agent.stats.unsupported_completions)
        for name, agent in result.agents.items()
    }
    columns = [of_agents(folder, policy, key) for key in ("unattributable", "failedSpawns", "unsupportedCompletions")]
    assert found == {name: tuple(column[name] for column in columns) for name in columns[0]}


@all_cases
def test_sessions_and_skipped_lines_are_counted(result: Result, folder: str, policy: str) -> None:
    """Every log in every file is counted once, and every line that could not be used by its reason."""
    expected, summary = EXPECTED[folder], result.summary
    assert (
        sum(summary.sessions.values()),
        summary.sessions.get("waiting", 0),
        summary.skipped,
        summary.evidence,
    ) == (expected["sessions"], expected["waiting"], expected["skipped"], expected["evidence"][policy])


@all_cases
def test_every_line_is_in_exactly_one_count(result: Result, folder: str, policy: str) -> None:
    """Used, irrelevant, copied and skipped lines add up to the lines read."""
    summary = result.summary
    skipped = sum(summary.skipped.get(reason, 0) for reason in LINE_SKIPS)
    counted = summary.lines_used + summary.lines_irrelevant + summary.lines_inherited + skipped
    assert counted == summary.lines > 0, (folder, policy)


@all_cases
def test_runs_stand_as_expected(result: Result, folder: str, policy: str) -> None:
    """Runs that came to their end, were cut short and may still go on are told apart, by type of agent."""
    found = {
        name: {"ended": stats.runs_ended, "stopped": stats.runs_stopped, "open": stats.runs_open}
        for name, stats in ((name, agent.stats) for name, agent in result.agents.items())
    }
    assert found == of_agents(folder, policy, "runs")
