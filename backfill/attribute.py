"""From what reading the logs gave to rows, and to what must be remembered of each file.

A file is mostly one session's log; some harnesses write several logs into one file, and say in one log who the agent
of another is. What cannot be attributed yet waits in the file's entry until the log that it waits for was read.

What was read stands on disk, and one file after the other is attributed, those of a team together; of all others only
their places are in memory.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, Self

import msgspec
from a2a_trust.backfill.extract import Content, Extract, decode_findings, decode_states, encode_states
from a2a_trust.backfill.spool import Spool
from msgspec import Struct

from a2a_trust.attribution import RULES_VERSION, Attribution
from a2a_trust.facts import LogHeader
from a2a_trust.log_state import Finding, LogState
from a2a_trust.store.cache import LogEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import TracebackType

    from a2a_trust.backfill.spool import SortedRows

    from a2a_trust.sources.base import LogFile
    from a2a_trust.store.cache import Cache

STATES_KEPT = 32
"""States of logs that are in memory while others are attributed: those of the team that is at work."""
Places = list[list[int]]
"""Where the groups of findings of each of a file's logs stand."""


class _Kept(Struct, array_like=True):
    """What was read of a file; its content but for the findings, and where these stand."""

    content: Content
    findings: Places
    torn: Places


_KEPT = msgspec.msgpack.Decoder(_Kept)


class _File(NamedTuple):
    """A file that was read."""

    log: LogFile
    place: int
    parent: str
    lines: int
    introduces: bool
    partial: bool


class Readings:
    """What reading the logs gave, until it is said who did it."""

    def __init__(self, folder: Path) -> None:
        self._spool = Spool(folder)
        self._files: dict[str, _File] = {}
        self._holders: dict[str, tuple[str, int]] = {}
        """Logs that share a file with others: the file's session, and the log's number in it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._spool.close()

    def add(self, log: LogFile, done: Extract) -> None:
        """Keep what one file gave."""
        content = done.content
        kept = _Kept(content, self._placed(content.findings), self._placed(content.torn))
        content.findings, content.torn = [], []
        place = self._spool.append(msgspec.msgpack.encode(kept))
        self._files[done.session] = _File(log, place, done.parent, done.total_lines, done.introduces, done.partial)
        if done.logs == [done.session]:
            return
        for number, session in enumerate(done.logs):
            # Whichever is read first: of a log that stands in several files the last file's is asked.
            self._holders[session] = max((done.session, number), self._holders.get(session, ("", 0)))

    def _placed(self, logs: list[list[bytes]]) -> Places:
        return [[self._spool.append(group) for group in groups] for groups in logs]

    def __contains__(self, session: str) -> bool:
        return session in self._files

    def introducing(self) -> Iterator[Content]:
        """Yield what was read of files in which a log introduces other agents."""
        for session in sorted(self._files):
            if self._files[session].introduces:
                yield self._kept(session).content

    def by_team(self) -> Iterator[tuple[str, _File, _Kept]]:
        """Yield the files that were read, those of a team one after the other."""
        for session in sorted(self._files, key=lambda session: (self._files[session].parent or session, session)):
            yield session, self._files[session], self._kept(session)

    def groups(self, places: Places, number: int) -> Iterator[list[Finding]]:
        """Yield what was found in one of a file's logs, a group at a time."""
        for place in places[number] if number < len(places) else []:
            yield decode_findings(self._spool.read(place))

    def state(self, session: str) -> LogState | None:
        """Return the state of a log that was read."""
        holder, number = self._holders.get(session, (session, 0))
        states = self._kept(holder).content.states() if holder in self._files else []
        return states[number] if number < len(states) else None

    def _kept(self, session: str) -> _Kept:
        return _KEPT.decode(self._spool.read(self._files[session].place))


PARTIAL = -RULES_VERSION
"""Rules under which a log was read, but for what test doubles did in it."""


class _Logs(dict[str, LogState]):
    """The states of logs by session: those just read, else those remembered. Holds only the last ones asked for."""

    def __init__(self, cache: Cache, readings: Readings) -> None:
        super().__init__()
        self._cache = cache
        self._readings = readings
        self.introduced: dict[str, LogEntry] = {}
        """Agents that a log has introduced and that no log of their own says more of."""

    def remembers(self, session: str) -> bool:
        """Tell whether there is an entry under a session, or will be one."""
        return session in self._readings or session in self.introduced or self._cache.log(session) is not None

    def get(self, session: str, default: LogState | None = None) -> LogState | None:  # type: ignore[override]
        if session in self:
            return self[session]
        state = self._readings.state(session)
        if state is None:
            entry = self.introduced.get(session) or self._cache.log(session)
            if entry is None:
                return default
            state = decode_states(entry.live or entry.state)[0]
        while len(self) >= STATES_KEPT:
            del self[next(iter(self))]
        self[session] = state
        return state


