"""What `doctor` says: which logs are found where, how the home stands, and what the rules do not know."""

from __future__ import annotations

import platform
import sqlite3
import sys
from collections import Counter
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import filelock
from msgspec import Struct, field

from a2a_trust import __version__
from a2a_trust.attribution import RULES_VERSION
from a2a_trust.console import output
from a2a_trust.errors import NoLedgerError, TrustError
from a2a_trust.lenses import recurring_shares
from a2a_trust.policy import TOOL_ERROR
from a2a_trust.sources.base import Skips, Source, load_sources
from a2a_trust.store import read_ledger
from a2a_trust.store.reader import AUDIT, read_all_rows
from a2a_trust.store.snapshot import LEDGER, read_snapshot
from a2a_trust.store.store import LOCK
from a2a_trust.text import percent, safe, size

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rich.console import Console

LIBRARIES = ("zstandard", "msgspec", "filelock", "typer", "rich", "textual", "jinja2")
TEXTS_SHOWN = 10


class SourceReport(Struct, kw_only=True):
    """One place of one source."""

    source: str
    place: str
    exists: bool
    sessions: int = 0
    logs: dict[str, int] = field(default_factory=dict)
    """Logs by format generation."""
    bytes: int = 0
    skipped: dict[str, int] = field(default_factory=dict)


class HomeReport(Struct, kw_only=True):
    """The home and its health."""

    place: str
    state: str
    """`ok`, or what is wrong."""
    policy: str = ""
    rows: int = 0
    audit_bytes: int = 0
    agents: int = 0
    ledger_behind: int = 0
    """Bytes of the audit log that the snapshot does not hold yet."""
    locked: bool = False
    set_aside: list[str] = field(default_factory=list)
    """Files with damaged tails that were set aside."""
    on_recurring_types: float | None = None
    """Share of the evidence that stands on agent types that came back."""
    on_recurring_names: float | None = None
    unknown_failures: dict[str, int] = field(default_factory=dict)
    """Starts of failure texts that no rule excuses, by how often they were blamed on an agent."""


class Report(Struct, kw_only=True):
    """All that `doctor` says."""

    version: str
    rules: int
    python: str
    platform: str
    libraries: dict[str, str]
    sources: list[SourceReport]
    home: HomeReport


def examine(home: Path, environ: Mapping[str, str]) -> Report:
    """Look at everything, write nothing, and never fail for what is found."""
    return Report(
        version=__version__,
        rules=RULES_VERSION,
        python=platform.python_version(),
        platform=f"{sys.platform} {platform.machine()}",
        libraries={name: _version_of(name) for name in LIBRARIES} | {"sqlite": sqlite3.sqlite_version},
        sources=[
            _source_report(name, source, place)
            for name, source in load_sources().items()
            for place in source.default_roots(environ)
        ],
        home=_home_report(home),
    )


def _version_of(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "missing"


def _source_report(name: str, source: Source, place: Path) -> SourceReport:
    report = SourceReport(source=name, place=str(place), exists=place.exists())
    if not report.exists:
        return report
    skips = Skips()
    logs: Counter[str] = Counter()
    for candidates in source.discover(place, skips):
        report.sessions += 1
        report.bytes += sum(log.size for log in candidates)
        logs.update(f"v{log.gen}" for log in candidates)
    report.logs = dict(sorted(logs.items()))
    report.skipped = dict(sorted(skips.counts.items()))
    return report


def _home_report(home: Path) -> HomeReport:
    report = HomeReport(place=str(home), state="ok")
    try:
        ledger = read_ledger(home)
        texts = Counter(
            row.evidence.text.partition("\n")[0][:80]
            for row in read_all_rows(home)
            if row.kind == TOOL_ERROR and row.evidence.text
        )
    except NoLedgerError:
        report.state = "nothing recorded yet; run: a2a-trust backfill"
        return report
    except (TrustError, OSError) as error:
        report.state = str(error)
        return report
    snapshot = read_snapshot(home / LEDGER)
    report.policy = ledger.policy.name
    report.rows = ledger.audit.rows
    report.audit_bytes = (home / AUDIT).stat().st_size
    report.agents = len(ledger.agents)
    report.ledger_behind = report.audit_bytes - (snapshot.audit.bytes if snapshot else 0)
    report.locked = _is_locked(home)
    report.set_aside = sorted(path.name for path in home.glob(f"{AUDIT}.torn-*"))
    report.on_recurring_types, report.on_recurring_names = recurring_shares(ledger.agents)
    report.unknown_failures = dict(texts.most_common(TEXTS_SHOWN))
    return report


def _is_locked(home: Path) -> bool:
    """Tell whether a writer holds the home. Takes the lock for a moment if it is free; makes no file."""
    path = home / LOCK
    if not path.exists():
        return False
    lock = filelock.FileLock(path, timeout=0)
    try:
        lock.acquire()
    except (filelock.Timeout, OSError):
        return True
    lock.release()
    return False


def print_report(report: Report) -> None:
    """Print what `doctor` found."""
    console = output()
    console.print(f"a2a-trust {report.version}, rules {report.rules}, Python {report.python} on {report.platform}")
    console.print("  " + ", ".join(f"{name} {number}" for name, number in report.libraries.items()))
    console.print("\nSources")
    for source in report.sources:
        console.print(f"  {source.source}: {safe(source.place)}{'' if source.exists else ' (does not exist)'}")
        if source.exists:
            console.print(f"    {_logs_of(source)}, {size(source.bytes)}")
        for reason, count in source.skipped.items():
            console.print(f"    skipped: {reason} {count}")
    _print_home(console, report.home)


def _logs_of(source: SourceReport) -> str:
    """Return how many logs there are; of a format with generations also how many sessions, and of which generations."""
    if source.logs.keys() <= {"v0"}:
        return f"{source.sessions} logs"
    return f"{source.sessions} sessions, logs: {', '.join(f'{count} {gen}' for gen, count in source.logs.items())}"


def _print_home(console: Console, home: HomeReport) -> None:
    console.print(f"\nHome\n  {safe(home.place)}: {safe(home.state)}")
    if not home.rows:
        return
    console.print(f"  {home.rows} rows, {size(home.audit_bytes)}, {home.agents} agent types, policy {home.policy}")
    if home.ledger_behind:
        console.print(f"  the snapshot lacks the last {home.ledger_behind} bytes; the next backfill brings it up")
    if home.locked:
        console.print("  a writer is at work")
    for name in home.set_aside:
        console.print(f"  set aside: {safe(name)}")
    if home.on_recurring_types is not None and home.on_recurring_names is not None:
        console.print(
            f"  {percent(home.on_recurring_types)} % of the evidence stands on agent types that came back, "
            f"{percent(home.on_recurring_names)} % on names that did"
        )
    if home.unknown_failures:
        console.print("\nFailures blamed on agents that carry no code; tell us if one should excuse them")
        for text, count in home.unknown_failures.items():
            console.print(f"  {count} × {safe(text)}")
