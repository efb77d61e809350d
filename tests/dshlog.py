"""Build DeepSeek-Harness session logs, line by line and frame by frame.

For tests and made fixtures only. A log built here has the field order, the shapes and the framing of a log that the
harness wrote, so that a reader cannot tell them apart; it never judges what the events mean.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from typing import TYPE_CHECKING, Final, Self

import zstandard

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

CWD: Final = "/home/dev/project"
PROVIDER: Final = "script"
MODEL: Final = "script-1"
WINDOW_LOG: Final = 21
FIRST_RENAMED_GENERATION: Final = 1
FIRST_FLAT_RESULT_GENERATION: Final = 4
FIRST_EMBEDDED_STREAM_GENERATION: Final = 2
FIRST_NO_DELIVERY_GENERATION: Final = 3

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_RETRY_POLICY: Final = '["normal",5,["EMPTY_RESPONSE","RATE_LIMIT","SERVER","TIMEOUT","TRANSPORT"],500,10000,0.1]'
_SETTLED: Final = {
    "finished": "finished and will do no further work unless you send it more.",
    "failed": "failed before it finished.",
    "stopped": "was stopped before it finished.",
    "out-of-room": "ran out of room before it finished.",
    "declined": "declined the task.",
}

Event = dict[str, object]


class _Mark:
    """The type of marks that can never be a value in a log."""


ABSENT: Final = _Mark()
"""Leaves a key out, where `None` would write `null`."""
_CURSOR: Final = _Mark()


def line_of(value: object) -> bytes:
    """Return one log line, newline included, as `JSON.stringify` writes it.

    Lone surrogates become lower-case escapes, everything else outside ASCII stands as it is.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _SURROGATE.sub(lambda unit: f"\\u{ord(unit[0]):04x}", text).encode() + b"\n"


def _escaped(text: str, kept: str) -> str:
    """Write every character outside the class `kept` as `~XXXX`, one for each UTF-16 unit."""

    def escape(found: re.Match[str]) -> str:
        units = found[0].encode("utf-16-be", "surrogatepass").hex().upper()
        return "".join(f"~{units[at : at + 4]}" for at in range(0, len(units), 4))

    return re.sub(f"[^{kept}]", escape, text)


def project_dir(cwd: str | None) -> str:
    """Return the name of the project directory for a working directory."""
    if cwd is None:
        return "_no-cwd"
    key = re.sub(r"[/\\:]+", "-", cwd).lstrip("-")
    return f"--{_escaped(key, 'A-Za-z0-9._-')[:251] or 'root'}--"


def session_dir(session: str) -> str:
    """Return the name of the directory of a session id."""
    return _escaped(session, "A-Za-z0-9_-")


def log_name(generation: int, *, zstd: bool = True) -> str:
    """Return the file name of a log of this format generation."""
    stem = "session.jsonl" if generation < FIRST_RENAMED_GENERATION else f"session.v{generation}.jsonl"
    return f"{stem}.zstd" if zstd else stem


def frame(blocks: Iterable[bytes]) -> bytes:
    """Return one zstd frame: checksum, no content size, a window of 2 MiB, each of `blocks` flushed as its own.

    A frame of several blocks can be torn so that its first blocks still decode.
    """
    parameters = zstandard.ZstdCompressionParameters.from_level(
        3, window_log=WINDOW_LOG, write_checksum=1, write_content_size=0
    )
    stream = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    parts: list[bytes] = []
    for number, block in enumerate(blocks):
        if number:
            parts.append(stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK))
        parts.append(stream.compress(block))
    parts.append(stream.flush())
    return b"".join(parts)


def encode(batches: Iterable[Iterable[bytes]]) -> bytes:
    """Return a zstd log with one frame for each batch of raw lines."""
    return b"".join(frame([b"".join(batch)]) for batch in batches)


def _first_frame(data: bytes) -> tuple[bytes, int, bool]:
    """Return what the first frame decodes to, its length in bytes, and whether it is whole."""
    stream = zstandard.ZstdDecompressor().decompressobj()
    decoded = stream.decompress(data)
    return decoded, len(data) - len(stream.unused_data), stream.eof


