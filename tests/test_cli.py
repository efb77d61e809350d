"""The command line: what each command says, on which stream, with which exit code, whatever it meets."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import sysconfig
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from a2a_trust.backfill.run import LINE_SKIPS
from dshlog import LogBuilder, decode, frames
from homes import EXPECTED, FIXTURES, LOG_GLOB, ingest
from make_fixtures import T, lead, mate, work

from a2a_trust import __version__, cli, errors, plain
from a2a_trust.lenses import Lens
from a2a_trust.model import DIMENSIONS, Profile
from a2a_trust.policy import BUILT_IN
from a2a_trust.reputation import step
from a2a_trust.store import TrustStore, files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

FOLDERS = sorted(EXPECTED)
every_folder = pytest.mark.parametrize("folder", FOLDERS)
AUDIT, LEDGER, BACKUP, CACHE, LOCK = "audit.jsonl", "ledger.json", "ledger.json.bak", "cache.sqlite", "ledger.lock"
COMMAND = Path(sysconfig.get_path("scripts")) / "a2a-trust"
SAME_START = ("helper 114", "helper 175")
"""Names of two helpers whose fingerprints begin with the same four digits."""
WIDE = "200"
"""Columns in which no table has to leave anything out."""


def named(value: object) -> str | None:
    """Arguments of a command as the name of a test, without where this checkout stands."""
    return " ".join(value).replace(str(FIXTURES), "") if isinstance(value, list) else None


class Done(NamedTuple):
    """What a command left."""

    code: int
    out: str
    err: str

    def json(self) -> Any:  # noqa: ANN401 - whatever the command printed
        """What it printed, read as JSON."""
        return json.loads(self.out)


class NoWaiting(files.System):
    """Power stays on in these tests."""

    def sync(self, descriptor: int) -> None:
        """Return at once."""


class Unsynced(sqlite3.Connection):
    """A database that waits for no disk either."""

    def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:  # noqa: ANN401 - whatever SQLite takes
        """Execute a statement, all the same whether it is durable."""
        return super().execute(sql.replace("synchronous=NORMAL", "synchronous=OFF"), *parameters)


@pytest.fixture(autouse=True, scope="module")
def no_waiting() -> Iterator[None]:
    """No test waits for the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "system", NoWaiting())
        patch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Unsynced))
        yield


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this user's or this terminal's: an empty home of their own, no colours, no logs."""
    for name in ("COLUMNS", "FORCE_COLOR", "NO_COLOR", "A2A_TRUST_HOME", "_A2A_TRUST_COMPLETE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setenv("DSH_HOME", str(tmp_path / "user" / ".dsh"))
    monkeypatch.setenv("A2A_TRUST_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TERM", "dumb")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Callable[..., Done]:
    """Run the command in this process, as its console script does. An exception that it lets through fails the test."""

    def call(*arguments: object, columns: str | None = None, home: Path | None = None) -> Done:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["a2a-trust", *map(str, arguments)])
            if columns is not None:
                patch.setenv("COLUMNS", columns)
            if home is not None:
                patch.setenv("A2A_TRUST_HOME", str(home))
            capsysbinary.readouterr()
            try:
                cli.main()
                code = 0
            except SystemExit as error:
                code = error.code if isinstance(error.code, int) else int(error.code is not None)
            out, err = capsysbinary.readouterr()
        return Done(code, out.decode(), err.decode())

    return call


@pytest.fixture(scope="module")
def home_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A home over folders of the fixtures, made when it is first asked for; nobody may change it."""

    @cache
    def make(*folders: str, policy: str = "standard") -> Path:
        home = tmp_path_factory.mktemp("homes") / "home"
        ingest(home, *(FIXTURES / folder for folder in folders), policy=policy)
        return home

    return make


@pytest.fixture
def copy_of(home_of: Callable[..., Path], tmp_path: Path) -> Callable[..., Path]:
    """A home over folders of the fixtures as this test's own default home."""

    def make(*folders: str) -> Path:
        return shutil.copytree(home_of(*folders), tmp_path / "home")

    return make


