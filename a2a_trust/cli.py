"""The `a2a-trust` command: its own commands, and those of plugins found through `a2a_trust.commands`.

A plugin's entry point is a function that takes the Typer application and adds its commands to it.
"""

from __future__ import annotations

import os
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated

import typer

from a2a_trust import __version__, signals_cli
from a2a_trust.amend_cli import amend_app
from a2a_trust.console import HomeOption, JsonOption, fail, home_of, output, print_json
from a2a_trust.errors import TrustError
from a2a_trust.plain import run_told

GROUP = "a2a_trust.commands"

app = typer.Typer(
    name="a2a-trust",
    help="The memory of agent teams: who did what, how well, and how sure that is.",
    epilog="First use: a2a-trust backfill && a2a-trust show",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"a2a-trust {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Hold the options that come before a command."""


def _register_plugins() -> None:
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            entry.load()(app)
        except Exception as error:  # noqa: BLE001 - a broken plugin must not take the other commands with it
            fail(
                TrustError(f"plugin {entry.name} ({entry.value}) could not be loaded: {type(error).__name__}: {error}")
            )


# The commands of plugins come first: what most people run is among them.
_register_plugins()


@app.command(hidden=True, epilog="Example: a2a-trust rebuild")
def rebuild(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Make the ledger anew from the audit log alone, and say what changed."""
    from a2a_trust import maintenance

    result = maintenance.rebuild(home_of(home))
    if as_json:
        print_json(result)
        return
    console = output()
    console.print(f"{result.rows} rows, {result.agents} agents, folded under policy {result.policy}.")
    for change in result.changes:
        console.print(f"changed: {change}")
    if not result.changes:
        console.print("Nothing changed: the ledger was what its audit log says.")


@app.command(
    epilog="Examples: a2a-trust policy | a2a-trust policy --set seed --preview | a2a-trust policy --set my.toml"
)
def policy(
    home: HomeOption = None,
    new: Annotated[
        str | None,
        typer.Option("--set", metavar="NAME|FILE", help="Put the home under this policy: one row in the log."),
    ] = None,
    preview: Annotated[
        bool, typer.Option("--preview", help="With --set: show what it would give, change nothing.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show the numbers that turn evidence into trust, change them, or preview others."""
    from a2a_trust import maintenance
    from a2a_trust.policy import load_policy, to_toml

    place = home_of(home)
    wanted = load_policy(new) if new is not None else None
    if preview:
        maintenance.print_preview(maintenance.preview_policy(place, wanted), new or "", as_json=as_json)
        return
    if wanted is not None:
        changed = maintenance.set_policy(place, wanted)
        if not as_json:
            output().print(f"The home stands under policy {wanted.name}{' now' if changed else ' already'}.")
            return
    current = maintenance.current_policy(place)
    if as_json:
        print_json(current)
    else:
        output().print(to_toml(current))


@app.command(epilog="Examples: a2a-trust verify --write-pin pin.json | a2a-trust verify --pin pin.json")
def verify(
    home: HomeOption = None,
    pin: Annotated[Path | None, typer.Option("--pin", metavar="FILE", help="Hold the log against a pin.")] = None,
    write_pin: Annotated[
        Path | None, typer.Option("--write-pin", metavar="FILE", help="If all is well, write a pin to keep elsewhere.")
    ] = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="Keep the rows before the first damaged one, all else beside them.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Check the audit log, every step in it, and the ledger made from it."""
    from a2a_trust import maintenance

    if repair:
        maintenance.repair_home(home_of(home), as_json=as_json)
        return
    code = maintenance.verify_home(home_of(home), pin, write_pin, as_json=as_json)
    if code:
        raise typer.Exit(code)


@app.command(epilog="Example: a2a-trust doctor")
def doctor(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Say what is found where: sources, logs, the home and its health, failures that no rule knows."""
    from a2a_trust import health

    report = health.examine(home_of(home), os.environ)
    if as_json:
        print_json(report)
    else:
        health.print_report(report)


app.add_typer(amend_app)
signals_cli.register(app)


def main() -> None:
    """Run the command line. A failure is told in one line and has its own exit code; see docs/exit-codes.md."""
    run_told(app)
