"""The commands `rebuild` and `policy`."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING, Any

import pytest
from commandline import AUDIT, BACKUP, CACHE, LEDGER, Done, agents_in, content, every_folder

from a2a_trust.model import DIMENSIONS
from a2a_trust.policy import BUILT_IN

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


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
