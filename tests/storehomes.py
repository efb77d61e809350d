"""Rows to commit, the calls that a store makes, and what it leaves in a home."""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING, Any

import msgspec
from homes import FIXTURES, audit_of

from a2a_trust.model import ROW_VERSION, Details, Dimension, Profile, Role, Row
from a2a_trust.store import Commit, TrustStore, files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

AUDIT, LEDGER, BACKUP, CACHE, LOCK = "audit.jsonl", "ledger.json", "ledger.json.bak", "cache.sqlite", "ledger.lock"
SLICE = "a2a_trust.store.store.SLICE_ROWS"
T = 1_796_100_000_000
CODER = Profile(name="coder", description="Writes.", provider="spawn", context="fresh")
LEDGER_KEYS = ["version", "updatedAt", "agents", "policy", "audit"]
FOLDER = FIXTURES / "made-tasks"
"""A tree whose run writes a policy row, many rows in a few slices, and two snapshots."""


class Killed(BaseException):
    """Stands for the end of a process: nothing in the library catches it."""


def call(number: int, kind: str = "tool-success", *, session: str = "s", **details: object) -> Row:
    """A row about a tool call, as it comes from attribution."""
    return Row(
        v=ROW_VERSION,
        id=f"tool:{session}:{number}",
        time=T + number,
        session=session,
        gen=0,
        seq=number,
        pos=0,
        team_id="lead",
        kind=kind,
        subject=CODER.fingerprint,
        subject_name=CODER.name,
        dim=Dimension.COMPETENCE,
        evidence=Details(**{"tool": "bash", "role": Role.TEAMMATE, **details}),
    )


def seen(number: int) -> Row:
    """An observation."""
    return msgspec.structs.replace(call(number), id=f"exit:s:{number}", kind="exit-code", dim=None)


def commit(home: Path, *rows: Row) -> Commit:
    """Commit rows in a session of their own."""
    with TrustStore(home) as store:
        return store.commit(rows)


def lines_of(home: Path) -> list[bytes]:
    """The lines of the audit log, without their ends."""
    return audit_of(home).splitlines()


def parsed(home: Path) -> list[dict[str, Any]]:
    """The rows of the audit log as any reader of JSON sees them."""
    return [json.loads(line) for line in lines_of(home)]


def content(home: Path) -> dict[str, bytes]:
    """Everything that stands in a home."""
    return {path.name: path.read_bytes() for path in sorted(home.iterdir()) if path.is_file()}


def first_broken_link(home: Path) -> int | None:
    """The number of the first row that does not name the hash of the line before it."""
    head = "0" * 64
    for number, line in enumerate(lines_of(home), 1):
        if json.loads(line)["prev"] != head:
            return number
        head = hashlib.sha256(line).hexdigest()
    return None


class Calls(files.System):
    """The calls that change something, in order. `before` is told of each just before it happens."""

    def __init__(self, home: Path, before: Callable[[int], None] = lambda _number: None) -> None:
        """Watch a home."""
        self.made: list[tuple[str, str]] = []
        self._home = home
        self._before = before

    def _meet(self, what: str, name: str) -> None:
        self.made.append((what, name))
        self._before(len(self.made))

    def _name(self, descriptor: int) -> str:
        found = os.fstat(descriptor)
        for path in (self._home, *self._home.iterdir()):
            if path.stat().st_ino == found.st_ino:
                return path.name
        return "?"

    def write(self, descriptor: int, data: memoryview) -> int:
        """Write all of it, as a disk does on a good day."""
        self._meet("write", self._name(descriptor))
        return super().write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        """Say so instead of waiting for the disk."""
        self._meet("sync", self._name(descriptor))

    def truncate(self, descriptor: int, size: int) -> None:
        """Cut the file."""
        self._meet("truncate", self._name(descriptor))
        super().truncate(descriptor, size)

    def replace(self, source: Path, target: Path) -> None:
        """Rename the file."""
        self._meet("replace", target.name)
        super().replace(source, target)
