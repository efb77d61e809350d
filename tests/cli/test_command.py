"""The command itself: its help, its failures and their exit codes, its completion."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from commandline import Done, named
from homes import FIXTURES

from a2a_trust import __version__, errors, plain
from a2a_trust.store import TrustStore

if TYPE_CHECKING:
    from collections.abc import Callable

COMMAND = Path(sysconfig.get_path("scripts")) / "a2a-trust"


def test_the_version_is_printed(run: Callable[..., Done]) -> None:
    """`--version` names the program and its version."""
    assert run("--version") == Done(0, f"a2a-trust {__version__}\n", "")


def test_without_a_command_there_is_help(run: Callable[..., Done]) -> None:
    """Who types only the name is told what there is."""
    done = run()
    assert done.code == 2
    assert "backfill" in done.out + done.err


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_names_the_first_steps(run: Callable[..., Done], option: str) -> None:
    """The help ends with what to type first."""
    assert "First use: a2a-trust backfill && a2a-trust show" in run(option).out


def test_the_console_script_works() -> None:
    """The installed command runs in a process of its own."""
    done = subprocess.run([COMMAND, "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"a2a-trust {__version__}\n")


def test_every_failure_has_an_exit_code_of_its_own() -> None:
    """No two classes of errors share an exit code, and none is a success or a signal."""
    codes = [error.exit_code for error in errors.ALL_ERRORS]
    assert len(set(codes)) == len(codes)
    assert all(0 < code < 126 and code != plain.INTERRUPTED for code in codes)


def test_every_failure_is_listed() -> None:
    """Each class of the module is in the list that the documentation is made from."""
    defined = {found for found in vars(errors).values() if isinstance(found, type) and issubclass(found, Exception)}
    assert set(errors.ALL_ERRORS) == defined


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["show", "--sort", "colour"], 2),
        (["frobnicate"], 2),
        (["explain"], 2),
        (["backfill", "no/such/folder"], 2),
        (["backfill", "--source", "nobody"], 2),
        (["backfill", "--jobs", "-1"], 2),
        (["policy", "--preview"], 2),
        (["backfill"], 3),
        (["backfill", "--policy", "nobody"], 5),
        (["policy", "--set", "nobody"], 5),
        (["show"], 9),
        (["show", "main"], 9),
        (["explain", "main"], 9),
        (["rebuild"], 9),
        (["policy", "--set", "seed", "--preview"], 9),
    ],
    ids=named,
)
def test_a_failure_has_its_exit_code(run: Callable[..., Done], arguments: list[str], code: int) -> None:
    """Where nothing is recorded yet, each mistake leads to its own code."""
    assert run(*arguments).code == code


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["explain", "main", "honesty"], 2),
        (["explain", "main", ""], 2),
        (["backfill", str(FIXTURES / "a-team"), "--policy", "seed"], 5),
        (["show", "nobody"], 10),
        (["explain", "nobody"], 10),
        (["show", "nobody", "--by", "tool"], 10),
    ],
    ids=named,
)
def test_a_failure_in_a_home_has_its_exit_code(
    run: Callable[..., Done], copy_of: Callable[..., Path], arguments: list[str], code: int
) -> None:
    """Where something is recorded, each mistake leads to its own code."""
    copy_of("a-team")
    assert run(*arguments).code == code


def test_a_failure_is_told_in_one_line(run: Callable[..., Done]) -> None:
    """A failure goes to standard error, on one line that begins with the name of the program."""
    done = run("show")
    assert (done.out, done.err.count("\n")) == ("", 1)
    assert re.fullmatch(r"a2a-trust: .*: nothing is recorded here yet; run: a2a-trust backfill\n", done.err)


def test_a_busy_home_is_told(
    run: Callable[..., Done], monkeypatch: pytest.MonkeyPatch, copy_of: Callable[..., Path]
) -> None:
    """While another writer holds the home, a command that writes says so."""
    home = copy_of("a-team")
    with TrustStore(home):
        monkeypatch.setitem(TrustStore.__init__.__kwdefaults__, "lock_seconds", 0.01)
        done = run("backfill", FIXTURES / "made-solo")
    assert (done.code, done.err) == (
        8,
        f"a2a-trust: {home}: another process is writing to this home; try again when it is done\n",
    )


def test_a_home_that_cannot_be_written_is_told(run: Callable[..., Done], tmp_path: Path) -> None:
    """A file where the home should be is no place to write to."""
    place = tmp_path / "file"
    place.write_bytes(b"")
    done = run("backfill", FIXTURES / "made-solo", "--home", place)
    assert (done.code, "must be a folder you may write to" in done.err) == (7, True)


def test_an_interrupt_has_its_exit_code(run: Callable[..., Done], monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends a command quietly with the code of its signal."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("a2a_trust.health.examine", interrupt)
    done = run("doctor")
    assert (done.code, done.err) == (128 + signal.SIGINT, "")


@pytest.mark.parametrize(
    "arguments",
    [["show"], ["show", "--json"], ["show", "main"], ["explain", "main"], ["doctor"], ["policy"]],
    ids=named,
)
def test_a_reader_that_has_gone_is_nothing_to_tell(home_of: Callable[..., Path], arguments: list[str]) -> None:
    """Where nobody reads the output any more, the command ends quietly and without a failure, as under `head`."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        environment = {**os.environ, "A2A_TRUST_HOME": str(home_of("a-team"))}
        done = subprocess.run(
            [COMMAND, *arguments], stdout=writing, stderr=subprocess.PIPE, env=environment, check=False
        )
    finally:
        os.close(writing)
    assert done.returncode in (0, 1)
    assert done.stderr == b""


def complete(home: Path, shell: str, words: str) -> subprocess.CompletedProcess[str]:
    """Ask what may stand in the place of the last word, as a shell does."""
    environment = {
        **os.environ,
        "A2A_TRUST_HOME": str(home),
        "_A2A_TRUST_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
        "_TYPER_COMPLETE_ARGS": words,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    return subprocess.run([COMMAND], env=environment, capture_output=True, text=True, check=True)


@pytest.mark.parametrize(
    ("shell", "words", "completed"),
    [
        ("bash", "a2a-trust sh", "show"),
        ("bash", "a2a-trust show rese", "researcher"),
        ("bash", "a2a-trust explain imp", "implementer"),
        ("bash", "a2a-trust explain main rel", "reliability"),
        ("bash", "a2a-trust show --by pro", "project"),
        ("zsh", "a2a-trust show rese", "researcher"),
        ("fish", "a2a-trust show rese", "researcher"),
    ],
)
def test_words_are_completed(home_of: Callable[..., Path], shell: str, words: str, completed: str) -> None:
    """Commands, agents, dimensions and lenses are completed in each shell."""
    assert completed in complete(home_of("a-team"), shell, words).stdout


def test_completion_without_a_home_is_quiet(tmp_path: Path) -> None:
    """Where nothing is recorded no name is completed, and nothing is said."""
    done = complete(tmp_path / "home", "bash", "a2a-trust show ")
    assert (done.stdout.strip(), done.stderr) == ("", "")
