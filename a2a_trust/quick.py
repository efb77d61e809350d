"""The commands that a prompt, a status bar or a harness waits for: `status`, `signals` and `hook`.

Never imports Typer, Rich or a plugin. Arguments that are not plainly right, and `--help`, are left to the full command
line, which describes the same options and tells what is wrong; a test holds both to be the same.
"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Never

from a2a_trust.advice import MIN_TOKENS, Audience
from a2a_trust.errors import NoLedgerError, TrustError, UsageError
from a2a_trust.hooks import HOSTS, answer
from a2a_trust.lenses import Lens
from a2a_trust.plain import home_of, print_json, print_text, remark
from a2a_trust.signals import TrustSignals
from a2a_trust.status import status_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

COMMANDS = ("hook", "signals", "status")
FORMATS = ("text", "json")


def run(arguments: Sequence[str]) -> Callable[[], None] | None:
    """Return what a command line asks for, ready to be run; `None` where the full command line must look at it."""
    try:
        options = _parser().parse_args(arguments)
    except _NotPlainError:
        return None
    values = dict(vars(options))
    command: Callable[..., None] = values.pop("run")
    return lambda: command(**values)


def is_hook(arguments: Sequence[str]) -> bool:
    """Tell whether a harness asks: then nothing may fail, whatever the arguments are."""
    return arguments[0] == "hook" and not {"install", "-h", "--help"} & set(arguments)


def answer_hook(arguments: Sequence[str]) -> None:
    """Answer a hook and exit with 0 in any case: for some hosts another code means that the user may not go on."""
    asked = " ".join(arguments[1:])
    command = run(arguments) or (
        lambda: remark(f"a2a-trust: hook {asked!r} is not understood; see: a2a-trust hook --help")
    )
    try:
        command()
    except Exception as error:  # noqa: BLE001 - a session goes on without us
        with suppress(OSError):
            remark(f"a2a-trust: {error}")
    with suppress(OSError):
        sys.stdout.flush()


def status(*, home: Path | None, as_json: bool) -> None:
    """Print one line on the home. Nothing recorded yet is no failure: a prompt must not break for it."""
    place = home_of(home)
    try:
        found = status_of(TrustSignals.at_a_glance(place))
    except NoLedgerError:
        found = status_of(None)
    except TrustError as error:
        remark(f"a2a-trust: {error}")
        print_text("trust: the home is damaged")
        sys.exit(error.exit_code)
    if as_json:
        print_json(found)
    else:
        print_text(found.line)


def signals(  # noqa: PLR0913 - as many as options
    *,
    place: Path | None,
    home: Path | None,
    audience: str,
    name: str | None,
    agents: str | None,
    by: str | None,
    output_format: str,
    max_tokens: int | None,
    now: int | None,
    freeze: Path | None,
) -> None:
    """Print the advisory text, or the numbers it is made of; or freeze them."""
    from a2a_trust.briefing import Reader, brief  # noqa: PLC0415 - not needed where only a snapshot is written
    from a2a_trust.settings import read_settings  # noqa: PLC0415

    if freeze is not None and place is not None:
        raise UsageError(f"{place}: a snapshot file cannot be frozen again; copy it")
    if freeze is not None:
        from a2a_trust.frozen import freeze as write_frozen  # noqa: PLC0415

        print_text(write_frozen(home_of(home), freeze))
        return
    if place is not None and not place.is_file():
        raise UsageError(f"{place}: no such snapshot file; make one with: a2a-trust signals --freeze {place}")
    if audience == Audience.TEAMMATE and not name:
        raise UsageError("--for teammate needs --name: whose profile is wanted")
    settings = read_settings(home_of(home), os.environ)
    reader = Reader(
        audience=Audience(audience),
        name=name,
        agents=[agent for agent in agents.split(",") if agent] if agents is not None else None,
        lens=Lens(by) if by else None,
        max_tokens=max_tokens or settings.max_tokens,
        mode=settings.mode,
    )
    found = brief(TrustSignals.at_a_glance(place or home_of(home), now=now), reader, settings.problems)
    if output_format == "json":
        print_json(found)
        return
    for problem in found.problems:
        remark(problem)
    if found.text:
        print_text(found.text)
    else:
        remark(f"Nothing to say to a {audience} in mode {found.mode}: {_why_silent(found.left_out)}.")


def _why_silent(left_out: int) -> str:
    if left_out:
        return f"none of {left_out} rows fits the budget, see --max-tokens"
    return "no agent has evidence, or the mode leaves this reader out, see A2A_TRUST_INJECTION"


def hook(*, host: str, home: Path | None, max_tokens: int | None) -> None:
    """Answer a host's hook: its JSON comes on standard input, ours goes to standard output. Never fails."""
    del host  # both hosts document the same fields
    data = b"" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.buffer.read()
    found = answer(data, home_of(home), os.environ, max_tokens)
    for text in found.remarks:
        remark(f"a2a-trust: {text}")
    sys.stdout.buffer.write(found.output)
    sys.stdout.buffer.flush()


