"""Whatever happens to logs while they are followed, the agents are those of one run over what they became."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import pytest
from dshlog import frame, frames
from homes import FIXTURES, LOG_GLOB, agents_of, audit_of, differences, ingest, scratch
from hypothesis import given, settings
from hypothesis import strategies as st
from watching import Hands

from a2a_trust.sources.claude_code import ClaudeCodeSource
from a2a_trust.store.verify import verify

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDERS = ["a-team", "made-forks", "made-latency", "made-subagent-waiting", "made-tasks", "made-torn", "v4-a-team"]
LATER_STATES = [("c-kill-killed", "c-kill-resumed"), ("v3-a-team", "mix-v3-v4"), ("made-torn", "made-torn-later")]
CLAUDE = FIXTURES.parent / "claude-code"
RESCAN = 61.0
EXAMPLES = 150

How = Literal["grow", "tear", "reframe", "remove", "other run", "kill", "wait"]


@pytest.fixture(autouse=True, scope="module")
def no_waiting_for_the_disk() -> Iterator[None]:
    """Power stays on in these tests, and they write a great many homes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda _: None)
        yield


class Log(NamedTuple):
    """A log of the fixtures: where it lies, and its frames, or its lines where it is not compressed."""

    path: Path
    pieces: tuple[bytes, ...]

    @property
    def data(self) -> bytes:
        """All bytes."""
        return b"".join(self.pieces)


class Step(NamedTuple):
    """Something that happens to a log, or to the watcher, and whether the system tells of it."""

    how: How
    log: int
    share: float
    told: bool


@cache
def logs_of(folder: str) -> tuple[Log, ...]:
    """All logs of a folder of the fixtures."""
    found = []
    for path in sorted((FIXTURES / folder).rglob(LOG_GLOB)):
        data = path.read_bytes()
        pieces = frames(data) if path.suffix == ".zstd" else data.splitlines(keepends=True)
        found.append(Log(path.relative_to(FIXTURES), tuple(pieces)))
    return tuple(found)


@cache
def one_run(*folders: str) -> bytes:
    """The agents that one run over folders of the fixtures gives."""
    with scratch() as home:
        ingest(Path(home), *(FIXTURES / folder for folder in folders))
        return agents_of(Path(home))


class Writer:
    """Does to a log what harnesses, crashes and people do, and ends with the log as it is in the fixtures."""

    def __init__(self, root: Path, log: Log) -> None:
        """Begin without a file."""
        self.path = root / log.path
        self._log = log
        self._whole = 0
        """Pieces that stand whole on disk, and stay as they are."""

    def do(self, how: How, share: float) -> Path:
        """Take a step; return the path that the system tells of."""
        left = len(self._log.pieces) - self._whole
        taken = self._log.pieces[self._whole : self._whole + max(1, round(left * share))]
        if how == "remove":
            shutil.rmtree(self.path.parent, ignore_errors=True)
            self._whole = 0
            return self.path.parent
        if not taken:
            return self.path
        if how == "grow":
            self._whole += len(taken)
            return self._write(b"")
        # Torn: all of some frames, and of the last one as much as got to the disk.
        self._whole += len(taken) - 1
        if how == "tear" or self.path.suffix != ".zstd":
            return self._write(taken[-1][: round(len(taken[-1]) * share)])
        # Repaired after it was torn: the same lines in a frame of other bytes, which the log keeps for now.
        return self._write(frame([_content(taken[-1])]))

    def finish(self) -> Path:
        """Write the log as it ends, repaired where it was torn."""
        self._whole = len(self._log.pieces)
        return self._write(b"")

    def _write(self, tail: bytes) -> Path:
        is_new = not self.path.parent.exists()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(b"".join(self._log.pieces[: self._whole]) + tail)
        return self.path.parent if is_new else self.path


def _content(piece: bytes) -> bytes:
    from dshlog import decode  # noqa: PLC0415 - beside its only use

    return decode(piece)


def step() -> st.SearchStrategy[Step]:
    """A step; growing is what happens most."""
    how: st.SearchStrategy[How] = st.sampled_from(
        ["grow", "grow", "grow", "tear", "tear", "reframe", "remove", "other run", "kill", "wait"]
    )
    return st.builds(Step, how, st.integers(0, 50), st.floats(0, 1), st.booleans())