def attribute(cache: Cache, readings: Readings, rows: SortedRows, remember: Callable[[LogEntry], object]) -> None:
    """Add the rows that can be made now, and tell what to remember of each file that was read or waited."""
    logs = _Logs(cache, readings)
    attribution = Attribution(logs)
    for content in readings.introducing():
        for state in content.states():
            _introduce(logs, state)
    pending = [*logs.introduced]
    for entry in logs.introduced.values():
        remember(entry)
    for session, file, kept in readings.by_team():
        pending.append(session)
        remember(_entry(cache.log(session), (session, file, kept), attribution, (readings, rows)))
    seen = set(pending)
    while pending:
        for entry in cache.waiting_below(pending.pop()):
            if entry.session in seen:
                continue
            seen.add(entry.session)
            pending.append(entry.session)
            states = decode_states(entry.state)
            for state in states:
                state.parked = attribution.rows(state, state.parked)[1]
            live = decode_states(entry.live or entry.state)
            for state in live:
                made, state.parked = attribution.rows(state, state.parked)
                rows.add(made)
            remember(_remembered(entry, attribution, states, live))


def _introduce(logs: _Logs, state: LogState) -> None:
    """Note each agent that a log without sequence numbers introduces for the first time."""
    if not state.header.by_event:
        return
    for name, profile in state.roster.items():
        if logs.remembers(name):
            continue
        header = LogHeader(source=state.header.source, session=name, gen=0, created=0)
        logs.introduced[name] = LogEntry(
            session=name,
            source=header.source,
            parents="[]",
            path="",
            gen=0,
            size=0,
            mtime_ns=0,
            inode=0,
            rules=RULES_VERSION,
            lines=0,
            role="",
            waiting=0,
            cursor=b"",
            state=encode_states([LogState(header=header, roster={name: profile})]),
            live=b"",
        )


def _entry(
    known: LogEntry | None,
    read: tuple[str, _File, _Kept],
    attribution: Attribution,
    between: tuple[Readings, SortedRows],
) -> LogEntry:
    """Add the rows that a file gives now, and return what to remember of it."""
    session, file, kept = read
    content = kept.content
    readings, rows = between
    earlier = {state.header.session: state.parked for state in decode_states(known.state)} if known else {}
    states = decode_states(content.state)
    live = content.states()
    for number, state in enumerate(live):
        before = [*earlier.get(state.header.session, []), *state.parked]
        waiting = _attributed(attribution, state, before, readings.groups(kept.findings, number), rows)
        torn = _attributed(attribution, state, [], readings.groups(kept.torn, number), rows)
        state.parked = [*waiting, *torn]
        if number < len(states):
            states[number].parked = waiting
    log = file.log
    entry = LogEntry(
        session=session,
        source=log.source,
        parents="[]",
        path=log.path,
        gen=log.gen,
        size=log.size,
        mtime_ns=log.mtime_ns,
        inode=log.inode,
        rules=PARTIAL if file.partial else RULES_VERSION,
        lines=file.lines,
        role="",
        waiting=0,
        cursor=content.cursor,
        state=b"",
        live=content.live,
    )
    return _remembered(entry, attribution, states, live)


def _attributed(
    attribution: Attribution, state: LogState, before: list[Finding], groups: Iterator[list[Finding]], rows: SortedRows
) -> list[Finding]:
    """Add the rows of what has waited, then of each group of findings; return what waits now.

    What has waited was looked up in what is remembered: a log that is read from its start again has forgotten that,
    and finds it once more.
    """
    known: dict[tuple[str, str, str, str | None], Finding] = {}
    for finding in before:
        known.setdefault(_event_of(finding), finding)
    made, parked = attribution.rows(state, known.values())
    rows.add(made)
    waiting = {_event_of(finding): finding for finding in parked}
    for group in groups:
        new = (finding for finding in group if _event_of(finding) not in known)
        made, parked = attribution.rows(state, new)
        rows.add(made)
        for finding in parked:
            waiting.setdefault(_event_of(finding), finding)
    return list(waiting.values())


def _event_of(finding: Finding) -> tuple[str, str, str, str | None]:
    """Return what two findings about one event have in common, and no others."""
    return finding.id, finding.kind, finding.actor, finding.details.message


def _remembered(entry: LogEntry, attribution: Attribution, states: list[LogState], live: list[LogState]) -> LogEntry:
    """Return a file's entry with the states of its logs, the roles of their agents and what still waits."""
    parked = [finding for state in live for finding in state.parked]
    parents = {finding.holder for finding in parked}
    parents |= {name for state in live if state.parked for name in (state.header.holder, state.header.parent)}
    return entry._replace(
        parents=json.dumps(sorted(parents - {""})),
        role=" ".join(_role(attribution, state) for state in live),
        waiting=len(parked),
        state=encode_states(states),
        live=encode_states(live) if entry.live else b"",
    )


def _role(attribution: Attribution, log: LogState) -> str:
    """Return the role of a log's agent, or why it has none."""
    identity = attribution.identify(log) if log.started or not log.header.by_event else None
    if identity is not None:
        return identity.profile.role
    if log.header.nobodys:
        return ""
    return "waiting" if log.parked else "empty"


def sessions_by_role(role: str) -> Counter[str]:
    """Count the sessions in a file by the role of their agent; `waiting` or `empty` where there is none yet."""
    return Counter(role.split())
