"""What a run comes to for a script that waits for it: one exit code for each ending but the plain one."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from a2a_trust.jury.summary import Summary


class Ending(StrEnum):
    """Endings, the gravest first: of several that hold, the first is told."""

    UNFINISHED = "unfinished"
    MISSING = "missing"
    FALSE_ACCEPTS = "false-accepts"
    REVIEWS = "reviews"
    HUNG = "hung"
    DIFFERENT = "different"

    @property
    def exit_code(self) -> int:
        """The exit code of a command that ends with it."""
        return 40 + list(Ending).index(self)


def ending_of(summary: Summary, max_false_accepts: int | None = None) -> Ending | None:
    """Return how a run ended; `None` where everything was decided and nothing is missing.

    With `max_false_accepts`, more false accepts than that are an ending of their own.
    """
    false_accepts = summary.false_accepts.count if summary.false_accepts else 0
    if not summary.finished:
        return Ending.UNFINISHED
    if summary.missing.count:
        return Ending.MISSING
    if max_false_accepts is not None and false_accepts > max_false_accepts:
        return Ending.FALSE_ACCEPTS
    if summary.reviews.pending.count:
        return Ending.REVIEWS
    return Ending.HUNG if summary.counts.hung else None
