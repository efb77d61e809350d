"""Where `watch` learns what changed below the folders of logs: from the operating system, or by looking itself.

Folders need not exist: one that appears is followed from then on, one that goes is waited for. The system's notices may
miss something at any time; looking at everything now and then, for that, is the loop's part.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field

from a2a_trust.sources import files
from a2a_trust.sources.base import Skips

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Generator, Sequence

    from watchfiles.main import FileChange

WAIT_MS = 250
"""Longest that is waited for a notice before other things are looked after."""
GROUP_MS = 200
"""Longest that notices are gathered before they are handed on."""
STEP_MS = 25
"""A notice is handed on when so long no other came."""
ROOTS_SECONDS = 1.0
"""How often it is looked whether folders came or went."""
POLL_SECONDS = 1.0
POLL_SHARE = 10
"""Looking at all files takes at most one part in so many of the time."""

Look = tuple[int, int, int]
"""Size in bytes, modification time in ns and inode of a file."""


class Batch(Struct):
    """What changed since the last one."""

    paths: set[str] = field(default_factory=set)
    """Files that were written, and folders that appeared."""
    rescan: str = ""
    """Why everything has to be looked at; empty where nothing says so."""


class Changes(Protocol):
    """Gives what changed, batch after batch."""

    def take(self) -> Batch:
        """Return what changed, at the latest after a quarter of a second; an empty batch where nothing did."""
        ...

    def distrust(self, why: str) -> None:
        """Hear that changes were missed."""
        ...

    def close(self) -> None:
        """Stop looking."""
        ...


class FileChanges:
    """Changes below folders or of files, as the operating system tells them; by polling where it cannot."""

    def __init__(
        self, roots: Sequence[Path], stop: threading.Event, remark: Callable[[str], None], *, poll: bool = False
    ) -> None:
        self._roots = [Path(os.path.abspath(root)) for root in roots]  # noqa: PTH100 - as discovery names them, links kept
        self._stop = stop
        self._remark = remark
        self._poll = poll
        self._there: dict[Path, tuple[int, int]] | None = None
        self._real: list[tuple[str, str]] = []
        self._looked = 0.0
        self._follower: Generator[set[str], None, None] | None = None

    def take(self) -> Batch:
        """Return what changed; a new start of the following is a reason to look at everything."""
        why = self._roots_changed()
        if why:
            self._restart()
        if self._follower is None:
            self._stop.wait(WAIT_MS / 1000)
            return Batch(rescan=why)
        starts = bool(why)
        try:
            return Batch(next(self._follower, set()), why)
        except (OSError, RuntimeError) as error:
            self.close()
            self._there = None
            # Where it does not even start, a limit is reached; later, or for a folder that just went, it starts again.
            if starts and not isinstance(error, FileNotFoundError):
                self.distrust(str(error))
            return Batch(rescan=f"following failed: {error}")

    def distrust(self, why: str) -> None:
        """Look at all files from now on, whatever the system says."""
        if self._poll:
            return
        self._poll = True
        self._there = None
        self._remark(f"{why}; looking at all files every {POLL_SECONDS:.0f} s instead, as with --poll")

    def close(self) -> None:
        """Stop following."""
        if self._follower is not None:
            self._follower.close()
        self._follower = None

    def _roots_changed(self) -> str:
        """Return why the following must begin anew: folders came, went, or are others."""
        now = time.monotonic()
        if self._there is not None and now - self._looked < ROOTS_SECONDS:
            return ""
        self._looked = now
        there = {root: (found.st_dev, found.st_ino) for root in self._roots if (found := _stat(root)) is not None}
        if there == self._there:
            return ""
        why = "start" if self._there is None else "folders of logs came or went"
        self._there = there
        return why

    def _restart(self) -> None:
        self.close()
        there = list(self._there or {})
        self._real = [(os.path.realpath(root), str(root)) for root in there]
        if there:
            self._follower = _poll(there, self._stop) if self._poll else self._follow(there)

    def _follow(self, roots: Sequence[Path]) -> Generator[set[str], None, None]:
        from watchfiles import watch  # noqa: PLC0415 - not needed to poll, nor on a system that it does not know

        found: Generator[set[FileChange], None, None] = watch(
            *roots,
            watch_filter=None,
            debounce=GROUP_MS,
            step=STEP_MS,
            stop_event=self._stop,
            rust_timeout=WAIT_MS,
            yield_on_timeout=True,
            force_polling=False,
            # Let alone, it would also keep silent about a limit that was reached.
            ignore_permission_denied=False,
        )
        try:
            for changes in found:
                yield {self._named(path) for change, path in changes if _matters(change.raw_str(), path)}
        finally:
            found.close()

    def _named(self, path: str) -> str:
        """Return a path as it stands below its root: some systems tell where links lead to instead."""
        for real, root in self._real:
            if real != root and path.startswith(real) and not path.startswith(root):
                return root + path[len(real) :]
        return path


def _stat(root: Path) -> os.stat_result | None:
    try:
        return root.stat()
    except OSError:
        return None


def _matters(change: str, path: str) -> bool:
    """Tell whether there may be something to read: in files, and in folders that appear whole."""
    return change != "deleted" and (change == "added" or not os.path.isdir(path))  # noqa: PTH112 - a path as text


def _poll(roots: Sequence[Path], stop: threading.Event) -> Generator[set[str], None, None]:
    """Yield the files that are others than before, at least every quarter of a second, mostly none.

    What `watchfiles` polls by is whole seconds of a file's time: it misses what is written within one of them.
    """
    known = _look(roots)
    due = time.monotonic()
    yield set()
    while not stop.is_set():
        began = time.monotonic()
        if began < due:
            stop.wait(min(WAIT_MS / 1000, due - began))
            yield set()
            continue
        found = _look(roots)
        due = began + max(POLL_SECONDS, POLL_SHARE * (time.monotonic() - began))
        changed = {path for path, look in found.items() if known.get(path) != look}
        known = found
        yield changed


def _look(roots: Sequence[Path]) -> dict[str, Look]:
    """Return what all files below some folders look like."""
    skips, looks = Skips(), dict[str, Look]()
    for root in roots:
        if root.is_file():
            found = _stat(root)
            looks.update({str(root): (found.st_size, found.st_mtime_ns, found.st_ino)} if found else {})
            continue
        for entries in files.folders(str(root), skips):
            for entry in entries:
                try:
                    if not files.is_folder(entry):
                        state = entry.stat()
                        looks[entry.path] = (state.st_size, state.st_mtime_ns, state.st_ino)
                except OSError:
                    continue
    return looks
