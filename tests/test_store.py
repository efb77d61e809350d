"""The store: what is written in which order, and what is found again whatever happened in between."""

from __future__ import annotations

import concurrent.futures
import contextlib
import hashlib
import itertools
import json
import multiprocessing
import os
import re
import shutil
import sqlite3
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pytest
from homes import EXPECTED, FIXTURES, agents_of, audit_of, encode_agents, ingest, rows_of

from a2a_trust.errors import AuditDamageError, HomeBusyError, HomeError, NoLedgerError, PolicyError
from a2a_trust.model import ROW_VERSION, Details, Dimension, Policy, Profile, Role, Row
from a2a_trust.policy import BUILT_IN, SEED, STANDARD
from a2a_trust.store import Commit, TrustStore, default_home, files, read_ledger
from a2a_trust.store.snapshot import encode_ledger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

AUDIT, LEDGER, BACKUP, CACHE, LOCK = "audit.jsonl", "ledger.json", "ledger.json.bak", "cache.sqlite", "ledger.lock"
SLICE = "a2a_trust.store.store.SLICE_ROWS"
T = 1_796_100_000_000
NOBODY = 65_534
"""The user to which root steps down."""
CODER = Profile(name="coder", description="Writes.", provider="spawn", context="fresh")
ROW_KEYS = (
    "v", "id", "time", "session", "gen", "seq", "pos", "teamId", "kind", "subject", "subjectName", "dim", "quality",
    "before", "after", "delta", "late", "supersedes", "evidence", "prev",
)  # fmt: skip
LEDGER_KEYS = ["version", "updatedAt", "agents", "policy", "audit"]
AGENT_KEYS = ["fingerprint", "profile", "trust", "stats", "history", "firstSeen", "lastSeen"]


class Killed(BaseException):
    """Stands for the end of a process: nothing in the library catches it."""


def call(number: int, kind: str = "tool-success", *, session: str = "s", **details: object) -> Row:
    """A row about a tool call, as it comes from attribution."""
    return Row(
        v=ROW_VERSION,
        id=f"tool:{session}:{number}",
        time=T + number,
        session=session,
        gen=0,
        seq=number,
        pos=0,
        team_id="lead",
        kind=kind,
        subject=CODER.fingerprint,
        subject_name=CODER.name,
        dim=Dimension.COMPETENCE,
        evidence=Details(**{"tool": "bash", "role": Role.TEAMMATE, **details}),
    )


def seen(number: int) -> Row:
    """An observation."""
    return msgspec.structs.replace(call(number), id=f"exit:s:{number}", kind="exit-code", dim=None)


def commit(home: Path, *rows: Row) -> Commit:
    """Commit rows in a session of their own."""
    with TrustStore(home) as store:
        return store.commit(rows)


def lines_of(home: Path) -> list[bytes]:
    """The lines of the audit log, without their ends."""
    return audit_of(home).splitlines()


def parsed(home: Path) -> list[dict[str, Any]]:
    """The rows of the audit log as any reader of JSON sees them."""
    return [json.loads(line) for line in lines_of(home)]


def content(home: Path) -> dict[str, bytes]:
    """Everything that stands in a home."""
    return {path.name: path.read_bytes() for path in sorted(home.iterdir()) if path.is_file()}


def first_broken_link(home: Path) -> int | None:
    """The number of the first row that does not name the hash of the line before it."""
    head = "0" * 64
    for number, line in enumerate(lines_of(home), 1):
        if json.loads(line)["prev"] != head:
            return number
        head = hashlib.sha256(line).hexdigest()
    return None


class Calls(files.System):
    """The calls that change something, in order. `before` is told of each just before it happens."""

    def __init__(self, home: Path, before: Callable[[int], None] = lambda _number: None) -> None:
        """Watch a home."""
        self.made: list[tuple[str, str]] = []
        self._home = home
        self._before = before

    def _meet(self, what: str, name: str) -> None:
        self.made.append((what, name))
        self._before(len(self.made))

    def _name(self, descriptor: int) -> str:
        found = os.fstat(descriptor)
        for path in (self._home, *self._home.iterdir()):
            if path.stat().st_ino == found.st_ino:
                return path.name
        return "?"

    def write(self, descriptor: int, data: memoryview) -> int:
        """Write all of it, as a disk does on a good day."""
        self._meet("write", self._name(descriptor))
        return super().write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        """Say so instead of waiting for the disk."""
        self._meet("sync", self._name(descriptor))

    def truncate(self, descriptor: int, size: int) -> None:
        """Cut the file."""
        self._meet("truncate", self._name(descriptor))
        super().truncate(descriptor, size)

    def replace(self, source: Path, target: Path) -> None:
        """Rename the file."""
        self._meet("replace", target.name)
        super().replace(source, target)


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


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A place where a home can be made."""
    return tmp_path / "home"


@pytest.fixture
def watched(home: Path, monkeypatch: pytest.MonkeyPatch) -> Calls:
    """A home with one row in it, whose calls are recorded from then on."""
    commit(home, call(1))
    calls = Calls(home)
    monkeypatch.setattr(files, "system", calls)
    return calls


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that holds all logs of the fixtures, one folder after the other; nobody may change it."""
    place = tmp_path_factory.mktemp("full") / "home"
    for folder in EXPECTED:
        ingest(place, FIXTURES / folder)
    return place


@pytest.fixture
def copied(full: Path, home: Path) -> Path:
    """A copy of the full home."""
    shutil.copytree(full, home)
    return home


# ---------------------------------------------------------------------- where a home is


def test_the_home_is_where_the_environment_says() -> None:
    """`A2A_TRUST_HOME` moves the home; empty is as if it were not there."""
    user = Path("~/.a2a-trust").expanduser()
    homes = [default_home(environ) for environ in ({"A2A_TRUST_HOME": "/x/y"}, {"A2A_TRUST_HOME": ""}, {})]
    assert homes == [Path("/x/y"), user, user]


# ---------------------------------------------------------------------- the order of writes

SNAPSHOT_CALLS = [
    ("write", "ledger.json.tmp"),
    ("sync", "ledger.json.tmp"),
    ("replace", BACKUP),
    ("replace", LEDGER),
    ("sync", "home"),
]


