"""From the rows of one subject to what the ledger says of it.

The definition is `fold_agent`: sort by key, decide which rows count and with what quality, step through them. Pure.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from a2a_trust.amendments import MEMBER_REGISTERED, Amendments
from a2a_trust.model import (
    DIMENSIONS,
    HISTORY_ROWS,
    AgentRecord,
    Details,
    Dimension,
    DimensionTrust,
    HistoryEntry,
    Key,
    Late,
    Policy,
    Profile,
    Row,
    Stats,
)
from a2a_trust.policy import (
    GOOD,
    MESSAGE_SENT,
    RESPONSE_LATENCY,
    TASK_COMPLETED,
    TASK_REOPENED,
    TOOL_ERROR,
    TOOL_SUCCESS,
    is_coordination,
    quality_of,
)
from a2a_trust.reputation import PRIOR, step

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MODEL_SEEN = "model-seen"
TOOL_UNATTRIBUTABLE = "tool-unattributable"
RESPONSE_UNATTRIBUTABLE = "response-unattributable"
CALL_UNANSWERED = "call-unanswered"

_COUNTED = {
    "task-deleted": "tasks_deleted",
    "task-released": "tasks_released",
    "message-delivered": "messages_delivered",
    "exit-code": "non_zero_exits",
    "spawn-failed": "failed_spawns",
    "run-started": "runs_started",
    "run-ended": "runs_ended",
    "run-stopped": "runs_stopped",
    MEMBER_REGISTERED: "sessions",
}
"""Observations that only add to a count."""

_by_key = attrgetter("key")


class Placed(NamedTuple):
    """What one row did when it arrived: all `None` where it moved no score."""

    quality: float | None = None
    before: float | None = None
    after: float | None = None
    late: Late | None = None

    @property
    def delta(self) -> float | None:
        """The difference that the row made, as it is written."""
        return None if self.before is None or self.after is None else round(self.after - self.before, 6)


ANY_SESSION = "*"
"""Owner of a completed task whose own session the deciding log does not name: work in any session supports it."""


def bench_of(row: Row) -> str:
    """Return under which name a work call is looked for: its session, or any for an event that may stand in several."""
    return ANY_SESSION if row.event else row.session


class WorkIndex:
    """Keys of the successful work calls of one subject, by session: what supports its completed tasks."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._keys: dict[str, list[Key]] = {}

    def add(self, row: Row) -> bool:
        """Note a row if it is a successful work call; tell whether it is."""
        if row.kind != TOOL_SUCCESS or is_coordination(self._policy, row.evidence.tool):
            return False
        insort(self._keys.setdefault(bench_of(row), []), row.key)
        return True

    def remove(self, row: Row) -> None:
        """Forget a row."""
        keys = self._keys.get(bench_of(row), [])
        if row.key in keys:
            keys.remove(row.key)

    def holds(self, row_id: str) -> bool:
        """Tell whether a row is noted, by its id."""
        return any(key[-1] == row_id for keys in self._keys.values() for key in keys)

    def supports(self, row: Row) -> bool:
        """Tell whether the owner of a completed task did work between becoming its owner and the completion."""
        owner, since, work = row.evidence.owner, row.evidence.since, row.evidence.work
        if work is not None:
            return any(not is_coordination(self._policy, tool) for tool in work)
        if row.kind != TASK_COMPLETED or owner is None or since is None:
            return False
        keys = self._keys.get(owner, [])
        first = bisect_left(keys, since, key=lambda key: key[0])
        return first < len(keys) and keys[first] < row.key


NO_AMENDMENTS = Amendments()


class Rules(NamedTuple):
    """What decides how recorded rows count: the policy, and what people said."""

    policy: Policy
    amendments: Amendments = NO_AMENDMENTS

    def quality(self, row: Row, work: WorkIndex) -> float | None:
        """Return the quality with which a row is folded, `None` where it is not."""
        return None if self.amendments.silences(row) else self.stated(row, work)

    def stated(self, row: Row, work: WorkIndex) -> float | None:
        """Return the quality that the policy gives a row, though a reset may keep it from being folded."""
        return quality_of(self.policy, row, supported=row.kind == TASK_COMPLETED and work.supports(row))


class Judged(NamedTuple):
    """A row, the quality with which it is folded, and the one with which it is counted."""

    row: Row
    quality: float | None
    stated: float | None


def resolve(
    rows: Iterable[Row], policy: Policy, amendments: Amendments = NO_AMENDMENTS
) -> Iterator[tuple[Row, float | None]]:
    """Yield the rows of one subject that count, in key order, each with the quality with which it is folded."""
    for row, quality, _ in judge(rows, policy, amendments):
        yield row, quality


