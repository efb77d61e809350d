"""One line on a home, for a prompt or a status bar: how much is known, how new it is, and who is worst. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from a2a_trust.advice import safe_name
from a2a_trust.text import when

if TYPE_CHECKING:
    from a2a_trust.signals import Signal, TrustSignals

NAME_CHARS = 24
NOTHING_YET = "trust: nothing recorded yet"


class Status(Struct, frozen=True, kw_only=True, rename="camel"):
    """What the line says."""

    line: str
    agents: int
    """Agent types with evidence."""
    samples: int
    as_of: int
    """Event time of the newest row, ms; 0 where there is none."""
    lowest: str | None
    """Fingerprint of the agent type with the lowest total, where two or more have one."""


def status_of(signals: TrustSignals | None) -> Status:
    """Return the line for a home; `None` stands for one where nothing was recorded."""
    known = [signal for signal in signals.agents() if signal.samples] if signals else []
    if signals is None or not known:
        return Status(line=NOTHING_YET, agents=0, samples=0, as_of=0, lowest=None)
    rated = sorted((signal.total, signal.key, signal) for signal in known if signal.total is not None)
    lowest = rated[0][2] if len(rated) > 1 else None
    samples = sum(signal.samples for signal in known)
    parts = [f"trust: {len(known)} agent types, {samples} samples, newest {when(signals.provenance.as_of)}"]
    if lowest is not None:
        parts.append(f"lowest {_named(lowest)}")
    return Status(
        line="; ".join(parts),
        agents=len(known),
        samples=samples,
        as_of=signals.provenance.as_of,
        lowest=lowest.key if lowest else None,
    )


def _named(signal: Signal) -> str:
    return f"{safe_name(signal.name, NAME_CHARS)} {signal.total:.2f}"
