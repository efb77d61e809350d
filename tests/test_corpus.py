"""The made-up corpus of benchmarks/: the same every time, read without a loss, and never an empty page."""

from __future__ import annotations

import importlib
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from homes import agents_of, ingest

from a2a_trust.lenses import Lens
from a2a_trust.signals import TrustSignals

if TYPE_CHECKING:
    from a2a_trust.signals import Signal

# The scripts of benchmarks/ are no package; behind everything else on the path they can hide nothing.
sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))
gen_corpus = importlib.import_module("gen_corpus")
Shape = gen_corpus.Shape

FORMATS = ("v0", "v4")
SMALL = {"events_per_session": 80, "fork": 0.5, "torn": 0.5}
# No name of a teammate would come back in a handful of teams.
MANY_TEAMS = 24
SCORED_SHARE = 0.8


def tree(root: Path) -> dict[str, bytes]:
    """All files of a tree."""
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def samples(signal: Signal, least: int = 0) -> int:
    """Evidence of a signal, in the dimensions that have at least so much of it."""
    return sum(dim.samples for dim in signal.dimensions.values() if dim.samples >= least)


@pytest.mark.parametrize("name", FORMATS)
def test_the_same_arguments_give_the_same_corpus(name: str, tmp_path: Path) -> None:
    """Two runs, and two processes, write the same bytes and say the same of them."""
    shape = Shape(format=name, **SMALL)
    manifests = [
        gen_corpus.generate(tmp_path / "first", shape, teams=6, seed="s"),
        gen_corpus.generate(tmp_path / "again", shape, teams=6, seed="s"),
        gen_corpus.generate(tmp_path / "two", shape, teams=6, seed="s", jobs=2),
    ]
    first = tree(tmp_path / "first")
    assert manifests == [manifests[0]] * 3
    assert len(first) == manifests[0]["sessions"]
    assert first == tree(tmp_path / "again") == tree(tmp_path / "two")


def test_another_seed_gives_another_corpus(tmp_path: Path) -> None:
    """Nothing of a corpus depends on anything but its arguments, and the seed is one of them."""
    shape = Shape(**SMALL)
    gen_corpus.generate(tmp_path / "s", shape, teams=2, seed="s")
    gen_corpus.generate(tmp_path / "t", shape, teams=2, seed="t")
    assert not set(tree(tmp_path / "s")) & set(tree(tmp_path / "t"))


def test_the_script_writes_tree_and_manifest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command line gives what the library gives, and leaves the manifest beside the tree."""
    options = ["--teams", "2", "--events-per-session", "80", "--fork", "0.5", "--torn", "0.5", "--jobs", "1"]
    gen_corpus.main([str(tmp_path / "script"), *options])
    printed = json.loads(capsys.readouterr().out)
    expected = gen_corpus.generate(tmp_path / "library", Shape(**SMALL), teams=2)
    assert tree(tmp_path / "script") == tree(tmp_path / "library")
    assert json.loads((tmp_path / "script.manifest.json").read_text(encoding="utf-8")) == printed
    assert {name: printed[name] for name in expected} == expected


@pytest.mark.parametrize("name", FORMATS)
def test_a_corpus_is_read_without_a_loss(name: str, tmp_path: Path) -> None:
    """Every session is found, every line is used, irrelevant or inherited, and there is evidence."""
    shape = Shape(format=name, events_per_session=80, fork=0.5)
    manifest = gen_corpus.generate(tmp_path / "logs", shape, teams=6)
    summary = ingest(tmp_path / "home", tmp_path / "logs")
    assert summary.evidence > 0
    assert summary.skipped == {}
    assert summary.unused == {}
    assert summary.waiting == 0
    assert sum(summary.sessions.values()) == manifest["sessions"]
    assert summary.lines == summary.lines_used + summary.lines_irrelevant + summary.lines_inherited
    assert summary.lines == manifest["lines"]


@pytest.mark.parametrize("name", FORMATS)
def test_torn_logs_are_read_without_a_skip(name: str, tmp_path: Path) -> None:
    """A last frame that is cut is the normal state of a live log: nothing of it is counted as a loss."""
    shape = Shape(format=name, events_per_session=80, torn=1.0)
    manifest = gen_corpus.generate(tmp_path / "logs", shape, teams=3)
    summary = ingest(tmp_path / "home", tmp_path / "logs")
    assert manifest["torn"] == manifest["sessions"]
    assert summary.evidence > 0
    assert summary.skipped == {}


@pytest.mark.parametrize(("name", "events"), [("v0", 450), ("v4", 80)])
def test_types_that_never_recur_still_give_a_view(name: str, events: int, tmp_path: Path) -> None:
    """Where no teammate's fingerprint comes back, the default view is by name and scores most of the evidence."""
    shape = Shape(format=name, events_per_session=events, unique=1.0)
    gen_corpus.generate(tmp_path / "logs", shape, teams=MANY_TEAMS)
    ingest(tmp_path / "home", tmp_path / "logs")
    signals = TrustSignals(tmp_path / "home")
    assert {signal.name for signal in signals.agents() if signal.recurring} == {"main"}
    lens = signals.default_lens()
    assert lens is Lens.NAME
    found = signals.by(lens)
    scored = sum(samples(signal, signals.policy.min_samples) for signal in found if signal.recurring)
    total = sum(samples(signal) for signal in found)
    assert total == sum(samples(signal) for signal in signals.agents())
    assert scored / total >= SCORED_SHARE


def test_types_that_recur_are_shown_each(tmp_path: Path) -> None:
    """Where the fingerprints come back, the default view is by fingerprint."""
    shape = Shape(format="v4", events_per_session=80, unique=0.0, types=5)
    gen_corpus.generate(tmp_path / "logs", shape, teams=12)
    ingest(tmp_path / "home", tmp_path / "logs")
    assert TrustSignals(tmp_path / "home").default_lens() is Lens.FINGERPRINT


@pytest.mark.parametrize("name", FORMATS)
def test_the_number_of_processes_changes_nothing(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One process and two give the same agents and the same audit log."""
    pools: list[int] = []

    class CountedPool(ProcessPoolExecutor):
        def __init__(self, processes: int) -> None:
            pools.append(processes)
            super().__init__(processes)

    gen_corpus.generate(tmp_path / "logs", Shape(format=name, events_per_session=80), teams=4)
    monkeypatch.setattr(importlib.import_module("a2a_trust.backfill.run"), "POOL_BYTES", 0)
    monkeypatch.setattr("concurrent.futures.ProcessPoolExecutor", CountedPool)
    for jobs in (1, 2):
        ingest(tmp_path / f"home-{jobs}", tmp_path / "logs", jobs=jobs)
    assert pools == [2]
    assert agents_of(tmp_path / "home-1") == agents_of(tmp_path / "home-2")
    audits = [(tmp_path / f"home-{jobs}/audit.jsonl").read_bytes() for jobs in (1, 2)]
    assert audits[0] == audits[1]
