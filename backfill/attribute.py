"""From what reading the logs gave to rows, and to what must be remembered of each file.

A file is mostly one session's log; some harnesses write several logs into one file, and say in one log who the agent
of another is. What cannot be attributed yet waits in the file's entry until the log that it waits for was read.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import msgspec
from a2a_trust.backfill.extract import Extract, decode_states

from a2a_trust.attribution import RULES_VERSION, Attribution
from a2a_trust.facts import LogHeader
from a2a_trust.log_state import Finding, LogState
from a2a_trust.store.cache import LogEntry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from a2a_trust.model import Row
    from a2a_trust.store.cache import Cache


PARTIAL = -RULES_VERSION
"""Rules under which a log was read, but for what test doubles did in it."""


class _Logs(dict[str, LogState]):
    """The states of logs by session: those just read, and on demand those remembered."""

    def __init__(self, cache: Cache) -> None:
        super().__init__()
        self._cache = cache

    def get(self, session: str, default: LogState | None = None) -> LogState | None:  # type: ignore[override]
        if session not in self:
            entry = self._cache.log(session)
            if entry is None:
                return default
            self[session] = decode_states(entry.live or entry.state)[0]
        return self[session]


def attribute(cache: Cache, extracts: Sequence[Extract]) -> tuple[list[Row], list[LogEntry]]:
    """Return the rows that can be made now, and what to remember of each file that was read or waited."""
    logs = _Logs(cache)
    entries: dict[str, LogEntry] = {}
    for done in extracts:
        for state in decode_states(done.live or done.state):
            logs[state.header.session] = state
            for entry in _introduced(logs, state):
                entries[entry.session] = entry
    attribution = Attribution(logs)
    rows: list[Row] = []
    for done in extracts:
        entries[done.job.session] = _entry(cache, done, attribution, rows)
    pending = [*(done.job.session for done in extracts), *entries]
    seen = set(entries)
    while pending:
        for entry in cache.waiting_below(pending.pop()):
            if entry.session in seen:
                continue
            seen.add(entry.session)
            states = decode_states(entry.state)
            for state in states:
                state.parked = attribution.rows(state, state.parked)[1]
            live = decode_states(entry.live or entry.state)
            for state in live:
                made, state.parked = attribution.rows(state, state.parked)
                rows += made
            entries[entry.session] = _remembered(entry, attribution, states, live)
            pending.append(entry.session)
    return rows, list(entries.values())


def _introduced(logs: _Logs, state: LogState) -> Iterator[LogEntry]:
    """Yield an entry for each agent that a log without sequence numbers introduces for the first time."""
    if not state.header.by_event:
        return
    for name, profile in state.roster.items():
        if logs.get(name) is not None:
            continue
        header = LogHeader(source=state.header.source, session=name, gen=0, created=0)
        logs[name] = LogState(header=header, roster={name: profile})
        yield LogEntry(
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
            state=msgspec.msgpack.encode([logs[name]]),
            live=b"",
        )


def _entry(cache: Cache, done: Extract, attribution: Attribution, rows: list[Row]) -> LogEntry:
    """Add the rows that a file gives now, and return what to remember of it."""
    known = cache.log(done.job.session)
    earlier = {state.header.session: state.parked for state in decode_states(known.state)} if known else {}
    states = decode_states(done.state)
    live = decode_states(done.live or done.state)
    for number, state in enumerate(live):
        new = done.findings[number] if number < len(done.findings) else []
        torn = done.torn_findings[number] if done.torn_findings else []
        before = earlier.get(state.header.session, [])
        made, waiting = attribution.rows(state, _without_repeats([*before, *state.parked, *new]))
        torn_made, torn_waiting = attribution.rows(state, torn)
        rows += made + torn_made
        state.parked = [*waiting, *torn_waiting]
        if number < len(states):
            states[number].parked = waiting
    log = done.job.log
    entry = LogEntry(
        session=done.job.session,
        source=log.source,
        parents="[]",
        path=log.path,
        gen=log.gen,
        size=log.size,
        mtime_ns=log.mtime_ns,
        inode=log.inode,
        rules=PARTIAL if done.partial else RULES_VERSION,
        lines=done.total_lines,
        role="",
        waiting=0,
        cursor=done.cursor,
        state=b"",
        live=done.live,
    )
    return _remembered(entry, attribution, states, live)


def _without_repeats(findings: list[Finding]) -> list[Finding]:
    """Return findings without later ones about the same event.

    Those that waited are looked up in what is remembered: a log that is read from its start again has forgotten them.
    """
    found: dict[tuple[str, str, str, str | None], Finding] = {}
    for finding in findings:
        found.setdefault((finding.id, finding.kind, finding.actor, finding.details.message), finding)
    return list(found.values())


def _remembered(entry: LogEntry, attribution: Attribution, states: list[LogState], live: list[LogState]) -> LogEntry:
    """Return a file's entry with the states of its logs, the roles of their agents and what still waits."""
    parked = [finding for state in live for finding in state.parked]
    parents = {finding.holder for finding in parked}
    parents |= {name for state in live if state.parked for name in (state.header.holder, state.header.parent)}
    return entry._replace(
        parents=json.dumps(sorted(parents - {""})),
        role=" ".join(_role(attribution, state) for state in live),
        waiting=len(parked),
        state=msgspec.msgpack.encode(states),
        live=msgspec.msgpack.encode(live) if entry.live else b"",
    )


def _role(attribution: Attribution, log: LogState) -> str:
    """Return the role of a log's agent, or why it has none."""
    identity = attribution.identify(log) if log.started or not log.header.by_event else None
    if identity is not None:
        return identity.profile.role
    if log.header.nobodys:
        return ""
    return "waiting" if log.parked else "empty"


def sessions_by_role(entry: LogEntry) -> Counter[str]:
    """Count the sessions in a file by the role of their agent; `waiting` or `empty` where there is none yet."""
    return Counter(entry.role.split())
