"""What is held in memory grows with the teams that are at work, not with the logs: counted, not timed."""

from __future__ import annotations

import importlib
import sys
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from a2a_trust.backfill import spool
from homes import audit_of, ingest
from jurymade import JUDGES, Run
from jurymade import ingest as read_runs

from a2a_trust.store import TrustStore
from a2a_trust.store.audit import AuditWriter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from a2a_trust.model import Row
    from a2a_trust.store.audit import Placement

# The scripts of benchmarks/ are no package; behind everything else on the path they can hide nothing.
sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))
gen_corpus = importlib.import_module("gen_corpus")
FEW_TEAMS, MANY_TEAMS = 48, 192
FEW_TRACES, MANY_TRACES = 500, 2_000
FINDING_BYTES = 1_100
"""What an event of one log may take: as a fact, then as an encoded finding. As findings and rows it was 2,800."""
LISTED_BYTES = 1_800
"""What a log may take: its place in the list of logs, in the list of what was read, and in the index."""
LIMITS = {
    "a2a_trust.backfill.pool.KEPT_BYTES": 0,
    "a2a_trust.backfill.spool.MEMORY_BYTES": 1 << 12,
    "a2a_trust.backfill.spool.RUN_ROWS": 100,
    "a2a_trust.backfill.spool.BLOCK_ROWS": 8,
    "a2a_trust.backfill.spool.MOST_RUNS": 8,
    "a2a_trust.backfill.extract.GROUP_FINDINGS": 50,
    "a2a_trust.backfill.attribute.STATES_KEPT": 8,
    "a2a_trust.store.store.SLICE_ROWS": 50,
    "a2a_trust.store.store.AGENTS_KEPT": 8,
    "a2a_trust.store.cache._PAGES_KB": 256,
}
"""The limits of a run, so low that the smaller corpus meets them all, and nothing else is larger."""


class Peak(NamedTuple):
    """What one run held at most."""

    logs: int
    rows: int
    bytes: int
    held: int
    """Rows in memory to be sorted, or to be written."""


@pytest.fixture(autouse=True)
def low_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a small corpus be a large one."""
    for name, value in LIMITS.items():
        monkeypatch.setattr(name, value)
    # By its dotted name the module would be the function that the package offers.
    monkeypatch.setattr(importlib.import_module("a2a_trust.backfill.run"), "TOLD_ROWS", 50)


def read(folder: Path, teams: int) -> Peak:
    """Read a corpus of so many teams, of agents that come back, into a new home."""
    shape = gen_corpus.Shape(events_per_session=300, unique=0.0, types=20, fork=0.0)
    gen_corpus.generate(folder / "logs", shape, teams=teams)
    held: list[int] = []
    add, append = spool.SortedRows.add, AuditWriter.append

    def counted_add(self: spool.SortedRows, rows: Iterable[Row]) -> None:
        add(self, rows)
        held.append(len(self._held))

    def counted_append(self: AuditWriter, rows: list[Row]) -> list[Placement]:
        held.append(len(rows))
        return append(self, rows)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spool.SortedRows, "add", counted_add)
        patch.setattr(AuditWriter, "append", counted_append)
        with TrustStore(folder / "home"):
            pass
        tracemalloc.start()
        try:
            summary = ingest(folder / "home", folder / "logs")
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    return Peak(summary.files, audit_of(folder / "home").count(b"\n"), peak, max(held))


@pytest.mark.slow
def test_four_times_the_logs_take_no_more_memory(tmp_path: Path) -> None:
    """A log more costs its place in a list: not its rows, not its state, not what was found in it."""
    few, many = read(tmp_path / "few", FEW_TEAMS), read(tmp_path / "many", MANY_TEAMS)
    assert many.rows > 3 * few.rows > 90 * LIMITS["a2a_trust.store.store.SLICE_ROWS"]
    assert max(few.held, many.held) <= 2 * LIMITS["a2a_trust.backfill.spool.RUN_ROWS"]
    per_log = (many.bytes - few.bytes) / (many.logs - few.logs)
    assert per_log < LISTED_BYTES, f"{few} {many}"


def judge(folder: Path, traces: int) -> tuple[int, int]:
    """Read one run of judges over so many traces into a new home; return its rows, and the peak of memory in bytes."""
    run = Run("judges", JUDGES)
    for number in range(traces):
        run.item(f"t{number}")
        for seat in ("strict", "kind"):
            run.vote(seat, "verdict")
            run.quote(seat, "verified")
        run.outcome(None, "agreed", "accept")
    run.write(folder / "runs", lines=100)
    with TrustStore(folder / "home"):
        pass
    tracemalloc.start()
    try:
        read_runs(folder / "home", folder / "runs")
        return audit_of(folder / "home").count(b"\n"), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_a_long_log_takes_its_facts_and_no_more(tmp_path: Path) -> None:
    """What is found in one log, and the rows of it, are never all in memory."""
    few, many = judge(tmp_path / "few", FEW_TRACES), judge(tmp_path / "many", MANY_TRACES)
    assert many[0] > 3.9 * few[0] > 10 * LIMITS["a2a_trust.store.store.SLICE_ROWS"]
    per_row = (many[1] - few[1]) / (many[0] - few[0])
    assert per_row < FINDING_BYTES, f"{few} {many}"
