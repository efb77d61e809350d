"""The commands that read logs: `backfill`, `adopt`, and `amend reattribute`."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from a2a_trust.backfill.amend import adopt, reattribute
from a2a_trust.backfill.installed import installed, installed_names
from a2a_trust.backfill.watch import watch

from a2a_trust.amend_cli import amend_app
from a2a_trust.console import HomeOption, JsonOption, home_of, output, print_json, progress
from a2a_trust.errors import NothingFoundError, SomeUnreadableError, TrustError, UsageError
from a2a_trust.text import safe, size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from a2a_trust.backfill.run import Progress, Summary

    from a2a_trust.sources.base import Source

PLACES_SHOWN = 3
HARMLESS = ("copy-of-session", "excluded", "fixture")
"""Skips that lose nothing, or that were asked for: counted here, listed with --json."""
HINTS = {"fixture": "test doubles of jury runs; to score them: --include-fixtures"}
"""What to do about a skip."""


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command(hidden=True, epilog="Examples: a2a-trust ingest events.jsonl | a2a-trust ingest - < events.jsonl")(
        ingest
    )
    app.command(hidden=True, epilog="Example: a2a-trust adopt ~/.dsh/a2a-trust --keep-judgements")(adopt)
    amend_app.command(epilog="Example: a2a-trust amend reattribute")(reattribute)
    app.command(
        epilog="Examples: a2a-trust backfill | a2a-trust backfill ~/logs --dry-run | a2a-trust backfill --exclude 'x-*'"
    )(backfill)
    app.command(
        epilog="Examples: a2a-trust watch | a2a-trust watch ~/logs --verbose | a2a-trust watch --json >> steps.jsonl"
    )(watch)


def backfill(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[PATH]...", help="Folders or logs to read. Default: where each harness keeps its own."),
    ] = None,
    home: HomeOption = None,
    policy: Annotated[
        str | None,
        typer.Option(metavar="NAME|FILE", help="Policy for a new home: standard (default), seed, or a TOML file."),
    ] = None,
    source: Annotated[
        list[str] | None,
        typer.Option(
            help="Read only this kind of logs. May be repeated. Default: all that are found.",
            autocompletion=installed_names,
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="Leave out logs whose path matches. May be repeated.")
    ] = None,
    include_fixtures: Annotated[
        bool, typer.Option("--include-fixtures", help="Score the test doubles of jury runs, too.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=0, help="Processes that read logs; 0 for one a core.")] = 0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Do everything but write: say what would be added.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Read session logs and record what each agent did. Only what is new is read."""
    from a2a_trust.backfill.run import Options, run

    from a2a_trust.policy import load_policy
    from a2a_trust.store import TrustStore
    from a2a_trust.store.reader import AUDIT

    place = home_of(home)
    sources = installed(source or [])
    see = "a2a-trust show" + (f" --home {home}" if home is not None else "")
    for path in paths or []:
        if not path.exists():
            raise UsageError(f"{path}: no such file or folder; give a folder that holds session logs")
    wanted = load_policy(policy) if policy is not None else None
    options = Options(paths=paths or [], exclude=exclude or [], jobs=jobs, fixtures=include_fixtures)
    if not (place / AUDIT).exists():
        _need_logs(sources, paths or [])
    with (
        _dry_home(place, dry_run=dry_run) as target,
        TrustStore(target, wanted, stated=policy or "") as store,
        progress("reading") as show,
    ):
        summary = run(store, sources, options, os.environ, lambda now: show(now.bytes, now.bytes_total, _state(now)))
    if as_json:
        print_json(summary)
    else:
        _print_summary(summary, place, see, dry_run=dry_run)
    if summary.unreadable:
        newer = {"newer-format", "unknown-version"} & summary.skipped.keys()
        hint = "; some are of a newer format: update a2a-trust" if newer else ""
        raise SomeUnreadableError(
            f"{summary.unreadable} logs or folders could not be read, the rest is done; they are listed above{hint}"
        )
    if not summary.files:
        raise _nothing_found(summary.places)


