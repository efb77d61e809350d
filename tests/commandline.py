"""Running the command in this process, and reading what it left."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from homes import EXPECTED, FIXTURES, LOG_GLOB

if TYPE_CHECKING:
    from pathlib import Path

FOLDERS = sorted(EXPECTED)
every_folder = pytest.mark.parametrize("folder", FOLDERS)
AUDIT, LEDGER, BACKUP, CACHE, LOCK = "audit.jsonl", "ledger.json", "ledger.json.bak", "cache.sqlite", "ledger.lock"
WIDE = "200"
"""Columns in which no table has to leave anything out."""


def named(value: object) -> str | None:
    """Arguments of a command as the name of a test, without where this checkout stands."""
    return " ".join(value).replace(str(FIXTURES), "") if isinstance(value, list) else None


class Done(NamedTuple):
    """What a command left."""

    code: int
    out: str
    err: str

    def json(self) -> Any:  # noqa: ANN401 - whatever the command printed
        """What it printed, read as JSON."""
        return json.loads(self.out)


def content(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def logs_in(folder: Path) -> list[Path]:
    """The session logs below a folder."""
    return sorted(folder.rglob(LOG_GLOB))


def agents_in(shown: Done) -> dict[str, dict[str, Any]]:
    """The agents of `show --json` by their keys."""
    return {agent["key"]: agent for agent in shown.json()["agents"]}


def cells(line: str) -> list[str]:
    """The cells of a line of a table."""
    return re.split(r" {2,}", line.strip())
