"""What one run over a made folder left, to be compared with the table beside it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from homes import rows_of

from a2a_trust.policy import BUILT_IN
from a2a_trust.store import read_ledger

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest
    from a2a_trust.backfill import Summary

    from a2a_trust.model import AgentRecord, Row


class Result:
    """What one run over one folder left."""

    def __init__(self, summary: Summary, rows: list[Row], agents: dict[str, AgentRecord]) -> None:
        """Keep the agents by name, but only those of roles that the policy scores."""
        self.summary = summary
        self.rows = rows
        self.agents = agents


def results(
    factory: pytest.TempPathFactory, ingest: Callable[[Path, str, str], Summary]
) -> Callable[[str, str], Result]:
    """Runs over folders under policies, each made when it is first asked for; `ingest` fills a home with one."""

    @cache
    def make(folder: str, policy: str) -> Result:
        home = factory.mktemp("homes") / "home"
        summary = ingest(home, folder, policy)
        records = read_ledger(home).agents.values()
        scored = [record for record in records if record.profile.role in BUILT_IN[policy].roles]
        agents = {record.profile.name: record for record in scored}
        assert len(agents) == len(scored)
        return Result(summary, rows_of(home), agents)

    return make