def content(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def logs_in(folder: Path) -> list[Path]:
    """The session logs below a folder."""
    return sorted(folder.rglob(LOG_GLOB))


def agents_in(shown: Done) -> dict[str, dict[str, Any]]:
    """The agents of `show --json` by their keys."""
    return {agent["key"]: agent for agent in shown.json()["agents"]}


def write(root: Path, *builders: LogBuilder) -> Path:
    """Write logs below a folder."""
    for builder in builders:
        builder.write(root)
    return root


def described_anew(root: Path) -> Path:
    """Write the logs of two teams whose Leads described the same two members in other words."""
    for number in (1, 2):
        boss = lead(90, number)
        built = [boss]
        for place, name in enumerate(("researcher", "writer"), 1):
            boss.later(10).spawn(f"mate-{number}-{name}", name, f"Take {number}: does what a {name} does.")
            member = LogBuilder(f"mate-{number}-{name}", created_at=boss.now, parent=boss.session, origin="subagent")
            member.descriptor(f"Take {number}.")
            member.end_seed()
            member.turn_start()
            for call in range(3):
                work(member, T + 1000 * number + 100 * place + call)
            built.append(member)
        write(root, *built)
    return root


# ---------------------------------------------------------------------- the command itself


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


# ---------------------------------------------------------------------- backfill


@every_folder
def test_the_counts_of_a_run_add_up(run: Callable[..., Done], tmp_path: Path, folder: str) -> None:
    """Every line read is in one count, every session too, and every row that was written."""
    summary = run("backfill", FIXTURES / folder, "--json").json()
    skipped = sum(summary["skipped"].get(reason, 0) for reason in LINE_SKIPS)
    used = summary["linesUsed"] + summary["linesIrrelevant"] + summary["linesInherited"]
    rows = (tmp_path / "home" / AUDIT).read_bytes().count(b"\n") - 1
    assert used + skipped == summary["lines"]
    assert sum(summary["sessions"].values()) == len({path.parent for path in logs_in(FIXTURES / folder)})
    assert summary["evidence"] + summary["evidenceNotFolded"] + summary["observations"] == rows


@pytest.mark.parametrize("folder", ["a-team", "made-forks", "made-strangers", "mix-v3-v4"])
def test_the_summary_holds_the_numbers_of_its_json(run: Callable[..., Done], tmp_path: Path, folder: str) -> None:
    """What is printed for people says the same as what is printed for scripts."""
    told = run("backfill", FIXTURES / folder, "--home", tmp_path / "one").out
    said = run("backfill", FIXTURES / folder, "--home", tmp_path / "other", "--json").json()
    lines = dict(re.findall(r"^(\w+) +(.*)$", told, re.MULTILINE))
    assert re.findall(r"\d+", lines["sessions"])[0] == str(sum(said["sessions"].values()))
    assert re.findall(r"\d+", lines["evidence"]) == [
        str(count) for count in (said["evidence"], said["evidenceNotFolded"]) if count or count == said["evidence"]
    ]
    assert lines["observations"] == f"{said['observations']} new"
    assert lines["agents"] == str(said["agents"])
    assert f" {said['lines']} lines: {said['linesUsed']} used, {said['linesIrrelevant']} irrelevant, " in lines["read"]


def test_what_was_skipped_is_shown_with_its_place(run: Callable[..., Done]) -> None:
    """A reason stands with its count and the places where it was met."""
    done = run("backfill", FIXTURES / "made-forks")
    (place,) = re.findall(r"^skipped +seed-boundary-lost 1\n +(.*)$", done.out, re.MULTILINE)
    assert Path(place).is_file()


def test_a_second_run_finds_nothing_new(run: Callable[..., Done], tmp_path: Path) -> None:
    """What was read is not read again, and changes nothing."""
    first = run("backfill", FIXTURES / "a-team", "--json").json()
    before = (tmp_path / "home" / AUDIT).read_bytes()
    second = run("backfill", FIXTURES / "a-team", "--json").json()
    assert (second["evidence"], second["linesUsed"], second["unchanged"]) == (0, 0, sum(first["sessions"].values()))
    assert (tmp_path / "home" / AUDIT).read_bytes() == before


def test_logs_are_found_where_the_harness_keeps_them(run: Callable[..., Done], tmp_path: Path) -> None:
    """Without a path the source's own folder is read."""
    shutil.copytree(FIXTURES / "a-team", tmp_path / "user" / ".dsh")
    assert run("backfill", "--json").json()["sessions"] == {"main": 1, "teammate": 3}


def test_one_log_can_be_named(run: Callable[..., Done]) -> None:
    """A path may be a single file."""
    (path,) = (FIXTURES / "made-solo").rglob("session.jsonl.zstd")
    assert run("backfill", path, "--json").json()["sessions"] == {"main": 1}


def test_the_home_can_be_named(run: Callable[..., Done], tmp_path: Path) -> None:
    """`--home` is stronger than the environment."""
    run("backfill", FIXTURES / "made-solo", "--home", tmp_path / "elsewhere")
    assert [(tmp_path / name / AUDIT).exists() for name in ("elsewhere", "home")] == [True, False]


def test_the_number_of_processes_leaves_no_trace(
    run: Callable[..., Done], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes write what one writes, byte for byte."""
    monkeypatch.setattr(sys.modules["a2a_trust.backfill.run"], "POOL_BYTES", 0)
    for jobs in (1, 2):
        run("backfill", FIXTURES / "a-team", "--jobs", jobs, "--home", tmp_path / str(jobs))
    assert (tmp_path / "1" / AUDIT).read_bytes() == (tmp_path / "2" / AUDIT).read_bytes()


def test_a_dry_run_makes_no_home(run: Callable[..., Done], tmp_path: Path) -> None:
    """Where there is no home there is none afterwards."""
    done = run("backfill", FIXTURES / "a-team", "--dry-run", "--home", tmp_path / "not" / "yet")
    assert (done.code, (tmp_path / "not").exists()) == (0, False)


def test_a_dry_run_changes_no_home(run: Callable[..., Done], copy_of: Callable[..., Path]) -> None:
    """Where there is a home it is afterwards what it was, byte for byte."""
    home = copy_of("a-team")
    before = content(home)
    done = run("backfill", FIXTURES / "b-shared-home", "--dry-run", "--json")
    assert (done.json()["evidence"] > 0, content(home)) == (True, before)


def test_a_dry_run_says_what_a_run_would_do(run: Callable[..., Done], copy_of: Callable[..., Path]) -> None:
    """Its summary is that of the run which follows."""
    copy_of("a-team")
    arguments = ("backfill", FIXTURES / "b-shared-home", FIXTURES / "a-team", "--json")
    said, done = run(*arguments, "--dry-run").json(), run(*arguments).json()
    assert {**said, "seconds": 0} == {**done, "seconds": 0}


def test_a_dry_run_says_that_it_was_one(run: Callable[..., Done], tmp_path: Path) -> None:
    """The last line tells that nothing was written, and where it would have been."""
    told = run("backfill", FIXTURES / "a-team", "--dry-run").out.splitlines()[-1]
    assert told == f"Nothing was written: this was a dry run over {tmp_path / 'home'}."


def test_a_dry_run_is_refused_under_the_name_of_the_home(
    run: Callable[..., Done], copy_of: Callable[..., Path]
) -> None:
    """What a dry run is refused for is told of the home itself, not of a copy that is gone."""
    home = copy_of("a-team")
    done = run("backfill", FIXTURES / "a-team", "--dry-run", "--policy", "seed")
    assert (done.code, done.err.startswith(f"a2a-trust: {home}: ")) == (5, True)


@pytest.mark.parametrize(
    ("patterns", "sessions"),
    [
        (["a-team"], {"main": 1}),
        (["*/a-team/*"], {"main": 1}),
        (["made-*"], {"main": 1, "teammate": 3}),
        (["made-*", "a-team"], {}),
        (["nothing-of-the-kind"], {"main": 2, "teammate": 3}),
    ],
)
def test_logs_can_be_left_out(
    run: Callable[..., Done], tmp_path: Path, patterns: list[str], sessions: dict[str, int]
) -> None:
    """A glob leaves out every log whose path, or a folder in it, matches; how many is told."""
    for folder in ("a-team", "made-solo"):
        shutil.copytree(FIXTURES / folder, tmp_path / "logs" / folder)
    options = [word for pattern in patterns for word in ("--exclude", pattern)]
    done = run("backfill", tmp_path / "logs", *options, "--json")
    left_out = 5 - sum(sessions.values())
    assert (done.code, done.json()["sessions"], done.json()["skipped"].get("excluded", 0)) == (0, sessions, left_out)


def test_a_source_can_be_named(run: Callable[..., Done]) -> None:
    """`--source` reads one kind of logs only."""
    assert run("backfill", FIXTURES / "made-solo", "--source", "dsh", "--json").json()["sessions"] == {"main": 1}


def test_a_source_that_is_not_there_is_told(run: Callable[..., Done]) -> None:
    """The message names what was asked for and the sources that there are."""
    done = run("backfill", "--source", "nobody")
    assert re.fullmatch(r"a2a-trust: --source nobody: not installed; installed: .*\bdsh\b.*\n", done.err)


@pytest.mark.parametrize("made", [True, False], ids=["empty", "missing"])
def test_no_logs_where_the_harness_keeps_them_is_told(run: Callable[..., Done], tmp_path: Path, *, made: bool) -> None:
    """The message says where was looked, and how to look elsewhere."""
    place = tmp_path / "user" / ".dsh" / "sessions"
    if made:
        place.mkdir(parents=True)
    done = run("backfill")
    assert (done.code, str(place) in done.err, "a2a-trust backfill PATH" in done.err) == (3, True, True)


def test_no_logs_in_a_folder_is_told(run: Callable[..., Done], tmp_path: Path) -> None:
    """The message names the folder that was given."""
    (tmp_path / "empty").mkdir()
    done = run("backfill", tmp_path / "empty")
    assert (done.code, f"no session logs in {tmp_path / 'empty'}; " in done.err) == (3, True)


def test_a_path_that_is_not_there_is_told(run: Callable[..., Done], tmp_path: Path) -> None:
    """A path that was mistyped is named, and nothing is made."""
    done = run("backfill", tmp_path / "nowhere")
    assert (done.code, done.err.startswith(f"a2a-trust: {tmp_path / 'nowhere'}: no such file or folder")) == (2, True)
    assert not (tmp_path / "home").exists()


@pytest.fixture
def half_readable(tmp_path: Path) -> Path:
    """A team's logs beside one that is none."""
    shutil.copytree(FIXTURES / "a-team", tmp_path / "logs")
    broken = tmp_path / "logs" / "sessions" / "broken" / "session.jsonl.zstd"
    broken.parent.mkdir()
    broken.write_bytes(b"this is no log")
    return broken


def test_unreadable_logs_are_told(run: Callable[..., Done], half_readable: Path, tmp_path: Path) -> None:
    """A log that cannot be read is named with the reason, and the exit code says so."""
    done = run("backfill", tmp_path / "logs")
    assert done.code == 4
    assert re.search(rf"^skipped +header-unreadable 1\n +{re.escape(str(half_readable))}: ", done.out, re.MULTILINE)


@pytest.mark.usefixtures("half_readable")
def test_unreadable_logs_cost_the_others_nothing(
    run: Callable[..., Done], home_of: Callable[..., Path], tmp_path: Path
) -> None:
    """The other logs are read as if they were alone."""
    run("backfill", tmp_path / "logs")
    found = [agents_in(run("show", "--json", home=home)) for home in (tmp_path / "home", home_of("a-team"))]
    assert found[0] == found[1]


@pytest.mark.parametrize("policy", BUILT_IN)
def test_a_new_home_takes_its_policy(run: Callable[..., Done], policy: str) -> None:
    """`--policy` decides under which policy a new home begins."""
    run("backfill", FIXTURES / "made-solo", "--policy", policy)
    assert run("policy", "--json").json()["name"] == policy


@pytest.fixture
def own_policy(tmp_path: Path) -> Path:
    """A policy of a user's own."""
    path = tmp_path / "my policy.toml"
    path.write_text('name = "mine"\nmin_samples = 2\n', encoding="utf-8")
    return path


@pytest.mark.parametrize("own", [False, True], ids=["built in", "own"])
def test_a_refused_policy_names_the_command_that_changes_it(
    run: Callable[..., Done], copy_of: Callable[..., Path], own_policy: Path, *, own: bool
) -> None:
    """What the message says to type does what it says; `FILE` is the file that was given."""
    copy_of("a-team")
    wanted = str(own_policy) if own else "seed"
    arguments = ("backfill", FIXTURES / "a-team", "--policy", wanted)
    told = run(*arguments).err
    (command,) = re.findall(r"change it with: a2a-trust (.*)\n", told)
    typed = [wanted if word == "FILE" else word for word in shlex.split(command)]
    assert (run(*typed).code, run(*arguments).code) == (0, 0)


# ---------------------------------------------------------------------- show


def cells(line: str) -> list[str]:
    """The cells of a line of a table."""
    return re.split(r" {2,}", line.strip())


def expected_cells(agent: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The two lines that the table must hold of an agent, without its name and the time."""
    first, second = [], []
    for dim in DIMENSIONS:
        state = agent["dimensions"][dim]
        if state["value"] is None:
            first.append("–" if agent["scored"] else "not scored")
            continue
        first.append(f"{state['value']:.3f}/{state['samples']}" + (" low" if state["confidence"] == "low" else ""))
        low, high = (f"{state[bound] * 100:.0f}" for bound in ("low", "high"))
        second.append(f"{state['rate'] * 100:.0f}% {low}–{high}")
    first.append("not enough" if agent["total"] is None else f"{agent['total']:.4f}")
    return first, second


@pytest.mark.parametrize("policy", BUILT_IN)
@pytest.mark.parametrize("folder", [folder for folder in FOLDERS if folder != "made-names"])
def test_the_table_holds_the_numbers_of_its_json(
    run: Callable[..., Done], home_of: Callable[..., Path], folder: str, policy: str
) -> None:
    """Each agent's two lines hold its values, samples, rates, intervals and total, low confidence marked."""
    home = home_of(folder, policy=policy)
    agents = run("show", "--json", "--by", "fingerprint", home=home).json()["agents"]
    lines = run("show", "--by", "fingerprint", home=home, columns=WIDE).out.splitlines()[1:-1]
    shown = [(cells(lines[place])[1:-1], cells(lines[place + 1])[1:]) for place in range(0, len(lines), 2)]
    assert shown == [expected_cells(agent) for agent in agents]


@pytest.mark.parametrize("lens", Lens)
def test_the_table_of_a_lens_holds_the_numbers_of_its_json(
    run: Callable[..., Done], home_of: Callable[..., Path], lens: str
) -> None:
    """Under every lens the table names the keys and holds their numbers."""
    home = home_of("a-team")
    agents = run("show", "--json", "--by", lens, home=home).json()["agents"]
    lines = run("show", "--by", lens, home=home, columns=WIDE).out.splitlines()
    title, *names = (cells(line)[0] for line in lines[:-1] if not line.startswith(" "))
    rows = [line for line in lines[1:-1] if re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d *$", line)]
    assert title == ("agent" if lens == Lens.FINGERPRINT else lens)
    assert [cells(row)[1:-1] for row in rows] == [expected_cells(agent)[0] for agent in agents]
    assert [name for name in names if lens != Lens.FINGERPRINT] == [
        agent["key"] for agent in agents if lens != Lens.FINGERPRINT
    ]


@pytest.mark.parametrize("folder", ["a-team", "b-shared-home", "made-failures", "made-names"])
def test_a_narrow_table_cuts_no_number(run: Callable[..., Done], home_of: Callable[..., Path], folder: str) -> None:
    """In eighty columns names may be cut, numbers never."""
    home = home_of(folder)
    agents = run("show", "--json", "--by", "fingerprint", home=home).json()["agents"]
    lines = run("show", "--by", "fingerprint", home=home, columns="80").out.splitlines()[1:]
    for place, agent in enumerate(agents):
        for cell, line in zip(expected_cells(agent), lines[2 * place : 2 * place + 2], strict=True):
            assert re.search(".*".join(map(re.escape, cell)), line), line


def test_the_table_fits_eighty_columns(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """No line of the table is longer than the terminal is wide."""
    table = run("show", "--by", "fingerprint", home=home_of("b-shared-home"), columns="80").out.splitlines()[:-1]
    assert [line for line in table if len(line.rstrip()) > 80] == []


def test_the_legend_names_the_policy(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """Under the table stands what the cells mean and under which policy."""
    told = run("show", home=home_of("a-team", policy="seed")).out.splitlines()[-1]
    assert ("fewer than 5 samples" in told, told.endswith("Policy: seed.")) == (True, True)


def test_the_numbers_come_with_their_provenance(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """The JSON says of which home, policy, rows and head the numbers are."""
    home = home_of("a-team")
    ledger = json.loads((home / LEDGER).read_bytes())
    assert run("show", "--json", home=home).json()["provenance"] == {
        "home": str(home),
        "policy": "standard",
        "rows": ledger["audit"]["rows"],
        "head": ledger["audit"]["head"],
        "asOf": ledger["updatedAt"],
        "now": ledger["updatedAt"],
        "snapshot": None,
        "sources": ["dsh"],
    }


def test_the_json_holds_the_ledger(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """Values, samples and good ones are those of the ledger; no evidence is `null`, not one half."""
    home = home_of("b-shared-home")
    agents = json.loads((home / LEDGER).read_bytes())["agents"]
    for key, agent in agents_in(run("show", "--json", home=home)).items():
        for dim, state in agents[key]["trust"].items():
            shown = agent["dimensions"][dim]
            value = state["value"] if state["samples"] else None
            assert (shown["value"], shown["samples"], shown["good"]) == (value, state["samples"], state["good"])


@pytest.mark.parametrize(
    ("sort", "number"),
    [
        ("total", lambda agent: agent["total"]),
        ("samples", lambda agent: sum(state["samples"] for state in agent["dimensions"].values())),
        ("last-seen", lambda agent: agent["lastSeen"]),
        *((dim.value, lambda agent, dim=dim: agent["dimensions"][dim]["value"]) for dim in DIMENSIONS),
    ],
)
def test_the_table_is_sorted_best_first(
    run: Callable[..., Done], home_of: Callable[..., Path], sort: str, number: Callable[[dict[str, Any]], Any]
) -> None:
    """The greatest number comes first, what is not known last, and names decide between equals."""
    agents = run("show", "--json", "--by", "fingerprint", "--sort", sort, home=home_of(*FOLDERS[:12])).json()["agents"]
    places = [(-1.0 if number(agent) is None else number(agent), agent["name"], agent["key"]) for agent in agents]
    assert places == sorted(places, key=lambda place: (-place[0], *place[1:]))


def test_the_table_is_sorted_by_name(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """`--sort name` is in the order of the alphabet."""
    agents = run("show", "--json", "--by", "fingerprint", "--sort", "name", home=home_of(*FOLDERS[:12])).json()[
        "agents"
    ]
    names = [agent["name"] for agent in agents]
    assert names == sorted(names)


@pytest.mark.parametrize("lens", [Lens.NAME, Lens.MODEL, Lens.TOOL, Lens.PROJECT])
def test_a_lens_is_sorted_by_its_own_names(run: Callable[..., Done], home_of: Callable[..., Path], lens: str) -> None:
    """`--sort name` goes by what the first column shows."""
    agents = run("show", "--json", "--by", lens, "--sort", "name", home=home_of(*FOLDERS)).json()["agents"]
    keys = [agent["key"] for agent in agents]
    assert keys == sorted(keys)


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_a_limit_keeps_the_newest(run: Callable[..., Done], home_of: Callable[..., Path], limit: int) -> None:
    """Of more agents than are asked for the newest are shown, and how many were left out is told."""
    home = home_of("a-team")
    seen = sorted(agent["lastSeen"] for agent in run("show", "--json", home=home).json()["agents"])
    done = run("show", "--json", "--limit", limit, home=home).json()
    assert sorted(agent["lastSeen"] for agent in done["agents"]) == seen[-limit:]
    assert done["leftOut"] == len(seen) - limit


def test_a_limit_is_told(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """Under a table that is not whole stands how to see the rest."""
    told = [run("show", "--limit", limit, home=home_of("a-team")).out for limit in (2, 0, 4)]
    line = "The newest 2 of 4; all with --limit 0.\n"
    assert [line in text for text in told] == [True, False, False]


def test_no_limit_shows_all(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """`--limit 0` leaves nothing out."""
    home = home_of(*FOLDERS)
    done = run("show", "--json", "--by", "fingerprint", "--limit", "0", home=home).json()
    assert (len(done["agents"]), done["leftOut"]) == (len(json.loads((home / LEDGER).read_bytes())["agents"]), 0)


# ---------------------------------------------------------------------- the lens that is chosen


def test_types_that_never_come_back_are_shown_by_name(run: Callable[..., Done], tmp_path: Path) -> None:
    """Where few fingerprints recur the table is by name."""
    run("backfill", described_anew(tmp_path / "logs"))
    done = run("show", "--json").json()
    assert (done["lens"], [agent["key"] for agent in done["agents"]]) == ("name", ["researcher", "writer", "main"])


def test_a_lens_that_was_chosen_is_told(run: Callable[..., Done], tmp_path: Path) -> None:
    """Why the table is by name, and how to see each type, stands on standard error."""
    run("backfill", described_anew(tmp_path / "logs"))
    assert run("show").err == (
        "By name: 14 % of the evidence stands on agent types that came back. Each type: --by fingerprint\n"
    )


def test_a_lens_that_was_asked_for_is_not_told(run: Callable[..., Done], tmp_path: Path) -> None:
    """Who chose the lens needs no reason for it."""
    run("backfill", described_anew(tmp_path / "logs"))
    assert [run("show", "--by", lens).err for lens in ("fingerprint", "name")] == ["", ""]


def test_types_that_come_back_are_shown_by_fingerprint(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """Where most evidence stands on recurring fingerprints nothing is said of lenses."""
    home = home_of("b-shared-home")
    assert (run("show", "--json", home=home).json()["lens"], run("show", home=home).err) == ("fingerprint", "")


# ---------------------------------------------------------------------- show AGENT


def test_every_agent_is_found_by_its_fingerprint(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """The whole fingerprint, and its first twelve digits in either case, name one agent."""
    home = home_of("a-team", "made-names")
    for key, agent in agents_in(run("show", "--json", "--by", "fingerprint", home=home)).items():
        for wanted in (key, key[:12], key[:12].upper()):
            assert run("show", wanted, "--json", home=home).json() == agent


def test_an_agent_is_found_by_its_name(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """A name that only one agent has names it."""
    home = home_of("a-team")
    found = run("show", "researcher", "--json", home=home).json()
    assert found == agents_in(run("show", "--json", home=home))[found["key"]]
    assert found["name"] == "researcher"


def test_the_page_of_an_agent_holds_the_numbers_of_its_json(
    run: Callable[..., Done], home_of: Callable[..., Path]
) -> None:
    """Values to their last digit, samples, good ones and confidence stand on the page."""
    home = home_of("a-team")
    agent = run("show", "implementer", "--json", home=home).json()
    page = run("show", "implementer", home=home, columns=WIDE).out
    rows = {row[0]: row for row in map(cells, page.splitlines())}
    for dim in DIMENSIONS:
        state = agent["dimensions"][dim]
        value = "–" if state["value"] is None else str(state["value"])
        assert rows[dim][:4] == [dim, value, str(state["samples"]), str(state["good"])]
        assert rows[dim][-1] == state["confidence"]
    assert rows["total"][1] == str(agent["total"])
    assert rows["fingerprint"][1] == agent["key"]


def test_the_page_of_an_agent_says_what_moved_no_score(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """What nobody is blamed for stands beside the score."""
    home = home_of("made-failures")
    agent = run("show", "coder-v0", "--json", home=home).json()
    page = run("show", "coder-v0", home=home).out
    (line,) = re.findall(r"^moved no score: (.*)$", page, re.MULTILINE)
    excused = [f"{reason} {count}" for reason, count in sorted(agent["stats"]["unattributable"].items())]
    assert line.startswith(", ".join(excused))
    assert len(excused) == 5


def test_an_agent_that_is_not_scored_says_so(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """Under a policy that leaves out its role an agent is shown, without a score."""
    page = run("show", "main", home=home_of("a-team", policy="seed")).out
    assert "(not scored under policy seed)" in page


def test_a_name_that_several_agents_have_lists_them(run: Callable[..., Done], tmp_path: Path) -> None:
    """Each candidate is named by a start of its fingerprint that finds it."""
    run("backfill", described_anew(tmp_path / "logs"))
    done = run("show", "writer")
    assert (done.code, done.err.startswith("a2a-trust: 2 agents answer to 'writer', give a fingerprint: ")) == (
        10,
        True,
    )
    candidates = re.findall(r"\b[0-9a-f]{12}\b", done.err)
    found = [run("show", candidate, "--json").json() for candidate in candidates]
    assert [(agent["name"], agent["key"][:12]) for agent in found] == [("writer", key) for key in candidates]


def test_a_start_that_several_fingerprints_have_lists_them(run: Callable[..., Done], tmp_path: Path) -> None:
    """A prefix must lead to one agent too."""
    boss = lead(91)
    for number, name in enumerate(SAME_START):
        boss.spawn(f"mate-{number}", name, "Helps.")
    run("backfill", write(tmp_path / "logs", boss))
    keys = [
        Profile(name=name, description="Helps.", provider="spawn", context="fresh").fingerprint for name in SAME_START
    ]
    assert keys[0][:4] == keys[1][:4]
    done = run("show", keys[0][:4])
    assert (done.code, re.findall(r"\b[0-9a-f]{12}\b", done.err)) == (10, sorted(key[:12] for key in keys))


def test_a_start_of_three_digits_is_too_short(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """A prefix needs four digits; shorter ones would find anything."""
    home = home_of("a-team")
    key = run("show", "researcher", "--json", home=home).json()["key"]
    assert [run("show", key[:length], home=home).code for length in (3, 4)] == [10, 0]


def test_a_namesake_is_told(run: Callable[..., Done], tmp_path: Path) -> None:
    """The page of an agent names the others of its name, by a start of their fingerprint that finds them."""
    run("backfill", described_anew(tmp_path / "logs"))
    one, other = re.findall(r"\b[0-9a-f]{12}\b", run("show", "writer").err)
    page = run("show", one).out
    assert f"Another agent has this name: {other} (teammate spawn/fresh), last seen " in page


def test_no_namesake_is_no_line(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """Where a name is the only one of its kind nothing is said of others."""
    assert "Another agent" not in run("show", "researcher", home=home_of("a-team")).out


@pytest.mark.parametrize(("wanted", "meant"), [("resear", "researcher"), ("RESEARCHER", "researcher"), ("ai", "main")])
def test_a_name_that_is_almost_right_gets_a_hint(
    run: Callable[..., Done], home_of: Callable[..., Path], wanted: str, meant: str
) -> None:
    """Names that hold what was typed are suggested, whatever the case."""
    done = run("show", wanted, home=home_of("a-team"))
    assert (done.code, done.err.endswith(f"; did you mean {meant}?\n")) == (10, True)


def test_a_hint_ignores_the_case_of_names(run: Callable[..., Done], tmp_path: Path) -> None:
    """An agent whose name has capitals is suggested to who types it without."""
    boss = lead(92)
    member = mate(boss, 1, "Code Reviewer")
    run("backfill", write(tmp_path / "logs", boss, member))
    assert run("show", "reviewer").err.endswith("; did you mean Code Reviewer?\n")


@pytest.mark.parametrize(
    ("lens", "key"), [("name", "researcher"), ("tool", "bash"), ("model", "script-1"), ("source", "dsh")]
)
def test_one_key_of_a_lens_is_shown(
    run: Callable[..., Done], home_of: Callable[..., Path], lens: str, key: str
) -> None:
    """A key of a lens has a page of its own."""
    home = home_of("a-team")
    found = agents_in(run("show", "--by", lens, "--json", home=home))
    assert run("show", key, "--by", lens, "--json", home=home).json() == found[key]


def test_the_page_of_a_lens_is_headed_by_its_key(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """The page of a tool begins with the tool, not with the first agent that used it."""
    assert run("show", "bash", "--by", "tool", home=home_of("a-team")).out.splitlines()[0].strip() == "bash"


def test_a_key_that_a_lens_does_not_have_lists_those_it_has(
    run: Callable[..., Done], home_of: Callable[..., Path]
) -> None:
    """The message names the keys there are."""
    done = run("show", "hammer", "--by", "tool", home=home_of("a-team"))
    assert done.err.startswith("a2a-trust: no tool is called 'hammer'; there are: bash, edit, ")


# ---------------------------------------------------------------------- explain


Explained = list[tuple[dict[str, Any], dict[str, Any]]]
"""Agents as `show --json` prints them, each with its explanation."""


@pytest.fixture(scope="module")
def known_explanations() -> dict[tuple[str, str], Explained]:
    """What was explained already: many tests look at the same explanations."""
    return {}


@pytest.fixture
def explained(
    run: Callable[..., Done], home_of: Callable[..., Path], known_explanations: dict[tuple[str, str], Explained]
) -> Callable[..., Explained]:
    """Every agent of a folder of the fixtures, and its explanation."""

    def ask(folder: str, policy: str = "standard") -> Explained:
        if (folder, policy) not in known_explanations:
            home = home_of(folder, policy=policy)
            agents = agents_in(run("show", "--json", "--by", "fingerprint", "--limit", "0", home=home))
            known_explanations[folder, policy] = [
                (agent, run("explain", key, "--json", home=home).json()) for key, agent in agents.items()
            ]
        return known_explanations[folder, policy]

    return ask


def steps_of(explanation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All steps of all dimensions."""
    for dimension in explanation["dimensions"]:
        yield from dimension["steps"]


@pytest.mark.parametrize("policy", BUILT_IN)
@every_folder
def test_the_steps_lead_to_the_value(explained: Callable[..., Explained], folder: str, policy: str) -> None:
    """Folding the steps from the start gives the value that is shown, for every agent and dimension."""
    for agent, explanation in explained(folder, policy):
        for dimension in explanation["dimensions"]:
            value = dimension["start"]
            for one in dimension["steps"]:
                assert one["before"] == value
                value = step(value, one["quality"], BUILT_IN[policy])
                assert one["after"] == value
            shown = agent["dimensions"][dimension["dim"]]
            assert (value if dimension["steps"] else None, len(dimension["steps"])) == (
                shown["value"],
                shown["samples"],
            )


@pytest.mark.parametrize(
    "act",
    [
        ["feedback", "researcher", "--competence", "1", "--reliability", "5"],
        ["reset", "researcher", "competence", "--why", "a new prompt"],
        ["retract", str(FIXTURES / "a-team"), "--why", "a test"],
        ["alias", "implementer", "researcher"],
    ],
    ids=lambda act: act[0],
)
def test_the_steps_lead_to_the_value_after_an_amendment(
    run: Callable[..., Done], copy_of: Callable[..., Path], act: list[str]
) -> None:
    """What people said of an agent is in its explanation as it is in its numbers."""
    copy_of("a-team", "b-shared-home")
    assert run("amend", *act).code == 0
    shown = run("show", "researcher", "--json").json()["dimensions"]
    steps = run("explain", "researcher", "--json").json()["dimensions"]
    found = {dimension["dim"]: (dimension["value"], len(dimension["steps"])) for dimension in steps}
    assert found == {dim: (state["value"] or found[dim][0], state["samples"]) for dim, state in shown.items()}


@every_folder
def test_the_steps_stand_in_the_order_of_their_times(explained: Callable[..., Explained], folder: str) -> None:
    """Time, session, generation and seq go up from step to step."""
    for _, explanation in explained(folder):
        for dimension in explanation["dimensions"]:
            keys = [(one["time"], one["session"], one["gen"], one["seq"]) for one in dimension["steps"]]
            assert keys == sorted(keys)


@every_folder
def test_every_step_leads_to_its_line(explained: Callable[..., Explained], folder: str) -> None:
    """File, frame and line of a step lead to the line of the log that holds its seq."""
    steps = [one for _, explanation in explained(folder) for one in steps_of(explanation)]
    wrong = [
        one
        for one in steps
        if seqs_in(one["file"])[None][one["line"] - 1] != one["seq"]
        or one["seq"] not in seqs_in(one["file"])[one.get("frame")]
    ]
    assert wrong == []


@cache
def seqs_in(file: str) -> dict[int | None, list[int | None]]:
    """The seq of each line of a log, and of each line of the frame that begins at a byte."""
    data = Path(file).read_bytes()
    if file.endswith(".jsonl"):
        return {None: seqs(data)}
    found = {None: seqs(decode(data))}
    start = 0
    for piece in frames(data):
        found[start] = seqs(decode(piece))
        start += len(piece)
    return found


def seqs(text: bytes) -> list[int | None]:
    """The seq of each line; the last one may be torn."""
    return [
        int(found[1]) if (found := re.match(rb'\{"type":"[^"]*","seq":(\d+)', line)) else None
        for line in text.split(b"\n")
    ]


def test_a_log_that_is_read_in_two_encodings_is_named_as_it_was_read(run: Callable[..., Done], tmp_path: Path) -> None:
    """Beside a longer plain copy of the same log, a step names the file that its row was made from."""
    log = lead(93)
    for number in range(5):
        work(log, T + 1000 + number)
    plain = log.write(tmp_path / "logs", zstd=False)
    log.write(tmp_path / "logs")
    run("backfill", tmp_path / "logs")
    files_named = {one["file"] for one in steps_of(run("explain", "main", "--json").json())}
    assert files_named == {str(plain)}


@pytest.fixture
def moved(run: Callable[..., Done], tmp_path: Path) -> Path:
    """A home whose logs are no longer where they were."""
    shutil.copytree(FIXTURES / "a-team", tmp_path / "logs")
    run("backfill", tmp_path / "logs")
    shutil.rmtree(tmp_path / "logs")
    return tmp_path / "home"


@pytest.mark.usefixtures("moved")
def test_a_log_that_is_gone_has_no_place(run: Callable[..., Done]) -> None:
    """Without the log a step still says what it did, and names no file, frame or line."""
    steps = list(steps_of(run("explain", "researcher", "--json").json()))
    assert steps
    assert [one for one in steps if {"file", "frame", "line"} & one.keys()] == []


@pytest.mark.usefixtures("moved")
def test_a_log_that_is_gone_is_told(run: Callable[..., Done]) -> None:
    """The list of logs says of each that it is gone."""
    out = run("explain", "researcher").out
    logs = re.findall(r"^\[\d+\] \S+: (.*)$", out, re.MULTILINE)
    assert set(logs) == {"its log is no longer where it was"}


def test_a_cache_that_is_gone_is_no_failure(run: Callable[..., Done], copy_of: Callable[..., Path]) -> None:
    """Without what is remembered of the logs, an explanation has no places, and all its numbers."""
    home = copy_of("a-team")
    before = run("explain", "main", "--json").json()["dimensions"][0]
    (home / CACHE).unlink()
    after = run("explain", "main", "--json").json()["dimensions"][0]
    assert (after["value"], len(after["steps"])) == (before["value"], len(before["steps"]))


def test_the_table_of_steps_holds_the_numbers_of_its_json(
    run: Callable[..., Done], home_of: Callable[..., Path]
) -> None:
    """Each step stands with its time, kind, quality, values, and place."""
    home = home_of("a-team")
    (dimension,) = run("explain", "implementer", "competence", "--json", home=home).json()["dimensions"]
    out = run("explain", "implementer", "competence", "--limit", "0", home=home, columns=WIDE).out
    assert f"\ncompetence: {dimension['value']} after {len(dimension['steps'])} pieces of evidence\n" in out
    shown = [cells(line)[1:5] for line in out.splitlines() if "→" in line and not line.startswith("time")]
    assert [(kind, quality, course) for kind, quality, course, _ in shown] == [
        (one["kind"], str(one["quality"]), f"{one['before']} → {one['after']}") for one in dimension["steps"]
    ]
    assert [re.sub(r"^\[\d+\] ", "", place) for *_, place in shown] == [
        f"{one['seq']} @{one['frame']}" for one in dimension["steps"]
    ]


def test_the_table_of_steps_names_the_logs(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """Below the table each log stands under its number."""
    home = home_of("a-team")
    files_named = {one["file"] for one in steps_of(run("explain", "implementer", "--json", home=home).json())}
    out = run("explain", "implementer", "--limit", "0", home=home).out
    assert set(re.findall(r"^\[\d+\] \S+: (.*)$", out, re.MULTILINE)) == files_named


def test_a_limit_keeps_the_newest_steps(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """Of more steps than are asked for the newest are shown, and where the others led."""
    home = home_of("a-team")
    (dimension,) = run("explain", "implementer", "competence", "--json", home=home).json()["dimensions"]
    out = run("explain", "implementer", "competence", "--limit", "2", home=home, columns=WIDE).out
    left_out = len(dimension["steps"]) - 2
    assert f"… {left_out} earlier ones, which lead to {dimension['steps'][-2]['before']}; all with --limit 0" in out
    assert out.count(" → ") - out.count("before → after") == 2


@pytest.mark.parametrize("wanted", ["rel", "reliability", "REL"])
def test_one_dimension_is_explained(run: Callable[..., Done], home_of: Callable[..., Path], wanted: str) -> None:
    """A dimension, or its first letters, keeps the others out."""
    found = run("explain", "researcher", wanted, "--json", home=home_of("a-team")).json()
    assert [dimension["dim"] for dimension in found["dimensions"]] == ["reliability"]


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ("honesty", f"is no dimension; there are {', '.join(DIMENSIONS)}"),
        ("com", "is more than one dimension; there are competence, communication"),
        ("c", "is more than one dimension; there are competence, communication"),
    ],
)
def test_a_dimension_that_is_not_one_is_told(
    run: Callable[..., Done], home_of: Callable[..., Path], wanted: str, told: str
) -> None:
    """What names no dimension, or more than one, is refused with those that it may mean."""
    done = run("explain", "researcher", wanted, home=home_of("a-team"))
    assert (done.code, done.err) == (2, f"a2a-trust: '{wanted}' {told}\n")


def test_no_evidence_is_told(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """A dimension of which nothing is known says so."""
    assert "\nintegrity: no evidence\n" in run("explain", "researcher", home=home_of("a-team")).out


# ---------------------------------------------------------------------- rebuild


@every_folder
def test_a_rebuild_of_a_sound_home_changes_nothing(
    run: Callable[..., Done], copy_of: Callable[..., Path], folder: str
) -> None:
    """What backfill wrote is what its audit log says."""
    home = copy_of(folder)
    before = (home / LEDGER).read_bytes()
    assert (run("rebuild", "--json").json()["changes"], (home / LEDGER).read_bytes()) == ([], before)


def test_a_rebuild_says_that_nothing_changed(run: Callable[..., Done], copy_of: Callable[..., Path]) -> None:
    """Two lines: what was folded, and that all was well."""
    copy_of("a-team")
    assert run("rebuild").out == (
        "161 rows, 4 agents, folded under policy standard.\nNothing changed: the ledger was what its audit log says.\n"
    )


def tamper(home: Path, change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    """Change the researcher in the snapshot; return the ledger as it was."""
    before: dict[str, Any] = json.loads((home / LEDGER).read_bytes())
    after = json.loads((home / LEDGER).read_bytes())
    change(next(agent for agent in after["agents"].values() if agent["profile"]["name"] == "researcher"))
    (home / LEDGER).write_text(json.dumps(after), encoding="utf-8")
    return before


def test_a_rebuild_says_which_number_it_put_right(run: Callable[..., Done], copy_of: Callable[..., Path]) -> None:
    """A value that somebody wrote into the snapshot is named with what it was and what it is."""
    home = copy_of("a-team")
    before = tamper(home, lambda agent: agent["trust"]["competence"].update(value=0.99, samples=500))
    (key,) = (key for key in before["agents"] if key.startswith("3ee4bfd2188a"))
    value = before["agents"][key]["trust"]["competence"]["value"]
    assert run("rebuild").out.splitlines()[1:] == [
        f"changed: researcher 3ee4bfd2188a: competence 0.99/500 is {value}/11"
    ]


def test_a_rebuild_puts_the_numbers_right(run: Callable[..., Done], copy_of: Callable[..., Path]) -> None:
    """After it the snapshot is what it was before somebody changed it."""
    home = copy_of("a-team")
    before = tamper(home, lambda agent: agent["trust"]["competence"].update(value=0.99))
    run("rebuild")
    assert json.loads((home / LEDGER).read_bytes()) == before


def test_a_rebuild_says_what_else_it_put_right(run: Callable[..., Done], copy_of: Callable[..., Path]) -> None:
    """Counts beside the score are named too."""
    home = copy_of("a-team")
    tamper(home, lambda agent: agent["stats"].update(toolErrors=0))
    assert run("rebuild", "--json").json()["changes"] == ["researcher 3ee4bfd2188a: statistics or history"]


def test_a_rebuild_makes_a_snapshot_that_is_gone(run: Callable[..., Done], copy_of: Callable[..., Path]) -> None:
    """Without a snapshot it says so and writes one."""
    home = copy_of("a-team")
    before = (home / LEDGER).read_bytes()
    for name in (LEDGER, BACKUP, CACHE):
        (home / name).unlink()
    assert run("rebuild", "--json").json()["changes"] == ["there was no readable ledger.json"]
    assert (home / LEDGER).read_bytes() == before


# ---------------------------------------------------------------------- policy


def test_a_home_that_is_not_there_has_the_standard_policy(run: Callable[..., Done], tmp_path: Path) -> None:
    """What a new home would stand under can be looked at without making one."""
    assert (run("policy", "--json").json()["name"], (tmp_path / "home").exists()) == ("standard", False)


@pytest.mark.parametrize("policy", BUILT_IN)
def test_the_policy_that_is_printed_can_be_set(
    run: Callable[..., Done], copy_of: Callable[..., Path], tmp_path: Path, policy: str
) -> None:
    """What is printed is a file that gives the same numbers under another name."""
    copy_of("a-team")
    run("policy", "--set", policy)
    before = agents_in(run("show", "--json"))
    (tmp_path / "printed.toml").write_text(run("policy").out, encoding="utf-8")
    done = run("policy", "--set", tmp_path / "printed.toml")
    assert (done.code, agents_in(run("show", "--json"))) == (0, before)


def test_a_policy_is_set(run: Callable[..., Done], copy_of: Callable[..., Path], home_of: Callable[..., Path]) -> None:
    """After a change the home shows what a home shows that was always under that policy."""
    copy_of("a-team")
    assert run("policy", "--set", "seed").out == "The home stands under policy seed now.\n"
    assert agents_in(run("show", "--json")) == agents_in(run("show", "--json", home=home_of("a-team", policy="seed")))


def test_a_policy_that_is_in_force_is_not_set_again(run: Callable[..., Done], copy_of: Callable[..., Path]) -> None:
    """No row is written for no change."""
    home = copy_of("a-team")
    before = content(home)[AUDIT]
    assert run("policy", "--set", "standard").out == "The home stands under policy standard already.\n"
    assert content(home)[AUDIT] == before


def test_a_policy_from_a_file_is_set(run: Callable[..., Done], copy_of: Callable[..., Path], own_policy: Path) -> None:
    """A file may hold the policy."""
    copy_of("a-team")
    run("policy", "--set", own_policy)
    assert run("policy", "--json").json()["name"] == "mine"


def test_a_preview_changes_nothing(run: Callable[..., Done], copy_of: Callable[..., Path]) -> None:
    """A look at another policy leaves the home as it was."""
    home = copy_of("a-team")
    before = content(home)
    run("policy", "--set", "seed", "--preview")
    assert content(home) == before


def test_a_preview_says_what_a_change_would_give(run: Callable[..., Done], copy_of: Callable[..., Path]) -> None:
    """Its numbers are those that are shown before and after the change."""
    copy_of("a-team")
    preview = run("policy", "--set", "seed", "--preview", "--json").json()
    now = agents_in(run("show", "--json"))
    run("policy", "--set", "seed")
    then = agents_in(run("show", "--json"))
    expected = {
        (key, dim.value, now[key]["dimensions"][dim]["value"], then[key]["dimensions"][dim]["value"])
        for key in now
        for dim in DIMENSIONS
        if now[key]["dimensions"][dim] != then[key]["dimensions"][dim]
    } | {
        (key, "total", now[key]["total"], then[key]["total"]) for key in now if now[key]["total"] != then[key]["total"]
    }
    assert {(row["agent"], row["number"], row["now"], row["then"]) for row in preview["differences"]} == expected


def test_a_preview_of_the_same_policy_says_so(run: Callable[..., Done], copy_of: Callable[..., Path]) -> None:
    """Where nothing would change there is no table."""
    copy_of("a-team")
    assert run("policy", "--set", "standard", "--preview").out == (
        "Policy standard gives the same numbers as standard.\n"
    )


@pytest.mark.parametrize("own", [False, True], ids=["built in", "own"])
def test_a_preview_names_the_command_that_changes_it(
    run: Callable[..., Done], copy_of: Callable[..., Path], own_policy: Path, *, own: bool
) -> None:
    """What is said to be typed does what it says; `FILE` is the file that was given."""
    copy_of("a-team")
    wanted = str(own_policy) if own else "seed"
    out = run("policy", "--set", wanted, "--preview").out
    (command,) = re.findall(r"To change it: a2a-trust (.*)\n", out)
    assert run(*(wanted if word == "FILE" else word for word in shlex.split(command))).code == 0


# ---------------------------------------------------------------------- doctor


def test_doctor_needs_no_home(run: Callable[..., Done], tmp_path: Path) -> None:
    """Where nothing is recorded it says so, says what to type, and makes nothing."""
    done = run("doctor")
    home = tmp_path / "home"
    assert (done.code, home.exists()) == (0, False)
    assert f"\nHome\n  {home}: nothing recorded yet; run: a2a-trust backfill\n" in done.out


def test_doctor_says_where_logs_are_looked_for(run: Callable[..., Done], tmp_path: Path) -> None:
    """Each source's own folder is named, and whether it exists."""
    place = tmp_path / "user" / ".dsh" / "sessions"
    assert f"\n  dsh: {place} (does not exist)\n" in run("doctor").out


def test_doctor_counts_the_logs(run: Callable[..., Done], tmp_path: Path) -> None:
    """Sessions, logs by generation and bytes of a source's folder are those on disk."""
    shutil.copytree(FIXTURES / "mix-v3-v4", tmp_path / "user" / ".dsh")
    (report,) = [source for source in run("doctor", "--json").json()["sources"] if source["source"] == "dsh"]
    paths = logs_in(FIXTURES / "mix-v3-v4")
    generations = sorted(path.name.split(".")[1] for path in paths)
    assert (report["exists"], report["sessions"], report["bytes"]) == (
        True,
        len({path.parent for path in paths}),
        sum(path.stat().st_size for path in paths),
    )
    assert report["logs"] == {name: generations.count(name) for name in set(generations)}


def test_doctor_describes_a_home(run: Callable[..., Done], copy_of: Callable[..., Path]) -> None:
    """Rows, bytes, agents and policy of a home are those of its files."""
    home = copy_of("a-team")
    report = run("doctor", "--json").json()["home"]
    found = {key: report[key] for key in ("place", "state", "policy", "rows", "audit_bytes", "agents", "locked")}
    assert found == {
        "place": str(home),
        "state": "ok",
        "policy": "standard",
        "rows": 161,
        "audit_bytes": (home / AUDIT).stat().st_size,
        "agents": 4,
        "locked": False,
    }


def test_doctor_says_the_same_to_people(run: Callable[..., Done], copy_of: Callable[..., Path]) -> None:
    """The text holds the numbers of the JSON."""
    home = copy_of("a-team")
    out = run("doctor").out
    assert f"\n  {home}: ok\n  161 rows, " in out
    assert ", 4 agent types, policy standard\n" in out


def test_doctor_writes_nothing(run: Callable[..., Done], copy_of: Callable[..., Path]) -> None:
    """A look at a home leaves it as it was."""
    home = copy_of("a-team")
    before = content(home)
    run("doctor")
    assert content(home) == before


def test_doctor_sees_a_writer(run: Callable[..., Done], copy_of: Callable[..., Path]) -> None:
    """While somebody writes, it says so and does not wait."""
    with TrustStore(copy_of("a-team")):
        assert "\n  a writer is at work\n" in run("doctor").out


def test_doctor_sees_what_was_set_aside(run: Callable[..., Done], copy_of: Callable[..., Path]) -> None:
    """Files with torn tails are named."""
    home = copy_of("a-team")
    with (home / AUDIT).open("ab") as file:
        file.write(b"torn")
    with TrustStore(home):
        pass
    assert "\n  set aside: audit.jsonl.torn-1\n" in run("doctor").out


def test_doctor_sees_a_snapshot_that_lags_behind(run: Callable[..., Done], copy_of: Callable[..., Path]) -> None:
    """How many bytes the snapshot lacks is told."""
    home = copy_of("a-team")
    size = json.loads((home / BACKUP).read_bytes())["audit"]["bytes"]
    shutil.copy(home / BACKUP, home / LEDGER)
    lacks = (home / AUDIT).stat().st_size - size
    assert f"\n  the snapshot lacks the last {lacks} bytes; the next backfill brings it up\n" in run("doctor").out


def test_the_next_backfill_brings_a_snapshot_up(run: Callable[..., Done], copy_of: Callable[..., Path]) -> None:
    """What doctor says of the next backfill is true."""
    home = copy_of("a-team")
    before = (home / LEDGER).read_bytes()
    shutil.copy(home / BACKUP, home / LEDGER)
    run("backfill", FIXTURES / "a-team")
    assert (home / LEDGER).read_bytes() == before


def test_doctor_tells_of_failures_that_no_rule_knows(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """Texts of failures that were blamed on agents are listed, most often first."""
    home = home_of("made-failures")
    texts = run("doctor", "--json", home=home).json()["home"]["unknown_failures"]
    out = run("doctor", home=home).out
    assert list(texts.values()) == sorted(texts.values(), reverse=True)
    assert [out.count(f"  {count} × {text}\n") for text, count in texts.items()] == [1] * len(texts)
    assert texts


def test_doctor_names_its_version_and_libraries(run: Callable[..., Done]) -> None:
    """What a report of a fault needs stands at the top."""
    report = run("doctor", "--json").json()
    assert report["version"] == __version__
    assert {"zstandard", "msgspec", "filelock", "typer", "rich", "sqlite"} <= report["libraries"].keys()
    assert "missing" not in report["libraries"].values()


# ---------------------------------------------------------------------- hostile text

OURS = re.compile(r"\x1b\[(?:0|1|2|33|2;33|1;2|1;33)?m")
"""The colours that tables use: bold, dim, yellow. None of the hostile names has these."""
CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
EVIL = "\x1b[31m\x1b]0;title\x07\x9b5m\x7f\u202e\u2028[bold]x[/]\r\n"
"""Colours, a window title, both forms of CSI, a deletion, a direction, line ends, markup."""


def raw_controls(text: str) -> list[str]:
    """Characters that would do something to a terminal, other than our own line ends and colours."""
    return CONTROLS.findall(OURS.sub("", text))


@pytest.fixture(scope="module")
def evil_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home over the hostile names of the fixtures, and over logs in which every text is hostile."""
    root = tmp_path_factory.mktemp("evil")
    boss = LogBuilder(f"session-{EVIL}", created_at=T, cwd=f"/home/dev/{EVIL}")
    boss.end_seed()
    boss.turn_start()
    boss.spawn("evil-mate", f"mate {EVIL}", f"Does {EVIL}.", provider=f"by {EVIL}", context=f"in {EVIL}")
    boss.task(f"task {EVIL}", 1, "in_progress", "evil-mate")
    member = LogBuilder("evil-mate", created_at=boss.now, parent=boss.session, origin="subagent")
    member.descriptor(f"Does {EVIL}.")
    member.end_seed()
    member.turn_start()
    member.step()
    member.later(5).assistant("On it.", model=f"model {EVIL}")
    member.later(5).tool(f"tool {EVIL}", call := "ok")
    member.later(5).tool(f"tool {EVIL}", f"Error: {EVIL}", is_error=True)
    member.later(5).tool("bash", f"Error {EVIL} happened", is_error=True)
    member.later(5).tool("read", call, is_error=True, code=f"CODE {EVIL}")
    boss.later(50).task(f"task {EVIL}", 2, "completed", "evil-mate")
    boss.queued("evil-mate", f"mate {EVIL}", boss.session, message=f"message {EVIL}")
    paths = [root / "logs" / name / "session.jsonl" for name in ("boss", "mate")]
    for path, log in zip(paths, (boss, member), strict=True):
        path.parent.mkdir(parents=True)
        path.write_bytes(log.lines())
    ingest(root / "home", root / "logs", FIXTURES / "made-names")
    return root / "home"


def every_look(keys: Sequence[str]) -> list[list[str]]:
    """Every way of looking at a home with these agents."""
    return [
        ["show"],
        *(["show", "--by", lens] for lens in Lens),
        *(["show", key] for key in keys),
        *(["explain", key, "--limit", "0"] for key in keys),
        ["policy"],
        ["policy", "--set", "seed", "--preview"],
        ["doctor"],
        ["show", f"nobody {EVIL}"],
        ["show", "mate"],
        ["show", "nobody", "--by", "tool"],
        ["show", "nobody", "--by", "model"],
        ["show", "nobody", "--by", "project"],
        ["show", f"mate {EVIL}", "--by", "name"],
        ["show", f"tool {EVIL}", "--by", "tool"],
        ["explain", "main", f"{EVIL}"],
    ]


@pytest.mark.parametrize("coloured", [False, True], ids=["plain", "coloured"])
@pytest.mark.parametrize("columns", ["80", "200"])
def test_nothing_hostile_reaches_the_terminal(
    run: Callable[..., Done], evil_home: Path, monkeypatch: pytest.MonkeyPatch, columns: str, *, coloured: bool
) -> None:
    """Whatever stands in names, tools, models, tasks or failures, no command prints a character that does something."""
    if coloured:
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("TERM", "xterm-256color")
    keys = list(agents_in(run("show", "--json", "--by", "fingerprint", home=evil_home)))
    raw = {}
    for arguments in every_look(keys):
        done = run(*arguments, home=evil_home, columns=columns)
        if found := raw_controls(done.out + done.err):
            raw[" ".join(arguments)] = found
    assert raw == {}


def test_colours_are_ours_alone(run: Callable[..., Done], evil_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above looks at coloured output: there are colours in it."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert OURS.search(run("show", home=evil_home).out)


def test_markup_in_names_stays_text(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """What looks like the markup of a table is printed letter by letter."""
    out = run("show", "--by", "name", home=home_of("made-names"), columns=WIDE).out
    assert "[bold red]coder[/] <script>al" in out


@pytest.mark.parametrize(
    "arguments", [["show", "--json"], ["explain", "main", "--json"], ["doctor", "--json"]], ids=named
)
def test_json_has_no_raw_control(run: Callable[..., Done], evil_home: Path, arguments: list[str]) -> None:
    """JSON may be printed on a terminal too: what is a control character stands as its escape, and reads back."""
    done = run(*arguments, home=evil_home)
    assert re.findall("[\x00-\x09\x0b-\x1f\x7f-\x9f]", done.out) == []
    assert done.json()


def test_json_keeps_names_as_they_are(run: Callable[..., Done], evil_home: Path) -> None:
    """Scripts get the name itself, not how it is shown."""
    agents = agents_in(run("show", "--json", "--by", "fingerprint", home=evil_home))
    assert f"mate {EVIL}" in {agent["name"] for agent in agents.values()}


def test_a_run_over_hostile_logs_prints_nothing_hostile(
    run: Callable[..., Done], evil_home: Path, tmp_path: Path
) -> None:
    """The summary of a run names places and reasons, never with a character that does something."""
    shutil.copytree(evil_home.parent / "logs", tmp_path / "logs" / "evil \x1b[31m\u202e")
    (tmp_path / "logs" / "evil \x1b[31m\u202e" / "boss" / "session.v9.jsonl").write_bytes(b"")
    broken = tmp_path / "logs" / "broken \x9b" / "session.jsonl"
    broken.parent.mkdir()
    broken.write_bytes(b"no log")
    done = run("backfill", tmp_path / "logs")
    assert ("newer-format 1" in done.out, raw_controls(done.out + done.err)) == (True, [])


# ---------------------------------------------------------------------- a home that is damaged


def put(name: str, data: bytes) -> Callable[[Path], None]:
    """Replace a file of a home."""

    def spoil(home: Path) -> None:
        (home / name).write_bytes(data)

    return spoil


def folder_at(name: str) -> Callable[[Path], None]:
    """Put a folder where a file of a home should be."""

    def spoil(home: Path) -> None:
        (home / name).unlink()
        (home / name).mkdir()

    return spoil


def cut_log(home: Path) -> None:
    """Take the last hundred bytes off the audit log."""
    data = (home / AUDIT).read_bytes()
    (home / AUDIT).write_bytes(data[:-100])


def edit_log(home: Path) -> None:
    """Edit a row in the middle of the audit log."""
    data = (home / AUDIT).read_bytes()
    place = data.index(b'"quality":0.8', len(data) // 2)
    (home / AUDIT).write_bytes(data[:place] + data[place:].replace(b"0.8", b"0.9", 1))


def no_utf8(home: Path) -> None:
    """Put a byte that is no UTF-8 into the middle of the audit log."""
    data = bytearray((home / AUDIT).read_bytes())
    data[data.index(b'"kind":"', len(data) // 2) + 9] = 0xFF
    (home / AUDIT).write_bytes(data)


def far_future(home: Path) -> None:
    """Write a time into the snapshot that no calendar knows."""
    data = (home / LEDGER).read_bytes()
    (home / LEDGER).write_bytes(re.sub(rb'"lastSeen":\d+', b'"lastSeen":999999999999999999', data))


DAMAGE: dict[str, Callable[[Path], None]] = {
    "the ledger is garbage": put(LEDGER, b"\xff\x00garbage"),
    "the ledger is empty": put(LEDGER, b""),
    "the ledger is nested deeply": put(LEDGER, b'{"version":' + b"[" * 100_000),
    "the ledger has a key that is nested deeply": put(LEDGER, b'{"new":' + b"[" * 100_000),
    "the ledger is a folder": folder_at(LEDGER),
    "the ledger is of another time": far_future,
    "the backup is a folder": folder_at(BACKUP),
    "the audit log is garbage": put(AUDIT, b"\xff\x00garbage\n"),
    "the audit log is empty": put(AUDIT, b""),
    "the audit log is one torn line": put(AUDIT, b'{"v":2'),
    "the audit log is nested deeply": put(AUDIT, b'{"v":2,"new":' + b"[" * 100_000 + b"\n"),
    "the audit log is a folder": folder_at(AUDIT),
    "the audit log is cut": cut_log,
    "the audit log is edited": edit_log,
    "the audit log is no UTF-8": no_utf8,
    "the cache is garbage": put(CACHE, b"garbage" * 1000),
    "the cache is a folder": folder_at(CACHE),
    "the lock is a folder": folder_at(LOCK),
}


@pytest.mark.parametrize(
    "arguments",
    [
        ["show"],
        ["show", "--by", "tool"],
        ["explain", "main"],
        ["doctor"],
        ["policy", "--set", "seed"],
        ["rebuild"],
        ["backfill", str(FIXTURES / "made-solo")],
    ],
    ids=named,
)
@pytest.mark.parametrize("spoil", DAMAGE.values(), ids=list(DAMAGE))
def test_a_damaged_home_is_told_in_one_line(
    run: Callable[..., Done], copy_of: Callable[..., Path], spoil: Callable[[Path], None], arguments: list[str]
) -> None:
    """Whatever is wrong with a home, a command does its work or says in one line why not; nobody sees a traceback."""
    spoil(copy_of("a-team"))
    done = run(*arguments)
    codes = {error.exit_code for error in errors.ALL_ERRORS}
    assert done.code in codes | {0}
    assert done.err.count("\n") == (done.code != 0)


@pytest.mark.parametrize("arguments", [["show"], ["explain", "main"], ["doctor"], ["policy"], ["rebuild"]], ids=named)
def test_a_home_that_is_a_file_is_told_in_one_line(
    run: Callable[..., Done], tmp_path: Path, arguments: list[str]
) -> None:
    """A file that was given as the home, and is no snapshot file either, is refused in words."""
    place = tmp_path / "file"
    place.write_bytes(b"")
    done = run(*arguments, "--home", place)
    assert done.code in {0, 7, 9, 12}
    assert done.err.count("\n") == (done.code != 0)
