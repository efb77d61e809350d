"""The log as the only state of a run: what stands in it is taken from it, what does not is added to it.

A run is a walk through its procedure that asks for each event by its key. A new run adds every event; a resumed one
walks from the top and finds those that are there; a replay finds every one, or something is wrong. Lines are read as
the walk needs them, and of those that it passed over only what it did not ask for yet is kept.

`epoch` counts the times that a run was gone on with. What earlier epochs say of themselves (that they ended, were
resumed, or missed a quorum) is not part of the walk.
"""

from __future__ import annotations

import contextlib
from time import time_ns
from typing import TYPE_CHECKING, Self, TypeVar

import msgspec

from a2a_trust.errors import JuryLogError, ResolutionError, RunFolderError
from a2a_trust.jury.log_reader import Entry, LogReader, read_events, read_lines
from a2a_trust.jury.log_writer import LogWriter
from a2a_trust.jury.run_folder import (
    Known,
    Recovery,
    locked,
    refuse_beginning,
    refuse_other_files,
    refuse_resuming,
    set_aside,
    told,
)
from a2a_trust.sources.jury_events import (
    LOG_NAME,
    Condition,
    Event,
    QuorumMissed,
    Resolved,
    RunEnded,
    RunOpened,
    RunResumed,
    canonical,
    key_of,
    line_of,
)
from a2a_trust.store import files
from a2a_trust.text import safe

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path
    from types import TracebackType

__all__ = ["DivergedError", "Journal", "LogEndError", "Recovery", "append", "read_events", "read_lines"]

_APPEND_SECONDS = 10.0
_NAME_CHARS = 120

E = TypeVar("E", bound=Event)


class DivergedError(JuryLogError):
    """A log says something else than its run gives when it is walked through again."""


class LogEndError(Exception):
    """A replay has come to where the log of an unfinished run ends. Not a failure: there is nothing more to compare."""


def now() -> int:
    """Return the time in milliseconds since 1970."""
    return time_ns() // 1_000_000


