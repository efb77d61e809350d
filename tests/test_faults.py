"""Every call of the store fails, is torn, or is the last one: what was acknowledged stands, once, and work goes on."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from faulty import Disk, Fault, Folder, How, Killed, folder_for_homes, read_folder
from homes import agents_of
from made_rows import completed, registered, tool_call

from a2a_trust.errors import HomeError, TrustError
from a2a_trust.policy import SEED
from a2a_trust.store import TrustStore, amend, audit, files
from a2a_trust.store.adopt import read_store
from a2a_trust.store.cache import CACHE, Cache, remove_cache
from a2a_trust.store.reader import AUDIT, read_all_rows
from a2a_trust.store.repair import repair
from a2a_trust.store.snapshot import BACKUP, LEDGER
from a2a_trust.store.verify import verify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from a2a_trust.model import Row

V1_STORE = Path(__file__).resolve().parent.parent / "fixtures" / "v1-store"
V1_LINES = 5
NOW = 1_796_200_000_000


class Scenario(NamedTuple):
    """Something that is done to a home, and what it is done to."""

    prepare: Callable[[Path], None]
    act: Callable[[Path], None]
    links: bool = True
    slice_rows: int = 20_000


FIRST = [registered(), tool_call(1), tool_call(2), tool_call(3, failed=True), tool_call(1, session="s1", agent=1)]
SECOND = [tool_call(2), tool_call(5), *completed(6), tool_call(7, late=5), tool_call(8, session="s1", agent=1)]
"""A known row, new ones of two agents, a completed task, and one that comes late."""


def commit(home: Path, rows: list[Row]) -> None:
    """Commit rows in a run of their own."""
    with TrustStore(home) as store:
        store.commit(rows)


def nothing(home: Path) -> None:
    """Leave the home to be made."""


def first(home: Path) -> None:
    """Make a home with some rows."""
    commit(home, FIRST)


def both(home: Path) -> None:
    """Make a home in two commits."""
    commit(home, FIRST)
    commit(home, SECOND)


def second(home: Path) -> None:
    """Commit to a home that has rows."""
    commit(home, SECOND)


def adopt(home: Path) -> None:
    """Adopt the beginning of a version-1 store."""
    with tempfile.TemporaryDirectory() as folder:
        lines = (V1_STORE / AUDIT).read_bytes().splitlines(keepends=True)
        (Path(folder) / AUDIT).write_bytes(b"".join(lines[-V1_LINES:]))
        commit(home, read_store(Path(folder)).rows)


def rebuild(home: Path) -> None:
    """Make index and ledger anew."""
    with TrustStore(home) as store:
        store.rebuild()


def change_policy(home: Path) -> None:
    """Put the home under another policy."""
    with TrustStore(home) as store:
        store.set_policy(SEED)


def retract(home: Path) -> None:
    """Retract a session, unless an earlier attempt came through."""
    with TrustStore(home) as store:
        if "s1" not in store.amendments.retracted:
            amend.retract(store, ["s1"], "test", NOW)


def open_only(home: Path) -> None:
    """Open and close a home."""
    with TrustStore(home):
        pass


def crashed(home: Path) -> None:
    """Leave a home as a crash may: rows that no snapshot holds, half a row behind them, and temporary files."""
    first(home)
    ledger = (home / LEDGER).read_bytes()
    second(home)
    (home / LEDGER).write_bytes(ledger)
    for name in (f"{LEDGER}.tmp", f"{BACKUP}.tmp", f"{AUDIT}.torn-1.tmp"):
        (home / name).write_bytes(b'{"half')
    with (home / AUDIT).open("ab") as file:
        file.write(b'{"v":2,"id":"half')


SCENARIOS = {
    "new-home": Scenario(nothing, first),
    "commit": Scenario(first, second),
    "commit-in-slices": Scenario(first, second, slice_rows=2),
    "commit-without-links": Scenario(first, second, links=False),
    "adoption": Scenario(first, adopt),
    "rebuild": Scenario(both, rebuild),
    "policy-change": Scenario(both, change_policy),
    "amendment": Scenario(both, retract),
    "recovery": Scenario(crashed, open_only),
}

CASES = {
    "new-home": (22, 428, 17_000),
    "commit": (10, 254, 14_000),
    "commit-in-slices": (16, 314, 14_000),
    "commit-without-links": (13, 327, 21_000),
    "adoption": (10, 288, 20_000),
    "rebuild": (10, 148, 9_000),
    "policy-change": (10, 192, 9_000),
    "amendment": (10, 182, 9_000),
    "recovery": (22, 579, 15_000),
}
"""Calls, cases in `make test`, and the fewest in `make test-slow`, where each byte of a row adds some."""
REPAIR_CASES = 387
TORN_STEP = (1013, 61)
"""Bytes from one torn write to the next, in `make test`: of a temporary file, of the audit log."""
CACHES = ("as-it-is", "as-before", "missing", "corrupt")
"""What may be found of a cache after a crash; SQLite writes it, not the store."""


class Outcome(NamedTuple):
    """A home after a fault."""

    disk: Disk
    acknowledged: set[str]
    seen: Folder
    """What a running machine shows."""
    cache: bytes | None
    reported: bool
    """The fault was reported, or came through without harm: the process did not die."""


class Course(NamedTuple):
    """A scenario without any fault."""

    start: Folder
    """Everything that stood in the home before, the cache too; empty where there was no home."""
    calls: list[tuple[str, str, int]]
    ids: list[str]
    agents: bytes
    started_with: set[str]


@pytest.fixture
def places() -> Iterator[Callable[[], Path]]:
    """Paths for homes, each once."""
    with tempfile.TemporaryDirectory(dir=folder_for_homes()) as root:
        number = count()
        yield lambda: Path(root) / "cases" / f"{next(number)}" / "home"


def plant(home: Path, folder: Folder) -> Path:
    """Write a home; without any file there is none."""
    home.parent.mkdir(parents=True)
    if folder:
        home.mkdir()
    for name, data in folder.items():
        (home / name).write_bytes(data)
    return home


def cache_of(home: Path) -> bytes | None:
    """The bytes of a cache, if there is one."""
    return (home / CACHE).read_bytes() if (home / CACHE).exists() else None


def ids_of(home: Path) -> list[str]:
    """The ids of all rows, sorted."""
    return sorted(row.id for row in read_all_rows(home))


@cache
def course_of(name: str) -> Course:
    """Run a scenario without a fault."""
    scenario = SCENARIOS[name]
    with tempfile.TemporaryDirectory() as root, pytest.MonkeyPatch.context() as patch:
        patch.setattr("a2a_trust.store.store.SLICE_ROWS", scenario.slice_rows)
        home = Path(root) / "home"
        scenario.prepare(home)
        start = read_folder(home) if home.exists() else {}
        old_cache = cache_of(home)
        started_with = set() if not home.exists() else set(ids_of(home))
        if old_cache is not None:
            start[CACHE] = old_cache
        disk = Disk(home, links=scenario.links)
        with disk.installed():
            scenario.act(home)
        return Course(start, disk.calls, ids_of(home), agents_of(home), started_with)


def run(name: str, home: Path, fault: Fault) -> Outcome:
    """Run a scenario with a fault in it."""
    scenario, course = SCENARIOS[name], course_of(name)
    plant(home, course.start)
    disk = Disk(home, fault, links=scenario.links)
    acknowledged: set[str] = set()
    append = audit.AuditWriter.append

    def noting(self: audit.AuditWriter, rows: list[Row]) -> list[audit.Placement]:
        placed = append(self, rows)
        acknowledged.update(row.id for row, _ in placed)
        return placed

    reported = True
    with pytest.MonkeyPatch.context() as patch, disk.installed():
        patch.setattr(audit.AuditWriter, "append", noting)
        patch.setattr("a2a_trust.store.store.SLICE_ROWS", scenario.slice_rows)
        if fault.how is How.KILL:
            # Who is dead does not say that all was well.
            patch.setattr(Cache, "close", lambda self: self._db.close())
        try:
            scenario.act(home)
        except TrustError:
            pass
        except Killed:
            reported = False
    seen = read_folder(home) if home.exists() else {}
    return Outcome(disk, acknowledged, seen, cache_of(home) if home.exists() else None, reported)


def cache_found(name: str, outcome: Outcome, kind: str) -> bytes | None:
    """One of the things that may be found of a cache."""
    now = outcome.cache
    if kind == "as-before":
        return course_of(name).start.get(CACHE)
    if kind == "missing" or now is None:
        return None
    if kind == "corrupt":
        return now[: len(now) // 3] + b"\xa5" * (len(now) // 3) + now[len(now) // 3 * 2 :]
    return now


def act_again(scenario: Scenario, home: Path, *, cache_is_corrupt: bool) -> None:
    """Let the next run do the same; one that finds the cache unreadable late removes it and asks to be run again."""
    try:
        scenario.act(home)
    except HomeError as error:
        if not cache_is_corrupt or CACHE not in str(error):
            raise
        scenario.act(home)


def examine(name: str, outcome: Outcome, disk: Disk, cache: str, places: Callable[[], Path]) -> None:
    """Open what was left, let the next run do the same again, cut the power once more, and look."""
    scenario, course = SCENARIOS[name], course_of(name)
    with disk.installed():
        if (disk.home / AUDIT).exists():
            with TrustStore(disk.home) as store:
                found = {row.id for row in store.rows()}
            assert (course.started_with | outcome.acknowledged) - found == set()
        else:
            assert course.started_with | outcome.acknowledged == set()
        act_again(scenario, disk.home, cache_is_corrupt=cache == "corrupt")
    assert verify(disk.home).defects == []
    left = plant(places(), disk.durable())
    assert verify(left).defects == []
    assert ids_of(left) == course.ids
    assert agents_of(left) == course.agents


def faults(name: str, *, every_byte: bool) -> Iterator[Fault]:
    """Every fault of a scenario; writes are torn after every byte, or after some."""
    calls = course_of(name).calls
    for at, (call, file, size) in enumerate(calls):
        yield from (Fault(at, how) for how in How if how is not How.EIO_LATE or call != "open")
        if call == "write":
            step = 1 if every_byte else TORN_STEP[file == AUDIT]
            yield from (Fault(at, how, torn) for torn in range(1, size, step) for how in (How.KILL, How.ENOSPC))
    # Behind the last call the process may still die, or the power fail.
    yield Fault(len(calls), How.KILL)


def put_cache(name: str, outcome: Outcome, home: Path, kind: str) -> None:
    """Leave a cache in a home as it may be found."""
    remove_cache(home)
    data = cache_found(name, outcome, kind)
    if data is not None and home.exists():
        (home / CACHE).write_bytes(data)


def remains(name: str, fault: Fault, outcome: Outcome, places: Callable[[], Path]) -> Iterator[Disk]:
    """What another process may find: the same machine, or what a power loss left."""
    # A torn write leaves after a power loss what a whole one leaves.
    left = [] if fault.written else outcome.disk.after_power_loss()
    outcome.disk.revive()
    yield outcome.disk
    yield from (Disk(plant(places(), folder), links=SCENARIOS[name].links) for folder in left)


def check_all(name: str, places: Callable[[], Path], *, thorough: bool) -> tuple[int, int]:
    """Go through every fault of a scenario and all that it may leave; return the numbers of calls and of cases."""
    calls, cases = course_of(name).calls, 0
    for fault in faults(name, every_byte=thorough):
        outcome = run(name, places(), fault)
        for disk in remains(name, fault, outcome, places):
            left = read_folder(disk.home) if disk.home.exists() else {}
            found = disk
            for kind in CACHES if thorough and not fault.written else [CACHES[cases % len(CACHES)]]:
                put_cache(name, outcome, found.home, kind)
                try:
                    examine(name, outcome, found, kind, places)
                except BaseException as error:
                    sizes = {file: len(data) for file, data in left.items()}
                    error.add_note(
                        f"{fault} of {calls}, cache {kind}, left {sizes}, same disk: {found is outcome.disk}"
                    )
                    raise
                cases += 1
                found = Disk(plant(places(), left), links=SCENARIOS[name].links)
        shutil.rmtree(outcome.disk.home.parents[1])
    return len(calls), cases


@pytest.mark.parametrize("name", SCENARIOS)
def test_no_fault_loses_or_repeats_a_row(name: str, places: Callable[[], Path]) -> None:
    """Whatever call fails or is the last, and whatever the disk keeps: nothing acknowledged is lost, work goes on."""
    assert check_all(name, places, thorough=False) == CASES[name][:2]


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_no_fault_at_any_byte_loses_or_repeats_a_row(name: str, places: Callable[[], Path]) -> None:
    """The same with writes torn after every byte, and each thing that may be found of a cache."""
    calls, cases = check_all(name, places, thorough=True)
    assert (calls, cases >= CASES[name][2]) == (CASES[name][0], True)


def append_without_sync(path: Path, data: bytes) -> None:
    """Append, and trust the machine to write it some day."""
    descriptor = files.system.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    files.system.write(descriptor, memoryview(data))
    os.close(descriptor)


def leave_out(*_: object) -> None:
    """Do nothing where something must be done."""


@pytest.mark.parametrize(
    ("name", "step", "instead"),
    [
        ("commit", "append", append_without_sync),
        ("new-home", "sync_folder", leave_out),
        ("new-home", "sync_name", leave_out),
        ("commit", "confirm", leave_out),
    ],
)
def test_a_store_that_leaves_out_a_step_is_found(
    name: str,
    step: str,
    instead: Callable[..., None],
    places: Callable[[], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """These tests see it when a step is missing on which a promise stands."""
    course_of(name)
    monkeypatch.setattr(files, step, instead)
    with pytest.raises((AssertionError, TrustError)):
        check_all(name, places, thorough=False)


def damaged(home: Path) -> None:
    """Make a home in whose audit log a row was edited that much stands on."""
    both(home)
    path = home / AUDIT
    path.write_bytes(path.read_bytes().replace(b'"seq":2', b'"seq":9', 1))


def repair_cases() -> Iterator[Fault]:
    """Every fault of a repair."""
    with tempfile.TemporaryDirectory() as root:
        home = Path(root) / "home"
        damaged(home)
        disk = Disk(home)
        with disk.installed():
            repair(home)
    yield from (Fault(at, how) for at in range(len(disk.calls)) for how in How)
    yield Fault(len(disk.calls), How.KILL)


def test_no_fault_of_a_repair_loses_what_was_found(places: Callable[[], Path]) -> None:
    """Whatever stops a repair, the log as it was found stands in some file, and another repair comes to its end."""
    cases = 0
    for fault in repair_cases():
        home = places()
        damaged(home)
        before = (home / AUDIT).read_bytes()
        disk = Disk(home, fault)
        with disk.installed(), contextlib.suppress(TrustError, Killed):
            repair(home)
        for folder in [read_folder(home), *disk.after_power_loss()]:
            left = plant(places(), folder)
            assert before in folder.values(), fault
            repair(left)
            open_only(left)
            assert verify(left).defects == [], fault
            assert before in read_folder(left).values()
            cases += 1
    assert cases == REPAIR_CASES


def test_the_table_in_the_docs_is_that_of_these_tests() -> None:
    """Calls and cases are told as they are counted here."""
    page = (Path(__file__).resolve().parent.parent / "docs" / "durability.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| ([a-z-]+) \| (\d+) \| ([\d,]+) \| ([\d,]+) \|$", page, re.MULTILINE)
    numbers = {name: tuple(int(cell.replace(",", "")) for cell in cells) for name, *cells in told}
    assert numbers == CASES
    assert f"| repair | | {REPAIR_CASES} | |" in page