def frames(data: bytes) -> list[bytes]:
    """Cut a zstd log at its frame boundaries; a torn tail is the last piece, and all pieces together are `data`."""
    pieces: list[bytes] = []
    while data:
        _, length, _ = _first_frame(data)
        pieces.append(data[:length])
        data = data[length:]
    return pieces


def is_whole(piece: bytes) -> bool:
    """Say whether one piece of `frames` is a complete frame."""
    return _first_frame(piece)[2]


def decode(data: bytes) -> bytes:
    """Return everything that the frames of a zstd log hold, what a torn tail still yields included."""
    return b"".join(_first_frame(piece)[0] for piece in frames(data))


def from_user() -> Event:
    """Return the source of a message by a person, or of the prompt that a teammate was spawned with."""
    return {"kind": "user"}


def from_team(team: str, message: str, sender: str, sender_name: str) -> Event:
    """Return the source of a team message as V0 to V3 write it."""
    return {
        "kind": "team-message",
        "teamId": team,
        "messageId": message,
        "senderId": sender,
        "senderName": sender_name,
    }


def from_agent(sender: str) -> Event:
    """Return the source of a message between agents as V4 writes it."""
    return {"kind": "agent-message", "form": "relay", "senderSessionId": sender}


def from_settled(child: str, how: str = "finished") -> Event:
    """Return the source of the notice that a subagent went idle; `how` is a key such as `finished` or `failed`."""
    summary = f"Background subagent {child} {_SETTLED[how]}"
    return {"kind": "subagent-settled", "form": "notice", "summary": summary, "senderSessionId": child}


def from_runtime(generation: int, text: str) -> Event:
    """Return the source of a snapshot of the runtime context."""
    sections = [{"name": "sandbox:policy", "text": text}]
    if generation < FIRST_FLAT_RESULT_GENERATION:
        plugin = "@deepseek-ai/dsh-system-prompt"
        return {"kind": "plugin", "plugin": plugin, "form": "snapshot", "sections": sections}
    return {"kind": "runtime-context", "form": "snapshot", "sections": sections}


def tool_block(call: str, name: str, arguments: str = "{}") -> Event:
    """Return a tool call as it stands in the content of an assistant message."""
    return {"type": "tool-call", "id": call, "name": name, "arguments": arguments}


def _text(text: str) -> Event:
    return {"type": "text", "text": text}


