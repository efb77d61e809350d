"""One agent while rows arrive one by one, in any order: its record, and what each row did.

Gives what `agents.fold_agent` gives, without folding everything again at each row. Pure: rows that are stored already
are asked for through a callable.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from a2a_trust.agents import ANY_SESSION, NO_AMENDMENTS, Placed, Rules, Tally, WorkIndex, bench_of, fold_agent, resolve
from a2a_trust.model import DIMENSIONS, Key, Late, Policy, Row
from a2a_trust.policy import STANDARD, TASK_COMPLETED
from a2a_trust.reputation import PRIOR, step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from a2a_trust.amendments import Amendments
    from a2a_trust.model import AgentRecord, Dimension

_NO_WORK = WorkIndex(STANDARD)
BENCHES_KEPT = 64
"""Sessions of an agent whose work is remembered; that of another is read again when it completes a task."""


class Track:
    """The folded evidence of one dimension in key order, with the index after each piece."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._keys: list[Key] = []
        self._qualities = array("d")
        self._values = array("d")

    def __contains__(self, key: Key) -> bool:
        place = bisect_left(self._keys, key)
        return place < len(self._keys) and self._keys[place] == key

    def __iter__(self) -> Iterator[Key]:
        return iter(self._keys)

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

    def remove(self, key: Key) -> None:
        """Take evidence out again, and fold again what comes after it."""
        place = bisect_left(self._keys, key)
        if place == len(self._keys) or self._keys[place] != key:
            return
        del self._keys[place], self._qualities[place], self._values[place]
        value = self._values[place - 1] if place else PRIOR
        for later in range(place, len(self._keys)):
            value = step(value, self._qualities[later], self._policy)
            if value == self._values[later]:
                break
            self._values[later] = value


class Refold:
    """The evidence of one subject in key order, for rows that come after rows with a greater key.

    Keeps keys and numbers, never the rows: there may be hundreds of thousands. `known` yields all rows of the subject
    that were recorded so far; it is asked at the beginning, and where a row supersedes another.
    """

    def __init__(
        self, known: Callable[[], Iterable[Row]], policy: Policy, amendments: Amendments = NO_AMENDMENTS
    ) -> None:
        rules = self._rules = Rules(policy, amendments)
        self._known = known
        self._work = WorkIndex(rules.policy)
        self._tracks = {dim: Track(rules.policy) for dim in DIMENSIONS}
        self._unsupported: list[Row] = []
        self._places: dict[str, tuple[Dimension, Key]] | None = None
        """Where each piece of evidence is folded, by id; made when a row is superseded for the first time."""
        for row, _ in resolve(known(), policy, amendments):
            self._place(row)

    def insert(self, row: Row) -> Placed:
        """Add a row; a work call may at last support completions that wait for it."""
        if row.supersedes:
            self._remove(row.supersedes)
        if self._rules.amendments.drops(row):
            return Placed()
        return self._place(row)

    def _place(self, row: Row) -> Placed:
        if self._work.add(row):
            self._fold_supported(bench_of(row))
        quality = self._rules.quality(row, self._work)
        if row.dim is None:
            return Placed()
        if quality is None:
            if row.kind == TASK_COMPLETED:
                self._unsupported.append(row)
            return Placed()
        return self._fold(row, row.dim, quality)

    def _fold(self, row: Row, dim: Dimension, quality: float) -> Placed:
        if self._places is not None:
            self._places[row.id] = dim, row.key
        return self._tracks[dim].insert(row.key, quality)

    def _remove(self, row_id: str) -> None:
        if self._work.holds(row_id) or any(waiting.id == row_id for waiting in self._unsupported):
            self._remove_with_work(row_id)
            return
        if self._places is None:
            self._places = {key[-1]: (dim, key) for dim, track in self._tracks.items() for key in track}
        place = self._places.pop(row_id, None)
        if place is not None:
            self._tracks[place[0]].remove(place[1])

    def _remove_with_work(self, row_id: str) -> None:
        """Take out a row that supports completed tasks, or is one that waits for support."""
        self._places = None
        rows = list(self._known())
        row = next((row for row in rows if row.id == row_id), None)
        if row is None:
            return
        if row.dim is not None:
            self._tracks[row.dim].remove(row.key)
        self._unsupported = [waiting for waiting in self._unsupported if waiting.id != row_id]
        self._work.remove(row)
        for other in rows:
            if other.kind == TASK_COMPLETED and other.dim is not None:
                track = self._tracks[other.dim]
                if other.key in track and self._rules.quality(other, self._work) is None:
                    track.remove(other.key)
                    self._unsupported.append(other)

    def _fold_supported(self, owner: str) -> None:
        waiting = self._unsupported
        self._unsupported = []
        for row in waiting:
            quality = self._rules.quality(row, self._work) if row.evidence.owner == owner else None
            if quality is None or row.dim is None:
                self._unsupported.append(row)
            else:
                self._fold(row, row.dim, quality)


