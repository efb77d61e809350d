"""From facts to evidence and observations.

Two steps. `LogFold` reads the facts of one log in their order and finds what happened: which call failed, which
message was answered. `Attribution` then says who it was, from the roster of the team, and makes rows. Both are
monotone: more facts can add rows, never take one back, so logs may be read in any order and in any number of parts.
Pure; what a failure means is asked from the source's own classifier.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, field

from a2a_trust import facts
from a2a_trust.agents import (
    CALL_UNANSWERED,
    MEMBER_REGISTERED,
    MODEL_SEEN,
    RESPONSE_UNATTRIBUTABLE,
    TOOL_UNATTRIBUTABLE,
)
from a2a_trust.model import ROW_VERSION, Details, Dimension, Profile, Role, Row
from a2a_trust.policy import (
    MESSAGE_SENT,
    RESPONSE_LATENCY,
    TASK_COMPLETED,
    TASK_REOPENED,
    TOOL_ERROR,
    TOOL_SUCCESS,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

RULES_VERSION = 1
"""Raised when the same facts would give other rows; logs are then read again from their start."""

Classifier = "Callable[[str, facts.Failure, bool], str | None]"
"""(tool, failure, approval refused) -> the reason why nobody is to blame, `None` where the agent is."""

PENDING, IN_PROGRESS, COMPLETED, DELETED = "pending", "in_progress", "completed", "deleted"
STATUSES = (PENDING, IN_PROGRESS, COMPLETED, DELETED)
PROVIDER_ERROR = "provider_error"


class Finding(Struct, kw_only=True, array_like=True):
    """Something that happened, before it is known who the actor is. Session and format stand in the log's header."""

    actor: str
    kind: str
    id: str
    time: int
    seq: int
    pos: int = 0
    dim: Dimension | None = None
    team: str = ""
    """The team it belongs to; empty for what an agent did in its own session."""
    peer: str = ""
    """Sender of a message without a team: it counts only between members of one team, which names the id."""
    waking: str = ""
    """Message that must be known as a waking one."""
    details: Details = Details()


class OpenCall(Struct, array_like=True):
    """A call without a result so far."""

    id: str
    tool: str
    time: int


class TaskState(Struct, array_like=True):
    """The newest revision known of a task."""

    revision: int
    status: str
    owner: str
    since: int


class PendingAnswer(Struct, array_like=True):
    """A message that its receiver has not answered yet."""

    message: str
    sender: str
    team: str
    time: int
    dated: bool
    retried: bool = False


class LogState(Struct, kw_only=True):
    """All that must be remembered of a log between two readings, and all that other logs of its team may ask."""

    header: facts.LogHeader
    reached: int = 0
    """Event time up to which the log was read, ms."""
    started: bool = False
    descriptor: facts.Descriptor | None = None
    model: str = ""
    models: int = 0
    """How often the model changed."""
    calls: dict[str, list[OpenCall]] = field(default_factory=dict)
    used: dict[str, int] = field(default_factory=dict)
    approvals: dict[str, str] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    answers: list[PendingAnswer] = field(default_factory=list)
    tasks: dict[str, TaskState] = field(default_factory=dict)
    roster: dict[str, Profile] = field(default_factory=dict)
    queued: dict[str, bool] = field(default_factory=dict)
    """Messages of the log's own team: whether they wake."""
    parked: list[Finding] = field(default_factory=list)
    """Findings whose actor is not known yet."""


