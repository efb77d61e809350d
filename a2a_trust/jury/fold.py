"""The log of a jury run, folded: the run as a whole, and its items one by one in the order in which they are done.

Every view, the check and the queue of reviews start here. The run's end and its resolutions stand at the end of the
log, so a view reads it twice: once for the run, once for the items. No more items are held than are open at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import Struct, field

from a2a_trust.errors import JuryLogError
from a2a_trust.jury.contracts import Position, Verdict
from a2a_trust.sources.jury_events import (
    Actor,
    Answered,
    Condition,
    Event,
    ItemOpened,
    OutcomeReached,
    Resolved,
    RunEnded,
    RunOpened,
    RunResumed,
    WentAbsent,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

E = TypeVar("E")

JURORS = ("juror", "foreperson")
_VERDICT = msgspec.json.Decoder(Verdict)
_POSITION = msgspec.json.Decoder(Position)


class Run(Struct, kw_only=True):
    """A run without its items."""

    opened: RunOpened
    ended: RunEnded | None = None
    """The last end; `None` while it goes on, and after a kill."""
    epochs: int = 1
    resolutions: dict[str, Resolved] = field(default_factory=dict)
    """By item."""
    head: str
    """Hash of the last line."""
    lines: int
    time: int
    """Of the last event, ms: the time of every view."""

    @property
    def finished(self) -> bool:
        """Whether it is over for good."""
        return self.ended is not None and self.ended.finished


class Item(Struct, kw_only=True):
    """An item and all events about it, in the order of the log."""

    opened: ItemOpened
    number: int
    """From 1, in the order in which items were opened."""
    events: list[Event] = field(default_factory=list)
    line: str = ""
    """Hash of the line of its last outcome; empty before there is one."""

    def of(self, kind: type[E]) -> list[E]:
        """Return its events of a kind."""
        return [event for event in self.events if isinstance(event, kind)]

    def outcome(self, condition: Condition) -> OutcomeReached | None:
        """Return what a condition came to."""
        return next((one for one in self.of(OutcomeReached) if one.condition == condition), None)

    def missing(self) -> list[str]:
        """Return the answers that nobody ever gave, `<item>/<condition>/<step>[-<n>]/<actor>`."""
        given = {event.key.removeprefix("answer/") for event in self.of(Answered)}
        asked = (event.key.removeprefix("absent/").rpartition("/")[0] for event in self.of(WentAbsent))
        return [key for key in dict.fromkeys(asked) if key not in given]


class Course(Struct, frozen=True, kw_only=True):
    """How one juror stood, from what it thought before it heard anything to the end of a condition."""

    actor: Actor
    baseline: Verdict | None
    sealed: Verdict | None
    moves: tuple[tuple[int, Verdict], ...]
    """(Round, position) after each update; none where it stood still, was absent, or was never addressed."""

    @property
    def final(self) -> Verdict | None:
        """Return the last position; the sealed verdict of one who never moved."""
        return self.moves[-1][1] if self.moves else self.sealed

    def after(self, number: int) -> Verdict | None:
        """Return the position at the end of a round, kept from earlier where it had none in it."""
        reached = [position for one, position in self.moves if one <= number]
        return reached[-1] if reached else self.sealed


class Reading:
    """One pass over the lines of a log: its items as each is done, and the run, which is whole when all are read."""

    def __init__(self, lines: Iterable[tuple[str, Event]]) -> None:
        """Read the first line; JuryLogError where it does not open a run."""
        self._lines = iter(lines)
        found, event = next(self._lines, ("", None))
        if not isinstance(event, RunOpened):
            what = f"line 1 holds {event.key!r}" if event else "the log holds no event"
            raise JuryLogError(f"{what}; expected the event that opens a run")
        self.run = Run(opened=event, head=found, lines=1, time=event.time)

    def items(self) -> Iterator[Item]:
        """Yield the items: those of a data set as each has its outcome, all others at the end, as opened.

        Only an item of a data set is over with its outcome; a tribunal's is announced afterwards, and has one for each
        condition. What never came to an outcome is yielded at the end as well.
        """
        items: dict[str, Item] = {}
        streaming, count = self.run.opened.preset == "judges", 0
        for found, event in self._lines:
            self._advance(found, event)
            if isinstance(event, RunOpened | RunEnded | RunResumed | Resolved):
                continue
            if isinstance(event, ItemOpened):
                count += 1
                items[event.item] = Item(opened=event, number=count)
                continue
            item = items.get(event.item)
            if item is None:
                raise JuryLogError(f"line {self.run.lines}: {event.key!r} is about an item that is not open")
            item.events.append(event)
            if isinstance(event, OutcomeReached):
                item.line = found
                if streaming:
                    yield items.pop(event.item)
        yield from items.values()

    def _advance(self, found: str, event: Event) -> None:
        run = self.run
        run.head, run.lines, run.time = found, run.lines + 1, event.time
        if isinstance(event, RunEnded):
            run.ended = event
        elif isinstance(event, RunResumed):
            run.ended = None
            run.epochs += 1
        elif isinstance(event, Resolved):
            run.resolutions[event.item] = event


def fold(lines: Iterable[tuple[str, Event]]) -> Iterator[Item]:
    """Yield the items of a log, see `Reading.items`."""
    return Reading(lines).items()


def jurors(opened: RunOpened, condition: Condition) -> list[Actor]:
    """Return who votes under a condition, in the order of the seats."""
    parts = ("judge",) if opened.preset == "judges" else JURORS
    return [
        actor
        for actor in opened.cast
        if actor.part in parts and (not actor.conditions or condition in actor.conditions)
    ]


def courses(run: RunOpened, item: Item, condition: Condition) -> list[Course]:
    """Return how each juror of a condition stood in it."""
    found: dict[str, Course] = {}
    given = [event for event in item.of(Answered) if event.condition in (None, condition)]
    for actor in jurors(run, condition):
        mine = [event for event in given if event.actor == actor.id]
        found[actor.id] = Course(
            actor=actor,
            baseline=_first(mine, "baseline"),
            sealed=_first(mine, "verdict"),
            moves=tuple((event.round, verdict_of(event)) for event in mine if event.step == "position"),
        )
    return list(found.values())


def _first(events: list[Answered], step: str) -> Verdict | None:
    return next((verdict_of(event) for event in events if event.step == step), None)


def verdict_of(event: Answered) -> Verdict:
    """Return the verdict that an event holds, of any step that asks for one; JuryLogError where it holds none."""
    try:
        return (_POSITION if event.step == "position" else _VERDICT).decode(event.content)
    except msgspec.DecodeError as error:
        raise JuryLogError(f"{event.key!r} holds no {event.step}: {error}") from None
