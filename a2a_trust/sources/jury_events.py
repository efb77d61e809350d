"""The log of a jury run, version 1: one event a line, each line chained to the one before it, in zstd frames.

The structs are the format. The jury engine writes them, its views and its check read them again, and the source
`jury` makes evidence of them. Everything that a run decides or computes stands in its log or follows from it.

A line is `{"hash": H, "event": E}`, where H is the SHA-256 (lowercase hex) over the hash of the line before it (64
zeros for the first) followed by the bytes of E. An event's `key` is its own within the log: writing is idempotent by
key, so that a run that was cut short can be walked through again. `key_of` makes keys.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct, field

NAME = "jury"
VERSION = 1
LOG_NAME = "jury.jsonl.zst"
"""Name of the log in the folder of its run."""
NO_HASH = "0" * 64
NOBODY = ""

Hash: TypeAlias = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Option: TypeAlias = Annotated[str, Meta(min_length=1, max_length=64)]
Id: TypeAlias = Annotated[str, Meta(min_length=1, max_length=200)]

Preset = Literal["tribunal", "panel", "judges"]
Condition = Literal["solo", "independent", "star", "mesh", "digest"]
"""A topology, as one run of it: who may address whom. `digest` is the panel's: everybody, through an anonymous text."""
Step = Literal["statement", "baseline", "verdict", "open", "address", "position", "ballot", "announcement"]
Part = Literal["juror", "foreperson", "judge", "party", "witness", "clerk"]
FaultCode = Literal[
    "timeout",
    "provider_error",
    "malformed",
    "missing_field",
    "unknown_target",
    "unadmitted_citation",
    "quote_misplaced",
    "quote_mismatch",
    "identity_mismatch",
    "ballot_changed",
    "seal_broken",
    "absent",
]
PROVIDER_FAULTS: tuple[FaultCode, ...] = ("timeout", "provider_error")
"""Faults of a call that was not answered: perhaps the agent's, perhaps that of what it runs on."""
TrustMode = Literal["off", "lead-only", "all"]
CitationStatus = Literal["verified", "misplaced", "mismatch", "unadmitted"]


