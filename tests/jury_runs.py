"""Runs of the engine for tests: one call from a case to the events of its log."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from a2a_trust.jury import cases, engine
from a2a_trust.jury.journal import Journal, read_events
from a2a_trust.jury.providers import Call, Provider, Reply
from a2a_trust.sources.jury_events import (
    NO_HASH,
    Actor,
    Event,
    QuorumMissed,
    RunEnded,
    RunOpened,
    RunResumed,
    Trust,
    WentAbsent,
    canonical,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from a2a_trust.jury.providers import Providers
    from a2a_trust.sources.jury_events import Preset

NO_TRUST = Trust(mode="off")
CASES: dict[Preset, str] = {"tribunal": "cold-store", "panel": "night-desk", "judges": "trajectories"}


class Recorder:
    """A provider that passes calls on and keeps them."""

    def __init__(self, inner: Provider) -> None:
        self.blocking = inner.blocking
        self.calls: list[Call] = []
        self._inner = inner

    def answer(self, call: Call) -> Reply:
        """Pass a call on."""
        self.calls.append(call)
        return self._inner.answer(call)

    def reveal(self, call: Call, sealed: bytes) -> bytes:
        """Pass a call on."""
        return self._inner.reveal(call, sealed)


class Authored:
    """A provider whose answers a function writes, for every step, as JSON."""

    blocking = False

    def __init__(self, write: Callable[[Call], dict[str, Any]]) -> None:
        self.calls: list[Call] = []
        self._write = write

    def answer(self, call: Call) -> Reply:
        """Return what the function writes."""
        self.calls.append(call)
        return Reply(text=json.dumps(self._write(call)))

    def reveal(self, call: Call, sealed: bytes) -> bytes:  # noqa: ARG002 - honest
        """Return what was sealed."""
        return sealed


def opened(preset: Preset, source: str | Path | None = None, trust: Trust = NO_TRUST, **options: Any) -> RunOpened:  # noqa: ANN401 - fields of the options
    """The first event of a run that is not begun."""
    case = cases.load(source or CASES[preset], preset)
    return engine.prepare(case, engine.RunOptions(preset=preset, **options), trust)


def run(
    folder: Path,
    preset: Preset,
    source: str | Path | None = None,
    *,
    providers: Providers | None = None,
    trust: Trust = NO_TRUST,
    **options: Any,  # noqa: ANN401 - fields of the options
) -> RunEnded:
    """Run a case of the package, or another one, to its end."""
    case = cases.load(source or CASES[preset], preset)
    first = engine.prepare(case, engine.RunOptions(preset=preset, **options), trust)
    with Journal.create(folder, first) as journal:
        return engine.run(journal, case, providers or engine.reference_providers())


def resume(
    folder: Path, preset: Preset, source: str | Path | None = None, providers: Providers | None = None
) -> RunEnded:
    """Go on with a run."""
    case = cases.load(source or CASES[preset], preset)
    with Journal.resume(folder) as journal:
        return engine.run(journal, case, providers or engine.reference_providers())


def events(folder: Path) -> list[Event]:
    """The events of a run's log."""
    return list(read_events(folder))


def told(log: Sequence[Event]) -> list[bytes]:
    """What a log says, but for times, the id of the run, and how often it was gone on with."""
    return [canonical(_timeless(event)) for event in log if not isinstance(event, RunResumed)]


def _timeless(event: Event) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(canonical(event))
    found["time"] = 0
    found.pop("ms", None)
    if isinstance(event, RunOpened):
        found["run"] = ""
        found["hearing"] = NO_HASH if not all(actor.fixture for actor in event.cast) else event.hearing
    if isinstance(event, RunEnded | WentAbsent | QuorumMissed):
        found["key"] = found["key"].rpartition("/")[0]
        found.pop("epoch", None)
    return found


def seats(log: Sequence[Event]) -> dict[str, Actor]:
    """Who takes part, by seat."""
    first = log[0]
    assert isinstance(first, RunOpened)
    return {actor.id: actor for actor in first.cast}


def log_of(folder: Path, preset: Preset, **options: Any) -> list[Event]:  # noqa: ANN401 - fields of the options
    """The events of a run that is made for this."""
    run(folder, preset, **options)
    return events(folder)


def of(log: Sequence[Event], kind: type[Any]) -> list[Any]:
    """The events of a kind."""
    return [event for event in log if isinstance(event, kind)]
