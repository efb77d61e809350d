"""From the facts of one log without sequence numbers to findings.

The counterpart of `findings.LogFold` for formats in which an event is known by an identity of its own, and in which a
copy of it may stand in any number of logs. Whatever a finding says is a function of the events that it names, so that
every copy gives the same; what only the place in a log could tell is either part of the finding's id or not said.
Monotone and pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import msgspec

from a2a_trust import facts
from a2a_trust.agents import (
    ANY_SESSION,
    CALL_UNANSWERED,
    MODEL_SEEN,
    RESPONSE_UNATTRIBUTABLE,
    TOOL_UNATTRIBUTABLE,
)
from a2a_trust.amendments import MEMBER_REGISTERED
from a2a_trust.findings import FINISHED_WORK, PROVIDER_ERROR
from a2a_trust.log_state import (
    COMPLETED,
    DELETED,
    IN_PROGRESS,
    PENDING,
    EventCall,
    EventMessage,
    EventState,
    EventTask,
    Finding,
    LogState,
)
from a2a_trust.model import DIMENSIONS, Details, Dimension, Profile
from a2a_trust.policy import (
    MESSAGE_SENT,
    RESPONSE_LATENCY,
    TASK_COMPLETED,
    TASK_REOPENED,
    TOOL_ERROR,
    TOOL_SUCCESS,
)

if TYPE_CHECKING:
    from collections.abc import Callable

LEAD = "team-lead"
"""Name of a team's lead on its board."""


