"""The command `backfill`: what it says that it did, and what it leaves out."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from a2a_trust.backfill.run import LINE_SKIPS
from commandline import AUDIT, Done, agents_in, content, every_folder, logs_in
from homes import FIXTURES

from a2a_trust.policy import BUILT_IN

if TYPE_CHECKING:
    from collections.abc import Callable


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
