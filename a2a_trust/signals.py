"""The read-only view of a home, or of a snapshot file: what agents, juries and people get to see.

Frozen when opened: no lock, no writing, no way to the store, no look at the clock. Numbers and their provenance come
together.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Self

from msgspec import Struct, field
from msgspec.structs import replace

from a2a_trust.errors import UnknownAgentError, UsageError
from a2a_trust.frozen import Frozen, read_frozen
from a2a_trust.lenses import RECURS, Lens, default_lens, fold_by, recurring_shares
from a2a_trust.model import DIMENSIONS, AgentRecord, Dimension, HistoryEntry, Ledger, Policy, Profile, Role, Row, Stats
from a2a_trust.reputation import confidence, interval, total
from a2a_trust.store.reader import (
    glance,
    read_all_rows,
    read_amendment_rows,
    read_amendments,
    read_ledger,
    read_rows_of,
    read_snapshot_alone,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from pathlib import Path

    from a2a_trust.amendments import Amendments

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


class Signal(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
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
    stale_for: int | None
    """From when the agent was last seen to `Provenance.now`, in ms; `None` where its rows are undated."""
    history: list[HistoryEntry] = field(default_factory=list)

    @property
    def samples(self) -> int:
        """Evidence over all dimensions."""
        return sum(dimension.samples for dimension in self.dimensions.values())


class Provenance(Struct, frozen=True, kw_only=True, rename="camel"):
    """Where the numbers come from: enough to find them again, or to notice that they are others by now."""

    home: str
    snapshot: str | None
    """Name of the snapshot file that was opened; `None` for a home."""
    policy: str
    rows: int
    head: str
    as_of: int
    """Event time of the newest row, ms."""
    now: int
    """What `stale_for` is measured to, ms: as the caller gave it, else `as_of`."""
    sources: list[str]
    """Log formats that the newest evidence of each agent came from."""


class TrustSignals:
    """A home, or a snapshot file, as it stood when it was opened."""

    def __init__(
        self, place: Path, ledger: Ledger | None = None, *, now: int | None = None, catch_up: bool = True
    ) -> None:
        """Open a home, or a snapshot file that `freeze` made, or look at a ledger of a home that was read before.

        `now` is the time, in ms, to which staleness is measured; by default that of the newest row, so that equal
        homes give equal signals. Without `catch_up` a snapshot that lags behind its audit log (seconds, under a busy
        writer) is taken as it is: opening then never takes longer than reading it.

        Raises `NoLedgerError` where nothing was recorded yet, `SnapshotError` where a snapshot file is not whole.
        """
        frozen = read_frozen(place) if ledger is None and place.is_file() else None
        if frozen is not None:
            ledger, home = frozen.body.ledger, frozen.body.home
        else:
            ledger, home = ledger or (read_ledger if catch_up else read_snapshot_alone)(place), str(place)
        self._home = place
        self._frozen: Frozen | None = frozen
        self._ledger = ledger
        self._agents: Mapping[str, AgentRecord] = ledger.agents
        self._provenance = Provenance(
            home=home,
            snapshot=frozen.name if frozen else None,
            policy=ledger.policy.name,
            rows=ledger.audit.rows,
            head=ledger.audit.head,
            as_of=ledger.updated_at,
            now=ledger.updated_at if now is None else now,
            sources=sorted(
                {
                    agent.history[-1].detail.source
                    for agent in ledger.agents.values()
                    if agent.history and agent.history[-1].detail.source is not None
                }
            ),
        )

    @classmethod
    def at_a_glance(cls, place: Path, *, now: int | None = None, fold: bool = True) -> Self:
        """Open the newest whole snapshot of a home as it is, without histories, in a few milliseconds.

        The numbers are those of the snapshot, which under a busy writer lags seconds behind the audit log. Without
        `fold`, a home that has none counts as empty. A snapshot file is opened as ever. Raises what opening does.
        """
        if place.is_file():
            return cls(place, now=now)
        found = glance(place, fold=fold)
        signals = cls(place, found.ledger, now=now)
        if found.sources:
            signals._provenance = replace(signals.provenance, sources=found.sources)
        return signals

    @property
    def policy(self) -> Policy:
        """The policy under which the numbers stand."""
        return self._ledger.policy

    @property
    def provenance(self) -> Provenance:
        """Where the numbers come from."""
        return self._provenance

    @property
    def log_bytes(self) -> int:
        """Bytes of the audit log behind these signals: what a lens other than the fingerprint has to read."""
        return 0 if self._frozen else self._ledger.audit.bytes

    def agents(self, role: Role | None = None) -> list[Signal]:
        """Return all agent types, or those of a role, by fingerprint."""
        return [
            self._signal(key, record)
            for key, record in sorted(self._agents.items())
            if role is None or record.profile.role is role
        ]

    @property
    def frozen(self) -> bool:
        """Whether this is a snapshot file: it holds numbers and no rows, so other folds cannot be made of it."""
        return self._frozen is not None

    def by(self, lens: Lens, source: str | None = None, subjects: Collection[str] | None = None) -> list[Signal]:
        """Return the signals of a lens, by key, over all rows, or those from one source or of some agent types.

        Any but the fingerprint over all rows reads the whole audit log of a home.
        """
        if subjects is not None:
            return self._of_subjects(lens, subjects)
        if lens is Lens.FINGERPRINT and source is None:
            return self.agents()
        if self._frozen and source is None:
            records = self._frozen.body.lenses[lens]
        else:
            rows = (row for row in self.rows() if source is None or not row.subject or row.evidence.source == source)
            records = fold_by(lens, rows, self.policy)
        found = [self._signal(key, record) for key, record in sorted(records.items())]
        return found if lens is Lens.FINGERPRINT else [replace(signal, name=signal.key) for signal in found]

    def _of_subjects(self, lens: Lens, subjects: Collection[str]) -> list[Signal]:
        """Return the signals of a lens over the rows of the given agent types alone."""
        amendments = self.amendments()
        rows = (row for row in self.rows() if not row.subject or amendments.subject(row.subject) in subjects)
        records = fold_by(lens, rows, self.policy)
        return [replace(self._signal(key, record), name=key) for key, record in sorted(records.items())]

    def default_lens(self) -> Lens:
        """Return the lens under which most of the evidence stands on keys that come back."""
        return default_lens(self._agents)

    def recurring_shares(self) -> tuple[float, float]:
        """Return the shares of the evidence on recurring fingerprints, and on recurring names."""
        return recurring_shares(self._agents)

    def for_agent(self, wanted: Profile | str, note: Callable[[str], None] = lambda _: None) -> Signal:
        """Return the one agent type with a profile, a fingerprint, a prefix of one, or a name.

        One that is folded under another is answered with that one, which `note` is told.

        Raises `UnknownAgentError` where none, or more than one, answers to it; the message lists the candidates.
        """
        if isinstance(wanted, Profile):
            wanted = wanted.fingerprint
        if wanted in self._agents:
            return self._signal(wanted, self._agents[wanted])
        found = self._answering(wanted)
        if not found:
            names = [record.profile.name for record in self._agents.values()]
            close = [name for name in names if wanted.lower() in name.lower()]
            hint = f"; did you mean {', '.join(sorted(set(close))[:5])}?" if close else "; see: a2a-trust show"
            prefix = f"of at least {PREFIX_LENGTH} characters" if len(wanted) < PREFIX_LENGTH else "of a fingerprint"
            raise UnknownAgentError(f"no agent is named {wanted!r}, and it is no start {prefix}{hint}")
        if len(set(found.values())) > 1:
            candidates = "; ".join(self._candidate(key, to) for key, to in sorted(found.items())[:10])
            raise UnknownAgentError(f"{len(found)} agents answer to {wanted!r}, give a fingerprint: {candidates}")
        key, subject = next(iter(found.items()))
        if key != subject:
            note(
                f"{wanted} is folded under {self._agents[subject].profile.name} ({subject[:12]}), which is meant here."
            )
        return self._signal(subject, self._agents[subject])

    def _answering(self, wanted: str) -> dict[str, str]:
        """Return the fingerprints that have a name, else those that begin so, each with the agent that it is."""
        found = {key: key for key, record in self._agents.items() if record.profile.name == wanted}
        if found or not wanted:
            return found
        # Who is folded under whom stands in the audit log alone, which takes time: most agents are found without.
        folded = self._folded()
        found = {key: to for key, (to, name) in folded.items() if wanted in (key, name)}
        if not found and len(wanted) >= PREFIX_LENGTH:
            every = {key: key for key in self._agents} | {key: to for key, (to, _) in folded.items()}
            found = {key: to for key, to in every.items() if key.startswith(wanted.lower())}
        return found

    def _folded(self) -> dict[str, tuple[str, str]]:
        """Return the agents that are folded under others: under whom, and their own names."""
        if self._frozen is not None:
            return {}
        amendments = read_amendments(self._home)
        found = {key: amendments.subject(key) for key in sorted(amendments.aliases)}
        return {key: (to, self._name_in_rows(key)) for key, to in found.items() if to in self._agents}

    def _name_in_rows(self, fingerprint: str) -> str:
        rows = read_rows_of(self._home, fingerprint)
        return next((row.subject_name for row in rows if row.subject == fingerprint and row.subject_name), "")

    def namesakes(self, signal: Signal) -> list[Signal]:
        """Return the agent types that share a name with another fingerprint."""
        return [other for other in self.agents() if other.name == signal.name and other.key != signal.key]

    def amendments(self) -> Amendments:
        """Return what people said about rows after the fact. Raises `UsageError` for a snapshot file."""
        self._need_log()
        return read_amendments(self._home)

    def rows(self) -> Iterator[Row]:
        """Yield the rows of the audit log in the order of the file. Raises `UsageError` for a snapshot file."""
        self._need_log()
        return islice(read_all_rows(self._home), self.provenance.rows)

    def rows_of(self, subject: str) -> Iterator[Row]:
        """Yield the rows of one fingerprint in the order of the file. Raises `UsageError` for a snapshot file."""
        self._need_log()
        return read_rows_of(self._home, subject)

    def _need_log(self) -> None:
        if self._frozen is not None:
            raise UsageError(f"{self._home}: a snapshot file holds numbers, not rows; open the home for these")

    def amendment_rows(self) -> Iterator[Row]:
        """Yield what people said about rows after the fact, in the order of the file."""
        return read_amendment_rows(self._home)

    def _candidate(self, key: str, subject: str) -> str:
        if key != subject:
            return f"{key[:12]} (folded under {subject[:12]})"
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
            # The one part of a signal that could be changed: a reader who does changes a copy.
            stats=replace(record.stats, unattributable=dict(record.stats.unattributable), jury=dict(record.stats.jury)),
            first_seen=record.first_seen,
            last_seen=record.last_seen,
            stale_for=max(0, self.provenance.now - record.last_seen) if record.last_seen > 0 else None,
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
