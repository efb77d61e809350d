"""The commands that show: `show` and `explain`."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct

from a2a_trust.console import HomeOption, JsonOption, home_of, note, output, print_json, print_table
from a2a_trust.errors import NoLedgerError, UnknownAgentError, UsageError
from a2a_trust.lenses import Lens
from a2a_trust.model import DIMENSIONS, Dimension
from a2a_trust.signals import Provenance, Signal, TrustSignals
from a2a_trust.text import percent, safe, size

SHOWN = 50
STEPS_SHOWN = 20


class Overview(Struct, frozen=True, kw_only=True, rename="camel"):
    """What `show --json` prints."""

    lens: Lens
    provenance: Provenance
    agents: list[Signal]
    left_out: int


class Sort(StrEnum):
    """Orders of the table."""

    TOTAL = "total"
    NAME = "name"
    SAMPLES = "samples"
    LAST_SEEN = "last-seen"
    COMPETENCE = "competence"
    RELIABILITY = "reliability"
    COMMUNICATION = "communication"
    INTEGRITY = "integrity"


def _names(incomplete: str) -> list[str]:
    """Complete the names of agents, from the default home; nothing where that cannot be read."""
    from a2a_trust.errors import TrustError

    try:
        names = {signal.name for signal in TrustSignals(home_of(None)).agents()}
    except (TrustError, OSError):
        return []
    return sorted(name for name in names if name.startswith(incomplete) and name.isprintable())


def _dimensions(incomplete: str) -> list[str]:
    return [dim for dim in DIMENSIONS if dim.startswith(incomplete)]


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command(
        epilog="Examples: a2a-trust show | a2a-trust show researcher | a2a-trust show --by model --sort competence"
    )(show)
    app.command(epilog="Examples: a2a-trust explain researcher | a2a-trust explain 3ee4bfd2 competence --limit 0")(
        explain
    )
    app.command(
        epilog="Examples: a2a-trust dashboard | a2a-trust dashboard --by name | a2a-trust dashboard --theme nord"
    )(dashboard)
    app.command(
        epilog="Examples: a2a-trust report -o trust.html | a2a-trust report -o week.html --since 7d --agent researcher"
    )(report)


def show(
    agent: Annotated[
        str | None,
        typer.Argument(metavar="[AGENT]", help="A name, or the start of a fingerprint.", autocompletion=_names),
    ] = None,
    home: HomeOption = None,
    by: Annotated[
        Lens | None,
        typer.Option(
            "--by", help="The key to fold by. Default: fingerprint, or name where few agent types ever come back."
        ),
    ] = None,
    source: Annotated[
        str | None, typer.Option("--source", metavar="NAME", help="Only what was read from this kind of logs.")
    ] = None,
    sort: Annotated[Sort, typer.Option("--sort", help="The order of the table, best or newest first.")] = Sort.TOTAL,
    limit: Annotated[int, typer.Option(min=0, help="Rows: the newest this many; 0 for all.")] = SHOWN,
    watch: Annotated[
        bool, typer.Option("--watch", help="Show it again whenever the home changes, until interrupted.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show how every agent type did, or one of them in full."""
    place = home_of(home)
    if agent is not None and source is not None:
        raise UsageError("--source goes with the table, not with one AGENT; to see it by source: --by source")

    def once() -> None:
        _show(TrustSignals(place), agent, by, source, sort, limit, as_json=as_json)

    if not watch:
        once()
        return
    from a2a_trust.dashboard.watch import follow

    follow(place, once)


def _show(
    signals: TrustSignals,
    agent: str | None,
    by: Lens | None,
    source: str | None,
    sort: Sort,
    limit: int,
    *,
    as_json: bool,
) -> None:
    if agent is not None:
        _show_agent(signals, agent, by, as_json=as_json)
        return
    if not signals.agents():
        raise NoLedgerError(
            f"{signals.provenance.home}: no agent is recorded here yet; run: a2a-trust backfill, which also says "
            "what still waits"
        )
    lens = by or signals.default_lens()
    found = signals.by(lens, source)
    if source is not None and not found:
        raise UsageError(f"--source {source}: nothing was read from it; see: a2a-trust show --by source")
    newest = sorted(found, key=lambda signal: -signal.last_seen)[: limit or None]
    shown = sorted(newest, key=lambda signal: _order(sort, signal))
    if as_json:
        print_json(Overview(lens=lens, provenance=signals.provenance, agents=shown, left_out=len(found) - len(shown)))
        return
    from a2a_trust.dashboard import tables

    console = output()
    print_table(console, tables.agents_table(shown, lens, console.width))
    if len(shown) < len(found):
        console.print(f"The newest {len(shown)} of {len(found)}; all with --limit 0.")
    console.print(tables.legend(signals.policy), style="dim")
    if by is None and lens is not Lens.FINGERPRINT:
        share = percent(signals.recurring_shares()[0])
        note(f"By {lens}: {share} % of the evidence stands on agent types that came back. Each type: --by fingerprint")


