"""How long verifying an audit log takes, and how much memory: rows are made and committed through the library.

Usage: python benchmarks/bench_verify.py [ROWS]      (default: 1,000,000, about 610 MB on disk)

A session a commit, five of twenty agents in each. Every tenth session is committed after the one that follows it in
time, so that about a tenth of the rows come late for some agent; the others are in order.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from a2a_trust.model import ROW_VERSION, Details, Dimension, Profile, Role, Row
from a2a_trust.store import TrustStore

START_MS = 1_796_100_000_000
SESSION_ROWS = 10_000
AGENTS = [Profile(name=f"agent-{number}", description="Works.", provider="spawn") for number in range(20)]
TEAM = 5
TASK_EVERY = 50
ERROR_EVERY = 11
VERIFY = """
import resource, sys, time
from pathlib import Path
from a2a_trust.store.verify import verify
began = time.monotonic()
found = verify(Path(sys.argv[1]))
seconds = time.monotonic() - began
peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
busy, size = time.process_time(), found.bytes / 1e6
print(f"verified  {found.rows:,} rows, {size:,.0f} MB in {seconds:.1f} s ({busy:.1f} s of processor time), "
      f"peak {peak_mb:.0f} MB")
sys.exit(found.exit_code)
"""


def row(session: int, number: int) -> Row:
    """Return one row of a session: a tool call, or now and then a completed task."""
    profile = AGENTS[(session * 3 + number % TEAM) % len(AGENTS)]
    place = session * SESSION_ROWS + number
    task = number % TASK_EVERY == TASK_EVERY - 1
    kind = "task-completed" if task else "tool-error" if number % ERROR_EVERY == 0 else "tool-success"
    own = f"session-{session:08}-{profile.name}"
    details = Details(
        tool=None if task else "bash",
        call=None if task else f"call_{place:012}",
        ms=None if task else 20 + number % 900,
        task=f"task-{number}" if task else None,
        revision=2 if task else None,
        owner=own if task else None,
        since=START_MS + (place - number) * 100 if task else None,
        role=Role.TEAMMATE,
        model="script-1",
        project="/home/dev/project",
        source="dsh",
        rules=1,
    )
    return Row(
        v=ROW_VERSION,
        id=f"task:lead-{session:08}:task-{number}@2:competence" if task else f"tool:{own}:call_{place:012}",
        time=START_MS + place * 100,
        session=f"lead-{session:08}" if task else own,
        gen=0,
        seq=number,
        pos=0,
        team_id=f"lead-{session:08}",
        kind=kind,
        subject=profile.fingerprint,
        subject_name=profile.name,
        dim=Dimension.COMPETENCE,
        evidence=details,
    )


def main() -> int:
    """Make a home, verify it in a process of its own, and print what that took."""
    rows = int(sys.argv[1].replace(",", "").replace("_", "")) if len(sys.argv) > 1 else 1_000_000
    sessions = list(range(rows // SESSION_ROWS))
    for place in range(8, len(sessions) - 1, 10):
        sessions[place], sessions[place + 1] = sessions[place + 1], sessions[place]
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        began = time.monotonic()
        with TrustStore(home) as store:
            for session in sessions:
                store.commit(row(session, number) for number in range(SESSION_ROWS))
            late = sum(row.late is not None for row in store.rows())
        seconds = time.monotonic() - began
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
            1 << 20 if sys.platform == "darwin" else 1 << 10
        )
        print(f"written   {rows:,} rows, {late:,} of them late, in {seconds:.1f} s, peak {peak_mb:.0f} MB")
        return subprocess.run([sys.executable, "-c", VERIFY, str(home)], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
