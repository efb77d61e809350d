"""Which logs there are, and which copy of each session is read.

A session may have logs of several format generations in one folder, and copies in several places. It is one session:
the highest generation whose header can be read, in the copy with the most whole lines, is its log.
"""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING

from msgspec import Struct, field

from a2a_trust.sources.base import LogFile, LogUnreadableError, Skips, Source
from a2a_trust.store.cache import LogStamp

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from a2a_trust.store.cache import Cache


FEW_LOGS = 100
"""From so many questions on, all that is remembered of logs is read at once."""


class FoundLog(Struct, frozen=True):
    """The log of a session, and what is remembered of that session."""

    session: str
    log: LogFile
    known: LogStamp | None
    stale: bool = False
    """A copy that is worse than the one that was read before, wherever that is now: there is nothing to read."""


class Stamps:
    """What is remembered of logs: asked for one by one while few are wanted, and all at once where many are."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._asked = 0
        self._by_session: dict[str, LogStamp | None] = {}
        self._by_path: dict[str, LogStamp] = {}

    def of(self, session: str) -> LogStamp | None:
        """Return what is remembered of a session's log."""
        if session not in self._by_session and not self._has_all():
            self._by_session[session] = self._cache.log_stamp(session)
        return self._by_session.get(session)

    def at(self, path: str) -> LogStamp | None:
        """Return what is remembered of the log at a path."""
        if self._has_all():
            return self._by_path.get(path)
        stamp = self._cache.log_stamp_at(path)
        if stamp is not None:
            self._by_session[stamp.session] = stamp
        return stamp

    def note(self, stamp: LogStamp) -> None:
        """Note what is remembered from now on."""
        self._by_session[stamp.session] = stamp

    def _has_all(self) -> bool:
        self._asked += 1
        if self._asked == FEW_LOGS:
            self._by_session.update((stamp.session, stamp) for stamp in self._cache.log_stamps())
            self._by_path = {stamp.path: stamp for stamp in self._by_session.values() if stamp is not None}
        return self._asked >= FEW_LOGS


class Found(Struct):
    """What discovery found."""

    known: Stamps
    places: list[str] = field(default_factory=list)
    """Folders and files that were looked at, existing or not."""
    files: int = 0
    logs: list[FoundLog] = field(default_factory=list)
    skips: Skips = field(default_factory=Skips)


def places_of(
    sources: Mapping[str, Source], paths: Sequence[Path], environ: Mapping[str, str]
) -> list[tuple[Source, Path]]:
    """Return where to look: the given paths with every source, else each source's own folders."""
    if paths:
        return [(source, path) for path in paths for source in sources.values()]
    return [(source, root) for source in sources.values() for root in source.default_roots(environ)]


def discover(places: Sequence[tuple[Source, Path]], cache: Cache, exclude: Sequence[str] = ()) -> Found:
    """Find the log of each session below the given places."""
    found = Found(Stamps(cache))
    copies: dict[str, list[tuple[Source, FoundLog]]] = {}
    seen: set[str] = set()
    for source, place in places:
        if str(place) not in found.places:
            found.places.append(str(place))
        if not place.exists():
            continue
        for candidates in source.discover(place.absolute(), found.skips):
            found.files += len(candidates)
            kept = [log for log in candidates if not _excluded(log.path, exclude) and log.path not in seen]
            seen.update(log.path for log in candidates)
            if len(kept) < len(candidates):
                found.skips.add("excluded", count=len(candidates) - len(kept))
            chosen = _readable(source, kept, found)
            if chosen is not None:
                copies.setdefault(chosen.session, []).append((source, chosen))
    for session in sorted(copies):
        best, *others = _best_first(copies[session], cache)
        for other in others:
            found.skips.add("copy-of-session", f"{other.log.path}: {best.log.path} is read instead")
        found.logs.append(best)
    return found


def _excluded(path: str, patterns: Sequence[str]) -> bool:
    shapes = ("{}", "*/{}", "*/{}/*")
    return any(fnmatch.fnmatch(path, shape.format(pattern)) for pattern in patterns for shape in shapes)


def _readable(source: Source, candidates: Sequence[LogFile], found: Found) -> FoundLog | None:
    """Return the best candidate whose header can be read; count the others that stand before it."""
    for log in candidates:
        known = found.known.at(log.path)
        if known is not None and (known.size, known.mtime_ns) == (log.size, log.mtime_ns):
            return FoundLog(known.session, log, known)
        try:
            header = source.header(log)
        except LogUnreadableError as error:
            found.skips.add(error.reason, f"{log.path}: {error}")
            continue
        return FoundLog(header.session, log, found.known.of(header.session))
    return None


def _best_first(copies: list[tuple[Source, FoundLog]], cache: Cache) -> list[FoundLog]:
    """Sort copies of one session: newest generation, then the most whole lines.

    Sizes say little: a log that was killed can be longer than the same log after its repair. So where there is more
    than one copy, now or in an earlier run, their lines are counted, once.
    """
    _, first = copies[0]
    known = first.known
    if len(copies) == 1 and (known is None or known.path == first.log.path):
        return [first]
    ranked = []
    for source, copy in copies:
        is_known = known is not None and known.path == copy.log.path
        ranked.append((-copy.log.gen, -_lines(source, copy.log, cache), not is_known, copy.log.path, copy))
    ranked.sort(key=lambda rank: rank[:4])
    gen, lines, _, path, best = ranked[0]
    if known is not None and path != known.path and (gen, lines) >= (-known.gen, -known.lines):
        best = FoundLog(best.session, best.log, known, stale=True)
    return [best, *(rank[4] for rank in ranked[1:])]


def _lines(source: Source, log: LogFile, cache: Cache) -> int:
    """Return how many whole lines a copy holds."""
    lines = cache.copy_lines(log.path, log.size, log.mtime_ns)
    if lines is None:
        try:
            lines = source.read(log, None).lines
        except LogUnreadableError:
            lines = 0
        cache.save_copy(log.path, log.size, log.mtime_ns, lines)
    return lines
