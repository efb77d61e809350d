"""The ledger in the hands of its writer: agents are encoded while nobody is at work on them.

Decoded, an agent takes ten times the memory, nearly all of it for its history; of a home's agents a run touches a few
at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from a2a_trust.model import AgentRecord, AuditMark, Policy
from a2a_trust.store.audit import plain_floats

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_ENCODER = msgspec.json.Encoder(order="deterministic")
_AGENT = msgspec.json.Decoder(AgentRecord)


class Agents(MutableMapping[str, AgentRecord]):
    """Agents by fingerprint. What is taken out is a copy: a change counts when it is put back."""

    def __init__(self, agents: Mapping[str, AgentRecord] | None = None) -> None:
        self._encoded: dict[str, bytes] = {}
        self.update(agents or {})

    @classmethod
    def of_encoded(cls, encoded: Iterable[tuple[str, bytes]]) -> Agents:
        """Return agents from how the ledger's file holds each. Raises `msgspec.DecodeError` where one is none."""
        agents = cls()
        for fingerprint, data in encoded:
            _AGENT.decode(data)
            agents._encoded[fingerprint] = data
        return agents

    def __getitem__(self, fingerprint: str) -> AgentRecord:
        return _AGENT.decode(self._encoded[fingerprint])

    def __setitem__(self, fingerprint: str, record: AgentRecord) -> None:
        self._encoded[fingerprint] = plain_floats(_ENCODER.encode(record))

    def __delitem__(self, fingerprint: str) -> None:
        del self._encoded[fingerprint]

    def __iter__(self) -> Iterator[str]:
        return iter(self._encoded)

    def __len__(self) -> int:
        return len(self._encoded)

    def encoded(self) -> Iterator[tuple[str, bytes]]:
        """Yield the agents by fingerprint, as the ledger's file holds them."""
        for fingerprint in sorted(self._encoded):
            yield fingerprint, self._encoded[fingerprint]


class HeldLedger(Struct, kw_only=True):
    """What `Ledger` is, with agents that are encoded."""

    version: int
    updated_at: int
    agents: Agents
    policy: Policy
    audit: AuditMark