class LogBuilder:
    """One session log that grows event by event.

    The clock is a cursor: `at` and `later` move it, every event takes its time from it. Sequence numbers count up
    from 0. `stamp`, `unstamped` and `number` write something else into the next event. Events go into the current
    zstd frame until `frame` closes it; the header always has a frame of its own.
    """

    def __init__(  # noqa: PLR0913 - one argument for each field of the header
        self,
        session: str,
        *,
        created_at: object,
        generation: int = 0,
        version: object = ABSENT,
        cwd: str | None = CWD,
        parent: str | None = None,
        seed_length: int | None = None,
        is_seeded: bool = False,
        origin: str | None = None,
        delegation_depth: int | None = None,
        agent_preset: str | None = None,
    ) -> None:
        """Open a log with its header line; `created_at` (ms) is also where the clock starts.

        `generation` decides the file name and the shapes, `version` what the header claims. The delegation depth is
        1 for a session with an `origin` and 0 for any other, unless given.
        """
        self.session = session
        self.generation = generation
        self.cwd = cwd
        header: Event = {"type": "session", "version": generation if version is ABSENT else version, "id": session}
        if created_at is not ABSENT:
            header["createdAt"] = created_at
        if cwd is not None:
            header["cwd"] = cwd
        if parent is not None:
            header["parentSession"] = parent
        if generation >= FIRST_EMBEDDED_STREAM_GENERATION:
            header["isSeeded"] = is_seeded
        elif seed_length is not None:
            header["seedLength"] = seed_length
        if origin is not None:
            header["origin"] = origin
        header["delegationDepth"] = delegation_depth if delegation_depth is not None else int(origin is not None)
        if agent_preset is not None:
            header["agentPreset"] = agent_preset
        self.now = created_at if isinstance(created_at, int) else 0
        self.seq = 0
        self.turn = 0
        self.step_number = 0
        self.events: list[Event] = []
        self._frames: list[list[list[bytes]]] = [[[line_of(header)]], [[]]]
        self._stamp: object = _CURSOR
        self._number: object = _CURSOR
        self._ids = 0
        self._calls: dict[str, int] = {}
        self._chunks: list[int] = []

    # The cursor.

    def at(self, ms: int) -> Self:
        """Set the clock, backwards too."""
        self.now = ms
        return self

    def later(self, ms: int) -> Self:
        """Move the clock forward by `ms`."""
        self.now += ms
        return self

    def stamp(self, time: object) -> Self:
        """Write this value, whatever it is, as the time of the next event only."""
        self._stamp = time
        return self

    def unstamped(self) -> Self:
        """Leave the time of the next event out."""
        return self.stamp(ABSENT)

    def number(self, seq: object) -> Self:
        """Write this value as the sequence number of the next event only."""
        self._number = seq
        return self

    def renumber(self, seq: int) -> Self:
        """Go on counting from `seq`."""
        self.seq = seq
        return self

    def frame(self) -> Self:
        """Close the current zstd frame."""
        if any(self._frames[-1]):
            self._frames.append([[]])
        return self

    def block(self) -> Self:
        """Begin a new block inside the current zstd frame."""
        self._frames[-1].append([])
        return self

    # Lines.

    def raw(self, line: bytes) -> Self:
        """Write one line of bytes as it is, with a newline behind it."""
        self._frames[-1][-1].append(line + b"\n")
        return self

    def new_id(self) -> str:
        """Return the next of this log's own ids, the same at each run."""
        self._ids += 1
        digest = hashlib.sha256(f"{self.session}#{self._ids}".encode("utf-8", "surrogatepass")).digest()
        return str(uuid.UUID(bytes=digest[:16], version=4))

    def event(
        self,
        kind: str,
        data: object,
        *,
        sources: Sequence[int] | None = None,
        surface: object = ABSENT,
        sources_last: bool = False,
    ) -> int:
        """Write one event and return its sequence number; `surface` and `sources` exist on surface events only."""
        seq = self.seq
        number = seq if self._number is _CURSOR else self._number
        time = self.now if self._stamp is _CURSOR else self._stamp
        head = {"type": kind, "seq": number, "time": time}
        written: Event = {key: value for key, value in head.items() if value is not ABSENT}
        written["data"] = data
        if sources is not None and not sources_last:
            written["sourceEventSeqs"] = list(sources)
        if surface is not ABSENT:
            written["surfaceOp"] = surface
        if sources is not None and sources_last:
            written["sourceEventSeqs"] = list(sources)
        self._stamp = self._number = _CURSOR
        self.seq += 1
        self._write(written)
        return seq

    def inherit(self, parent: LogBuilder, events: int) -> Self:
        """Begin with the first `events` events of another log, as a fork does: same seqs, times and ids."""
        for event in parent.events[:events]:
            self._write(event)
        self.seq = events
        return self

    def replaced(self, start: int, end: int) -> Event:
        """Return the `surfaceOp` of an event that replaces the surface events from `start` to `end`."""
        if self.generation < FIRST_NO_DELIVERY_GENERATION:
            return {"op": "replace", "start": start, "end": end}
        return {"op": "replace", "startSeq": start, "endSeq": end}

    # Turns, steps and the session itself.

    def turn_start(self) -> None:
        """Open the next turn."""
        self.turn += 1
        self.step_number = 0
        self.event("turn/start", {"turn": self.turn})

    def turn_end(self, reason: str | Mapping[str, object] = "completed") -> None:
        """Close the turn with a reason: a kind, or the whole object."""
        self.event("turn/end", {"turn": self.turn, "reason": {"kind": reason} if isinstance(reason, str) else reason})

    def step(self) -> None:
        """Open the next step of the turn."""
        self.step_number += 1
        self.event("step/start", {"turn": self.turn, "step": self.step_number})

    def step_end(self) -> None:
        """Close the step."""
        self.event("step/end", {"turn": self.turn, "step": self.step_number})

    def end_seed(self, *, inherited: bool = False) -> None:
        """Write the mark that stands behind a seed (`inherited`), and at each start and resume."""
        self.event("session/end-seed", {"inherited": True} if inherited else {})

    def descriptor(
        self,
        label: str,
        *,
        mode: str = "continuable",
        provider: str = "spawn",
        agent_model: str = MODEL,
    ) -> None:
        """Say in a subagent's own log what it is."""
        data: Event = {"version": 2 if self.generation < FIRST_NO_DELIVERY_GENERATION else 3, "mode": mode}
        data |= {"provider": provider, "label": label, "agentProvider": PROVIDER, "agentModel": agent_model}
        self.event("subagent/descriptor", data)

    def catalog(self, child: str, created_at: int, label: str, *, mode: str = "continuable") -> None:
        """Name a subagent in its parent's log (V3 and later)."""
        data: Event = {"version": 0, "childId": child, "childCreatedAt": created_at, "mode": mode, "label": label}
        self.event("subagent/catalog", data)

    # Messages.

    def user(self, text: str, source: Mapping[str, object] | None = None, *, surface: object = "append") -> str:
        """Write a `user/message` with any source (a person's by default) and return its id."""
        message = self.new_id()
        data: Event = {"content": [_text(text)], "source": source or from_user(), "role": "user", "id": message}
        self.event("user/message", data, surface=surface)
        return message

    def splice(self, lane: str, inserted: Sequence[Mapping[str, object]] = (), removed: int = 0) -> None:
        """Put messages into a lane of the inbox or take some out of it."""
        data: Event = {"target": lane, "start": 0}
        if removed:
            data["removedCount"] = removed
        self.event("agent/inbox/spliced", data | {"inserted": list(inserted)})

    def assistant(  # noqa: PLR0913 - each stands for one field of the event
        self,
        text: str = "Done.",
        *,
        calls: Sequence[Mapping[str, object]] = (),
        reasoning: str = "",
        model: str = MODEL,
        turn: int | None = None,
        interrupted: bool = False,
    ) -> None:
        """Write a model's message; its stream stands before it (V0) or inside it (V2 and later)."""
        thought: list[Event] = [{"type": "reasoning", "text": reasoning}] if reasoning else []
        content = [*thought, *([_text(text)] if text else []), *calls]
        message: Event = {"role": "assistant", "content": content}
        message |= {"source": {"kind": "model", "provider": PROVIDER, "model": model}, "id": self.new_id()}
        data: Event = {"turn": self.turn if turn is None else turn, "step": self.step_number, "message": message}
        if interrupted:
            data["interrupted"] = True
        else:
            usage = {"inputTokens": 100, "outputTokens": 10, "cacheReadTokens": 400}
            data["usage"] = usage | ({"reasoningTokens": 5} if reasoning else {})
        finish: Event = {"type": "finish", "reason": {"kind": "tool-calls" if calls else "stop"}}
        if self.generation < FIRST_EMBEDDED_STREAM_GENERATION:
            if not self._chunks:
                marks = self._stamp, self._number
                self._stamp = self._number = _CURSOR
                self.chunk(finish)
                self._stamp, self._number = marks
            self.event("assistant/message", data, sources=self._chunks, surface="append")
            self._chunks = []
            return
        data["stream"] = [{"type": "chunk", "time": self.now, "chunk": finish}]
        self.event("assistant/message", data, surface="append")

    def chunk(self, chunk: Mapping[str, object]) -> None:
        """Write one `assistant/chunk` (V0)."""
        data = {"turn": self.turn, "step": self.step_number, "chunk": chunk}
        self._chunks.append(self.event("assistant/chunk", data))

    def chunks(self, kind: str, parts: Sequence[str], *, call: str | None = None, dt: int = 0) -> None:
        """Write a packed row of deltas (V0): `text`, `reasoning` or `tool-call` chunks, one seq for each part."""
        data: Event = {"turn": self.turn, "step": self.step_number, "index": 0, "dt": [dt] * (len(parts) - 1)}
        data |= {"texts": list(parts)} if call is None else {"id": call, "args": list(parts)}
        self._chunks.extend(range(self.seq, self.seq + len(parts)))
        self._write({"type": f"{kind}-chunks", "seq0": self.seq, "time0": self.now, "data": data})
        self.seq += len(parts)
        self.now += dt * (len(parts) - 1)

    def retry(self, code: str = "RATE_LIMIT", message: str = "Too many requests", *, status: int = 429) -> None:
        """Write a failed model request and the start of its retry."""
        retry, where = self.new_id(), {"turn": self.turn, "step": self.step_number}
        failure = {"code": code, "message": message, "status": status, "providerRetryAfterMs": 40}
        how = {"provider": PROVIDER, "mode": "normal", "policyKey": _RETRY_POLICY}
        count = {"retry": 1, "maxRetries": 5, "delayMs": 40}
        self.event("llm/retry", {"retryId": retry} | where | how | count | {"failure": failure})
        self.event("llm/retry-started", {"retryId": retry} | where | {"retry": 1})

    # Tools.

    def call(self, name: str, arguments: str = "{}", *, call: str | None = None) -> str:
        """Write a tool call and return its call id."""
        call = call or f"call_{self.seq:02}_{self.new_id()[:8]}"
        data: Event = {"turn": self.turn, "step": self.step_number, "callId": call, "name": name}
        self._calls[call] = self.event("tool/call", data | {"arguments": arguments})
        return call

    def result(  # noqa: PLR0913 - each stands for one field of the event
        self,
        call: str,
        text: str = "ok",
        *,
        is_error: bool = False,
        code: str | None = None,
        error: str = "FsError",
        surface: object = "append",
        meta: Mapping[str, object] | None = None,
        nested: bool | None = None,
    ) -> None:
        """Write the result of a call, as the builder's generation does or with `nested` in the shape of V0 to V3."""
        if nested is None:
            nested = self.generation < FIRST_FLAT_RESULT_GENERATION
        source = {"kind": "tool", "callId": call}
        content: list[Event] = [_text(text)]
        message: Event
        if nested:
            block: Event = {"type": "tool-result", "toolCallId": call, "content": content, "isError": is_error}
            message = {"source": source, "content": [block], "role": "user"}
        else:
            message = {"role": "tool", "source": source, "toolCallId": call, "content": content, "isError": is_error}
        data: Event = {"turn": self.turn, "step": self.step_number, "message": message | {"id": self.new_id()}}
        if code is not None:
            data["error"] = {"name": error, "code": code}
        if meta is not None:
            data["meta"] = meta
        self.event("tool/result", data, sources=[self._calls.get(call, 0)], surface=surface)

    def tool(self, name: str, text: str = "ok", *, is_error: bool = False, code: str | None = None) -> str:
        """Write a call and its result at the same time and return the call id."""
        call = self.call(name)
        self.result(call, text, is_error=is_error, code=code)
        return call

    def repair(self, call: str, *, started: bool = True) -> None:
        """Write the result that the harness makes up for an open call when it resumes after a crash."""
        names = ("ToolOutcomeUnknownError", "TOOL_OUTCOME_UNKNOWN") if started else ("ToolNotStartedError", "")
        text = "The tool call was interrupted after it was recorded, but no result was durably recorded."
        block: Event = {"type": "tool-result", "toolCallId": call, "isError": True, "content": [_text(text)]}
        message: Event = {"id": f"interrupted-tool-result-{call}-{self.seq}", "role": "user"}
        message |= {"source": {"kind": "tool", "callId": call}, "content": [block]}
        data: Event = {"turn": self.turn, "step": self.step_number, "message": message}
        data["error"] = {"name": names[0], "code": names[1] or "TOOL_NOT_STARTED"}
        self.event("tool/result", data, sources=[self._calls.get(call, 0)], surface="append", sources_last=True)

    def approval(self, call: str, name: str, outcome: str | None) -> None:
        """Ask for the approval of a call and decide it; with `None` it stays undecided."""
        approval = self.new_id()
        reason = "escalate sandbox to danger-full-access: the file is needed outside"
        self.event("approval/asked", {"id": approval, "toolName": name, "callId": call, "reason": reason})
        if outcome is not None:
            self.event("approval/decided", {"id": approval, "outcome": outcome})

    def job(self, call: str, label: str, exit_code: int, *, ms: int = 4) -> None:
        """Register a shell job and settle it with an exit code (V4); the clock moves on by `ms`."""
        data: Event = {"jobId": f"bash-{self.new_id().replace('-', '')[:16]}", "owner": self.session, "kind": "bash"}
        data |= {"label": label, "startedAt": self.now, "toolCall": {"callId": call, "rootCallId": call}}
        self.event("job/registered", data)
        self.later(ms)
        end: Event = {"finishedAt": self.now, "status": "completed", "cause": "producer", "producerReported": True}
        self.event("job/settled", data | end | {"detail": f"exit code: {exit_code}"})

    # The team, in the Lead's log.

    def member(  # noqa: PLR0913 - each stands for one field of the event
        self,
        member: str,
        name: str,
        description: str,
        *,
        provider: str = "spawn",
        context: str = "fresh",
        phase: str = "active",
        error: str | None = None,
        team: str | None = None,
    ) -> None:
        """Write one snapshot of a member."""
        who: Event = {"id": member, "name": name, "description": description}
        who |= {"provider": provider, "context": context, "phase": phase}
        if error is not None:
            who["error"] = error
        self.event("team/member", self._team(team) | {"member": who})

    def spawn(
        self, member: str, name: str, description: str, *, provider: str = "spawn", context: str = "fresh"
    ) -> None:
        """Write the two snapshots of a member that starts well."""
        self.member(member, name, description, provider=provider, context=context, phase="provisioning")
        self.member(member, name, description, provider=provider, context=context)

    def task(  # noqa: PLR0913 - each stands for one field of the event
        self,
        task: str,
        revision: object,
        status: str,
        owner: str | None = None,
        *,
        blocked_by: Sequence[str] = (),
        team: str | None = None,
    ) -> None:
        """Write one revision of a task; the harness puts a new owner last and an old one before the blockers."""
        body: Event = {"id": task, "revision": revision, "subject": f"Subject of {task}", "description": "Do it."}
        body["status"] = status
        scope: Event = {"blockedBy": list(blocked_by), "writeScopes": []}
        if owner is None:
            body |= scope
        elif status == "in_progress":
            body |= scope | {"ownerId": owner}
        else:
            body |= {"ownerId": owner} | scope
        self.event("team/task", self._team(team) | {"task": body})

    def queued(  # noqa: PLR0913 - each stands for one field of the event
        self,
        sender: str,
        sender_name: str,
        target: str,
        text: str = "Please go on.",
        *,
        delivery: str = "wakeup",
        message: str | None = None,
        team: str | None = None,
    ) -> str:
        """Queue a team message and return its id; `delivery` is written by V0 only."""
        message = message or f"team-message-{self.new_id()}"
        body: Event = {"id": message, "senderId": sender, "senderName": sender_name, "targetId": target}
        if self.generation < FIRST_NO_DELIVERY_GENERATION:
            body["delivery"] = delivery
        self.event("team/message/queued", self._team(team) | {"message": body | {"content": [_text(text)]}})
        return message

    def delivered(self, message: str, target: str, *, team: str | None = None) -> None:
        """Say that the target's log holds a message."""
        self.event("team/message/delivered", self._team(team) | {"messageId": message, "targetId": target})

    # Bytes.

    def lines(self) -> bytes:
        """Return the log as plain lines."""
        return b"".join(line for blocks in self._frames for block in blocks for line in block)

    def batches(self) -> list[bytes]:
        """Return the plain lines of each frame."""
        joined = (b"".join(line for block in blocks for line in block) for blocks in self._frames)
        return [batch for batch in joined if batch]

    def zstd(self) -> bytes:
        """Return the log as zstd frames."""
        filled = ([b"".join(block) for block in blocks if block] for blocks in self._frames)
        return b"".join(frame(blocks) for blocks in filled if blocks)

    def path(self, root: Path, *, zstd: bool = True) -> Path:
        """Return where this log belongs below a sessions root."""
        return root / project_dir(self.cwd) / session_dir(self.session) / log_name(self.generation, zstd=zstd)

    def write(self, root: Path, *, zstd: bool = True, cut: int = 0) -> Path:
        """Write the log below a sessions root, without its last `cut` bytes, and return its path."""
        path = self.path(root, zstd=zstd)
        path.parent.mkdir(parents=True, exist_ok=True)
        data = self.zstd() if zstd else self.lines()
        path.write_bytes(data[: len(data) - cut])
        return path

    def _team(self, team: str | None) -> Event:
        version = 1 if self.generation < FIRST_NO_DELIVERY_GENERATION else 2
        return {"version": version, "teamId": self.session if team is None else team}

    def _write(self, event: Event) -> None:
        self.events.append(event)
        self._frames[-1][-1].append(line_of(event))
