"""How long judging trajectories takes, and how much memory: the whole command, on data sets of growing length.

Usage: python benchmarks/bench_judges.py [TRACES ...]      (default: 1000 2500 5000 10000)

Each trace is one of the twenty that come with the package, with some two hundred words added and one of a hundred
agents behind it, and is judged by the two reference judges. Then the run is checked, what waits for a person is listed,
and all of it becomes evidence. If time grows in proportion, ms a trace stay what they are.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from a2a_trust.jury import cases

DEFAULT = (1_000, 2_500, 5_000, 10_000)
WORDS = ("gate", "lamp", "order", "river", "stone")
ADDED = 200
AGENTS = 100
CHILD = """
import resource, subprocess, sys
code = subprocess.run([sys.executable, "-m", "a2a_trust", *sys.argv[1:]], stdout=subprocess.DEVNULL).returncode
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
print(code, round(peak))
"""


def write(path: Path, count: int) -> None:
    """Write a data set of so many traces."""
    data = cases.load("trajectories", "judges")
    if not isinstance(data, cases.Dataset):
        raise TypeError(path)
    rows = list(data.traces())
    with path.open("w", encoding="utf-8") as file:
        for number, row in zip(range(count), itertools.cycle(rows)):
            words = " ".join(WORDS[(number * 7 + place * place) % len(WORDS)] for place in range(ADDED))
            output = f"{row.output} {words}" if row.output else ""
            trace = {
                "trace_id": f"{row.trace_id}-{number}",
                "input": f"{row.input} {words}",
                "output": output,
                "label": row.label,
                "agent": {"name": f"worker {number % AGENTS}"},
            }
            file.write(json.dumps(trace, ensure_ascii=False) + "\n")


def measured(*arguments: str) -> tuple[float, int]:
    """Return the seconds and the peak of memory, in MB, of one command."""
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", CHILD, *arguments], check=True, capture_output=True, text=True)
    return time.monotonic() - began, int(done.stdout.split()[1])


def main() -> None:
    """Measure each length, and print a line for it."""
    counts = [int(argument) for argument in sys.argv[1:]] or list(DEFAULT)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["A2A_TRUST_HOME"] = str(Path(folder, "home"))
        for count in counts:
            path, runs = Path(folder, f"{count}.jsonl"), Path(folder, str(count))
            write(path, count)
            print(f"{count:>7,} traces", end="", flush=True)
            for words in (
                ("jury", "run", str(path), "-q", "--output-dir", str(runs)),
                ("jury", "check", str(runs)),
                ("jury", "review", str(runs)),
                ("backfill", str(runs), "--include-fixtures", "--home", f"{runs}-home"),
            ):
                seconds, peak = measured(*words)
                name = " ".join(word for word in words[:2] if word.isalpha())
                each = 1000 * seconds / count
                print(f"   {name} {seconds:.1f} s, {each:.2f} ms a trace, {peak} MB", end="", flush=True)
            print()


if __name__ == "__main__":
    main()
