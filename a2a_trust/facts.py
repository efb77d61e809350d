"""The facts that sources emit: slim, typed projections of the log events that could matter.

Every fact belongs to the log (one session) in which it stands and carries its `seq` and its event time in ms: the
running maximum of the log's own times. A fact says what happened; what it means is decided in `attribution`.
"""

from __future__ import annotations

from msgspec import Struct

VALID_MS = range(10**12, 4 * 10**12)
"""Times outside are not times: seconds, nanoseconds, garbage."""
STATUSES = ("pending", "in_progress", "completed", "deleted")
"""Statuses of a task."""
TEXT_START = 200
"""Characters of a failure text that a fact keeps."""


class LogHeader(Struct, frozen=True, kw_only=True, array_like=True):
    """Who wrote a log: its first line, and the generation of its format."""

    source: str
    session: str
    gen: int
    created: int
    """0 where the header holds no valid time."""
    parent: str = ""
    subagent: bool = False
    preset: str = ""
    cwd: str = ""
    seeded: bool = False


class Fact(Struct, frozen=True, array_like=True, tag=True, gc=False):
    """Base of all facts."""

    seq: int
    time: int


class Descriptor(Fact, frozen=True, tag="descriptor"):
    """What a spawned session says of itself, once."""

    one_shot: bool
    provider: str


class Boundary(Fact, frozen=True, tag="boundary"):
    """A turn started or ended, or the session was resumed: whatever was open before it stays open for ever."""

    resumed: bool = False


class Call(Fact, frozen=True, tag="call"):
    """The agent called a tool."""

    call: str
    tool: str


class Failure(Struct, frozen=True, array_like=True):
    """What a failed call left: a code where the harness gave one, and the start of its text."""

    code: str
    text: str


class Result(Fact, frozen=True, tag="result"):
    """A call came back; `failure` is `None` where it did not fail."""

    call: str
    failure: Failure | None = None


class ExitCode(Fact, frozen=True, tag="exit"):
    """A command that a call ran ended with a code other than zero."""

    call: str
    code: int


class ApprovalAsked(Fact, frozen=True, tag="asked"):
    """Somebody was asked to approve a call."""

    approval: str
    call: str


class ApprovalDecided(Fact, frozen=True, tag="decided"):
    """The approval was given, or not."""

    approval: str
    granted: bool


class Answer(Fact, frozen=True, tag="answer"):
    """The agent said something: one finished model step."""

    model: str
    dated: bool = True


class Retry(Fact, frozen=True, tag="retry"):
    """The model's provider failed and was asked again."""


class Member(Fact, frozen=True, tag="member"):
    """A snapshot of one team member, in the log of its Lead."""

    member: str
    name: str
    description: str
    provider: str
    context: str
    failed: bool


class TaskRevision(Fact, frozen=True, tag="task"):
    """A snapshot of one task of the log's own team."""

    task: str
    revision: int
    status: str
    owner: str


class MessageQueued(Fact, frozen=True, tag="queued"):
    """A member of the log's own team sent a message; a waking one is answered when it arrives."""

    message: str
    sender: str
    target: str
    waking: bool


class MessageDelivered(Fact, frozen=True, tag="delivered"):
    """The target's log durably holds a message: neither read nor answered."""

    message: str
    target: str


class MessageSeen(Fact, frozen=True, tag="seen"):
    """A message of a team reached the agent of this log.

    `team` is empty where the log does not say; then the message is a peer's, was announced nowhere else, and wakes.
    """

    message: str
    sender: str
    team: str = ""
    dated: bool = True


AnyFact = (
    Descriptor
    | Boundary
    | Call
    | Result
    | ExitCode
    | ApprovalAsked
    | ApprovalDecided
    | Answer
    | Retry
    | Member
    | TaskRevision
    | MessageQueued
    | MessageDelivered
    | MessageSeen
)
