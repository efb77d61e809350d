"""The source `jsonl`: the contract for every harness and script that has no source of its own.

Files of one event a line, anywhere; told from other files by their first lines. The events themselves stand in
`jsonl_events`.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import msgspec
from msgspec import Struct, field

from a2a_trust import facts
from a2a_trust.sources import json_lines
from a2a_trust.sources import jsonl_events as events
from a2a_trust.sources.base import LogFile, LogPart, LogUnreadableError, Reading, Skips

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping

_SNIFFED = 64 << 10
_DECODER: msgspec.json.Decoder[events.Event] = msgspec.json.Decoder(events.Event)


class _Envelope(Struct):
    """As much of a line as tells whether it is an event, and of which version."""

    v: int
    type: str
    session: str


_ENVELOPE = msgspec.json.Decoder(_Envelope)


class _Session(Struct, array_like=True):
    """Who the agent of a session is, as the last `session` event said."""

    key: str
    """The session among all logs."""
    agent: events.AgentType
    project: str


class _Cursor(Struct, array_like=True):
    """Where to go on in a file, and the sessions that it has introduced."""

    place: json_lines.Place = field(default_factory=json_lines.Place)
    sessions: dict[str, _Session] = field(default_factory=dict)


class JsonlSource:
    """Reader of files of events."""

    name: ClassVar[str] = events.NAME

    def default_roots(self, environ: Mapping[str, str]) -> list[Path]:
        """Return `$A2A_TRUST_EVENTS`, else the folder `events` of the home."""
        folder = environ.get("A2A_TRUST_EVENTS")
        home = environ.get("A2A_TRUST_HOME")
        return [Path(folder) if folder else (Path(home) if home else Path("~/.a2a-trust").expanduser()) / "events"]

    def discover(self, root: Path, skips: Skips) -> Iterator[list[LogFile]]:
        """Yield each file of events below a folder. Copies are read too: an event counts once."""
        return json_lines.discover(self.name, root, _holds_events, skips)

    def around(self, path: Path, skips: Skips) -> Iterator[list[LogFile]]:
        """Yield a file that `discover` would find."""
        return json_lines.around(self.name, path, _holds_events, skips)

    def header(self, log: LogFile) -> facts.LogHeader:
        """Return the file's key, its path: a file may hold any number of sessions."""
        return facts.LogHeader(source=self.name, session=f"{self.name}:{log.path}", gen=0, created=0)

    def read(self, log: LogFile, cursor: bytes | None) -> Reading:
        """Read a file from a cursor, or from its start."""
        given = msgspec.msgpack.decode(cursor, type=_Cursor) if cursor else None
        with json_lines.open_log(log) as file:
            kept = given is not None and json_lines.stands_at(file, given.place)
            now = given if given is not None and kept else _Cursor()
            start = now.place.offset
            reading = _read(json_lines.new_lines(file, now.place), now.sessions, log.path)
        reading.restarted = given is not None and not kept
        reading.bytes_read = now.place.offset - start
        reading.total_lines = now.place.lines
        reading.cursor = msgspec.msgpack.encode(now)
        return reading

    def read_lines(self, lines: Iterable[bytes], name: str) -> Reading:
        """Read events that are in no file; `name` says in remarks where they came from."""
        numbered = (json_lines.Line(number, line) for number, line in enumerate(lines, 1))
        return _read(numbered, {}, name)

    def locate(self, log: LogFile, seqs: Container[int]) -> dict[int, tuple[int | None, int]]:
        """Find events by the number that their session and name give: the line of each."""
        found: dict[int, tuple[int | None, int]] = {}
        with json_lines.open_log(log) as file:
            for line in json_lines.new_lines(file, json_lines.Place()):
                try:
                    records = _parse(line.content)
                except json_lines.LineError:
                    continue
                for fact in (fact for event in records for fact in events.facts_of(event)):
                    if fact.seq in seqs:
                        found.setdefault(fact.seq, (None, line.number))
        return found

    def classify(self, tool: str, failure: facts.Failure, refused: bool) -> str | None:  # noqa: ARG002, FBT001 - Source
        """Return the reason that the event itself gives."""
        return events.classify(failure)


def _read(lines: Iterable[json_lines.Line], sessions: dict[str, _Session], name: str) -> Reading:
    """Read each line into exactly one count."""
    reading = Reading(logs=[], cursor=b"", restarted=False)
    found: dict[str, LogPart] = {}
    for line in lines:
        if line.content is not None and not line.content.strip():
            continue
        reading.lines += 1
        try:
            records = _parse(line.content)
            for event in records:
                _take(event, sessions, found, reading, f"{name}: line {line.number}")
        except json_lines.LineError as error:
            reading.skips.add(error.reason, f"{name}: line {line.number}")
            continue
        reading.used += 1
    reading.logs = list(found.values())
    return reading


def _take(
    event: events.Event, sessions: dict[str, _Session], found: dict[str, LogPart], reading: Reading, place: str
) -> None:
    known = sessions.get(event.session)
    if isinstance(event, events.SessionEvent):
        now = _introduced(event)
        if known is not None and known.key != now.key:
            reading.skips.add("session-contradicted", place)
        known = sessions[event.session] = now
    if known is None:
        reason = "session-unknown"
        raise json_lines.LineError(reason)
    said = events.facts_of(event)
    found.setdefault(known.key, LogPart(header=_header(known))).facts.extend(said)
    reading.undated += any(not fact.time for fact in said)


def _parse(line: bytes | None) -> list[events.Event]:
    """Return the events on a line. Raises `LineError`, also for a version or a type that is not known."""
    try:
        return json_lines.parse(line, events.Event, _DECODER)  # type: ignore[arg-type]
    except json_lines.LineError as error:
        if error.reason != "wrong-shape" or line is None:
            raise
        for envelope in _envelopes(line):
            if envelope.v > events.VERSION:
                raise json_lines.LineError("newer-event") from None
            if envelope.type not in events.TYPES:
                raise json_lines.LineError("unknown-type") from None
        raise


def _envelopes(line: bytes) -> list[_Envelope]:
    try:
        return json_lines.parse(line, _Envelope, _ENVELOPE)
    except json_lines.LineError:
        return []


def _introduced(event: events.SessionEvent) -> _Session:
    """Return a session, known by its name and by all that is said of it.

    Were it known by its name alone, and two files gave that to different agents, the file that is read first would
    decide whose its events are. Nor may a file of events pass for the log of a harness.
    """
    agent = events.profile_of(event.agent)
    said = (agent.name, agent.description, agent.provider, agent.context, agent.role, event.project)
    digest = hashlib.blake2b(msgspec.json.encode(said), digest_size=6).hexdigest()
    return _Session(f"{events.NAME}/{event.session}/{digest}", event.agent, event.project)


def _header(known: _Session) -> facts.LogHeader:
    return facts.LogHeader(
        source=events.NAME,
        session=known.key,
        gen=0,
        created=0,
        cwd=known.project,
        profile=events.profile_of(known.agent),
        by_event=True,
    )


def _holds_events(path: str) -> bool:
    """Tell by its first lines whether a file holds events."""
    try:
        with json_lines.open_log(LogFile(source="", path=path, gen=0, size=0, mtime_ns=0, inode=0)) as file:
            start = file.read(_SNIFFED)
    except (LogUnreadableError, OSError):
        return False
    return any(envelope.type in events.TYPES for line in start.split(b"\n") for envelope in _envelopes(line))
