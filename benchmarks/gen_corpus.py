"""Make a sessions tree as the DeepSeek Harness would have written it, of any size, the same one every time.

Shapes, sizes and proportions are fitted to two kinds of real logs:

* a long session of one agent with a real model: 5,350 lines in 3,759 frames, 3.54 MB of lines in 1.55 MB of file (ratio
  2.28), 1.42 lines and 944 bytes a frame. 87 % of the lines are the stream (38.6 % reasoning, 24.1 % single chunks,
  17.3 % tool calls, 6.8 % text), 2.5 % each are tool calls and their results, 2.3 % finished messages.
* the teams in `fixtures/dsh`: the exact spelling of headers, fork seeds, roster, tasks, messages and tool errors.

The tree is `<root>/--<workspace>--/<session>/session.jsonl.zstd`, or `session.v4.jsonl.zstd`. A log is a row of
independent frames with checksums and without a content size: the header alone, then one frame for each durable batch.

The same arguments give the same lines everywhere, and the same bytes wherever zstd compresses alike. What is in the
tree is told in a manifest beside it, `<root>.manifest.json`: sessions, stored lines, logical events (packed rows
counted as what they hold), frames, bytes, tool calls, tasks, messages.
"""

from __future__ import annotations

import argparse
import json
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from corpus_team import COUNTS, FILE_NAMES, Shape, Team
from corpus_text import MOST_TYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

DEFAULT_SHAPE: Final = Shape()
DEFAULT_SEED: Final = "dsh"
TEAMS_A_JOB: Final = 4


def generate(
    root: Path, shape: Shape = DEFAULT_SHAPE, *, teams: int = 5, seed: str = DEFAULT_SEED, jobs: int = 1
) -> dict[str, float]:
    """Write a sessions tree below `root` and return its manifest.

    Args:
        root: Folder of the tree; what stands in it already stays.
        shape: What the sessions are like.
        teams: Teams, or sessions where the shape is solo.
        seed: Another seed gives other agents and other texts.
        jobs: Processes; they do not change the result.

    Returns:
        Counts over all logs, and three ratios: `ratio` of raw to compressed bytes, `lines_per_frame`, `raw_per_frame`.
    """
    write = partial(_write_team, root, seed, shape)
    manifest: dict[str, float] = dict.fromkeys(COUNTS, 0)
    if jobs > 1:
        with ProcessPoolExecutor(jobs) as pool:
            written = list(pool.map(write, range(teams), chunksize=TEAMS_A_JOB))
    else:
        written = [write(number) for number in range(teams)]
    for counts in written:
        for name, count in counts.items():
            manifest[name] += count
    manifest["ratio"] = round(manifest["raw"] / manifest["comp"], 3)
    manifest["lines_per_frame"] = round(manifest["lines"] / manifest["frames"], 3)
    manifest["raw_per_frame"] = round(manifest["raw"] / manifest["frames"], 1)
    return manifest


def _write_team(root: Path, seed: str, shape: Shape, number: int) -> dict[str, int]:
    return Team(root, seed, number, shape).write()


def _whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """Return what reads a whole number in a range from the command line."""

    def read(text: str) -> int:
        number = int(text)
        if number < least or (most is not None and number > most):
            limits = f"at least {least}" if most is None else f"{least} to {most}"
            raise argparse.ArgumentTypeError(f"{number}: expected {limits}")
        return number

    return read


def _share(text: str) -> float:
    """Read a share from the command line."""
    share = float(text)
    if not 0 <= share <= 1:
        raise argparse.ArgumentTypeError(f"{text}: expected a number in [0, 1]")
    return share


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("root", type=Path, help="folder of the tree")
    add("--teams", type=_whole(1), default=5, help="teams, or sessions with --solo (default %(default)s)")
    add("--events-per-session", type=_whole(1), default=450, help="mean stored lines a session")
    add("--solo", action="store_true", help="sessions without a team")
    add("--seed", default=DEFAULT_SEED, help="another seed gives other agents and other texts")
    add("--types", type=_whole(1, MOST_TYPES), default=200, help="agent types that recur")
    add("--unique", type=_share, default=0.3, help="share of teammates with a description of their own")
    add("--fork", type=_share, default=0.1, help="share of teammates that inherit the Lead's history")
    add("--torn", type=_share, default=0.0, help="share of logs whose last frame is cut")
    add("--workspaces", type=_whole(1), default=12, help="working directories")
    add("--stagger-ms", type=_whole(0), default=240_000, help="time between the starts of two teams")
    add("--format", choices=FILE_NAMES, default="v0", help="v0: the stream is lines; v4: it is inside the messages")
    add("--jobs", type=_whole(1), default=2, help="processes; they do not change the result")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Write a tree and its manifest as the command line says, and print the manifest."""
    given = vars(_parser().parse_args(arguments))
    root: Path = given["root"]
    shape = Shape(**{field.name: given[field.name] for field in fields(Shape)})
    started = time.monotonic()
    manifest = generate(root, shape, teams=given["teams"], seed=given["seed"], jobs=given["jobs"])
    told = {**manifest, "gen_seconds": round(time.monotonic() - started, 1), "args": given | {"root": str(root)}}
    root.with_name(f"{root.name}.manifest.json").write_text(json.dumps(told, indent=1), encoding="utf-8")
    print(json.dumps(told))


if __name__ == "__main__":
    main()
