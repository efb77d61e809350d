"""A store that is kept from one commit to the next, and holds the lock only in between.

What is known of the home stays in memory as long as nobody else has changed the audit log; if somebody has, the home is
opened anew. Rows are durable when `commit` returns, as always. The snapshot is written when it is asked for: until then
it lags behind, which every reader and every later opening catches up by itself.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from a2a_trust.store.cache import Cache
from a2a_trust.store.live import FileShape, file_shape
from a2a_trust.store.reader import AUDIT
from a2a_trust.store.store import TrustStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path
    from types import TracebackType

    from a2a_trust.model import Row
    from a2a_trust.store import audit


class StandingStore(TrustStore):
    """Use it as a context manager for each commit, any number of times; a failed one makes the next open anew."""

    def __init__(self, home: Path, *, lock_seconds: float) -> None:
        super().__init__(home, lock_seconds=lock_seconds)
        self.listener: Callable[[list[audit.Placement]], None] | None = None
        """Is given the rows of each commit once they are durable, as they were written."""
        self.behind = False
        """Whether rows were committed that the snapshot does not hold."""
        self._left: FileShape | None = None
        """What the audit log looked like when the lock was released."""
        self._opening = False

    def _prepare(self) -> None:
        if self._left is None:
            # Of this commit, not of each opening in it: what fails again with a new cache is told.
            self._failed, self._cache_remade = False, False
        if self._left is None or not self.home.is_dir():
            super()._prepare()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._left = None if kind is not None or self._failed else file_shape(self.home / AUDIT)
        self.recovery = None
        super().__exit__(kind, error, trace)

    def _open(self) -> None:
        path = self.home / AUDIT
        if self._left is None or self._left != file_shape(path):
            self._open_anew()
            return
        self.cache = Cache(self.home)
        try:
            self._sync_cache(path, self._writer.mark)
        except BaseException:
            self.cache.close()
            raise
        # From here on memory and file may part: whoever opens again while the lock is held reads everything.
        self._left = None

    def _open_anew(self) -> None:
        self._left, self.behind = None, False
        with self._all_written():
            super()._open()

    @contextmanager
    def _all_written(self) -> Iterator[None]:
        """Let nothing lag behind, and tell no listener: these rows are not new, or nobody's."""
        self._opening = True
        try:
            yield
        finally:
            self._opening = False

    def _append(self, rows: Iterable[Row]) -> list[audit.Placement]:
        placed = super()._append(rows)
        if not self._opening:
            # Here and not at the end of the commit: it may be cut short between two slices.
            self.behind = self.behind or bool(placed)
            if self.listener is not None:
                self.listener(placed)
        return placed

    def _write_snapshot(self) -> None:
        if self._opening:
            super()._write_snapshot()
        else:
            self.behind = True

    def write_snapshot(self) -> None:
        """Bring the snapshot up to the rows. Raises `HomeError`."""
        with self._writing(), self._all_written():
            self._write_snapshot()
        self.behind = False
