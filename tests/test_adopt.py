"""The plugin's store is taken over as it is, once, and its folder is never written to."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from homes import FIXTURES, agents_of, ingest, rows_of
from typer.testing import CliRunner

from a2a_trust import cli
from a2a_trust.errors import HomeError, UsageError
from a2a_trust.policy import BUILT_IN
from a2a_trust.store import TrustStore, audit, read_ledger
from a2a_trust.store.adopt import ORIGIN, read_store
from a2a_trust.store.reader import AUDIT
from a2a_trust.store.snapshot import BACKUP, LEDGER
from a2a_trust.store.verify import verify

if TYPE_CHECKING:
    from a2a_trust.model import Row

V1_STORE = Path(__file__).resolve().parent.parent / "fixtures" / "v1-store"
LOGS = FIXTURES / "a-team"
ROWS = 69
NEW_KINDS = {"response-latency", "task-reopened"}
"""Evidence that the plugin did not find; a backfill adds it."""
both_policies = pytest.mark.parametrize("policy", sorted(BUILT_IN))


def old_ledger() -> dict[str, Any]:
    """The plugin's ledger."""
    found: dict[str, Any] = json.loads((V1_STORE / LEDGER).read_bytes())
    return found


def old_lines() -> list[bytes]:
    """The lines of the plugin's log, without their ends."""
    return (V1_STORE / AUDIT).read_bytes().splitlines()


def adopt(home: Path, folder: Path = V1_STORE, policy: str = "standard") -> int:
    """Adopt a store with all its judgements; return how many rows were new."""
    with TrustStore(home, BUILT_IN[policy]) as store:
        rows = read_store(folder).rows
        return len(rows) - store.commit(rows).known


def adopted(home: Path) -> list[Row]:
    """The rows that were adopted."""
    return [row for row in rows_of(home) if row.evidence.origin == ORIGIN]


def run(*arguments: str | Path) -> dict[str, Any]:
    """Run a command with `--json` and return what it prints."""
    result = CliRunner().invoke(cli.app, [*map(str, arguments), "--json"])
    assert result.exit_code == 0, result.output
    told: dict[str, Any] = json.loads(result.stdout)
    return told


# ------------------------------------------------------------------ as it is


@both_policies
def test_values_and_samples_are_those_of_the_plugin(policy: str, tmp_path: Path) -> None:
    """Every dimension of every agent has the plugin's value and samples, whatever the policy here."""
    adopt(tmp_path, policy=policy)
    found = {
        key: {dim: (state.value, state.samples, state.updated_at) for dim, state in agent.trust.items()}
        for key, agent in read_ledger(tmp_path).agents.items()
    }
    assert found == {
        key: {dim: (state["value"], state["samples"], state["updatedAt"]) for dim, state in agent["trust"].items()}
        for key, agent in old_ledger()["agents"].items()
    }


@both_policies
def test_profile_statistics_and_times_are_those_of_the_plugin(policy: str, tmp_path: Path) -> None:
    """What the plugin counted is counted here, and nothing else is, but that its members were registered."""
    adopt(tmp_path, policy=policy)
    agents = json.loads((tmp_path / LEDGER).read_bytes())["agents"]
    for key, old in old_ledger()["agents"].items():
        new = agents[key]
        assert {name: new[name] for name in ("profile", "firstSeen", "lastSeen")} == {
            name: old[name] for name in ("profile", "firstSeen", "lastSeen")
        }
        others = {name: count for name, count in new["stats"].items() if name not in old["stats"] and count}
        assert {name: new["stats"][name] for name in old["stats"]} == old["stats"]
        assert others == {"sessions": 2}


def test_history_is_that_of_the_plugin(tmp_path: Path) -> None:
    """Time, kind, dimension and quality of each piece of evidence stand in the same order."""
    adopt(tmp_path)
    for key, old in old_ledger()["agents"].items():
        new = read_ledger(tmp_path).agents[key].history
        assert [[entry.time, entry.kind, entry.dim, entry.quality] for entry in new] == [
            [entry["time"], entry["kind"], entry["dim"], entry["quality"]] for entry in old["history"]
        ]


