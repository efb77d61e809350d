"""Runs of Claude Code's subagents: one that goes on is no evidence, and becomes what the log tells later."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from claudehomes import ingest, stats_of
from claudelog import CWD, Transcript, main_file, slug, write
from homes import agents_of
from hypothesis import given
from hypothesis import strategies as st
from make_claude_fixtures import begun, notice, queued

from a2a_trust.store.reader import read_all_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ENDED, STOPPED, OPEN = (1, 0, 0), (0, 1, 0), (0, 0, 1)


@pytest.fixture(autouse=True, scope="module")
def no_waiting_for_the_disk() -> Iterator[None]:
    """Power stays on in these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda _: None)
        yield


def runs_of(home: Path) -> tuple[int, int, int]:
    """Runs of digger: come to their end, cut short, and without an end so far."""
    stats = stats_of(home, "digger")
    return stats.runs_ended, stats.runs_stopped, stats.runs_open


def run_rows(home: Path) -> list[tuple[object, ...]]:
    """What a home says of runs, in the order of their events."""
    rows = sorted((row for row in read_all_rows(home) if row.kind.startswith("run-")), key=lambda row: row.key)
    return [(row.key, row.kind, row.subject, row.evidence) for row in rows]


def launched(**given: object) -> Transcript:
    """A transcript that has launched digger in the background."""
    log = begun(1)
    call = log.spawn("digger", "Dig.", run_in_background=True, **given)
    log.later().result(call, outcome={"isAsync": True, "status": "async_launched", "agentId": "d1"})
    return log


def asked(log: Transcript, status: str) -> None:
    """Let the spawner ask how its agent is."""
    told = {"retrieval_status": "success", "task": {"task_id": "d1", "status": status}}
    log.later().result(log.later().call("TaskOutput", {"task_id": "d1"}), outcome=told)


@pytest.mark.parametrize(
    ("tell", "expected"),
    [
        (lambda log: log.user(notice("d1", "completed")), ENDED),
        (lambda log: log.user("\n" + notice("d1", "completed")), ENDED),
        (lambda log: log.user(notice("d1", "failed")), STOPPED),
        (lambda log: log.user(notice("d1", "killed")), STOPPED),
        (lambda log: log.user(notice("d1", "running")), OPEN),
        (lambda log: log.user(notice("d2", "completed")), OPEN),
        (lambda log: log.user("Look: " + notice("d1", "completed")), OPEN),
        (lambda log: log.add("attachment", attachment=queued(notice("d1", "completed"))), ENDED),
        (lambda log: log.add("attachment", attachment={"prompt": notice("d1", "completed")}), OPEN),
        (lambda log: log.add("attachment", attachment=["queued_command"]), OPEN),
        (lambda log: asked(log, "completed"), ENDED),
        (lambda log: asked(log, "running"), OPEN),
        (lambda log: log.user("[Request interrupted by user]"), OPEN),
    ],
)
def test_a_run_in_the_background_goes_on_until_the_log_tells(
    tmp_path: Path, tell: Callable[[Transcript], Any], expected: tuple[int, int, int]
) -> None:
    """A launch says that it began; only what names it and its end says more, and that adds a row and moves no score."""
    log = launched()
    write(tmp_path, {main_file(log): log.data})
    ingest(tmp_path / "home", tmp_path)
    before = list(read_all_rows(tmp_path / "home"))
    assert runs_of(tmp_path / "home") == OPEN
    tell(log)
    write(tmp_path, {main_file(log): log.data})
    ingest(tmp_path / "home", tmp_path)
    after = list(read_all_rows(tmp_path / "home"))
    assert (after[: len(before)], runs_of(tmp_path / "home")) == (before, expected)
    assert [row.dim for row in after if row.subject_name == "digger"] == [None] * (1 + (expected != OPEN))


@pytest.mark.parametrize(
    ("shown", "text", "error", "expected", "failed"),
    [
        (True, "[Request interrupted by user for tool use]", True, STOPPED, 0),
        (True, "It broke.", True, STOPPED, 0),
        (True, "All done.", False, ENDED, 0),
        (False, "[Request interrupted by user for tool use]", True, (0, 0, 0), 0),
        (False, "Agent type 'digger' not found.", True, (0, 0, 0), 1),
        (False, "All done.", False, ENDED, 0),
        (True, None, False, OPEN, 0),
        (False, None, False, (0, 0, 0), 0),
    ],
)
def test_a_run_that_is_waited_for_began_when_it_is_seen_to_run(  # noqa: PLR0913, PLR0917 - a table
    tmp_path: Path,
    shown: bool,  # noqa: FBT001
    text: str | None,
    error: bool,  # noqa: FBT001
    expected: tuple[int, int, int],
    failed: int,
) -> None:
    """Progress shows that it began; without that a call says nothing, and its failure is that of the spawn."""
    log = begun(1)
    call = log.spawn("digger", "Dig.", tool="Task")
    if shown:
        for _ in range(2):
            log.later().add("progress", data={"type": "agent_progress", "agentId": "d1"}, parentToolUseID=call)
    if text is not None and error:
        log.later().result(call, text, error=True)
    elif text is not None:
        log.spawned(call, "d1")
    write(tmp_path, {main_file(log): log.data})
    ingest(tmp_path / "home", tmp_path)
    assert (runs_of(tmp_path / "home"), stats_of(tmp_path / "home", "digger").failed_spawns) == (expected, failed)


