"""Homes that nobody waits for: in tests power stays on."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from a2a_trust.store import files

if TYPE_CHECKING:
    from collections.abc import Iterator


class NoWaiting(files.System):
    """Power stays on in these tests."""

    def sync(self, descriptor: int) -> None:
        """Return at once."""


class Unsynced(sqlite3.Connection):
    """A database that waits for no disk either."""

    def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:  # noqa: ANN401 - whatever SQLite takes
        """Execute a statement, all the same whether it is durable."""
        return super().execute(sql.replace("synchronous=NORMAL", "synchronous=OFF"), *parameters)


@contextmanager
def undelayed() -> Iterator[None]:
    """Let neither the store nor the cache wait for the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "system", NoWaiting())
        patch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Unsynced))
        yield
