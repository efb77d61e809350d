"""From the lines of one Claude Code file to the facts of the logs in it.

A file may hold several logs: sessions one after the other, subagents between the lines of their parent. A line says
to which one it belongs. What a result means often stands in its call, so calls are remembered until they are answered.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct, field

from a2a_trust import facts
from a2a_trust.model import Profile
from a2a_trust.sources import claude_agents as agents
from a2a_trust.sources import claude_lines as lines
from a2a_trust.sources import claude_runs as runs
from a2a_trust.sources import claude_teams as teams
from a2a_trust.sources import json_lines
from a2a_trust.sources.claude_calls import (
    MESSAGE,
    SPAWNING,
    OpenCall,
    Where,
    event_of_answer,
    event_of_call,
    messages,
    opened,
    targets_of,
    task_change,
    tasks_seen,
)
from a2a_trust.sources.claude_results import classify, exit_code, failure_of
from a2a_trust.sources.json_lines import LineError

_SYNTHETIC = "<synthetic>"
_INTERRUPTED = "[Request interrupted by user"
_MESSAGE_START = "<teammate-message"
_OPEN_CALLS = 2_000
"""Calls remembered in a log; the oldest are forgotten."""


class Stream(Struct, array_like=True):
    """What is remembered of one log of a file."""

    session: str
    """The id that all lines of a session share, those of its subagents too."""
    agent: str = ""
    cwd: str = ""
    member: str = ""
    """Its name on its team's board, and after an `@` the team's, as the lines said so far."""
    first: str | None = None
    """The same as its first facts said: who the agent of a log is must not depend on how far the log was read."""
    prompt: str = ""
    """Digest of the first prompt, by which a spawner may know it."""
    begun: bool = False
    headless: bool = False
    inline: bool = False
    led: bool = False
    """Its first prompt is a message of a team's lead."""
    calls: dict[str, OpenCall] = field(default_factory=dict)
    running: dict[str, runs.Background] = field(default_factory=dict)
    """Agents that run in the background, by their ids."""
    profile: Profile | None = None
    team: str = ""
    """The team that its agent made."""
    titles: dict[str, str] = field(default_factory=dict)
    """Digests of the titles of the tasks that its agent put on the board."""


class Streams(Struct):
    """The logs of one file, as far as it was read."""

    agent: str = ""
    """Id of the one subagent whose log the file is, from its name."""
    kind: str = ""
    """Type of that subagent, where a file beside the log says so."""
    known: dict[str, Stream] = field(default_factory=dict)
    chains: dict[int, str] = field(default_factory=dict)
    """Which inline subagent a line belongs to."""
    seen: set[int] = field(default_factory=set)
    """Lines that were read; a copy of one in the same file is left out."""


