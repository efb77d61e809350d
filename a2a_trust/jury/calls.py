"""Asking: one answer for each request, from the log where it stands there, else from a provider.

An answer is logged as it arrives, together with what was cited in it, so that no call is ever made twice whose answer
is in the log. A failed attempt is logged too, and a run that is gone on with takes up at the next one.
"""

from __future__ import annotations

from collections import Counter
from itertools import count
from typing import TYPE_CHECKING, TypeVar

from a2a_trust.jury.jobs import (
    Asking,
    Attempt,
    Fault,
    Job,
    Opening,
    Request,
    Revealing,
    absence,
    call_of,
    failed,
    recheck,
    refusal,
)
from a2a_trust.jury.journal import DivergedError, LogEndError
from a2a_trust.jury.pool import Pool, Task
from a2a_trust.sources.jury_events import (
    PROVIDER_FAULTS,
    Answered,
    AttemptFailed,
    Cited,
    FaultCode,
    RequestRefused,
    SealOpened,
    WentAbsent,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from a2a_trust.jury.contracts import Answer
    from a2a_trust.jury.journal import Journal
    from a2a_trust.jury.pool import Outcome
    from a2a_trust.jury.providers import Providers
    from a2a_trust.sources.jury_events import Event

__all__ = ["Caller", "Opening", "Request", "infrastructure"]

T = TypeVar("T")

INFRASTRUCTURE_CALLS = 4
"""Calls that must fail alike, at least, before that is more than bad luck."""


def infrastructure(calls: int, faults: Mapping[FaultCode, int]) -> dict[str, int]:
    """Return the fault codes that struck at least half of the calls, and at least four: nobody's fault."""
    return {
        code: struck
        for code, struck in sorted(faults.items())
        if struck >= INFRASTRUCTURE_CALLS and struck * 2 >= calls
    }


class Caller:
    """Asks for answers, each once. Counts what stands in the log: `calls`, `failed` and `faults` by code."""

    def __init__(
        self, journal: Journal, providers: Providers, report: Callable[[Event], None] = lambda _: None
    ) -> None:
        """`report` is told each event of a call that is made, not of those that stand in the log already."""
        self._journal, self._report = journal, report
        self._limits, self._seed = journal.opened.limits, journal.opened.seed
        self._pool = Pool(providers, self._limits.concurrency, self._limits.deadline)
        self.calls = 0
        """Answers and failed attempts. To open a seal is no call, done or failed: nobody is asked for work."""
        self.faults: Counter[FaultCode] = Counter()
        self._asked: set[str] = set()
        self._struck: dict[FaultCode, set[str]] = {}
        """Seats by what befell them."""
        self._begun = 0
        """Calls that are logged or were begun."""

    @property
    def failed(self) -> int:
        """Calls that were not answered, or not usably."""
        return self.faults.total()

    def infrastructure(self) -> dict[str, int]:
        """Return the fault codes that struck at least half of the calls, and at least four, with how many.

        What struck a single seat, though others were asked too, is that seat's own.
        """
        alone = {code for code, seats in self._struck.items() if len(seats) == 1 < len(self._asked)}
        return infrastructure(self.calls, {code: n for code, n in self.faults.items() if code not in alone})

    def ask(self, requests: Sequence[Request]) -> list[Answer | None]:
        """Return the answers in the order of the requests; `None` for who gave none, as the log says why.

        Raises `DivergedError` where the log holds another answer than the request can have had, `LogEndError` in a
        replay of an unfinished run where the log has ended, `JuryLogError` where it cannot be written.
        """
        return self._get([Asking(request) for request in requests])

    def reveal(self, openings: Sequence[Opening]) -> list[SealOpened | None]:
        """Have seals opened; return what each turned out to hold, `None` for who did not open. Raises as `ask`."""
        return self._get([Revealing(opening) for opening in openings])

    def _get(self, jobs: Sequence[Job[T]]) -> list[T | None]:
        found: dict[int, Event] = {}
        tasks: list[Task] = []
        ended: LogEndError | None = None
        for place, job in enumerate(jobs):
            try:
                standing = self._standing(job, place)
            except LogEndError as error:
                # The others may have been answered before the log ended; they are compared as well.
                ended = error
                continue
            if isinstance(standing, Task):
                tasks.append(standing)
            elif standing is not None:
                found[place] = standing
        if ended is not None:
            raise ended
        self._pool.run(tasks, self._admit, lambda task, outcome, ms: self._settle(found, task, outcome, ms))
        return [job.value(found[place]) if place in found else None for place, job in enumerate(jobs)]

    def _standing(self, job: Job[T], place: int) -> Event | Task | None:
        """Take from the log what it holds of a job, and compare it.

        Return what it was answered with, the attempt that is to be made, or nothing where nobody will answer.
        """
        request, journal = job.request, self._journal
        keys = {job.answer_key, refusal(request, 0).key, *(request.key("absent", n) for n in range(journal.epoch + 1))}
        allowed, attempts, complaint = self._limits.max_attempts, 0, ""
        missed = journal.missed_quorum(request.item, request.condition) if request.step == "verdict" else []
        while True:
            ended, terminal = None, None
            try:
                terminal = journal.take_first(keys)
            except LogEndError as error:
                ended = error
            attempts, complaint = self._failures(job, attempts, allowed, complaint, _failures_before(terminal))
            if ended is not None:
                raise ended
            match terminal:
                case WentAbsent():
                    journal.same(terminal, absence(request, attempts, terminal.code, terminal.epoch))
                    if not any(terminal.epoch <= epoch for epoch in missed):
                        return None
                    keys.discard(terminal.key)
                    allowed = attempts + self._limits.max_attempts
                case RequestRefused():
                    journal.same(terminal, refusal(request, self._limits.max_calls))
                    return None
                case None:
                    return self._task(job, place, attempts + 1, allowed, complaint)
                case _:
                    attempt = self._attempt(request, attempts + 1, allowed, complaint)
                    self._compare(job, attempt, terminal)
                    return terminal

    def _failures(self, job: Job[T], attempts: int, allowed: int, complaint: str, until: int | None) -> tuple[int, str]:
        """Take the failed attempts that the log was read past, at most until the one numbered, and compare them."""
        request, journal = job.request, self._journal
        while until is None or attempts < until:
            logged = journal.take_passed(request.key("fault", attempts + 1))
            if not isinstance(logged, AttemptFailed):
                break
            attempts += 1
            for number in count():
                cited = journal.take_passed(request.key("citation", attempts, number))
                if not isinstance(cited, Cited):
                    break
                journal.same(cited, recheck(request, cited))
            attempt = self._attempt(request, attempts, allowed, complaint)._replace(ms=logged.ms)
            (expected,), _ = failed(request, attempt, Fault(logged.code, logged.words))
            if isinstance(expected, AttemptFailed):
                expected.reply = logged.reply
            journal.same(logged, expected)
            self._count(logged)
            self._begun += _spends(request)
            complaint = _complaint(Fault(logged.code, logged.words), complaint)
        return attempts, complaint

    def _compare(self, job: Job[T], attempt: Attempt, logged: Event) -> None:
        """Compare a logged answer, and what was cited in it, with what its content comes to."""
        judged = job.rebuilt(attempt, logged)
        if judged.fault is not None:
            raise DivergedError(f"{self._journal.path}: {logged.key!r} cannot have been accepted: {judged.fault.words}")
        self._journal.same(logged, judged.events[-1])
        self._journal.put_all(judged.events[:-1])
        self._count(logged)
        self._begun += _spends(job.request)

    def _attempt(self, request: Request, number: int, allowed: int, complaint: str) -> Attempt:
        return Attempt(number, number >= allowed, request.prompt.with_complaint(complaint), complaint)

    def _task(self, job: Job[T], place: int, number: int, allowed: int, complaint: str) -> Task:
        attempt = self._attempt(job.request, number, allowed, complaint)
        return Task(job, place, attempt, call_of(job.request, attempt, self._limits, self._seed), allowed)

    def _admit(self, task: Task) -> bool:
        """Tell whether a call may be made; the log says where not."""
        if not _spends(task.job.request):
            return True
        if self._begun >= self._limits.max_calls:
            self._log([refusal(task.job.request, self._limits.max_calls)])
            return False
        self._begun += 1
        return True

    def _settle(self, found: dict[int, Event], task: Task, outcome: Outcome, ms: int) -> Task | None:
        """Log what a call came to, and return the attempt after it, if there is one."""
        request, attempt = task.job.request, task.attempt._replace(ms=ms)
        judged = failed(request, attempt, outcome) if isinstance(outcome, Fault) else task.job.judge(attempt, outcome)
        events, fault = judged
        if fault is None:
            self._log(events)
            found[task.place] = events[-1]
            return None
        if attempt.final:
            self._log([*events, absence(request, attempt.number, fault.code, self._journal.epoch)])
            return None
        self._log(events)
        complaint = _complaint(fault, attempt.complaint)
        return self._task(task.job, task.place, attempt.number + 1, task.allowed, complaint)

    def _log(self, events: Sequence[Event]) -> None:
        for event in self._journal.put_all(events):
            self._count(event)
            self._report(event)

    def _count(self, event: Event) -> None:
        if not isinstance(event, Answered | AttemptFailed) or event.step == "open":
            return
        self.calls += 1
        self._asked.add(event.actor)
        if isinstance(event, AttemptFailed):
            self.faults[event.code] += 1
            self._struck.setdefault(event.code, set()).add(event.actor)


def _failures_before(terminal: Event | None) -> int | None:
    """Return how many attempts failed before what a job came to, where that says so."""
    match terminal:
        case WentAbsent():
            return terminal.attempts
        case Answered():
            return terminal.attempt - 1
        case _:
            return None


def _spends(request: Request) -> bool:
    """Tell whether a request is one of those that `max_calls` limits."""
    return request.step != "open"


def _complaint(fault: Fault, before: str) -> str:
    """Return what the next attempt is told: the validator's words, never those of a provider that failed."""
    return before if fault.code in PROVIDER_FAULTS else fault.words