def explain(
    agent: Annotated[
        str, typer.Argument(metavar="AGENT", help="A name, or the start of a fingerprint.", autocompletion=_names)
    ],
    dimension: Annotated[
        str | None,
        typer.Argument(
            metavar="[DIMENSION]", help="One dimension, or its first letters. Default: all.", autocompletion=_dimensions
        ),
    ] = None,
    home: HomeOption = None,
    limit: Annotated[
        int, typer.Option(min=0, help="Steps of each dimension: the newest this many; 0 for all.")
    ] = STEPS_SHOWN,
    as_json: JsonOption = False,
) -> None:
    """Show the rows that made a value, step by step, each with the line it comes from."""
    from a2a_trust.dashboard import explanation

    place = home_of(home)
    signals = TrustSignals(place)
    signal = signals.for_agent(agent, note)
    found = explanation.explain(signals, signal, dimension, place)
    if as_json:
        print_json(found)
        return
    from a2a_trust.dashboard import tables

    tables.print_explanation(output(), found, limit)


def dashboard(
    home: HomeOption = None,
    by: Annotated[
        Lens | None, typer.Option("--by", help="The key to fold by at the start. Default: as `show` chooses.")
    ] = None,
    theme: Annotated[
        str | None,
        typer.Option(help="A theme of Textual. Default: light or dark, as far as the terminal tells."),
    ] = None,
) -> None:
    """Look around in the terminal: agents with bars and trends, their evidence, comparisons; live."""
    from a2a_trust.dashboard.app import TrustApp

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("the dashboard needs a terminal; without one: a2a-trust report, a2a-trust show --json")
    from textual.theme import BUILTIN_THEMES

    if theme is not None and theme not in BUILTIN_THEMES:
        raise UsageError(f"--theme {theme}: there is no such theme; there are: {', '.join(sorted(BUILTIN_THEMES))}")
    TrustApp(home_of(home), lens=by, theme=theme).run()


def report(
    file: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write it.")] = Path(
        "trust.html"
    ),
    home: HomeOption = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(
            metavar="AGENT",
            help="Only this agent: a name, or the start of a fingerprint. May be repeated.",
            autocompletion=_names,
        ),
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Only what happened since: 24h, 7d, or a date (UTC).")
    ] = None,
    by: Annotated[Lens | None, typer.Option("--by", help="The key to fold by. Default: as `show` chooses.")] = None,
) -> None:
    """Write all of it into one HTML file that needs no network."""
    from a2a_trust.dashboard import board as boards
    from a2a_trust.dashboard.report import Asked, make_report
    from a2a_trust.dashboard.report_file import check_target, write_report

    place = home_of(home)
    target = check_target(file, place)
    lens = Lens.FINGERPRINT if agent and by is None else by
    board = boards.load(place, lens)
    keys = [key for wanted in agent or [] for key in boards.keys_of(board, wanted)]
    asked = Asked(agents=keys, since=boards.parse_since(since, board.provenance.as_of) if since else 0)
    text = make_report(place, board, asked)
    write_report(file, target, text)
    output().print(f"The report is in {safe(str(file))} ({size(len(text.encode()))}).")


def _show_agent(signals: TrustSignals, agent: str, by: Lens | None, *, as_json: bool) -> None:
    if by in (None, Lens.FINGERPRINT):
        signal = signals.for_agent(agent, note)
        namesakes = signals.namesakes(signal)
    else:
        found = {signal.key: signal for signal in signals.by(by)}
        if agent not in found:
            keys = ", ".join(sorted(found)[:10])
            raise UnknownAgentError(f"no {by} is called {agent!r}; there are: {keys}")
        signal, namesakes = found[agent], []
    if as_json:
        print_json(signal)
        return
    from a2a_trust.dashboard import tables

    tables.print_agent(output(), signal, namesakes, signals.policy)


def _order(sort: Sort, signal: Signal) -> tuple[float, str, str]:
    """Return the place of a signal in the table: what is known first, then by name."""
    if sort is Sort.NAME:
        number = 0.0
    elif sort is Sort.SAMPLES:
        number = float(signal.samples)
    elif sort is Sort.LAST_SEEN:
        number = float(signal.last_seen)
    else:
        value = signal.total if sort is Sort.TOTAL else signal.dimensions[Dimension(sort)].value
        number = -1.0 if value is None else value
    return (-number, signal.name, signal.key)