class Reader:
    """Turns lines into facts, log by log."""

    def __init__(self, streams: Streams, definitions: agents.Definitions, config: str) -> None:
        self.streams = streams
        self.facts: dict[str, list[facts.AnyFact]] = {}
        self.undated = 0
        self._definitions = definitions
        self._config = config
        self._teams = teams.Teams(config)

    def take(self, line: lines.Line) -> bool | None:
        """Take a line; tell whether it could matter, `None` where it is a copy of one that was taken before.

        Raises `LineError` for a line that does not say whose it is.
        """
        key, stream = self._stream(line)
        if stream is None and line.type in lines.RELEVANT:
            reason = "wrong-shape"
            raise LineError(reason)
        if stream is None or line.is_meta is True or line.is_compact_summary is True:
            return False
        if line.type in lines.IN_PASSING:
            said = self._in_passing(line, stream)
            if said:
                self.facts.setdefault(key, []).extend(said)
            return bool(said)
        if line.type not in lines.RELEVANT:
            return False
        seq = json_lines.seq_of(line.identity)
        if seq in self.streams.seen:
            return None
        self.streams.seen.add(seq)
        where = Where(seq, line.time, line.identity)
        found = list(self._facts(line, stream, where))
        self.facts.setdefault(key, []).extend(found)
        if found and stream.first is None:
            stream.first = stream.member
        self.undated += bool(found) and not where.time
        return bool(found)

    def header(self, key: str) -> facts.LogHeader:
        """Return who wrote a log, as far as the file tells."""
        stream = self.streams.known[key]
        if stream.profile is None:
            stream.profile = self._profile(stream)
        return facts.LogHeader(
            source=agents.NAME,
            session=key,
            gen=0,
            created=0,
            parent=stream.member.partition("@")[2] or stream.session,
            cwd=stream.cwd,
            profile=stream.profile,
            holder="" if stream.profile else _holder(stream),
            by_event=True,
            copied=True,
            headless=stream.headless,
        )

    # ------------------------------------------------------------------ whose line it is

    def _stream(self, line: lines.Line) -> tuple[str, Stream | None]:
        session, identity = lines.text(line.session_id), line.identity
        if not session or not identity:
            return "", None
        agent = lines.text(line.agent_id)
        if not agent and line.is_sidechain is not False:
            # A line that says it is none of a subagent is its parent's, also where a subagent's file repeats it.
            agent = self.streams.agent
        inline = not agent and line.is_sidechain is True
        key = f"{session}/{agent}" if agent else session
        if inline:
            chain = self.streams.chains.get(json_lines.seq_of(lines.text(line.parent_uuid)))
            key = chain or f"{session}/{identity}"
            self.streams.chains[json_lines.seq_of(identity)] = key
        stream = self.streams.known.get(key)
        if stream is None:
            headless = bool(lines.text(line.parent_uuid))
            stream = Stream(session=session, agent=agent, headless=headless, inline=inline)
            self.streams.known[key] = stream
        stream.cwd = stream.cwd or lines.text(line.cwd)
        name, team = lines.text(line.agent_name), lines.text(line.team_name)
        if team and (not stream.member or (name and stream.member.startswith("@"))):
            stream.member = f"{'' if name == 'team-lead' else name}@{team}"
        return key, stream

    def _profile(self, stream: Stream) -> Profile | None:
        """Return who the agent of a log is, `None` where only another log can tell."""
        if stream.agent:
            kind = self.streams.kind
            return self._spawned(kind, stream.cwd, member=_is_member(stream)) if kind else None
        if stream.inline:
            return None
        if _is_member(stream):
            name, _, team = (stream.first or "").partition("@")
            kind = self._teams.type_of_member(name, team)
        elif stream.led:
            kind = self._teams.type_of_prompt(stream.prompt)
        else:
            return agents.MAIN
        return self._spawned(kind, stream.cwd, member=True) if kind else None

    def _spawned(self, kind: str, cwd: str, *, member: bool = False) -> Profile:
        description = self._definitions.description(kind, cwd, self._config)
        return agents.teammate(kind, description) if member else agents.subagent(kind, description)

    # ------------------------------------------------------------------ what it says

    def _facts(self, line: lines.Line, stream: Stream, where: Where) -> list[facts.AnyFact]:
        if line.type == "assistant":
            return self._assistant(line, stream, where)
        if line.type == "user":
            return self._user(line, stream, where)
        if line.subtype == "api_error":
            return [facts.Retry(where.seq, where.time, event=where.event)]
        if line.subtype == "turn_duration":
            return [facts.Boundary(where.seq, where.time, event=where.event)]
        return []

    def _assistant(self, line: lines.Line, stream: Stream, where: Where) -> list[facts.AnyFact]:
        stream.begun = True
        model = lines.text(line.message.model) if isinstance(line.message, lines.Message) else ""
        if line.is_api_error_message is True or model == _SYNTHETIC:
            return [facts.Retry(where.seq, where.time, event=where.event)]
        found: list[facts.AnyFact] = [
            facts.Answer(where.seq, where.time, model, dated=where.time > 0, event=event_of_answer(line, where))
        ]
        for block in line.blocks:
            call, tool = lines.text(block.id), lines.text(block.name)
            if block.type != "tool_use" or not call or not tool:
                continue
            event = event_of_call(call, where)
            found.append(facts.Call(where.seq, where.time, call, tool, model, event=event))
            made = opened(tool, block.input)
            made.id, made.event, made.seq, made.time = call, event, where.seq, where.time
            stream.calls.pop(call, None)
            stream.calls[call] = made
            if len(stream.calls) > _OPEN_CALLS:
                del stream.calls[next(iter(stream.calls))]
            if tool in SPAWNING:
                member = bool(made.team and made.name)
                profile = self._spawned(made.kind or agents.DEFAULT_TYPE, stream.cwd, member=member)
                prompt = f"prompt/{made.prompt}" if member else f"prompt/{stream.session}/{made.prompt}"
                found.append(facts.Spawned(where.seq, where.time, _ids(prompt), profile, event=event))
        return found

    def _user(self, line: lines.Line, stream: Stream, where: Where) -> list[facts.AnyFact]:
        blocks = line.blocks
        first, stream.begun = not stream.begun and not stream.headless, True
        found: list[facts.AnyFact] = []
        results = [block for block in blocks if block.type == "tool_result" and lines.text(block.tool_use_id)]
        for block in results:
            outcome = line.outcome if len(results) == 1 else None
            found += self._result(block, outcome, stream, where)
        said = "\n".join(block.text for block in blocks if block.type == "text" and isinstance(block.text, str))
        if said.startswith(_INTERRUPTED):
            found.append(facts.Boundary(where.seq, where.time, event=where.event))
        elif said.lstrip().startswith(_MESSAGE_START):
            came = MESSAGE.findall(said)
            if first:
                stream.led = not stream.agent
                stream.prompt = lines.digest(came[0][1]) if came else ""
                found.append(facts.Boundary(where.seq, where.time, event=where.event))
            else:
                found += messages(came, where)
        elif said.lstrip().startswith(runs.NOTICE_START):
            found += _notices(said, stream)
        elif not results and said:
            stream.prompt = lines.digest(said) if first else stream.prompt
            found.append(facts.Boundary(where.seq, where.time, event=where.event))
        return found

    # ------------------------------------------------------------------ results

    def _result(self, block: lines.Block, outcome: object, stream: Stream, where: Where) -> list[facts.AnyFact]:
        name = lines.text(block.tool_use_id)
        call = stream.calls.pop(name, None)
        event = event_of_call(name, where)
        structured = outcome if isinstance(outcome, lines.Outcome) else None
        failure = failure_of(call.tool if call else "", block, structured)
        found: list[facts.AnyFact] = []
        code = exit_code(call.tool, failure) if call and failure else None
        if code is not None:
            found.append(facts.ExitCode(where.seq, where.time, name, code, event=event))
            failure = None
        found.append(facts.Result(where.seq, where.time, name, failure, event=event))
        if call is None:
            return found
        where = Where(where.seq, where.time, event)
        if call.tool in SPAWNING:
            found += self._spawn_result(call, failure, structured, where, stream)
        elif failure is not None or (structured and structured.success is False):
            return found
        elif call.tool == "SendMessage":
            found += [
                facts.MessageSent(where.seq, where.time, event, target, event=event)
                for target in targets_of(call, structured)
            ]
        elif call.tool in ("TaskCreate", "TaskUpdate"):
            found += self._task_change(call, structured, where, stream)
        elif call.tool == "TeamCreate":
            stream.team = (lines.text(structured.team_name) if structured else "") or call.team
        elif call.tool in ("TaskList", "TaskGet"):
            found += tasks_seen(structured, where)
        elif call.tool == "TaskOutput" and structured and isinstance(structured.task, dict):
            task = structured.task
            found += runs.over(stream.running, lines.text(task.get("task_id")), lines.text(task.get("status")))
        return found

    def _task_change(
        self, call: OpenCall, outcome: lines.Outcome | None, where: Where, stream: Stream
    ) -> list[facts.AnyFact]:
        """Return what a task became; who owned one that is done, where only the team's board may say."""
        found: list[facts.AnyFact] = []
        for change in task_change(call, outcome, where):
            team = stream.member.partition("@")[2] or stream.team
            if change.created:
                stream.titles[change.task] = call.subject
            elif team and change.owner is None and stream.titles.get(change.task):
                owner = self._teams.owner_of(change.task, stream.titles[change.task], team)
                change = msgspec.structs.replace(change, board=owner)  # noqa: PLW2901 - the same with more
            found.append(msgspec.structs.replace(change, actor=stream.member or f"@{stream.team}"))
        return found

    def _in_passing(self, line: lines.Line, stream: Stream) -> list[facts.AnyFact]:
        """Return what lines tell that are no part of the conversation: that a subagent runs, that one is done."""
        if line.type == "attachment":
            return _notices(runs.notice_in(line), stream)
        shown = line.data
        if not isinstance(shown, lines.Progress) or shown.type != "agent_progress":
            return []
        names = (lines.text(line.parent_tool_use), lines.text(line.tool_use))
        call = next((stream.calls[name] for name in names if name in stream.calls), None)
        if call is None or call.begun or not call.kind or call.tool not in SPAWNING or (call.team and call.name):
            return []
        profile = self._spawned(call.kind, stream.cwd)
        ids = _ids(f"agent/{lines.text(shown.agent_id)}")
        return [facts.Spawned(call.seq, call.time, ids, profile, event=call.event), *runs.started(call, profile)]

    def _spawn_result(
        self,
        call: OpenCall,
        failure: facts.Failure | None,
        outcome: lines.Outcome | None,
        where: Where,
        stream: Stream,
    ) -> list[facts.AnyFact]:
        reason = classify(call.tool, failure) if failure is not None else None
        agent = lines.text(outcome.agent_id) if outcome else ""
        status = lines.text(outcome.status) if outcome else ""
        member = bool(call.team and call.name) or status == "teammate_spawned"
        told = (lines.text(outcome.agent_type) or lines.text(outcome.team_agent_type)) if outcome else ""
        profile = self._spawned(call.kind or told or agents.DEFAULT_TYPE, stream.cwd, member=member)
        ran = call.begun or bool(agent)
        if failure is not None and reason is None and not ran:
            return [facts.Spawned(where.seq, where.time, (), profile, failed=True, event=where.event)]
        found: list[facts.AnyFact] = []
        if outcome is not None and (failure is None or agent):
            found.append(_introduced(call, outcome, profile, where, member=member))
        if member:
            return found
        if agent and status == "async_launched":
            found += runs.started(call, profile)
            stream.running[agent] = runs.Background(call, profile)
        elif failure is None and status == "completed":
            found += runs.ended(call, profile, where, outcome.duration if outcome else None)
        elif failure is not None and ran:
            found += runs.stopped(call, profile, where, reason)
        return found


