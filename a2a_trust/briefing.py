"""Who is told about whom: from the signals of a home to the text and the numbers for one reader.

The text itself is `advice`'s. Reads nothing but through `TrustSignals`, and gives the same numbers in both forms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from a2a_trust.advice import DEFAULT_MODE, DEFAULT_TOKENS, NOTHING, Audience, Mode, for_lead, for_teammate, reads
from a2a_trust.lenses import Lens
from a2a_trust.model import Role
from a2a_trust.signals import PREFIX_LENGTH, Provenance, Signal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from a2a_trust.signals import TrustSignals

CHOOSABLE = (Role.TEAMMATE, Role.SUBAGENT)
"""Roles that a Lead can delegate to."""


class Reader(Struct, frozen=True, kw_only=True):
    """For whom signals are wanted, and which."""

    audience: Audience = Audience.LEAD
    name: str | None = None
    """Name, fingerprint or start of one of the reader itself."""
    agents: list[str] | None = None
    """The only agents that could be chosen, named likewise; `None` for all."""
    lens: Lens | None = None
    """`None` for the one under which most of the evidence comes back."""
    max_tokens: int = DEFAULT_TOKENS
    mode: Mode = DEFAULT_MODE


class Briefing(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a reader is given: the text, and the numbers that it was made of."""

    audience: Audience
    mode: Mode
    lens: Lens
    text: str
    """Empty where the mode gives this reader nothing, or where there is nothing to say."""
    shown: list[str]
    """Keys that have a row in the text."""
    left_out: int
    """Agents with evidence that have none: their row did not fit."""
    own: list[Signal]
    agents: list[Signal]
    provenance: Provenance
    problems: list[str]


def brief(signals: TrustSignals, reader: Reader, problems: Iterable[str] = (), *, fold_bytes: int = 0) -> Briefing:
    """Return what a reader is given. With `fold_bytes`, an audit log longer than that is not folded by another lens.

    The rows are agent types then, although few of them recur; the briefing says so among its problems.
    """
    told = list(problems)
    lens = reader.lens or signals.default_lens()
    if reader.lens is None and lens is not Lens.FINGERPRINT and 0 < fold_bytes < signals.log_bytes:
        told.append(f"few agent types recur, but the audit log is too long to be folded by {lens} here")
        lens = Lens.FINGERPRINT
    own, others = _rows(signals, reader, lens)
    told += _unknown(signals, reader)
    advice = NOTHING
    if reads(reader.mode, reader.audience):
        advice = (
            for_lead(others, lens, reader.max_tokens)
            if reader.audience is Audience.LEAD
            else for_teammate(own, others, lens, reader.max_tokens)
        )
    return Briefing(
        audience=reader.audience,
        mode=reader.mode,
        lens=lens,
        text=advice.text,
        shown=list(advice.shown),
        left_out=advice.left_out,
        own=_without_history(own),
        agents=_without_history(others),
        provenance=signals.provenance,
        problems=told,
    )


def answers_to(signal: Signal, name: str) -> bool:
    """Tell whether an agent type is meant by a name, a fingerprint, or the start of one."""
    return name == signal.name or (len(name) >= PREFIX_LENGTH and signal.key.startswith(name.lower()))


def _unknown(signals: TrustSignals, reader: Reader) -> list[str]:
    """Return a remark for each agent that was asked for and that nothing is known of."""
    known = signals.agents()
    asked = reader.agents or []
    return [f"no agent answers to {name!r}" for name in asked if not any(answers_to(signal, name) for signal in known)]


def _rows(signals: TrustSignals, reader: Reader, lens: Lens) -> tuple[list[Signal], list[Signal]]:
    """Return the signals of the reader itself, and of those that it could choose."""
    types = [signal for signal in signals.agents() if signal.profile.role in CHOOSABLE]
    mine = [signal for signal in signals.agents() if reader.name is not None and answers_to(signal, reader.name)]
    own_types = {signal.key for signal in mine}
    others = [
        signal
        for signal in types
        if signal.key not in own_types
        and (reader.agents is None or any(answers_to(signal, name) for name in reader.agents))
    ]
    if lens is Lens.FINGERPRINT:
        return mine, others
    if not signals.frozen:
        # Under another lens a key may stand for many agents: only the work of those in question is told.
        chosen = {signal.key for signal in others}
        return (
            signals.by(lens, subjects=own_types) if own_types else [],
            signals.by(lens, subjects=chosen) if chosen else [],
        )
    found = signals.by(lens)
    own_keys = {_key(signal, lens) for signal in mine}
    other_keys = {_key(signal, lens) for signal in others} - own_keys
    every = lens not in (Lens.NAME, Lens.MODEL)
    return (
        [signal for signal in found if signal.key in own_keys],
        [signal for signal in found if signal.key in other_keys or every],
    )


def _key(signal: Signal, lens: Lens) -> str:
    """Return the key of an agent type under a lens; none where the lens cuts across agent types."""
    return signal.name if lens is Lens.NAME else signal.profile.model if lens is Lens.MODEL else ""


def _without_history(signals: Iterable[Signal]) -> list[Signal]:
    return [msgspec.structs.replace(signal, history=[]) for signal in signals]