class LogFold:
    """Folds the facts of one log into findings. `skipped` counts what no rule could use, by reason."""

    def __init__(self, state: LogState, classify: Callable[[str, facts.Failure, bool], str | None]) -> None:
        self.state = state
        self.findings: list[Finding] = []
        self.skipped: dict[str, int] = {}
        self._classify = classify
        self._session = state.header.session
        self._rules: dict[type[facts.Fact], Callable[..., None]] = {
            facts.Descriptor: self._descriptor,
            facts.Boundary: self._boundary,
            facts.Call: self._call,
            facts.Result: self._result,
            facts.ExitCode: self._exit_code,
            facts.ApprovalAsked: self._asked,
            facts.ApprovalDecided: self._decided,
            facts.Answer: self._answer,
            facts.Retry: self._retry,
            facts.Member: self._member,
            facts.TaskRevision: self._task,
            facts.MessageQueued: self._queued,
            facts.MessageDelivered: self._delivered,
            facts.MessageSeen: self._seen,
        }

    def feed(self, fact: facts.Fact) -> None:
        """Take the next fact of the log."""
        state = self.state
        state.reached = max(state.reached, fact.time)
        if not state.started and not (type(fact) is facts.Boundary and fact.resumed):
            state.started = True
            if type(fact) is facts.Descriptor:
                state.descriptor = fact
            self._find(fact, self._session, MEMBER_REGISTERED, f"member:{self._session}:{self._session}", pos=-1)
        self._rules[type(fact)](fact)

    def _skip(self, reason: str) -> None:
        self.skipped[reason] = self.skipped.get(reason, 0) + 1

    def _find(
        self,
        fact: facts.Fact,
        actor: str,
        kind: str,
        row_id: str,
        details: Details | None = None,
        *,
        dim: Dimension | None = None,
        pos: int = 0,
        team: str = "",
        peer: str = "",
        waking: str = "",
    ) -> None:
        self.findings.append(
            Finding(
                actor=actor,
                kind=kind,
                id=row_id,
                time=fact.time,
                seq=fact.seq,
                pos=pos,
                dim=dim,
                team=team,
                peer=peer,
                waking=waking,
                details=details or Details(),
            )
        )

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
                self._find(fact, self._session, CALL_UNANSWERED, self._call_id(call.id), details, pos=pos)
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
        self._find(fact, self._session, kind, self._call_id(fact.call), details, dim=dim)

    def _exit_code(self, fact: facts.ExitCode) -> None:
        waiting = self.state.calls.get(fact.call)
        tool = waiting[0].tool if waiting else None
        details = Details(tool=tool, call=fact.call, exit_code=fact.code, model=self.state.model or None)
        self._find(fact, self._session, "exit-code", f"exit:{self._session}:{fact.call}", details, pos=1)

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
            self._find(
                fact,
                fact.sender,
                MESSAGE_SENT,
                "",
                details,
                dim=Dimension.COMMUNICATION,
                peer=fact.sender,
            )
        self.state.answers.append(PendingAnswer(fact.message, fact.sender, fact.team, fact.time, fact.dated))

    def _answer(self, fact: facts.Answer) -> None:
        state = self.state
        if fact.model and fact.model != state.model:
            state.model = fact.model
            state.models += 1
            row_id = f"model:{self._session}:{state.models}"
            self._find(fact, self._session, MODEL_SEEN, row_id, Details(model=fact.model), pos=-1)
        for pos, answer in enumerate(state.answers):
            if not (fact.dated and answer.dated):
                self._skip("latency-undated")
                continue
            details = Details(
                message=answer.message,
                sender=answer.sender,
                ms=fact.time - answer.time,
                model=state.model or None,
                reason=PROVIDER_ERROR if answer.retried else None,
            )
            self._find(
                fact,
                self._session,
                RESPONSE_UNATTRIBUTABLE if answer.retried else RESPONSE_LATENCY,
                f"lat:{self._session}:{answer.message}",
                details,
                dim=None if answer.retried else Dimension.COMMUNICATION,
                pos=pos,
                team=answer.team,
                waking=answer.message if answer.team else "",
            )
        state.answers.clear()

    def _queued(self, fact: facts.MessageQueued) -> None:
        if fact.message in self.state.queued:
            self._skip("message-repeated")
            return
        self.state.queued[fact.message] = fact.waking
        details = Details(message=fact.message, sender=fact.sender, target=fact.target)
        row_id = f"msg:{self._session}:{fact.message}"
        self._find_in_team(fact, fact.sender, MESSAGE_SENT, row_id, details, Dimension.COMMUNICATION)

    def _delivered(self, fact: facts.MessageDelivered) -> None:
        row_id = f"delivered:{self._session}:{fact.message}"
        self._find_in_team(fact, fact.target, "message-delivered", row_id, Details(message=fact.message))

    # ------------------------------------------------------------------ the team of this log

    def _find_in_team(
        self,
        fact: facts.Fact,
        actor: str,
        kind: str,
        row_id: str,
        details: Details,
        dim: Dimension | None = None,
        pos: int = 0,
    ) -> None:
        self._find(fact, actor, kind, row_id, details, dim=dim, pos=pos, team=self._session)

    def _member(self, fact: facts.Member) -> None:
        roster = self.state.roster
        if fact.member not in roster:
            profile = Profile(
                name=fact.name, description=fact.description, provider=fact.provider, context=fact.context
            )
            roster[fact.member] = profile
            row_id = f"member:{self._session}:{fact.member}"
            self._find_in_team(fact, fact.member, MEMBER_REGISTERED, row_id, Details(profile=profile))
        if fact.failed:
            row_id = f"spawn:{self._session}:{fact.member}"
            self._find_in_team(fact, fact.member, "spawn-failed", row_id, Details(), pos=1)

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
        details = Details(task=fact.task, revision=fact.revision)
        match (before.status, fact.status):
            case (old, new) if old != COMPLETED and new == COMPLETED:
                if not fact.owner:
                    self._skip("completion-without-owner")
                    return
                details = msgspec.structs.replace(details, owner=fact.owner, since=since)
                self._find_both(fact, fact.owner, TASK_COMPLETED, row_id, details)
            case (old, new) if old == COMPLETED and new in (PENDING, IN_PROGRESS):
                if before.owner:
                    self._find_both(fact, before.owner, TASK_REOPENED, row_id, details)
            case (old, new) if old == IN_PROGRESS and new == PENDING and before.owner:
                self._find_in_team(fact, before.owner, "task-released", row_id, details)
            case (old, new) if old != DELETED and new == DELETED and (fact.owner or before.owner):
                self._find_in_team(fact, fact.owner or before.owner, "task-deleted", row_id, details)
            case _:
                pass

    def _find_both(self, fact: facts.Fact, actor: str, kind: str, row_id: str, details: Details) -> None:
        """Find evidence on both dimensions that finished work speaks of."""
        for pos, dim in enumerate((Dimension.COMPETENCE, Dimension.RELIABILITY)):
            self._find_in_team(fact, actor, kind, f"{row_id}:{dim}", details, dim, pos)


