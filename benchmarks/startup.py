"""What the commands cost that somebody waits for: CPU seconds of a whole process, start of Python included.

Prints a table: for homes of several sizes, the least of several runs of each command. The figures of
docs/integrations.md come from here: `python benchmarks/startup.py`.
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from a2a_trust.model import Details, Dimension, Profile, Role, Row
from a2a_trust.store import TrustStore

if TYPE_CHECKING:
    from collections.abc import Iterator

START = 1_790_000_000_000
EVENT = b'{"hook_event_name": "SessionStart", "source": "startup"}'
COMMANDS = {
    "python -c pass": (),
    "--version": ("--version",),
    "status": ("status",),
    "signals": ("signals",),
    "signals --by name": ("signals", "--by", "name"),
    "hook": ("hook", "claude-code"),
    "show": ("show",),
}
HOMES = ((10, 50), (100, 100), (1_000, 100))


GOOD_SHARE = 0.8


def rows(agents: int, evidence: int) -> Iterator[Row]:
    """So many agent types that come back once, each with so many tool calls; the same every time."""
    luck = random.Random(1)  # noqa: S311 - made-up evidence, not a secret
    for agent in range(agents):
        profile = Profile(name=f"worker-{agent}", description=f"does thing {agent}", provider="spawn", context="fresh")
        for number in range(2):
            session, time = f"s{agent}-{number}", START + agent * 1000 + number
            registered = Details(profile=profile, role=Role.TEAMMATE, source="dsh", project="p")
            yield _row(f"member:{session}", "member-registered", profile, (session, time, 0), registered)
            for seq in range(1, evidence // 2 + 1):
                kind = "tool-success" if luck.random() < GOOD_SHARE else "tool-error"
                call = Details(tool="bash", call=f"c{seq}", role=Role.TEAMMATE, source="dsh", project="p", ms=5)
                yield _row(f"tool:{session}:c{seq}", kind, profile, (session, time, seq), call)


def _row(row_id: str, kind: str, profile: Profile, place: tuple[str, int, int], details: Details) -> Row:
    session, time, seq = place
    return Row(
        v=2,
        id=row_id,
        time=time,
        session=session,
        gen=0,
        seq=seq,
        pos=0,
        kind=kind,
        subject=profile.fingerprint,
        subject_name=profile.name,
        dim=Dimension.COMPETENCE if seq else None,
        evidence=details,
    )


def cpu_seconds(command: list[str], runs: int) -> float:
    """The least CPU time, user and system, of several runs."""
    return min(_once(command) for _ in range(runs))


def _once(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, input=EVENT, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    runs = parser.parse_args().runs
    sizes = " | ".join(f"{agents} types, {agents * evidence} rows" for agents, evidence in HOMES)
    print(f"| CPU s, least of {runs} | {sizes} |")
    print("|---|" + "---|" * len(HOMES))
    table: dict[str, list[str]] = {name: [] for name in COMMANDS}
    for agents, evidence in HOMES:
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder) / "home"
            with TrustStore(home) as store:
                store.commit(rows(agents, evidence))
            for name, arguments in COMMANDS.items():
                table[name].append(f"{cpu_seconds(_command(arguments, home), runs):.3f}")
    for name, figures in table.items():
        print(f"| `{name}` | {' | '.join(figures)} |")


def _command(arguments: tuple[str, ...], home: Path) -> list[str]:
    if not arguments:
        return [sys.executable, "-c", "pass"]
    place = [] if arguments == ("--version",) else ["--home", str(home)]
    return [sys.executable, "-m", "a2a_trust", *arguments, *place]


if __name__ == "__main__":
    main()
