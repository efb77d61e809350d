"""One log of a made-up corpus: the file with its frames, and the agent whose model and tools fill it step by step.

Format `v0` writes the stream of a step as lines of its own, `v4` inside the finished message. All JSON is put together
from strings: the bytes are the point, key order and spacing included.
"""

from __future__ import annotations

import os
import uuid
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence
    from pathlib import Path

    import zstandard
    from corpus_text import Pools

T = TypeVar("T")

MODEL: Final = '"source":{"kind":"model","provider":"deepseek-official","model":"deepseek-v4-flash"}'
REQUEST: Final = '"provider":"deepseek-official","model":"deepseek-v4-flash"'
APPEND: Final = '"surfaceOp":"append"'
TOOLS: Final = (
    "read", "write", "edit", "bash", "grep", "glob", "web_fetch", "team_task_list", "team_task_update",
    "team_send_message", "wait_agent", "python", "lsp_query", "todo_write",
)  # fmt: skip
ERRORS: Final = (
    ("ToolError", "FILE_NOT_FOUND"),
    ("TeamError", "TEAM_TASK_BLOCKED"),
    ("TeamError", "TEAM_TASK_CONFLICT"),
    ("ToolError", "EXIT_NONZERO"),
    ("ToolError", "TIMEOUT"),
)
ERROR_TEXT: Final = 200
"""Characters of a failed call's result."""

REASONING_SHARE: Final = 0.9
TEXT_SHARE: Final = 0.55
LONE_DELTA_SHARE: Final = 0.1
"""Share of the windows that end in a delta which is not packed."""
TWO_CALLS_SHARE: Final = 0.12
REASONING_ROWS, TEXT_ROWS, ARGUMENT_ROWS = 18, 5, 7
"""Mean packed rows of a block, beside the first."""
REASONING_WINDOW_MS, TEXT_WINDOW_MS, ARGUMENT_WINDOW_MS = 196, 190, 180
TOOL_MS: Final = 120
"""Median of the time that a tool takes."""
WRITE_BUFFER: Final = 1 << 18


def new_id(numbers: random.Random) -> str:
    """Return an id as the harness makes them."""
    return str(uuid.UUID(int=numbers.getrandbits(128), version=4))


class LogFile:
    """A log on disk: one frame for each durable batch of lines, the header alone in the first."""

    def __init__(self, path: Path, compressor: zstandard.ZstdCompressor, header: str) -> None:
        self.buffer = [header]
        self.frames = self.lines = self.raw_bytes = self.bytes = 0
        self._path = path
        self._compressor = compressor
        self._last_frame = 0
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("wb", buffering=WRITE_BUFFER)
        self.flush()

    def flush(self) -> None:
        """Write the buffered lines as a frame, if there are any."""
        if not self.buffer:
            return
        data = ("\n".join(self.buffer) + "\n").encode()
        compressing = self._compressor.compressobj()
        frame = compressing.compress(data) + compressing.flush()
        self._file.write(frame)
        self.frames += 1
        self.lines += len(self.buffer)
        self.raw_bytes += len(data)
        self.bytes += len(frame)
        self._last_frame = len(frame)
        self.buffer = []

    def close(self, time_ms: int, torn: float = 0.0) -> None:
        """End the log at a time; `torn` is the share of its last frame that a crash took."""
        self.flush()
        self._file.close()
        if torn:
            self.bytes -= max(1, int(self._last_frame * torn))
            os.truncate(self._path, self.bytes)
        os.utime(self._path, ns=(time_ms * 1_000_000, time_ms * 1_000_000))


class ToolCall(NamedTuple):
    """A call that the model asked for."""

    id: str
    name: str
    arguments: str


