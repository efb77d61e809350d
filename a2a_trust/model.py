"""The types that travel between all parts: dimensions, profiles, audit rows, agents and the ledger.

Types only. Nothing here reads a file, knows a log format or decides what counts. Field order is the order in which
the JSON is written; times are integer milliseconds since the epoch, UTC; values and qualities lie in [0, 1].
"""

from __future__ import annotations

import hashlib
from enum import StrEnum
from functools import lru_cache

from msgspec import Struct, field

ROW_VERSION = 2
LEDGER_VERSION = 1
NO_HEAD = "0" * 64
UNIT_SEPARATOR = "\x1f"
HISTORY_ROWS = 64
ADOPTED = "adopted"
"""Scope of rows from another store: their ids say what they recorded, whatever the session they stand in."""

Key = tuple[int, str, int, int, int, str, str]


class Dimension(StrEnum):
    """The four dimensions of trust, in the order in which one event's evidence is placed."""

    COMPETENCE = "competence"
    RELIABILITY = "reliability"
    COMMUNICATION = "communication"
    INTEGRITY = "integrity"


DIMENSIONS = tuple(Dimension)


class Role(StrEnum):
    """What an agent was in the session that named it."""

    TEAMMATE = "teammate"
    SUBAGENT = "subagent"
    MAIN = "main"


