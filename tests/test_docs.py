"""The documentation is a test: every command it shows runs, and every command there is stands in it."""

import html
import os
import re
import shlex
import shutil
import subprocess
import sysconfig
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import typer.main
from homes import FIXTURES, ingest
from markdown_it import MarkdownIt

from a2a_trust import cli
from a2a_trust.signals import TrustSignals

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SHELL_TAGS = {"bash", "sh", "shell", "shell-session", "zsh"}
COMMAND_TIMEOUT_S = 120
MOST_COMMANDS = 12


class Command(NamedTuple):
    """A command that a page shows."""

    place: str
    text: str
    exit_code: int


class Block(NamedTuple):
    """A code block of a page; lines count from 1."""

    line: int
    tag: str
    text: str


def blocks(page: Path) -> list[Block]:
    """All code blocks of a page, fenced or indented, in order."""
    return [
        Block(token.map[0] + 1 + (token.type == "fence"), token.info.strip(), token.content)
        for token in MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8"))
        if token.type in {"fence", "code_block"} and token.map
    ]


def commands(page: Path) -> Iterator[Command]:
    """All commands in the `console` blocks of a page, in order; a backslash at the end joins a line to the next."""
    for block in blocks(page):
        if block.tag != "console":
            continue
        lines = enumerate(block.text.splitlines(), start=block.line)
        for number, line in lines:
            if not line.startswith("$ "):
                continue
            text = line.removeprefix("$ ")
            while text.endswith("\\"):
                text = text[:-1] + next(lines, (0, ""))[1].removeprefix("> ")
            code = re.search(r"\s# exits (\d+)$", text)
            yield Command(f"{page.relative_to(ROOT)}:{number}", text, int(code[1]) if code else 0)


def is_make_target(words: list[str]) -> bool:
    """Everything after `make` is a target of the Makefile, or a variable."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    return all(word in targets or re.fullmatch(r"[A-Z0-9_]+=.*", word) for word in words[1:])


def is_clone(words: list[str]) -> bool:
    """One address is cloned, perhaps into a folder of a name of its own."""
    return len(words) in {3, 4} and re.match(r"(https://|git@)\S+$", words[2]) is not None


def is_install(words: list[str]) -> bool:
    """Only this distribution is installed, by name or from the checkout, with extras that exist."""
    what = [word for word in words[2:] if not word.startswith("-")]
    named = [re.fullmatch(r"(a2a-trust|\.)(?:\[([a-z,-]+)\])?", word) for word in what]
    extras = PROJECT["optional-dependencies"]
    return bool(what) and all(name and (not name[2] or set(name[2].split(",")) <= set(extras)) for name in named)


def is_folder(words: list[str]) -> bool:
    """The folder is the clone itself or one in it."""
    return len(words) == 2 and (words[1] == PROJECT["name"] or (ROOT / words[1]).is_dir())


# What is shown but not run, because it would fetch something or run these tests again, and how it is judged instead.
NOT_RUN: dict[str, Callable[[list[str]], bool]] = {
    "make": is_make_target,
    "git clone": is_clone,
    "pip install": is_install,
    "pipx install": is_install,
    "cd": is_folder,
}


def judge(command: str) -> Callable[[list[str]], bool] | None:
    """How to judge a command that is not run; None for one that is."""
    return next((check for prefix, check in NOT_RUN.items() if f"{command} ".startswith(f"{prefix} ")), None)


def shows_a_command(line: str) -> bool:
    """Whether a line is a shell command, with or without its prompt."""
    return line.startswith(("$ ", "a2a-trust ")) or judge(line) is not None


def top_level_commands() -> dict[str, str]:
    """Every command of the command line and its help text, plugins included."""
    group = typer.main.get_command(cli.app)
    found: dict[str, str] = {
        name: f"{command.help or ''}\n{command.epilog or ''}" for name, command in group.commands.items()
    }
    return found


@pytest.fixture
def sandbox(tmp_path: Path) -> Path:
    """A folder that stands for a fresh clone, with the logs of the examples, and beside it a home with its own logs."""
    shutil.copytree(ROOT / "fixtures", tmp_path / "clone/fixtures", symlinks=True)
    shutil.copytree(ROOT / "fixtures/claude-code/made-team", tmp_path / "home/.claude")
    shutil.copytree(ROOT / "fixtures/dsh/a-team", tmp_path / "home/.dsh")
    return tmp_path


def environment(sandbox: Path) -> dict[str, str]:
    """What a command sees of its surroundings: nothing of this user's, so no other home and no other logs."""
    return {
        "PATH": os.pathsep.join((sysconfig.get_path("scripts"), os.environ["PATH"])),
        "HOME": str(sandbox / "home"),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "COLUMNS": "120",
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_command_shown_runs(page: Path, sandbox: Path) -> None:
    """The commands of a page, in order, exit with 0 or with the code that the page gives."""
    for command in commands(page):
        check = judge(command.text)
        if check is not None:
            assert check(shlex.split(command.text, comments=True)), f"{command.place}: {command.text}"
            continue
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command.text],  # noqa: S607 bash is found on PATH
            cwd=sandbox / "clone",
            env=environment(sandbox),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=COMMAND_TIMEOUT_S,
            check=False,
        )
        told = f"{command.place}: {command.text}\n{done.stdout}{done.stderr}"
        assert done.returncode == command.exit_code, told


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_command_shown_is_in_a_console_block(page: Path) -> None:
    """A command in any other code block would never be run; this is how one is found."""
    wrong = [
        f"{page.relative_to(ROOT)}:{block.line}"
        for block in blocks(page)
        if block.tag != "console"
        and (block.tag in SHELL_TAGS or any(shows_a_command(line) for line in block.text.splitlines()))
    ]
    assert wrong == [], "tag these blocks `console` and begin each command with `$ `"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_console_block_shows_a_command(page: Path) -> None:
    """A command without its prompt would be taken for output and never run."""
    wrong = [
        f"{page.relative_to(ROOT)}:{block.line}"
        for block in blocks(page)
        if block.tag == "console" and not block.text.startswith("$ ")
    ]
    assert wrong == [], "begin each command with `$ `"