class Identity(Struct, frozen=True):
    """Who an actor is: its profile, and the team in which it acted."""

    profile: Profile
    team: str


class Attribution:
    """Says who the actors of findings are, over the logs read so far."""

    def __init__(self, logs: Mapping[str, LogState]) -> None:
        self._logs = logs

    def identify(self, log: LogState) -> Identity | None:
        """Return who the agent of a log is, `None` while that cannot be known yet."""
        header = log.header
        if not header.subagent:
            return Identity(Profile(name=header.preset or "main", context="root", role=Role.MAIN), header.session)
        descriptor = log.descriptor
        if not (descriptor and descriptor.one_shot):
            parent = self._logs.get(header.parent)
            if parent is None:
                return None
            if header.session in parent.roster:
                return Identity(parent.roster[header.session], header.parent)
            if parent.reached <= header.created:
                return None
        provider = descriptor.provider if descriptor else ""
        context = "fork" if header.seeded or provider == "fork" else "fresh"
        profile = Profile(name=header.preset or "subagent", provider=provider, context=context, role=Role.SUBAGENT)
        return Identity(profile, header.parent or header.session)

    def rows(self, log: LogState, findings: list[Finding]) -> tuple[list[Row], list[Finding]]:
        """Split findings of a log into rows and what must wait for another log."""
        rows: list[Row] = []
        waiting: list[Finding] = []
        own = self.identify(log) if log.started else None
        for finding in findings:
            identity = self._actor(log, finding, own)
            if identity is None:
                waiting.append(finding)
            elif identity is not _NOBODY:
                rows.append(_row(log.header, finding, identity))
        return rows, waiting

    def _actor(self, log: LogState, finding: Finding, own: Identity | None) -> Identity | None:
        """Return whom a finding is about, `None` to wait, `_NOBODY` where it can never count."""
        if finding.waking or finding.peer:
            team = self._team_of_message(log, finding, own)
            if team is None:
                return None
            if finding.peer:
                return self._member(team, finding.actor)
            return own if team.queued[finding.waking] else _NOBODY
        if finding.team:
            return self._member(log, finding.actor)
        if own is not None and own.profile.role is Role.TEAMMATE and finding.kind == MEMBER_REGISTERED:
            return _NOBODY
        return own

    def _member(self, lead: LogState, actor: str) -> Identity | None:
        """Return the Lead, or a member of its roster, by session id."""
        team = lead.header.session
        if actor == team:
            identity = self.identify(lead)
            return Identity(identity.profile, team) if identity else None
        profile = lead.roster.get(actor)
        return Identity(profile, team) if profile else None

    def _team_of_message(self, log: LogState, finding: Finding, own: Identity | None) -> LogState | None:
        """Return the log of the Lead in whose team a received message was sent, `None` while unknown."""
        if own is None:
            return None
        leads = [log]
        if own.profile.role is Role.TEAMMATE:
            parent = self._logs.get(log.header.parent)
            leads += [parent] if parent is not None else []
        for lead in leads:
            session = lead.header.session
            if finding.waking and finding.team == session and finding.waking in lead.queued:
                return lead
            if finding.peer and finding.peer != log.header.session:
                if finding.peer in lead.roster or (finding.peer == session and lead is not log):
                    return lead
        return None


_NOBODY = Identity(Profile(name=""), "")


def _row(header: facts.LogHeader, finding: Finding, identity: Identity) -> Row:
    details, profile = finding.details, identity.profile
    details = msgspec.structs.replace(
        details,
        role=profile.role,
        profile=profile if finding.kind == MEMBER_REGISTERED else None,
        project=header.cwd or None,
        source=header.source,
        rules=RULES_VERSION,
    )
    return Row(
        v=ROW_VERSION,
        id=finding.id or f"msg:{identity.team}:{details.message}",
        time=finding.time,
        session=header.session,
        gen=header.gen,
        seq=finding.seq,
        pos=finding.pos,
        team_id=identity.team,
        kind=finding.kind,
        subject=profile.fingerprint,
        subject_name=profile.name,
        dim=finding.dim,
        evidence=details,
    )