class EventFold:
    """Folds the facts of one log into findings. `skipped` counts what no rule could use, by reason."""

    def __init__(self, state: LogState, classify: Callable[[str, facts.Failure, bool], str | None]) -> None:
        self.log = state
        self.findings: list[Finding] = []
        self.skipped: dict[str, int] = {}
        self._classify = classify
        self._state = state.events = state.events or EventState()

    def feed(self, fact: facts.Fact) -> None:
        """Take the next fact of the log."""
        log = self.log
        log.reached = max(log.reached, fact.time)
        if not log.started:
            log.started = True
            self._state.begun = fact.time
            if log.header.copied and not log.header.nobodys:
                self._find(fact, MEMBER_REGISTERED, f"member:{fact.event}", Details(), pos=-1)
        self._RULES[type(fact)](self, fact)

    def _skip(self, reason: str) -> None:
        self.skipped[reason] = self.skipped.get(reason, 0) + 1

    def _find(  # noqa: PLR0913 - the parts of a finding
        self,
        fact: facts.Fact,
        kind: str,
        row_id: str,
        details: Details,
        *,
        dim: Dimension | None = None,
        pos: int = 0,
        subject: Profile | None = None,
        holder: str = "",
    ) -> None:
        """Find something about the agent of the log, or about somebody else whom the log names."""
        header = self.log.header
        if fact.heard is not None:
            own = header.profile.model if header.profile and not subject else ""
            details = msgspec.structs.replace(details, heard=fact.heard, model=details.model or own or None)
        finding = Finding(
            actor=header.session,
            kind=kind,
            id=row_id,
            time=fact.time,
            seq=fact.seq,
            pos=pos,
            dim=dim,
            team=header.parent if subject or holder else "",
            details=details,
            event=fact.event if header.copied else "",
            subject=subject,
            holder=holder,
        )
        self.findings.append(finding)

    # ------------------------------------------------------------------ the session itself

    def _begun(self, fact: facts.Begun) -> None:
        if self.log.header.copied:
            return
        self._find(fact, MEMBER_REGISTERED, f"member:{self._name(fact)}", Details(), pos=-1)

    def _boundary(self, _fact: facts.Boundary) -> None:
        """Give up what is open. An unanswered call stands where it was made: copies may go on differently."""
        for name, waiting in self._state.calls.items():
            for call in waiting:
                made = facts.Call(call.seq, call.time, name, call.tool, event=call.event)
                details = Details(tool=call.tool, call=name, model=call.model or None)
                self._find(made, CALL_UNANSWERED, f"unanswered:{self._name(made)}", details, pos=1)
        self._state.calls.clear()
        self._state.answers.clear()

    def _name(self, fact: facts.Fact) -> str:
        """Name an event within all events, or within its session where only that makes it one."""
        return fact.event if self.log.header.copied else f"{self.log.header.session}:{fact.event}"

    def _retry(self, _fact: facts.Retry) -> None:
        for message in self._state.answers:
            message.retried = True

    # ------------------------------------------------------------------ tools

    def _call(self, fact: facts.Call) -> None:
        call = EventCall(fact.event, fact.tool, fact.time, fact.seq, fact.model)
        self._state.calls.setdefault(fact.call, []).append(call)

    def _result(self, fact: facts.Result) -> None:
        waiting = self._state.calls.get(fact.call)
        call = waiting.pop(0) if waiting else None
        if waiting == []:
            del self._state.calls[fact.call]
        if fact.tool:
            call = EventCall(fact.event, fact.tool, 0, fact.seq, fact.model)
        if call is None:
            self._skip("result-without-call")
            return
        failure = fact.failure
        reason = self._classify(call.tool, failure, False) if failure else None  # noqa: FBT003 - see Source.classify
        kind = TOOL_SUCCESS if failure is None else TOOL_UNATTRIBUTABLE if reason else TOOL_ERROR
        details = Details(
            tool=call.tool,
            call=fact.call or None,
            ms=_elapsed(call.time, fact.time) if fact.ms is None else fact.ms,
            model=call.model or None,
            reason=reason,
            code=(failure.code or None) if failure else None,
            text=(failure.text or None) if failure and kind == TOOL_ERROR and not failure.code else None,
        )
        dim = None if reason else Dimension.COMPETENCE
        self._find(fact, kind, f"tool:{self._name(fact)}", details, dim=dim)
        if kind == TOOL_SUCCESS:
            self._state.succeeded += 1
            self._state.work[call.tool] = self._state.succeeded

    def _exit_code(self, fact: facts.ExitCode) -> None:
        waiting = self._state.calls.get(fact.call)
        tool, model = (fact.tool, "") if fact.tool or not waiting else (waiting[0].tool, waiting[0].model)
        if not tool:
            return
        details = Details(tool=tool, call=fact.call, exit_code=fact.code, model=model or None)
        self._find(fact, "exit-code", f"exit:{self._name(fact)}", details, pos=1)

    # ------------------------------------------------------------------ messages

    def _seen(self, fact: facts.MessageSeen) -> None:
        if not fact.dated:
            self._skip("latency-undated")
            return
        self._state.answers.append(EventMessage(fact.message, fact.sender, fact.time))

    def _answer(self, fact: facts.Answer) -> None:
        log = self.log
        if fact.model and fact.model != log.model:
            log.model = fact.model
            self._find(fact, MODEL_SEEN, f"model:{self._name(fact)}", Details(model=fact.model), pos=-1)
        for pos, message in enumerate(self._state.answers):
            ms = _elapsed(message.time, fact.time) if fact.dated else None
            if ms is None:
                self._skip("latency-undated")
                continue
            details = Details(
                message=message.message,
                sender=message.sender,
                ms=ms,
                model=fact.model or None,
                reason=PROVIDER_ERROR if message.retried else None,
            )
            kind = RESPONSE_UNATTRIBUTABLE if message.retried else RESPONSE_LATENCY
            dim = None if message.retried else Dimension.COMMUNICATION
            row_id = f"lat:{message.message}:{self._name(fact)}"
            self._find(fact, kind, row_id, details, dim=dim, pos=pos)
        self._state.answers.clear()

    def _replied(self, fact: facts.Replied) -> None:
        kind = RESPONSE_UNATTRIBUTABLE if fact.reason else RESPONSE_LATENCY
        dim = None if fact.reason else Dimension.COMMUNICATION
        details = Details(message=fact.message, ms=fact.ms, reason=fact.reason or None)
        self._find(fact, kind, f"lat:{self._name(fact)}", details, dim=dim)

    def _sent(self, fact: facts.MessageSent) -> None:
        # Not the model: that of the last answer may be lost in a copy. The row of the call tells it.
        details = Details(message=fact.message, target=fact.target or None)
        row_id = f"msg:{self._name(fact)}:{fact.target}"
        self._find(fact, MESSAGE_SENT, row_id, details, dim=Dimension.COMMUNICATION)

    # ------------------------------------------------------------------ other agents

    def _introduced(self, fact: facts.Introduced) -> None:
        self._find(fact, MEMBER_REGISTERED, f"member:{self._name(fact)}", Details(), pos=-1, subject=fact.profile)

    def _spawned(self, fact: facts.Spawned) -> None:
        for name in fact.ids:
            self.log.roster.setdefault(name, fact.profile)
        if fact.name:
            self._state.members[fact.name] = fact.profile
        if fact.failed:
            self._find(fact, "spawn-failed", f"spawn:{self._name(fact)}", Details(), pos=2, subject=fact.profile)

    def _run(self, fact: facts.Run) -> None:
        kind = f"run-{fact.state}"
        details = Details(call=fact.call, ms=fact.ms, reason=fact.reason or None)
        self._find(fact, kind, f"{kind}:{self._name(fact)}", details, pos=2, subject=fact.profile)

    def _verdict(self, fact: facts.Verdict) -> None:
        details = Details(rating=fact.rating, ms=fact.ms, reason=fact.reason or None)
        row_id = f"{fact.about}:{self._name(fact)}"
        self._find(fact, fact.kind, row_id, details, dim=fact.dim, subject=fact.profile)

    # ------------------------------------------------------------------ tasks

    def _task_seen(self, fact: facts.TaskSeen) -> None:
        """Learn of a task what was done to it elsewhere."""
        task = self._state.tasks.setdefault(fact.task, EventTask(since=self._state.begun))
        if task.owner and fact.owner != task.owner:
            task.since, task.mark = fact.time, self._state.succeeded
        task.status, task.owner, task.lost = fact.status, fact.owner, False

    def _task(self, fact: facts.TaskChange) -> None:
        state = self._state
        if fact.since is not None:
            if fact.after != fact.before:
                self._transition(fact, EventTask(since=fact.since), (fact.before, fact.after), "")
            return
        task = state.tasks.get(fact.task)
        if fact.created:
            task = EventTask(owner=fact.owner or "", since=fact.time, mark=state.succeeded)
        elif task is None:
            # Before the first event of a log that begins in mid-session anybody may have become the owner.
            task = EventTask(fact.before or PENDING, since=state.begun, lost=self.log.header.headless)
        elif fact.before not in ("", task.status) and not task.owner:
            # Somebody else has changed it, and may have made it their own.
            task.lost = True
        state.tasks[fact.task] = task
        old, new, was = fact.before or task.status, fact.after or fact.before or task.status, task.owner
        known = self._hand_over(task, fact, old, new)
        task.status = new
        if new == old:
            return
        if known:
            self._transition(fact, task, (old, new), was)
        else:
            self._skip("task-owner-unknown")

    def _hand_over(self, task: EventTask, fact: facts.TaskChange, old: str, new: str) -> bool:
        """Note whose a task is with a change; tell whether it is known whose it was when it changed."""
        known = not task.lost or (fact.owner is not None and new == COMPLETED)
        if fact.owner is not None and (fact.owner != task.owner or task.lost):
            task.owner, task.lost = fact.owner, False
            task.since, task.mark = fact.time, self._state.succeeded
        elif fact.board and new == COMPLETED and not (task.owner or self.log.header.headless):
            # This log names nobody. Whoever did it may have had it for as long as this log knows of it.
            task.owner, task.lost, known = fact.board, False, True
        elif new == IN_PROGRESS and old != IN_PROGRESS and _is_own(task.owner, fact):
            task.since, task.mark = fact.time, self._state.succeeded
        return known

    def _transition(self, fact: facts.TaskChange, task: EventTask, statuses: tuple[str, str], was: str) -> None:
        kind, dims = _meaning(*statuses)
        if not kind:
            return
        subject, holder = self._owner(task.owner if kind == TASK_COMPLETED else was, fact)
        if holder.endswith("@"):
            self._skip("task-owner-unknown")
            return
        details = Details(task=fact.task)
        if kind == TASK_COMPLETED and (subject or holder):
            details = Details(task=fact.task, owner=ANY_SESSION, since=task.since)
        elif kind == TASK_COMPLETED and not self.log.header.copied:
            details = Details(task=fact.task, owner=self.log.header.session, since=task.since)
        elif kind == TASK_COMPLETED:
            work = sorted(tool for tool, number in self._state.work.items() if number > task.mark)
            details = Details(task=fact.task, since=task.since, work=tuple(work))
        row_id = f"task:{self._name(fact)}"
        for dim in dims:
            pos = DIMENSIONS.index(dim)
            self._find(fact, kind, f"{row_id}:{dim}", details, dim=dim, pos=pos, subject=subject, holder=holder)
        if not dims:
            self._find(fact, kind, row_id, details, subject=subject, holder=holder)

    def _owner(self, name: str, fact: facts.TaskChange) -> tuple[Profile | None, str]:
        """Return who an owner is, or the id under which another log says so; neither for the log's own agent."""
        if _is_own(name, fact):
            return None, ""
        if name in self._state.members:
            return self._state.members[name], ""
        team = fact.actor.partition("@")[2]
        return None, f"{self.log.header.source}/agent/{name}@{team}"

    # Of the class: methods that an object holds of itself keep it, and its log, from being freed with its last user.
    _RULES: ClassVar[dict[type[facts.Fact], Callable[..., None]]] = {
        facts.Begun: _begun,
        facts.Boundary: _boundary,
        facts.Call: _call,
        facts.Result: _result,
        facts.ExitCode: _exit_code,
        facts.Answer: _answer,
        facts.Retry: _retry,
        facts.MessageSeen: _seen,
        facts.MessageSent: _sent,
        facts.Introduced: _introduced,
        facts.Spawned: _spawned,
        facts.Run: _run,
        facts.TaskChange: _task,
        facts.TaskSeen: _task_seen,
        facts.Verdict: _verdict,
        facts.Replied: _replied,
    }


def _is_own(name: str, fact: facts.TaskChange) -> bool:
    """Tell whether a name on the board is that of the agent who changed a task."""
    return name in ("", fact.actor.partition("@")[0] or LEAD)


def _meaning(old: str, new: str) -> tuple[str, tuple[Dimension, ...]]:
    """Return the kind of a change of a task's status, empty where it means nothing, and the dimensions it speaks of."""
    if new == COMPLETED:
        return TASK_COMPLETED, FINISHED_WORK
    if old == COMPLETED and new in (PENDING, IN_PROGRESS):
        return TASK_REOPENED, FINISHED_WORK
    if old == IN_PROGRESS and new == PENDING:
        return "task-released", ()
    return ("task-deleted" if new == DELETED else "", ())


def _elapsed(start: int, end: int) -> int | None:
    """Return the ms between two events, `None` where one is undated or the clock ran backwards."""
    return end - start if 0 < start <= end else None