class Profile(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The identity of an agent type. Role and model are shown beside it and never hashed."""

    name: str
    description: str = ""
    provider: str = ""
    context: str = ""
    role: Role = field(default=Role.TEAMMATE)
    model: str = ""

    @property
    def fingerprint(self) -> str:
        """The SHA-256 (lowercase hex) over the four identity fields."""
        return _fingerprint(self.name, self.description, self.provider, self.context)


@lru_cache(maxsize=4096)
def _fingerprint(*fields: str) -> str:
    """Hash the fields joined by U+001F.

    Where a field itself holds one, each is prefixed by its length in bytes instead, behind four separators: joined
    fields hold three, so that no two profiles share a text.
    """
    if any(UNIT_SEPARATOR in text for text in fields):
        encoded = [text.encode() for text in fields]
        data = UNIT_SEPARATOR.encode() * 4 + b"".join(b"%d:%s" % (len(text), text) for text in encoded)
    else:
        data = UNIT_SEPARATOR.join(fields).encode()
    return hashlib.sha256(data).hexdigest()


def _share(event: str) -> str:
    """Return one of 4,096 names for an event, always the same one."""
    return "event/" + hashlib.blake2b(event.encode(), digest_size=2).hexdigest()[1:]


class Policy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The numbers and switches that turn recorded rows into a reputation. `a2a_trust.policy` makes and checks them."""

    name: str
    alpha_good: float
    """Weight of the newest evidence where its quality is at least 0.5."""
    alpha_bad: float
    """Weight of the newest evidence where its quality is below 0.5."""
    min_samples: int
    """Evidence that a dimension needs before it enters the total and counts as more than low confidence."""
    weights: dict[Dimension, float]
    roles: tuple[Role, ...]
    """Roles whose evidence is folded."""
    quality: dict[str, float]
    """Quality by kind; evidence of a kind that is not listed is recorded and not folded."""
    latency: tuple[tuple[int, float], ...]
    """(up to this many ms, quality), ascending."""
    latency_beyond: float
    """Quality of an answer slower than the last step of `latency`."""
    completion_needs_work: bool
    """Fold a completed task only where its owner's log holds a successful work call while it owned the task."""
    coordination_tools: tuple[str, ...]
    """Tools whose calls are recorded and not folded: board, mailbox, waiting, spawning, lists."""


class Heard(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    """Which event of a jury run a row comes from, and of a citation all that is needed to check it again."""

    run: str
    key: str
    """The event's own in the log of its run; it names item, condition, step and seat."""
    fixture: bool = False
    """A test double did it."""
    source: str | None = None
    """Name of the text that was cited."""
    start: int | None = None
    end: int | None = None
    """Code points, [start, end)."""
    quote: str | None = None
    """SHA-256 of what was quoted; the log holds the words."""
    text: str | None = None
    """SHA-256 of the text that was cited."""

    @property
    def words(self) -> str:
        """Say it in words: what was cited, and the parts of the key that name something."""
        span = f"{self.source} {self.start}–{self.end} in " if self.source is not None else ""
        return span + " ".join(part for part in self.key.split("/")[1:5] if part != "-")


class Details(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    """What the deciding event, and its own log up to it, say: raw measures and what the lenses need."""

    tool: str | None = None
    call: str | None = None
    ms: int | None = None
    """Duration of a call, or the time from a message to its answer, in milliseconds."""
    reason: str | None = None
    code: str | None = None
    text: str | None = None
    """Start of a failure text that no rule knows, for `doctor`."""
    exit_code: int | None = None
    task: str | None = None
    revision: int | None = None
    owner: str | None = None
    """Session id of the task's owner: where the work that supports a completion must stand."""
    since: int | None = None
    """When the owner became the owner, ms."""
    work: tuple[str, ...] | None = None
    """Tools that succeeded in the owner's hands while it owned the task, where the log itself shows it."""
    message: str | None = None
    sender: str | None = None
    target: str | None = None
    rating: int | None = None
    heard: Heard | None = None
    profile: Profile | None = None
    policy: Policy | None = None
    role: Role | None = None
    given: float | None = None
    """Quality that came with an adopted row: history, which no policy changes."""
    session: str | None = None
    """The session that a person's row, or a row adopted from another store, speaks of."""
    agent: str | None = None
    """Fingerprint that a person's row speaks of."""
    alias: str | None = None
    """Fingerprint under which the rows of `agent` are folded."""
    scope: Dimension | None = None
    """The one dimension that is reset."""
    undo: bool | None = None
    comment: str | None = None
    observer: str | None = None
    origin: str | None = None
    digest: str | None = None
    """SHA-256 of the line that an adopted row was made from."""
    model: str | None = None
    project: str | None = None
    source: str | None = None
    rules: int | None = None


class Late(Struct, frozen=True):
    """What a row changed that came after rows with a greater key: rows folded again, and the value now."""

    rows: int
    value: float


class Row(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    """One line of the audit log: evidence where `dim` is set, an observation where it is not.

    `quality`, `before`, `after`, `delta` and `late` are absent where the policy of that place does not fold the row.
    """

    v: int
    id: str
    time: int
    session: str
    """The session in whose log the event was read first."""
    event: str | None = None
    """The event's own identity, where copies of it stand in logs of several sessions: it is one event all the same."""
    project: str | None = None
    """Where the session ran, where that is not said by the event itself."""
    gen: int
    seq: int
    pos: int
    team_id: str | None = None
    kind: str
    subject: str | None = None
    subject_name: str | None = None
    dim: Dimension | None = None
    quality: float | None = None
    before: float | None = None
    after: float | None = None
    delta: float | None = None
    late: Late | None = None
    supersedes: str | None = None
    evidence: Details = Details()
    prev: str = ""

    @property
    def scope(self) -> str:
        """Within what the row's id is the only one.

        Its session, the one a person's row is about, or `adopted`; for an event that may stand in several sessions a
        share of all events, as the session in which it was met first says nothing about it.
        """
        if self.evidence.digest:
            return ADOPTED
        return self.evidence.session or (_share(self.event) if self.event else self.session)

    @property
    def key(self) -> Key:
        """The place of this row in global event-time order."""
        heard = self.evidence.heard
        run = heard.run if heard else ""  # tells apart what two runs say of one event at one time
        return (self.time, self.event or self.session, self.gen, self.seq, self.pos, run, self.id)


class DimensionTrust(Struct, kw_only=True, rename="camel"):
    """The state of one dimension: the EWMA index, and the counts behind its rate."""

    value: float
    samples: int
    good: int
    """Evidence with quality of at least 0.5."""
    updated_at: int | None = None


class Stats(Struct, kw_only=True, rename="camel"):
    """Counts over an agent's rows, under the policy that the ledger stands under."""

    tasks_completed: int = 0
    tasks_deleted: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    messages_sent: int = 0
    responses_on_time: int = 0
    responses_late: int = 0
    tasks_reopened: int = 0
    tasks_released: int = 0
    unsupported_completions: int = 0
    coordination_calls: int = 0
    unanswered_calls: int = 0
    non_zero_exits: int = 0
    failed_spawns: int = 0
    runs_started: int = 0
    runs_ended: int = 0
    runs_stopped: int = 0
    messages_delivered: int = 0
    sessions: int = 0
    unattributable: dict[str, int] = field(default_factory=dict)
    jury: dict[str, int] = field(default_factory=dict)
    """What was seen of the agent in jury runs, by kind; messages and answers to them are counted with all others."""

    @property
    def runs_open(self) -> int:
        """Runs that have begun and of which no end is told: they may still go on."""
        return max(0, self.runs_started - self.runs_ended - self.runs_stopped)


class HistoryEntry(Struct, frozen=True, kw_only=True):
    """One folded piece of evidence, as kept in the snapshot."""

    time: int
    kind: str
    dim: Dimension
    quality: float
    detail: Details


class AgentRecord(Struct, kw_only=True, rename="camel"):
    """Everything that the ledger says of one fingerprint: a pure function of its rows and the policy."""

    fingerprint: str
    profile: Profile
    trust: dict[Dimension, DimensionTrust]
    stats: Stats
    history: list[HistoryEntry]
    first_seen: int
    last_seen: int


class AuditMark(Struct, frozen=True, kw_only=True):
    """A place in the audit log: rows and bytes up to it, and the SHA-256 of the last line."""

    rows: int = 0
    bytes: int = 0
    head: str = NO_HEAD


class Ledger(Struct, kw_only=True, rename="camel"):
    """The snapshot: a view of the audit log up to `audit`, under `policy`."""

    version: int
    updated_at: int
    agents: dict[str, AgentRecord]
    policy: Policy
    audit: AuditMark
