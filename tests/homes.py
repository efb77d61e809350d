"""Homes for tests: run logs into one, and say what it holds in a form that can be compared."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from a2a_trust.backfill import Options, Summary, run

from a2a_trust.model import AuditMark, Ledger, Row
from a2a_trust.policy import BUILT_IN
from a2a_trust.sources.dsh import DshSource
from a2a_trust.store import TrustStore, read_ledger
from a2a_trust.store.reader import read_all_rows
from a2a_trust.store.snapshot import encode_ledger

if TYPE_CHECKING:
    from collections.abc import Iterable

FIXTURES: Final = Path(__file__).resolve().parent.parent / "fixtures" / "dsh"
EXPECTED: Final[dict[str, Any]] = json.loads((FIXTURES / "expected.json").read_text(encoding="utf-8"))
LOG_GLOB: Final = "session*.jsonl*"
_MEMORY = Path("/dev/shm")  # noqa: S108 - a file system that is as private as what is made in it


def scratch() -> tempfile.TemporaryDirectory[str]:
    """A folder for one example of a property, in memory where there is such a place: thousands are made."""
    return tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None)


def ingest(home: Path, *paths: Path, policy: str = "standard", jobs: int = 1) -> Summary:
    """Run the logs below the paths into a home, as one run of the command does."""
    with TrustStore(home, BUILT_IN[policy]) as store:
        return run(store, {"dsh": DshSource()}, Options(paths=paths, jobs=jobs), {})


def encode_agents(ledger: Ledger) -> bytes:
    """The agents of a ledger as its file holds them, with nothing beside them that depends on the order of runs."""
    return encode_ledger(msgspec.structs.replace(ledger, updated_at=0, audit=AuditMark()))


def agents_of(home: Path) -> bytes:
    """The agents of a home, encoded."""
    return encode_agents(read_ledger(home))


def differences(found: bytes, expected: bytes) -> list[str]:
    """What two texts from `agents_of` do not agree on, by agent and part: nothing where all bytes are equal."""
    if found == expected:
        return []
    one, other = (json.loads(text)["agents"] for text in (found, expected))
    named = [
        f"{(one.get(key) or other[key])['profile']['name']}: {part}"
        for key in sorted({*one, *other})
        for part in sorted({*one.get(key, {}), *other.get(key, {})})
        if one.get(key, {}).get(part) != other.get(key, {}).get(part)
    ]
    return named or ["the bytes"]


def audit_of(home: Path) -> bytes:
    """The audit log of a home."""
    return (home / "audit.jsonl").read_bytes()


def rows_of(home: Path) -> list[Row]:
    """The rows of a home in the order of its audit log."""
    return list(read_all_rows(home))


def evidence_by_session(rows: Iterable[Row]) -> dict[str, list[tuple[object, ...]]]:
    """What each session's log gave: its rows in key order, without what depends on the rows of other logs."""
    found: dict[str, list[tuple[object, ...]]] = {}
    for row in sorted(rows, key=lambda row: row.key):
        shown = (row.key, row.kind, row.subject, row.dim, row.team_id, row.evidence)
        found.setdefault(row.session, []).append(shown)
    return found
