"""The commands that somebody waits for: they start with little, and read the arguments that the full line describes."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main
from homes import FIXTURES, ingest

from a2a_trust import __main__, __version__, cli, quick
from a2a_trust.advice import DISCLAIMER, LEAD_HEADER

EVENT = b'{"hook_event_name": "SessionStart", "source": "startup"}'

# Modules of ours that each command may import: all that it needs to answer, and nothing that it does not.
READING = {
    "a2a_trust", "agents", "amendments", "errors", "frozen", "lenses", "model", "policy", "refold", "reputation",
    "signals", "store", "store.audit", "store.files", "store.held", "store.reader", "store.snapshot", "text",
}  # fmt: skip
ANSWERING = READING | {"advice", "briefing", "hooks", "plain", "quick", "settings", "status"}
MAY_IMPORT = {
    ("--version",): {"a2a_trust"},
    ("status",): ANSWERING,
    ("signals",): ANSWERING,
    ("signals", "--format", "json"): ANSWERING,
    ("hook", "claude-code"): ANSWERING,
    ("hook", "codex"): ANSWERING,
    ("hook", "install", "claude-code", "--dry-run"): ANSWERING | {"hook_install", "hook_settings"},
}
# Slow to import, and none of these commands' business.
NEVER = {
    "typer", "click", "rich", "importlib.metadata", "filelock", "sqlite3", "zstandard", "asyncio", "concurrent",
    "multiprocessing", "mcp", "pydantic", "textual",
}  # fmt: skip
IMPORTED = """
import sys
sys.argv = ["a2a-trust", *sys.argv[1:]]
before = set(sys.modules)
from a2a_trust.__main__ import main
try:
    main()
finally:
    sys.stdout.flush()
    print("\\nIMPORTED", *sorted(set(sys.modules) - before))
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home over the logs of one team."""
    place = tmp_path_factory.mktemp("quick") / "home"
    ingest(place, FIXTURES / "a-team")
    return place


def environment(home: Path) -> dict[str, str]:
    """What a command sees of its surroundings: this home, and nothing of this user's."""
    kept = {name: os.environ[name] for name in ("PATH",) if name in os.environ}
    return {**kept, "HOME": str(home.parent), "A2A_TRUST_HOME": str(home), "LANG": "C.UTF-8"}


def run(home: Path, *arguments: str, given: bytes = b"", **environ: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command as users do."""
    return subprocess.run(
        [sys.executable, "-m", "a2a_trust", *arguments],
        env=environment(home) | environ,
        input=given,
        capture_output=True,
        check=False,
    )


@pytest.mark.parametrize("arguments", MAY_IMPORT, ids=" ".join)
def test_a_quick_command_imports_only_what_it_needs(home: Path, arguments: tuple[str, ...]) -> None:
    """Neither Typer, Rich and the entry points, nor any module of ours beside those listed."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED, *arguments],
        env=environment(home),
        input=EVENT,
        capture_output=True,
        check=True,
    )
    imported = done.stdout.decode().rpartition("IMPORTED ")[2].split()
    ours = {name.removeprefix("a2a_trust.") for name in imported if name.split(".")[0] == "a2a_trust"}
    assert ours - {"__main__"} <= MAY_IMPORT[arguments]
    assert not {name for name in imported if name in NEVER or name.split(".")[0] in NEVER}


def test_the_modules_listed_exist() -> None:
    """A module that is gone does not stay on the list."""
    root = Path(__main__.__file__).parent
    names = set().union(*MAY_IMPORT.values()) - {"a2a_trust"}
    paths = {name: root / name.replace(".", "/") for name in names}
    assert [name for name, path in paths.items() if not path.with_suffix(".py").exists() and not path.is_dir()] == []


def test_the_version_is_told_without_anything_else(home: Path) -> None:
    """It is the version of the package."""
    assert run(home, "--version").stdout.decode() == f"a2a-trust {__version__}\n"


def test_the_start_knows_the_quick_commands() -> None:
    """The list of the start is that of the module it starts."""
    assert __main__.QUICK == quick.COMMANDS


def leaves(command: Any, *path: str) -> dict[tuple[str, ...], Any]:  # noqa: ANN401 - Typer's own, which it hides
    """All commands at and below one, by the words that lead to them."""
    if not hasattr(command, "commands"):
        return {path: command}
    return {key: leaf for name, sub in command.commands.items() for key, leaf in leaves(sub, *path, name).items()}


def described() -> dict[tuple[str, ...], Any]:
    """The quick commands as the full command line describes them."""
    return {path: leaf for path, leaf in leaves(typer.main.get_command(cli.app)).items() if path[0] in quick.COMMANDS}


@pytest.mark.parametrize("path", sorted(described()), ids=" ".join)
def test_both_ways_to_read_arguments_know_the_same(path: tuple[str, ...]) -> None:
    """Each command has the same options, arguments and defaults, whether read quickly or in full."""
    full = {
        parameter.opts[0] if parameter.param_type_name == "option" else str(parameter.name): parameter.default
        for parameter in described()[path].params
        if parameter.name != "help"
    }
    parser = quick._parser()  # noqa: SLF001 - the two must be held to be the same somewhere
    for word in path:
        groups = [action for action in parser._actions if isinstance(action.choices, dict)]  # noqa: SLF001
        parser = groups[0].choices[word]
    plain = {
        action.option_strings[0] if action.option_strings else action.dest: action.default
        for action in parser._actions  # noqa: SLF001
    }
    assert {name: str(value) for name, value in plain.items()} == {name: str(value) for name, value in full.items()}


