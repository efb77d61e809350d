"""One team of a made-up corpus: a Lead, its teammates, their tasks and messages, each agent with a log of its own.

A team depends on the seed and on its number alone, so that teams can be made in any order and in several processes.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import zstandard
from corpus_log import AgentLog, LogFile, new_id
from corpus_text import pools_of, rng

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from corpus_text import Pools

FILE_NAMES: Final = {"v0": "session.jsonl.zstd", "v4": "session.v4.jsonl.zstd"}
ROLES: Final = (
    "researcher", "implementer", "reviewer", "tester", "documenter", "refactorer", "debugger", "planner",
    "integrator", "security-auditor", "benchmarker", "translator", "release-manager", "data-cleaner",
)  # fmt: skip
COUNTS: Final = (
    "sessions", "lines", "logical", "frames", "raw", "comp", "members", "tool_calls", "tool_errors",
    "tasks_completed", "messages", "fork_members", "torn", "lead_tool_calls",
)  # fmt: skip

START_MS: Final = 1_790_000_000_000
LEAD_ERROR_RATE: Final = 0.06
LEAST_ERROR_RATE, ERROR_RATE_SPAN = 0.01, 0.19
COMPLETED_SHARE: Final = 0.85
RELEASED_SHARE: Final = 0.93
"""Tasks up to this share, beginning where that of completed ones ends, are given back; the rest is deleted."""
SLOW_SHARE, VERY_SLOW_SHARE = 0.05, 0.06
SLOW_MS, VERY_SLOW_MS = (60_000, 500_000), (620_000, 1_500_000)
LEAST_LINES: Final = 40
SHORT_LEAD: Final = 200
"""Lines below which a Lead's first turn has one step less."""
MOST_TASKS: Final = 8


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What the sessions of a corpus are like."""

    events_per_session: int = 450
    """Mean stored lines a session."""
    solo: bool = False
    """Sessions without a team."""
    types: int = 200
    """Agent types that recur."""
    unique: float = 0.3
    """Share of the teammates whose description no other has."""
    fork: float = 0.1
    """Share of the teammates that are forks: their logs begin with a copy of the Lead's."""
    torn: float = 0.0
    """Share of the logs whose last frame is cut."""
    workspaces: int = 12
    stagger_ms: int = 240_000
    """Time between the starts of two teams; the smaller, the more they overlap."""
    format: str = "v0"


class _Scale(NamedTuple):
    """How many lines one thing takes; the stream of a v4 log is not lines."""

    step: int
    task: int
    message: int
    tail: int
    """Lines to stop before the budget is used up."""


_SCALES: Final = {"v0": _Scale(43, 250, 300, 45), "v4": _Scale(6, 36, 43, 8)}


class _Member(NamedTuple):
    """A teammate as it is planned."""

    id: str
    name: str
    description: str
    forked: bool
    budget: int
    start: int
    duration: int

    @property
    def provider(self) -> str:
        return "fork" if self.forked else "spawn"

    @property
    def context(self) -> str:
        return "fork" if self.forked else "fresh"

    @property
    def error_rate(self) -> float:
        """Return how often its calls fail: a property of the type, so that types can be told apart."""
        digest = hashlib.sha256((self.name + self.description).encode()).hexdigest()
        return LEAST_ERROR_RATE + ERROR_RATE_SPAN * (int(digest[:6], 16) / 0xFFFFFF) ** 2


class _Mail(NamedTuple):
    """A message on its way."""

    time: int
    id: str
    sender: str
    sender_name: str
    body: str
    lane: str


class _BoardEvent(NamedTuple):
    """What the Lead's log will say of the team, and when."""

    time: int
    kind: str
    data: str


