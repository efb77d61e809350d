"""The event format: what it says, who may write it, and that its schema and its page say the same."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from a2a_trust.backfill import Options, Summary, run
from a2a_trust.backfill.ingest import ingest
from claudelog import write
from homes import agents_of as encoded_agents_of
from homes import scratch
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from a2a_trust.sources import jsonl_events
from a2a_trust.sources.jsonl import JsonlSource
from a2a_trust.store import TrustStore, read_ledger
from a2a_trust.store.reader import read_all_rows
from a2a_trust.testing import CHECKS, Case

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from a2a_trust.model import AgentRecord

pytestmark = pytest.mark.usefixtures("no_waiting")

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "fixtures" / "jsonl" / "made-events"
PAGE = ROOT / "docs" / "formats.md"
T = 1_796_100_000_000
SESSION = {"v": 1, "type": "session", "session": "s", "time": T, "agent": {"name": "fetcher"}}


def lines_of(*events: dict[str, Any]) -> list[bytes]:
    """Events as lines."""
    return [json.dumps(event).encode() for event in events]


def result(**fields: Any) -> dict[str, Any]:  # noqa: ANN401 - fields of an event
    """A result of the session."""
    return {"v": 1, "type": "result", "session": "s", "call": "c", "tool": "fetch", "outcome": "ok", **fields}


def backfilled(home: Path, *paths: Path) -> Summary:
    """A run of the source over paths."""
    with TrustStore(home) as store:
        return run(store, {"jsonl": JsonlSource()}, Options(paths=paths, jobs=1), {})


def agents_of(home: Path) -> dict[str, AgentRecord]:
    """The agents of a home by name."""
    return {agent.profile.name: agent for agent in read_ledger(home).agents.values()}


def blocks(tag: str) -> list[str]:
    """The code blocks of the page with a tag."""
    tokens = MarkdownIt("commonmark").parse(PAGE.read_text(encoding="utf-8"))
    return [token.content for token in tokens if token.type == "fence" and token.info == tag]


def rows_of_tables() -> list[list[str]]:
    """The cells of the tables of the page."""
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in PAGE.read_text(encoding="utf-8").split("\n")
        if line.startswith("| `")
    ]


def test_every_type_becomes_what_the_page_says(tmp_path: Path) -> None:
    """The made events give, by agent and kind, exactly this."""
    backfilled(tmp_path, LOGS)
    found = Counter(
        (row.subject_name, row.kind, row.evidence.reason) for row in read_all_rows(tmp_path) if row.subject_name
    )
    assert found == {
        ("fetcher", "member-registered", None): 1,
        ("fetcher", "tool-success", None): 3,
        ("fetcher", "tool-error", None): 1,
        ("fetcher", "tool-unattributable", "environment"): 1,
        ("fetcher", "exit-code", None): 1,
        ("fetcher", "call-unanswered", None): 1,
        ("fetcher", "task-completed", None): 4,
        ("fetcher", "task-reopened", None): 2,
        ("fetcher", "message-sent", None): 1,
        ("judge", "member-registered", None): 1,
        ("judge", "tool-success", None): 1,
        ("judge", "response-latency", None): 2,
        ("judge", "response-unattributable", "provider_error"): 1,
        ("judge", "citation-verified", None): 1,
        ("judge", "citation-mismatch", None): 1,
        ("judge", "feedback", None): 1,
    }


def test_numbers_are_those_of_the_events(tmp_path: Path) -> None:
    """Values, samples and good ones follow from the events; a completion without work after `since` does not count."""
    backfilled(tmp_path, LOGS)
    found = {
        name: {
            dim.value: [state.value, state.samples, state.good] for dim, state in agent.trust.items() if state.samples
        }
        for name, agent in agents_of(tmp_path).items()
    }
    assert found == {
        "fetcher": {
            "competence": [0.377681, 6, 4],
            "reliability": [0.385, 2, 1],
            "communication": [0.52, 1, 1],
        },
        "judge": {
            "competence": [0.53, 1, 1],
            "communication": [0.545, 2, 2],
            "integrity": [0.4215, 3, 2],
        },
    }
    assert agents_of(tmp_path)["fetcher"].stats.unsupported_completions == 1


def test_lines_that_are_no_events_are_counted_by_reason(tmp_path: Path) -> None:
    """A later version, an unknown type and a session that was not introduced each have their own count."""
    summary = backfilled(tmp_path, LOGS)
    assert summary.skipped == {"newer-event": 1, "session-unknown": 1, "unknown-type": 1}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_source_conforms(check: Callable[[Case], None], tmp_path: Path) -> None:
    """The source `jsonl` holds what every source must."""
    check(Case("jsonl", LOGS, tmp_path))


def test_a_stream_and_a_file_of_the_same_events_count_once(tmp_path: Path) -> None:
    """What was piped in is known when the file is read."""
    with TrustStore(tmp_path) as store, (LOGS / "events.jsonl").open("rb") as lines:
        first = ingest(store, lines, "a stream")
    summary = backfilled(tmp_path, LOGS / "events.jsonl")
    assert (first.evidence > 0, summary.evidence, summary.observations) == (True, 0, 0)


def test_two_equal_lines_without_an_id_are_one_event(tmp_path: Path) -> None:
    """Without an id an event is known by all that it says."""
    with TrustStore(tmp_path) as store:
        done = ingest(store, lines_of(SESSION, result(time=T), result(time=T), result(time=T + 1)), "a stream")
    assert (done.lines_used, done.evidence) == (4, 2)


@pytest.mark.parametrize(
    "fields",
    [
        {"outcome": "maybe"},
        {"ms": -1},
        {"call": ""},
        {"exitCode": "2"},
        {"tool": 7},
        {"tool": "x" * 513},
    ],
    ids=str,
)
def test_an_event_of_another_shape_is_refused(tmp_path: Path, fields: dict[str, Any]) -> None:
    """What the schema does not allow is skipped as of the wrong shape."""
    with TrustStore(tmp_path) as store:
        done = ingest(store, lines_of(SESSION, result(**fields)), "a stream")
    assert done.skipped == {"wrong-shape": 1}


def test_a_session_cannot_pass_for_that_of_a_harness(tmp_path: Path) -> None:
    """A file of events that names another source's session makes rows of its own."""
    with TrustStore(tmp_path) as store:
        ingest(store, lines_of(SESSION, result()), "a stream")
    (session,) = {row.session for row in read_all_rows(tmp_path) if row.subject}
    assert session.startswith("jsonl/s/")