def test_each_row_names_the_line_it_was_made_from(tmp_path: Path) -> None:
    """Rows stand in the order of the file, each with its line number and the hash of its line."""
    adopt(tmp_path)
    found = [(row.seq, row.session, row.gen, row.evidence.digest) for row in adopted(tmp_path)]
    assert found == [(number, "", 0, audit.hash_line(line)) for number, line in enumerate(old_lines(), 1)]
    assert len(found) == ROWS


def test_a_clock_that_falls_back_does_not_reorder_rows(tmp_path: Path) -> None:
    """The order is that of the file: a row's time is the greatest so far."""
    lines = [json.loads(line) for line in old_lines()[:6]]
    for line, moved in zip(lines, (0, 50_000, -9_000, 10, 60_000, 0), strict=True):
        line["time"] = lines[0]["time"] + moved
    store = tmp_path / "old"
    store.mkdir()
    (store / AUDIT).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    times = [row.time - lines[0]["time"] for row in read_store(store).rows]
    assert times == [0, 50_000, 50_000, 50_000, 60_000, 60_000]


def test_a_policy_change_leaves_history_alone(tmp_path: Path) -> None:
    """Qualities that were given are history, which no policy changes."""
    adopt(tmp_path, policy="standard")
    before = {key: agent.trust for key, agent in read_ledger(tmp_path).agents.items()}
    with TrustStore(tmp_path) as store:
        store.set_policy(msgspec.structs.replace(BUILT_IN["seed"], name="mine", quality={}, roles=()))
    assert {key: agent.trust for key, agent in read_ledger(tmp_path).agents.items()} == before


def test_an_adopted_home_verifies(tmp_path: Path) -> None:
    """Adopted rows are rows like any others, and a rebuild changes nothing."""
    adopt(tmp_path)
    before = agents_of(tmp_path)
    with TrustStore(tmp_path) as store:
        store.rebuild()
    assert agents_of(tmp_path) == before
    assert verify(tmp_path).defects == []


def test_our_ledger_stays_readable_by_the_plugin(tmp_path: Path) -> None:
    """Every key that the plugin's ledger has stands in ours, with a value of the same type."""
    adopt(tmp_path)
    new = json.loads((tmp_path / LEDGER).read_bytes())
    assert new["version"] == old_ledger()["version"]
    for key, old in old_ledger()["agents"].items():
        for name, value in old.items():
            assert type(new["agents"][key][name]) is type(value)
        for entry, was in zip(new["agents"][key]["history"], old["history"], strict=True):
            assert set(was) <= set(entry)


# ------------------------------------------------------------------ once


def test_adopting_twice_adds_nothing(tmp_path: Path) -> None:
    """The second time every row is known."""
    assert adopt(tmp_path) == ROWS
    before = (tmp_path / AUDIT).read_bytes()
    assert adopt(tmp_path) == 0
    assert (tmp_path / AUDIT).read_bytes() == before


def test_a_store_that_has_grown_adds_what_is_new(tmp_path: Path) -> None:
    """Adopting again takes over only the new rows, and ends where one adoption would."""
    part = tmp_path / "part"
    part.mkdir()
    (part / AUDIT).write_bytes(b"".join(line + b"\n" for line in old_lines()[:30]))
    assert adopt(tmp_path / "home", part) == 30
    assert adopt(tmp_path / "home") == ROWS - 30
    adopt(tmp_path / "at-once")
    assert agents_of(tmp_path / "home") == agents_of(tmp_path / "at-once")


@both_policies
def test_a_later_backfill_repeats_nothing_that_was_adopted(policy: str, tmp_path: Path) -> None:
    """Calls, messages, tasks and members that the plugin recorded give neither evidence nor an observation again."""
    adopt(tmp_path, policy=policy)
    ingest(tmp_path, LOGS, policy=policy)
    old = {row.subject for row in adopted(tmp_path)}
    new = [row for row in rows_of(tmp_path) if row.subject in old and row.evidence.origin is None]
    assert {row.kind for row in new if row.dim} == NEW_KINDS
    recorded = {"tool-success", "tool-error", "tool-unattributable", "task-completed", "message-sent"}
    assert {row.kind for row in new} & (recorded | {"member-registered"}) == set()
    calls = Counter(
        row.evidence.call for row in rows_of(tmp_path) if row.kind.startswith("tool-") and row.subject in old
    )
    assert set(calls.values()) == {1}


# ------------------------------------------------------------------ logs that still exist


