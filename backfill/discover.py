"""Which logs there are, and which copy of each session is read.

A session may have logs of several format generations in one folder, and copies in several places. It is one session:
the highest generation whose header can be read, and the longest copy, is its log. Nothing is opened for writing.
"""

from __future__ import annotations

import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from a2a_trust.sources.base import LogFile, LogUnreadableError, Skips, Source
from a2a_trust.store.cache import LogEntry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from a2a_trust.store.cache import Cache


class FoundLog(Struct, frozen=True):
    """The log that is read for a session, and what is remembered of it."""

    session: str
    log: LogFile
    known: LogEntry | None


class Found(Struct):
    """What discovery found."""

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
    found = Found()
    copies: dict[str, list[FoundLog]] = {}
    seen: set[str] = set()
    for source, place in places:
        if str(place) not in found.places:
            found.places.append(str(place))
        if not place.exists():
            continue
        for candidates in source.discover(place.absolute(), found.skips):
            found.files += len(candidates)
            kept = [log for log in candidates if not _excluded(log.path, exclude)]
            if len(kept) < len(candidates):
                found.skips.add("excluded", count=len(candidates) - len(kept))
            chosen = _readable(source, kept, cache, found.skips)
            if chosen is not None and (real := str(Path(chosen.log.path).resolve())) not in seen:
                seen.add(real)
                copies.setdefault(chosen.session, []).append(chosen)
    for session in sorted(copies):
        best, *others = _best_first(copies[session], {source.name: source for source, _ in places})
        for other in others:
            found.skips.add("copy-of-session", f"{other.log.path}: {best.log.path} is read instead")
        found.logs.append(best)
    return found


def _excluded(path: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatch(path, pattern) or fnmatch.fnmatch(path, f"*/{pattern}/*") for pattern in patterns)


def _readable(source: Source, candidates: Sequence[LogFile], cache: Cache, skips: Skips) -> FoundLog | None:
    """Return the best candidate whose header can be read; count the others that stand before it."""
    for log in candidates:
        known = cache.log_at(log.path)
        if known is not None and (known.size, known.mtime_ns) == (log.size, log.mtime_ns):
            return FoundLog(known.session, log, known)
        try:
            header = source.header(log)
        except LogUnreadableError as error:
            skips.add(error.reason, f"{log.path}: {error}")
            continue
        return FoundLog(header.session, log, cache.log(header.session))
    return None


def _best_first(copies: list[FoundLog], sources: Mapping[str, Source]) -> list[FoundLog]:
    """Sort copies of one session: newest generation, then the longest.

    Sizes on disk compare only within one encoding; where they differ, the copies are read and their lines counted.
    """
    mixed = len({Path(copy.log.path).suffix for copy in copies}) > 1

    def length(copy: FoundLog) -> int:
        if not mixed:
            return copy.log.size
        try:
            return sources[copy.log.source].read(copy.log, None).lines
        except LogUnreadableError:
            return 0

    return sorted(copies, key=lambda copy: (-copy.log.gen, -length(copy), copy.log.path))