def test_the_readme_shows_how_to_start() -> None:
    """The README runs at least one command of ours."""
    assert any(command.text.startswith("a2a-trust ") for command in commands(ROOT / "README.md"))


def test_the_plugins_are_among_the_commands() -> None:
    """What the tests below say of every command, they say of the plugins too."""
    assert {"backfill", "show", "explain"} <= set(top_level_commands())


def test_the_command_line_stays_small() -> None:
    """Somebody can take in at a glance what there is."""
    group = typer.main.get_command(cli.app)
    assert len([name for name, command in group.commands.items() if not command.hidden]) <= MOST_COMMANDS


@pytest.mark.parametrize("name", sorted(top_level_commands()))
def test_every_command_explains_itself(name: str) -> None:
    """A command has a help text, and an example in it."""
    assert f"a2a-trust {name}" in top_level_commands()[name]


@pytest.mark.parametrize("name", sorted(top_level_commands()))
def test_every_command_is_documented(name: str) -> None:
    """A command is named in the README or on a page of docs/."""
    named = re.compile(rf"\ba2a-trust {re.escape(name)}\b")
    assert any(named.search(page.read_text(encoding="utf-8")) for page in PAGES)


def test_the_picture_shows_the_numbers_of_today(tmp_path: Path) -> None:
    """The picture of the dashboard holds the total of each agent of the fixtures; else: make picture."""
    page = html.unescape((ROOT / "docs" / "dashboard.svg").read_text(encoding="utf-8"))
    logs = sorted(path for path in FIXTURES.iterdir() if path.is_dir() and not path.name.startswith("made-"))
    ingest(tmp_path, *logs)
    for agent in TrustSignals(tmp_path).agents():
        assert agent.name in page
        assert agent.total is None or f"{agent.total:.3f}" in page
