"""Checking a run: its log is whole, the procedure gives just these events, and each view is what the log gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from a2a_trust.jury import engine
from a2a_trust.jury.run_folder import locked, told
from a2a_trust.jury.views import NAMES, Difference, Views, log_of
from a2a_trust.sources.jury_events import LOG_NAME

if TYPE_CHECKING:
    from pathlib import Path

_WAIT_SECONDS = 30.0


class Check(Struct, frozen=True, kw_only=True, rename="camel"):
    """What was checked, and what differs."""

    folder: str
    run: str
    finished: bool
    lines: int
    head: str
    checked: tuple[str, ...]
    """What was compared with what, in words."""
    differences: tuple[Difference, ...]
    restored: tuple[str, ...]
    """Views that were written again."""

    @property
    def holds(self) -> bool:
        """Whether everything is as the log gives it."""
        return not self.differences


def check(folder: Path, *, head: str = "", restore: bool = False) -> Check:
    """Check the run in a folder; with `head`, also that its log holds a line with that hash, or one that begins so.

    With `restore`, views that are missing or differ are written again, and then do not differ.

    Raises:
        RunFolderError: There is no run.
        JuryLogError: A line of the log was edited, moved or removed, or is not what the procedure gives.
    """
    log_of(folder)
    ended = engine.replay(folder)
    views = Views(folder)
    checked = [
        f"{LOG_NAME}: {views.run.lines} lines, each chained to the one before; head {views.run.head}",
        "every event is what the procedure gives: prompts, seals, citations, ballots, outcomes"
        + ("" if ended else ", as far as the run has come"),
    ]
    differences = []
    if head:
        checked.append(f"the log holds the line {head}")
        if not views.holds(head):
            differences.append(
                Difference(file=LOG_NAME, place="head", found="no such line", expected=f"one with the hash {head}")
            )
    differing = [found for name in NAMES if (found := views.difference(name)) is not None]
    checked.append(f"{', '.join(NAMES)}: each computed again and compared byte by byte")
    restored: list[str] = []
    if restore and differing:
        with told(folder), locked(folder, _WAIT_SECONDS):
            for one in differing:
                views.write(one.file)
                restored.append(one.file)
    else:
        differences += differing
    return Check(
        folder=str(folder),
        run=views.run.opened.run,
        finished=views.run.finished,
        lines=views.run.lines,
        head=views.run.head,
        checked=tuple(checked),
        differences=tuple(differences),
        restored=tuple(restored),
    )
