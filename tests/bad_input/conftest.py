"""Teams of which one log is broken."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from brokenlogs import VICTIMS, Tree
from homes import scratch

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def room() -> Iterator[Path]:
    """A folder for homes and logs, where many of them cost little."""
    with scratch() as folder:
        yield Path(folder)


@pytest.fixture(params=VICTIMS)
def tree(room: Path, request: pytest.FixtureRequest) -> Tree:
    """A team whose victim is a log of V0, of V4, or without compression."""
    return Tree(room, VICTIMS[request.param])


@pytest.fixture
def team(room: Path) -> Tree:
    """A team of V0."""
    return Tree(room, VICTIMS["v0"])
