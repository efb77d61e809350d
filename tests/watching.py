"""Following logs without waiting: a watcher whose changes and clock the test holds in its hands."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from a2a_trust.backfill import Options
from a2a_trust.backfill.changes import Batch
from a2a_trust.backfill.watch_loop import Clock, Watcher

from a2a_trust.sources.dsh import DshSource

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from a2a_trust.backfill.run import Progress, Summary

    from a2a_trust.model import Row
    from a2a_trust.sources.base import Source
    from a2a_trust.store.audit import Placement


class Heard:
    """Keeps what the loop tells."""

    def __init__(self) -> None:
        """Begin with nothing heard."""
        self.summaries: list[Summary] = []
        self.told: list[Row] = []
        self.remarks: list[str] = []
        self.distrusted: list[str] = []

    def caught_up(self, summary: Summary) -> None:
        """Keep the summary."""
        self.summaries.append(summary)

    def rows(self, placed: Sequence[Placement]) -> None:
        """Keep the rows."""
        self.told += [row for row, _ in placed]

    def remark(self, text: str) -> None:
        """Keep the remark."""
        self.remarks.append(text)

    def progress(self, now: Progress) -> None:
        """Nobody looks."""

    def distrust(self, why: str) -> None:
        """Keep why; stands for the changes too."""
        self.distrusted.append(why)

    def take(self) -> Batch:
        """Nothing changes by itself."""
        raise NotImplementedError

    def close(self) -> None:
        """Nothing to close."""


class Hands:
    """A watcher over folders, moved by hand: a change, a moment, a cycle."""

    def __init__(self, home: Path, *paths: Path, sources: Mapping[str, Source] | None = None, jobs: int = 1) -> None:
        """Take home and folders; nothing is read before the first cycle."""
        self.home, self._paths, self._jobs = home, paths, jobs
        self._sources = sources or {"dsh": DshSource()}
        self.now, self.wall = 1000.0, 0.0
        self.stop = threading.Event()
        self.heard = Heard()
        self.restart()

    def restart(self) -> None:
        """Begin with a new watcher, as after a kill: what the last one had in memory is gone."""
        options = Options(paths=self._paths, jobs=self._jobs)
        clock = Clock(lambda: self.now, lambda: self.now + self.wall)
        self.watcher = Watcher(self.home, self._sources, options, {}, teller=self.heard, stop=self.stop, clock=clock)

    def cycle(self, *changed: Path, seconds: float = 0.0) -> None:
        """Let some time pass, then tell of changes."""
        self.now += seconds
        self.watcher.cycle(Batch({str(path) for path in changed}), self.heard)
