"""`a2a-trust mcp`: the signals over the Model Context Protocol, on standard input and output.

Only the protocol: the answers are made in `tools`, and their schemas come from the same types. Needs the extra `mcp`;
nothing else imports this module.
"""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
import mcp_types as types
import msgspec
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from msgspec import Struct

from a2a_trust import __version__
from a2a_trust.errors import TrustError
from a2a_trust.tools import (
    Compare,
    CompareAnswer,
    Feedback,
    FeedbackAnswer,
    ListAnswer,
    Listing,
    Query,
    QueryAnswer,
    Tools,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mcp.server.context import ServerRequestContext

AGENTS = "trust://agents"
JSON = "application/json"
DEFAULT_OBSERVER = "mcp"
INSTRUCTIONS = (
    "Cross-session trust of agent types, from what their logs show they did. Historical, may be stale: a signal beside "
    "what you see now, never a constraint. Compare by intervals, not by values, and mind the number of samples."
)


class _Tool(NamedTuple):
    """A tool: what it is asked, what it answers, and how."""

    description: str
    asked: type[Struct]
    answer: type[Struct]
    run: Callable[[Any], Struct]
    read_only: bool = True


def serve(place: Path, *, allow_feedback: bool, observer: str | None) -> None:
    """Serve until standard input ends. With `allow_feedback`, ratings are recorded in the home."""
    recorder = _recorder(place, observer or DEFAULT_OBSERVER) if allow_feedback else None
    server = make_server(Tools(place, _now_ms, recorder), allow_feedback=allow_feedback)

    async def run() -> None:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    anyio.run(run)


def make_server(tools: Tools, *, allow_feedback: bool) -> Server[Any]:
    """Return the server over the tools; `trust_feedback` is not even listed without `allow_feedback`."""
    offered = _offered(tools, allow_feedback=allow_feedback)

    async def list_tools(_: ServerRequestContext[Any], __: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(name, tool) for name, tool in offered.items()])

    async def call_tool(_: ServerRequestContext[Any], params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = offered.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"no tool is called {params.name!r}; there are {', '.join(offered)}")
        return _called(tool, params.arguments or {})

    async def list_resources(_: ServerRequestContext[Any], __: object) -> types.ListResourcesResult:
        described = "All agent types, newest first, with their numbers and where these come from."
        return types.ListResourcesResult(
            resources=[types.Resource(uri=AGENTS, name="agents", description=described, mime_type=JSON)]
        )

    async def list_templates(_: ServerRequestContext[Any], __: object) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            uri_template=f"{AGENTS}/{{fingerprint}}", name="agent", description="One agent type.", mime_type=JSON
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(
        _: ServerRequestContext[Any], params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        text = msgspec.json.encode(_resource(tools, params.uri)).decode()
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=params.uri, mime_type=JSON, text=text)]
        )

    return Server(
        "a2a-trust",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )


def _offered(tools: Tools, *, allow_feedback: bool) -> dict[str, _Tool]:
    offered = {
        "trust_query": _Tool(
            "What is known of one agent type: its dimensions, its newest evidence, and where the numbers come from.",
            Query,
            QueryAnswer,
            tools.query,
        ),
        "trust_compare": _Tool(
            "Which of several agent types did better on each dimension, or that nobody can tell.",
            Compare,
            CompareAnswer,
            tools.compare,
        ),
        "trust_list": _Tool(
            "All agent types, newest first, or another key to fold by.", Listing, ListAnswer, tools.list
        ),
    }
    if allow_feedback:
        described = "Rate an agent type, 1 to 5 by dimension, on what it did in this session. It is recorded for good."
        offered["trust_feedback"] = _Tool(described, Feedback, FeedbackAnswer, tools.feedback, read_only=False)
    return offered


def _described(name: str, tool: _Tool) -> types.Tool:
    return types.Tool(
        name=name,
        description=tool.description,
        input_schema=object_schema(tool.asked),
        output_schema=object_schema(tool.answer),
        annotations=types.ToolAnnotations(
            read_only_hint=tool.read_only,
            destructive_hint=False,
            idempotent_hint=tool.read_only,
            open_world_hint=False,
        ),
    )


def object_schema(kind: type[Struct]) -> dict[str, Any]:
    """Return the JSON Schema of a struct with the object itself at its root, as the protocol asks for."""
    (reference,), parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    root: dict[str, Any] = parts.pop(reference["$ref"].rpartition("/")[2])
    return {**root, "$defs": parts} if parts else root


def _called(tool: _Tool, arguments: dict[str, Any]) -> types.CallToolResult:
    """Run a tool. What the caller did wrong is an answer that it can read, not an error of the protocol."""
    try:
        answer = tool.run(msgspec.convert(arguments, tool.asked))
    except (TrustError, msgspec.ValidationError) as error:
        return types.CallToolResult(content=[types.TextContent(type="text", text=str(error))], is_error=True)
    text = msgspec.json.encode(answer).decode()
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], structured_content=msgspec.json.decode(text)
    )


def _resource(tools: Tools, uri: str) -> Struct:
    try:
        if uri == AGENTS:
            return tools.list(Listing(limit=1000))
        if uri.startswith(f"{AGENTS}/"):
            return tools.query(Query(agent=uri.removeprefix(f"{AGENTS}/")))
    except TrustError as error:
        raise MCPError(types.INVALID_PARAMS, str(error)) from None
    raise MCPError(types.INVALID_PARAMS, f"{uri}: no such resource; there are {AGENTS} and {AGENTS}/{{fingerprint}}")


def _recorder(home: Path, observer: str) -> Callable[[str, Feedback], int]:
    """Return what records ratings: in the observer's name, in one session for as long as the server runs."""
    session = f"mcp-{uuid.uuid4()}"

    def record(fingerprint: str, asked: Feedback) -> int:
        from a2a_trust.store import TrustStore, amend  # noqa: PLC0415 - the writer, only for who may write

        given = amend.Feedback(ratings=asked.ratings, comment=asked.comment, observer=observer, session=session)
        with TrustStore(home) as store:
            commit = amend.feedback(store, fingerprint, given, _now_ms())
        return commit.folded + commit.unfolded + commit.observations

    return record


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
