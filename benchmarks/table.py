"""The figures of docs/performance.md: what a run costs, each as a ratio to a baseline measured beside it.

Usage: python benchmarks/table.py [--sizes S,M,L,XL] [--formats v0,v4] [--runs 3] [--keep FOLDER] [--only reading|homes]

Prints three tables: reading logs, homes that are large already, and the targets with whether each holds. The corpora
are made by `gen_corpus`, the same ones each time; `--keep` keeps them for the next time. XL takes 3 GB of disk and
half an hour. Figures are medians; a ratio is that of two runs made one after the other.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from corpus_team import Shape
from gen_corpus import generate
from growth import LATER_THAN_ALL, grow, leads
from measured import Cost, run
from startup import rows

from a2a_trust.store import TrustStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIZES = {"S": 2, "M": 32, "L": 320, "XL": 1_600}
"""Teams of a corpus: about 10 k, 200 k, 2 M and 10 M lines in format v0."""
EVENTS = {"v0": 1_500, "v4": 210}
"""Lines a session: a v4 log says the same in a seventh of the lines."""
MANY_TEAMS, MANY_EVENTS = 2_220, 60
"""A corpus of 10,000 short sessions."""
MANY_ROWS = 2_000_000
MANY_TYPES = 1_000
FEW_AGENTS, FEW_ROWS = 1_000, 100
"""Agent types, and evidence of each, in the home that `show` and the quick commands are asked about."""
SIGNAL = b'{"hook_event_name": "SessionStart", "source": "startup"}'


class Target(NamedTuple):
    """A figure and what it must not exceed."""

    what: str
    value: float
    most: float
    unit: str

    @property
    def line(self) -> str:
        """The row of the table."""
        holds = "yes" if self.value <= self.most else "**no**"
        return f"| {self.what} | {self.value:.2f} {self.unit} | ≤ {self.most:g} {self.unit} | {holds} |"


class Bench:
    """Runs everything in one folder, and collects the targets."""

    def __init__(self, folder: Path, runs: int) -> None:
        self.folder = folder
        self.runs = runs
        self.home = folder / "home"
        self.targets: list[Target] = []
        self.line_cost: dict[str, dict[str, float]] = {}

    def corpus(self, name: str, teams: int, events: int, format_name: str) -> tuple[Path, int]:
        """Make a corpus if it is not there, and return its folder and how many lines it holds."""
        root = self.folder / name / "sessions"
        told = root.with_suffix(".lines")
        if not told.exists():
            shutil.rmtree(root, ignore_errors=True)
            manifest = generate(root, Shape(events_per_session=events, format=format_name), teams=teams, jobs=2)
            told.write_text(str(int(manifest["lines"])), encoding="ascii")
        return root, int(told.read_text(encoding="ascii"))

    def backfill(self, root: Path, *options: str, fresh: bool = False) -> Cost:
        """Read the logs of a corpus as a user does: from the folder in which the harness keeps them."""
        if fresh:
            shutil.rmtree(self.home, ignore_errors=True)
        nowhere = str(self.folder / "nowhere")
        environ = {
            **os.environ,
            "DSH_HOME": str(root.parent),
            "CLAUDE_CONFIG_DIR": nowhere,
            "A2A_TRUST_EVENTS": nowhere,
        }
        return run("backfill", "--home", str(self.home), *options, environ=environ)

    def grown(self, root: Path, log: Path, time: int = 0) -> Cost:
        """Read the logs of a corpus after one of them has grown by a frame."""
        grow(log, time)
        return self.backfill(root)

    def times(self, measure: Callable[[], Cost]) -> list[Cost]:
        """Measure as often as asked."""
        return [measure() for _ in range(self.runs)]

    # -------------------------------------------------------------- reading

    def reading(self, size: str, format_name: str) -> str:
        """Return the row of one corpus."""
        root, lines = self.corpus(f"{size}-{format_name}", SIZES[size], EVENTS[format_name], format_name)
        base, one, two = [], [], []
        for _ in range(self.runs):
            base.append(run("--decode", str(root)))
            one.append(self.backfill(root, "--jobs", "1", fresh=True))
            two.append(self.backfill(root, "--jobs", "2", fresh=True))
        cpu = statistics.median(a.cpu / b.cpu for a, b in zip(one, base, strict=True))
        wall = statistics.median(a.wall / b.wall for a, b in zip(two, base, strict=True))
        parent, worker = max(cost.parent_mb for cost in one + two), max(cost.worker_mb for cost in two)
        again = self.times(lambda: self.backfill(root))
        log = leads(root)[-1]
        grown = self.times(lambda: self.grown(root, log, LATER_THAN_ALL))
        base_cpu = median(base)
        if size == "L":
            self.target(f"whole job, one process, CPU, {format_name}, {size}", cpu, 1.3, "x")
            self.target(f"whole job, two processes, wall, {format_name}, {size}", wall, 0.7, "x")
        if size in ("L", "XL"):
            self.target(f"memory of the parent, {format_name}, {size}", parent, 150, "MB")
            self.target(f"memory of a worker, {format_name}, {size}", worker, 100, "MB")
        self.line_cost.setdefault(format_name, {})[size] = (median(one) - self.bare) / lines * 1e6
        return (
            f"| {size} | {format_name} | {lines:,} | {base_cpu:.2f} | {median(one):.2f} ({cpu:.2f}x) | "
            f"{statistics.median(cost.wall for cost in two):.2f} ({wall:.2f}x) | {parent:.0f} | {worker:.0f} | "
            f"{median(again):.2f} ({median(again) / base_cpu:.2f}x) | {median(grown):.2f} "
            f"({median(grown) / base_cpu:.2f}x) |"
        )

    def growth(self) -> None:
        """Hold the cost of a line in each size against that in M."""
        for format_name, costs in self.line_cost.items():
            for size in ("L", "XL"):
                if "M" in costs and size in costs:
                    off = abs(costs[size] / costs["M"] - 1) * 100
                    self.target(f"cost of a line, M to {size}, {format_name}, change", off, 10, "%")

    # -------------------------------------------------------------- homes

    @property
    def bare(self) -> float:
        """CPU seconds of the command's bare start."""
        return median(self.times(lambda: run("backfill", "--help")))

    def many_sessions(self) -> Iterator[str]:
        """Yield the rows of a home that holds 10,000 sessions and two million rows."""
        root, _ = self.corpus("many", MANY_TEAMS, MANY_EVENTS, "v0")
        kept = self.folder / "many-home"
        if not (kept / "ledger.json").exists():
            self.backfill(root, fresh=True)
            with TrustStore(self.home) as store:
                missing = MANY_ROWS - store.ledger.audit.rows
                store.commit_ordered(rows(MANY_TYPES, missing // MANY_TYPES))
            shutil.rmtree(kept, ignore_errors=True)
            self.home.rename(kept)
        self.home = kept
        bare = self.bare
        yield f"| bare start of `backfill` | {bare:.2f} | |"
        self.backfill(root)
        again = median(self.times(lambda: self.backfill(root)))
        yield f"| nothing new, 10,000 sessions, 2 M rows | {again:.2f} | {again - bare:.2f} over the bare start |"
        first, *_, log = leads(root)
        grown = median(self.times(lambda: self.grown(root, log, LATER_THAN_ALL)))
        yield f"| one log grown by one frame | {grown:.2f} | {grown - again:.2f} more |"
        late = median(self.times(lambda: self.grown(root, first)))
        yield f"| the same, older than what its agent did since | {late:.2f} | {late - again:.2f} more |"
        self.target("nothing new, 10,000 sessions, CPU over the bare start", again - bare, 0.5, "s")
        self.target("one log grown by one frame, CPU more", grown - again, 0.1, "s")
        self.target("one log grown by one late frame, CPU more", late - again, 0.1, "s")

    def quick_commands(self) -> Iterator[str]:
        """Yield the rows of the commands that somebody waits for."""
        self.home = self.folder / "types-home"
        if not (self.home / "ledger.json").exists():
            with TrustStore(self.home) as store:
                store.commit(rows(FEW_AGENTS, FEW_ROWS))
        place = ("--home", str(self.home))
        bare = median(self.times(lambda: run("show", "--help")))
        show = median(self.times(lambda: run("show", *place)))
        yield f"| `show`, 1,000 agent types | {show:.2f} | {show - bare:.2f} over the bare start |"
        self.target("`show`, 1,000 agent types, CPU over the bare start", show - bare, 0.3, "s")
        for name, arguments in (("status", ()), ("signals", ()), ("hook", ("claude-code",))):
            cost = median(self.times(lambda: run(name, *arguments, *place, data=SIGNAL)))  # noqa: B023 - called at once
            yield f"| `{name}`, 1,000 agent types | {cost:.3f} | |"
            self.target(f"`{name}`, CPU in all", cost, 0.1, "s")

    def target(self, what: str, value: float, most: float, unit: str) -> None:
        """Note a figure that has a target."""
        self.targets.append(Target(what, value, most, unit))


def median(costs: list[Cost]) -> float:
    """Return the median of the CPU seconds."""
    return statistics.median(cost.cpu for cost in costs)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="S,M,L", help="of S, M, L, XL (default %(default)s)")
    parser.add_argument("--formats", default="v0,v4")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="folder for the corpora, which stay there")
    parser.add_argument("--only", choices=("reading", "homes"))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        bench = Bench(folder, given.runs)
        if given.only != "homes":
            print(
                "| size | format | lines | decode only, CPU s | one process, CPU s | two, wall s | parent MB | ", end=""
            )
            print("worker MB | nothing new, CPU s | one frame more, CPU s |\n|---|---|---|---|---|---|---|---|---|---|")
            for size in given.sizes.split(","):
                for format_name in given.formats.split(","):
                    print(bench.reading(size, format_name), flush=True)
            bench.growth()
            print()
        if given.only != "reading":
            print("| home | CPU s | |\n|---|---|---|")
            for line in (*bench.many_sessions(), *bench.quick_commands()):
                print(line, flush=True)
            print()
        print("| target | found | at most | holds |\n|---|---|---|---|")
        print("\n".join(target.line for target in bench.targets))
        shutil.rmtree(folder / "home", ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