def hook_install(  # noqa: PLR0913 - as many as options
    *, host: str, home: Path | None, dry_run: bool, yes: bool, undo: bool, every_prompt: bool
) -> None:
    """Show what would change in the host's settings, and change it only with `--yes`."""
    del host  # there is one
    from a2a_trust.hook_install import change_settings, settings_path  # noqa: PLC0415 - nobody waits for it

    if yes and dry_run:
        raise UsageError("--dry-run and --yes contradict each other; give one of them")
    path = settings_path(os.environ)
    change = change_settings(path, home, undo=undo, every_prompt=every_prompt, write=yes)
    if not change.changes:
        print_text(f"{path}: nothing to change: {'no hook of ours is there' if undo else 'the hook is there already'}.")
        return
    print_text(change.difference.rstrip("\n"))
    print_text(f"{path}: changed." if change.done else f"{path}: nothing was written; do it with --yes.")
    if not yes and not dry_run:
        raise UsageError("add --yes to write this, or --dry-run to only see it")


class _NotPlainError(Exception):
    """The arguments are a matter for the full command line."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Never:
        raise _NotPlainError(message)


def _tokens(text: str) -> int:
    count = int(text)
    if count < MIN_TOKENS:
        raise ValueError(text)
    return count


def _parser() -> _Parser:
    """Return the parser. The options, their defaults and their meaning stand in `signals_cli`, for `--help`."""
    root = _Parser(add_help=False, allow_abbrev=False)
    names = root.add_subparsers(required=True)

    def command(group: argparse._SubParsersAction[_Parser], name: str, what: Callable[..., None]) -> _Parser:
        parser = group.add_parser(name, add_help=False, allow_abbrev=False)
        parser.add_argument("--home", type=Path)
        parser.set_defaults(run=what)
        return parser

    command(names, "status", status).add_argument("--json", dest="as_json", action="store_true")
    _add_signals_options(command(names, "signals", signals))
    hooks = names.add_parser("hook", add_help=False, allow_abbrev=False).add_subparsers(required=True)
    for host in HOSTS:
        parser = command(hooks, host, hook)
        parser.set_defaults(host=host)
        parser.add_argument("--max-tokens", type=_tokens)
    installer = command(hooks, "install", hook_install)
    installer.add_argument("host", choices=["claude-code"])
    for option in ("--dry-run", "--yes", "--undo", "--every-prompt"):
        installer.add_argument(option, action="store_true")
    return root


def _add_signals_options(parser: _Parser) -> None:
    parser.add_argument("place", nargs="?", type=Path)
    parser.add_argument("--for", dest="audience", choices=list(Audience), default=Audience.LEAD)
    parser.add_argument("--name")
    parser.add_argument("--agents")
    parser.add_argument("--by", choices=list(Lens))
    parser.add_argument("--format", dest="output_format", choices=FORMATS, default="text")
    parser.add_argument("--max-tokens", type=_tokens)
    parser.add_argument("--now", type=int)
    parser.add_argument("--freeze", type=Path)
