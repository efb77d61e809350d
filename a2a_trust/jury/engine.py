"""The engine: a walk through the procedure of a preset, from the first event of a log to its last.

The walk is the same for a new run, for one that is gone on with, and for a log that is checked: each asks for its
events by key, and only the first two make calls. It writes the log and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

from a2a_trust.errors import JuryLogError, RunFolderError
from a2a_trust.jury import faulty, judges, panel, prompts, reference
from a2a_trust.jury.bench import Bench
from a2a_trust.jury.calls import Caller
from a2a_trust.jury.case_types import TribunalCase
from a2a_trust.jury.cases import Dataset
from a2a_trust.jury.empanel import (
    CONDITIONS,
    RunOptions,
    agents_of,
    case_of,
    empanel,
    fingerprints,
    planned_calls,
    prepare,
)
from a2a_trust.jury.faulty import FaultyProvider
from a2a_trust.jury.journal import DivergedError, Journal, LogEndError, read_events
from a2a_trust.jury.procedure import ProcedureError
from a2a_trust.jury.reference import ReferenceProvider
from a2a_trust.jury.tribunal import Tribunal
from a2a_trust.sources.jury_events import ItemOpened, RunEnded, RunOpened, key_of
from a2a_trust.text import safe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from a2a_trust.jury.case_types import Agent
    from a2a_trust.jury.cases import Case
    from a2a_trust.jury.judges import Trace
    from a2a_trust.jury.providers import Providers
    from a2a_trust.sources.jury_events import Event, Limits, Option

__all__ = ["CONDITIONS", "RunOptions", "empanel", "planned_calls", "prepare", "reference_providers", "replay", "run"]

_WHY_CHARS = 200


def reference_providers() -> Providers:
    """Return the test doubles, by the names under which a cast names them."""
    return {
        reference.NAME: ReferenceProvider(),
        faulty.NAME: FaultyProvider(),
        faulty.HUNG: FaultyProvider(blocking=True),
    }


class _Matter(Protocol):
    """What a walk needs beside the log: from a case that was read, or from a log that was written."""

    def label(self, item: str) -> Option | None:
        """Return what is known to be right."""

    def traces(self) -> Iterable[Trace]:
        """Yield the items of a data set."""


def run(
    journal: Journal,
    case: Case,
    providers: Providers,
    report: Callable[[Event], None] = lambda _: None,
) -> RunEnded:
    """Take a run to its end, and return the event that says how it ended.

    A juror who fails never ends it: what is missing is named. `report` is told each event of a call that is made.

    Raises:
        RunFolderError: The run of this log is about another case.
        JuryLogError: The log cannot be written, or holds something that this run would not have given.
        CaseError: The data set changed while it was read.
    """
    if case.sha256 != journal.opened.case:
        raise RunFolderError(
            f"{journal.folder}: holds a run about another case ({journal.opened.case[:12]}, and this one is"
            f" {case.sha256[:12]}); give the case that it began with, or choose another --output-dir"
        )
    return _walk(journal, _Read(case, agents_of(journal.opened.material)), Caller(journal, providers, report))


def replay(folder: Path) -> RunEnded | None:
    """Walk through a log again, asking nobody, and compare every event; nothing is needed but the log.

    Returns how it ended, `None` where it did not: then everything up to where it stops is as it should be.

    Raises:
        JuryLogError: A line is not as it was written, or is not what the run gives.
        RunFolderError: There is no run.
    """
    with Journal.replay(folder) as journal:
        _expect_own_words(journal)
        try:
            ended = _walk(journal, _Logged(folder), Caller(journal, {}))
        except LogEndError:
            ended = None
        except (ProcedureError, LookupError, msgspec.ValidationError) as error:
            # A log is data from a stranger: whoever forges one may open a run that no case and no options give.
            raise JuryLogError(
                f"{journal.path}: cannot be walked through: {safe(str(error), _WHY_CHARS)}; no run gives such a log"
            ) from None
        journal.finish()
    return ended


def _walk(journal: Journal, matter: _Matter, caller: Caller) -> RunEnded:
    bench = Bench(journal, caller)
    opened = journal.opened
    traces = 0
    if opened.preset == "judges":
        traces = judges.walk(bench, matter.traces())
    else:
        case = case_of(opened.material)
        if isinstance(case, TribunalCase):
            Tribunal(bench, case, matter.label(case.id)).walk()
        else:
            panel.walk(bench, case, matter.label(case.id))
    if journal.finished and traces != opened.traces:
        raise DivergedError(f"{journal.path}: line 1: `traces` is {opened.traces}, and the run has {traces}")
    ended = RunEnded(
        key=key_of("ended", journal.epoch),
        time=0,
        epoch=journal.epoch,
        finished=not bench.missed,
        reason=_reason(caller.calls, opened.limits) if bench.missed else "",
        missing=tuple(bench.missing),
        calls=caller.calls,
        failed=caller.failed,
        infrastructure=caller.infrastructure(),
    )
    journal.put(ended)
    journal.sync()
    return ended


def _reason(calls: int, limits: Limits) -> str:
    """Return why a run that missed a quorum is not finished."""
    spent = f", and the {calls} calls that the run may make are made" if calls >= limits.max_calls else ""
    return f"too few jurors were present{spent}"


class _Read:
    """A case that was read."""

    def __init__(self, case: Case, agents: Mapping[str, Agent]) -> None:
        self._case = case
        self._agents = agents

    def label(self, _item: str) -> Option | None:
        """Return the truth of a case."""
        if isinstance(self._case, Dataset) or self._case.case.truth is None:
            return None
        return self._case.case.truth.outcome

    def traces(self) -> Iterator[Trace]:
        """Read the data set."""
        if isinstance(self._case, Dataset):
            yield from judges.traces_of(self._case.traces(), self._agents)


class _Logged:
    """What a log says of its own case. Labels stand at the outcomes, where the bench finds them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def label(self, _item: str) -> None:
        """Return nothing: see above."""

    def traces(self) -> Iterator[Trace]:
        """Yield the items as they were opened."""
        for event in read_events(self._folder):
            if isinstance(event, ItemOpened):
                yield judges.Trace(event.item, event.texts, event.judged, None)


def _expect_own_words(journal: Journal) -> None:
    opened: RunOpened = journal.opened
    if opened.prompts != prompts.fingerprint():
        raise JuryLogError(
            f"{journal.path}: written by a2a-trust {opened.version}, whose prompts were worded otherwise, so that it"
            " cannot be walked through again by this version; check it with that one"
        )
    for name, value in zip(("key", "control", "hearing"), (key_of("run"), *fingerprints(opened)), strict=True):
        if getattr(opened, name) != value:
            raise DivergedError(f"{journal.path}: line 1: `{name}` is not what the rest of it gives; it was edited")
