"""The commands for agents and harnesses, as the full command line describes them: `signals`, `status`, `hook`, `mcp`.

What the first three do, and how their arguments are read when somebody waits, stands in `quick`.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from a2a_trust import quick
from a2a_trust.advice import DEFAULT_TOKENS, MIN_TOKENS, Audience
from a2a_trust.console import HomeOption, JsonOption, home_of
from a2a_trust.errors import TrustError, UsageError
from a2a_trust.lenses import Lens
from a2a_trust.signals import TrustSignals


class Format(StrEnum):
    """The forms of the signals."""

    TEXT = "text"
    JSON = "json"


class InstallHost(StrEnum):
    """Hosts whose settings can be changed from here."""

    CLAUDE_CODE = "claude-code"


def complete_names(incomplete: str) -> list[str]:
    """Complete the names of agents, from the default home; nothing where that cannot be read."""
    try:
        names = {signal.name for signal in TrustSignals.at_a_glance(home_of(None)).agents()}
    except (TrustError, OSError):
        return []
    return sorted(name for name in names if name.startswith(incomplete) and name.isprintable())


TokensOption = Annotated[
    int | None,
    typer.Option(
        "--max-tokens",
        min=MIN_TOKENS,
        help=f"Budget of the text, 4 characters a token. Default: as configured, else {DEFAULT_TOKENS}.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command(epilog="Examples: a2a-trust signals | a2a-trust signals --for teammate --name researcher")(signals)
    app.command(hidden=True, epilog="Example: a2a-trust status")(status)
    app.command(hidden=True, epilog="Example: a2a-trust mcp --allow-feedback")(mcp)
    hooks = typer.Typer(
        help="Answer the hooks of a harness with the advisory text, and install them.",
        epilog="Examples: a2a-trust hook install claude-code --dry-run | a2a-trust hook claude-code < event.json",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    hooks.command("claude-code", epilog="Example: a2a-trust hook claude-code < event.json")(hook_claude_code)
    hooks.command("codex", epilog="Example: a2a-trust hook codex < event.json")(hook_codex)
    hooks.command("install", epilog="Example: a2a-trust hook install claude-code --dry-run")(hook_install)
    app.add_typer(hooks, name="hook", hidden=True)


def signals(
    place: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="A snapshot file to read instead of the home.")
    ] = None,
    home: HomeOption = None,
    audience: Annotated[Audience, typer.Option("--for", help="Who is going to read it.")] = Audience.LEAD,
    name: Annotated[
        str | None, typer.Option("--name", help="The reader's own name or fingerprint.", autocompletion=complete_names)
    ] = None,
    agents: Annotated[
        str | None, typer.Option("--agents", metavar="A,B", help="Only the agents that could be chosen.")
    ] = None,
    by: Annotated[
        Lens | None, typer.Option("--by", help="The key to fold by. Default: the one under which agents come back.")
    ] = None,
    output_format: Annotated[
        Format, typer.Option("--format", help="The advisory text, or the numbers with their provenance.")
    ] = Format.TEXT,
    max_tokens: TokensOption = None,
    now: Annotated[
        int | None, typer.Option("--now", metavar="MS", help="Time that staleness is measured to. Default: newest row.")
    ] = None,
    freeze: Annotated[
        Path | None, typer.Option("--freeze", metavar="FILE", help="Write all signals to this file; print its name.")
    ] = None,
) -> None:
    """Give a Lead or a teammate the trust of those it may choose among, in few tokens."""
    quick.signals(
        place=place,
        home=home,
        audience=audience,
        name=name,
        agents=agents,
        by=by,
        output_format=output_format,
        max_tokens=max_tokens,
        now=now,
        freeze=freeze,
    )


def status(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Print one line on the home, for a prompt or a status bar."""
    quick.status(home=home, as_json=as_json)


def hook_claude_code(home: HomeOption = None, max_tokens: TokensOption = None) -> None:
    """Answer Claude Code's SessionStart and UserPromptSubmit: JSON in, JSON or nothing out, never a failure."""
    quick.hook(host="claude-code", home=home, max_tokens=max_tokens)


def hook_codex(home: HomeOption = None, max_tokens: TokensOption = None) -> None:
    """Answer Codex's SessionStart and UserPromptSubmit: JSON in, JSON or nothing out, never a failure."""
    quick.hook(host="codex", home=home, max_tokens=max_tokens)


def hook_install(
    host: Annotated[InstallHost, typer.Argument(help="Whose settings to change.")],
    home: HomeOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the change, write nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Write the change.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Take the hook out again.")] = False,
    every_prompt: Annotated[
        bool, typer.Option("--every-prompt", help="Give the text with every prompt too, not only at the start.")
    ] = False,
) -> None:
    """Put the hook into the settings of a harness, or take it out; everything else there keeps its bytes."""
    quick.hook_install(host=host, home=home, dry_run=dry_run, yes=yes, undo=undo, every_prompt=every_prompt)


def mcp(
    place: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="A snapshot file to serve instead of the home.")
    ] = None,
    home: HomeOption = None,
    allow_feedback: Annotated[
        bool,
        typer.Option("--allow-feedback", help="Offer trust_feedback, which records ratings: all else only reads."),
    ] = False,
    observer: Annotated[
        str | None, typer.Option("--observer", help="With --allow-feedback: in whose name ratings are recorded.")
    ] = None,
) -> None:
    """Serve the signals over the Model Context Protocol, on standard input and output."""
    try:
        from a2a_trust import mcp_server
    except ModuleNotFoundError as error:
        raise UsageError(f"{error}; install it with: pip install 'a2a-trust[mcp]'") from None
    if observer is not None and not allow_feedback:
        raise UsageError("--observer needs --allow-feedback: without it nothing is recorded")
    if place is not None and not place.is_file():
        raise UsageError(f"{place}: no such snapshot file; make one with: a2a-trust signals --freeze {place}")
    if place is not None and allow_feedback:
        raise UsageError(f"{place}: a snapshot file takes no ratings; leave out --allow-feedback, or the file")
    mcp_server.serve(place or home_of(home), allow_feedback=allow_feedback, observer=observer)