class AgentType(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A profile as a run names it, for an agent that is judged."""

    name: str
    description: str = ""
    provider: str = ""
    context: str = ""


class Actor(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Somebody who is asked in a run. `id` is its seat in this run and never part of its identity."""

    id: Id
    part: Part
    name: str
    persona: str = ""
    """What makes it the juror that it is, as it is told; hashed into its identity."""
    provider: str
    model: str = ""
    fixture: bool = False
    """A test double: its work is evidence only where that is asked for."""
    parameters: dict[str, str] = field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()
    """Conditions it takes part in; empty for all."""


class Limits(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a run may use."""

    max_attempts: Annotated[int, Meta(ge=1, le=5)] = 3
    """Times that one answer is asked for."""
    deadline: Annotated[float, Meta(gt=0, le=86_400)] = 60.0
    """Seconds for each call."""
    concurrency: Annotated[int, Meta(ge=1, le=64)] = 6
    """Calls under way at a time."""
    max_calls: Annotated[int, Meta(ge=1)] = 100_000
    max_traces: Annotated[int, Meta(ge=1)] = 100_000


class Rule(Struct, frozen=True, kw_only=True, rename="camel"):
    """How votes become an outcome."""

    kind: Literal["majority", "supermajority", "unanimous", "agreement"]
    quorum: tuple[Annotated[int, Meta(ge=0)], Annotated[int, Meta(ge=1)]] = (2, 3)
    """Numerator and denominator of the share of the panel that must be present."""


class Trust(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The signal as it was frozen when the run began."""

    mode: TrustMode
    policy: str = ""
    rows: int = 0
    head: str = ""
    as_of: int = 0
    text: str = ""
    """Just what was shown; empty where there was nothing to show."""
    sha256: Hash = hashlib.sha256(b"").hexdigest()


class _Event(Struct, tag_field="type", rename="camel", kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What every event says."""

    key: str
    time: int
    """Milliseconds since 1970, UTC; never before the event that stands above it."""


class RunOpened(_Event, tag="run", kw_only=True):
    """The run: who takes part, under which rules. The first event of a log. Key `run`."""

    v: Literal[1] = 1
    run: Id
    preset: Preset
    conditions: tuple[Condition, ...]
    title: str = ""
    control: Hash
    """Fingerprint of everything that decides what is asked: equal runs have equal ones."""
    hearing: Hash
    """Names what the conditions share. Equal for two runs only where they are one hearing told twice."""
    case: Hash
    """SHA-256 of the case file or data set, as bytes."""
    material: dict[str, Any] = field(default_factory=dict)
    """What of the case the walk needs: never its hidden truth, nor the items of a data set."""
    prompts: Hash = NO_HASH
    """Fingerprint of the wording of all prompts."""
    cast: list[Actor]
    rule: Rule
    rounds: int
    order: Literal["standard", "reverse"] = "standard"
    seed: int
    limits: Limits
    trust: Trust
    traces: int = 0
    """Items of a data set; 0 where the run has one item."""
    version: str
    """Of a2a-trust."""


class ItemOpened(_Event, tag="item", kw_only=True):
    """A question and the texts that may be cited. Key `item/<item>`."""

    item: Id
    question: str
    options: tuple[Option, ...]
    texts: dict[str, str]
    """By the name under which each is cited."""
    admitted: tuple[str, ...] = ()
    """Identifiers that may be named in prose beside the names of `texts`: those that the case itself names."""
    facts: dict[str, str] = field(default_factory=dict)
    """What else is told about it: charge, burden, summary."""
    judged: AgentType | None = None
    """Whose work it is, where that is known."""


class Answered(_Event, tag="answer", kw_only=True):
    """An answer that met its contract. Key `answer/<item>/<condition>/<step>[-<n>]/<actor>`, condition `-` for none."""

    item: Id
    condition: Condition | None = None
    step: Step
    actor: Id
    attempt: int
    round: int = 0
    prompt: Hash
    """SHA-256 of the whole prompt, as sent."""
    shown: dict[str, Hash] = field(default_factory=dict)
    """Hashes of its parts, by name: record, digest, message, replies, trust, complaint."""
    content: msgspec.Raw
    """The answer, canonical JSON of its contract: never the reasoning behind it."""
    ms: int
    """Of the attempt that was accepted."""
    model: str = ""
    """As the provider reported it."""
    tokens: tuple[int, int] | None = None
    """Of prompt and answer, where the provider says."""


class AttemptFailed(_Event, tag="fault", kw_only=True):
    """An attempt that gave nothing usable. Key `fault/<item>/<condition>/<step>[-<n>]/<actor>/<attempt>`.

    Attempts number on where a run is resumed, whatever happened in between.
    """

    item: Id
    condition: Condition | None = None
    step: Step
    actor: Id
    attempt: int
    round: int = 0
    prompt: Hash
    shown: dict[str, Hash] = field(default_factory=dict)
    code: FaultCode
    words: Annotated[str, Meta(max_length=1000)]
    """What the validator said, as the next attempt is told."""
    reply: Hash | None = None
    """SHA-256 of what came back, where anything did."""
    ms: int


class WentAbsent(_Event, tag="absent", kw_only=True):
    """Somebody gave no answer within all attempts. Key `absent/<item>/<condition>/<step>[-<n>]/<actor>/<epoch>`."""

    item: Id
    condition: Condition | None = None
    step: Step
    actor: Id
    round: int = 0
    attempts: int
    code: FaultCode
    """Of the last attempt."""
    epoch: int = 0


class Cited(_Event, tag="citation", kw_only=True):
    """A citation that was checked, with what is needed to check it again.

    Key `citation/<item>/<condition>/<step>[-<n>]/<actor>/<attempt>/<n>`: it stands above the answer, or the fault,
    of its attempt. An identifier in prose is its own source and quote, with no span.
    """

    item: Id
    condition: Condition | None = None
    step: Step
    actor: Id
    source: str
    start: int
    end: int
    """Code points, [start, end)."""
    quote: Annotated[str, Meta(max_length=2000)]
    status: CitationStatus
    found: int | None = None
    """Where the quote stands instead."""
    found_in: str = ""
    text: Hash | None = None
    """SHA-256 of the text that was cited."""


class Sealed(_Event, tag="seal", kw_only=True):
    """A verdict is fixed. Key `seal/<item>/<actor>`. The commitment is SHA-256 over nonce, a line feed and verdict."""

    item: Id
    actor: Id
    commitment: Hash


class SealOpened(_Event, tag="opened", kw_only=True):
    """The verdict that somebody says it sealed. Key `opened/<item>/<actor>`."""

    item: Id
    actor: Id
    nonce: Hash
    verdict: msgspec.Raw
    """What was opened, canonical; the sealed one counts whatever this says."""
    holds: bool


class PhaseClosed(_Event, tag="phase", kw_only=True):
    """A phase is over: nothing of it changes any more. Key `phase/<item>/<condition>/<phase>`."""

    item: Id
    condition: Condition | None = None
    phase: Literal["record", "baseline", "sealed", "round", "ballot"]
    round: int = 0
    present: tuple[Id, ...]
    absent: tuple[Id, ...] = ()
    state: Hash
    """SHA-256 of what the phase ended with: record, baselines, sealed verdicts, positions or votes."""


class QuorumMissed(_Event, tag="quorum", kw_only=True):
    """Too few were present to go on. Key `quorum/<item>/<condition>/<epoch>`; `-` but for a panel of its own."""

    item: Id
    condition: Condition | None = None
    present: int
    needed: int
    empanelled: int
    epoch: int = 0


class MessageDelivered(_Event, tag="message", kw_only=True):
    """One juror addressed another. Key `message/<item>/<condition>/<round>/<sender>`; the text is in the answer."""

    item: Id
    condition: Condition
    round: int
    sender: Id
    target: Id
    text: Hash


class DigestMade(_Event, tag="digest", kw_only=True):
    """What the jurors of a panel are shown of each other. Key `digest/<item>/<round>`."""

    item: Id
    round: int
    arguments: int
    text: Hash


class RequestRefused(_Event, tag="refused", kw_only=True):
    """The procedure said no, with a reason: a budget is spent. Key `refused/<item>/<condition>/<what>`."""

    item: Id
    condition: Condition | None = None
    what: str
    reason: str


class BallotCast(_Event, tag="ballot", kw_only=True):
    """A vote that counts: the one that was frozen. Key `ballot/<item>/<condition>/<actor>`."""

    item: Id
    condition: Condition
    actor: Id
    vote: Option
    submitted: Option | None = None
    """What the ballot said, `None` where there was none."""
    changed: bool = False


class OutcomeReached(_Event, tag="outcome", kw_only=True):
    """What the votes come to, by the rule. Key `outcome/<item>/<condition>`."""

    item: Id
    condition: Condition
    status: Literal["decided", "hung", "agreed", "review"]
    outcome: Option | None = None
    tally: dict[str, int]
    """Votes by option, every option named."""
    reason: str = ""
    """Why it goes to a person, or why it hangs."""
    label: Option | None = None
    """The known truth, withheld until here."""


class RunEnded(_Event, tag="ended", kw_only=True):
    """The run stopped. Key `ended/<epoch>`. A finished one is never continued, an unfinished one can be."""

    epoch: int = 0
    finished: bool
    reason: str = ""
    missing: tuple[str, ...] = ()
    """Answers that are missing, as `<item>/<condition>/<step>/<actor>`; the first hundred."""
    calls: int
    failed: int
    """Calls that were not answered, or not usably."""
    infrastructure: dict[str, int] = field(default_factory=dict)
    """Fault codes that struck at least half of the run's calls, and more than one seat where several were asked, with
    how many calls each struck: nobody's fault."""


class RunResumed(_Event, tag="resumed", kw_only=True):
    """The run goes on. Key `resumed/<epoch>`."""

    epoch: int


class Resolved(_Event, tag="resolution", kw_only=True):
    """A person's decision of an item that went to review. Key `resolution/<item>`."""

    item: Id
    case: Hash
    decision: Option
    resolver: Annotated[str, Meta(min_length=1, max_length=200)]
    note: Annotated[str, Meta(min_length=1, max_length=2000)]


Event: TypeAlias = (
    RunOpened
    | ItemOpened
    | Answered
    | AttemptFailed
    | WentAbsent
    | Cited
    | Sealed
    | SealOpened
    | PhaseClosed
    | QuorumMissed
    | MessageDelivered
    | DigestMade
    | RequestRefused
    | BallotCast
    | OutcomeReached
    | RunEnded
    | RunResumed
    | Resolved
)
TYPES = frozenset(str(event.__struct_config__.tag) for event in Event.__args__)


class Line(Struct, frozen=True):
    """One line of the log."""

    hash: Hash
    event: msgspec.Raw


EVENTS: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)
LINES: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)
_ENCODER = msgspec.json.Encoder(order="deterministic")
_CANONICAL = msgspec.json.Encoder(order="sorted")


def canonical(value: Any) -> bytes:  # noqa: ANN401 - anything that JSON can hold
    """Return the one JSON text of a value: compact, keys sorted, UTF-8."""
    return _CANONICAL.encode(value)


def key_of(kind: str, *parts: str | int | None) -> str:
    """Return the key of an event from its kind and its parts in order, `-` for none.

    A slash within a part stands as `%2F`, so that no item's name can make one key of two.
    """
    return "/".join((kind, *("-" if part is None else _escaped(str(part)) for part in parts)))


def step_of(step: Step, number: int = 0) -> str:
    """Return how a step is named in keys: with a number, where one actor takes it more than once."""
    return f"{step}-{number}" if number else step


def _escaped(part: str) -> str:
    return part.replace("%", "%25").replace("/", "%2F") if "/" in part or "%" in part else part


def sha256(data: bytes | str) -> str:
    """Return a SHA-256 in lowercase hex; a text as its UTF-8."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def line_of(event: Event, before: str) -> tuple[bytes, str]:
    """Return the line of an event with its end, and its hash, behind the line with the hash `before`."""
    body = _ENCODER.encode(event)
    found = chained(body, before)
    return b'{"hash":"%s","event":%s}\n' % (found.encode(), body), found


def chained(body: bytes | msgspec.Raw, before: str) -> str:
    """Return the hash of a line from the bytes of its event and the hash of the line before it."""
    digest = hashlib.sha256(before.encode())
    digest.update(body)
    return digest.hexdigest()


def schema() -> dict[str, Any]:
    """Return the JSON Schema of one event."""
    (found,), components = msgspec.json.schema_components([Event], ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "a2a-trust jury event, version 1",
        **found,
        "$defs": components,
    }
