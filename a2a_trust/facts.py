"""The facts that sources emit: slim, typed projections of the log events that could matter.

Every fact belongs to the log (one session) in which it stands and carries its `seq` and its event time in ms: the
running maximum of the log's own times. A fact says what happened; what it means is decided in `attribution`.
"""

from __future__ import annotations

from msgspec import Struct

from a2a_trust.model import Dimension, Heard, Profile

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
    profile: Profile | None = None
    """Who the agent is, where the source itself can tell."""
    holder: str = ""
    """Id under which the log of whoever spawned this agent says who it is, where the source cannot tell."""
    by_event: bool = False
    """Rules by event: no sequence numbers, several sessions in a file, an event perhaps in several files."""
    copied: bool = False
    """Events of this log may stand in other logs too: their own identity, not the session, makes them one."""
    headless: bool = False
    """The log begins in the middle of its session."""
    fixture: bool = False
    """The agent is a test double: what it did counts only where that is asked for."""

    @property
    def nobodys(self) -> bool:
        """Whether the log is no agent's own, and speaks of others and of itself."""
        return self.by_event and self.profile is None and not self.holder


class _Event(Struct, frozen=True, array_like=True, kw_only=True, gc=False):
    """What only logs without sequence numbers say of an event."""

    event: str = ""
    """The event's own identity, the same in every copy; empty where session and `seq` say which one it is."""
    heard: Heard | None = None
    """Where it stands in a jury run."""


class Fact(_Event, frozen=True, array_like=True, tag=True, gc=False):
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
    model: str = ""
    """The model that called, where the event itself says so."""


class Failure(Struct, frozen=True, array_like=True):
    """What a failed call left: a code where the harness gave one, and the start of its text."""

    code: str
    text: str


class Result(Fact, frozen=True, tag="result"):
    """A call came back; `failure` is `None` where it did not fail."""

    call: str
    failure: Failure | None = None
    tool: str = ""
    """The tool, where the result itself names it; its call need not have been seen then."""
    ms: int | None = None
    """How long it took, where the result itself says so."""
    model: str = ""
    """The model that called, where the result itself says so."""


class ExitCode(Fact, frozen=True, tag="exit"):
    """A command that a call ran ended with a code other than zero."""

    call: str
    code: int
    tool: str = ""
    """The tool, where the event itself names it."""


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


class Begun(Fact, frozen=True, tag="begun"):
    """A session starts, and says so itself."""


class Introduced(Fact, frozen=True, tag="introduced"):
    """The log names an agent, not its own, of which it will speak."""

    profile: Profile


class Spawned(Fact, frozen=True, tag="spawned"):
    """The agent of this log spawned another, or failed to."""

    ids: tuple[str, ...]
    """All ids under which the other's own log may ask who it is."""
    profile: Profile
    name: str = ""
    """Its name on the team's board."""
    failed: bool = False


class Run(Fact, frozen=True, tag="run"):
    """The run of an agent that was spawned began, came to its end or was cut short; none says how well it did.

    A run that has begun and of which no end is told may still go on.
    """

    profile: Profile
    state: str
    """`started`, `ended` or `stopped`."""
    call: str
    """The call that spawned it."""
    ms: int | None = None
    reason: str = ""
    """Why it was cut short."""


class MessageSent(Fact, frozen=True, tag="sent"):
    """The agent of this log sent a message, and it was delivered."""

    message: str
    target: str


class TaskChange(Fact, frozen=True, tag="change"):
    """The agent of this log changed a task: of a board without revisions."""

    task: str
    before: str
    """Status before; empty where the event does not say."""
    after: str
    """Status after; empty where it stays."""
    owner: str | None = None
    """The new owner's name on the board; `None` where the owner stays."""
    created: bool = False
    since: int | None = None
    """When the agent became its owner, where the event itself says so; then it is the agent's task."""
    actor: str = ""
    """The name on the board of who changed it, and after an `@` the team's, as far as the log has said by then."""
    board: str = ""
    """Who owns the task by the team's own files, for an event that does not say."""


class Replied(Fact, frozen=True, tag="replied"):
    """The agent answered a message, so many ms after it was delivered; the event itself says both."""

    message: str
    ms: int
    reason: str = ""
    """Why the time says nothing about the agent."""


class TaskSeen(Fact, frozen=True, tag="task-seen"):
    """The agent of this log looked at a task."""

    task: str
    status: str
    owner: str


class Verdict(Fact, frozen=True, tag="verdict"):
    """Somebody judged the agent of this log, by the contract of the format: a citation that was checked, a rating."""

    about: str
    """What was judged; with the event it makes the row one of its kind, whatever the verdict."""
    kind: str
    dim: Dimension | None
    """`None` where it judges nobody."""
    rating: int | None = None
    ms: int | None = None
    reason: str = ""
    profile: Profile | None = None
    """Whom it is about, where that is not the agent of this log."""


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
    | Begun
    | Introduced
    | Spawned
    | Run
    | MessageSent
    | TaskChange
    | TaskSeen
    | Replied
    | Verdict
)
