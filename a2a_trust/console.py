"""What all commands share: their common options, how they print, and how a failure is told.

Results go to standard output, everything else to standard error, so that `--json` can be piped. Text from logs is
printed as text, never as markup.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from a2a_trust.plain import fail, home_of, print_json
from a2a_trust.text import safe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console
    from rich.table import Table

__all__ = [
    "HomeOption",
    "JsonOption",
    "fail",
    "home_of",
    "note",
    "notes",
    "output",
    "print_json",
    "print_table",
]

HomeOption = Annotated[
    Path | None,
    typer.Option("--home", metavar="DIR", help="Where the ledger lives. Default: $A2A_TRUST_HOME, else ~/.a2a-trust."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for scripts instead of a table.")]

PIPED_WIDTH = 120
"""Columns of a table that is not printed on a terminal."""


def output() -> Console:
    """Return the console for results. It reads no markup and highlights nothing."""
    return _console(stderr=False)


def notes() -> Console:
    """Return the console for progress and remarks, on standard error."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    from rich.console import Console  # noqa: PLC0415 - slow to import, and not needed for --json

    console = Console(stderr=stderr, markup=False, highlight=False, emoji=False, soft_wrap=True)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PIPED_WIDTH
    return console


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int, str], None]]:
    """Give a function (bytes done, bytes in all, state) that shows how far a run is, where somebody is looking."""
    console = notes()
    if not console.is_terminal:
        yield lambda _done, _total, _state: None
        return
    from rich.progress import BarColumn, Progress, TextColumn  # noqa: PLC0415 - slow to import

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[state]}"))
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=None, state="")
        yield lambda done, total, state: bar.update(task, completed=done, total=total or 1, state=state)


def print_table(console: Console, table: Table) -> None:
    """Print a table within the width of the console; all else is left to the terminal to wrap."""
    console.print(table, soft_wrap=False)


def note(text: str) -> None:
    """Print a remark on standard error, safe on any terminal."""
    notes().print(safe(text))