class AgentLog:
    """One agent at work: a seq, a clock, and the steps of its turns, written to its log."""

    def __init__(self, file: LogFile, pools: Pools, numbers: random.Random, time_ms: int, *, v4: bool) -> None:
        self.file = file
        self.time = time_ms
        self.error_rate = 0.0
        self.seq = self.turn = self.step = 0
        self.events = 0
        """Events, packed rows counted as what they hold."""
        self.calls = self.errors = 0
        self.captured: list[str] | None = None
        """Lines written since somebody began to capture them."""
        self._pools = pools
        self._numbers = numbers
        self._v4 = v4
        self._stream: list[str] = []

    # ------------------------------------------------------------------ lines

    def event(self, kind: str, data: str, tail: str = "") -> None:
        """Write an event; `tail` is what follows its data."""
        self._line(f'{{"type":"{kind}","seq":{self.seq},"time":{self.time},"data":{data}{tail}}}')
        self.seq += 1
        self.events += 1

    def inherit(self, lines: Sequence[str], seq: int) -> None:
        """Begin with a copy of the parent's events, as a fork does."""
        self.file.buffer.extend(lines)
        self.seq = seq
        self.events += seq

    def inbox(self, lane: str, content: str, source: str, message: str) -> str:
        """Put a message into the agent's inbox, and return it as the step that claims it will show it."""
        shown = f'{{"content":{content},"source":{source},"role":"user","id":"{message}"}}'
        self.event("agent/inbox/spliced", f'{{"target":"{lane}","start":0,"inserted":[{shown}]}}')
        return shown

    def prompt(self) -> str:
        """Put a person's prompt into the inbox."""
        text = self._numbers.choice(self._pools.messages)
        return self.inbox("next-turn", f'[{{"type":"text","text":"{text}"}}]', '{"kind":"user"}', new_id(self._numbers))

    def claim(self, lane: str) -> None:
        """Take the oldest message out of a lane of the inbox."""
        self.event("agent/inbox/spliced", f'{{"target":"{lane}","start":0,"removedCount":1,"inserted":[]}}')

    def request_header(self) -> None:
        """Write what the model is asked with."""
        system = self._numbers.choice(self._pools.system_prompts)
        self.event("request/header", f'{{{REQUEST},"system":"{system}"}}')

    def start_turn(self) -> None:
        """Begin a turn."""
        self.turn += 1
        self.step = 0
        self.event("turn/start", f'{{"turn":{self.turn}}}')

    def end_turn(self) -> None:
        """End the turn, durably."""
        self.event("turn/end", f'{{"turn":{self.turn},"reason":{{"kind":"completed"}},"steps":{self.step}}}')
        self.file.flush()

    def _line(self, text: str) -> None:
        self.file.buffer.append(text)
        if self.captured is not None:
            self.captured.append(text)

    def _chunk(self, body: str) -> None:
        if self._v4:
            self._stream.append(f'{{"type":"chunk","time":{self.time},"chunk":{body}}}')
            self.events += 1
            return
        self.event("assistant/chunk", f'{{"turn":{self.turn},"step":{self.step},"chunk":{body}}}')

    def _packed(self, kind: str, fields: str, count: int) -> None:
        """Write a packed row of `count` deltas."""
        if self._v4:
            self._stream.append(f'{{"type":"{kind}","time0":{self.time},{fields}}}')
        else:
            data = f'{{"turn":{self.turn},"step":{self.step},{fields}}}'
            self._line(f'{{"type":"{kind}","seq0":{self.seq},"time0":{self.time},"data":{data}}}')
            self.seq += count
        self.events += count

    def _window(self, time_ms: int) -> None:
        """Let the time of one write window pass."""
        self.time += time_ms
        if not self._v4:
            self.file.flush()

    # ------------------------------------------------------------------ steps

    def work(self, incoming: Sequence[str] = (), *, final: bool = False) -> None:
        """Take one step: read what came in, think, perhaps say something, call tools unless it is the final one."""
        numbers = self._numbers
        self._begin_step(incoming)
        first = self.seq
        content: list[str] = []
        if numbers.random() < REASONING_SHARE:
            content.append(self._reasoning(len(content)))
        if numbers.random() < TEXT_SHARE or final:
            content.append(self._text(len(content)))
        calls: list[ToolCall] = []
        if not final:
            for _ in range(2 if numbers.random() < TWO_CALLS_SHARE else 1):
                call, block = self._ask_for_call(len(content), len(calls))
                content.append(block)
                calls.append(call)
        self._finish_message(content, first, final=final)
        for call in calls:
            self._run(call)
        self.event("step/end", f'{{"turn":{self.turn},"step":{self.step}}}')

    def _begin_step(self, incoming: Sequence[str]) -> None:
        self.step += 1
        self.time += self._numbers.randint(2, 15)
        self.event("step/start", f'{{"turn":{self.turn},"step":{self.step}}}')
        for message in incoming:
            self.event("user/message", message, f",{APPEND}")
        self.file.flush()
        self.time += self._numbers.randint(300, 2500)

    def _pick(self, pool: Sequence[T]) -> T:
        return pool[int(self._numbers.random() * len(pool))]

    def _rows(self, mean: int) -> range:
        return range(1 + int(self._numbers.expovariate(1 / mean)))

    def _reasoning(self, index: int) -> str:
        self._chunk(f'{{"type":"block-start","index":{index},"blockType":"reasoning"}}')
        for _ in self._rows(REASONING_ROWS):
            row = self._pick(self._pools.reasoning)
            self._packed("reasoning-chunks", f'"index":{index},{row.fields}', row.deltas)
            self._window(REASONING_WINDOW_MS)
            if self._numbers.random() < LONE_DELTA_SHARE:
                word = self._pick(self._pools.words)
                self._chunk(f'{{"type":"reasoning-delta","index":{index},"text":" {word}"}}')
        return self._end_block(index, f'{{"type":"reasoning","text":"{self._pick(self._pools.blocks)}"}}')

    def _text(self, index: int) -> str:
        self._chunk(f'{{"type":"block-start","index":{index},"blockType":"text"}}')
        for _ in self._rows(TEXT_ROWS):
            row = self._pick(self._pools.text_chunks)
            self._packed("text-chunks", f'"index":{index},{row.fields}', row.deltas)
            self._window(TEXT_WINDOW_MS)
        return self._end_block(index, f'{{"type":"text","text":"{self._pick(self._pools.blocks)}"}}')

    def _ask_for_call(self, index: int, number: int) -> tuple[ToolCall, str]:
        call_id = f"call_{number:02d}_{self._numbers.getrandbits(96):024x}"
        name = self._pick(TOOLS)
        named = f'"id":"{call_id}","name":"{name}"'
        self._chunk(f'{{"type":"block-start","index":{index},"blockType":"tool-call"}}')
        self._chunk(f'{{"type":"tool-call-delta","index":{index},{named},"argumentsDelta":""}}')
        for _ in self._rows(ARGUMENT_ROWS):
            row = self._pick(self._pools.argument_chunks)
            self._packed("tool-call-chunks", f'"index":{index},{row.gaps}{named},{row.fields}', row.deltas)
            self._window(ARGUMENT_WINDOW_MS)
        call = ToolCall(call_id, name, f'{{\\"value\\": \\"{self._pick(self._pools.arguments)}\\"}}')
        return call, self._end_block(index, f'{{"type":"tool-call",{named},"arguments":"{call.arguments}"}}')

    def _end_block(self, index: int, block: str) -> str:
        self._chunk(f'{{"type":"block-end","index":{index},"block":{block}}}')
        return block

    def _finish_message(self, content: Sequence[str], first: int, *, final: bool) -> None:
        """Write the finished message of a step whose stream began at seq `first`."""
        given, said = self._numbers.randint(80, 9000), self._numbers.randint(5, 900)
        usage = (
            f'{{"inputTokens":{given},"outputTokens":{said},"cacheReadTokens":{given * 3},'
            f'"reasoningTokens":{said // 2}}}'
        )
        self._chunk(f'{{"type":"usage","usage":{usage}}}')
        self._chunk(f'{{"type":"finish","reason":{{"kind":"{"stop" if final else "tool-calls"}"}}}}')
        self.time += 1
        stream, sources = "", ""
        if self._v4:
            stream = f',"stream":[{",".join(self._stream)}]'
            self._stream = []
        else:
            sources = f',"sourceEventSeqs":[{",".join(map(str, range(first, self.seq)))}]'
        message = f'"role":"assistant","content":[{",".join(content)}],{MODEL},"id":"{new_id(self._numbers)}"'
        self.event(
            "assistant/message",
            f'{{"turn":{self.turn},"step":{self.step},"message":{{{message}}},"usage":{usage}{stream}}}',
            f"{sources},{APPEND}",
        )

    def _run(self, call: ToolCall) -> None:
        """Write a call, durably, and its result."""
        self.time += 1
        called = self.seq
        self.event(
            "tool/call",
            f'{{"turn":{self.turn},"step":{self.step},"callId":"{call.id}","name":"{call.name}",'
            f'"arguments":"{call.arguments}"}}',
        )
        self.file.flush()
        self.time += max(1, int(self._numbers.lognormvariate(0, 1.6) * TOOL_MS))
        text = self._pick(self._pools.results)
        failed = self._numbers.random() < self.error_rate
        self.calls += 1
        self.errors += failed
        error = ""
        if failed:
            name, code = self._pick(ERRORS)
            error = f',"error":{{"name":"{name}","code":"{code}"}}'
            text = f"Error: {text[:ERROR_TEXT]}".rstrip("\\")
        message = self._result(call.id, f'[{{"type":"text","text":"{text}"}}]', failed=failed)
        self.event(
            "tool/result",
            f'{{"turn":{self.turn},"step":{self.step},"message":{{{message},"id":"{new_id(self._numbers)}"}}{error}}}',
            f',"sourceEventSeqs":[{called}],{APPEND}',
        )

    def _result(self, call: str, content: str, *, failed: bool) -> str:
        """Return the fields of a result's message, its id left out: v4 has no block around the content."""
        source = f'"source":{{"kind":"tool","callId":"{call}"}}'
        if self._v4:
            flag = ',"isError":true' if failed else ""
            return f'"role":"tool",{source},"toolCallId":"{call}","content":{content}{flag}'
        flag = "true" if failed else "false"
        block = f'{{"type":"tool-result","toolCallId":"{call}","content":{content},"isError":{flag}}}'
        return f'{source},"content":[{block}],"role":"user"'
