"""The command `watch`: follow the logs, record what agents do as they do it, and say what changed notably."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer
from a2a_trust.backfill.installed import installed, installed_names

from a2a_trust.console import HomeOption, home_of, progress
from a2a_trust.plain import json_line, print_text, remark
from a2a_trust.text import safe, size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType

    from a2a_trust.backfill.run import Progress, Summary

    from a2a_trust.store.audit import Placement

STOP_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
"""Where the platform knows them. The first one stops cleanly, a second one at once."""
KILLED = 128
PLACES_SHOWN = 3


def watch(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[PATH]...", help="Folders or logs to follow. Default: where harnesses keep theirs."),
    ] = None,
    home: HomeOption = None,
    source: Annotated[
        list[str] | None,
        typer.Option(
            help="Follow only this kind of logs. May be repeated. Default: all that are found.",
            autocompletion=installed_names,
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="Leave out logs whose path matches. May be repeated.")
    ] = None,
    poll: Annotated[
        bool,
        typer.Option("--poll", help="Look at all files each second: for network drives, which tell nothing."),
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print every row, not only steps of 0.05 or more.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a line of JSON for scripts instead.")] = False,
    jobs: Annotated[int, typer.Option(min=0, help="Processes that read logs to catch up; 0 for one a core.")] = 0,
) -> None:
    """Follow the session logs and record what agents do as they do it, until Ctrl-C or SIGTERM."""
    from a2a_trust.backfill.changes import FileChanges
    from a2a_trust.backfill.run import Options
    from a2a_trust.backfill.watch_loop import Watcher

    stop = threading.Event()
    sources = installed(source or [])
    options = Options(paths=[path.absolute() for path in paths or []], exclude=exclude or [], jobs=jobs)
    with _signals_stop(stop), Printer(verbose=verbose, as_json=as_json) as printer:
        watcher = Watcher(home_of(home), sources, options, os.environ, teller=printer, stop=stop)
        watcher.follow(FileChanges(watcher.places, stop, printer.remark, poll=poll))
    printer.stopped()


class Printer:
    """Prints what the loop tells: results on standard output, everything else on standard error.

    Where nobody reads standard output any more, recording goes on in silence.
    """

    def __init__(self, *, verbose: bool, as_json: bool) -> None:
        self._bar = ExitStack()
        self._show: Callable[[int, int, str], None] | None = None
        self._verbose = verbose
        self._as_json = as_json
        self._mute = sys.stdout is None
        self._rows = 0

    def __enter__(self) -> Self:
        """Show the progress of the catch-up, where somebody is looking."""
        self._show = self._bar.enter_context(progress("catching up"))
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def caught_up(self, summary: Summary) -> None:
        """Say what the catch-up gave."""
        self._bar.close()
        self._show = None
        rows = summary.evidence + summary.evidence_not_folded + summary.observations
        if self._as_json:
            self._event("caught-up", summary)
        if not summary.files:
            self.remark(f"no logs yet; waiting for some in {_few(summary.places)}")
            return
        self.remark(
            f"caught up in {summary.seconds:.1f} s: {sum(summary.sessions.values())} sessions, {rows} new rows, "
            f"{summary.agents} agents; following {_few(summary.places)}"
        )
        if summary.unreadable:
            self.remark(f"{summary.unreadable} logs or folders could not be read; see: a2a-trust backfill")

    def rows(self, placed: Sequence[Placement]) -> None:
        """Print the notable ones among new rows, or all."""
        from a2a_trust.backfill.notable import is_notable, line_of, told

        self._rows += len(placed)
        for row, _ in placed:
            if self._verbose or is_notable(row):
                self._print(json_line(told(row)) if self._as_json else line_of(row))

    def remark(self, text: str) -> None:
        """Print a remark where people look, and scripts do not."""
        try:
            remark(f"a2a-trust: {text}")
        except OSError:
            return

    def progress(self, now: Progress) -> None:
        """Show how far the catch-up is."""
        if self._show is not None:
            self._show(now.bytes, now.bytes_total, f"{now.logs}/{now.logs_total} logs, {size(now.bytes)}")

    def stopped(self) -> None:
        """Say that everything that was read is recorded."""
        if self._as_json:
            self._event("stopped", {"rows": self._rows})
        self.remark(f"stopped; {self._rows} rows recorded since the catch-up")

    def _event(self, name: str, what: Any) -> None:  # noqa: ANN401 - any struct
        self._print(json_line({"event": name, **_fields(what)}))

    def _print(self, text: str) -> None:
        if self._mute:
            return
        try:
            print_text(text)
        except OSError:
            self._mute = True
            # What is left in the buffer must not fail again at the end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            self.remark("nobody reads the output any more; recording goes on")


def _fields(value: Any) -> dict[str, Any]:  # noqa: ANN401 - any struct
    import msgspec

    found: dict[str, Any] = msgspec.to_builtins(value)
    return found


def _few(places: Sequence[str]) -> str:
    shown = ", ".join(safe(place) for place in places[:PLACES_SHOWN])
    return shown + (f" and {len(places) - PLACES_SHOWN} more" if len(places) > PLACES_SHOWN else "")


def _is_to_outlive(name: str) -> bool:
    """Tell whether whoever started the process, as `nohup` does, wants it to survive the end of the terminal."""
    return name == "SIGHUP" and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


@contextmanager
def _signals_stop(stop: threading.Event) -> Iterator[None]:
    def ask(number: int, _: FrameType | None) -> None:
        if stop.is_set():
            # Whatever is being written, the next opening finds it whole or sets it aside.
            os._exit(KILLED + number)
        stop.set()

    numbers = [getattr(signal, name) for name in STOP_SIGNALS if hasattr(signal, name) and not _is_to_outlive(name)]
    before = {number: signal.signal(number, ask) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
