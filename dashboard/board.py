"""What the screens show of a home at one moment: its signals under a lens, and whether it is being recorded.

Reads through `a2a_trust.store.live` and `TrustSignals` only, so it cannot write. Sorting and filtering are pure.
"""

from __future__ import annotations

import contextlib
import gc
import os
import re
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from a2a_trust.dashboard.trends import HOUR_MS, Window, total_change
from msgspec import Struct

from a2a_trust.errors import UnknownAgentError, UsageError
from a2a_trust.lenses import Lens
from a2a_trust.model import DIMENSIONS, Dimension, Policy
from a2a_trust.signals import PREFIX_LENGTH, Provenance, Signal, TrustSignals
from a2a_trust.store import live

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

FOLDED_AT_ONCE_BYTES = 32 << 20
"""Up to this size of the audit log the lens that `show` would choose is folded at the start; it reads every row."""
MUCH_UNATTRIBUTABLE = 0.2
"""Share of an agent's calls and answers that nobody could be blamed or praised for, from which on it is marked."""


class SortKey(StrEnum):
    """The columns by which agents can be ordered."""

    NAME = "name"
    COMPETENCE = "competence"
    RELIABILITY = "reliability"
    COMMUNICATION = "communication"
    INTEGRITY = "integrity"
    TOTAL = "total"
    CHANGE = "change"
    SAMPLES = "samples"
    SEEN = "seen"


class Order(Struct, frozen=True):
    """A column, and whether its least comes first."""

    key: SortKey = SortKey.TOTAL
    ascending: bool = False


class Health(Struct, frozen=True, kw_only=True):
    """Whether the home is being recorded, and how sound it is."""

    sessions: dict[str, int]
    """Session logs by source."""
    ingested: int
    """When the snapshot was last written, ms; 0 where there is none."""
    rows: int
    head: str
    newest: int
    """Time of the newest event, ms."""
    behind: int
    """Bytes of the audit log that are not shown yet."""


class Board(Struct, frozen=True, kw_only=True):
    """A home as it stood when it was read."""

    lens: Lens
    signals: list[Signal]
    types: list[Signal]
    """The agent types, whatever the lens."""
    policy: Policy
    provenance: Provenance
    health: Health


def load(home: Path, lens: Lens | None = None) -> Board:
    """Read a home. Raises `NoLedgerError` where nothing was recorded yet.

    Without a lens, the one that `show` would choose, unless folding it would mean reading a long log.
    """
    with _without_collecting():
        return _load(home, lens)


@contextlib.contextmanager
def _without_collecting() -> Iterator[None]:
    """Keep Python from looking for cycles among the millions of objects of a large ledger: they have none.

    Looking takes seven times as long as reading them, and would stop the screen again and again later on.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was:
            gc.enable()


def _load(home: Path, lens: Lens | None) -> Board:
    state = live.read_state(home)
    signals = TrustSignals(home, state.ledger)
    types = signals.agents()
    if lens is None:
        short = state.ledger.audit.bytes <= FOLDED_AT_ONCE_BYTES
        lens = signals.default_lens() if short else Lens.FINGERPRINT
    ledger_shape = live.shape(home).ledger
    return Board(
        lens=lens,
        signals=types if lens is Lens.FINGERPRINT else signals.by(lens),
        types=types,
        policy=signals.policy,
        provenance=signals.provenance,
        health=Health(
            sessions=live.sessions_by_source(home),
            ingested=ledger_shape[2] // 1_000_000 if ledger_shape else 0,
            rows=state.ledger.audit.rows,
            head=state.ledger.audit.head,
            newest=state.ledger.updated_at,
            behind=state.behind,
        ),
    )


def grown_logs(home: Path) -> int:
    """Return how many session logs, of those that changed last, hold more than was read of them."""
    return sum(_has_grown(log) for log in live.newest_logs(home))


def _has_grown(log: live.LogPlace) -> bool:
    try:
        found = os.stat(log.path)  # noqa: PTH116 - a path as text
    except OSError:
        return False
    return (found.st_size, found.st_mtime_ns) != (log.size, log.mtime_ns) and found.st_mtime_ns >= log.mtime_ns


def unattributable_share(signal: Signal) -> float:
    """Return the share of calls and answers in [0, 1] for which nobody was blamed or praised."""
    stats = signal.stats
    excused = sum(stats.unattributable.values()) + stats.unanswered_calls
    judged = stats.tool_calls + stats.responses_on_time + stats.responses_late
    return excused / (excused + judged) if excused else 0.0


def matches(signal: Signal, words: Iterable[str]) -> bool:
    """Tell whether each of the words, in lower case, stands in what describes an agent, or begins its key."""
    profile = signal.profile
    identity = (signal.name, profile.role, profile.provider, profile.context, profile.model, profile.description)
    text = "\n".join(identity).casefold()
    return all(word in text or signal.key.casefold().startswith(word) for word in words)


def select(board: Board, text: str, order: Order, window: Window, now: int) -> list[Signal]:
    """Return the signals that match a filter, in order; what has no number comes last either way."""
    words = text.casefold().split()
    found = [signal for signal in board.signals if matches(signal, words)] if words else list(board.signals)
    found.sort(key=lambda signal: (signal.name.casefold(), signal.key))
    if order.key is SortKey.NAME:
        return found[::-1] if order.ascending else found
    since = window.since(now)
    numbers = {signal.key: _number(signal, order.key, board.policy, since) for signal in found}
    known = [signal for signal in found if numbers[signal.key] is not None]
    known.sort(key=lambda signal: numbers[signal.key] or 0.0, reverse=not order.ascending)
    return known + [signal for signal in found if numbers[signal.key] is None]


def _number(signal: Signal, key: SortKey, policy: Policy, since: int) -> float | None:
    match key:
        case SortKey.TOTAL:
            return signal.total
        case SortKey.CHANGE:
            change = total_change(signal, policy, since)
            return change.delta if change else None
        case SortKey.SAMPLES:
            return float(signal.samples)
        case SortKey.SEEN:
            return float(signal.last_seen)
    return signal.dimensions[Dimension(key)].value


def namesakes(board: Board, signal: Signal) -> list[Signal]:
    """Return the agent types of one name, in the order in which they appeared, the given one among them."""
    found = [other for other in board.types if other.name == signal.name]
    return sorted(found, key=lambda other: (other.first_seen, other.key))


def keys_of(board: Board, wanted: str) -> list[str]:
    """Return the keys of all agents with a key, a name, or the start of a fingerprint.

    Raises `UnknownAgentError` where there are none.
    """
    found = [signal.key for signal in board.signals if wanted in (signal.key, signal.name)]
    if not found and len(wanted) >= PREFIX_LENGTH:
        found = [signal.key for signal in board.signals if signal.key.startswith(wanted.lower())]
    if not found:
        raise UnknownAgentError(
            f"no agent is named {wanted!r}, nor has it as the start of its key; see: a2a-trust show"
        )
    return found


def parse_since(text: str, now: int) -> int:
    """Return the time that `24h`, `7d` or a date means, ms; spans count back from `now`. Raises `UsageError`."""
    span = re.fullmatch(r"(\d{1,5})([hd])", text)
    if span:
        return now - int(span[1]) * HOUR_MS * (24 if span[2] == "d" else 1)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"--since {text}: give hours (24h), days (7d) or a date (2026-11-30)") from None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


SORT_KEYS = tuple(SortKey)
DIMENSION_KEYS = {dim: SortKey(dim) for dim in DIMENSIONS}
