"""What all commands share: their common options, how they print, and how a failure is told.

Results go to standard output, everything else to standard error, so that `--json` can be piped. Text from logs is
printed as text, never as markup.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from a2a_trust.store import default_home
from a2a_trust.text import safe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console
    from rich.table import Table

HomeOption = Annotated[
    Path | None,
    typer.Option("--home", metavar="DIR", help="Where the ledger lives. Default: $A2A_TRUST_HOME, else ~/.a2a-trust."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for scripts instead of a table.")]

PIPED_WIDTH = 120
"""Columns of a table that is not printed on a terminal."""

_ENCODER = msgspec.json.Encoder(order=None)


def home_of(option: Path | None) -> Path:
    """Return the home that an option, or else the environment, names."""
    return option.expanduser() if option is not None else default_home(os.environ)


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


def print_json(value: Any) -> None:  # noqa: ANN401 - any struct
    """Print a struct as indented JSON."""
    sys.stdout.buffer.write(msgspec.json.format(_ENCODER.encode(value), indent=2) + b"\n")
    sys.stdout.buffer.flush()


def note(text: str) -> None:
    """Print a remark on standard error, safe on any terminal."""
    notes().print(safe(text))


def fail(error: Exception) -> None:
    """Print a failure on one line."""
    print(f"a2a-trust: {safe(str(error))}", file=sys.stderr)  # noqa: T201 - before any console exists
