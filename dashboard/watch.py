"""`show --watch`: the same table again whenever the files of the home are others than before."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from a2a_trust.console import note, output
from a2a_trust.errors import NoLedgerError
from a2a_trust.store import live

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

POLL_SECONDS = 0.5


def changes(home: Path, wait: Callable[[float], None]) -> Iterator[None]:
    """Yield at once, and then each time that the files of the home have changed and come to rest."""
    seen: live.Shape | None = None
    while True:
        shape = live.shape(home)
        if shape != seen:
            seen = shape
            yield
        wait(POLL_SECONDS)


def follow(home: Path, show: Callable[[], None], wait: Callable[[float], None] = time.sleep) -> None:
    """Show a home now and after each change, until `wait` raises. On a terminal each time in the place of the last."""
    console = output()
    for _ in changes(home, wait):
        if console.is_terminal:
            console.clear()
        try:
            show()
        except NoLedgerError as error:
            note(f"{error} (waiting for it)")