class Team:
    """Writes the logs of one team."""

    def __init__(self, root: Path, seed: str, number: int, shape: Shape) -> None:
        self.counts = dict.fromkeys(COUNTS, 0)
        self._pools: Pools = pools_of(seed)
        self._numbers = rng(f"{seed}/team/{number}")
        self._seed = seed
        self._number = number
        self._shape = shape
        self._v4 = shape.format == "v4"
        self._scale = _SCALES[shape.format]
        self._compressor = zstandard.ZstdCompressor(level=3, write_checksum=True, write_content_size=False)
        self._folder = root / f"--home-user-proj-{number % shape.workspaces}--"
        start = START_MS + number * shape.stagger_ms + self._numbers.randint(0, 5000)
        self._lead_id = f"session-{new_id(self._numbers)}"
        self._team = f'"version":{2 if self._v4 else 1},"teamId":"{self._lead_id}"'
        self._member_count = 0 if shape.solo else self._numbers.randint(2, 5)
        self._lead = self._open(self._lead_id, start, start)
        self._lead.error_rate = LEAD_ERROR_RATE
        self._board: list[_BoardEvent] = []
        self._mail: dict[str, list[_Mail]] = {}

    def write(self) -> dict[str, int]:
        """Write all logs and return what is in them."""
        budget, seed_lines = self._begin_lead()
        seed_events = self._lead.seq
        members = self._plan_members()
        self._plan_tasks(members)
        self._plan_messages(members)
        self._board.sort(key=lambda event: event.time)
        for mail in self._mail.values():
            mail.sort()
        last = 0
        for member in members:
            last = max(last, self._write_member(member, seed_lines, seed_events))
        self._end_lead(budget, max((member.start for member in members), default=0), last)
        return self.counts

    # ------------------------------------------------------------------ logs

    def _open(self, session: str, created: int, clock: int, seed_events: int | None = None) -> AgentLog:
        """Begin a log; `seed_events` is how many events of it a fork inherits."""
        child = session != self._lead_id
        fields = [
            '"type":"session"',
            f'"version":{4 if self._v4 else 0}',
            f'"id":"{session}"',
            f'"createdAt":{created}',
            f'"cwd":"/home/user/proj-{self._number % self._shape.workspaces}"',
            *([f'"parentSession":"{self._lead_id}"'] if child else []),
            *([f'"isSeeded":{"false" if seed_events is None else "true"}'] if self._v4 else []),
            *([f'"seedLength":{seed_events}'] if seed_events is not None and not self._v4 else []),
            *(['"origin":"subagent"'] if child else []),
            f'"delegationDepth":{int(child)}',
        ]
        path = self._folder / session / FILE_NAMES[self._shape.format]
        file = LogFile(path, self._compressor, f"{{{','.join(fields)}}}")
        return AgentLog(file, self._pools, self._numbers, clock, v4=self._v4)

    def _close(self, agent: AgentLog) -> None:
        """End a log, perhaps with a torn frame, and count what it holds."""
        torn = self._numbers.random() * 0.9 + 0.05 if self._numbers.random() < self._shape.torn else 0.0
        file, counts = agent.file, self.counts
        file.close(agent.time, torn)
        counts["sessions"] += 1
        counts["lines"] += file.lines
        counts["logical"] += agent.events
        counts["frames"] += file.frames
        counts["raw"] += file.raw_bytes
        counts["comp"] += file.bytes
        counts["torn"] += bool(torn)

    def _draw_budget(self) -> int:
        """Draw how many lines a log should have."""
        return max(
            LEAST_LINES, int(self._shape.events_per_session * min(4.0, self._numbers.lognormvariate(-0.18, 0.6)))
        )

    # ------------------------------------------------------------------ the Lead

    def _begin_lead(self) -> tuple[int, list[str]]:
        """Write the Lead's first turn; return its budget and the lines that forks inherit."""
        lead = self._lead
        lead.captured = []
        lead.event("permission/preset", '{"preset":"workspace-write"}')
        lead.event("sandbox/mode", '{"mode":"workspace-write"}')
        lead.event("approval/policy", '{"policy":"ask"}')
        prompt = lead.prompt()
        lead.start_turn()
        lead.claim("next-turn")
        lead.request_header()
        budget = self._draw_budget()
        lead.work((prompt,))
        for _ in range(1 if budget < SHORT_LEAD and not self._v4 else 2):
            lead.work()
        lead.work(final=True)
        lead.end_turn()
        seed_lines, lead.captured = lead.captured, None
        return budget, seed_lines

    def _end_lead(self, budget: int, last_start: int, last_end: int) -> None:
        """Write the Lead's second turn, in which all that the team did comes in."""
        lead, lines = self._lead, budget - self._scale.tail
        lead.prompt()
        lead.start_turn()
        # Spawning stands before every event of the child.
        self._tell(last_start)
        while lead.file.lines < lines and (self._board or lead.file.lines < budget):
            self._tell(lead.time)
            lead.work(self._deliver(lead, self._lead_id, lead.time))
            if lead.file.lines > budget:
                break
        if self._board:
            self._tell(self._board[-1].time)
        incoming = self._deliver(lead, self._lead_id)
        lead.time = max(lead.time, last_end) + 1500
        lead.work(incoming, final=True)
        lead.end_turn()
        self.counts["lead_tool_calls"] += lead.calls
        self._close(lead)

    def _tell(self, until: int) -> None:
        """Write what the board says up to a time, each event durable by itself."""
        lead = self._lead
        while self._board and self._board[0].time <= until:
            event = self._board.pop(0)
            lead.time = max(lead.time, event.time)
            lead.file.flush()
            lead.event(event.kind, event.data)
            lead.file.flush()

    # ------------------------------------------------------------------ the plan

    def _plan_members(self) -> list[_Member]:
        shape, members = self._shape, list[_Member]()
        for index in range(self._member_count):
            own = rng(f"{self._seed}/team/{self._number}/m/{index}")
            if own.random() < shape.unique:
                name = own.choice(ROLES)
                description = f"{own.choice(self._pools.descriptions)} #{self._number}.{index}"
            else:
                known = own.randrange(shape.types)
                name, description = ROLES[known % len(ROLES)], self._pools.descriptions[known]
            if any(member.name == name for member in members):
                name = f"{name}-{index}"
            forked = own.random() < shape.fork
            budget = self._draw_budget()
            start = self._lead.time + 4000 + index * 3000
            duration = int(budget / self._scale.step * 8600) + 5000
            members.append(_Member(new_id(own), name, description, forked, budget, start, duration))
        return members

    def _plan(self, time: int, kind: str, data: str) -> None:
        self._board.append(_BoardEvent(time, kind, f"{{{self._team},{data}}}"))

    def _plan_tasks(self, members: Sequence[_Member]) -> None:
        """Plan each member's arrival and its tasks, one after the other."""
        number = 0
        for member in members:
            self._plan(member.start - 150, "team/member", _member_json(member, "provisioning"))
            self._plan(member.start, "team/member", _member_json(member, "active"))
            tasks = max(1, min(MOST_TASKS, member.budget // self._scale.task))
            gap = max(3000, member.duration // (tasks + 1))
            for order in range(tasks):
                number += 1
                self._plan_task(f"task-{number}", member, member.start + 2000 + order * gap, gap)

    def _plan_task(self, task: str, member: _Member, claimed: int, gap: int) -> None:
        subject, text = self._numbers.choice(self._pools.subjects), self._numbers.choice(self._pools.messages)
        described = f'"subject":"{subject}","description":"{text}"'
        fate = self._numbers.random()
        last, last_owner = "deleted", member.id
        if fate < COMPLETED_SHARE:
            last = "completed"
            self.counts["tasks_completed"] += 1
        elif fate < RELEASED_SHARE:
            last, last_owner = "pending", ""
        life = (
            (member.start + 500, "pending", ""),
            (claimed, "in_progress", member.id),
            (claimed + gap - 500, last, last_owner),
        )
        for revision, (time, status, owner) in enumerate(life, start=1):
            tail = f',"ownerId":"{owner}"' if owner else ""
            self._plan(
                time,
                "team/task",
                f'"task":{{"id":"{task}","revision":{revision},{described},"status":"{status}","blockedBy":[],'
                f'"writeScopes":["src"]{tail}}}',
            )

    def _plan_messages(self, members: Sequence[_Member]) -> None:
        names = {self._lead_id: "lead"} | {member.id: member.name for member in members}
        self._mail = {session: [] for session in names}
        for member in members:
            for _ in range(max(1, member.budget // self._scale.message)):
                self._plan_message(member, names)

    def _plan_message(self, member: _Member, names: dict[str, str]) -> None:
        """Plan a message of a member, or one of the Lead's, to somebody else in the team."""
        numbers = self._numbers
        time = numbers.randint(member.start + 1000, member.start + member.duration)
        sender = numbers.choice([member.id] * 3 + [self._lead_id])
        target = numbers.choice([session for session in names if session != sender])
        message = f"team-message-{new_id(numbers)}"
        body = numbers.choice(self._pools.messages)
        delivery = numbers.choice(("quiet", "wakeup"))
        delay = numbers.randint(15, 60)
        if not self._v4:
            queued = (
                f'"message":{{"id":"{message}","senderId":"{sender}","senderName":"{names[sender]}",'
                f'"targetId":"{target}","delivery":"{delivery}","content":[{{"type":"text","text":"{body}"}}]}}'
            )
            self._plan(time, "team/message/queued", queued)
            self._plan(time + delay, "team/message/delivered", f'"messageId":"{message}","targetId":"{target}"')
        lane = "next-turn" if delivery == "wakeup" else "next-step"
        self._mail[target].append(_Mail(time + 8, message, sender, names[sender], body, lane))
        self.counts["messages"] += sender != self._lead_id

    # ------------------------------------------------------------------ teammates

    def _write_member(self, member: _Member, seed_lines: Sequence[str], seed_events: int) -> int:
        """Write a teammate's log and return when it ends."""
        seed = seed_events if member.forked else None
        agent = self._open(member.id, member.start, member.start + 6, seed)
        agent.error_rate = member.error_rate
        if seed is not None:
            agent.inherit(seed_lines, seed)
            agent.event("session/end-seed", '{"inherited":true}' if self._v4 else "{}")
            self.counts["fork_members"] += 1
        agent.event(
            "subagent/descriptor",
            f'{{"version":2,"mode":"continuable","provider":"{member.provider}","label":"{member.description}"}}',
        )
        agent.event("permission/preset", '{"preset":"workspace-write"}')
        prompt = agent.prompt()
        agent.start_turn()
        agent.claim("next-turn")
        agent.request_header()
        agent.work((prompt,))
        until = agent.file.lines + member.budget - self._scale.tail
        while agent.file.lines < until:
            incoming = self._deliver(agent, member.id, agent.time)
            if incoming:
                self._dawdle(agent)
                for _ in incoming:
                    agent.claim("next-step")
            agent.work(incoming)
        agent.work(self._deliver(agent, member.id), final=True)
        agent.end_turn()
        self.counts["tool_calls"] += agent.calls
        self.counts["tool_errors"] += agent.errors
        self.counts["members"] += 1
        self._close(agent)
        return agent.time

    def _dawdle(self, agent: AgentLog) -> None:
        """Let an agent answer late now and then."""
        pace = self._numbers.random()
        if pace < SLOW_SHARE:
            agent.time += self._numbers.randint(*SLOW_MS)
        elif pace < VERY_SLOW_SHARE:
            agent.time += self._numbers.randint(*VERY_SLOW_MS)

    def _deliver(self, agent: AgentLog, session: str, until: int | None = None) -> list[str]:
        """Put the messages due by a time, or all of them, into an inbox; return them as the next step shows them."""
        shown = []
        mail = self._mail[session]
        while mail and (until is None or mail[0].time <= until):
            message = mail.pop(0)
            agent.time = max(agent.time, message.time)
            intro = f"Team message {message.id} from {message.sender_name}:"
            content = f'[{{"type":"text","text":"{intro}"}},{{"type":"text","text":"{message.body}"}}]'
            shown.append(agent.inbox(message.lane, content, self._source_of(message), new_id(self._numbers)))
            agent.file.flush()
        return shown

    def _source_of(self, message: _Mail) -> str:
        if self._v4:
            return f'{{"kind":"agent-message","form":"relay","senderSessionId":"{message.sender}"}}'
        return (
            f'{{"kind":"team-message","teamId":"{self._lead_id}","messageId":"{message.id}",'
            f'"senderId":"{message.sender}","senderName":"{message.sender_name}"}}'
        )


def _member_json(member: _Member, phase: str) -> str:
    return (
        f'"member":{{"id":"{member.id}","name":"{member.name}","description":"{member.description}",'
        f'"provider":"{member.provider}","context":"{member.context}","phase":"{phase}"}}'
    )
