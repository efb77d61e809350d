"""Homes with nothing but a ledger, made up or generated: what the read-only side is shown, without any log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from a2a_trust.model import (
    DIMENSIONS,
    LEDGER_VERSION,
    AgentRecord,
    AuditMark,
    DimensionTrust,
    Ledger,
    Profile,
    Role,
    Stats,
)
from a2a_trust.policy import STANDARD
from a2a_trust.store.audit import hash_line
from a2a_trust.store.snapshot import LEDGER, encode_ledger

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from a2a_trust.model import Dimension

TIME = 1_790_000_000_000


def record(
    name: str,
    trust: dict[Dimension, tuple[float, int, int]] | None = None,
    *,
    role: Role = Role.TEAMMATE,
    last_seen: int = TIME,
    description: str = "",
    **counts: int,
) -> AgentRecord:
    """An agent type with the given value, samples and good ones by dimension; it recurs unless told otherwise."""
    profile = Profile(name=name, description=description, role=role)
    return AgentRecord(
        fingerprint=profile.fingerprint,
        profile=profile,
        trust={
            dim: DimensionTrust(value=value, samples=samples, good=good)
            for dim in DIMENSIONS
            for value, samples, good in [(trust or {}).get(dim, (0.5, 0, 0))]
        },
        stats=Stats(**{"sessions": 2, **counts}),
        history=[],
        first_seen=last_seen,
        last_seen=last_seen,
    )


def ledger_of(records: Iterable[AgentRecord], audit_bytes: int = 2) -> Ledger:
    """A ledger with these agents, standing on one row of so many bytes."""
    agents = {one.fingerprint: one for one in records}
    newest = max((one.last_seen for one in agents.values()), default=0)
    return Ledger(
        version=LEDGER_VERSION,
        updated_at=newest,
        agents=agents,
        policy=STANDARD,
        audit=AuditMark(rows=1, bytes=audit_bytes, head=hash_line(_row(audit_bytes))),
    )


def _row(size: int) -> bytes:
    """A row of so many bytes, its newline left out: a reader of snapshots looks at no more of it than its hash."""
    return b"x" * (size - 1)


def plant(home: Path, ledger: Ledger) -> Path:
    """Put a ledger where a home has it, and beside it the row that it stands on."""
    home.mkdir(exist_ok=True)
    (home / "audit.jsonl").write_bytes(_row(ledger.audit.bytes) + b"\n")
    (home / LEDGER).write_bytes(encode_ledger(ledger))
    return home


@st.composite
def trusts(draw: st.DrawFn) -> tuple[float, int, int]:
    """Value, samples and good ones of a dimension."""
    samples = draw(st.integers(0, 12))
    return draw(st.integers(0, 1_000_000)) / 1_000_000, samples, draw(st.integers(0, samples))


@st.composite
def records(draw: st.DrawFn) -> AgentRecord:
    """Any agent type, under any name that a log can hold."""
    name = draw(st.one_of(st.sampled_from(["worker-a", "worker-b", "reviewer"]), st.text(max_size=80)))
    return record(
        name,
        {dim: draw(trusts()) for dim in DIMENSIONS},
        role=draw(st.sampled_from(Role)),
        last_seen=draw(st.integers(0, TIME)),
        description=draw(st.text(max_size=5)),
        tasks_completed=draw(st.integers(0, 10**6)),
        tool_calls=draw(st.integers(0, 10**6)),
        tool_errors=draw(st.integers(0, 10**6)),
        messages_sent=draw(st.integers(0, 10**6)),
    )


def ledgers() -> st.SearchStrategy[Ledger]:
    """Any ledger of up to a dozen agent types."""
    return st.lists(records(), max_size=12).map(ledger_of)