def test_a_row_is_durable_before_the_snapshot_changes(home: Path, watched: Calls) -> None:
    """Append, sync; then the snapshot under another name, sync, keep the old one, rename, sync the folder."""
    commit(home, call(2), call(3))
    assert watched.made == [("write", AUDIT), ("sync", AUDIT), *SNAPSHOT_CALLS]


def test_a_new_home_begins_durably(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The names of a new home and of its audit log are durable before anything else is made."""
    calls = Calls(home)
    monkeypatch.setattr(files, "system", calls)
    with TrustStore(home):
        pass
    without_backup = [made for made in SNAPSHOT_CALLS if made[1] != BACKUP]
    above = len(calls.made) - len(without_backup) - 3
    assert calls.made[:above] == [("sync", "?")] * above
    assert calls.made[above:] == [("write", AUDIT), ("sync", AUDIT), ("sync", "home"), *without_backup]


def test_each_slice_is_durable_before_the_next(home: Path, watched: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many rows are appended in slices; the snapshot follows the last one."""
    monkeypatch.setattr(SLICE, 2)
    commit(home, *map(call, range(2, 7)))
    assert watched.made == [("write", AUDIT), ("sync", AUDIT)] * 3 + SNAPSHOT_CALLS


def test_nothing_new_writes_nothing(home: Path, watched: Calls) -> None:
    """Rows that are known already change no file."""
    commit(home, call(1))
    assert watched.made == []


def test_a_change_of_policy_is_durable_before_the_snapshot_changes(home: Path, watched: Calls) -> None:
    """The row comes first here too."""
    with TrustStore(home) as store:
        store.set_policy(SEED)
    assert watched.made == [("write", AUDIT), ("sync", AUDIT), *SNAPSHOT_CALLS]


def test_a_write_that_is_taken_in_parts_is_finished(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that takes a few bytes at a time gets all of them in the end."""

    class Small(NoWaiting):
        def write(self, descriptor: int, data: memoryview) -> int:
            return super().write(descriptor, data[:7])

    monkeypatch.setattr(files, "system", Small())
    commit(home, call(1))
    assert (len(parsed(home)), read_ledger(home).audit.bytes) == (2, len(audit_of(home)))


@pytest.mark.parametrize("folder", ["a-team", "made-tasks", "made-clock"])
@pytest.mark.parametrize("size", [1, 7])
def test_the_size_of_slices_leaves_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, size: int
) -> None:
    """The same rows in smaller slices give the same audit log and the same ledger, byte for byte."""
    ingest(tmp_path / "one", FIXTURES / folder)
    monkeypatch.setattr(SLICE, size)
    ingest(tmp_path / "many", FIXTURES / folder)
    one, many = (content(tmp_path / name) for name in ("one", "many"))
    assert (many[AUDIT], many[LEDGER]) == (one[AUDIT], one[LEDGER])


# ---------------------------------------------------------------------- what a line looks like


def test_a_row_is_written_to_the_letter(home: Path) -> None:
    """A line is compact JSON with its keys in their order and nothing that is absent."""
    commit(home, call(1))
    head = hashlib.sha256(lines_of(home)[0]).hexdigest()
    assert lines_of(home)[1].decode() == (
        '{"v":2,"id":"tool:s:1","time":1796100000001,"session":"s","gen":0,"seq":1,"pos":0,"teamId":"lead",'
        f'"kind":"tool-success","subject":"{CODER.fingerprint}","subjectName":"coder","dim":"competence",'
        '"quality":0.8,"before":0.5,"after":0.53,"delta":0.03,"evidence":{"tool":"bash","role":"teammate"},'
        f'"prev":"{head}"}}'
    )


def test_an_observation_has_no_step(home: Path) -> None:
    """A row that moves no score has none of the keys that say how far."""
    commit(home, seen(1))
    absent = {"dim", "quality", "before", "after", "delta", "late", "supersedes"}
    assert list(parsed(home)[1]) == [key for key in ROW_KEYS if key not in absent]


def test_evidence_that_is_not_folded_has_no_step(home: Path) -> None:
    """A row that the policy leaves out keeps its dimension, and has no quality."""
    commit(home, call(1, tool="todo_write"))
    absent = {"quality", "before", "after", "delta", "late", "supersedes"}
    assert list(parsed(home)[1]) == [key for key in ROW_KEYS if key not in absent]


def test_a_late_row_says_so(home: Path) -> None:
    """A row that comes after a greater key says how many were folded again, and the value now."""
    commit(home, call(2), call(3))
    commit(home, call(1, "tool-error"))
    row = parsed(home)[3]
    assert (row["before"], row["after"], row["delta"], row["late"]) == (0.5, 0.35, -0.15, {"rows": 2, "value": 0.4355})


def test_keys_stand_in_their_order(full: Path) -> None:
    """Every row has its keys in one order, whichever it has."""
    wrong = [row["id"] for row in parsed(full) if list(row) != [key for key in ROW_KEYS if key in row]]
    assert wrong == []


def test_absent_keys_are_left_out(full: Path) -> None:
    """No row and no evidence holds a null."""
    assert b":null" not in audit_of(full)


def test_lines_are_compact_utf_8(full: Path) -> None:
    """There is no space between values, and text outside ASCII stands as it is."""
    text = audit_of(full).decode()
    assert all(
        json.dumps(json.loads(line), ensure_ascii=False, separators=(",", ":")) == line
        for line in text.split("\n")[:-1]
    )


def numbers(data: bytes) -> set[bytes]:
    """The numbers of a text of JSON that are no whole ones by their key."""
    return set(re.findall(rb'"(?:quality|before|after|delta|value)":([^,{}]+)', data))


def test_fractions_have_a_point(full: Path) -> None:
    """A quality or a value is written with a point, also where it is a whole number."""
    found = numbers(audit_of(full)) | numbers((full / LEDGER).read_bytes())
    assert {b"1.0", b"0.0"} < found
    assert [number for number in found if not re.fullmatch(rb"-?[0-9]+\.[0-9]+", number)] == []


def test_the_smallest_values_have_a_point_too(home: Path) -> None:
    """Fifty failures in a row lead to a millionth, which is written with a point as well."""
    commit(home, *(call(number, "tool-error") for number in range(50)))
    found = numbers(audit_of(home))
    assert [number for number in found if not re.fullmatch(rb"-?[0-9]+\.[0-9]+", number)] == []


def test_steps_add_up(full: Path) -> None:
    """`delta` is `after` less `before`, to six decimals."""
    folded = [row for row in parsed(full) if "quality" in row]
    assert [row["id"] for row in folded if row["delta"] != round(row["after"] - row["before"], 6)] == []


def test_rows_name_the_line_before(full: Path) -> None:
    """Each row holds the SHA-256 of the line before it, the first one zeros."""
    assert first_broken_link(full) is None


def test_no_id_stands_twice(full: Path) -> None:
    """Whatever was read, and however often, each row has an id of its own."""
    ids = [row["id"] for row in parsed(full)]
    assert len(ids) == len(set(ids)) > 1000


@pytest.mark.parametrize("policy", BUILT_IN.values(), ids=list(BUILT_IN))
def test_the_first_row_is_the_policy(home: Path, policy: Policy) -> None:
    """A home begins with all numbers of its policy."""
    with TrustStore(home, policy):
        pass
    (row,) = parsed(home)
    assert (row["kind"], msgspec.convert(row["evidence"]["policy"], Policy)) == ("policy", policy)


def test_a_home_begins_under_the_standard_policy(home: Path) -> None:
    """Where nobody asks for another policy, it is `standard`."""
    with TrustStore(home) as store:
        assert store.policy == STANDARD


def test_the_ledger_is_written_to_the_letter(home: Path) -> None:
    """The snapshot has its keys in their order, and names the place in the audit log on which it stands."""
    commit(home, call(1))
    ledger = json.loads((home / LEDGER).read_bytes())
    (agent,) = ledger["agents"].values()
    head = hashlib.sha256(lines_of(home)[-1]).hexdigest()
    assert (list(ledger), list(agent)) == (LEDGER_KEYS, AGENT_KEYS)
    assert ledger["audit"] == {"rows": 2, "bytes": len(audit_of(home)), "head": head}


def test_maps_are_sorted(full: Path) -> None:
    """Agents, dimensions and reasons stand in the order of their keys."""
    agents = json.loads((full / LEDGER).read_bytes())["agents"]
    maps = [agents, *(part for agent in agents.values() for part in (agent["trust"], agent["stats"]["unattributable"]))]
    assert [found for found in maps if list(found) != sorted(found)] == []


def test_the_ledger_is_as_new_as_its_newest_row(full: Path) -> None:
    """`updatedAt` is the greatest time of any row, not the time of writing."""
    assert read_ledger(full).updated_at == max(row.time for row in rows_of(full))


# ---------------------------------------------------------------------- what a commit does


def test_a_commit_says_what_it_added(home: Path) -> None:
    """Folded, left out by the policy, observations, and known already."""
    added = commit(home, call(1), call(2, tool="todo_write"), seen(3))
    assert (added, commit(home, call(1), seen(3), call(4))) == (Commit(1, 1, 1, 0), Commit(1, 0, 0, 2))


def test_a_row_counts_once_in_a_commit_too(home: Path) -> None:
    """The same row twice in one commit is one row."""
    assert (commit(home, call(1), call(1)).folded, len(parsed(home))) == (1, 2)


def test_rows_are_written_in_key_order(home: Path) -> None:
    """Within a commit the order in which rows are given does not matter."""
    commit(home, call(3), call(1), call(2))
    assert [row["seq"] for row in parsed(home)[1:]] == [1, 2, 3]


def test_older_rows_are_never_written_again(home: Path) -> None:
    """Each commit only adds to the end of the log, late rows or not."""
    states = []
    for number in (5, 3, 4, 1):
        commit(home, call(number))
        states.append(audit_of(home))
    assert all(newer.startswith(older) for older, newer in itertools.pairwise(states))


@pytest.mark.parametrize("policy", BUILT_IN.values(), ids=list(BUILT_IN))
def test_every_order_of_commits_gives_the_same_agents(tmp_path: Path, policy: Policy) -> None:
    """Rows that come one by one in any order end in the agents that they give together."""
    rows = [call(1), call(2, "tool-error"), seen(3)]
    found = set()
    for number, order in enumerate(itertools.permutations(rows)):
        place = tmp_path / str(number)
        for row in order:
            with TrustStore(place, policy) as store:
                store.commit([row])
        found.add(agents_of(place))
    assert len(found) == 1


def test_the_ledger_is_the_fold_of_its_log(full: Path) -> None:
    """The snapshot holds what folding the audit log anew gives, byte for byte."""
    with TrustStore(full) as store:
        kept = encode_ledger(store.ledger)
        store.rebuild()
        assert encode_ledger(store.ledger) == kept


# ---------------------------------------------------------------------- policies


def test_another_policy_is_refused(home: Path) -> None:
    """A home stands under one policy; the message names both, and the command that changes it."""
    commit(home, call(1))
    with pytest.raises(PolicyError) as caught, TrustStore(home, SEED):
        pass
    assert str(caught.value) == (
        f"{home}: the home stands under policy 'standard', not 'seed'; change it with: a2a-trust policy --set seed"
    )


def test_a_refused_policy_changes_nothing(home: Path) -> None:
    """After the refusal the log and the ledger are as they were."""
    commit(home, call(1))
    before = content(home)
    with pytest.raises(PolicyError), TrustStore(home, SEED):
        pass
    after = content(home)
    assert (after[AUDIT], after[LEDGER]) == (before[AUDIT], before[LEDGER])


def test_the_policy_of_the_home_is_not_refused(home: Path) -> None:
    """Asking for the policy that the home stands under is asking for nothing."""
    for _ in range(2):
        with TrustStore(home, SEED) as store:
            assert store.policy == SEED


def test_a_new_policy_is_one_row(copied: Path) -> None:
    """A change of policy adds the new numbers to the log, and nothing else."""
    before = audit_of(copied)
    with TrustStore(copied) as store:
        store.set_policy(SEED)
    (line,) = audit_of(copied).removeprefix(before).splitlines()
    row = json.loads(line)
    assert (row["kind"], msgspec.convert(row["evidence"]["policy"], Policy)) == ("policy", SEED)


def test_a_new_policy_folds_everything_anew(tmp_path: Path) -> None:
    """A home that changes to `seed` holds the agents of one that was always under it."""
    ingest(tmp_path / "changed", FIXTURES / "a-team")
    ingest(tmp_path / "always", FIXTURES / "a-team", policy="seed")
    with TrustStore(tmp_path / "changed") as store:
        store.set_policy(SEED)
    assert agents_of(tmp_path / "changed") == agents_of(tmp_path / "always")


def test_a_policy_and_back_changes_no_agent(copied: Path) -> None:
    """Two changes that lead back leave the agents as they were, byte for byte."""
    before = read_ledger(copied).agents
    with TrustStore(copied) as store:
        changed = [store.set_policy(policy) for policy in (SEED, STANDARD)]
    assert (changed, read_ledger(copied).agents == before) == ([True, True], True)


def test_the_same_policy_is_no_change(home: Path) -> None:
    """Setting the policy that is in force writes nothing."""
    commit(home, call(1))
    before = audit_of(home)
    with TrustStore(home) as store:
        assert store.set_policy(STANDARD) is False
    assert audit_of(home) == before


def test_a_policy_in_force_is_found_again(home: Path) -> None:
    """The home opens under the policy of its last policy row, and folds new rows under it."""
    commit(home, call(1, role=Role.MAIN))
    with TrustStore(home) as store:
        store.set_policy(SEED)
    assert commit(home, call(2, role=Role.MAIN)) == Commit(0, 1, 0, 0)


# ---------------------------------------------------------------------- a crash at any moment


def stop_at(number: int, error: BaseException) -> Callable[[int], None]:
    """Raise just before the call of a number."""

    def before(made: int) -> None:
        if made == number:
            raise error

    return before


class Uninterrupted(NamedTuple):
    """A run that nothing disturbed."""

    calls: int
    content: dict[str, bytes]


FOLDER = FIXTURES / "made-tasks"
"""A tree whose run writes a policy row, many rows in a few slices, and two snapshots."""


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Uninterrupted:
    """The run as it should be."""
    place = tmp_path_factory.mktemp("uninterrupted") / "home"
    calls = Calls(place)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "system", calls)
        patch.setattr(SLICE, 30)
        ingest(place, FOLDER)
    return Uninterrupted(len(calls.made), content(place))


class Crash(NamedTuple):
    """A run that was stopped before one of its calls, and the run after it."""

    call: int
    rows: int
    """Whole lines of the log after the crash."""
    rows_read: int
    """Rows on which the ledger stood that was read then."""
    audit: bytes
    """The log after the second run."""
    ledger: bytes


@pytest.fixture(scope="module", params=[Killed(), OSError(5, "Input/output error")], ids=["killed", "failing disk"])
def crashes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, uninterrupted: Uninterrupted
) -> list[Crash]:
    """A crash before every call of the run: of the process, or of the disk."""
    found = []
    for number in range(1, uninterrupted.calls + 1):
        home = tmp_path_factory.mktemp("crash") / "home"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(SLICE, 30)
            patch.setattr(files, "system", Calls(home, stop_at(number, request.param)))
            with pytest.raises((Killed, HomeError)):
                ingest(home, FOLDER)
            patch.setattr(files, "system", NoWaiting())
            rows = audit_of(home).count(b"\n") if (home / AUDIT).exists() else 0
            rows_read = read_ledger(home).audit.rows if rows else 0
            ingest(home, FOLDER)
        found.append(Crash(number, rows, rows_read, audit_of(home), (home / LEDGER).read_bytes()))
    return found


def test_a_run_after_a_crash_loses_and_repeats_nothing(crashes: list[Crash], uninterrupted: Uninterrupted) -> None:
    """Wherever a run was stopped, the next one ends in the audit log of a run that was not."""
    assert [crash.call for crash in crashes if crash.audit != uninterrupted.content[AUDIT]] == []


def test_a_run_after_a_crash_brings_the_ledger_up(crashes: list[Crash], uninterrupted: Uninterrupted) -> None:
    """Wherever a run was stopped, after the next one the snapshot on disk is that of a run that was not."""
    assert [crash.call for crash in crashes if crash.ledger != uninterrupted.content[LEDGER]] == []


def test_a_reader_after_a_crash_sees_what_was_written(crashes: list[Crash]) -> None:
    """Wherever a run was stopped, the ledger that is read is the fold of the rows that stand whole in the log."""
    assert [crash.call for crash in crashes if crash.rows_read != crash.rows] == []


def test_a_crash_before_the_snapshot_is_caught_up_at_the_next_opening(
    home: Path, monkeypatch: pytest.MonkeyPatch, uninterrupted: Uninterrupted
) -> None:
    """Where rows were appended and no snapshot was written, the next opening folds them, to the same bytes."""

    def crash(_home: Path, _ledger: object) -> None:
        raise Killed

    monkeypatch.setattr(SLICE, 30)
    with TrustStore(home):
        pass
    with monkeypatch.context() as patch:
        patch.setattr("a2a_trust.store.store.write_snapshot", crash)
        with pytest.raises(Killed):
            ingest(home, FOLDER)
    with TrustStore(home) as store:
        assert encode_ledger(store.ledger) == uninterrupted.content[LEDGER]


@pytest.mark.parametrize("part", [0.0, 0.001, 0.5, 0.999])
def test_a_torn_write_is_set_aside_and_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uninterrupted: Uninterrupted, part: float
) -> None:
    """Whatever part of an append reached the disk, the next run ends in the log of an undisturbed one."""
    home = tmp_path / "home"

    class Torn(NoWaiting):
        def write(self, descriptor: int, data: memoryview) -> int:
            if len(data) < 2000:
                return super().write(descriptor, data)
            super().write(descriptor, data[: int(len(data) * part)])
            raise Killed

    monkeypatch.setattr(SLICE, 30)
    with monkeypatch.context() as patch:
        patch.setattr(files, "system", Torn())
        with pytest.raises(Killed):
            ingest(home, FOLDER)
    ingest(home, FOLDER)
    assert audit_of(home) == uninterrupted.content[AUDIT]


def test_what_is_left_by_a_killed_writer_is_removed(home: Path) -> None:
    """Temporary files of a writer that died are gone after the next opening."""
    commit(home, call(1))
    for name in ("ledger.json.tmp", "ledger.json.bak.tmp"):
        (home / name).write_bytes(b"half a ledg")
    with TrustStore(home):
        pass
    assert [path.name for path in home.iterdir() if path.suffix == ".tmp"] == []


def test_a_failed_sync_is_told(home: Path, watched: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fails is named, with what stands, and nothing is tried a second time."""
    calls = Calls(home, stop_at(2, OSError(5, "Input/output error")))
    monkeypatch.setattr(files, "system", calls)
    with pytest.raises(HomeError, match="Input/output error"):
        commit(home, call(2))
    assert calls.made == [("write", AUDIT), ("sync", AUDIT)]
    assert watched.made == []


def test_without_hard_links_the_backup_is_a_copy(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a file system without hard links the generation before is kept all the same."""

    class Linkless(NoWaiting):
        def link(self, source: Path, target: Path) -> None:
            raise OSError(1, "Operation not permitted", str(source), None, str(target))

    monkeypatch.setattr(files, "system", Linkless())
    commit(home, call(1))
    before = (home / LEDGER).read_bytes()
    commit(home, call(2))
    assert (home / BACKUP).read_bytes() == before


# ---------------------------------------------------------------------- a torn tail

TAILS: dict[str, Callable[[bytes], bytes]] = {
    "half a row": lambda last: last[: len(last) // 2],
    "a row without its end": lambda last: last[:-1],
    "one byte": lambda _: b"{",
    "garbage": lambda _: b"\xff\x00\n",
    "an empty line": lambda _: b"\n",
    "zeros": lambda _: bytes(512),
    "a row that follows another": lambda last: last,
    "garbage, and a row behind it": lambda last: b"garbage\n" + last,
    "half a long row": lambda last: last[:100] + b"x" * 200_000,
}
tails = pytest.mark.parametrize("make_tail", TAILS.values(), ids=list(TAILS))


def tear(home: Path, make_tail: Callable[[bytes], bytes]) -> tuple[bytes, bytes]:
    """Make a home of two rows and add a torn tail to its log; return what is sound and what is not."""
    commit(home, call(1))
    sound = audit_of(home)
    tail = make_tail(sound.splitlines(keepends=True)[-1])
    (home / AUDIT).write_bytes(sound + tail)
    return sound, tail


@tails
def test_a_torn_tail_is_set_aside_to_the_byte(home: Path, make_tail: Callable[[bytes], bytes]) -> None:
    """What follows the last sound row goes into a file of its own; the log ends where it was sound."""
    sound, tail = tear(home, make_tail)
    with TrustStore(home):
        pass
    assert (audit_of(home), (home / "audit.jsonl.torn-1").read_bytes()) == (sound, tail)


@tails
def test_a_torn_tail_is_reported_to_the_byte(home: Path, make_tail: Callable[[bytes], bytes]) -> None:
    """The report names the file that was made, how many bytes went there, from where, and why."""
    sound, tail = tear(home, make_tail)
    with TrustStore(home) as store:
        found = store.recovery
    assert found is not None
    assert (found.path, found.bytes, found.offset) == (str(home / "audit.jsonl.torn-1"), len(tail), len(sound))
    assert found.why.startswith(f"{home / AUDIT}: row 3 at byte {len(sound)}")


def test_sound_rows_before_a_torn_one_are_kept(home: Path) -> None:
    """Rows that were appended, though no snapshot holds them, stay; only the torn one goes."""
    commit(home, call(1))
    ledger = (home / LEDGER).read_bytes()
    commit(home, call(2), call(3), call(4))
    whole = lines_of(home)
    (home / LEDGER).write_bytes(ledger)
    (home / BACKUP).unlink()
    (home / AUDIT).write_bytes(b"\n".join(whole)[:-5])
    with TrustStore(home) as store:
        assert (lines_of(home), store.ledger.audit.rows) == (whole[:-1], 4)


def test_torn_tails_are_numbered(home: Path) -> None:
    """A second torn tail does not take the place of the first."""
    commit(home, call(1))
    for tail in (b"first", b"second"):
        with (home / AUDIT).open("ab") as file:
            file.write(tail)
        with TrustStore(home):
            pass
    kept = [(home / f"audit.jsonl.torn-{number}").read_bytes() for number in (1, 2)]
    assert kept == [b"first", b"second"]


def test_a_whole_log_needs_no_recovery(home: Path) -> None:
    """Where nothing is torn nothing is reported."""
    commit(home, call(1))
    with TrustStore(home) as store:
        assert store.recovery is None


@tails
def test_a_reader_does_not_see_a_torn_tail(home: Path, make_tail: Callable[[bytes], bytes]) -> None:
    """What follows the acknowledged rows and is no row is nothing that was ever said."""
    tear(home, make_tail)
    assert encode_ledger(read_ledger(home)) == (home / LEDGER).read_bytes()


def test_rows_longer_than_what_is_read_at_a_time_are_found(home: Path) -> None:
    """The last row is found, however long it is, by a writer and by a reader."""
    commit(home, call(1, "tool-error", text="x" * 200_000), call(2, "tool-error", text="y" * 200_000))
    before = encode_ledger(read_ledger(home))
    with TrustStore(home) as store:
        assert (store.recovery, encode_ledger(store.ledger)) == (None, before)


# ---------------------------------------------------------------------- damage before the mark


def refusal(home: Path) -> str:
    """Why a home is not opened."""
    with pytest.raises(AuditDamageError) as caught, TrustStore(home):
        pass
    return str(caught.value)


@pytest.fixture
def three(home: Path) -> Path:
    """A home with a policy row and three others, committed one by one."""
    for number in (1, 2, 3):
        commit(home, call(number))
    return home


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 3.5])
def test_a_cut_off_end_is_refused(three: Path, rows: float) -> None:
    """Where rows are missing on which the ledger stands, the home is not opened."""
    whole = audit_of(three).splitlines(keepends=True)
    kept = b"".join(whole[: int(rows)]) + (b"" if rows == int(rows) else whole[int(rows)][:-1])
    (three / AUDIT).write_bytes(kept)
    told = refusal(three)
    assert told.startswith(f"{three / AUDIT}: {len(kept)} bytes, but the ledger stands on ")


def test_a_missing_log_is_refused(three: Path) -> None:
    """A ledger without the log on which it stands is damage, not a new home."""
    (three / AUDIT).unlink()
    assert refusal(three).startswith(f"{three / AUDIT}: 0 bytes, but the ledger stands on ")


@pytest.mark.parametrize("place", [0.0, 0.2, 0.4, 0.6, 0.8, 0.95])
def test_a_flipped_byte_in_the_last_row_is_refused(three: Path, place: float) -> None:
    """Any change of the last acknowledged row is found, whether or not it is still a row."""
    whole = bytearray(audit_of(three))
    last = whole.rindex(b"\n", 0, -1) + 1
    whole[last + int((len(whole) - last) * place)] ^= 1
    (three / AUDIT).write_bytes(whole)
    assert refusal(three).startswith(f"{three / AUDIT}: row 4")


def test_an_edit_of_the_last_row_is_refused(three: Path) -> None:
    """A last row that was edited with care, and is sound JSON, is found too."""
    whole = audit_of(three)
    edited = whole[: whole.rindex(b'"quality":0.8')] + whole[whole.rindex(b'"quality":0.8') :].replace(
        b"0.8", b"0.9", 1
    )
    (three / AUDIT).write_bytes(edited)
    assert refusal(three).startswith(f"{three / AUDIT}: row 4")


def test_a_refused_home_is_left_as_it_is(three: Path) -> None:
    """Nothing is set aside or written where a person must look first."""
    (three / AUDIT).write_bytes(audit_of(three)[:-10])
    before = content(three)
    refusal(three)
    assert content(three) == before


def test_a_refused_home_is_not_locked(three: Path) -> None:
    """After a refusal the home can be opened again once it is restored."""
    whole = audit_of(three)
    (three / AUDIT).write_bytes(whole[:-10])
    refusal(three)
    (three / AUDIT).write_bytes(whole)
    with TrustStore(three, lock_seconds=0.01) as store:
        assert store.ledger.audit.rows == 4


@pytest.fixture
def edited(three: Path) -> tuple[Path, str]:
    """A home in whose second row a number was edited, and what the refusal must begin with."""
    whole = lines_of(three)
    row = whole[1].replace(b'"quality":0.8', b'"quality":0.9')
    (three / AUDIT).write_bytes(b"\n".join([whole[0], row, *whole[2:], b""]))
    return three, f"{three / AUDIT}: row 3 at byte {len(whole[0]) + len(row) + 2}"


def test_a_rebuild_refuses_damage_in_the_middle(edited: tuple[Path, str]) -> None:
    """A rebuild reads all rows, and names the first that does not follow the one before."""
    home, told = edited
    with TrustStore(home) as store, pytest.raises(AuditDamageError) as caught:
        store.rebuild()
    assert str(caught.value).startswith(told)


def test_an_index_is_not_made_over_damage_in_the_middle(edited: tuple[Path, str]) -> None:
    """Where the index must be made anew all rows are read, and damage is refused, each time."""
    home, told = edited
    (home / CACHE).unlink()
    assert [refusal(home).startswith(told) for _ in range(2)] == [True, True]


def test_a_reader_refuses_a_cut_off_end(three: Path) -> None:
    """Whoever only reads is not given numbers from a log whose end is gone."""
    whole = audit_of(three).splitlines(keepends=True)
    (three / AUDIT).write_bytes(b"".join(whole[:-1]))
    with pytest.raises(AuditDamageError):
        read_ledger(three)


# ---------------------------------------------------------------------- a snapshot that is gone

BROKEN = {
    "missing": None,
    "empty": b"",
    "garbage": b"\xff\xfe garbage",
    "other JSON": b"[]",
    "null": b"null",
    "no agents": b'{"version":1}',
    "half": b'{"version":1,"updatedAt":1796100000003,"agents":{"',
}
broken = pytest.mark.parametrize("data", BROKEN.values(), ids=list(BROKEN))
which = pytest.mark.parametrize("names", [(LEDGER,), (BACKUP,), (LEDGER, BACKUP)], ids=" and ".join)


def spoil(home: Path, names: Iterable[str], data: bytes | None) -> None:
    """Replace files by something else, or by nothing."""
    for name in names:
        (home / name).unlink()
        if data is not None:
            (home / name).write_bytes(data)


@broken
@which
def test_a_broken_snapshot_costs_a_writer_nothing(copied: Path, names: tuple[str, ...], data: bytes | None) -> None:
    """Opening goes on from the backup, or from the log alone, to the same agents, byte for byte."""
    expected = agents_of(copied)
    spoil(copied, names, data)
    with TrustStore(copied) as store:
        assert encode_agents(store.ledger) == expected


@broken
@which
def test_a_broken_snapshot_costs_a_reader_nothing(copied: Path, names: tuple[str, ...], data: bytes | None) -> None:
    """Reading folds what the snapshots do not hold, to the same ledger, byte for byte."""
    expected = encode_ledger(read_ledger(copied))
    spoil(copied, names, data)
    assert encode_ledger(read_ledger(copied)) == expected


@broken
def test_a_broken_snapshot_is_written_anew_by_the_next_run(home: Path, data: bytes | None) -> None:
    """The run after the loss leaves a snapshot as it was, though it adds nothing."""
    ingest(home, FOLDER)
    expected = (home / LEDGER).read_bytes()
    spoil(home, [LEDGER], data)
    ingest(home, FOLDER)
    assert (home / LEDGER).read_bytes() == expected


def test_rebuilding_needs_nothing_but_the_log(copied: Path) -> None:
    """Where only the audit log is left, a rebuild makes the ledger that was there."""
    expected = (copied / LEDGER).read_bytes()
    spoil(copied, [LEDGER, BACKUP, CACHE], None)
    with TrustStore(copied) as store:
        store.rebuild()
    assert (copied / LEDGER).read_bytes() == expected


def test_rebuilding_undoes_what_was_done_to_the_ledger(copied: Path) -> None:
    """Numbers that somebody wrote into the snapshot are gone after a rebuild."""
    expected = (copied / LEDGER).read_bytes()
    (copied / LEDGER).write_bytes(re.sub(rb'"value":0\.[0-9]+', b'"value":0.99', expected))
    with TrustStore(copied) as store:
        store.rebuild()
    assert (copied / LEDGER).read_bytes() == expected


def test_rebuilding_leaves_no_backup_of_what_it_undid(copied: Path) -> None:
    """Who removes the ledger afterwards does not bring back what somebody wrote into it."""
    expected = (copied / LEDGER).read_bytes()
    (copied / LEDGER).write_bytes(re.sub(rb'"value":0\.[0-9]+', b'"value":0.99', expected))
    with TrustStore(copied) as store:
        store.rebuild()
    assert (copied / BACKUP).read_bytes() == expected


@pytest.mark.parametrize("data", [None, b"garbage"])
def test_opening_from_the_backup_writes_the_ledger(copied: Path, data: bytes | None) -> None:
    """Also where the backup stands on the whole log; and what is no ledger does not become the backup."""
    expected = (copied / LEDGER).read_bytes()
    (copied / BACKUP).write_bytes(expected)
    spoil(copied, [LEDGER], data)
    with TrustStore(copied):
        pass
    assert ((copied / LEDGER).read_bytes(), (copied / BACKUP).read_bytes()) == (expected, expected)


@pytest.mark.parametrize("data", [b'{"time":1', b'\n{"time":1}\n', b'nonsense\n{"a":1}\n', b'{"v":2}\n'])
def test_a_log_without_a_row_of_ours_is_not_set_aside(home: Path, data: bytes) -> None:
    """Only a first row that was not written to its end may go: the rest was whole once, or is not ours."""
    home.mkdir()
    (home / AUDIT).write_bytes(data)
    with pytest.raises(AuditDamageError, match="nothing was set aside"), TrustStore(home):
        pass
    assert (audit_of(home), (home / LEDGER).exists(), list(home.glob("*.torn-*"))) == (data, False, [])


# ---------------------------------------------------------------------- a cache that is gone


@pytest.mark.parametrize(
    "spoiled",
    [
        None,
        lambda _: b"",
        lambda _: b"garbage" * 1000,
        lambda data: data[: len(data) // 2],
        lambda data: data[:4096] + bytes(len(data) - 4096),
        lambda data: data[:100] + b"\xff" * 3996 + data[4096:],
    ],
    ids=["missing", "empty", "garbage", "half", "zeros behind the first page", "noise in the first page"],
)
def test_a_broken_cache_is_made_anew(home: Path, spoiled: Callable[[bytes], bytes] | None) -> None:
    """Without its index a home knows every row all the same, and takes in what is new."""
    ingest(home, FOLDER)
    whole = (home / CACHE).read_bytes()
    spoil(home, [CACHE], spoiled(whole) if spoiled else None)
    known = len(rows_of(home)) - 1
    again = ingest(home, FOLDER, FIXTURES / "made-clock")
    assert (again.known, again.evidence > 0, first_broken_link(home)) == (known, True, None)


def test_a_cache_with_a_broken_page_is_made_anew(tmp_path: Path) -> None:
    """Whichever page of the file is damaged, at most one run is refused, and the next ends in the same agents."""
    ingest(tmp_path / "whole", FOLDER, FIXTURES / "made-clock")
    expected = agents_of(tmp_path / "whole")
    ingest(tmp_path / "first", FOLDER)
    size = (tmp_path / "first" / CACHE).stat().st_size
    failed = {}
    for page in range(size // 4096):
        place = shutil.copytree(tmp_path / "first", tmp_path / str(page))
        with (place / CACHE).open("r+b") as file:
            file.seek(page * 4096)
            file.write(b"\xa5" * 4096)
        with contextlib.suppress(HomeError):
            ingest(place, FOLDER, FIXTURES / "made-clock")
        try:
            ingest(place, FOLDER, FIXTURES / "made-clock")
            outcome = "the same agents" if agents_of(place) == expected else "other agents"
        except (HomeError, sqlite3.Error) as error:
            outcome = str(error)
        if outcome != "the same agents":
            failed[page] = outcome
    assert failed == {}


def test_a_cache_of_another_log_is_made_anew(tmp_path: Path) -> None:
    """An index that came from elsewhere hides no row."""
    ingest(tmp_path / "one", FOLDER)
    ingest(tmp_path / "other", FIXTURES / "made-clock")
    shutil.copy(tmp_path / "other" / CACHE, tmp_path / "one" / CACHE)
    with TrustStore(tmp_path / "one") as store:
        assert store.cache.known(row.session for row in store.rows()) == {row.id for row in store.rows()}


def test_a_cache_that_lags_behind_is_brought_up(home: Path) -> None:
    """An index from before the last commit learns its rows when the home is opened."""
    commit(home, call(1))
    older = (home / CACHE).read_bytes()
    commit(home, call(2), call(3))
    (home / CACHE).write_bytes(older)
    assert commit(home, call(2), call(3)) == Commit(0, 0, 0, 2)


# ---------------------------------------------------------------------- who may read, and who may write


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_files_are_their_owners_alone(home: Path, mask: int) -> None:
    """Whatever the umask, nobody else can read a home or what it holds."""
    before = os.umask(mask)
    try:
        commit(home, call(1))
        with (home / AUDIT).open("ab") as file:
            file.write(b"torn")
        commit(home, call(2))
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (home, *home.iterdir())}
    assert {AUDIT, LEDGER, BACKUP, CACHE, LOCK, "audit.jsonl.torn-1"} <= set(modes)
    assert modes == {name: 0o700 if name == "home" else 0o600 for name in modes}


def test_a_copied_backup_is_its_owners_alone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the backup is a copy nobody else can read it."""

    class Linkless(NoWaiting):
        def link(self, source: Path, target: Path) -> None:
            raise OSError(1, "Operation not permitted", str(source), None, str(target))

    monkeypatch.setattr(files, "system", Linkless())
    before = os.umask(0)
    try:
        commit(home, call(1))
    finally:
        os.umask(before)
    assert (home / BACKUP).stat().st_mode & 0o777 == 0o600


def test_a_second_writer_is_told_to_wait(home: Path) -> None:
    """Whoever does not get the lock in time is told so, and changes nothing."""
    with TrustStore(home), pytest.raises(HomeBusyError) as caught, TrustStore(home, lock_seconds=0.01):
        pass
    assert str(caught.value) == f"{home}: another process is writing to this home; try again when it is done"


def test_the_lock_is_free_after_a_failure(home: Path) -> None:
    """An exception in the middle of writing does not leave the home locked."""
    with pytest.raises(Killed), TrustStore(home):
        raise Killed
    with TrustStore(home, lock_seconds=0.01) as store:
        assert store.ledger.audit.rows == 1


def test_the_lock_is_free_after_a_refused_policy(home: Path) -> None:
    """A refusal does not leave the home locked."""
    commit(home, call(1))
    with pytest.raises(PolicyError), TrustStore(home, SEED):
        pass
    with TrustStore(home, lock_seconds=0.01) as store:
        assert store.ledger.audit.rows == 2


def test_a_home_that_is_a_file_is_refused(home: Path) -> None:
    """A home must be a folder."""
    home.write_bytes(b"")
    with pytest.raises(HomeError, match="the home must be a folder you may write to"), TrustStore(home):
        pass


def test_writers_in_two_processes_lose_and_repeat_nothing(tmp_path: Path) -> None:
    """Two processes that commit logs at once, some of them the same, end in what one after the other gives."""
    folders = [FIXTURES / name for name in ("a-team", "made-tasks", "made-clock", "a-team", "e-failures", "made-tasks")]
    home, alone = tmp_path / "home", tmp_path / "alone"
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, context) as pool:
        running = [pool.submit(ingest, home, folder) for folder in folders]
        added = sum(done.result().evidence for done in running)
    expected = ingest(alone, *set(folders)).evidence
    ids = [row["id"] for row in parsed(home)]
    assert (agents_of(home), added, first_broken_link(home)) == (agents_of(alone), expected, None)
    assert len(ids) == len(set(ids))


# ---------------------------------------------------------------------- reading while somebody writes


def test_a_reader_at_any_moment_sees_a_sound_ledger(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before every call that a writer makes, what is read is the fold of the rows that stand in the log."""
    ingest(home, FIXTURES / "made-clock")
    wrong = []

    def read(number: int) -> None:
        ledger = read_ledger(home)
        if ledger.audit.rows != audit_of(home).count(b"\n"):
            wrong.append(number)

    class Slow(Calls):
        def write(self, descriptor: int, data: memoryview) -> int:
            return super().write(descriptor, data[: max(1, len(data) // 2)])

    monkeypatch.setattr(SLICE, 30)
    calls = Slow(home, read)
    monkeypatch.setattr(files, "system", calls)
    ingest(home, FOLDER)
    assert (wrong, len(calls.made) > 50) == ([], True)


def test_a_reader_at_any_moment_finds_a_snapshot(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no moment without a whole `ledger.json`, nor, once there was one, without its backup."""
    commit(home, call(1))
    missing = []

    def look(number: int) -> None:
        missing.extend(
            (number, name)
            for name in (LEDGER, BACKUP)
            if not (home / name).exists() or list(json.loads((home / name).read_bytes())) != LEDGER_KEYS
        )

    monkeypatch.setattr(files, "system", Calls(home, look))
    commit(home, call(2))
    assert missing == []


def test_readers_in_another_thread_see_only_sound_ledgers(home: Path) -> None:
    """A loop of readers beside a loop of commits sees ledgers that only grow, and never fails."""
    commit(home, call(0))
    done = threading.Event()

    def read() -> list[int]:
        rows = []
        while not done.is_set():
            rows.append(read_ledger(home).audit.rows)
        return rows

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        running = pool.submit(read)
        for number in range(1, 25):
            commit(home, call(number))
        done.set()
        rows = running.result()
    assert rows == sorted(rows)


def test_a_ledger_that_lags_behind_is_brought_up_in_memory(home: Path) -> None:
    """A reader folds the rows that the snapshot does not hold yet."""
    commit(home, call(1))
    older = (home / LEDGER).read_bytes()
    commit(home, call(2), call(3, "tool-error"))
    newer = (home / LEDGER).read_bytes()
    (home / LEDGER).write_bytes(older)
    assert encode_ledger(read_ledger(home)) == newer


def test_reading_writes_nothing(copied: Path) -> None:
    """A reader leaves every file as it was, also where it has to fold."""
    (copied / LEDGER).write_bytes((copied / BACKUP).read_bytes())
    before = content(copied)
    read_ledger(copied)
    assert content(copied) == before


@pytest.mark.parametrize("made", [False, True], ids=["no folder", "an empty folder"])
def test_reading_where_nothing_is_recorded_says_what_to_do(home: Path, *, made: bool) -> None:
    """Without a home there is no ledger; the message names the command that makes one."""
    if made:
        home.mkdir()
    with pytest.raises(NoLedgerError) as caught:
        read_ledger(home)
    assert str(caught.value) == f"{home}: nothing is recorded here yet; run: a2a-trust backfill"


def test_reading_makes_no_home(home: Path) -> None:
    """A look at a home that is not there does not make one."""
    with pytest.raises(NoLedgerError):
        read_ledger(home)
    assert not home.exists()


def test_reading_what_is_no_home_is_told(home: Path) -> None:
    """A home that is a file is refused in words."""
    home.write_bytes(b"")
    with pytest.raises((HomeError, NoLedgerError)):
        read_ledger(home)


@pytest.fixture
def read_only(copied: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home, named from within its parent, that this process may read and not write; root steps down for it."""
    for path in copied.iterdir():
        path.chmod(0o444)
    copied.chmod(0o555)
    copied.parent.chmod(0o755)
    monkeypatch.chdir(copied.parent)
    root = os.geteuid() == 0
    try:
        if root:
            with contextlib.suppress(PermissionError):
                os.seteuid(NOBODY)
        if os.access(copied.name, os.W_OK, effective_ids=True):
            pytest.skip("nothing can be denied to this user")
        yield Path(copied.name)
    finally:
        if root:
            os.seteuid(0)
        copied.chmod(0o700)


def test_a_folder_that_may_only_be_read_can_be_read(read_only: Path) -> None:
    """A reader needs no right to write, neither for a lock nor for a cache."""
    with pytest.raises(PermissionError):
        (read_only / "new").touch()
    assert read_ledger(read_only).audit.bytes == len(audit_of(read_only))
