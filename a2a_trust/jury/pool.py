"""Calls under way: at most so many at a time, each with a deadline of its own.

A provider that may block is called in a thread of our own, which is left behind at the deadline: nothing joins it, so
one that hangs holds up neither the run nor the end of the process. What it gives later is thrown away. A provider that
does not block is called in turn, in the order of the requests.
"""

from __future__ import annotations

import threading
from collections import deque
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

from a2a_trust.jury.contracts import MAX_WORDS
from a2a_trust.jury.jobs import Attempt, Fault, Job
from a2a_trust.jury.providers import Call, ProviderError, Reply
from a2a_trust.text import safe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from a2a_trust.jury.providers import Provider, Providers

ABANDONED_LIMIT = 128
"""Hung calls of one provider beyond which it is not called any more: each holds a thread."""
_SLICE = 0.25
"""Seconds of one wait: on some systems an interrupt is only seen between waits."""
_MODEL_CHARS = 200

Outcome: TypeAlias = "Reply | Fault"


class Task(NamedTuple):
    """One attempt at one job."""

    job: Job[object]
    place: int
    """Of the job, in the order of the requests."""
    attempt: Attempt
    call: Call
    allowed: int
    """Number of the last attempt that may be made."""


class _Done(NamedTuple):
    number: int
    outcome: Outcome
    at: float


class _Active(NamedTuple):
    task: Task
    thread: threading.Thread
    began: float


class Pool:
    """Makes calls. `settle` is told what each came to and returns the next attempt, if there is one."""

    def __init__(self, providers: Providers, concurrency: int, deadline: float) -> None:
        self._providers = providers
        self._concurrency, self._deadline = concurrency, deadline
        self._done: SimpleQueue[_Done] = SimpleQueue()
        self._active: dict[int, _Active] = {}
        self._waiting: deque[Task] = deque()
        self._number = 0
        self._abandoned: dict[str, list[threading.Thread]] = {}

    def run(
        self,
        tasks: Iterable[Task],
        admit: Callable[[Task], bool],
        settle: Callable[[Task, Outcome, int], Task | None],
    ) -> None:
        """Make all calls, those that follow from them, and no others: `admit` is asked just before each.

        `settle` gets the time that the call took, in ms. All of it, and `admit`, happens in the calling thread.
        """
        inline: deque[Task] = deque()
        for task in tasks:
            (self._waiting if self._blocks(task) else inline).append(task)
        try:
            while inline or self._waiting or self._active:
                self._fill(admit, settle)
                if inline:
                    task = inline.popleft()
                    following = self._inline(task, settle) if admit(task) else None
                    if following is not None:
                        inline.appendleft(following)
                self._collect(settle, wait=not inline)
        finally:
            # Whatever was interrupted: what is still under way belongs to nobody now.
            self._waiting.clear()
            self._active.clear()

    def _blocks(self, task: Task) -> bool:
        provider = self._providers.get(task.call.actor.provider)
        # Who does not say is not trusted with the run's own thread.
        return provider is not None and getattr(provider, "blocking", True)

    def _inline(self, task: Task, settle: Callable[[Task, Outcome, int], Task | None]) -> Task | None:
        began = monotonic()
        provider = self._providers.get(task.call.actor.provider)
        if provider is None:
            outcome: Outcome = Fault("provider_error", f"no provider is named {task.call.actor.provider!r}")
        else:
            outcome = _ask(provider, task, (KeyboardInterrupt, SystemExit))
        took = monotonic() - began
        return settle(task, outcome if took <= self._deadline else self._late(), _ms(took))

    def _fill(self, admit: Callable[[Task], bool], settle: Callable[[Task, Outcome, int], Task | None]) -> None:
        """Begin calls while there is room."""
        while self._waiting and len(self._active) < self._concurrency:
            task = self._waiting.popleft()
            if not admit(task):
                continue
            if self._hangs(task.call.actor.provider):
                words = f"not called: {ABANDONED_LIMIT} earlier calls to this provider still hang"
                self._next(settle(task, Fault("provider_error", words), 0))
                continue
            self._number += 1
            provider = self._providers[task.call.actor.provider]
            thread = threading.Thread(
                target=_work, args=(self._done, self._number, provider, task), name="jury-call", daemon=True
            )
            self._active[self._number] = _Active(task, thread, monotonic())
            thread.start()

    def _collect(self, settle: Callable[[Task, Outcome, int], Task | None], *, wait: bool) -> None:
        """Settle what has come back, then what is past its deadline; wait for the first of either if asked to."""
        while True:
            try:
                done = self._done.get(timeout=self._patience()) if wait and self._active else self._done.get_nowait()
            except Empty:
                break
            wait = False
            active = self._active.pop(done.number, None)
            if active is None:
                continue
            took = done.at - active.began
            outcome = done.outcome if took <= self._deadline else self._late()
            self._next(settle(active.task, outcome, _ms(took)))
        now = monotonic()
        for number, active in list(self._active.items()):
            if now - active.began > self._deadline and self._done.empty():
                del self._active[number]
                self._abandoned.setdefault(active.task.call.actor.provider, []).append(active.thread)
                self._next(settle(active.task, self._late(), _ms(now - active.began)))

    def _patience(self) -> float:
        first = min(active.began for active in self._active.values())
        return min(_SLICE, max(0.0, first + self._deadline - monotonic()))

    def _next(self, task: Task | None) -> None:
        if task is not None:
            self._waiting.appendleft(task)

    def _hangs(self, provider: str) -> bool:
        alive = [thread for thread in self._abandoned.get(provider, ()) if thread.is_alive()]
        self._abandoned[provider] = alive
        return len(alive) >= ABANDONED_LIMIT

    def _late(self) -> Fault:
        return Fault("timeout", f"no answer within {self._deadline:g} s")


def _work(done: SimpleQueue[_Done], number: int, provider: Provider, task: Task) -> None:
    outcome = _ask(provider, task)
    done.put(_Done(number, outcome, monotonic()))


def _ask(provider: Provider, task: Task, passing: tuple[type[BaseException], ...] = ()) -> Outcome:
    """Return what a provider gives; what it raises is a fault of the call, but for what is passed on.

    That is a wish to end the process, in the thread that can have it: in one of our own it is the provider's alone.
    """
    try:
        return _plain(task.job.invoke(provider, task.call))
    except passing:
        raise
    except BaseException as error:  # noqa: BLE001 - one juror's provider never ends the run
        return Fault("provider_error", _told(error))


def _plain(reply: object) -> Reply:
    """Return a reply that is one in all its parts. Raises `ProviderError`."""
    if not isinstance(reply, Reply):
        raise ProviderError(f"it gave a {type(reply).__name__}, not a reply")
    try:
        found = msgspec.convert(msgspec.structs.asdict(reply), Reply)
        return msgspec.structs.replace(
            found, provider=safe(found.provider, _MODEL_CHARS), model=safe(found.model, _MODEL_CHARS)
        )
    except msgspec.ValidationError as error:
        raise ProviderError(f"it gave a reply that is none: {error}") from None


def _told(error: BaseException) -> str:
    """Return what may stand in a log: the words of a `ProviderError`, of any other error only what and where it was.

    Its words may be those of a reply that could not be read, which no log holds.
    """
    if isinstance(error, ProviderError):
        return safe(str(error), MAX_WORDS) or type(error).__name__
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    where = f" in {last.tb_frame.f_code.co_name}()" if last is not None else ""
    return safe(f"{type(error).__name__}{where}", MAX_WORDS)


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
