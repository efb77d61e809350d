"""The MCP server, asked by the official client over standard input and output."""

import json
import os
import shutil
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import pytest
from homes import FIXTURES, ingest, rows_of
from mcp import Client, MCPError, StdioServerParameters, stdio_client

from a2a_trust.errors import UsageError
from a2a_trust.frozen import freeze
from a2a_trust.mcp_server import make_server
from a2a_trust.model import Dimension
from a2a_trust.signals import TrustSignals
from a2a_trust.tools import Feedback, Tools

READ_TOOLS = ["trust_compare", "trust_list", "trust_query"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home over the logs of one team."""
    place = tmp_path_factory.mktemp("mcp") / "home"
    ingest(place, FIXTURES / "a-team")
    return place


def ask(home: Path, question: Callable[[Client], Awaitable[Any]], *arguments: str) -> Any:  # noqa: ANN401 - any answer
    """Start the server as a host does, ask it one thing, and end it."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "a2a_trust", "mcp", "--home", str(home), *arguments],
        env={"PATH": os.environ["PATH"], "HOME": str(home.parent)},
    )
    return _answer_of(question, lambda: Client(stdio_client(server)))


def ask_here(home: Path, question: Callable[[Client], Awaitable[Any]]) -> Any:  # noqa: ANN401 - any answer
    """Ask the same server without a process of its own."""
    return _answer_of(question, lambda: Client(make_server(Tools(home, lambda: 0), allow_feedback=False)))


def _answer_of(question: Callable[[Client], Awaitable[Any]], connect: Callable[[], Client]) -> Any:  # noqa: ANN401
    async def run() -> Any:  # noqa: ANN401 - as above
        async with connect() as client:
            try:
                return await question(client)
            except MCPError as error:
                # Out of the client's task groups it would come as a group of its own.
                return error

    return anyio.run(run)


def calling(name: str, asked: dict[str, Any]) -> Callable[[Client], Awaitable[Any]]:
    """A question that calls a tool, and holds its answer against the schema that the server gave for it."""

    async def question(client: Client) -> Any:  # noqa: ANN401 - as above
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        found = await client.call_tool(name, asked)
        if found.is_error:
            return found.content[0].text
        jsonschema.validate(found.structured_content, tools[name].output_schema)
        assert json.loads(found.content[0].text) == found.structured_content
        return found.structured_content

    return question


def call(home: Path, name: str, asked: dict[str, Any], *arguments: str) -> Any:  # noqa: ANN401 - any answer
    """Call a tool of a server that was started for it."""
    return ask(home, calling(name, asked), *arguments)


def test_all_tools_are_announced_as_read_only(home: Path) -> None:
    """By default there is no tool that writes, and every one has schemas that are schemas."""
    tools = ask(home, lambda client: client.list_tools()).tools
    assert sorted(tool.name for tool in tools) == READ_TOOLS
    for tool in tools:
        assert tool.annotations.read_only_hint is True
        for schema in (tool.input_schema, tool.output_schema):
            jsonschema.Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"


def test_an_agent_is_answered_with_evidence_and_provenance(home: Path) -> None:
    """By name or fingerprint: the numbers are those of the library."""
    signals = TrustSignals(home)
    signal = signals.for_agent("researcher")
    answer = call(home, "trust_query", {"agent": "researcher", "evidence": 3})
    assert answer["agent"]["dimensions"]["competence"]["value"] == signal.dimensions[Dimension.COMPETENCE].value
    assert [entry["time"] for entry in answer["evidence"]] == [entry.time for entry in signal.history[:-4:-1]]
    assert answer["provenance"]["head"] == signals.provenance.head
    by_key = ask_here(home, calling("trust_query", {"agent": signal.key[:10]}))["agent"]
    assert {**by_key, "staleFor": 0} == {**answer["agent"], "staleFor": 0}


def test_comparing_says_where_nobody_can_tell(home: Path) -> None:
    """With a handful of samples the intervals overlap."""
    answer = call(home, "trust_compare", {"agents": ["researcher", "reviewer"], "dimension": "communication"})
    assert [pair["verdict"] for pair in answer["comparisons"]] == ["cannot tell"]


def test_all_agents_are_listed_newest_first(home: Path) -> None:
    """The list can be cut, and says how much was."""
    answer = ask_here(home, calling("trust_list", {"limit": 3}))
    seen = [agent["lastSeen"] for agent in answer["agents"]]
    assert (seen, answer["leftOut"]) == (sorted(seen, reverse=True), 1)


def test_a_list_by_another_lens(home: Path) -> None:
    """Any lens of the library can be asked for."""
    answer = ask_here(home, calling("trust_list", {"lens": "tool"}))
    assert {agent["key"] for agent in answer["agents"]} == {one.key for one in TrustSignals(home).by(answer["lens"])}


