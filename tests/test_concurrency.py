"""Several processes on one home at once: writers wait for each other, readers for nobody, and see only whole things."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from faulty import as_nobody, folder_for_homes, read_folder
from made_rows import AGENTS, registered, tool_call

from a2a_trust.model import Dimension
from a2a_trust.signals import TrustSignals
from a2a_trust.store import TrustStore, read_ledger
from a2a_trust.store.reader import AUDIT, read_all_rows
from a2a_trust.store.verify import verify

if TYPE_CHECKING:
    from collections.abc import Callable

COMMITS = 6
ROWS = 4
READERS = 2


def in_process(work: Callable[[], None]) -> int:
    """Start a process for some work; its exit status says whether that came to its end."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        finally:
            # Nothing of the test run may happen in the child.
            os._exit(1)
    return child


def ended_well(child: int) -> bool:
    """Wait for a process and tell whether it came to its end."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def rows_of_writer(writer: int, commit: int) -> list:
    """Rows that only one writer has, and rows that all writers bring."""
    shared = [tool_call(commit * ROWS + place, session="shared") for place in range(ROWS)]
    own = [tool_call(commit * ROWS + place, session=f"w{writer}", agent=writer % 2) for place in range(ROWS)]
    return [registered(0), registered(1), *shared, *own]


def write(home: Path, writer: int) -> None:
    """Commit a few times, each time in a run of its own."""
    for commit in range(COMMITS):
        with TrustStore(home) as store:
            store.commit(rows_of_writer(writer, commit))


def read_until(home: Path, stop: Path) -> None:
    """Read again and again; what was there once stays, and every ledger is whole."""
    rows = samples = 0
    while not stop.exists():
        if not (home / AUDIT).exists():
            continue
        ledger = read_ledger(home)
        now = sum(agent.trust[Dimension.COMPETENCE].samples for agent in ledger.agents.values())
        assert (ledger.audit.rows, now) >= (rows, samples)
        rows, samples = ledger.audit.rows, now
        assert len(list(read_all_rows(home))) >= rows
        assert verify(home).exit_code == 0


@pytest.mark.parametrize("writers", [2, 8])
def test_writers_at_once_lose_and_repeat_nothing(writers: int, tmp_path: Path) -> None:
    """Every row of every writer is there once, whoever came first, and readers never saw anything broken."""
    home, stop = tmp_path / "home", tmp_path / "stop"
    with TrustStore(home):
        pass
    readers = [in_process(lambda: read_until(home, stop)) for _ in range(READERS)]
    started = [in_process(lambda writer=writer: write(home, writer)) for writer in range(writers)]
    written = [ended_well(child) for child in started]
    stop.touch()
    assert written == [True] * writers
    assert [ended_well(child) for child in readers] == [True] * READERS
    expected = {
        row.id for writer in range(writers) for commit in range(COMMITS) for row in rows_of_writer(writer, commit)
    }
    found = [row.id for row in read_all_rows(home) if row.kind != "policy"]
    assert sorted(found) == sorted(expected)
    assert verify(home).defects == []


@pytest.mark.parametrize("left", ["whole", "lagging", "torn"])
def test_a_reader_works_in_a_folder_it_may_not_write(left: str) -> None:
    """No lock, no temporary file, no cache: a reader asks for nothing but to read, whatever state a home is in."""
    with tempfile.TemporaryDirectory(dir=folder_for_homes()) as root:
        home = Path(root) / "home"
        with TrustStore(home) as store:
            store.commit([registered(), tool_call(1)])
        ledger = (home / "ledger.json").read_bytes()
        with TrustStore(home) as store:
            store.commit([tool_call(2)])
        if left == "lagging":
            (home / "ledger.json").write_bytes(ledger)
        elif left == "torn":
            with (home / AUDIT).open("ab") as file:
                file.write(b'{"half\n{"a":1}\n')
        before = read_folder(home)
        with as_nobody(home):
            with pytest.raises(PermissionError):
                (home / "new").touch()
            signal = TrustSignals(home).for_agent(AGENTS[0])
            assert signal.dimensions[Dimension.COMPETENCE].samples == 2
            assert len(list(TrustSignals(home).rows_of(AGENTS[0]))) == 3
            assert (verify(home).exit_code == 0) is (left != "torn")
        assert read_folder(home) == before
        shutil.rmtree(home)