def judge(rows: Iterable[Row], policy: Policy, amendments: Amendments = NO_AMENDMENTS) -> Iterator[Judged]:
    """Yield the rows of one subject that count, in key order, each as it is judged."""
    rules = Rules(policy, amendments)
    known = list(rows)
    superseded = {row.supersedes for row in known if row.supersedes}
    ordered = sorted(
        (row for row in known if row.id not in superseded and not rules.amendments.drops(row)), key=_by_key
    )
    work = WorkIndex(rules.policy)
    for row in ordered:
        work.add(row)
    for row in ordered:
        yield Judged(row, rules.quality(row, work), rules.stated(row, work))


class Tally:
    """The growing record of one agent. Rows must come in key order."""

    def __init__(self, fingerprint: str, policy: Policy, record: AgentRecord | None = None) -> None:
        self._policy = policy
        self.record = record or AgentRecord(
            fingerprint=fingerprint,
            profile=Profile(name=""),
            trust={dim: DimensionTrust(value=PRIOR, samples=0, good=0) for dim in DIMENSIONS},
            stats=Stats(),
            history=[],
            first_seen=0,
            last_seen=-1,
        )

    def add(self, row: Row, quality: float | None, stated: float | None = None) -> Placed:
        """Count a row and fold it if it has a quality; a reset silences a row, and leaves what is counted of it."""
        record = self.record
        if record.last_seen < 0:
            record.first_seen = row.time
        record.last_seen = row.time
        self._describe(row)
        self._count(row, quality if stated is None else stated)
        if quality is None or row.dim is None:
            return Placed()
        state = record.trust[row.dim]
        before = state.value
        state.value = step(before, quality, self._policy)
        state.samples += 1
        state.good += quality >= GOOD
        state.updated_at = row.time
        record.history.append(
            HistoryEntry(time=row.time, kind=row.kind, dim=row.dim, quality=quality, detail=row.evidence)
        )
        if len(record.history) > HISTORY_ROWS:
            del record.history[0]
        return Placed(quality, before, state.value)

    def _describe(self, row: Row) -> None:
        profile = self.record.profile
        if not profile.name and row.subject_name:
            profile = msgspec.structs.replace(profile, name=row.subject_name)
        own = row.subject == self.record.fingerprint or not profile.provider + profile.context
        if row.evidence.profile is not None and own:
            model = row.evidence.profile.model or profile.model
            profile = msgspec.structs.replace(row.evidence.profile, model=model)
        elif row.kind == MODEL_SEEN and row.evidence.model:
            profile = msgspec.structs.replace(profile, model=row.evidence.model)
        self.record.profile = profile

    def _count(self, row: Row, quality: float | None) -> None:
        stats, kind, details = self.record.stats, row.kind, row.evidence
        coordination = details.given is None and is_coordination(self._policy, details.tool)
        if kind in _COUNTED:
            name = _COUNTED[kind]
            setattr(stats, name, getattr(stats, name) + 1)
        elif coordination:
            stats.coordination_calls += 1
        elif kind in (TOOL_SUCCESS, TOOL_ERROR):
            stats.tool_calls += 1
            stats.tool_errors += kind == TOOL_ERROR
        elif kind in (TOOL_UNATTRIBUTABLE, RESPONSE_UNATTRIBUTABLE):
            reason = details.reason or "unknown"
            stats.unattributable[reason] = stats.unattributable.get(reason, 0) + 1
        elif kind == CALL_UNANSWERED:
            stats.unanswered_calls += 1
        elif kind == MESSAGE_SENT:
            stats.messages_sent += 1
        elif kind == RESPONSE_LATENCY and quality is not None:
            stats.responses_on_time += quality >= GOOD
            stats.responses_late += quality < GOOD
        elif details.heard is not None:
            stats.jury[kind] = stats.jury.get(kind, 0) + 1
        elif row.dim is Dimension.COMPETENCE:
            self._count_task(kind, quality, details)

    def _count_task(self, kind: str, quality: float | None, details: Details) -> None:
        stats = self.record.stats
        if kind == TASK_REOPENED:
            stats.tasks_reopened += 1
        elif kind == TASK_COMPLETED:
            unsupported = quality is None and details.role in self._policy.roles
            stats.tasks_completed += not unsupported
            stats.unsupported_completions += unsupported


def fold_agent(
    fingerprint: str, rows: Iterable[Row], policy: Policy, amendments: Amendments = NO_AMENDMENTS
) -> AgentRecord:
    """Return the record of one subject: by definition the fold of all its rows in key order."""
    tally = Tally(fingerprint, policy)
    for judged in judge(rows, policy, amendments):
        tally.add(*judged)
    return tally.record
