"""A copy of a team in which something happens to one log, and what must stay whole."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from a2a_trust.backfill.run import LINE_SKIPS
from dshlog import decode, encode
from homes import FIXTURES, agents_of, evidence_by_session, ingest, rows_of, scratch
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_trust.backfill import Summary

    from a2a_trust.model import Row

T = 1796100000000
VICTIMS = {
    "v0": "a-team/sessions/--home-dev-project--/0621a09e-7f05-46cc-8d34-9b126e8ef0cd/session.jsonl.zstd",
    "v4": "v4-a-team/sessions/--home-dev-project--/418ae9aa-e69d-43cd-b128-5a7b0b2a9576/session.v4.jsonl.zstd",
    "raw": "g-raw/sessions/--home-dev-project--/1d680612-d586-4934-87da-2b312cad852d/session.jsonl",
}
"""A teammate's log in each shape. Its team is what may not be harmed."""
LINES_IN_A_FRAME = 7
Lines = list[bytes]


class Clean(NamedTuple):
    """What a team gives as long as nothing is wrong."""

    agents: bytes
    rows: list[Row]
    lines: int


@cache
def clean_run(folder: str) -> Clean:
    """A run over a folder of the fixtures as it is."""
    with scratch() as home:
        summary = ingest(Path(home), FIXTURES / folder)
        return Clean(agents_of(Path(home)), rows_of(Path(home)), summary.lines)


class Tree:
    """A copy of a team's logs, and the one among them that something happens to."""

    def __init__(self, root: Path, place: str) -> None:
        """Copy the whole folder of the fixtures in which the victim stands."""
        folder, _, inner = place.partition("/")
        self.logs = root / "logs"
        self.home = root / "home"
        self.victim = self.logs / inner
        self.session = self.victim.parent.name
        self.clean = clean_run(folder)
        shutil.copytree(FIXTURES / folder, self.logs, copy_function=shutil.copyfile)

    def lines(self) -> Lines:
        """The victim's lines, without their ends."""
        data = self.victim.read_bytes()
        return (decode(data) if self.victim.suffix == ".zstd" else data).split(b"\n")[:-1]

    def write(self, lines: Lines) -> None:
        """Write the victim anew, the first line in a frame of its own."""
        self.victim.write_bytes(packed(lines) if self.victim.suffix == ".zstd" else b"".join(ended(lines)))

    def run(self) -> Summary:
        """Run over the tree as it is now."""
        return ingest(self.home, self.logs)

    def others_are_whole(self) -> bool:
        """Whether every other session gave all that it gives in a clean run."""
        return others_are_whole(self.home, self.clean, self.session)

    def tells_of(self, summary: Summary, place: object = None) -> bool:
        """Whether the summary names a place, any in the victim unless told otherwise, where something was skipped."""
        start = str(place or self.victim)
        return any(told.startswith(start) for places in summary.skipped_at.values() for told in places)


def others_are_whole(home: Path, clean: Clean, victim: str) -> bool:
    """Whether every session of a clean run but one gave all that it gives there."""
    expected = evidence_by_session(clean.rows)
    found = evidence_by_session(rows_of(home))
    return all(found.get(session) == rows for session, rows in expected.items() if session != victim)


def ended(lines: Sequence[bytes]) -> Lines:
    """Lines with their ends."""
    return [line + b"\n" for line in lines]


def packed(lines: Lines) -> bytes:
    """Lines as a compressed log."""
    rest = [lines[at : at + LINES_IN_A_FRAME] for at in range(1, len(lines), LINES_IN_A_FRAME)]
    return encode(ended(batch) for batch in [lines[:1], *rest])


def first(lines: Lines, kind: bytes) -> int:
    """The index of the first line of a kind."""
    return next(at for at, line in enumerate(lines) if line.startswith(b'{"type":"%s"' % kind))


def counted(summary: Summary) -> int:
    """The lines of a run that are in some count."""
    skipped = sum(summary.skipped.get(reason, 0) for reason in LINE_SKIPS)
    return summary.lines_used + summary.lines_irrelevant + summary.lines_inherited + skipped


DEEP = 100_000
places = st.integers(0, 1 << 20)