@settings(max_examples=max(EXAMPLES, settings.default.max_examples))
@given(
    st.lists(st.sampled_from(FOLDERS), min_size=1, max_size=2, unique=True), st.lists(step(), min_size=8, max_size=20)
)
def test_followed_logs_give_the_agents_of_one_run(folders: list[str], steps: list[Step]) -> None:
    """Growing, torn, repaired and removed logs, kills, other runs and lost notices change no byte of the agents."""
    with scratch() as folder:
        root = Path(folder)
        (root / "logs").mkdir()
        hands = Hands(root / "home", root / "logs")
        writers = [Writer(root / "logs", log) for name in folders for log in logs_of(name)]
        for how, log, share, told in steps:
            if how == "other run":
                ingest(root / "home", root / "logs")
            elif how == "kill":
                hands.restart()
            elif how == "wait":
                hands.cycle(seconds=share * RESCAN)
            else:
                path = writers[log % len(writers)].do(how, share)
                hands.cycle(*([path] if told else []), seconds=share)
        for writer in writers:
            hands.cycle(writer.finish())
        hands.cycle(seconds=RESCAN)
        hands.watcher.finish()
        assert differences(agents_of(root / "home"), one_run(*folders)) == []
        assert verify(root / "home").defects == []
        assert list((root / "home").glob("*.torn-*")) == []


@pytest.mark.parametrize(("earlier", "later"), LATER_STATES)
def test_a_change_of_generation_is_followed(earlier: str, later: str, tmp_path: Path) -> None:
    """Logs that are replaced, or go on in a newer format, give what their later state alone gives."""
    logs = tmp_path / "logs"
    shutil.copytree(FIXTURES / earlier, logs)
    hands = Hands(tmp_path / "home", logs)
    hands.cycle()
    for path in sorted((FIXTURES / later).rglob(LOG_GLOB), reverse=True):
        target = logs / path.relative_to(FIXTURES / later)
        target.parent.mkdir(parents=True, exist_ok=True)
        data = path.read_bytes()
        for share in (0.3, 0.7, 1.0):
            target.write_bytes(data[: round(len(data) * share)])
            hands.cycle(target)
    hands.watcher.finish()
    assert differences(agents_of(tmp_path / "home"), one_run(later)) == []


@pytest.mark.parametrize("folder", sorted(path.name for path in CLAUDE.glob("made-*")))
def test_followed_transcripts_give_the_agents_of_one_run(folder: str, tmp_path: Path) -> None:
    """Files of JSON lines that grow by turns, the last one first, each cut inside a line."""
    sources = {"claude-code": ClaudeCodeSource()}
    logs = tmp_path / "logs"
    shutil.copytree(CLAUDE / folder, logs)
    once = Hands(tmp_path / "once", logs, sources=sources)
    once.cycle()
    once.watcher.finish()
    whole = {path: path.read_bytes() for path in sorted(logs.rglob("*.jsonl"), reverse=True)}
    for path in whole:
        path.unlink()
    hands = Hands(tmp_path / "home", logs, sources=sources)
    hands.cycle()
    for quarter in range(1, 5):
        for path, data in whole.items():
            path.write_bytes(data[: len(data) * quarter // 4])
            hands.cycle(path)
    hands.watcher.finish()
    assert differences(agents_of(tmp_path / "home"), agents_of(tmp_path / "once")) == []


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_the_number_of_processes_changes_no_byte(jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A catch-up by any number of processes makes the same audit log."""
    import importlib  # noqa: PLC0415 - by its dotted name this would be the function that the package offers

    monkeypatch.setattr(importlib.import_module("a2a_trust.backfill.run"), "POOL_BYTES", 0)
    hands = Hands(tmp_path / "home", FIXTURES / "a-team", jobs=jobs)
    hands.cycle()
    ingest(tmp_path / "once", FIXTURES / "a-team")
    assert audit_of(tmp_path / "home") == audit_of(tmp_path / "once")