@pytest.mark.parametrize(
    "arguments",
    [
        ["signals", "--help"],
        ["signals", "--max-tokens", "3"],
        ["signals", "--for", "nobody"],
        ["signals", "--nonsense"],
        ["signals", "--form", "json"],
        ["status", "extra"],
        ["hook"],
        ["hook", "nobody"],
    ],
)
def test_what_is_not_plain_is_left_to_the_full_command_line(arguments: list[str]) -> None:
    """It has the words for help and for what is wrong."""
    assert quick.run(arguments) is None


def test_a_wrong_argument_is_told_in_full(home: Path) -> None:
    """The full command line names the option, and exits as it does for all commands."""
    done = run(home, "signals", "--max-tokens", "3")
    assert (done.returncode, b"--max-tokens" in done.stderr) == (2, True)


def test_signals_are_the_advisory_text(home: Path) -> None:
    """Header, a row for each teammate, disclaimer."""
    lines = run(home, "signals").stdout.decode().splitlines()
    assert (lines[0], lines[-1], len(lines)) == (LEAD_HEADER, DISCLAIMER, 5)


def test_signals_are_the_same_bytes_in_every_process(home: Path) -> None:
    """Neither the seed of hashing nor the locale nor the time changes a byte, in either form."""
    for form in ("text", "json"):
        found = {
            run(home, "signals", "--format", form, PYTHONHASHSEED=seed, LANG=lang, TZ=zone).stdout
            for seed, lang, zone in (("1", "C", "UTC"), ("2", "C.UTF-8", "Asia/Tokyo"))
        }
        assert len(found) == 1


def test_silence_is_explained_to_people(home: Path) -> None:
    """Standard output stays empty, and a remark says which setting it was."""
    done = run(home, "signals", "--for", "teammate", "--name", "researcher")
    assert (done.stdout, b"A2A_TRUST_INJECTION" in done.stderr, done.returncode) == (b"", True, 0)


def test_a_teammate_needs_a_name(home: Path) -> None:
    """Whose profile is wanted cannot be guessed."""
    done = run(home, "signals", "--for", "teammate")
    assert (done.returncode, b"--name" in done.stderr, b"Traceback" in done.stderr) == (2, True, False)


def test_a_frozen_run_reads_its_file(home: Path, tmp_path: Path) -> None:
    """What was frozen is given again under its name."""
    name = run(home, "signals", "--freeze", str(tmp_path / "run.json")).stdout.decode().strip()
    found = json.loads(run(home, "signals", str(tmp_path / "run.json"), "--format", "json").stdout)
    live = json.loads(run(home, "signals", "--format", "json").stdout)
    assert found["provenance"].pop("snapshot") == name
    assert found == {**live, "provenance": {key: live["provenance"][key] for key in found["provenance"]}}


@pytest.mark.parametrize("command", ["signals", "mcp"])
def test_a_snapshot_file_that_is_not_there_is_told(home: Path, tmp_path: Path, command: str) -> None:
    """It is not taken for an empty home."""
    done = run(home, command, str(tmp_path / "run.json"))
    assert (done.returncode, b"no such snapshot file" in done.stderr) == (2, True)


def test_the_status_is_one_line(home: Path) -> None:
    """How much is known, how new it is, and who is worst."""
    line = run(home, "status").stdout.decode()
    assert re.fullmatch(
        r"trust: 4 agent types, 48 samples, newest \d{4}-\d\d-\d\d \d\d:\d\d; lowest researcher 0\.25\n", line
    )


def test_an_empty_home_breaks_no_prompt(tmp_path: Path) -> None:
    """The status says so, the hook says nothing, and neither fails."""
    assert run(tmp_path, "status").stdout == b"trust: nothing recorded yet\n"
    done = run(tmp_path, "hook", "claude-code", given=EVENT)
    assert (done.stdout, done.stderr, done.returncode) == (b"", b"", 0)


@pytest.mark.parametrize("given", [b"", b"{", b"\xff\xfe", b"[1]"])
def test_a_hook_never_fails(home: Path, given: bytes) -> None:
    """Exit code 2 would block a prompt, and any other would be shown: it is 0, whatever comes in."""
    done = run(home, "hook", "claude-code", given=given)
    assert (done.stdout, done.returncode) == (b"", 0)
    assert done.stderr.count(b"\n") == 1


def test_installing_needs_a_word(home: Path, tmp_path: Path) -> None:
    """Without --yes the change is only shown."""
    config = {"CLAUDE_CONFIG_DIR": str(tmp_path)}
    done = run(home, "hook", "install", "claude-code", **config)
    assert (done.returncode, b"+" in done.stdout, list(tmp_path.iterdir())) == (2, True, [])
    assert run(home, "hook", "install", "claude-code", "--yes", **config).returncode == 0
    settings = json.loads((tmp_path / "settings.json").read_text(encoding="utf-8"))
    assert list(settings["hooks"]) == ["SessionStart"]


def test_the_installed_command_answers(home: Path, tmp_path: Path) -> None:
    """What stands in the settings is run through a shell, as the host does it, and gives the text."""
    run(home, "hook", "install", "claude-code", "--yes", "--every-prompt", CLAUDE_CONFIG_DIR=str(tmp_path))
    hooks = json.loads((tmp_path / "settings.json").read_text(encoding="utf-8"))["hooks"]
    for event, groups in hooks.items():
        (handler,) = groups[0]["hooks"]
        done = subprocess.run(
            ["/bin/sh", "-c", handler["command"]],
            env=environment(home),
            input=json.dumps({"hook_event_name": event}).encode(),
            capture_output=True,
            timeout=handler["timeout"] * 6,
            check=True,
        )
        assert json.loads(done.stdout)["hookSpecificOutput"]["hookEventName"] == event