@pytest.mark.parametrize(
    ("tool", "asked", "told"),
    [
        ("trust_query", {"agent": "nobody"}, "no agent is named"),
        ("trust_query", {}, "missing required field `agent`"),
        ("trust_query", {"agent": "researcher", "more": 1}, "unknown field `more`"),
        ("trust_query", {"agent": "researcher", "evidence": 65}, "<= 64"),
        ("trust_compare", {"agents": ["researcher"]}, "length >= 2"),
        ("trust_compare", {"agents": ["researcher", "researcher"]}, "named twice"),
        ("trust_list", {"role": "main", "lens": "name"}, "no roles"),
    ],
)
def test_a_wrong_question_is_an_answer(home: Path, tool: str, asked: dict[str, Any], told: str) -> None:
    """A model can read what was wrong and ask again."""
    assert told in ask_here(home, calling(tool, asked))


def test_resources_hold_the_same_answers(home: Path) -> None:
    """All agents, and each by its fingerprint."""

    async def question(client: Client) -> tuple[Any, Any, Any]:
        listed = await client.list_resources()
        templates = await client.list_resource_templates()
        agents = await client.read_resource("trust://agents")
        key = json.loads(agents.contents[0].text)["agents"][0]["key"]
        agent = await client.read_resource(f"trust://agents/{key}")
        assert [str(one.uri) for one in listed.resources] == ["trust://agents"]
        assert [one.uri_template for one in templates.resource_templates] == ["trust://agents/{fingerprint}"]
        schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
        jsonschema.validate(json.loads(agents.contents[0].text), schemas["trust_list"])
        jsonschema.validate(json.loads(agent.contents[0].text), schemas["trust_query"])
        return json.loads(agents.contents[0].text), json.loads(agent.contents[0].text), key

    agents, agent, key = ask(home, question)
    assert (agents["agents"][0]["dimensions"], agent["agent"]["key"]) == (agent["agent"]["dimensions"], key)


@pytest.mark.parametrize("uri", ["trust://agents/nobody", "trust://other", "trust://agents/"])
def test_an_unknown_resource_is_an_error(home: Path, uri: str) -> None:
    """Of the protocol, with a word on what there is."""
    found = ask_here(home, lambda client: client.read_resource(uri))
    assert isinstance(found, MCPError)
    assert found.message.startswith(("no agent", f"{uri}: no such resource"))


def test_feedback_is_not_there_unless_allowed(home: Path) -> None:
    """It is neither listed nor callable."""
    asked = {"agent": "reviewer", "ratings": {"competence": 5}}
    found = ask(home, lambda client: client.call_tool("trust_feedback", asked))
    assert isinstance(found, MCPError)
    assert "no tool is called" in found.message


def test_feedback_is_announced_as_writing(home: Path) -> None:
    """With --allow-feedback there is one tool that is not read-only."""
    tools = ask(home, lambda client: client.list_tools(), "--allow-feedback").tools
    assert [tool.name for tool in tools if not tool.annotations.read_only_hint] == ["trust_feedback"]


def test_feedback_is_recorded_within_its_limits(home: Path, tmp_path: Path) -> None:
    """Each rating is a row in the observer's name; the fourth in one session is refused, as is one out of range."""
    copy = tmp_path / "home"
    shutil.copytree(home, copy)
    before = TrustSignals(copy).for_agent("reviewer").dimensions[Dimension.INTEGRITY].samples

    async def question(client: Client) -> list[Any]:
        good = {"agent": "reviewer", "ratings": {"integrity": 5}, "comment": "kept its word"}
        asked = [good, {**good, "ratings": {"integrity": 6}}, {**good, "comment": "x" * 501}, good, good, good]
        return [await client.call_tool("trust_feedback", one) for one in asked]

    answers = ask(copy, question, "--allow-feedback", "--observer", "lead")
    assert [answer.is_error for answer in answers] == [False, True, True, False, False, True]
    assert "limit" in answers[-1].content[0].text
    given = [row for row in rows_of(copy) if row.kind == "feedback"]
    assert [(row.evidence.rating, row.evidence.observer) for row in given] == [(5, "lead")] * 3
    assert TrustSignals(copy).for_agent("reviewer").dimensions[Dimension.INTEGRITY].samples == before + 3


def test_without_a_recorder_nothing_is_recorded(home: Path) -> None:
    """The tools themselves hold no way to the store."""
    with pytest.raises(UsageError, match="--allow-feedback"):
        Tools(home, lambda: 0).feedback(Feedback(agent="reviewer", ratings={Dimension.COMPETENCE: 5}))


def test_a_snapshot_file_is_served(home: Path, tmp_path: Path) -> None:
    """A run that must not move asks the file, and the answers name it."""
    name = freeze(home, tmp_path / "run.json")
    answer = call(home, "trust_list", {}, str(tmp_path / "run.json"))
    assert answer["provenance"]["snapshot"] == name


def test_asking_leaves_the_home_as_it_is(home: Path) -> None:
    """Not a byte changes, and no file appears."""
    before = {path: path.read_bytes() for path in home.iterdir()}
    call(home, "trust_query", {"agent": "reviewer"})
    call(home, "trust_list", {"lens": "model"})
    assert {path: path.read_bytes() for path in home.iterdir()} == before
