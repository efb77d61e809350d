"""Reading in several processes: no log, and no signal, takes others with it, and every number of processes is alike."""

from __future__ import annotations

import concurrent.futures
import importlib
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from a2a_trust.backfill import Options
from a2a_trust.backfill.run import run as run_logs
from homes import FIXTURES, agents_of, audit_of, ingest

from a2a_trust.sources.dsh import DshSource
from a2a_trust.store import TrustStore
from a2a_trust.store.audit import AuditWriter

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a_trust.backfill.run import Progress

    from a2a_trust.model import Row
    from a2a_trust.sources.base import LogFile, Reading
    from a2a_trust.store.audit import Placement

LOGS = FIXTURES / "b-shared-home"
needs_fork = pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="a process that is not forked reads with its own code"
)
needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="no signals to process groups here")
# By its dotted name the module would be the function that the package offers.
RUN = importlib.import_module("a2a_trust.backfill.run")
READ = DshSource.read


@pytest.fixture(autouse=True)
def pool_for_every_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start processes however little there is to read, by forking, so that they read as the test says."""
    monkeypatch.setattr(RUN, "POOL_BYTES", 0)

    class Pool(concurrent.futures.ProcessPoolExecutor):
        def __init__(self, processes: int) -> None:
            methods = multiprocessing.get_all_start_methods()
            context = multiprocessing.get_context("fork" if "fork" in methods else None)
            super().__init__(processes, mp_context=context)

    monkeypatch.setattr("concurrent.futures.ProcessPoolExecutor", Pool)


@pytest.fixture
def one_process(tmp_path: Path) -> Path:
    """A home that one process has read the logs into."""
    ingest(tmp_path / "one-process", LOGS)
    return tmp_path / "one-process"


def in_a_worker() -> bool:
    """Whether this process was started by another one to read."""
    return multiprocessing.parent_process() is not None


@pytest.mark.parametrize("jobs", [0, 2, 3, 7, 40])
def test_every_number_of_processes_gives_the_same_bytes(tmp_path: Path, one_process: Path, jobs: int) -> None:
    """One a core, a few, more than there are logs: the audit log is the same."""
    ingest(tmp_path / "home", LOGS, jobs=jobs)
    assert audit_of(tmp_path / "home") == audit_of(one_process)


@needs_fork
def test_a_log_that_kills_its_reader_is_counted_and_the_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process dies, and with it the pool: only the log that does it again on its own is given up."""
    logs = tmp_path / "logs"
    shutil.copytree(LOGS, logs)
    deadly = max(logs.rglob("session*"), key=lambda path: path.stat().st_size if path.is_file() else 0)

    def read(self: DshSource, log: LogFile, cursor: bytes | None) -> Reading:
        if log.path == str(deadly) and in_a_worker():
            os._exit(9)
        return READ(self, log, cursor)

    monkeypatch.setattr(DshSource, "read", read)
    summary = ingest(tmp_path / "home", logs, jobs=2)
    assert summary.skipped["reader-failed"] == 1
    assert summary.skipped_at["reader-failed"] == [f"{deadly}: the process that read it died"]
    monkeypatch.undo()
    deadly.rename(tmp_path / "away")
    ingest(tmp_path / "without", logs)
    assert agents_of(tmp_path / "home") == agents_of(tmp_path / "without")
    (tmp_path / "away").rename(deadly)
    ingest(tmp_path / "home", logs)
    ingest(tmp_path / "whole", logs)
    assert agents_of(tmp_path / "home") == agents_of(tmp_path / "whole")


