"""The trust signal that a run is given: read once, when it begins, and named in its log.

Read-only: no lock, no file, no byte of the home is touched, so that it may stand on a medium that cannot be written.
Nothing here decides who is shown the text, and nothing anywhere weighs a vote by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_trust.advice import for_lead
from a2a_trust.errors import NoLedgerError
from a2a_trust.signals import Signal, TrustSignals
from a2a_trust.sources.jury_events import Actor, Trust, TrustMode, sha256
from a2a_trust.sources.jury_facts import profile_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def freeze(home: Path | None, mode: TrustMode, cast: Iterable[Actor]) -> Trust:
    """Return the signal of a home, or of a snapshot file, on the agent types of a cast.

    The text is the advisory text on those of them that have evidence, empty where none has, where nothing was recorded
    yet, or where `mode` is off; then the home is not read at all. Raises what opening `TrustSignals` does, but for
    `NoLedgerError`.
    """
    if home is None or mode == "off":
        return Trust(mode=mode)
    try:
        signals = TrustSignals(home)
    except NoLedgerError:
        return Trust(mode=mode)
    text = for_lead(_of_cast(signals, cast)).text
    named = signals.provenance
    return Trust(
        mode=mode,
        policy=named.policy,
        rows=named.rows,
        head=named.head,
        as_of=named.as_of,
        text=text,
        sha256=sha256(text),
    )


def _of_cast(signals: TrustSignals, cast: Iterable[Actor]) -> list[Signal]:
    """Return the signals on a cast: of each the agent type that it is, or that it is folded under."""
    wanted = {profile_of(actor).fingerprint for actor in cast}
    if not signals.frozen:
        amendments = signals.amendments()
        wanted = {amendments.subject(fingerprint) for fingerprint in wanted}
    return [signal for signal in signals.agents() if signal.key in wanted]
