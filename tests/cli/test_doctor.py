"""The command `doctor`: what is found where, without writing anything."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

from commandline import AUDIT, BACKUP, LEDGER, Done, content, logs_in
from homes import FIXTURES

from a2a_trust import __version__
from a2a_trust.store import TrustStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


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