def named(agent: str, **fields: object) -> dict[str, Any]:
    """A session event of the same session for another agent."""
    return {**SESSION, "agent": {"name": agent, **fields}}


def test_a_session_that_is_given_to_two_agents_is_two_and_says_so(tmp_path: Path) -> None:
    """Each event is of the agent that was named last before it, and the contradiction has a count and a place."""
    events = lines_of(
        named("fetcher"),
        named("fetcher"),
        result(id="1"),
        named("judge"),
        result(id="2", outcome="fault"),
        named("fetcher"),
        result(id="1"),
        result(id="3"),
    )
    with TrustStore(tmp_path) as store:
        done = ingest(store, events, "a stream")
    stats = {name: agent.stats for name, agent in agents_of(tmp_path).items()}
    found = {name: (one.tool_calls, one.tool_errors, one.sessions) for name, one in stats.items()}
    assert found == {"fetcher": (2, 0, 1), "judge": (1, 1, 1)}
    assert (done.lines_used, done.skipped_at) == (
        8,
        {"session-contradicted": ["a stream: line 4", "a stream: line 6"]},
    )


AGENTS = [
    {"name": "fetcher"},
    {"name": "judge"},
    {"name": "fetcher", "description": "Fetches."},
    {"name": "fetcher", "role": "subagent"},
]


@st.composite
def contradicting(draw: st.DrawFn) -> list[list[dict[str, Any]]]:
    """Files of events of one session, whose `session` events do not agree on the agent, the project or the time."""
    kinds = [
        {"type": "result", "call": "c", "tool": "fetch", "outcome": "ok"},
        {"type": "result", "call": "d", "tool": "fetch", "outcome": "fault"},
        {"type": "task", "task": "t", "status": "completed", "since": T},
        {"type": "call", "call": "e", "tool": "fetch"},
        {"type": "end"},
        {"type": "message", "message": "m"},
    ]
    files = []
    for _ in range(draw(st.integers(1, 3))):
        events = [draw(introductions())]
        for number in draw(st.lists(st.integers(0, 11), max_size=6)):
            again = draw(st.none() | introductions())
            events += [again] if again else []
            said = {"v": 1, "session": "s", "id": f"e{number}", "time": T + 1_000 * number}
            events.append({**said, **kinds[number % len(kinds)]})
        files.append(events)
    return files


