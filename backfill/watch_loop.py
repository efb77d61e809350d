"""Following logs: what a change leads to, when rows are committed and the snapshot is written, and what failures do.

Each cycle runs the files that changed into the home, as a run over their paths would: how logs are split over runs does
not matter. Everything is looked at again now and then, and whenever something may have been missed. No cycle forgets
what it could not commit.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from a2a_trust.backfill.below import Below
from a2a_trust.backfill.discover import places_of
from a2a_trust.backfill.run import Options, Progress, Summary, run

from a2a_trust.errors import HomeBusyError, HomeError
from a2a_trust.sources.base import Skips
from a2a_trust.store.foreign import refuse_foreign_home
from a2a_trust.store.reader import AUDIT
from a2a_trust.store.standing import StandingStore

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from a2a_trust.backfill.changes import Batch, Changes

    from a2a_trust.sources.base import Source
    from a2a_trust.store.audit import Placement

LOCK_SECONDS = 0.5
"""How long one cycle waits for another writer; what it wanted to commit is kept for the next."""
BUSY_SECONDS = 5.0
"""After so long with another writer somebody is told."""
SNAPSHOT_SECONDS = 3.0
SNAPSHOT_SHARE = 10
"""Writing snapshots takes at most one part in so many of the time."""
RESCAN_SECONDS = 60.0
RESCAN_SHARE = 200
"""Looking at everything takes at most one part in so many of the time."""
YOUNG_SECONDS = (1.0, 5.0)
"""When a folder that appeared is looked at again: what was put into it at once may have gone untold."""
SLEEP_SECONDS = 5.0
"""If the wall clock and the one that may stand still in sleep part by so much, or a cycle is late by it: it slept."""
QUIET_SECONDS = 5.0
"""What is found after so long without a notice was missed by the system, and is not merely on its way."""
MISSES = 2
RETRY_SECONDS = (0.5, 30.0)
"""First and longest wait after a write that failed; doubled each time."""
PERIODIC = "now and then"


class Clock(NamedTuple):
    """Where the time comes from, in seconds."""

    monotonic: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time


class Teller(Protocol):
    """Whom the loop tells what happens."""

    def caught_up(self, summary: Summary) -> None:
        """Hear that the home is up to the logs, for the first time."""
        ...

    def rows(self, placed: Sequence[Placement]) -> None:
        """Hear of rows that are durable now."""
        ...

    def remark(self, text: str) -> None:
        """Hear of trouble, or of its end."""
        ...

    def progress(self, now: Progress) -> None:
        """Hear how far looking at everything is."""
        ...


class StoppedError(Exception):
    """Somebody asked to stop in the middle of a long run: what was committed of it stands, nothing is lost."""


class Watcher:
    """Keeps a home up to its logs, one cycle after the other."""

    def __init__(  # noqa: PLR0913 - what it stands between
        self,
        home: Path,
        sources: Mapping[str, Source],
        options: Options,
        environ: Mapping[str, str],
        *,
        teller: Teller,
        stop: threading.Event,
        clock: Clock | None = None,
    ) -> None:
        self._home = home.absolute()
        self._sources = sources
        self._options = options
        self._environ = environ
        self._teller = teller
        self._stop = stop
        self._clock = clock or Clock()
        self._store = StandingStore(home, lock_seconds=LOCK_SECONDS)
        places = places_of(sources, options.paths, environ)
        self.places = list(dict.fromkeys(place for _, place in places))
        """Folders and files that are followed, whether they exist or not."""
        self._below = {
            name: Below(source, [place for one, place in places if one is source]) for name, source in sources.items()
        }
        self._pending: set[str] = set()
        self._young: list[tuple[float, str]] = []
        self._rescan = "start"
        self._caught_up = False
        self._failing = False
        self._busy_since: float | None = None
        self._misses = 0
        now = self._ended = self._noticed = self._retry_at = self._now()
        self._rescan_due = self._snapshot_due = self._calm_due = now
        self._retry_seconds = 0.0
        self._apart = self._clock.wall() - now

    def _now(self) -> float:
        return self._clock.monotonic()

    # ------------------------------------------------------------------ the loop

    def follow(self, changes: Changes) -> None:
        """Go on until somebody asks to stop. Raises what waiting does not help against.

        That is `AuditDamageError`, and before the first commit also `HomeError`.
        """
        try:
            while not self._stop.is_set():
                self.cycle(changes.take(), changes)
        except StoppedError:
            pass
        finally:
            changes.close()
            self.finish()

    def cycle(self, batch: Batch, changes: Changes) -> None:
        """Take up what changed, commit what can be committed, write the snapshot if it is time."""
        self._take_up(batch)
        if self._now() >= self._retry_at:
            with self._failures_told():
                if self._pending and not self._rescan:
                    self._look_at_changes()
                if self._rescan:
                    self._look_everywhere(changes)
                if self._store.behind and self._now() >= (self._snapshot_due if batch.paths else self._calm_due):
                    self._write_snapshot()
        self._ended = self._now()

    def finish(self) -> None:
        """Write the snapshot if it lags behind; where that fails, whoever opens the home next does it."""
        with self._failures_told():
            if self._store.behind:
                self._write_snapshot()

    # ------------------------------------------------------------------ what must be looked at

    def _take_up(self, batch: Batch) -> None:
        now = self._now()
        if batch.paths:
            self._noticed = now
        for path in batch.paths:
            # The home's own files are nobody's logs, and each commit would lead to the next.
            if os.path.dirname(path) == str(self._home):  # noqa: PTH120 - a path as text
                continue
            self._pending.add(path)
            if os.path.isdir(path):  # noqa: PTH112 - as above
                self._young += [(now + seconds, path) for seconds in YOUNG_SECONDS]
        self._pending.update(path for due, path in self._young if due <= now)
        self._young = [one for one in self._young if one[0] > now]
        self._rescan = batch.rescan or self._rescan or (PERIODIC if now >= self._rescan_due else "")
        apart = self._clock.wall() - now
        if abs(apart - self._apart) >= SLEEP_SECONDS or now - self._ended >= SLEEP_SECONDS:
            self._rescan = "the machine slept"
        self._apart = apart

    def _look_everywhere(self, changes: Changes) -> None:
        """Run all logs into the home, as `backfill` does."""
        why, began = self._rescan, self._now()
        if (self._home / AUDIT).exists() or self._any_log():
            with self._store as store:
                store.listener = self._teller.rows if self._caught_up else None
                summary = run(store, self._sources, self._options, self._environ, self._progress)
            if not self._caught_up:
                self._write_snapshot()
                summary.agents = len(self._store.ledger.agents)
                self._caught_up = True
                self._teller.caught_up(summary)
            if why == PERIODIC and summary.bytes_read and began - self._noticed >= QUIET_SECONDS:
                self._misses += 1
                if self._misses == MISSES:
                    changes.distrust("the system does not tell of every change")
        elif not self._caught_up:
            refuse_foreign_home(self._home)
            self._caught_up = True
            self._teller.caught_up(Summary(places=[str(place) for place in self.places], files=0))
        self._pending.clear()
        self._rescan = ""
        self._rescan_due = self._now() + max(RESCAN_SECONDS, RESCAN_SHARE * (self._now() - began))

    def _any_log(self) -> bool:
        """Tell whether there is anything to put into a home that does not exist yet."""
        places = places_of(self._sources, self._options.paths, self._environ)
        return any(
            next(source.discover(place.absolute(), Skips()), None) is not None
            for source, place in places
            if place.exists()
        )

    def _look_at_changes(self) -> None:
        """Run the files that changed into the home, if there are logs among them."""
        paths = [path for name in sorted(self._pending) if self._is_log(path := Path(name))]
        if paths:
            with self._store as store:
                if next(store.cache.logs(), None) is None:
                    # Nothing is remembered of any log: what a team's other logs say must be read again first.
                    self._rescan = "the cache is new"
                    return
                store.listener = self._teller.rows
                options = Options(paths=paths, exclude=self._options.exclude, jobs=1)
                run(store, self._below, options, self._environ)
        self._pending.clear()

    def _is_log(self, path: Path) -> bool:
        return path.exists() and any(
            next(source.discover(path, Skips()), None) is not None for source in self._below.values()
        )

    def _progress(self, now: Progress) -> None:
        if self._stop.is_set():
            raise StoppedError
        self._teller.progress(now)

    def _write_snapshot(self) -> None:
        began = self._now()
        with self._store as store:
            if store.behind:
                store.write_snapshot()
        now = self._now()
        # A large ledger is not written again after each change, even where these come one by one.
        self._calm_due = now + SNAPSHOT_SHARE * (now - began)
        self._snapshot_due = max(self._calm_due, now + SNAPSHOT_SECONDS)

    # ------------------------------------------------------------------ what failures do

    @contextmanager
    def _failures_told(self) -> Iterator[None]:
        """Tell a failure once, and when it is over; what could not be committed is tried again, ever more seldom."""
        try:
            yield
        except HomeBusyError as error:
            self._be_patient(error)
        except (HomeError, OSError) as error:
            if not self._caught_up:
                raise
            first, longest = RETRY_SECONDS
            self._retry_seconds = min(longest, self._retry_seconds * 2 or first)
            self._retry_at = self._now() + self._retry_seconds
            if not self._failing:
                self._failing = True
                self._teller.remark(f"{error} (nothing is lost; it is tried again until it works)")
        else:
            if self._failing:
                self._teller.remark("Writing works again.")
            self._failing, self._retry_seconds, self._busy_since = False, 0.0, None

    def _be_patient(self, error: HomeBusyError) -> None:
        now = self._now()
        if self._busy_since is None:
            self._busy_since = now
        elif now - self._busy_since >= BUSY_SECONDS and not self._failing:
            self._failing = True
            self._teller.remark(f"{error} (waiting for it)")
