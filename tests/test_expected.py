"""The logs in `fixtures/` give, number for number, what an independent reading of them gave."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from a2a_trust.backfill.run import LINE_SKIPS
from expectations import Result, results
from homes import EXPECTED, FIXTURES, ingest

from a2a_trust.agents import resolve
from a2a_trust.policy import BUILT_IN

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a_trust.model import AgentRecord, Row

CASES = [(folder, policy) for folder in EXPECTED for policy in BUILT_IN]
all_cases = pytest.mark.parametrize(("folder", "policy"), CASES, ids=["-".join(case) for case in CASES])


@pytest.fixture(scope="module")
def result_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Result]:
    """A run over a folder under a policy, made when it is first asked for."""
    return results(tmp_path_factory, lambda home, folder, policy: ingest(home, FIXTURES / folder, policy=policy))


@pytest.fixture
def result(result_of: Callable[[str, str], Result], folder: str, policy: str) -> Result:
    """The run that a test asks about."""
    return result_of(folder, policy)


def of_agents(folder: str, policy: str, key: str) -> dict[str, Any]:
    """One column of the expected table, by agent."""
    return {name: agent[key] for name, agent in EXPECTED[folder][policy].items()}


def kinds_of(record: AgentRecord, rows: list[Row], policy: str) -> dict[str, int]:
    """How much evidence of each kind the policy folds for an agent."""
    own = [row for row in rows if row.subject == record.fingerprint]
    return Counter(row.kind for row, quality in resolve(own, BUILT_IN[policy]) if quality is not None)


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
    found = {name: kinds_of(record, result.rows, policy) for name, record in result.agents.items()}
    assert found == of_agents(folder, policy, "kinds")


@all_cases
def test_trust_is_the_expected_one(result: Result, folder: str, policy: str) -> None:
    """Each dimension with evidence has exactly the expected value, samples and good ones; the others have none."""
    found = {
        name: {
            dim.value: [state.value, state.samples, state.good] for dim, state in record.trust.items() if state.samples
        }
        for name, record in result.agents.items()
    }
    assert found == of_agents(folder, policy, "trust")


@all_cases
def test_what_nobody_is_blamed_for_is_counted(result: Result, folder: str, policy: str) -> None:
    """Failures without a fault are counted by reason, and nothing else is."""
    found = {name: record.stats.unattributable for name, record in result.agents.items()}
    assert found == of_agents(folder, policy, "unattributable")


@all_cases
def test_failed_spawns_and_empty_completions_are_counted(result: Result, folder: str, policy: str) -> None:
    """Members that never started and completions without work are counted for their agent."""
    found = {
        name: (record.stats.failed_spawns, record.stats.unsupported_completions)
        for name, record in result.agents.items()
    }
    failed, unsupported = (of_agents(folder, policy, key) for key in ("failedSpawns", "unsupportedCompletions"))
    assert found == {name: (failed[name], unsupported[name]) for name in failed}


@all_cases
def test_total_evidence_is_the_expected_one(result: Result, folder: str, policy: str) -> None:
    """The run folds exactly the expected number of pieces of evidence."""
    assert result.summary.evidence == EXPECTED[folder]["evidence"][policy]


@all_cases
def test_sessions_are_counted_by_what_is_known_of_them(result: Result, folder: str, policy: str) -> None:
    """Every session is counted once; those whose agent is not known yet, and those that lost their seed, apart."""
    expected = EXPECTED[folder]
    summary = result.summary
    assert (
        sum(summary.sessions.values()),
        summary.sessions.get("waiting", 0),
        summary.skipped.get("seed-boundary-lost", 0),
    ) == (expected["sessions"], expected["waiting"], expected["skipped"]), policy


@all_cases
def test_every_line_is_in_exactly_one_count(result: Result, folder: str, policy: str) -> None:
    """Used, irrelevant, inherited and skipped lines add up to the lines read."""
    summary = result.summary
    skipped = sum(summary.skipped.get(reason, 0) for reason in LINE_SKIPS)
    counted = summary.lines_used + summary.lines_irrelevant + summary.lines_inherited + skipped
    assert counted == summary.lines > 0, (folder, policy)


def test_both_policies_record_the_same_rows(result_of: Callable[[str, str], Result]) -> None:
    """A policy decides what is folded, never what is recorded."""
    for folder in EXPECTED:
        recorded = [
            [(row.key, row.kind, row.subject, row.evidence) for row in result_of(folder, policy).rows[1:]]
            for policy in BUILT_IN
        ]
        assert recorded[0] == recorded[1]