@needs_fork
def test_where_every_process_dies_all_is_read_here(
    tmp_path: Path, one_process: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A place in which no process ever reads anything is no reason to read nothing."""

    def read(self: DshSource, log: LogFile, cursor: bytes | None) -> Reading:
        if in_a_worker():
            os._exit(9)
        return READ(self, log, cursor)

    monkeypatch.setattr(DshSource, "read", read)
    assert ingest(tmp_path / "home", LOGS, jobs=2).skipped == {}
    assert audit_of(tmp_path / "home") == audit_of(one_process)


def test_where_no_process_can_be_started_all_is_read_here(
    tmp_path: Path, one_process: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some systems offer no semaphores, or no more processes."""

    def refuse(_processes: int) -> None:
        raise OSError("no more processes")

    monkeypatch.setattr("concurrent.futures.ProcessPoolExecutor", refuse)
    ingest(tmp_path / "home", LOGS, jobs=2)
    assert audit_of(tmp_path / "home") == audit_of(one_process)


# ------------------------------------------------------------------ interrupts


def interrupt_after(logs: int) -> Callable[[Progress], None]:
    """Give what reports progress and is interrupted after so many logs."""

    def report(now: Progress) -> None:
        if now.logs >= logs:
            raise KeyboardInterrupt

    return report


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("logs", [0, 1, 4])
def test_an_interrupt_while_logs_are_read_leaves_a_home_that_goes_on(
    tmp_path: Path, one_process: Path, jobs: int, logs: int
) -> None:
    """Nothing is recorded by halves, nothing is left in the folder, and the next run ends as if nothing had been."""
    home = tmp_path / "home"
    with pytest.raises(KeyboardInterrupt), TrustStore(home) as store:
        run_logs(store, {"dsh": DshSource()}, Options(paths=[LOGS], jobs=jobs), {}, interrupt_after(logs))
    assert {path.name for path in home.iterdir()} <= {path.name for path in one_process.iterdir()}
    ingest(home, LOGS)
    assert audit_of(home) == audit_of(one_process)


@pytest.mark.parametrize("slices", range(1, 6))
def test_an_interrupt_between_slices_keeps_what_was_committed(
    tmp_path: Path, one_process: Path, monkeypatch: pytest.MonkeyPatch, slices: int
) -> None:
    """The rows of the slices before stand, and the next run adds the others."""
    home = tmp_path / "home"
    with TrustStore(home):
        pass
    monkeypatch.setattr("a2a_trust.store.store.SLICE_ROWS", 20)
    with monkeypatch.context() as patch:
        append, left = AuditWriter.append, [slices]

        def interrupted(self: AuditWriter, rows: list[Row]) -> list[Placement]:
            if not left[0]:
                raise KeyboardInterrupt
            left[0] -= 1
            return append(self, rows)

        patch.setattr(AuditWriter, "append", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ingest(home, LOGS)
    assert audit_of(home).count(b"\n") == 1 + 20 * slices
    summary = ingest(home, LOGS)
    assert (summary.known, audit_of(home)) == (20 * slices, audit_of(one_process))
    assert agents_of(home) == agents_of(one_process)


SCRIPT = """
import importlib, multiprocessing, os, signal, sys, time
from pathlib import Path
# A shell that runs the tests in the background has what it starts ignore interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)
from a2a_trust.backfill.run import Options, run
from a2a_trust.sources.dsh import DshSource
from a2a_trust.store import TrustStore
from a2a_trust.plain import run_told
importlib.import_module("a2a_trust.backfill.run").POOL_BYTES = 0
multiprocessing.set_start_method("fork")
read = DshSource.read
def slow(self, log, cursor):
    if multiprocessing.parent_process() is not None:
        os.write(1, b"%d\\n" % os.getpid())
        for _ in range(6000):
            if os.path.exists(sys.argv[3]):
                break
            time.sleep(0.01)
    return read(self, log, cursor)
DshSource.read = slow
def main():
    with TrustStore(Path(sys.argv[1])) as store:
        run(store, {"dsh": DshSource()}, Options(paths=[Path(sys.argv[2])], jobs=2), {})
run_told(main)
"""


def is_running(process: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{process}/stat")
    return not state.exists() or state.read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"


@needs_fork
@needs_signals
def test_processes_that_read_end_with_the_one_that_started_them(tmp_path: Path, one_process: Path) -> None:
    """Killed, it can tell nobody. They would go on holding the lock of the home."""
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "home"), str(LOGS), str(tmp_path / "go on")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        workers = [int(process.stdout.readline()) for _ in range(2)]
        process.kill()
        process.wait()
    deadline = time.monotonic() + 30
    while any(map(is_running, workers)):
        assert time.monotonic() < deadline, "a process reads on for nobody"
        time.sleep(0.01)
    ingest(tmp_path / "home", LOGS)
    assert audit_of(tmp_path / "home") == audit_of(one_process)


@needs_fork
@needs_signals
def test_ctrl_c_ends_all_processes_without_a_traceback(tmp_path: Path) -> None:
    """The terminal interrupts the whole group; one process answers for all."""
    go_on = tmp_path / "go on"
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "home"), str(LOGS), str(go_on)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        workers = [int(process.stdout.readline()) for _ in range(2)]
        os.killpg(process.pid, signal.SIGINT)
        # The interrupt is under way before anything more is read, however slow the machine is.
        go_on.touch()
        _, told = process.communicate(timeout=60)
    assert (process.returncode, told) == (130, b"")
    assert not any(map(is_running, workers))
