"""Claude Code: one event in many files is one event, whichever copy was read first."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from a2a_trust.backfill.anew import judge_anew
from claudehomes import child_of, ingest, trust_of
from claudelog import Transcript, agent_file, line_of, main_file, message, session_id, write
from make_claude_fixtures import ROOT, begun, meta

from a2a_trust.store import TrustStore
from a2a_trust.store.reader import read_all_rows

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("no_waiting")


def test_a_row_is_the_same_from_whichever_copy(tmp_path: Path) -> None:
    """Apart from the session and project in which it was met first, a row says the same whatever was read first."""
    rows = []
    for order in (1, -1):
        home = tmp_path / f"home{order}"
        for path in sorted((ROOT / "made-resume").rglob("*.jsonl"))[::order]:
            ingest(home, path)
        found = sorted((row for row in read_all_rows(home) if row.subject), key=lambda row: row.key)
        rows.append([(row.key, row.kind, row.subject, row.dim, row.evidence) for row in found])
    assert rows[0] == rows[1]


def test_a_line_met_again_in_its_file_is_one_event(tmp_path: Path) -> None:
    """The same uuid with other bytes is a copy, and counted as one."""
    log = begun(1).work()
    write(tmp_path, {main_file(log): log.data + log.copied(gitBranch="other", cwd="/elsewhere")})
    summary = ingest(tmp_path / "home", tmp_path)
    assert (summary.lines_inherited, trust_of(tmp_path / "home")["main"]) == (len(log.events), {"competence": (1, 1)})


def test_a_file_that_is_rotated_is_read_from_its_start(tmp_path: Path) -> None:
    """Other content under the same name is another log; what was recorded stays."""
    one, two = begun(1).work().work(), begun(2).work(good=False)
    write(tmp_path, {"projects/p/current.jsonl": one.data})
    ingest(tmp_path / "home", tmp_path)
    write(tmp_path, {"projects/p/current.jsonl": two.data})
    ingest(tmp_path / "home", tmp_path)
    assert trust_of(tmp_path / "home")["main"] == {"competence": (3, 2)}


def test_judging_anew_takes_nothing_back_for_a_copy_that_is_gone(tmp_path: Path) -> None:
    """The rules say the same of what is left, and an event whose file was deleted was judged all the same."""
    logs = shutil.copytree(ROOT / "made-resume", tmp_path / "logs")
    ingest(tmp_path / "home", logs)
    before = trust_of(tmp_path / "home")
    min(logs.rglob("*.jsonl")).unlink()
    with TrustStore(tmp_path / "home") as store:
        assert judge_anew(store) == []
    assert trust_of(tmp_path / "home") == before


def renamed(log: Transcript, session: str) -> bytes:
    """A fork that gives every line a new uuid and does not say whence it came; messages and times stay."""
    return b"".join(
        line_of({**event, "sessionId": session, "uuid": f"{session}/{count}", "parentUuid": None})
        for count, event in enumerate(log.events)
    )


def test_a_fork_that_renames_its_lines_counts_nothing_twice(tmp_path: Path) -> None:
    """Calls are known by their ids, answers and messages by what they are and when; a line's name says nothing."""
    log = begun(1, team="alpha")
    log.recruit("coder", "cody", "alpha", "Write.")
    log.later().user(message("cody", "Which file?"))
    log.later(3_000).say("This one.")
    log.create_task("1").update_task("1", "pending", "in_progress").work().update_task("1", "in_progress", "completed")
    log.send("cody").later().user(message("cody", "Which file?"))
    log.later(700_000).say("That one.")
    write(tmp_path, {"first/a.jsonl": log.data, "second/b.jsonl": renamed(log, session_id(2))})
    ingest(tmp_path / "home", tmp_path / "first")
    before = trust_of(tmp_path / "home")
    ingest(tmp_path / "home", tmp_path / "second")
    assert before["main"]["communication"] == (3, 2)
    assert trust_of(tmp_path / "home") == before


def test_a_gateway_that_gives_every_message_one_id_hides_no_answer(tmp_path: Path) -> None:
    """Answers with one id at different times, and one message on several lines, are told apart by what they are."""
    log = begun(1, team="alpha")
    same = {"id": "msg_gateway", "role": "assistant", "model": "m", "content": [{"type": "text", "text": "Yes."}]}
    for _ in range(3):
        log.later().user(message("cody", "Ready?"))
        log.later(5).add("assistant", message=same)
        log.later(5).add("assistant", message=same)
    for _ in range(2):
        call = log.later().call("Read", message={**same, "content": [{"type": "tool_use", "id": "c1", "name": "Read"}]})
        log.later().result("c1" if call else "")
    write(tmp_path, {main_file(log): log.data})
    ingest(tmp_path / "home", tmp_path)
    assert trust_of(tmp_path / "home") == {"main": {"communication": (3, 3), "competence": (2, 2)}}


@pytest.mark.parametrize("first", ["main", "agent"])
def test_what_a_subagent_s_file_repeats_of_its_parent_is_the_parent_s(tmp_path: Path, first: str) -> None:
    """Lines that say they are none of a subagent stay those of its spawner, wherever they stand."""
    log = begun(1).work().work(good=False)
    child = child_of(log, "a1", 2)
    name = agent_file(log, "a1")
    write(tmp_path, {main_file(log): log.data, name: log.data + child.data})
    write(tmp_path, {name.replace(".jsonl", ".meta.json"): meta("fork")})
    ingest(tmp_path / "home", tmp_path / (main_file(log) if first == "main" else name))
    ingest(tmp_path / "home", tmp_path)
    assert trust_of(tmp_path / "home") == {"main": {"competence": (2, 1)}, "fork": {"competence": (1, 1)}}