def ingest(
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="A file of events, or - for standard input.")] = "-",
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Record events of the contract that docs/formats.md describes. Events that are known already add nothing."""
    from a2a_trust.backfill.ingest import ingest as record

    from a2a_trust.store import TrustStore

    place = home_of(home)
    with _events(file) as lines, TrustStore(place) as store:
        done = record(store, lines, "standard input" if file == "-" else file)
    if as_json:
        print_json(done)
    else:
        output().print(
            f"{done.lines_used} of {done.lines} lines used: {done.evidence} pieces of evidence and {done.observations} "
            f"observations new, {done.known} rows known. {done.agents} agent types in {safe(str(place))}."
        )
        _print_skipped(done.skipped, done.skipped_at)
    if done.lines_used < done.lines:
        raise SomeUnreadableError(
            f"{done.lines - done.lines_used} of {done.lines} lines are no events of version 1; see docs/formats.md"
        )


@contextmanager
def _events(file: str) -> Iterator[Iterable[bytes]]:
    if file == "-":
        yield sys.stdin.buffer
        return
    try:
        with Path(file).open("rb") as lines:
            yield lines
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}; give a file of events, or - for standard input") from None


def _need_logs(sources: Mapping[str, Source], paths: list[Path]) -> None:
    """Refuse to make a home where there is nothing to put into it."""
    from a2a_trust.backfill.discover import places_of

    from a2a_trust.sources.base import Skips

    places = places_of(sources, paths, os.environ)
    skips = Skips()
    for source, place in places:
        if place.exists() and (next(source.discover(place, skips), None) is not None or skips.counts):
            return
    raise _nothing_found(sorted({str(place) for _, place in places}))


def _nothing_found(places: Iterable[str]) -> NothingFoundError:
    return NothingFoundError(
        f"no session logs in {', '.join(places)}; give the folder that holds them: a2a-trust backfill PATH "
        "(DSH_HOME, CLAUDE_CONFIG_DIR, A2A_TRUST_EVENTS and A2A_TRUST_JURIES move the defaults)"
    )


@contextmanager
def _dry_home(home: Path, *, dry_run: bool) -> Iterator[Path]:
    """Give the home itself, or for a dry run a copy of it that goes away."""
    if not dry_run:
        yield home
        return
    with tempfile.TemporaryDirectory(prefix="a2a-trust-dry-run-") as folder:
        copy = Path(folder) / "home"
        if home.exists():
            shutil.copytree(home, copy)
        try:
            yield copy
        except TrustError as error:
            raise type(error)(str(error).replace(str(copy), str(home))) from None


def _state(now: Progress) -> str:
    if now.rows:
        return f"{now.logs} logs, {now.rows} rows recorded"
    return f"{now.logs}/{now.logs_total} logs, {size(now.bytes)} of {size(now.bytes_total)}, {now.findings} findings"


def _print_summary(summary: Summary, home: Path, see: str, *, dry_run: bool) -> None:
    console = output()
    sessions = ", ".join(f"{count} {role}" for role, count in sorted(summary.sessions.items())) or "none"
    unchanged = f", {summary.unchanged} of them unchanged" if summary.unchanged else ""
    if summary.sources:
        found = ", ".join(f"{name} {count}" for name, count in summary.sources.items())
        console.print(f"sources       {found}")
    console.print(f"sessions      {sum(summary.sessions.values())} ({sessions}){unchanged}")
    console.print(
        f"read          {size(summary.bytes_read)}, {summary.lines} lines: {summary.lines_used} used, "
        f"{summary.lines_irrelevant} irrelevant, {summary.lines_inherited} inherited by forks"
    )
    console.print(
        f"evidence      {summary.evidence} new"
        + (
            f", {summary.evidence_not_folded} more recorded that the policy leaves out"
            if summary.evidence_not_folded
            else ""
        )
    )
    console.print(f"observations  {summary.observations} new")
    if summary.known:
        console.print(f"known         {summary.known} rows read again, not counted twice")
    console.print(f"agents        {summary.agents}")
    if summary.waiting:
        console.print(f"waiting       {summary.waiting} findings, for the log of another session")
    if summary.lines_undated:
        console.print(f"undated       {summary.lines_undated} lines stand before their log's first valid time")
    for reason, count in summary.unused.items():
        console.print(f"unused        {reason} {count}")
    _print_skipped(summary.skipped, summary.skipped_at)
    if summary.recovered:
        console.print(f"recovered     {safe(summary.recovered)}")
    if dry_run:
        console.print(f"Nothing was written: this was a dry run over {safe(str(home))}.")
    else:
        console.print(f"The ledger is in {safe(str(home))}. To see it: {safe(see)}")


def _print_skipped(skipped: Mapping[str, int], skipped_at: Mapping[str, list[str]]) -> None:
    console = output()
    for reason, count in skipped.items():
        hint = f" ({HINTS[reason]})" if reason in HINTS else ""
        console.print(f"skipped       {reason} {count}{hint}")
        places = [] if reason in HARMLESS else skipped_at.get(reason, [])
        for text in places[:PLACES_SHOWN]:
            console.print(f"                {safe(text)}")
        if len(places) > PLACES_SHOWN:
            console.print(f"                … and {count - PLACES_SHOWN} more with --json")