class Journal:
    """The log of one run in the hands of its walk. Made by `create`, `resume` or `replay`; a context manager."""

    opened: RunOpened
    replaying: bool
    finished: bool
    """Whether the log told of a finished run when it was opened."""
    recovery: Recovery | None

    def __init__(self, folder: Path, clock: Callable[[], int], state: Known, *, replaying: bool) -> None:
        self.folder = folder
        self.path = folder / LOG_NAME
        self.replaying = replaying
        self.finished = state.finished
        self.recovery = None
        self.epoch = state.epoch
        self.hash, self.lines = state.hash, state.lines
        """Of the last line, and how many there are."""
        if state.opened is not None:
            self.opened = state.opened
        self._clock, self._time = clock, state.time
        self._missed = state.missed
        self._logged = state.lines
        self._unread = LogReader(folder).entries()
        self._passed: dict[str, Entry] = {}
        self._read = 0
        self._writer: LogWriter | None = None if replaying else LogWriter(self.path)
        self._held = contextlib.ExitStack()

    @classmethod
    def create(cls, folder: Path, opened: RunOpened, clock: Callable[[], int] = now) -> Self:
        """Begin a run in a folder that is empty or not there. Its first line is durable on return.

        Raises `RunFolderError` where the folder holds a run, holds anything else, or cannot be written.
        """
        with told(folder):
            if folder.is_dir():
                refuse_other_files(folder)
            files.make_folder(folder)
            with contextlib.ExitStack() as held:
                held.enter_context(locked(folder))
                reader = LogReader(folder)
                state = Known(reader.entries() if reader.path.exists() else iter(()))
                refuse_beginning(folder, state)
                set_aside(reader.path, reader.tail)
                journal = cls(folder, clock, state, replaying=False)
                journal.opened = opened
                journal.put(opened)
                journal.sync()
                journal._held = held.pop_all()
        return journal

    @classmethod
    def resume(cls, folder: Path, clock: Callable[[], int] = now) -> Self:
        """Go on with the unfinished run of a folder, in a new epoch.

        What stands behind the last whole line is set aside (`recovery`). Raises `RunFolderError` where there is no run,
        a finished one, or one that has no call left, `JuryLogError` where a line is not as it was written.
        """
        with told(folder):
            if not (folder / LOG_NAME).exists():
                raise RunFolderError(f"{folder / LOG_NAME}: not there; expected the folder of a run to go on with")
            with contextlib.ExitStack() as held:
                held.enter_context(locked(folder))
                reader = LogReader(folder)
                state = Known(reader.entries())
                refuse_resuming(folder, state)
                journal = cls(folder, clock, state, replaying=False)
                journal.recovery = set_aside(reader.path, reader.tail)
                journal.epoch = state.epoch + 1
                journal._append([RunResumed(key=key_of("resumed", journal.epoch), time=0, epoch=journal.epoch)])
                journal.sync()
                journal._held = held.pop_all()
        return journal

    @classmethod
    def replay(cls, folder: Path) -> Self:
        """Open a log to walk through it again: nothing is written, no lock is taken.

        Raises `JuryLogError` where a line is not as it was written or something stands behind the last one,
        `RunFolderError` where there is no run.
        """
        state = Known(LogReader(folder).whole())
        if state.opened is None:
            raise RunFolderError(f"{folder / LOG_NAME}: empty; expected the log of a jury run")
        return cls(folder, now, state, replaying=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def missed_quorum(self, item: str, condition: Condition | None) -> list[int]:
        """Return the epochs before this one in which an item, or its panel of one condition, missed its quorum."""
        return [epoch for epoch in self._missed.get((item, condition), ()) if epoch < self.epoch]

    def take(self, key: str) -> Event | None:
        """Return the event with a key, `None` where the log has none. Each is given once."""
        return self.take_first((key,))

    def take_first(self, keys: Collection[str]) -> Event | None:
        """Return that event with one of the keys which stands first in the log, `None` where it has none of them.

        Raises `LogEndError` or `DivergedError` in a replay of a log that has none, as `put` does.
        """
        entry = self._find(keys)
        if entry is None and self.replaying:
            raise self._at_end(min(keys))
        return entry.event if entry else None

    def take_passed(self, key: str) -> Event | None:
        """Return the event with a key if it was passed over already; reads nothing."""
        entry = self._passed.pop(key, None)
        return entry.event if entry else None

    def put(self, event: E) -> E:
        """Return the event as it stands in the log; it is added if it does not. Its time is the log's.

        Raises `DivergedError` where the log has another one with its key, or, in a replay, has none; `LogEndError` in a
        replay of an unfinished run where the log has ended.
        """
        return self.put_all([event])[0]

    def put_all(self, events: Sequence[E]) -> list[E]:
        """Do as `put` for events that belong together: those that are added become durable all at once."""
        missing = []
        for event in events:
            if isinstance(event, RunOpened) and self.lines:
                self.same(self.opened, event, 1)
                continue
            entry = self._find((event.key,))
            if entry is not None:
                self.same(entry.event, event, entry.number)
            elif self.replaying:
                raise self._at_end(event.key)
            else:
                missing.append(event)
        if missing:
            self._append(missing)
        return list(events)

    def same(self, logged: Event, given: Event, number: int = 0) -> None:
        """Give an event the time of the logged one. Raises `DivergedError` where they differ in anything else."""
        given.time = logged.time
        if given != logged and canonical(given) != canonical(logged):
            names = [name for name in logged.__struct_fields__ if _field(logged, name) != _field(given, name)]
            place = f"line {number}" if number else f"the event {_shown(logged.key)}"
            raise DivergedError(
                f"{self.path}: {place}: {', '.join(names) or 'its type'} of {_shown(logged.key)} is not what the run "
                "gives; the log was edited, or written by another version"
            )

    def sync(self) -> None:
        """Return when everything that was put would survive a power loss; else it does within 200 ms.

        Raises `JuryLogError` where the log cannot be written.
        """
        if self._writer is not None:
            self._writer.sync()

    def finish(self) -> None:
        """End a replay. Raises `DivergedError` where the log holds an event that the run does not give."""
        self._find(())
        for number, _, event in self._passed.values():
            raise DivergedError(
                f"{self.path}: line {number}: the run gives no {_shown(event.key)}; the log was edited, or written by "
                "another version"
            )

    def close(self) -> None:
        """Write what is left and let others write. Raises `JuryLogError` where the log cannot be written."""
        with self._held:
            self._unread.close()
            if self._writer is not None:
                self._writer.close()

    def _find(self, keys: Collection[str]) -> Entry | None:
        """Return the first entry with one of the keys, reading on only if none was passed over."""
        passed = [self._passed[key] for key in keys if key in self._passed]
        if passed:
            return self._passed.pop(min(passed).event.key)
        while self._read < self._logged:
            entry = next(self._unread)
            self._read = entry.number
            event = entry.event
            if isinstance(event, RunOpened | RunResumed | Resolved) or self._is_past(event):
                continue
            if event.key in keys:
                return entry
            if event.key in self._passed:
                raise DivergedError(
                    f"{self.path}: line {entry.number}: the key {_shown(event.key)} stands above as well"
                )
            self._passed[event.key] = entry
        return None

    def _is_past(self, event: Event) -> bool:
        return isinstance(event, RunEnded | QuorumMissed) and event.epoch < self.epoch

    def _at_end(self, key: str) -> Exception:
        if self.finished:
            return DivergedError(
                f"{self.path}: line {self._logged + 1}: expected {_shown(key)}, and the log has none; lines were "
                "removed, or it was written by another version"
            )
        return LogEndError(key)

    def _append(self, events: Sequence[Event]) -> None:
        if self._writer is None:
            raise AssertionError(f"{events[0].key}: a replay writes nothing")
        lines, before = [], self.hash
        for event in events:
            event.time = self._time = max(self._clock(), self._time)
            line, before = line_of(event, before)
            lines.append(line)
        self._writer.add(b"".join(lines))
        self.hash, self.lines = before, self.lines + len(lines)


def append(folder: Path, event: Resolved, clock: Callable[[], int] = now) -> None:
    """Add a resolution to the log of a finished run, durably.

    Raises `RunFolderError` where there is no finished run or another process writes it, `JuryLogError` where a line is
    not as it was written, `ResolutionError` where the item was resolved before.
    """
    with told(folder):
        if not (folder / LOG_NAME).exists():
            raise RunFolderError(f"{folder / LOG_NAME}: not there; expected the folder of a jury run")
        with locked(folder, _APPEND_SECONDS):
            state = Known(LogReader(folder).whole())
            if not state.finished:
                raise RunFolderError(f"{folder}: the run is not finished; go on with it first: --resume")
            if event.key in state.resolved:
                raise ResolutionError(f"{folder}: {_shown(event.item)} was resolved before, and a resolution stands")
            event.time = max(clock(), state.time)
            writer = LogWriter(folder / LOG_NAME)
            writer.add(line_of(event, state.hash)[0])
            writer.close()


def _field(event: Event, name: str) -> object:
    return getattr(event, name, msgspec.UNSET)


def _shown(name: str) -> str:
    return f"'{safe(name, _NAME_CHARS)}'"
