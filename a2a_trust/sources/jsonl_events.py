"""The events of the contract `jsonl`, version 1: what any harness or script can write, and what each says as facts.

The structs are the format: the JSON Schema that ships is made from them. An event says everything that counts in
itself, so that events may come in any order, any number of times and from any number of files.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from a2a_trust import facts
from a2a_trust.model import Dimension, Profile, Role
from a2a_trust.policy import FEEDBACK
from a2a_trust.sources.json_lines import seq_of, time_of

NAME = "jsonl"
VERSION = 1
EXCUSE = "unattributable"

Text: TypeAlias = Annotated[str, Meta(min_length=1, max_length=512)]
Time: TypeAlias = Annotated[
    int | str, Meta(description="Milliseconds since 1970 in UTC, or ISO 8601; without a zone it is UTC.")
]
Milliseconds: TypeAlias = Annotated[int, Meta(ge=0, le=10**12)]


class AgentType(Struct, kw_only=True):
    """Who the agent of a session is: its type, never this one instance."""

    name: Text
    description: Annotated[str, Meta(max_length=65_536)] = ""
    provider: Annotated[str, Meta(max_length=512)] = ""
    context: Annotated[str, Meta(max_length=512)] = ""
    role: Literal["teammate", "subagent", "main"] = "main"


class _Event(Struct, tag_field="type", rename="camel", kw_only=True):
    """What every event says."""

    v: Literal[1]
    session: Text
    id: Text | None = None
    """Its own name within the session; two events of a session with one id are one. Default: made from its content."""
    time: Time | None = None
    """Without a time it is undated, and stands before all that have one."""


class SessionEvent(_Event, tag="session", kw_only=True):
    """A session begins. It stands before the other events of its session in each file, repeated as it is."""

    agent: AgentType
    project: Annotated[str, Meta(max_length=4_096)] = ""


class CallEvent(_Event, tag="call", kw_only=True):
    """The agent called a tool. Only needed to tell calls that were never answered."""

    call: Text
    tool: Text
    model: Annotated[str, Meta(max_length=512)] = ""


class ResultEvent(_Event, tag="result", kw_only=True):
    """A call came back. `fault` is a failure that the agent is to blame for."""

    call: Text
    tool: Text
    outcome: Literal["ok", "fault", "unattributable"]
    reason: Annotated[str, Meta(max_length=64)] = ""
    """Why nobody is to blame: `denied`, `policy`, `environment`, `aborted`, `provider_error`, or a word of your own."""
    code: Annotated[str, Meta(max_length=128)] = ""
    text: Annotated[str, Meta(max_length=facts.TEXT_START)] = ""
    ms: Milliseconds | None = None
    exit_code: Annotated[int, Meta(ge=-(2**31), lt=2**32)] | None = None
    model: Annotated[str, Meta(max_length=512)] = ""


class EndEvent(_Event, tag="end", kw_only=True):
    """A turn, or the session, is over: calls without a result stay without one."""


class TaskEvent(_Event, tag="task", kw_only=True):
    """A task that the agent of this session owns changed its status."""

    task: Text
    status: Literal["pending", "in_progress", "completed", "deleted"]
    was: Literal["pending", "in_progress", "completed", "deleted"] | None = None
    """Status before. Default: `in_progress` before `completed`, else `pending`."""
    since: Time | None = None
    """When the agent became its owner; work after that supports the completion. Default: any work before it."""


class MessageEvent(_Event, tag="message", kw_only=True):
    """The agent sent a message to another, and it was delivered."""

    message: Text
    to: Annotated[str, Meta(max_length=512)] = ""


class ReplyEvent(_Event, tag="reply", kw_only=True):
    """The agent answered a message, so many ms after it was delivered."""

    message: Text
    ms: Milliseconds
    reason: Annotated[str, Meta(max_length=64)] = ""
    """Why the time says nothing about the agent, such as `provider_error`."""


class CitationEvent(_Event, tag="citation", kw_only=True):
    """A citation of the agent was checked."""

    status: Literal["verified", "misplaced", "mismatch"]


class FeedbackEvent(_Event, tag="feedback", kw_only=True):
    """A person or an agent rated what the agent did."""

    rating: Annotated[int, Meta(ge=1, le=5)]
    dimension: Dimension


Event: TypeAlias = (
    SessionEvent
    | CallEvent
    | ResultEvent
    | EndEvent
    | TaskEvent
    | MessageEvent
    | ReplyEvent
    | CitationEvent
    | FeedbackEvent
)
TYPES = frozenset(str(event.__struct_config__.tag) for event in Event.__args__)


def schema() -> dict[str, Any]:
    """Return the JSON Schema of one line."""
    (found,), components = msgspec.json.schema_components([Event], ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "a2a-trust event, version 1",
        **found,
        "$defs": components,
    }


def profile_of(agent: AgentType) -> Profile:
    """Return the profile of an agent type, whitespace in its description normalised."""
    return Profile(
        name=agent.name,
        description=" ".join(agent.description.split()),
        provider=agent.provider,
        context=agent.context,
        role=Role(agent.role),
    )


def name_of(event: Event) -> str:
    """Return the event's own name within its session: the one it has, else one made from all that it says."""
    if event.id is not None:
        return event.id
    content = msgspec.json.encode(msgspec.to_builtins(event), order="sorted")
    return hashlib.blake2b(content, digest_size=12).hexdigest()


def facts_of(event: Event) -> list[facts.AnyFact]:
    """Return the facts of an event."""
    name = name_of(event)
    seq, time = seq_of(f"{event.session}\x1f{name}"), time_of(event.time)
    found: list[facts.AnyFact]
    match event:
        case SessionEvent():
            found = [facts.Begun(seq, time, event=name)]
        case CallEvent():
            found = [facts.Call(seq, time, event.call, event.tool, event.model, event=name)]
        case ResultEvent():
            found = _result(event, seq, time, name)
        case EndEvent():
            found = [facts.Boundary(seq, time, event=name)]
        case TaskEvent():
            was = event.was or ("in_progress" if event.status == "completed" else "pending")
            since = time_of(event.since)
            found = [facts.TaskChange(seq, time, event.task, was, event.status, since=since, event=name)]
        case MessageEvent():
            found = [facts.MessageSent(seq, time, event.message, event.to, event=name)]
        case ReplyEvent():
            found = [facts.Replied(seq, time, event.message, event.ms, event.reason, event=name)]
        case CitationEvent():
            kind = f"citation-{event.status}"
            found = [facts.Verdict(seq, time, kind, kind, Dimension.INTEGRITY, event=name)]
        case FeedbackEvent():
            found = [facts.Verdict(seq, time, FEEDBACK, FEEDBACK, event.dimension, event.rating, event=name)]
    return found


def _result(event: ResultEvent, seq: int, time: int, name: str) -> list[facts.AnyFact]:
    failure = None
    if event.outcome == "fault":
        failure = facts.Failure(event.code, event.text)
    elif event.outcome == EXCUSE:
        failure = facts.Failure(f"{EXCUSE}:{event.reason or 'unknown'}", "")
    found: list[facts.AnyFact] = []
    if event.exit_code:
        found.append(facts.ExitCode(seq, time, event.call, event.exit_code, event.tool, event=name))
    return [*found, facts.Result(seq, time, event.call, failure, event.tool, event.ms, event.model, event=name)]


def classify(failure: facts.Failure) -> str | None:
    """Return the reason that the event itself gives why nobody is to blame."""
    excuse, colon, reason = failure.code.partition(":")
    return reason if excuse == EXCUSE and colon else None
