"""The read-only view of a home: what agents, juries and people get to see.

Frozen when opened: no lock, no writing, no way to the store. Numbers and their provenance come together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from a2a_trust.errors import UnknownAgentError
from a2a_trust.lenses import RECURS, Lens, default_lens, fold_by, recurring_shares
from a2a_trust.model import DIMENSIONS, AgentRecord, Dimension, HistoryEntry, Ledger, Policy, Profile, Role, Row, Stats
from a2a_trust.reputation import confidence, interval, total
from a2a_trust.store import read_ledger
from a2a_trust.store.reader import read_all_rows, read_rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

PREFIX_LENGTH = 4
"""Characters of a fingerprint from which on it may be given as a prefix."""


class DimensionSignal(Struct, frozen=True, kw_only=True):
    """One dimension: the index, what stands behind it, and the rate that can be compared."""

    value: float | None
    """`None` where there is no evidence: 0.5 would look earned."""
    samples: int
    good: int
    rate: float | None
    low: float | None
    high: float | None
    """Bounds of the rate's Wilson 95 % interval."""
    confidence: str
    """`none`, `low` or `enough`."""


class Signal(Struct, frozen=True, kw_only=True, rename="camel"):
    """What is known of one agent type, or of one key of another lens."""

    key: str
    """The fingerprint, or the key of the lens."""
    name: str
    profile: Profile
    scored: bool
    """Whether the policy folds evidence of this role."""
    recurring: bool
    dimensions: dict[Dimension, DimensionSignal]
    total: float | None
    stats: Stats
    first_seen: int
    last_seen: int
    history: list[HistoryEntry] = field(default_factory=list)

    @property
    def samples(self) -> int:
        """Evidence over all dimensions."""
        return sum(dimension.samples for dimension in self.dimensions.values())


class Provenance(Struct, frozen=True, kw_only=True, rename="camel"):
    """Where the numbers come from: enough to find them again, or to notice that they are others by now."""

    home: str
    policy: str
    rows: int
    head: str
    as_of: int
    """Event time of the newest row, ms."""


class TrustSignals:
    """A home as it stood when it was opened."""

    def __init__(self, home: Path, ledger: Ledger | None = None) -> None:
        """Open a home, or look at a ledger of it that was read before.

        Raises `NoLedgerError` where nothing was recorded yet.
        """
        self._home = home
        ledger = ledger or read_ledger(home)
        self._agents: Mapping[str, AgentRecord] = ledger.agents
        self.policy: Policy = ledger.policy
        self.provenance = Provenance(
            home=str(home),
            policy=ledger.policy.name,
            rows=ledger.audit.rows,
            head=ledger.audit.head,
            as_of=ledger.updated_at,
        )

    def agents(self, role: Role | None = None) -> list[Signal]:
        """Return all agent types, or those of a role, by fingerprint."""
        return [
            self._signal(key, record)
            for key, record in sorted(self._agents.items())
            if role is None or record.profile.role is role
        ]

    def by(self, lens: Lens) -> list[Signal]:
        """Return the signals of a lens, by key. Any but the fingerprint reads the whole audit log."""
        if lens is Lens.FINGERPRINT:
            return self.agents()
        return [self._signal(key, record) for key, record in fold_by(lens, self.rows(), self.policy).items()]

    def default_lens(self) -> Lens:
        """Return the lens under which most of the evidence stands on keys that come back."""
        return default_lens(self._agents)

    def recurring_shares(self) -> tuple[float, float]:
        """Return the shares of the evidence on recurring fingerprints, and on recurring names."""
        return recurring_shares(self._agents)

    def for_agent(self, wanted: Profile | str) -> Signal:
        """Return the one agent type with a profile, a fingerprint, a prefix of one, or a name.

        Raises `UnknownAgentError` where none, or more than one, answers to it; the message lists the candidates.
        """
        if isinstance(wanted, Profile):
            wanted = wanted.fingerprint
        if wanted in self._agents:
            return self._signal(wanted, self._agents[wanted])
        found = [key for key, record in self._agents.items() if record.profile.name == wanted]
        if not found and len(wanted) >= PREFIX_LENGTH:
            found = [key for key in self._agents if key.startswith(wanted.lower())]
        if not found:
            close = [record.profile.name for record in self._agents.values() if wanted.lower() in record.profile.name]
            hint = f"; did you mean {', '.join(sorted(set(close))[:5])}?" if close else "; see: a2a-trust show"
            prefix = f"of at least {PREFIX_LENGTH} characters" if len(wanted) < PREFIX_LENGTH else "of a fingerprint"
            raise UnknownAgentError(f"no agent is named {wanted!r}, and it is no start {prefix}{hint}")
        if len(found) > 1:
            candidates = "; ".join(self._candidate(key) for key in sorted(found)[:10])
            raise UnknownAgentError(f"{len(found)} agents answer to {wanted!r}, give a fingerprint: {candidates}")
        return self._signal(found[0], self._agents[found[0]])

    def namesakes(self, signal: Signal) -> list[Signal]:
        """Return the agent types that share a name with another fingerprint."""
        return [other for other in self.agents() if other.name == signal.name and other.key != signal.key]

    def rows(self) -> Iterator[Row]:
        """Yield the rows of the audit log in the order of the file."""
        return read_all_rows(self._home)

    def rows_of(self, subject: str) -> Iterator[Row]:
        """Yield the rows of one fingerprint in the order of the file."""
        return read_rows_of(self._home, subject)

    def _candidate(self, key: str) -> str:
        profile = self._agents[key].profile
        return f"{key[:12]} ({profile.role} {profile.provider or '-'}/{profile.context or '-'})"

    def _signal(self, key: str, record: AgentRecord) -> Signal:
        return Signal(
            key=key,
            name=record.profile.name,
            profile=record.profile,
            scored=record.profile.role in self.policy.roles,
            recurring=record.stats.sessions >= RECURS,
            dimensions={dim: self._dimension(record, dim) for dim in DIMENSIONS},
            total=total(record.trust, self.policy),
            stats=record.stats,
            first_seen=record.first_seen,
            last_seen=record.last_seen,
            history=list(record.history),
        )

    def _dimension(self, record: AgentRecord, dim: Dimension) -> DimensionSignal:
        state = record.trust[dim]
        rate = interval(state.good, state.samples)
        return DimensionSignal(
            value=state.value if state.samples else None,
            samples=state.samples,
            good=state.good,
            rate=rate.rate if rate else None,
            low=rate.low if rate else None,
            high=rate.high if rate else None,
            confidence=confidence(state.samples, self.policy),
        )