def _introduced(
    call: OpenCall, outcome: lines.Outcome, profile: Profile, where: Where, *, member: bool
) -> facts.Spawned:
    """Return who was spawned, under all ids by which its own log may ask."""
    name, team = lines.text(outcome.name) or call.name, lines.text(outcome.team_name) or call.team
    agent = lines.text(outcome.agent_id)
    board = f"{name}@{team}" if name and team else ""
    ids = _ids(
        f"agent/{agent}" if agent else "",
        f"agent/{board}" if board else "",
        f"agent/{lines.text(outcome.team_agent_id) or lines.text(outcome.teammate_id)}" if member else "",
    )
    return facts.Spawned(where.seq, where.time, ids, profile, name if member else "", event=where.event)


def _notices(said: str, stream: Stream) -> list[facts.AnyFact]:
    """Return what the harness told of runs in the background."""
    return [fact for agent, status in runs.notices(said) for fact in runs.over(stream.running, agent, status)]


def _ids(*names: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"{agents.NAME}/{name}" for name in names if name and not name.endswith("/")))


def _holder(stream: Stream) -> str:
    """Return the id under which the log of an agent's spawner says who it is."""
    if stream.agent:
        return f"{agents.NAME}/agent/{stream.agent}"
    if stream.inline:
        return f"{agents.NAME}/prompt/{stream.session}/{stream.prompt}"
    if _is_member(stream):
        return f"{agents.NAME}/agent/{stream.first}"
    return f"{agents.NAME}/prompt/{stream.prompt}"


def _is_member(stream: Stream) -> bool:
    """Tell whether a log is that of a member of a team other than its lead."""
    first = stream.first or ""
    return not first.startswith("@") and "@" in (first or stream.agent)
