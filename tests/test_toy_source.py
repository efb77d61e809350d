"""A source of somebody else, as `docs/sources.md` shows it: a distribution of its own with an entry point."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from markdown_it import MarkdownIt

from a2a_trust.testing import CHECKS

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = Path(__file__).resolve().parent.parent / "docs" / "sources.md"
LOGS = {
    "one.toylog": "START digger\nOK spade\nFAIL spade\nOK bucket\n",
    "deeper/two.toylog": "START digger\nFAIL pump\nwhat is this\nOK pump\n",
    "three.toylog": "START boss\n" + "OK phone\n" * 12,
}


def blocks(tag: str) -> list[str]:
    """The code blocks of the page with a tag."""
    tokens = MarkdownIt("commonmark").parse(PAGE.read_text(encoding="utf-8"))
    return [token.content for token in tokens if token.type == "fence" and token.info == tag]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Python with the toy installed beside us, in a folder that holds its logs and its conformance test."""
    root = tmp_path_factory.mktemp("toy")
    source, conformance = blocks("python")
    files = {
        "toy/a2a_toy.py": source,
        "toy/pyproject.toml": blocks("toml")[0],
        "work/test_toy.py": conformance,
        **{f"work/logs/{name}": text for name, text in LOGS.items()},
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    install = ["pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target"]
    subprocess.run([sys.executable, "-m", *install, root / "site", root / "toy"], check=True)
    kept = {"PATH": os.environ["PATH"], "HOME": str(root), "LANG": "C.UTF-8", "PYTHONPATH": str(root / "site")}

    def start(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *arguments]
        return subprocess.run(command, cwd=root / "work", env=kept, capture_output=True, text=True, check=False)

    return start


A2A_TRUST = ("-c", "from a2a_trust.cli import main; main()")


def test_the_toy_is_found_through_its_entry_point(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    """A run without `--source` reads the toy's logs, and says so."""
    done = run(*A2A_TRUST, "backfill", "logs", "--home", "home", "--json")
    summary = json.loads(done.stdout)
    assert (done.returncode, summary["sources"], summary["sessions"]) == (0, {"toy": 3}, {"main": 3})
    assert summary["skipped"] == {"malformed-line": 1}


def test_what_the_toy_reads_is_shown(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    """The toy's agents stand in the ledger with the evidence of its logs."""
    run(*A2A_TRUST, "backfill", "logs", "--home", "shown", "--source", "toy")
    shown = json.loads(run(*A2A_TRUST, "show", "--home", "shown", "--json").stdout)
    found = {agent["name"]: agent["dimensions"]["competence"] for agent in shown["agents"]}
    assert {name: (one["samples"], one["good"]) for name, one in found.items()} == {"digger": (5, 3), "boss": (12, 12)}


def test_the_toy_passes_the_conformance_suite(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    """The test that the page shows passes, with every check of the suite."""
    done = run("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_toy.py")
    assert done.returncode == 0, done.stdout
    assert f"{len(CHECKS)} passed" in done.stdout


def test_a_source_that_counts_twice_fails_the_suite(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    """The suite is no formality: a toy that names events by where a reading began does not pass."""
    broken = """
import random, sys
import a2a_toy
from pathlib import Path
from a2a_trust import testing
honest = a2a_toy.ToySource._facts
def facts(self, line, number, now):
    return honest(self, line, number + random.randrange(10**6), now)
a2a_toy.ToySource._facts = facts
try:
    testing.check_source(testing.Case("toy", Path("logs"), Path("broken")))
except testing.ConformanceError as error:
    sys.exit(str(error))
"""
    done = run("-c", broken)
    assert (done.returncode, done.stderr.startswith("source toy, logs logs: ")) == (1, True), done.stderr
