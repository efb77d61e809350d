"""How far a run is, told on standard error: a line for each phase, or for each call, never more than one can read."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from a2a_trust.sources.jury_events import Answered, AttemptFailed, SealOpened, WentAbsent
from a2a_trust.text import safe

if TYPE_CHECKING:
    from typing import TextIO

    from a2a_trust.sources.jury_events import Event, RunOpened

PAUSE_S = 2.0
"""Between two lines about a data set."""
_PHASES = {
    "statement": "the record is built",
    "baseline": "positions before the hearing",
    "verdict": "verdicts are sealed",
    "open": "seals are opened",
    "address": "round",
    "position": "round",
    "ballot": "ballots",
    "announcement": "the outcome is announced",
}


class Progress:
    """Tells how far a run is. `verbosity`: 0 nothing, 1 each phase, 2 each call."""

    def __init__(self, verbosity: int, stream: TextIO | None = None) -> None:
        """Begin the clock."""
        self._verbosity = verbosity
        self._stream = stream or sys.stderr
        self._began = self._told = time.monotonic()
        self._phase, self._many = "", False
        self._traces = self._verdicts = self._judges = 0

    def begun(self, opened: RunOpened) -> None:
        """Tell that calls begin."""
        self._traces, self._judges = opened.traces, len(opened.cast)
        self._many = opened.preset == "panel"
        what = f"{opened.traces} traces" if opened.traces else ", ".join(opened.conditions)
        self._tell(f"{opened.preset} {safe(opened.title)}: {what}, {len(opened.cast)} take part")

    def event(self, event: Event) -> None:
        """Tell of a call that was made."""
        if self._traces:
            self._count(event)
        elif isinstance(event, Answered | SealOpened):
            self._enter(event)
        if self._verbosity > 1:
            self._call(event)

    def _count(self, event: Event) -> None:
        self._verdicts += isinstance(event, Answered | WentAbsent)
        now = time.monotonic()
        if now - self._told >= PAUSE_S:
            self._told = now
            self._tell(f"{self._verdicts} of {self._traces * self._judges} verdicts")

    def _enter(self, event: Answered | SealOpened) -> None:
        step = event.step if isinstance(event, Answered) else "open"
        number = event.round if isinstance(event, Answered) else 0
        condition = event.condition if isinstance(event, Answered) else None
        phase = _PHASES[step] + (f" {number}" if number else "")
        named = f"{condition}: {phase}" if condition else phase
        if self._many:
            named = f"{safe(event.item)}: {named}"
        if named != self._phase:
            self._phase = named
            self._tell(named)

    def _call(self, event: Event) -> None:
        match event:
            case Answered():
                tries = f", attempt {event.attempt}" if event.attempt > 1 else ""
                self._tell(f"  {safe(event.actor)} {event.step} of {safe(event.item)}: {event.ms} ms{tries}")
            case AttemptFailed():
                self._tell(
                    f"  {safe(event.actor)} {event.step} of {safe(event.item)}: {event.code}: {safe(event.words, 200)}"
                )
            case WentAbsent():
                self._tell(f"  {safe(event.actor)} {event.step} of {safe(event.item)}: absent after {event.attempts}")
            case _:
                pass

    def _tell(self, text: str) -> None:
        if self._verbosity:
            print(f"{time.monotonic() - self._began:7.1f} s  {text}", file=self._stream, flush=True)
