"""The store: what is written in which order, and to the letter."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import msgspec
import pytest
from homes import FIXTURES, audit_of, ingest, rows_of
from hypothesis import given
from hypothesis import strategies as st
from storehomes import (
    AUDIT,
    BACKUP,
    CODER,
    LEDGER,
    LEDGER_KEYS,
    SLICE,
    Calls,
    call,
    commit,
    content,
    first_broken_link,
    lines_of,
    parsed,
    seen,
)
from undelayed import NoWaiting

from a2a_trust.model import Details, Heard, Late, Policy, Row
from a2a_trust.policy import BUILT_IN, SEED, STANDARD
from a2a_trust.store import TrustStore, default_home, files, read_ledger
from a2a_trust.store.audit import encode_row, plain_floats

STEP_NUMBERS = ("quality", "before", "after", "delta")
drawn = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([1e-6, 9.9e-5, -1e-6, 1e-3, 0.0, 1e9, 1e16])
rows_with_numbers = st.fixed_dictionaries(
    {
        "v": st.just(2), "id": st.just("e-1e5"), "time": st.just(1), "session": st.just("5e-7"), "gen": st.just(0),
        "seq": st.just(1), "pos": st.just(0), "kind": st.just("tool-success"),
        "evidence": st.fixed_dictionaries({}, optional={"given": drawn, "text": st.just("1e-7,")}),
    },
    optional={
        **dict.fromkeys(STEP_NUMBERS, drawn),
        "late": st.fixed_dictionaries({"rows": st.just(1), "value": drawn}),
    },
)  # fmt: skip


def takes_float(annotation: object) -> bool:
    """Tell whether a field may hold a fraction by itself."""
    return annotation is float or float in getattr(annotation, "__args__", ())


ROW_KEYS = (
    "v", "id", "time", "session", "gen", "seq", "pos", "teamId", "kind", "subject", "subjectName", "dim", "quality",
    "before", "after", "delta", "late", "supersedes", "evidence", "prev",
)  # fmt: skip
AGENT_KEYS = ["fingerprint", "profile", "trust", "stats", "history", "firstSeen", "lastSeen"]


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


@given(st.data())
def test_no_number_of_a_row_has_an_exponent(data: st.DataObject) -> None:
    """Wherever in a row a number stands: where the line is not looked at it cannot hold an exponent."""
    row = msgspec.convert(data.draw(rows_with_numbers), Row)
    line = encode_row(row)
    assert line == plain_floats(line) == plain_floats(msgspec.json.encode(row, order="deterministic"))


def test_every_number_of_a_row_is_among_those_drawn() -> None:
    """Another field with a fraction must be added to the property, and to what `encode_row` looks at."""
    fractions = {
        field.name
        for kind in (Row, Details, Late, Heard)
        for field in msgspec.structs.fields(kind)
        if takes_float(field.type)
    }
    assert fractions == {*STEP_NUMBERS, "given", "value"}


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
