"""The ledger snapshot: `ledger.json`, written atomically, with the generation before as `ledger.json.bak`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import Struct

from a2a_trust.errors import HomeError
from a2a_trust.model import (
    LEDGER_VERSION,
    AgentRecord,
    AuditMark,
    Dimension,
    DimensionTrust,
    Ledger,
    Policy,
    Profile,
    Stats,
)
from a2a_trust.store import files
from a2a_trust.store.audit import plain_floats
from a2a_trust.store.held import Agents, HeldLedger

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LEDGER = "ledger.json"
BACKUP = "ledger.json.bak"

_SOURCE = b'"source":"'
"""How a row's source begins in a history; inside a text of a log each quote would be escaped."""


class Glance(NamedTuple):
    """A ledger without the histories of its agents, which are nine tenths of it."""

    ledger: Ledger
    sources: list[str]
    """Log formats that the newest evidence of each agent came from."""


class _Agent(Struct, kw_only=True, rename="camel"):
    """An agent as the file holds it, its history not looked into."""

    fingerprint: str
    profile: Profile
    trust: dict[Dimension, DimensionTrust]
    stats: Stats
    history: msgspec.Raw
    first_seen: int
    last_seen: int


class _Ledger(Struct, kw_only=True, rename="camel"):
    """A ledger of such agents."""

    version: int
    updated_at: int
    agents: dict[str, _Agent]
    policy: Policy
    audit: AuditMark


class _Encoded(Struct, kw_only=True, rename="camel"):
    """A ledger whose agents are not looked into."""

    version: int
    updated_at: int
    agents: dict[str, msgspec.Raw]
    policy: Policy
    audit: AuditMark


_ENCODER = msgspec.json.Encoder(order="deterministic")
_DECODER = msgspec.json.Decoder(Ledger)
_HELD = msgspec.json.Decoder(_Encoded)
_GLANCE = msgspec.json.Decoder(_Ledger)


def encode_ledger(ledger: Ledger | HeldLedger) -> bytes:
    """Return the ledger as its file holds it."""
    if isinstance(ledger, HeldLedger):
        return b"".join(_parts(ledger))
    return plain_floats(_ENCODER.encode(ledger)) + b"\n"


def _parts(ledger: HeldLedger) -> Iterator[bytes]:
    """Yield what `encode_ledger` returns."""
    yield b'{"version":%d,"updatedAt":%d,"agents":{' % (ledger.version, ledger.updated_at)
    comma = b""
    for fingerprint, agent in ledger.agents.encoded():
        yield b"%b%b:%b" % (comma, _ENCODER.encode(fingerprint), agent)
        comma = b","
    policy, mark = plain_floats(_ENCODER.encode(ledger.policy)), _ENCODER.encode(ledger.audit)
    yield b'},"policy":%b,"audit":%b}\n' % (policy, mark)


def write_snapshot(home: Path, ledger: HeldLedger) -> None:
    """Replace the snapshot durably and keep the one before."""
    files.replace(home / LEDGER, _parts(ledger), home / BACKUP)


def write_both(home: Path, ledger: HeldLedger) -> None:
    """Replace the snapshot and its backup durably: what stood under either name is not to be relied on."""
    for name in (BACKUP, LEDGER):
        files.replace(home / name, _parts(ledger))


def is_foreign(path: Path) -> bool:
    """Tell whether a file is the ledger of version 1: it has agents, and no audit log that it stands on."""
    try:
        data = path.read_bytes()
        # Ours is told by one look; only what is not ours, or damaged, is decoded.
        found = None if b'"audit":' in data else msgspec.json.decode(data)
    except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return isinstance(found, dict) and "agents" in found and "audit" not in found


def read_snapshot(path: Path) -> Ledger | None:
    """Return a snapshot; `None` where the file is missing or is no ledger. Raises `HomeError` for another version."""
    try:
        ledger = _DECODER.decode(path.read_bytes())
    except FileNotFoundError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    _check_version(path, ledger.version)
    return ledger


def read_held(path: Path) -> HeldLedger | None:
    """Return a snapshot as `read_snapshot` does, for its writer. Raises what that raises."""
    try:
        found = _HELD.decode(path.read_bytes())
        agents = Agents.of_encoded((key, bytes(agent)) for key, agent in found.agents.items())
    except FileNotFoundError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    _check_version(path, found.version)
    return HeldLedger(
        version=found.version, updated_at=found.updated_at, agents=agents, policy=found.policy, audit=found.audit
    )


def read_glance(path: Path) -> Glance | None:
    """Return a snapshot without histories, ten times as fast; `None` where the file is missing or is no ledger.

    Raises what `read_snapshot` raises.
    """
    try:
        found = _GLANCE.decode(path.read_bytes())
    except FileNotFoundError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    _check_version(path, found.version)
    agents = {
        key: AgentRecord(
            fingerprint=agent.fingerprint,
            profile=agent.profile,
            trust=agent.trust,
            stats=agent.stats,
            history=[],
            first_seen=agent.first_seen,
            last_seen=agent.last_seen,
        )
        for key, agent in found.agents.items()
    }
    ledger = Ledger(
        version=found.version, updated_at=found.updated_at, agents=agents, policy=found.policy, audit=found.audit
    )
    return Glance(ledger, sorted({source for agent in found.agents.values() if (source := _newest_source(agent))}))


def _newest_source(agent: _Agent) -> str:
    """Return the source of the newest entry of a history; empty where it has none."""
    _, _, rest = bytes(agent.history).rpartition(_SOURCE)
    return rest.partition(b'"')[0].decode() if rest else ""


def _check_version(path: Path, version: int) -> None:
    if version != LEDGER_VERSION:
        raise HomeError(f"{path}: a ledger of version {version}, known is {LEDGER_VERSION}; update a2a-trust")