def test_sessions_whose_logs_exist_are_read_instead(tmp_path: Path) -> None:
    """Without `--keep-judgements` the home is what the logs alone give, and nothing is adopted."""
    told = run("adopt", V1_STORE, "--logs", LOGS, "--home", tmp_path / "home")
    assert (told["adopted"], len(told["readInstead"])) == (0, 4)
    ingest(tmp_path / "logs", LOGS)
    assert agents_of(tmp_path / "home") == agents_of(tmp_path / "logs")


def test_the_report_says_where_plugin_and_logs_differ(tmp_path: Path) -> None:
    """Races that the plugin blamed, and evidence that it did not find, are listed with both judgements."""
    told = run("adopt", V1_STORE, "--logs", LOGS, "--home", tmp_path)
    differences = told["differences"]
    blamed = [one for one in differences if (one["before"] or "").startswith("tool-error")]
    assert len(blamed) == 2
    assert all("unattributable" in one["now"] for one in blamed)
    missed = Counter(one["now"].split()[0] for one in differences if one["before"] is None)
    assert missed == {"response-latency": 5, "task-reopened": 2}


def test_kept_judgements_need_no_logs(tmp_path: Path) -> None:
    """With `--keep-judgements` every row is taken over, and no log is read."""
    told = run("adopt", V1_STORE, "--logs", LOGS, "--keep-judgements", "--home", tmp_path)
    assert (told["adopted"], told["readInstead"], told["evidenceFromLogs"]) == (ROWS, [], 0)


def test_a_row_about_a_session_is_not_its_log(tmp_path: Path) -> None:
    """Feedback about a session, or a home with a policy row, says nothing about whether a log was read."""
    adopt(tmp_path / "home")
    session = read_store(V1_STORE).sessions[0]
    home = ["--home", tmp_path / "home"]
    rated = ["amend", "feedback", "researcher", "--competence", "4", "--session", session, *home]
    assert CliRunner().invoke(cli.app, list(map(str, rated))).exit_code == 0
    part = tmp_path / "part"
    part.mkdir()
    lines = [json.loads(line) for line in old_lines()[:4]]
    for number, line in enumerate(lines):
        line |= {"session": session if number % 2 else "", "kind": "other", "note": number}
    (part / AUDIT).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    for kept in (["--keep-judgements"], ["--logs", tmp_path / "part"]):
        told = run("adopt", part, *kept, *home)
        assert (told["adopted"] + told["known"], told["readInstead"]) == (4, [])


@both_policies
def test_kept_judgements_repeat_nothing_that_was_read(policy: str, tmp_path: Path) -> None:
    """After a backfill of the same logs, no event counts a second time, and adopting again adds nothing."""
    ingest(tmp_path, LOGS, policy=policy)
    told = run("adopt", V1_STORE, "--keep-judgements", "--home", tmp_path)
    assert told["readInstead"] == []
    assert told["adopted"] + told["known"] == ROWS
    assert {row.kind for row in adopted(tmp_path) if row.dim} == set()
    assert run("adopt", V1_STORE, "--keep-judgements", "--home", tmp_path)["adopted"] == 0
    assert verify(tmp_path).defects == []


def test_only_sessions_of_the_store_count_as_read_instead(tmp_path: Path) -> None:
    """Other logs at the same place are read too, but are not what the plugin recorded."""
    alone = run("adopt", V1_STORE, "--logs", LOGS, "--home", tmp_path / "alone")
    every = run("adopt", V1_STORE, "--logs", LOGS, "--logs", FIXTURES / "e-failures", "--home", tmp_path / "every")
    assert alone["evidenceFromLogs"] == every["evidenceFromLogs"] > 0


def test_lines_that_are_no_rows_are_told(tmp_path: Path) -> None:
    """What cannot be read is left out and named, the rest is adopted."""
    store = tmp_path / "old"
    store.mkdir()
    (store / AUDIT).write_bytes(b"\n".join([b"nonsense", *old_lines()[:3], b'{"time":1}', b"\xff\xfe", b""]))
    found = read_store(store)
    assert len(found.rows) == 3
    assert [told.partition("line ")[2].partition(":")[0] for told in found.unreadable] == ["1", "5", "6"]


def test_why_no_line_could_be_read_is_told(tmp_path: Path) -> None:
    """A store of which nothing is readable says what is wrong with each line."""
    (tmp_path / AUDIT).write_bytes(b'nonsense\n{"time":1}\n')
    with pytest.raises(UsageError, match=r"(?s)line 1: .*line 2: .*missing required field"):
        read_store(tmp_path)


