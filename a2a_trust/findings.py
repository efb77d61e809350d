"""From the facts of one log to findings: which call failed, which task was done, which message was answered.

The first half of attribution; who the actors are is said in `attribution`. Facts are read in the order of their log,
and the rules are monotone: more facts add findings and never take one back, so a log may be read in any number of
parts. Pure; what a failure means is asked from the source's own classifier.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from a2a_trust import facts
from a2a_trust.agents import (
    CALL_UNANSWERED,
    MODEL_SEEN,
    RESPONSE_UNATTRIBUTABLE,
    TOOL_UNATTRIBUTABLE,
)
from a2a_trust.amendments import MEMBER_REGISTERED
from a2a_trust.log_state import (
    COMPLETED,
    DELETED,
    IN_PROGRESS,
    PENDING,
    Finding,
    LogState,
    OpenCall,
    PendingAnswer,
    TaskState,
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

PROVIDER_ERROR = "provider_error"
FINISHED_WORK: tuple[Dimension, ...] = (Dimension.COMPETENCE, Dimension.RELIABILITY)
"""The dimensions that a finished or reopened task speaks of."""


class LogFold:
    """Folds the facts of one log into findings. `skipped` counts what no rule could use, by reason."""

    def __init__(self, state: LogState, classify: Callable[[str, facts.Failure, bool], str | None]) -> None:
        self.state = state
        self.findings: list[Finding] = []
        self.skipped: dict[str, int] = {}
        self._classify = classify
        self._session = state.header.session

    def feed(self, fact: facts.Fact) -> None:
        """Take the next fact of the log."""
        state = self.state
        state.reached = max(state.reached, fact.time)
        if not state.started and not (type(fact) is facts.Boundary and fact.resumed):
            state.started = True
            if type(fact) is facts.Descriptor:
                state.descriptor = fact
            row_id = f"member:{self._session}:{self._session}"
            self._find(fact, Finding(actor=self._session, kind=MEMBER_REGISTERED, id=row_id, pos=-1))
        self._RULES[type(fact)](self, fact)

    def _skip(self, reason: str) -> None:
        self.skipped[reason] = self.skipped.get(reason, 0) + 1

    def _find(self, fact: facts.Fact, finding: Finding) -> None:
        finding.time, finding.gen, finding.seq = fact.time, self.state.header.gen, fact.seq
        self.findings.append(finding)

    def _find_own(self, fact: facts.Fact, what: tuple[str, str], details: Details, *, pos: int = 0) -> None:
        """Find an observation about the log's own agent; `what` is its kind and id."""
        kind, row_id = what
        self._find(fact, Finding(actor=self._session, kind=kind, id=row_id, pos=pos, details=details))

    def _find_in_team(
        self, fact: facts.Fact, actor: str, what: tuple[str, str], details: Details, dim: Dimension | None = None
    ) -> None:
        """Find something that a member of the log's own team did; `what` is its kind and id."""
        kind, row_id = what
        pos = DIMENSIONS.index(dim) if dim else 0
        finding = Finding(actor=actor, kind=kind, id=row_id, pos=pos, dim=dim, team=self._session, details=details)
        self._find(fact, finding)

    # ------------------------------------------------------------------ the session itself

    def _descriptor(self, fact: facts.Descriptor) -> None:
        if fact is not self.state.descriptor:
            self._skip("descriptor-late")

    def _boundary(self, fact: facts.Boundary) -> None:
        state = self.state
        pos = 0
        for open_calls in state.calls.values():
            for call in open_calls:
                details = Details(tool=call.tool, call=call.id, model=state.model or None)
                self._find_own(fact, (CALL_UNANSWERED, self._call_id(call.id)), details, pos=pos)
                pos += 1
        state.calls.clear()
        state.approvals.clear()
        state.refused.clear()
        state.answers.clear()

    def _retry(self, _fact: facts.Retry) -> None:
        for answer in self.state.answers:
            answer.retried = True

    # ------------------------------------------------------------------ tools

    def _call(self, fact: facts.Call) -> None:
        call = OpenCall(fact.call, fact.tool, fact.time)
        self.state.calls.setdefault(fact.call, []).append(call)

    def _call_id(self, call: str) -> str:
        """Name the row of a call that is over; a provider may use one id for several calls of a session."""
        count = self.state.used[call] = self.state.used.get(call, 0) + 1
        return f"tool:{self._session}:{call}" + (f"#{count}" if count > 1 else "")

    def _result(self, fact: facts.Result) -> None:
        state = self.state
        waiting = state.calls.get(fact.call)
        if not waiting:
            self._skip("result-repeated" if fact.call in state.used else "result-without-call")
            return
        call = waiting.pop(0)
        if not waiting:
            del state.calls[fact.call]
        refused = fact.call in state.refused
        if refused:
            state.refused.remove(fact.call)
        failure = fact.failure
        reason = self._classify(call.tool, failure, refused) if failure else None
        kind = TOOL_SUCCESS if failure is None else TOOL_UNATTRIBUTABLE if reason else TOOL_ERROR
        details = Details(
            tool=call.tool,
            call=call.id,
            ms=fact.time - call.time,
            model=state.model or None,
            reason=reason,
            code=(failure.code or None) if failure else None,
            text=(failure.text or None) if failure and kind == TOOL_ERROR and not failure.code else None,
        )
        dim = None if reason else Dimension.COMPETENCE
        row_id = self._call_id(fact.call)
        self._find(fact, Finding(actor=self._session, kind=kind, id=row_id, dim=dim, details=details))

    def _exit_code(self, fact: facts.ExitCode) -> None:
        waiting = self.state.calls.get(fact.call)
        tool = waiting[0].tool if waiting else None
        count = self.state.used.get(fact.call, 0) + bool(waiting)
        row_id = f"exit:{self._session}:{fact.call}" + (f"#{count}" if count > 1 else "")
        details = Details(tool=tool, call=fact.call, exit_code=fact.code, model=self.state.model or None)
        self._find_own(fact, ("exit-code", row_id), details, pos=1)

    def _asked(self, fact: facts.ApprovalAsked) -> None:
        self.state.approvals[fact.approval] = fact.call

    def _decided(self, fact: facts.ApprovalDecided) -> None:
        call = self.state.approvals.pop(fact.approval, "")
        if call and not fact.granted:
            self.state.refused.append(call)

    # ------------------------------------------------------------------ messages

    def _seen(self, fact: facts.MessageSeen) -> None:
        if not fact.team:
            details = Details(message=fact.message, sender=fact.sender, target=self._session)
            sent = Finding(
                actor=fact.sender,
                kind=MESSAGE_SENT,
                id="",
                dim=Dimension.COMMUNICATION,
                peer=fact.sender,
                details=details,
            )
            self._find(fact, sent)
        self.state.answers.append(PendingAnswer(fact.message, fact.sender, fact.team, fact.time, fact.dated))

    def _answer(self, fact: facts.Answer) -> None:
        state = self.state
        if fact.model and fact.model != state.model:
            state.model = fact.model
            state.models += 1
            row_id = f"model:{self._session}:{state.models}"
            self._find_own(fact, (MODEL_SEEN, row_id), Details(model=fact.model), pos=-1)
        for pos, answer in enumerate(state.answers):
            if not (fact.dated and answer.dated):
                self._skip("latency-undated")
                continue
            self._find(fact, self._latency(fact, answer, pos))
        state.answers.clear()

    def _latency(self, fact: facts.Answer, answer: PendingAnswer, pos: int) -> Finding:
        details = Details(
            message=answer.message,
            sender=answer.sender,
            ms=fact.time - answer.time,
            model=self.state.model or None,
            reason=PROVIDER_ERROR if answer.retried else None,
        )
        return Finding(
            actor=self._session,
            kind=RESPONSE_UNATTRIBUTABLE if answer.retried else RESPONSE_LATENCY,
            id=f"lat:{self._session}:{answer.message}",
            pos=pos,
            dim=None if answer.retried else Dimension.COMMUNICATION,
            team=answer.team,
            waking=answer.message if answer.team else "",
            details=details,
        )

    def _queued(self, fact: facts.MessageQueued) -> None:
        if fact.message in self.state.queued:
            self._skip("message-repeated")
            return
        self.state.queued[fact.message] = fact.waking
        details = Details(message=fact.message, sender=fact.sender, target=fact.target)
        row_id = f"msg:{self._session}:{fact.message}"
        self._find_in_team(fact, fact.sender, (MESSAGE_SENT, row_id), details, Dimension.COMMUNICATION)

    def _delivered(self, fact: facts.MessageDelivered) -> None:
        row_id = f"delivered:{self._session}:{fact.message}"
        self._find_in_team(fact, fact.target, ("message-delivered", row_id), Details(message=fact.message))

    # ------------------------------------------------------------------ the team of this log

    def _member(self, fact: facts.Member) -> None:
        roster = self.state.roster
        if fact.member not in roster:
            profile = Profile(
                name=fact.name, description=fact.description, provider=fact.provider, context=fact.context
            )
            roster[fact.member] = profile
            row_id = f"member:{self._session}:{fact.member}"
            self._find_in_team(fact, fact.member, (MEMBER_REGISTERED, row_id), Details(profile=profile))
        if fact.failed:
            row_id = f"spawn:{self._session}:{fact.member}"
            self._find_in_team(fact, fact.member, ("spawn-failed", row_id), Details())

    def _task(self, fact: facts.TaskRevision) -> None:
        known = self.state.tasks.get(fact.task)
        if known is not None and fact.revision <= known.revision:
            self._skip("task-revision-repeated")
            return
        follows = fact.revision == (known.revision + 1 if known else 1)
        before = known if known is not None and follows else TaskState(0, PENDING, "", fact.time)
        kept = bool(fact.owner) and fact.owner == before.owner
        since = before.since if kept else fact.time
        self.state.tasks[fact.task] = TaskState(fact.revision, fact.status, fact.owner, since)
        if not follows:
            self._skip("task-revision-gap")
            return
        self._transition(fact, before, since)

    def _transition(self, fact: facts.TaskRevision, before: TaskState, since: int) -> None:
        row_id = f"task:{self._session}:{fact.task}@{fact.revision}"
        old, new, owner = before.status, fact.status, before.owner
        kind, dims = "", FINISHED_WORK
        if new == COMPLETED and old != COMPLETED:
            kind, owner = TASK_COMPLETED, fact.owner
            if not owner:
                self._skip("completion-without-owner")
        elif old == COMPLETED and new in (PENDING, IN_PROGRESS):
            kind = TASK_REOPENED
        elif old == IN_PROGRESS and new == PENDING:
            kind, dims = "task-released", ()
        elif new == DELETED and old != DELETED:
            kind, dims, owner = "task-deleted", (), fact.owner or owner
        if not kind or not owner:
            return
        details = Details(
            task=fact.task, revision=fact.revision, owner=owner, since=since if kind == TASK_COMPLETED else None
        )
        for dim in dims:
            self._find_in_team(fact, owner, (kind, f"{row_id}:{dim}"), details, dim)
        if not dims:
            self._find_in_team(fact, owner, (kind, row_id), details)

    # Of the class: methods that an object holds of itself keep it, and its log, from being freed with its last user.
    _RULES: ClassVar[dict[type[facts.Fact], Callable[..., None]]] = {
        facts.Descriptor: _descriptor,
        facts.Boundary: _boundary,
        facts.Call: _call,
        facts.Result: _result,
        facts.ExitCode: _exit_code,
        facts.ApprovalAsked: _asked,
        facts.ApprovalDecided: _decided,
        facts.Answer: _answer,
        facts.Retry: _retry,
        facts.Member: _member,
        facts.TaskRevision: _task,
        facts.MessageQueued: _queued,
        facts.MessageDelivered: _delivered,
        facts.MessageSeen: _seen,
    }
