"""What votes come to: pure functions of votes and rule, never asked of a model, never weighted by trust."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from a2a_trust.sources.jury_events import Rule

SUPERMAJORITY = (2, 3)
"""Share of the votes cast that a supermajority takes, at least."""


class Outcome(NamedTuple):
    """What the votes of one item come to under one rule."""

    status: Literal["decided", "hung", "agreed", "review"]
    outcome: str | None
    tally: dict[str, int]
    reason: str


def tally(votes: Iterable[str], options: Sequence[str]) -> dict[str, int]:
    """Return how many votes each option has, in the order of the options, every one named."""
    counted = Counter(votes)
    return {option: counted[option] for option in options}


def quorum_needed(rule: Rule, empanelled: int) -> int:
    """Return how many of a panel must be present: the rule's share of it, rounded up."""
    numerator, denominator = rule.quorum
    return -(-empanelled * numerator // denominator)


def outcome_of(rule: Rule, votes: Sequence[str], options: Sequence[str], empanelled: int) -> Outcome:
    """Return what votes come to.

    `majority`: more than half of the votes cast. `supermajority`: at least two thirds of them. `unanimous`: all of
    them. Else the panel hangs. `agreement`: all of the panel gave the same valid verdict; anything else goes to a
    person.
    """
    counts = tally(votes, options)
    first = max(counts, key=lambda option: counts[option], default=None)
    cast, most = len(votes), counts[first] if first is not None else 0
    if rule.kind == "agreement":
        return _agreement(counts, first, cast, most, empanelled)
    needed = {
        "majority": cast // 2 + 1,
        "supermajority": -(-cast * SUPERMAJORITY[0] // SUPERMAJORITY[1]),
        "unanimous": cast,
    }[rule.kind]
    if cast and most >= needed:
        return Outcome("decided", first, counts, "")
    return Outcome("hung", None, counts, f"no option has {needed} of {cast} votes ({rule.kind})")


def _agreement(counts: dict[str, int], first: str | None, cast: int, most: int, empanelled: int) -> Outcome:
    if cast and most == cast == empanelled:
        return Outcome("agreed", first, counts, "")
    if cast < empanelled:
        return Outcome("review", None, counts, f"{empanelled - cast} of {empanelled} gave no valid verdict")
    return Outcome("review", None, counts, "the verdicts differ")