@pytest.mark.parametrize("content", [None, b"", b"nonsense\n"])
def test_a_folder_without_a_version_1_store_is_refused(content: bytes | None, tmp_path: Path) -> None:
    """Nothing is made for a folder that holds nothing to adopt."""
    if content is not None:
        (tmp_path / AUDIT).write_bytes(content)
    with pytest.raises(UsageError):
        read_store(tmp_path)


def test_a_home_of_our_own_is_not_adopted(tmp_path: Path) -> None:
    """A store that this program wrote is read with --home."""
    adopt(tmp_path / "home")
    with pytest.raises(UsageError, match="--home"):
        read_store(tmp_path / "home")


# ------------------------------------------------------------------ never written to

COMMANDS = [
    ["adopt", "STORE"],
    ["adopt", "STORE", "--keep-judgements"],
    ["backfill", str(LOGS)],
    ["show"],
    ["show", "researcher"],
    ["explain", "researcher"],
    ["rebuild"],
    ["policy"],
    ["policy", "--set", "seed"],
    ["policy", "--set", "seed", "--preview"],
    ["verify"],
    ["verify", "--repair"],
    ["doctor"],
    ["amend", "retract", "0621a09e-7f05-46cc-8d34-9b126e8ef0cd", "--why", "test"],
    ["amend", "feedback", "researcher", "--competence", "4"],
    ["amend", "reset", "researcher"],
    ["amend", "alias", "researcher", "implementer"],
    ["amend", "reattribute"],
    ["ingest", str(FIXTURES.parent / "jsonl" / "made-events" / "events.jsonl")],
    ["signals"],
    ["status"],
    ["report", "-o", "REPORT"],
    ["dashboard"],
    ["watch", str(LOGS)],
]


def test_every_command_that_knows_a_home_is_among_them() -> None:
    """A command that is new is tried on another program's home too."""
    tried = {command[0] for command in COMMANDS}
    with_home = {
        info.name or info.callback.__name__
        for info in cli.app.registered_commands
        if info.callback is not None and "home" in info.callback.__annotations__
    }
    # The server of signals answers until its input ends, and writes only where feedback is allowed.
    assert with_home - {"mcp"} <= tried


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("files", [(AUDIT, LEDGER), (AUDIT,), (LEDGER,)], ids="+".join)
def test_no_command_writes_to_a_home_of_the_plugin(
    command: list[str], files: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not a byte changes and no file appears in a folder that holds version-1 rows, whatever is asked."""
    home = tmp_path / "store"
    home.mkdir()
    for name in files:
        shutil.copyfile(V1_STORE / name, home / name)
    monkeypatch.setenv("HOME", str(tmp_path))
    named = {"STORE": str(home), "REPORT": str(tmp_path / "trust.html")}
    arguments = [named.get(word, word) for word in command]
    result = CliRunner().invoke(cli.app, [*arguments, "--home", str(home)])
    assert result.exception is None or isinstance(result.exception, SystemExit | cli.TrustError), result.exception
    assert sorted(path.name for path in home.iterdir()) == sorted(files)
    assert {name: (home / name).read_bytes() for name in files} == {
        name: (V1_STORE / name).read_bytes() for name in files
    }


V1_LOG, V1_LEDGER = ((V1_STORE / name).read_bytes() for name in (AUDIT, LEDGER))


@pytest.mark.parametrize(
    "files",
    [
        {AUDIT: b"\n" + V1_LOG, LEDGER: V1_LEDGER},
        {AUDIT: b"\n" + V1_LOG},
        {AUDIT: V1_LOG[40:]},
        {AUDIT: b'{"time":17\n' + V1_LOG},
        {AUDIT: b"", LEDGER: V1_LEDGER},
        {AUDIT: b"", BACKUP: V1_LEDGER},
    ],
    ids=["blank line", "blank line, no ledger", "half a row", "broken row", "empty log", "empty log, backup"],
)
def test_a_broken_home_of_the_plugin_is_not_written_to(files: dict[str, bytes], tmp_path: Path) -> None:
    """Whatever became of its first line, a version-1 store is none of ours."""
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    with pytest.raises(HomeError, match="adopt"), TrustStore(tmp_path):
        pass
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == files
