"""The logs in `fixtures/jury` give, number for number, what the table beside them states."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from homes import rows_of
from jurymade import ingest, lines_of
from make_jury_fixtures import ROOT, SCENARIOS, build

from a2a_trust.agents import resolve
from a2a_trust.policy import STANDARD
from a2a_trust.sources import jury_events as je
from a2a_trust.store import read_ledger

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("no_waiting")

EXPECTED: dict[str, Any] = json.loads((ROOT / "expected.json").read_text(encoding="utf-8"))


def test_the_made_logs_are_what_the_builder_builds(tmp_path: Path) -> None:
    """Every file is written by the script; compressed ones hold the same, whatever the version of zstd."""
    build(tmp_path)
    for root, other in ((ROOT, tmp_path), (tmp_path, ROOT)):
        for path in (path.relative_to(root) for path in root.rglob("*") if path.is_file()):
            one, two = (root / path).read_bytes(), (other / path).read_bytes()
            assert lines_of(one) == lines_of(two) if path.name == je.LOG_NAME else one == two


def test_every_made_folder_has_its_expectation() -> None:
    """No folder is read without a table that says what it must give."""
    assert {path.name for path in ROOT.iterdir() if path.is_dir()} == set(EXPECTED) == set(SCENARIOS)


@pytest.mark.parametrize("fixtures", [False, True])
@pytest.mark.parametrize("folder", EXPECTED)
def test_the_logs_give_what_is_expected(tmp_path: Path, folder: str, *, fixtures: bool) -> None:
    """Agents, evidence by kind, trust, sessions and what is skipped."""
    expected = EXPECTED[folder]
    summary = ingest(tmp_path, ROOT / folder, fixtures=fixtures)
    rows = rows_of(tmp_path)
    found = {}
    for agent in read_ledger(tmp_path).agents.values():
        own = [row for row in rows if row.subject == agent.fingerprint]
        found[agent.profile.name] = {
            "kinds": Counter(row.kind for row, quality in resolve(own, STANDARD) if quality is not None),
            "trust": {
                dim.value: [state.value, state.samples, state.good]
                for dim, state in agent.trust.items()
                if state.samples
            },
        }
    assert found == expected["withFixtures" if fixtures else "agents"]
    skipped = {reason: count for reason, count in expected["skipped"].items() if not fixtures or reason != "fixture"}
    assert summary.skipped == skipped
    if not fixtures:
        assert summary.sessions == {"teammate": expected["sessions"]}
