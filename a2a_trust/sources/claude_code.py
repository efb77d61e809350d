"""The source `claude-code`: transcripts of Claude Code, in every layout that it has written so far.

Main sessions, subagents in files of their own (beside the main file, in its folder, in workflows) or between the lines
of their parent, members of agent teams. Files are found by their names and told by their lines, and read line by line.
Nothing is ever written, and nothing is guessed: what is not understood is counted.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import msgspec
from msgspec import Struct

from a2a_trust import facts
from a2a_trust.sources import claude_agents as agents
from a2a_trust.sources import claude_lines as lines
from a2a_trust.sources import claude_results, json_lines
from a2a_trust.sources.base import LogFile, LogPart, Reading, Skips
from a2a_trust.sources.claude_streams import Reader, Streams

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

_AGENT_LOG = re.compile(r"agent-(.+)\.jsonl")
_SESSION_LOG = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\.jsonl")
_NO_LOGS = frozenset(["journal.jsonl", "history.jsonl", "session.jsonl"])
_SNIFFED = 64 << 10
"""Bytes at the start of a file with another name that tell whether it is a transcript."""
_META_LIMIT = 1 << 20


class _Cursor(Struct, array_like=True):
    """Where to go on in a file, and the logs in it as far as it was read."""

    place: json_lines.Place
    streams: Streams


class ClaudeCodeSource:
    """Reader of Claude Code transcripts."""

    name: ClassVar[str] = agents.NAME

    def __init__(self) -> None:
        self._definitions = agents.Definitions()

    def default_roots(self, environ: Mapping[str, str]) -> list[Path]:
        """Return `$CLAUDE_CONFIG_DIR/projects`, else `~/.claude/projects`."""
        config = environ.get("CLAUDE_CONFIG_DIR")
        return [(Path(config) if config else Path("~/.claude").expanduser()) / "projects"]

    def discover(self, root: Path, skips: Skips) -> Iterator[list[LogFile]]:
        """Yield each transcript below a folder. Copies are read too: an event counts once, wherever it stands."""
        return json_lines.discover(self.name, root, _is_transcript, skips)

    def around(self, path: Path, skips: Skips) -> Iterator[list[LogFile]]:
        """Yield a file that `discover` would find."""
        return json_lines.around(self.name, path, _is_transcript, skips)

    def header(self, log: LogFile) -> facts.LogHeader:
        """Return the file's key: its path, as one session may stand in many files, and many in one."""
        return facts.LogHeader(source=self.name, session=f"{self.name}:{log.path}", gen=0, created=0)

    def read(self, log: LogFile, cursor: bytes | None) -> Reading:
        """Read a file from a cursor, or from its start."""
        given = msgspec.msgpack.decode(cursor, type=_Cursor) if cursor else None
        with json_lines.open_log(log) as file:
            if given is not None and json_lines.stands_at(file, given.place):
                now, restarted = given, False
            else:
                now, restarted = _Cursor(json_lines.Place(), Streams(agent=_agent_of(log.path))), given is not None
            now.streams.kind = now.streams.kind or _kind_of(log.path)
            reader = Reader(now.streams, self._definitions, agents.config_dir(log.path))
            reading = Reading(logs=[], cursor=b"", restarted=restarted)
            start = now.place.offset
            for line in json_lines.new_lines(file, now.place):
                self._take(log, line, reader, reading)
        reading.bytes_read = now.place.offset - start
        reading.total_lines = now.place.lines
        reading.undated = reader.undated
        reading.logs = [LogPart(header=reader.header(key), facts=found) for key, found in reader.facts.items() if found]
        reading.cursor = msgspec.msgpack.encode(now)
        return reading

    def _take(self, log: LogFile, line: json_lines.Line, reader: Reader, reading: Reading) -> None:
        """Read a line into exactly one count."""
        if line.content is not None and not line.content.strip():
            return
        reading.lines += 1
        try:
            records = lines.parse(line.content)
            uses = {_known(record) and reader.take(record) for record in records}
        except json_lines.LineError as error:
            reading.skips.add(error.reason, f"{log.path}: line {line.number}")
            return
        if True in uses:
            reading.used += 1
        elif None in uses:
            reading.inherited += 1
        elif records and not any(map(_known, records)):
            reading.skips.add("unknown-type", f"{log.path}: line {line.number}")
        else:
            reading.irrelevant += 1

    def locate(self, log: LogFile, seqs: Container[int]) -> dict[int, tuple[int | None, int]]:
        """Find events by the number that their identity gives: the line of each."""
        found: dict[int, tuple[int | None, int]] = {}
        with json_lines.open_log(log) as file:
            for line in json_lines.new_lines(file, json_lines.Place()):
                try:
                    records = lines.parse(line.content)
                except json_lines.LineError:
                    continue
                for record in records:
                    seq = json_lines.seq_of(record.identity)
                    if seq in seqs:
                        found.setdefault(seq, (None, line.number))
        return found

    def classify(self, tool: str, failure: facts.Failure, refused: bool) -> str | None:  # noqa: ARG002, FBT001 - Source
        """Return the reason why nobody is to blame for a failed call."""
        return claude_results.classify(tool, failure)


def _known(line: lines.Line) -> bool:
    return isinstance(line.type, str) and line.type in lines.KNOWN


def _is_transcript(path: str) -> bool:
    """Tell by its name, else by its first lines, whether a file is a transcript."""
    name = os.path.basename(path)  # noqa: PTH119 - a path as text
    if not name.endswith(".jsonl") or name in _NO_LOGS:
        return False
    if _SESSION_LOG.fullmatch(name) or _AGENT_LOG.fullmatch(name):
        return True
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a path as text
            start = file.read(_SNIFFED)
    except OSError:
        return False
    for line in start.split(b"\n"):
        try:
            records = lines.parse(line) if line.strip() else []
        except json_lines.LineError:
            continue
        if any(_known(record) and lines.text(record.session_id) for record in records):
            return True
    return False


def _agent_of(path: str) -> str:
    """Return the id of the subagent whose log a file is, from its name."""
    match = _AGENT_LOG.fullmatch(os.path.basename(path))  # noqa: PTH119 - a path as text
    return match[1] if match else ""


def _kind_of(path: str) -> str:
    """Return the type of a subagent from the file beside its log; empty where there is none."""
    if not _agent_of(path):
        return ""
    try:
        with open(path.removesuffix(".jsonl") + ".meta.json", "rb") as file:  # noqa: PTH123 - a path as text
            meta = json_lines.scan(file.read(_META_LIMIT))
    except (OSError, json_lines.LineError):
        return ""
    return lines.text(json_lines.clean(meta[0].get("agentType"))) if meta and isinstance(meta[0], dict) else ""
