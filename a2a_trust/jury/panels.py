"""What one panel came to: an item under a condition, from the baseline to the last round."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from a2a_trust.jury import fold, measures
from a2a_trust.jury.measures import rounded, sorted_counts
from a2a_trust.sources.jury_events import Condition, PhaseClosed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from a2a_trust.jury.contracts import Verdict
    from a2a_trust.jury.fold import Course, Item
    from a2a_trust.sources.jury_events import RunOpened


class _Part(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A part of the summary; every key is always there."""


class Stage(_Part, frozen=True, kw_only=True):
    """Where a panel stood at one time: baseline, sealed, or after a round, positions kept where there was no newer."""

    stage: Literal["baseline", "sealed", "round"]
    round: int
    jurors: int
    mean: float | None
    """Probability of the item's first option, per cent."""
    polarization: float | None
    """Population standard deviation of it, points."""
    votes: dict[str, int]


class Panel(_Part, frozen=True, kw_only=True):
    """What one panel came to: an item under a condition."""

    item: str
    condition: Condition
    status: Literal["decided", "hung", "agreed", "review", "open"]
    outcome: str | None
    tally: dict[str, int]
    label: str | None
    correct: bool | None
    empanelled: int
    present: int
    stages: tuple[Stage, ...]
    consensus_gain: float | None
    """Polarization when sealed less that at the end."""
    volatility: float | None
    """Mean over jurors of the sum of their moves since the seal, points; `null` without rounds."""
    flips: int | None
    """Changes of vote since the seal, each counted; `null` without rounds."""
    brier: float | None
    """Mean over jurors of the squared error of the last position."""


def panel_of(opened: RunOpened, item: Item, condition: Condition) -> Panel:
    """Return what an item came to under a condition."""
    reached = item.outcome(condition)
    courses = fold.courses(opened, item, condition)
    stages = list(_stages(item, condition, courses))
    moved = any(course.moves for course in courses)
    sealed, last = (next((one for one in order if one.stage != "baseline"), None) for order in (stages, stages[::-1]))
    label = reached.label if reached else None
    finals = [course.final for course in courses if course.final is not None]
    forecasts = [one.probability / 100 for one in finals] if label else []
    held = [label == item.opened.options[0]] * len(forecasts)
    gain = None
    if moved and sealed and last and sealed.polarization is not None and last.polarization is not None:
        gain = rounded(sealed.polarization - last.polarization)
    return Panel(
        item=item.opened.item,
        condition=condition,
        status=reached.status if reached else "open",
        outcome=reached.outcome if reached else None,
        tally=reached.tally if reached else {},
        label=label,
        correct=reached.outcome == label if reached and reached.outcome and label else None,
        empanelled=len(courses),
        present=sum(course.sealed is not None for course in courses),
        stages=tuple(stages),
        consensus_gain=gain,
        volatility=rounded(measures.mean([_travelled(course) for course in courses])) if moved else None,
        flips=sum(_flips(course) for course in courses) if moved else None,
        brier=rounded(measures.brier(forecasts, held)),
    )


def _stages(item: Item, condition: Condition, courses: Sequence[Course]) -> Iterator[Stage]:
    baselines = [course.baseline for course in courses if course.baseline is not None]
    if baselines:
        yield _stage("baseline", 0, baselines)
    sealed = [course.sealed for course in courses if course.sealed is not None]
    if sealed:
        yield _stage("sealed", 0, sealed)
    rounds = {event.round for event in item.of(PhaseClosed) if event.phase == "round" and event.condition == condition}
    for number in sorted(rounds):
        yield _stage("round", number, [found for course in courses if (found := course.after(number)) is not None])


def _stage(name: Literal["baseline", "sealed", "round"], number: int, positions: Sequence[Verdict]) -> Stage:
    probabilities = [position.probability for position in positions]
    return Stage(
        stage=name,
        round=number,
        jurors=len(positions),
        mean=rounded(measures.mean(probabilities)),
        polarization=rounded(measures.polarization(probabilities)),
        votes=sorted_counts(Counter(position.vote for position in positions)),
    )


def _path(course: Course) -> list[Verdict]:
    start = [course.sealed] if course.sealed is not None else []
    return [*start, *(position for _, position in course.moves)]


def _travelled(course: Course) -> float:
    path = [position.probability for position in _path(course)]
    return sum(abs(after - before) for before, after in pairwise(path))


def _flips(course: Course) -> int:
    path = [position.vote for position in _path(course)]
    return sum(after != before for before, after in pairwise(path))
