"""Homes for tests that are fed from transcripts of Claude Code, and what they hold by the names of agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_trust.backfill import Options, Summary, run
from claudelog import Transcript
from make_claude_fixtures import T

from a2a_trust.model import Stats
from a2a_trust.sources.claude_code import ClaudeCodeSource
from a2a_trust.store import TrustStore, read_ledger

if TYPE_CHECKING:
    from pathlib import Path

    from a2a_trust.model import AgentRecord


def ingest(home: Path, *paths: Path) -> Summary:
    """Run transcripts into a home."""
    with TrustStore(home) as store:
        return run(store, {"claude-code": ClaudeCodeSource()}, Options(paths=paths, jobs=1), {})


def agents_of(home: Path) -> dict[str, AgentRecord]:
    """The agents of a home by name."""
    return {agent.profile.name: agent for agent in read_ledger(home).agents.values()}


def trust_of(home: Path) -> dict[str, dict[str, tuple[int, int]]]:
    """Samples and good ones of each agent and dimension that has any."""
    return {
        name: {dim.value: (state.samples, state.good) for dim, state in agent.trust.items() if state.samples}
        for name, agent in agents_of(home).items()
    }


def child_of(log: Transcript, agent: str, number: int, **fields: str) -> Transcript:
    """The transcript of a subagent that has done one thing."""
    child = Transcript(number, T + 10_000, session=log.session, agent=agent, **fields)  # type: ignore[arg-type]
    child.user("Do it.")
    return child.work()


def stats_of(home: Path, name: str) -> Stats:
    """What is counted of an agent; nothing for one that is not known."""
    agent = agents_of(home).get(name)
    return agent.stats if agent else Stats()
