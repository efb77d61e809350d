"""What is remembered of a log between two readings, and the findings that its facts lead to.

Types only; the rules stand in `findings` and `event_fold`. All of it crosses process borders and lives in the cache.
"""

from __future__ import annotations

from msgspec import Struct, field

from a2a_trust import facts
from a2a_trust.model import Details, Dimension, Profile

PENDING, IN_PROGRESS, COMPLETED, DELETED = facts.STATUSES


class Finding(Struct, kw_only=True, array_like=True, gc=False):
    """Something that happened, before it is known who the actor is. Session and format stand in the log's header."""

    actor: str
    kind: str
    id: str
    time: int = 0
    gen: int = 0
    """Generation of the format in which it was read first: it keeps its place when the log changes format."""
    seq: int = 0
    pos: int = 0
    dim: Dimension | None = None
    team: str = ""
    """The team it belongs to; empty for what an agent did in its own session."""
    peer: str = ""
    """Sender of a message without a team: it counts only between members of one team, which names the id."""
    waking: str = ""
    """Message that must be known as a waking one."""
    details: Details = Details()
    event: str = ""
    """The event's own identity, where copies of it may stand in several logs."""
    subject: Profile | None = None
    """Whom it is about, where the log itself says so."""
    holder: str = ""
    """Id of an agent, under which another log says whom it is about."""


class OpenCall(Struct, array_like=True):
    """A call without a result so far."""

    id: str
    tool: str
    time: int


class TaskState(Struct, array_like=True):
    """The newest revision known of a task."""

    revision: int
    status: str
    owner: str
    since: int


class PendingAnswer(Struct, array_like=True):
    """A message that its receiver has not answered yet."""

    message: str
    sender: str
    team: str
    time: int
    dated: bool
    retried: bool = False


class EventCall(Struct, array_like=True):
    """A call without a result so far, in a log without sequence numbers."""

    event: str
    tool: str
    time: int
    seq: int
    model: str


class EventMessage(Struct, array_like=True):
    """A message that its receiver has not answered yet, in a log without sequence numbers."""

    message: str
    sender: str
    time: int
    retried: bool = False


class EventTask(Struct, array_like=True):
    """A task as the log knows it."""

    status: str = PENDING
    owner: str = ""
    """Name on the board; empty for the agent of the log."""
    since: int = 0
    """When the owner became the owner, ms."""
    mark: int = 0
    """How many calls had succeeded by then."""
    lost: bool = False
    """Whether its owner was named before the log begins."""


class EventState(Struct, kw_only=True):
    """What must be remembered of a log without sequence numbers."""

    begun: int = 0
    """Time of its first event, ms."""
    calls: dict[str, list[EventCall]] = field(default_factory=dict)
    answers: list[EventMessage] = field(default_factory=list)
    tasks: dict[str, EventTask] = field(default_factory=dict)
    members: dict[str, Profile] = field(default_factory=dict)
    """The agents that this one spawned, by their names on the board."""
    succeeded: int = 0
    work: dict[str, int] = field(default_factory=dict)
    """Tools that succeeded, each with the number of its last success."""


class LogState(Struct, kw_only=True):
    """All that must be remembered of a log between two readings, and all that other logs of its team may ask."""

    header: facts.LogHeader
    reached: int = 0
    """Event time up to which the log was read, ms."""
    started: bool = False
    descriptor: facts.Descriptor | None = None
    model: str = ""
    models: int = 0
    """How often the model changed."""
    calls: dict[str, list[OpenCall]] = field(default_factory=dict)
    used: dict[str, int] = field(default_factory=dict)
    approvals: dict[str, str] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    answers: list[PendingAnswer] = field(default_factory=list)
    tasks: dict[str, TaskState] = field(default_factory=dict)
    roster: dict[str, Profile] = field(default_factory=dict)
    queued: dict[str, bool] = field(default_factory=dict)
    """Messages of the log's own team: whether they wake."""
    parked: list[Finding] = field(default_factory=list)
    """Findings whose actor is not known yet."""
    events: EventState | None = None
    """Set in logs without sequence numbers."""
