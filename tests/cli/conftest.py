"""What the tests of the command line share."""

from __future__ import annotations

import shutil
import sys
from functools import cache
from typing import TYPE_CHECKING

import pytest
from commandline import Done
from homes import FIXTURES, ingest
from undelayed import undelayed

from a2a_trust import cli

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture(autouse=True, scope="module")
def no_waiting() -> Iterator[None]:
    """No test waits for the disk."""
    with undelayed():
        yield


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this user's or this terminal's: an empty home of their own, no colours, no logs."""
    for name in ("COLUMNS", "FORCE_COLOR", "NO_COLOR", "A2A_TRUST_HOME", "_A2A_TRUST_COMPLETE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setenv("DSH_HOME", str(tmp_path / "user" / ".dsh"))
    monkeypatch.setenv("A2A_TRUST_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TERM", "dumb")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Callable[..., Done]:
    """Run the command in this process, as its console script does. An exception that it lets through fails the test."""

    def call(*arguments: object, columns: str | None = None, home: Path | None = None) -> Done:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["a2a-trust", *map(str, arguments)])
            if columns is not None:
                patch.setenv("COLUMNS", columns)
            if home is not None:
                patch.setenv("A2A_TRUST_HOME", str(home))
            capsysbinary.readouterr()
            try:
                cli.main()
                code = 0
            except SystemExit as error:
                code = error.code if isinstance(error.code, int) else int(error.code is not None)
            out, err = capsysbinary.readouterr()
        return Done(code, out.decode(), err.decode())

    return call


@pytest.fixture(scope="module")
def home_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A home over folders of the fixtures, made when it is first asked for; nobody may change it."""

    @cache
    def make(*folders: str, policy: str = "standard") -> Path:
        home = tmp_path_factory.mktemp("homes") / "home"
        ingest(home, *(FIXTURES / folder for folder in folders), policy=policy)
        return home

    return make


@pytest.fixture
def copy_of(home_of: Callable[..., Path], tmp_path: Path) -> Callable[..., Path]:
    """A home over folders of the fixtures as this test's own default home."""

    def make(*folders: str) -> Path:
        return shutil.copytree(home_of(*folders), tmp_path / "home")

    return make


@pytest.fixture
def own_policy(tmp_path: Path) -> Path:
    """A policy of a user's own."""
    path = tmp_path / "my policy.toml"
    path.write_text('name = "mine"\nmin_samples = 2\n', encoding="utf-8")
    return path