def introductions() -> st.SearchStrategy[dict[str, Any]]:
    """Events that say whose the session is."""
    return st.builds(
        lambda agent, project, time: {**SESSION, "agent": agent, "project": project, "time": T + time},
        st.sampled_from(AGENTS),
        st.sampled_from(["", "/home/dev/project"]),
        st.sampled_from([0, 5]),
    )


@given(contradicting(), st.randoms(use_true_random=False))
def test_whose_a_session_is_does_not_depend_on_what_is_read_first(
    files: list[list[dict[str, Any]]], chance: random.Random
) -> None:
    """Files that contradict each other give the same agents in any order, and however they grow."""
    data = {f"{number}.jsonl": b"\n".join(lines_of(*events)) + b"\n" for number, events in enumerate(files)}
    with scratch() as folder:
        root = Path(folder)
        write(root / "once", data)
        backfilled(root / "home", root / "once")
        for share in (0, 1):
            for name in chance.sample(sorted(data), len(data)):
                size = max(chance.randint(0, len(data[name])), share * len(data[name]))
                write(root / "growing", {name: data[name][:size]})
                backfilled(root / "grown", root / "growing")
        assert encoded_agents_of(root / "grown") == encoded_agents_of(root / "home")


def test_the_schema_that_ships_is_that_of_the_reader() -> None:
    """The file is made from the structs that decode the lines."""
    shipped = ROOT / "a2a_trust" / "sources" / "event-v1.schema.json"
    assert json.loads(shipped.read_text(encoding="utf-8")) == jsonl_events.schema()


def test_the_page_names_every_type_and_every_key() -> None:
    """Types and keys of the page are those of the schema."""
    told = {cells[0].strip("`"): set(re.findall(r"`(\w+)`", cells[1])) for cells in rows_of_tables() if len(cells) == 3}
    definitions = [
        one["properties"] for one in jsonl_events.schema()["$defs"].values() if "v" in one.get("properties", {})
    ]
    common = {"v", "type", "session", "id", "time"}
    missing = {kind["type"]["enum"][0]: kind.keys() - common - told[kind["type"]["enum"][0]] for kind in definitions}
    assert missing == {kind: set() for kind in told}


def test_the_writer_of_the_page_writes_evidence(tmp_path: Path) -> None:
    """The example runs as it stands, and what it wrote becomes evidence."""
    (writer,) = blocks("python")
    use = """
log = EventLog("events.jsonl", {"name": "fetcher", "description": "Fetches pages."}, "/srv/app")
log.call("fetch", lambda: "page")
for failure in (ValueError("no such page"), PermissionError("locked")):
    try:
        log.call("fetch", lambda: (_ for _ in ()).throw(failure))
    except (ValueError, PermissionError):
        pass
log.write("message", message="m1", to="boss")
"""
    subprocess.run([sys.executable, "-c", writer + use], cwd=tmp_path, check=True)
    backfilled(tmp_path / "home", tmp_path)
    stats = agents_of(tmp_path / "home")["fetcher"].stats
    assert (stats.tool_calls, stats.tool_errors, stats.unattributable, stats.messages_sent) == (
        2,
        1,
        {"environment": 1},
        1,
    )


def test_the_command_reads_standard_input(tmp_path: Path) -> None:
    """`ingest -` records what is piped in, says what it could not use, and exits with 4 for that."""
    command = [str(Path(sysconfig.get_path("scripts")) / "a2a-trust"), "ingest", "-", "--json"]
    done = subprocess.run(
        command,
        input=b"\n".join([*lines_of(SESSION, result()), b"no event"]),
        env={**os.environ, "A2A_TRUST_HOME": str(tmp_path)},
        capture_output=True,
        check=False,
    )
    told = json.loads(done.stdout)
    assert (done.returncode, told["evidence"], told["skipped"]) == (4, 1, {"malformed-line": 1})
    assert done.stderr.decode().startswith("a2a-trust: 1 of 3 lines are no events of version 1")
