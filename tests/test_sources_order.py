"""Logs of several harnesses in one home: whatever the order and the split, the same agents come out."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import pytest
from a2a_trust.backfill import Options, Summary, run
from hypothesis import given, settings
from hypothesis import strategies as st

from a2a_trust.model import AuditMark
from a2a_trust.sources.base import Skips, load_sources
from a2a_trust.store import TrustStore, read_ledger
from a2a_trust.store.snapshot import encode_ledger

if TYPE_CHECKING:
    from collections.abc import Iterator

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
FOLDERS = [
    *(f"claude-code/{path.name}" for path in sorted((FIXTURES / "claude-code").glob("made-*"))),
    *(f"dsh/{name}" for name in ("a-team", "f-fork", "v4-a-team", "made-latency", "made-subagents", "made-torn")),
    "jsonl/made-events",
]


@pytest.fixture(autouse=True, scope="module")
def no_waiting_for_the_disk() -> Iterator[None]:
    """Power stays on in these tests, and they write a great many homes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda _: None)
        yield


def ingest(home: Path, *paths: Path) -> Summary:
    """Run all logs of all sources below the paths into a home."""
    with TrustStore(home) as store:
        return run(store, load_sources(), Options(paths=paths, jobs=1), {})


def agents_of(home: Path) -> bytes:
    """The agents of a home, and nothing beside them that depends on the order of runs."""
    return encode_ledger(msgspec.structs.replace(read_ledger(home), updated_at=0, audit=AuditMark()))


@cache
def files_of(folder: str) -> tuple[tuple[Path, bytes, bool], ...]:
    """All files of a folder, each with whether it is a log; older generations of a session are none."""
    root = FIXTURES / folder
    logs = {
        Path(candidates[0].path) for source in load_sources().values() for candidates in source.discover(root, Skips())
    }
    paths = sorted(path for path in root.rglob("*") if path.is_file())
    return tuple((path.relative_to(FIXTURES), path.read_bytes(), path in logs) for path in paths)


@cache
def at_once(folders: frozenset[str]) -> bytes:
    """The agents that one run over folders gives."""
    with tempfile.TemporaryDirectory() as home:
        ingest(Path(home), *(FIXTURES / folder for folder in sorted(folders)))
        return agents_of(Path(home))


class Schedule(NamedTuple):
    """Which logs stand where, and up to which byte, at each run."""

    folders: list[str]
    runs: list[list[tuple[str, Path, bytes]]]


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    """A few folders, each of whose logs is whole in some run, in a place of its own, and may be cut in runs before."""
    folders = draw(st.lists(st.sampled_from(FOLDERS), min_size=2, max_size=4, unique=True))
    count = draw(st.integers(1, 3))
    runs: list[list[tuple[str, Path, bytes]]] = [[] for _ in range(count)]
    for path, data, is_log in (file for folder in folders for file in files_of(folder)):
        place = draw(st.sampled_from(["growing", "growing", "elsewhere"])) if is_log else "growing"
        last = draw(st.integers(0, count - 1)) if is_log else 0
        if not is_log:
            runs[0].append(("elsewhere", path, data))
        elif last and draw(st.booleans()):
            runs[draw(st.integers(0, last - 1))].append((place, path, data[: draw(st.integers(0, len(data)))]))
        runs[last].append((place, path, data))
    return Schedule(folders, runs)


@settings(max_examples=max(60, settings.default.max_examples))
@given(schedules())
def test_any_split_of_the_logs_of_all_sources_gives_the_same_agents(schedule: Schedule) -> None:
    """Logs of several harnesses, in any order, cut anywhere and completed later, count exactly once."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for writes in schedule.runs:
            for place, path, data in writes:
                (root / place / path).parent.mkdir(parents=True, exist_ok=True)
                (root / place / path).write_bytes(data)
            ingest(root / "home", *(path for path in (root / "growing", root / "elsewhere") if path.exists()))
        assert agents_of(root / "home") == at_once(frozenset(schedule.folders))


def test_each_source_is_named_and_kept_apart(tmp_path: Path) -> None:
    """A run over everything names every source that it found, and each row says where it comes from."""
    summary = ingest(tmp_path, FIXTURES)
    assert list(summary.sources) == sorted(load_sources())
    assert min(summary.sources.values()) > 0


def test_a_run_for_each_file_backwards_gives_the_same_agents(tmp_path: Path) -> None:
    """Every log of every source on its own, the last first, gives what one run gives."""
    for path, _, is_log in reversed([file for folder in FOLDERS for file in files_of(folder)]):
        if is_log:
            ingest(tmp_path, FIXTURES / path)
    assert agents_of(tmp_path) == at_once(frozenset(FOLDERS))