class AgentFold:
    """One agent while rows arrive, in whatever order.

    `stored` yields the rows of this subject that are already in the audit log, of one session or of all; it is asked
    only when a row is older than the newest one known or supersedes another, or when a completed task needs its
    owner's work.
    """

    def __init__(
        self,
        fingerprint: str,
        policy: Policy,
        record: AgentRecord | None,
        stored: Callable[[str | None], Iterable[Row]],
        amendments: Amendments = NO_AMENDMENTS,
    ) -> None:
        self._fingerprint = fingerprint
        rules = self._rules = Rules(policy, amendments)
        self._stored = stored
        self._tally = Tally(fingerprint, rules.policy, record)
        self._last: Key | None = None
        self._new: list[Row] = []
        self._work: dict[str, WorkIndex] = {}
        self._refold: Refold | None = None

    def add(self, row: Row) -> Placed:
        """Place one row and return what it did."""
        key = row.key
        if self._refold is None and not self._in_order(row, key):
            self._refold = Refold(self._known, *self._rules)
        if self._refold is not None:
            did = self._refold.insert(row)
            self._new.append(row)
            return did
        self._last = key
        self._new.append(row)
        if self._rules.amendments.drops(row):
            return Placed()
        if (bench := bench_of(row)) in self._work:
            self._work[bench].add(row)
        stated = self._rules.stated(row, self._work_for(row))
        return self._tally.add(row, None if self._rules.amendments.silences(row) else stated, stated)

    def record(self) -> AgentRecord:
        """Return the record after all rows so far."""
        if self._refold is not None:
            return fold_agent(self._fingerprint, self._known(), *self._rules)
        return self._tally.record

    def _known(self) -> Iterator[Row]:
        yield from self._stored(None)
        yield from self._new

    def flushed(self) -> None:
        """Forget the rows that are now in the audit log."""
        self._new.clear()

    def _in_order(self, row: Row, key: Key) -> bool:
        if row.supersedes:
            return False
        if self._last is not None:
            return key > self._last
        return row.time > self._tally.record.last_seen

    def _work_for(self, row: Row) -> WorkIndex:
        """Return the work that may support a row: that of its owner's session, where it completes a task."""
        if row.kind != TASK_COMPLETED:
            return _NO_WORK
        owner = row.evidence.owner
        if row.evidence.work is not None:
            return WorkIndex(self._rules.policy)
        if owner is None or not self._rules.policy.completion_needs_work:
            return _NO_WORK
        if owner not in self._work:
            if len(self._work) == BENCHES_KEPT:
                del self._work[next(iter(self._work))]
            known = [*self._stored(None if owner == ANY_SESSION else owner), *self._new]
            index = self._work[owner] = WorkIndex(self._rules.policy)
            superseded = {other.supersedes for other in known if other.supersedes}
            for other in known:
                if bench_of(other) == owner and other.id not in superseded and not self._rules.amendments.drops(other):
                    index.add(other)
        return self._work[owner]