@pytest.mark.parametrize(
    "data",
    [None, [], "agent_progress", {}, {"type": "bash_progress", "agentId": "0a"}, {"type": "agent_progress"}],
    ids=str,
)
def test_progress_that_names_no_agent_names_none(tmp_path: Path, data: object) -> None:
    """Lines of progress are of many kinds; those of another shape cost nothing."""
    log = begun(1)
    call = log.spawn("digger", "Dig.", tool="Task")
    log.later().add("progress", data=data, parentToolUseID=call)
    child = Transcript(2, log.now, session=log.session, agent="0a")
    child.user("Dig.")
    child.work()
    write(tmp_path, {main_file(log): log.data, f"projects/{slug(CWD)}/agent-0a.jsonl": child.data})
    ingest(tmp_path / "home", tmp_path)
    assert stats_of(tmp_path / "home", "digger").tool_calls == 0


def test_a_subagent_is_known_by_its_progress_before_it_came_back(tmp_path: Path) -> None:
    """Without a file that names its type, and before its spawner's result, progress joins agent and call."""
    log = begun(1)
    call = log.spawn("digger", "Dig.", tool="Task")
    log.later().add("progress", data={"type": "agent_progress", "agentId": "0a"}, parentToolUseID=call)
    child = Transcript(2, log.now, session=log.session, agent="0a")
    child.user("Dig.")
    child.work()
    write(tmp_path, {main_file(log): log.data, f"projects/{slug(CWD)}/agent-0a.jsonl": child.data})
    ingest(tmp_path / "home", tmp_path)
    assert (stats_of(tmp_path / "home", "digger").tool_calls, runs_of(tmp_path / "home")) == (1, OPEN)


def many_runs() -> tuple[bytes, bytes, str, str]:
    """A transcript with runs of every kind, a fork that learns of one end in another way, and their names."""
    log = begun(1)
    for count in range(3):
        call = log.spawn("digger", f"Dig {count}.", run_in_background=True)
        log.later().result(call, outcome={"isAsync": True, "status": "async_launched", "agentId": f"d{count}"})
    log.spawned(log.spawn("digger", "Dig there."), "d7")
    half = len(log.events)
    call = log.spawn("digger", "Dig here.")
    log.later().add("progress", data={"type": "agent_progress", "agentId": "d8"}, parentToolUseID=call)
    log.later().add("progress", data={"type": "agent_progress", "agentId": "d8"}, parentToolUseID=call)
    log.later().result(call, "[Request interrupted by user for tool use]", error=True)
    log.later().user(notice("d0", "completed"))
    log.later().user(notice("d1", "failed"))
    fork = Transcript(2, log.now + 50_000, parent=log.events[half - 1]["uuid"])  # type: ignore[arg-type]
    fork.later().add("attachment", attachment=queued(notice("d0", "completed")))
    return log.data, log.copied(fork.session, upto=half) + fork.data, main_file(log), main_file(fork)


LOG, FORK, LOG_NAME, FORK_NAME = many_runs()


@given(
    st.lists(st.tuples(st.booleans(), st.floats(0, 1)), max_size=4),
    st.lists(st.integers(0, len(LOG.splitlines()) - 1), max_size=6, unique=True),
)
def test_runs_stand_the_same_whatever_was_read_first(steps: list[tuple[bool, float]], lost: list[int]) -> None:
    """Any split of both files, the fork first or last, and lines lost in a copy, give the same agents in the end."""
    copy = b"".join(line for number, line in enumerate(LOG.splitlines(keepends=True)) if number not in lost)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        sizes = {LOG_NAME: 0.0, FORK_NAME: 0.0}
        write(root / "damaged", {LOG_NAME: copy})
        for forked, share in steps:
            name, data = (FORK_NAME, FORK) if forked else (LOG_NAME, LOG)
            sizes[name] = max(sizes[name], share)
            write(root / "logs", {name: data[: int(len(data) * sizes[name])]})
            ingest(root / "home", root / "logs")
        write(root / "logs", {LOG_NAME: LOG, FORK_NAME: FORK})
        ingest(root / "home", root / "logs")
        write(root / "once", {LOG_NAME: LOG, FORK_NAME: FORK})
        ingest(root / "once-home", root / "once")
        assert agents_of(root / "home") == agents_of(root / "once-home")
        assert runs_of(root / "home") == (2, 2, 1)
        ingest(root / "damaged-home", root / "damaged")
        ingest(root / "damaged-home", root / "logs")
        assert run_rows(root / "damaged-home") == run_rows(root / "once-home")
