"""From the rows of one subject to what the ledger says of it.

The definition is `fold_agent`: sort by key, decide which rows the policy folds, step through them. `AgentFold` gives
the same while rows arrive one by one, in any order, and says what each row did. Pure: rows already stored are asked
for through a callable.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import msgspec

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
    from collections.abc import Callable, Iterable, Iterator

MEMBER_REGISTERED = "member-registered"
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


class WorkIndex:
    """Keys of the successful work calls of one subject, by session: what supports its completed tasks."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._keys: dict[str, list[Key]] = {}

    def add(self, row: Row) -> bool:
        """Note a row if it is a successful work call; tell whether it is."""
        if row.kind != TOOL_SUCCESS or is_coordination(self._policy, row.evidence.tool):
            return False
        insort(self._keys.setdefault(row.session, []), row.key)
        return True

    def supports(self, row: Row) -> bool:
        """Tell whether the owner of a completed task did work between becoming its owner and the completion."""
        owner, since = row.evidence.owner, row.evidence.since
        if row.kind != TASK_COMPLETED or owner is None or since is None:
            return False
        keys = self._keys.get(owner, [])
        first = bisect_left(keys, since, key=lambda key: key[0])
        return first < len(keys) and keys[first] < row.key


def resolve(rows: Iterable[Row], policy: Policy) -> Iterator[tuple[Row, float | None]]:
    """Yield the rows of one subject in key order, each with the quality with which the policy folds it."""
    ordered = sorted(rows, key=_by_key)
    work = WorkIndex(policy)
    for row in ordered:
        work.add(row)
    for row in ordered:
        yield row, quality_of(policy, row, supported=work.supports(row))


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

    def add(self, row: Row, quality: float | None) -> Placed:
        """Count a row and fold it if it has a quality."""
        record = self.record
        if record.last_seen < 0:
            record.first_seen = row.time
        record.last_seen = row.time
        self._describe(row)
        self._count(row, quality)
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
        if row.kind == MEMBER_REGISTERED and row.evidence.profile is not None:
            profile = msgspec.structs.replace(row.evidence.profile, model=profile.model)
        elif row.kind == MODEL_SEEN and row.evidence.model:
            profile = msgspec.structs.replace(profile, model=row.evidence.model)
        self.record.profile = profile

    def _count(self, row: Row, quality: float | None) -> None:
        stats, kind, details = self.record.stats, row.kind, row.evidence
        coordination = is_coordination(self._policy, details.tool)
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


def fold_agent(fingerprint: str, rows: Iterable[Row], policy: Policy) -> AgentRecord:
    """Return the record of one subject: by definition the fold of all its rows in key order."""
    tally = Tally(fingerprint, policy)
    for row, quality in resolve(rows, policy):
        tally.add(row, quality)
    return tally.record


class Track:
    """The folded evidence of one dimension in key order, with the index after each piece."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._keys: list[Key] = []
        self._qualities: list[float] = []
        self._values: list[float] = []

    def insert(self, key: Key, quality: float) -> Placed:
        """Put evidence in its place and fold again what comes after it.

        Folding stops early where the index meets its old course: from there on nothing can differ.
        """
        place = bisect_right(self._keys, key)
        before = self._values[place - 1] if place else PRIOR
        after = value = step(before, quality, self._policy)
        self._keys.insert(place, key)
        self._qualities.insert(place, quality)
        self._values.insert(place, after)
        for later in range(place + 1, len(self._keys)):
            value = step(value, self._qualities[later], self._policy)
            if value == self._values[later]:
                break
            self._values[later] = value
        rows_after = len(self._keys) - place - 1
        return Placed(quality, before, after, Late(rows_after, self._values[-1]) if rows_after else None)


class Refold:
    """All rows of one subject, kept sorted, for rows that come after rows with a greater key."""

    def __init__(self, rows: Iterable[Row], policy: Policy) -> None:
        self._policy = policy
        self._work = WorkIndex(policy)
        self._tracks = {dim: Track(policy) for dim in DIMENSIONS}
        self._unsupported: list[Row] = []
        self.rows: list[Row] = []
        for row in sorted(rows, key=_by_key):
            self.insert(row)

    def insert(self, row: Row) -> Placed:
        """Add a row; a work call may at last support completions that wait for it."""
        insort(self.rows, row, key=_by_key)
        if self._work.add(row):
            self._fold_supported(row.session)
        quality = quality_of(self._policy, row, supported=self._work.supports(row))
        if row.dim is None:
            return Placed()
        if quality is None:
            if row.kind == TASK_COMPLETED:
                self._unsupported.append(row)
            return Placed()
        return self._tracks[row.dim].insert(row.key, quality)

    def _fold_supported(self, owner: str) -> None:
        waiting = self._unsupported
        self._unsupported = []
        for row in waiting:
            supported = row.evidence.owner == owner and self._work.supports(row)
            quality = quality_of(self._policy, row, supported=supported)
            if quality is None or row.dim is None:
                self._unsupported.append(row)
            else:
                self._tracks[row.dim].insert(row.key, quality)


class AgentFold:
    """One agent while rows arrive, in whatever order.

    `stored` yields the rows of this subject that are already in the audit log, of one session or of all; it is asked
    only when a row is older than the newest one known, or when a completed task needs its owner's work.
    """

    def __init__(
        self,
        fingerprint: str,
        policy: Policy,
        record: AgentRecord | None,
        stored: Callable[[str | None], Iterable[Row]],
    ) -> None:
        self._fingerprint = fingerprint
        self._policy = policy
        self._stored = stored
        self._tally = Tally(fingerprint, policy, record)
        self._last: Key | None = None
        self._new: list[Row] = []
        self._work: dict[str, WorkIndex] = {}
        self._refold: Refold | None = None

    def add(self, row: Row) -> Placed:
        """Place one row and return what it did."""
        if self._refold is None and not self._in_order(row):
            self._refold = Refold([*self._stored(None), *self._new], self._policy)
        if self._refold is not None:
            return self._refold.insert(row)
        self._last = row.key
        self._new.append(row)
        if row.session in self._work:
            self._work[row.session].add(row)
        return self._tally.add(row, quality_of(self._policy, row, supported=self._supported(row)))

    def record(self) -> AgentRecord:
        """Return the record after all rows so far."""
        if self._refold is not None:
            return fold_agent(self._fingerprint, self._refold.rows, self._policy)
        return self._tally.record

    def flushed(self) -> None:
        """Forget the rows that are now in the audit log."""
        self._new.clear()

    def _in_order(self, row: Row) -> bool:
        if self._last is not None:
            return row.key > self._last
        return row.time > self._tally.record.last_seen

    def _supported(self, row: Row) -> bool:
        owner = row.evidence.owner
        if row.kind != TASK_COMPLETED or owner is None or not self._policy.completion_needs_work:
            return False
        if owner not in self._work:
            index = self._work[owner] = WorkIndex(self._policy)
            for known in [*self._stored(owner), *self._new]:
                if known.session == owner:
                    index.add(known)
        return self._work[owner].supports(row)
