"""Killed at any moment, a writer loses no row that it acknowledged; the pipe on which it did so is the oracle."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from made_rows import registered, tool_call

from a2a_trust.store import TrustStore
from a2a_trust.store.reader import AUDIT
from a2a_trust.store.verify import verify

if TYPE_CHECKING:
    from pathlib import Path

ROUNDS = 30
SLOW_ROUNDS = 300
MOST_BATCHES = 3
LONGEST_MS = 30
"""The kill comes so long behind one of the first batches: into any part of the commit that follows, or a later one."""
BATCH = 3


def write_until_killed(home: Path, session: str, pipe: int) -> None:
    """Commit rows of a session, and name each batch on the pipe once the store has acknowledged it."""
    number = 0
    while True:
        rows = [tool_call(number + place, session=session, late=number % 2) for place in range(BATCH)]
        with TrustStore(home) as store:
            store.commit([registered(session=session), *rows])
        os.write(pipe, b"".join(row.id.encode() + b"\n" for row in rows))
        number += BATCH


def start_writer(home: Path, session: str) -> tuple[int, int]:
    """Start a process that writes; return its id and the end of the pipe to read from."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            write_until_killed(home, session, writing)
        finally:
            # Nothing of the test run may happen in the child, whatever became of it.
            os._exit(1)
    os.close(writing)
    return child, reading


def kill_rounds(home: Path, rounds: int) -> tuple[int, int]:
    """Kill a writer so many times; return how often it was killed, and how many rows it had acknowledged."""
    moments = random.Random(20_260_101)  # noqa: S311 - the moments of a test
    acknowledged: set[str] = set()
    killed = 0
    for number in range(rounds):
        child, pipe = start_writer(home, f"s{number}")
        with os.fdopen(pipe, "rb") as file:
            told = [file.readline() for _ in range(BATCH * moments.randint(0, MOST_BATCHES))]
            # Waiting is the point: nothing tells the moment at which a real process is killed.
            signal.sigtimedwait([], moments.uniform(0, LONGEST_MS / 1000))
            os.kill(child, signal.SIGKILL)
            told += file.readlines()
        _, status = os.waitpid(child, 0)
        killed += os.WIFSIGNALED(status)
        acknowledged |= {line.decode().rstrip("\n") for line in told}
        with TrustStore(home) as store:
            found = [row.id for row in store.rows()]
        assert acknowledged - set(found) == set()
        assert len(found) == len(set(found))
        assert verify(home).defects == []
    return killed, len(acknowledged)


def test_a_killed_writer_loses_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    """SIGKILL at random moments: every acknowledged row is there, none twice, and the home verifies."""
    killed, acknowledged = kill_rounds(tmp_path / "home", ROUNDS)
    assert killed == ROUNDS
    assert acknowledged > ROUNDS


@pytest.mark.slow
def test_a_writer_killed_hundreds_of_times_loses_nothing(tmp_path: Path) -> None:
    """The same, hundreds of times over one home."""
    killed, acknowledged = kill_rounds(tmp_path / "home", SLOW_ROUNDS)
    assert killed == SLOW_ROUNDS
    assert acknowledged > SLOW_ROUNDS


# ------------------------------------------------------------------ every system call

SYSTEM_CALLS = ("openat", "write", "pwrite64", "fsync", "fdatasync", "ftruncate", "link", "rename", "unlink", "mkdir")
FEWEST_CASES = 60
"""How many calls there are depends on the versions of Python and SQLite; about a hundred."""
WRITER = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[2:]
from made_rows import registered, tool_call
from a2a_trust.errors import TrustError
from a2a_trust.store import TrustStore
try:
    with TrustStore(Path(sys.argv[1])) as store:
        for first in (1, 4):
            rows = [tool_call(first + place) for place in range(3)]
            store.commit([registered(), *rows])
            print(*[row.id for row in rows], flush=True)
except TrustError as error:
    sys.exit(error.exit_code)
"""


def traced(home: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the writer under strace, which looks only at calls that concern the home."""
    watched = [f"--trace-path={home / name}" for name in WATCHED]
    program = [sys.executable, "-c", WRITER, str(home), os.path.dirname(__file__)]  # noqa: PTH120 - as text
    command = ["strace", "-f", "-qq", *watched, "-P", str(home), *options, *program]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


WATCHED = (
    AUDIT, "ledger.json", "ledger.json.tmp", "ledger.json.bak", "ledger.json.bak.tmp", "ledger.lock",
    "cache.sqlite", "cache.sqlite-journal",
)  # fmt: skip


def prepared(home: Path) -> Path:
    """Make a home with a row, so that a backup is kept."""
    with TrustStore(home) as store:
        store.commit([tool_call(0)])
    return home


def calls_made(tmp_path: Path) -> dict[str, int]:
    """Count the calls of each kind that one run makes."""
    log = tmp_path / "trace"
    done = traced(prepared(tmp_path / "counted"), "-e", f"trace={','.join(SYSTEM_CALLS)}", "-o", str(log))
    assert done.returncode == 0, done.stderr
    names = re.findall(r"^\d+ +(\w+)\(", log.read_text(), re.MULTILINE)
    return {name: names.count(name) for name in SYSTEM_CALLS if name in names}


@pytest.mark.slow
@pytest.mark.strace
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
@pytest.mark.parametrize("fault", ["error=EIO", "error=ENOSPC", "signal=SIGKILL"])
def test_each_system_call_may_fail_or_be_the_last(fault: str, tmp_path: Path) -> None:
    """Whatever call of the kernel fails or is the last: what was printed stands, and the next run ends well."""
    cases = 0
    for name, count in calls_made(tmp_path).items():
        for number in range(1, count + 1):
            home = prepared(tmp_path / f"{name}-{number}")
            done = traced(home, "-e", f"trace={name}", "-e", f"inject={name}:{fault}:when={number}", "-o", os.devnull)
            place = f"{name} {number} of {count}: {done.stderr}"
            assert "Traceback" not in done.stderr, place
            with TrustStore(home) as store:
                found = [row.id for row in store.rows()]
            assert set(done.stdout.split()) <= set(found), place
            assert traced(home, "-e", "trace=none", "-o", os.devnull).returncode == 0, place
            assert verify(home).defects == [], place
            with TrustStore(home) as store:
                found = [row.id for row in store.rows()]
            assert len(found) == len(set(found)) == 1 + 1 + 1 + 6, place
            cases += 1
            shutil.rmtree(home)
    assert cases >= FEWEST_CASES
