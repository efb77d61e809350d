"""Jury runs for tests of their evidence: hand-made logs with times, framing and live jurors, and runs of the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jury_runs
import zstandard
from a2a_trust.backfill import Options, Summary, run
from jurylogs import Log, opinion
from jurylogs import actor as double

from a2a_trust.jury.trust import freeze
from a2a_trust.sources import jury_events as je
from a2a_trust.sources.jury import JurySource
from a2a_trust.store import TrustStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

T0: Final = 1_790_000_000_000
"""Time of the first event of a run, ms."""
STEP: Final = 1000
"""From one event to the next, ms."""
TEXT: Final = "the bow door was open and nobody saw it"


def actor(seat: str, part: je.Part = "juror", **more: Any) -> je.Actor:  # noqa: ANN401 - any field
    """Somebody live who is asked."""
    values = {"persona": f"{seat} asks\n  twice", "provider": "acme", "model": "m-1", "fixture": False} | more
    return double(seat, part, **values)


CAST: Final = (actor("chief", "foreperson"), actor("ada"), actor("ben"))
JUDGES: Final = (actor("strict", model="s"), actor("kind", model="k"))


class Run(Log):
    """A log whose events come a second after each other, in frames of a few lines."""

    def __init__(
        self,
        preset: je.Preset = "tribunal",
        cast: Iterable[je.Actor] = CAST,
        *,
        start: int = T0,
        **more: Any,  # noqa: ANN401
    ) -> None:
        """Open the run at a time."""
        self.now = start - STEP
        name = more.setdefault("run", "run-1")
        more.setdefault("hearing", je.sha256(name))
        super().__init__(preset, cast, **more)

    def add(self, event: je.Event) -> je.Event:
        """Add an event a step later."""
        event.time = self.now = self.now + STEP
        self.events.append(event)
        return event

    def vote(self, seat: str, step: je.Step, vote: str = "accept", **more: Any) -> None:  # noqa: ANN401 - any field
        """Add a verdict, a baseline or a position."""
        self.answer(seat, step, opinion(vote, 50), **more)

    def quote(self, seat: str, status: je.CitationStatus, quote: str = TEXT[4:17], **more: Any) -> None:  # noqa: ANN401
        """Add a citation of an attempt at a verdict."""
        attempt, number = more.pop("attempt", 1), more.pop("number", 0)
        key = je.key_of("citation", self._item, None, "verdict", seat, f"0.{attempt}", number)
        values = {"source": "E1", "start": 4, "end": 4 + len(quote), "text": je.sha256(TEXT)} | more
        self.add(
            je.Cited(key=key, time=0, item=self._item, step="verdict", actor=seat, quote=quote, status=status, **values)
        )

    @property
    def raw(self) -> list[bytes]:
        """The lines of the log."""
        head, lines = je.NO_HASH, []
        for event in self.events:
            line, head = je.line_of(event, head)
            lines.append(line)
        return lines

    def write(self, folder: Path, lines: int = 4) -> Path:
        """Write the log into the folder of its run."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / je.LOG_NAME).write_bytes(framed(self.raw, lines))
        return folder


def frame(data: bytes) -> bytes:
    """One frame, with its checksum."""
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


def framed(lines: Sequence[bytes], size: int = 4) -> bytes:
    """Lines in frames of so many each."""
    return b"".join(frame(b"".join(lines[at : at + size])) for at in range(0, len(lines), size))


def lines_of(data: bytes) -> list[bytes]:
    """The lines of a log that is whole, each with its end."""
    with zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True) as reader:
        return reader.read().splitlines(keepends=True)


def ingest(home: Path, *paths: Path, fixtures: bool = False) -> Summary:
    """Read the runs below folders into a home, as one run of the command does."""
    with TrustStore(home) as store:
        return run(store, {"jury": JurySource()}, Options(paths=paths, jobs=1, fixtures=fixtures), {})


def hear(folder: Path, preset: je.Preset, *, home: Path | None = None, **options: Any) -> je.RunEnded:  # noqa: ANN401
    """Let the engine hear the case that comes with a preset, with what a home knows of the cast."""
    mode = options.pop("mode", "lead-only")
    cast = jury_runs.opened(preset, **{name: value for name, value in options.items() if name != "providers"}).cast
    return jury_runs.run(folder, preset, trust=freeze(home, mode, cast), **options)
