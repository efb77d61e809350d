"""Build Claude Code transcripts, line by line.

For tests and made fixtures only. A transcript built here has the fields and the shapes that the harness writes, in
each of the layouts that it has had; it never judges what the lines mean.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

CWD: Final = "/home/dev/project"
MODEL: Final = "claude-made-1"
_SURROGATE: Final = re.compile("[\ud800-\udfff]")

Event = dict[str, object]


class _Mark:
    """The type of marks that can never be a value in a log."""


ABSENT: Final = _Mark()
"""Leaves a key out."""
USE_CLOCK: Final = _Mark()


def line_of(value: object) -> bytes:
    """Return one line, newline included, as `JSON.stringify` writes it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _SURROGATE.sub(lambda unit: f"\\u{ord(unit[0]):04x}", text).encode() + b"\n"


def stamp(time_ms: int) -> str:
    """Return a time as the harness writes it."""
    moment = datetime.fromtimestamp(time_ms // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{time_ms % 1000:03}Z"


def slug(cwd: str) -> str:
    """Return the name of the project folder of a working directory."""
    return re.sub("[^A-Za-z0-9]", "-", cwd)


def message(sender: str, body: str) -> str:
    """Return a message of a team as its receiver's transcript holds it."""
    return f'<teammate-message teammate_id="{sender}" color="blue">\n{body}\n</teammate-message>'


def protocol(kind: str, **more: object) -> str:
    """Return what the machinery of a team sends: JSON instead of prose."""
    return json.dumps({"type": kind, "timestamp": stamp(1_796_100_000_000), **more})


class Transcript:
    """One transcript that grows line by line.

    The clock is a cursor: `at` and `later` move it, every line takes its time from it. `stamp` writes something else
    into the next line. Ids count up within the number that the transcript was made with.
    """

    def __init__(  # noqa: PLR0913 - the fields that all its lines repeat
        self,
        number: int,
        start: int,
        *,
        session: str | None = None,
        agent: str | None = None,
        sidechain: bool = False,
        team: str | None = None,
        member: str | None = None,
        cwd: str = CWD,
        version: str = "2.1.42",
        parent: str | None = None,
        model: str = MODEL,
    ) -> None:
        self.number = number
        self.session = session or session_id(number)
        self.now = start
        self.lines: list[bytes] = []
        self.events: list[Event] = []
        self.model = model
        self.fields: Event = {
            "isSidechain": sidechain or agent is not None,
            "userType": "external",
            "cwd": cwd,
            "sessionId": self.session,
            "version": version,
            "gitBranch": "main",
            **({"agentId": agent} if agent else {}),
            **({"teamName": team} if team else {}),
            **({"agentName": member} if member else {}),
        }
        self._parent = parent
        self._count = 0
        self._stamp: object = USE_CLOCK

    # ------------------------------------------------------------------ the clock

    def at(self, time_ms: int) -> Self:
        """Set the clock."""
        self.now = time_ms
        return self

    def later(self, ms: int = 1_000) -> Self:
        """Move the clock on."""
        self.now += ms
        return self

    def stamp(self, value: object) -> Self:
        """Write this as the timestamp of the next line; `ABSENT` leaves it out."""
        self._stamp = value
        return self

    # ------------------------------------------------------------------ lines

    def raw(self, line: bytes) -> Self:
        """Add a line as it is."""
        self.lines.append(line)
        return self

    def add(self, kind: str, **fields: object) -> str:
        """Add a line of the chain and return its uuid."""
        self._count += 1
        uuid = f"{self.number:08x}-0000-4000-9000-{self._count:012x}"
        time = stamp(self.now) if self._stamp is USE_CLOCK else self._stamp
        event: Event = {"parentUuid": self._parent, **self.fields, "type": kind, **fields, "uuid": uuid}
        if time is not ABSENT:
            event["timestamp"] = time
        self._stamp = USE_CLOCK
        event = {key: value for key, value in event.items() if value is not ABSENT}
        self._parent = uuid
        self.events.append(event)
        self.lines.append(line_of(event))
        return uuid

    def bookkeeping(self, kind: str, **fields: object) -> Self:
        """Add a line that is not in the chain."""
        return self.raw(line_of({"type": kind, "sessionId": self.session, **fields}))

    def user(self, text: str, **fields: object) -> str:
        """Add what a person, a spawner or a team says to the agent."""
        return self.add("user", message={"role": "user", "content": text}, **fields)

    def say(self, text: str = "Going on.", **fields: object) -> str:
        """Add a line of the agent's model."""
        return self._assistant({"type": "text", "text": text}, **fields)

    def call(self, tool: str, given: object = None, *, call: str | None = None, **fields: object) -> str:
        """Add a call and return its id."""
        call = call or f"toolu_{self.number:08}{self._count + 1:08}made"
        self._assistant({"type": "tool_use", "id": call, "name": tool, "input": given or {}}, **fields)
        return call

    def _assistant(self, block: Event, **fields: object) -> str:
        content: Event = {
            "id": f"msg_{self.number:04}{self._count + 1:06}",
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": [block],
            "stop_reason": None,
            "usage": {"input_tokens": 3, "output_tokens": 5},
        }
        return self.add("assistant", **{"message": content, "requestId": "req_made", **fields})

    def result(
        self, call: str, text: object = "Done.", *, error: object = ABSENT, outcome: object = ABSENT, **fields: object
    ) -> str:
        """Add the result of a call."""
        block: Event = {"tool_use_id": call, "type": "tool_result", "content": text}
        if error is not ABSENT:
            block["is_error"] = error
        if outcome is ABSENT and error is True:
            outcome = f"Error: {text}"
        content = {"role": "user", "content": [block]}
        return self.add("user", message=content, toolUseResult=outcome, **fields)

    def work(self, tool: str = "Read", *, good: bool = True) -> Self:
        """Call a tool and get its result, a second later each."""
        call = self.later().call(tool, {"file_path": "notes.txt"})
        if good:
            self.later().result(call, outcome={"type": "text"})
        else:
            self.later().result(
                call, "<tool_use_error>String to replace not found in file.</tool_use_error>", error=True
            )
        return self

    # ------------------------------------------------------------------ coordination

    def spawn(self, kind: str | None, prompt: str, *, tool: str = "Agent", **given: object) -> str:
        """Call for another agent and return the id of the call."""
        named = {"subagent_type": kind} if kind else {}
        return self.later().call(tool, {"description": "A job", "prompt": prompt, **named, **given})

    def spawned(self, call: str, agent: str, **outcome: object) -> str:
        """Add the end of an agent's run."""
        told = {"status": "completed", "prompt": "…", "agentId": agent, "totalDurationMs": 4_000, "totalTokens": 9}
        return self.later().result(call, [{"type": "text", "text": "All done."}], outcome={**told, **outcome})

    def recruit(self, kind: str, name: str, team: str, prompt: str) -> str:
        """Spawn a member of a team."""
        call = self.spawn(kind, prompt, name=name, team_name=team)
        told = {
            "status": "teammate_spawned",
            "teammate_id": f"{name}@{team}",
            "agent_id": f"{name}@{team}",
            "agent_type": kind,
            "name": name,
            "color": "blue",
            "team_name": team,
        }
        self.later(5).result(call, "Spawned successfully.", outcome=told)
        return call

    def create_task(self, task: str, subject: str = "A task") -> Self:
        """Put a task on the board."""
        call = self.later().call("TaskCreate", {"subject": subject, "description": subject})
        self.later(5).result(call, f"Task #{task} created.", outcome={"task": {"id": task, "subject": subject}})
        return self

    def update_task(self, task: str, before: str | None = None, after: str | None = None, **given: object) -> Self:
        """Change a task: its status, its owner, or both."""
        changed = [*(["status"] if after else []), *given]
        call = self.later().call("TaskUpdate", {"taskId": task, **({"status": after} if after else {}), **given})
        told: Event = {"success": True, "taskId": task, "updatedFields": changed}
        if after:
            told["statusChange"] = {"from": before, "to": after}
        self.later(5).result(call, f"Updated task #{task}.", outcome=told)
        return self

    def send(self, to: str, text: object = "Please have a look.", **given: object) -> Self:
        """Send a message that is delivered."""
        call = self.later().call("SendMessage", {"to": to, "message": text, "summary": "A word", **given})
        self.later(5).result(call, "Message sent.", outcome={"success": True, "message": f"Message sent to {to}"})
        return self

    # ------------------------------------------------------------------ files

    @property
    def data(self) -> bytes:
        """The whole file."""
        return b"".join(self.lines)

    def copied(self, session: str | None = None, *, upto: int | None = None, since: int = 0, **fields: object) -> bytes:
        """Return the chain's lines as resuming or forking copies them: under another session, other fields too."""
        changed = {**({"sessionId": session} if session else {}), **fields}
        return b"".join(line_of({**event, **changed}) for event in self.events[since:upto])

    def forked(self, session: str, number: int) -> bytes:
        """Return the lines as a newer fork writes them: with uuids of its own, each saying whence it came."""
        lines = []
        for count, event in enumerate(self.events, 1):
            origin = {"sessionId": self.session, "messageUuid": event["uuid"]}
            uuid = f"{number:08x}-0000-4000-9000-{count:012x}"
            parent = f"{number:08x}-0000-4000-9000-{count - 1:012x}" if count > 1 else None
            lines.append(
                line_of({**event, "sessionId": session, "uuid": uuid, "parentUuid": parent, "forkedFrom": origin})
            )
        return b"".join(lines)


def session_id(number: int) -> str:
    """Return the id of a made session."""
    return f"00000000-0000-4000-8000-{number:012}"


def write(root: Path, files: dict[str, bytes | str]) -> None:
    """Write files below a folder."""
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)


def main_file(transcript: Transcript, cwd: str = CWD) -> str:
    """Return where a main transcript lies."""
    return f"projects/{slug(cwd)}/{transcript.session}.jsonl"


def agent_file(transcript: Transcript, agent: str, cwd: str = CWD, folder: str = "subagents") -> str:
    """Return where the transcript of a subagent lies in the current layout."""
    return f"projects/{slug(cwd)}/{transcript.session}/{folder}/agent-{agent}.jsonl"


def joined(parts: Iterable[bytes]) -> bytes:
    """Return parts one after the other."""
    return b"".join(parts)
