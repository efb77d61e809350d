"""Homes for the tests of the store."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from homes import EXPECTED, FIXTURES, ingest
from storehomes import Calls, call, commit
from undelayed import undelayed

from a2a_trust.store import files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True, scope="module")
def no_waiting() -> Iterator[None]:
    """No test waits for the disk."""
    with undelayed():
        yield


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A place where a home can be made."""
    return tmp_path / "home"


@pytest.fixture
def watched(home: Path, monkeypatch: pytest.MonkeyPatch) -> Calls:
    """A home with one row in it, whose calls are recorded from then on."""
    commit(home, call(1))
    calls = Calls(home)
    monkeypatch.setattr(files, "system", calls)
    return calls


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that holds all logs of the fixtures, one folder after the other; nobody may change it."""
    place = tmp_path_factory.mktemp("full") / "home"
    for folder in EXPECTED:
        ingest(place, FIXTURES / folder)
    return place


@pytest.fixture
def copied(full: Path, home: Path) -> Path:
    """A copy of the full home."""
    shutil.copytree(full, home)
    return home
