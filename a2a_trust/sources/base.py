"""What every source of session logs offers, and how sources are found.

A source reads one log from a cursor and yields facts. It knows nothing of other logs, of agents or of reputation.
Third parties add a source through the entry point group `a2a_trust.sources`.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from msgspec import Struct, field

from a2a_trust.facts import AnyFact, Failure, LogHeader

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping
    from pathlib import Path

GROUP = "a2a_trust.sources"
PLACES_KEPT = 20
"""Places remembered for each reason; the count goes on."""


class LogFile(Struct, frozen=True, kw_only=True):
    """One log on disk, as it was when it was found."""

    source: str
    path: str
    gen: int
    size: int
    mtime_ns: int
    inode: int


class Skips(Struct):
    """What was not used, by reason, each with the first places where it was met."""

    counts: dict[str, int] = field(default_factory=dict)
    places: dict[str, list[str]] = field(default_factory=dict)

    def add(self, reason: str, place: str = "", count: int = 1) -> None:
        """Count something that was skipped at a place a person can find; the same place counts once."""
        known = self.places.setdefault(reason, [])
        if place and place in known:
            return
        self.counts[reason] = self.counts.get(reason, 0) + count
        if place and len(known) < PLACES_KEPT:
            known.append(place)

    def merge(self, other: Skips) -> None:
        """Add the counts and places of another part of the run."""
        for reason, count in other.counts.items():
            self.add(reason, count=count)
        for reason, places in other.places.items():
            known = self.places[reason]
            known.extend(places[: PLACES_KEPT - len(known)])


class LogPart(Struct, kw_only=True):
    """What one reading of a file gave of one log in it."""

    header: LogHeader
    facts: list[AnyFact] = field(default_factory=list)
    torn_facts: list[AnyFact] = field(default_factory=list)
    """Facts from behind the cursor, where the file's last frame is not whole yet: they will be read again."""


class Reading(Struct, kw_only=True):
    """What one reading of a file gave: one log, or several where a harness writes them into one file.

    Every line is in exactly one of the `facts` of a log, `torn_facts` (more than one fact may come from a line),
    `irrelevant`, `inherited` or `skips`; `lines` counts them all.
    """

    logs: list[LogPart]
    cursor: bytes
    """Where to go on; opaque to everybody but the source."""
    restarted: bool
    """Read from the start, although a cursor was given: the log is another one now."""
    lines: int = 0
    total_lines: int = 0
    """Whole lines in the log, those before the cursor included."""
    used: int = 0
    irrelevant: int = 0
    """Lines of known kinds that cannot matter."""
    inherited: int = 0
    """Lines that are copies: of a fork's parent, or of another line of the file."""
    undated: int = 0
    """Lines, among the used ones, that stand before the log's first valid time."""
    bytes_read: int = 0
    skips: Skips = field(default_factory=Skips)


class LogUnreadableError(Exception):
    """A log that cannot be read at all. The message says why, `reason` names the kind."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Source(Protocol):
    """The reader of one log format."""

    name: str

    def default_roots(self, environ: Mapping[str, str]) -> list[Path]:
        """Return the folders in which this harness keeps its logs, whether they exist or not."""
        ...

    def discover(self, root: Path, skips: Skips) -> Iterator[list[LogFile]]:
        """Yield for each session found below a folder (or for one file) its candidate logs, best first."""
        ...

    def header(self, log: LogFile) -> LogHeader:
        """Return what tells a file from all others and is the same in each of its copies, as `session`.

        For a file that is one session's log that is the log's header. Raises `LogUnreadableError`.
        """
        ...

    def read(self, log: LogFile, cursor: bytes | None) -> Reading:
        """Read a log from a cursor, or from its start. Raises `LogUnreadableError`."""
        ...

    def locate(self, log: LogFile, seqs: Container[int]) -> dict[int, tuple[int | None, int]]:
        """Find events by their seq: the byte at which the line's frame begins, if any, and the number of the line.

        Raises `LogUnreadableError`.
        """
        ...

    def classify(self, tool: str, failure: Failure, refused: bool) -> str | None:  # noqa: FBT001 - see Classifier
        """Return the reason why nobody is to blame for a failed call, `None` where the agent is."""
        ...


@runtime_checkable
class Locating(Protocol):
    """What a source may offer beside: a log found by one file of it, without a walk through the folder around it."""

    def around(self, path: Path, skips: Skips) -> Iterator[list[LogFile]]:
        """Yield what `discover`, from a folder above, yields for the session that a file belongs to, if any."""
        ...


def around(source: Source, path: Path, skips: Skips) -> Iterator[list[LogFile]]:
    """Yield the candidate logs of the session that a file belongs to; a source that cannot tell looks at its folder."""
    return source.around(path, skips) if isinstance(source, Locating) else source.discover(path.parent, skips)


def load_sources(names: Iterable[str] = ()) -> dict[str, Source]:
    """Return the installed sources by name, in the order of their names; `names` limits them.

    Raises `KeyError` with the name that is not installed.
    """
    found = {entry.name: entry for entry in entry_points(group=GROUP)}
    wanted = list(names) or sorted(found)
    return {name: found[name].load()() for name in wanted}
