"""Exactly once, in any order: however logs are split over runs, cut and copied, the same agents come out."""

from __future__ import annotations

import concurrent.futures
import hashlib
import importlib
import multiprocessing
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from dshlog import LogBuilder, decode, encode, frame, frames, from_team
from homes import EXPECTED, FIXTURES, LOG_GLOB, agents_of, audit_of, differences, ingest, rows_of, scratch
from hypothesis import given, settings
from hypothesis import strategies as st

from a2a_trust.agents import fold_agent
from a2a_trust.model import DIMENSIONS, Row
from a2a_trust.policy import BUILT_IN, SEED, STANDARD
from a2a_trust.store import TrustStore, read_ledger

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from a2a_trust.model import Dimension, Policy

T = 1796100000000
FOLDERS = sorted(EXPECTED)
SAME_SESSIONS = [
    ("c-kill-killed", "c-kill-resumed"),
    ("v3-a-team", "mix-v3-v4"),
    ("made-torn", "made-torn-later"),
]
"""Trees that hold the same sessions, the later state second."""
ZSTD = ".zstd"


@pytest.fixture(autouse=True, scope="module")
def no_waiting_for_the_disk() -> Iterator[None]:
    """Power stays on in these tests, and they write a great many homes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda _: None)
        yield


@pytest.fixture
def room() -> Iterator[Path]:
    """A folder for homes and logs, where many of them cost little."""
    with scratch() as folder:
        yield Path(folder)


# ------------------------------------------------------------------ logs, cut and copied


class Log(NamedTuple):
    """One log of the fixtures."""

    path: Path
    """Below `fixtures/dsh`."""
    data: bytes
    boundaries: tuple[int, ...]
    """Where its frames end, or its lines where it is not compressed."""


class Write(NamedTuple):
    """A log that stands on disk from a run on, up to some byte."""

    path: Path
    data: bytes

    def __repr__(self) -> str:
        """Say where and how much, so that a failing schedule can be read."""
        return f"{self.path}: {len(self.data)} bytes"


@cache
def logs_of(folder: str) -> tuple[Log, ...]:
    """All logs of a folder of the fixtures, older generations of a session included."""
    found = []
    for path in sorted((FIXTURES / folder).rglob(LOG_GLOB)):
        data = path.read_bytes()
        pieces = frames(data) if path.suffix == ZSTD else data.splitlines(keepends=True)
        found.append(Log(path.relative_to(FIXTURES), data, tuple(accumulate(map(len, pieces)))))
    return tuple(found)


def whole_lines(log: Log, length: int) -> list[bytes]:
    """The lines that stand whole in the first bytes of a log."""
    text = decode(log.data[:length]) if log.path.suffix == ZSTD else log.data[:length]
    return [line + b"\n" for line in text.split(b"\n")[:-1]]


def other_encoding(log: Log, length: int) -> Write:
    """A copy of the first bytes of a log, compressed where it is not and plain where it is."""
    lines = whole_lines(log, length)
    if log.path.suffix == ZSTD:
        return Write(log.path.with_suffix(""), b"".join(lines))
    return Write(log.path.with_name(log.path.name + ZSTD), encode([line] for line in lines))


@cache
def _one_run(folders: frozenset[str]) -> bytes:
    with scratch() as home:
        ingest(Path(home), *(FIXTURES / folder for folder in sorted(folders)))
        return agents_of(Path(home))


def one_run(folders: Iterable[str]) -> bytes:
    """The agents that one run over folders of the fixtures gives."""
    return _one_run(frozenset(folders))


class Schedule(NamedTuple):
    """Which logs stand where, and up to which byte, at each run."""

    folders: list[str]
    runs: list[list[Write]]
    remembered: bool
    """Whether each run is also pointed at what earlier runs were pointed at."""


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    """A few folders, each of whose logs is whole in some run and may be seen cut in runs before it."""
    folders = draw(st.lists(st.sampled_from(FOLDERS), min_size=1, max_size=3, unique=True))
    runs: list[list[Write]] = [[] for _ in range(draw(st.integers(1, 4)))]
    for log in (log for folder in folders for log in logs_of(folder)):
        first, last = sorted(draw(st.tuples(*[st.integers(0, len(runs) - 1)] * 2)))
        cut = st.sampled_from(log.boundaries) | st.integers(0, len(log.data))
        lengths = sorted(draw(st.lists(cut, min_size=last - first, max_size=last - first)))
        moves = draw(st.booleans())
        for run, length in zip(range(first, last + 1), [*lengths, len(log.data)], strict=True):
            copy = Write(log.path, log.data[:length])
            if moves and run < last and draw(st.booleans()):
                copy = other_encoding(log, length)
            runs[run].append(copy._replace(path=Path(f"copy-{run}" if moves else "growing") / copy.path))
    return Schedule(folders, runs, draw(st.booleans()))


@settings(max_examples=max(200, settings.default.max_examples))
@given(schedules())
def test_any_split_of_the_logs_over_runs_gives_the_same_agents(schedule: Schedule) -> None:
    """Logs seen in any order, cut anywhere and completed later, in place or elsewhere, count exactly once."""
    with scratch() as folder:
        root, places = Path(folder), set[Path]()
        for writes in schedule.runs:
            if not schedule.remembered:
                places = {place for place in places if place.name == "growing"}
            for path, data in writes:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_bytes(data)
                places.add(root / path.parts[0])
            ingest(root / "home", *sorted(places))
        assert differences(agents_of(root / "home"), one_run(schedule.folders)) == []


# ------------------------------------------------------------------ everything, split in a way that leaves no log out


def every_log() -> list[Path]:
    """All logs of the fixtures, one session's generations apart."""
    return [FIXTURES / log.path for folder in FOLDERS for log in logs_of(folder)]


@pytest.fixture(scope="module")
def one_by_one() -> Iterator[Path]:
    """A home that met every log in a run of its own, the last first: most of its rows are late."""
    with scratch() as home:
        for path in reversed(every_log()):
            ingest(Path(home), path)
        yield Path(home)


@pytest.fixture(scope="module")
def at_once() -> Iterator[Path]:
    """A home that met every log in one run."""
    with scratch() as home:
        ingest(Path(home), FIXTURES)
        yield Path(home)


def test_a_run_for_each_log_gives_the_same_agents(room: Path) -> None:
    """Every log on its own, one after the other, gives what one run over all gives."""
    for path in every_log():
        ingest(room, path)
    assert differences(agents_of(room), one_run(FOLDERS)) == []


def test_a_run_for_each_log_backwards_gives_the_same_agents(one_by_one: Path) -> None:
    """Every log on its own, the last first, gives what one run over all gives."""
    assert differences(agents_of(one_by_one), one_run(FOLDERS)) == []


def test_logs_that_all_grow_at_once_give_the_same_agents(room: Path) -> None:
    """All logs of all folders growing a quarter at a time give what one run over all gives."""
    for quarter in range(1, 5):
        for log in (log for folder in FOLDERS for log in logs_of(folder)):
            path = room / "logs" / log.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(log.data[: len(log.data) * quarter // 4])
        ingest(room / "home", room / "logs")
    assert differences(agents_of(room / "home"), one_run(FOLDERS)) == []


@pytest.mark.parametrize(("earlier", "later"), SAME_SESSIONS)
@pytest.mark.parametrize("runs", [1, 2], ids=["one-run", "two-runs"])
def test_a_later_state_of_a_tree_is_all_that_counts(room: Path, earlier: str, later: str, runs: int) -> None:
    """A tree read in an earlier state gives, statistics included, what its later state alone gives."""
    if runs == 1:
        ingest(room, FIXTURES / earlier, FIXTURES / later)
    else:
        ingest(room, FIXTURES / earlier)
        ingest(room, FIXTURES / later)
    assert differences(agents_of(room), one_run([later])) == []


@pytest.mark.parametrize(("earlier", "later"), SAME_SESSIONS)
def test_an_earlier_state_of_a_tree_adds_nothing(room: Path, earlier: str, later: str) -> None:
    """A tree whose later state is known gives nothing new, and takes nothing away."""
    ingest(room, FIXTURES / later)
    audit = audit_of(room)
    ingest(room, FIXTURES / earlier)
    assert audit_of(room) == audit


# ------------------------------------------------------------------ what may not change anything


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_second_run_writes_nothing(room: Path, folder: str) -> None:
    """A run over logs that have not changed leaves audit log and ledger as they are."""
    ingest(room, FIXTURES / folder)
    before = audit_of(room), (room / "ledger.json").read_bytes()
    ingest(room, FIXTURES / folder)
    assert (audit_of(room), (room / "ledger.json").read_bytes()) == before


def test_a_run_without_its_cache_writes_nothing(room: Path) -> None:
    """Where nothing is remembered of the logs they are read again, and every row is known."""
    ingest(room, FIXTURES)
    before = audit_of(room), (room / "ledger.json").read_bytes()
    (room / "cache.sqlite").unlink()
    summary = ingest(room, FIXTURES)
    assert summary.known > 0
    assert (audit_of(room), (room / "ledger.json").read_bytes()) == before


@pytest.mark.parametrize("packed_first", [True, False], ids=["unpacked-later", "compressed-later"])
def test_logs_that_change_their_encoding_write_nothing(room: Path, packed_first: bool) -> None:  # noqa: FBT001
    """A log that is compressed or unpacked after it was read is the same log."""
    for log in logs_of("v4-a-team"):
        for place, write in (("packed", Write(log.path, log.data)), ("plain", other_encoding(log, len(log.data)))):
            path = room / place / write.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(write.data)
    first, second = ("packed", "plain") if packed_first else ("plain", "packed")
    ingest(room / "home", room / first)
    audit = audit_of(room / "home")
    ingest(room / "home", room / second)
    assert audit_of(room / "home") == audit


def without_views(home: Path) -> None:
    """Leave nothing of a home but its audit log."""
    for path in home.iterdir():
        if path.name != "audit.jsonl":
            path.unlink()


@pytest.mark.parametrize("policy", sorted(BUILT_IN))
def test_the_audit_log_alone_restores_the_ledger(room: Path, policy: str) -> None:
    """With snapshot, backup and cache gone, opening a home writes the same ledger again."""
    for folder in reversed(FOLDERS):
        ingest(room, FIXTURES / folder, policy=policy)
    ledger = (room / "ledger.json").read_bytes()
    without_views(room)
    with TrustStore(room):
        pass
    assert (room / "ledger.json").read_bytes() == ledger


def test_folding_again_changes_nothing(room: Path) -> None:
    """A fold of the whole audit log writes the ledger that the runs wrote."""
    for folder in reversed(FOLDERS):
        ingest(room, FIXTURES / folder)
    ledger = (room / "ledger.json").read_bytes()
    with TrustStore(room) as store:
        store.refold()
    assert (room / "ledger.json").read_bytes() == ledger


def test_a_change_of_policy_gives_what_the_policy_gives_from_the_start(room: Path) -> None:
    """A home that changes its policy holds the agents of a home that always stood under it."""
    ingest(room / "changed", FIXTURES, policy="seed")
    with TrustStore(room / "changed") as store:
        store.set_policy(STANDARD)
    ingest(room / "always", FIXTURES)
    assert agents_of(room / "changed") == agents_of(room / "always")


def test_the_size_of_the_slices_changes_no_byte(room: Path, monkeypatch: pytest.MonkeyPatch, at_once: Path) -> None:
    """Rows appended seven at a time make the same audit log as rows appended all at once."""
    monkeypatch.setattr("a2a_trust.store.store.SLICE_ROWS", 7)
    ingest(room, FIXTURES)
    assert audit_of(room) == audit_of(at_once)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_the_number_of_processes_changes_no_byte(
    room: Path, monkeypatch: pytest.MonkeyPatch, at_once: Path, method: str
) -> None:
    """Logs read by two processes, however these are started, make the same audit log as logs read by one."""
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this platform cannot {method}")
    started: list[int] = []

    class Pool(concurrent.futures.ProcessPoolExecutor):
        def __init__(self, processes: int) -> None:
            started.append(processes)
            super().__init__(processes, mp_context=multiprocessing.get_context(method))

    monkeypatch.setattr("concurrent.futures.ProcessPoolExecutor", Pool)
    # By its dotted name this would be the function that the package offers.
    monkeypatch.setattr(importlib.import_module("a2a_trust.backfill.run"), "POOL_BYTES", 0)
    ingest(room, FIXTURES, jobs=2)
    assert started == [2]
    assert audit_of(room) == audit_of(at_once)


# ------------------------------------------------------------------ rows and the fold, by their definitions


def key(row: Row) -> tuple[object, ...]:
    """The place of a row in event-time order."""
    return (row.time, row.session, row.gen, row.seq, row.pos, row.id)


def is_listed(policy: Policy, tool: str | None) -> bool:
    """Whether a tool only coordinates."""
    names = policy.coordination_tools
    return tool is not None and (tool in names or any(tool.startswith(name[:-1]) for name in names if name[-1] == "*"))


def naive_quality(row: Row, rows: list[Row], policy: Policy) -> float | None:
    """The quality with which a policy folds a row among the rows of its subject, `None` where it does not."""
    said = row.evidence
    if row.dim is None or said.role not in policy.roles or is_listed(policy, said.tool):
        return None
    if row.kind == "response-latency":
        return next((good for limit, good in policy.latency if (said.ms or 0) <= limit), policy.latency_beyond)
    worked = (
        other.kind == "tool-success" and not is_listed(policy, other.evidence.tool)
        for other in rows
        if other.session == said.owner and other.time >= (said.since or 0) and key(other) < key(row)
    )
    if row.kind == "task-completed" and policy.completion_needs_work and not any(worked):
        return None
    return policy.quality.get(row.kind)


def naive_fold(rows: list[Row], policy: Policy) -> list[tuple[Row, float, float, float]]:
    """The rows of one subject that are folded, in key order: each with quality, value before and value after."""
    values: dict[Dimension, float] = {}
    folded = []
    for row in sorted(rows, key=key):
        quality = naive_quality(row, rows, policy)
        if quality is not None and row.dim is not None:
            before = values.get(row.dim, 0.5)
            alpha = 0.1 if quality >= 0.5 else 0.3
            values[row.dim] = int((alpha * quality + (1 - alpha) * before) * 1e6 + 0.5) / 1e6
            folded.append((row, quality, before, values[row.dim]))
    return folded


def by_subject(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Rows by their subject, in the order of the file."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row.subject is not None:
            found.setdefault(row.subject, []).append(row)
    return found


@pytest.mark.parametrize("policy", [STANDARD, SEED], ids=lambda policy: policy.name)
def test_the_ledger_is_the_fold_of_its_rows_in_key_order(room: Path, policy: Policy) -> None:
    """Value, samples and good ones of every dimension are those of a fold written from the definition."""
    for folder in reversed(FOLDERS):
        ingest(room, FIXTURES / folder, policy=policy.name)
    agents = read_ledger(room).agents
    subjects = by_subject(rows_of(room))
    assert sorted(agents) == sorted(subjects)
    for subject, rows in subjects.items():
        folded = naive_fold(rows, policy)
        for dim in DIMENSIONS:
            own = [(quality, after) for row, quality, _, after in folded if row.dim is dim]
            good = sum(quality >= 0.5 for quality, _ in own)
            state = agents[subject].trust[dim]
            assert (state.value, state.samples, state.good) == (own[-1][1] if own else 0.5, len(own), good)


@pytest.mark.parametrize("policy", [STANDARD, SEED], ids=lambda policy: policy.name)
def test_folding_an_agents_rows_gives_its_record(room: Path, policy: Policy) -> None:
    """The record of each agent is the library's own fold of its rows, in whatever order they are handed over."""
    for folder in reversed(FOLDERS):
        ingest(room, FIXTURES / folder, policy=policy.name)
    agents = read_ledger(room).agents
    for subject, rows in by_subject(rows_of(room)).items():
        assert fold_agent(subject, sorted(rows, key=key), policy) == agents[subject]
        assert fold_agent(subject, reversed(rows), policy) == agents[subject]


def seen_steps(rows: list[Row]) -> list[tuple[object, ...]]:
    """What the rows of one subject say of themselves."""
    late = [(row.late.rows, row.late.value) if row.late else None for row in rows]
    return [(row.quality, row.before, row.after, row.delta, late[at]) for at, row in enumerate(rows)]


def naive_steps(rows: list[Row], policy: Policy) -> list[tuple[object, ...]]:
    """What the rows of one subject should say, from the rows above each and itself alone."""
    found: list[tuple[object, ...]] = []
    for number in range(1, len(rows) + 1):
        row = rows[number - 1]
        own = [step for step in naive_fold(rows[:number], policy) if step[0].dim is row.dim]
        place = next((at for at, step in enumerate(own) if step[0] is row), None)
        if place is None:
            found.append((None,) * 5)
            continue
        _, quality, before, after = own[place]
        late = (len(own) - place - 1, own[-1][3]) if place < len(own) - 1 else None
        found.append((quality, before, after, round(after - before, 6), late))
    return found


@pytest.mark.parametrize("policy", [STANDARD, SEED], ids=lambda policy: policy.name)
@pytest.mark.parametrize("backwards", [False, True], ids=["forwards", "backwards"])
def test_rows_say_what_they_did_when_they_came(room: Path, policy: Policy, backwards: bool) -> None:  # noqa: FBT001
    """Before, after and late of each row follow from the rows above it, and from nothing below it."""
    folders = [folder for folder in FOLDERS if folder.startswith("made-")]
    logs = [FIXTURES / log.path for folder in [*folders, "mix-v3-v4"] for log in logs_of(folder)]
    for path in sorted(logs, reverse=backwards):
        ingest(room, path, policy=policy.name)
    for rows in by_subject(rows_of(room)).values():
        assert seen_steps(rows) == naive_steps(rows, policy)


def test_some_rows_are_late(one_by_one: Path) -> None:
    """Logs read backwards make rows that come after rows with a greater key, of every dimension that has evidence."""
    assert {row.dim for row in rows_of(one_by_one) if row.late} == set(DIMENSIONS[:3])


# ------------------------------------------------------------------ orders that once went wrong, or nearly


def lead_log(generation: int = 0, *, provider: str = "spawn", context: str = "fresh") -> LogBuilder:
    """A Lead that spawns a teammate, `child`; its log ends in an open frame."""
    log = LogBuilder("lead", created_at=T, generation=generation)
    log.turn_start()
    log.later(10).spawn("child", "coder", "Writes code.", provider=provider, context=context)
    log.tool("bash")
    return log.frame()


def child_log(generation: int = 0, *, seeded: bool = False) -> LogBuilder:
    """The log of that teammate up to its first event; a seeded one begins with a call of its parent."""
    log = LogBuilder(
        "child", created_at=T + 20, generation=generation, parent="lead", origin="subagent", is_seeded=seeded
    )
    if seeded:
        log.at(T + 5).tool("bash")
        log.at(T + 25).end_seed(inherited=True)
        log.frame()
    log.descriptor("Writes code.")
    log.turn_start()
    return log


def agents_after(root: Path, *runs: Iterable[LogBuilder | tuple[LogBuilder, int]]) -> bytes:
    """The agents after runs over one tree, each after its logs were written there, without their last so many bytes."""
    for writes in runs:
        for log, cut in ((item, 0) if isinstance(item, LogBuilder) else item for item in writes):
            log.write(root / "logs", cut=cut)
        ingest(root / "home", root / "logs")
    return agents_of(root / "home")


def test_whole_lines_of_a_torn_log_wait_for_their_roster(room: Path) -> None:
    """What a torn frame holds counts as soon as it is known whose it is, though its log never grows again."""
    child = child_log()
    child.tool("bash")
    child.frame().tool("bash")
    split = agents_after(room / "split", [(child, 1)], [lead_log()])
    assert split == agents_after(room / "once", [lead_log(), (child, 1)])


def test_whole_lines_of_a_torn_log_wait_though_nobody_looks_at_it_again(room: Path) -> None:
    """What a torn frame holds counts as soon as it is known whose it is, in a run over other folders too."""
    child = child_log()
    child.tool("bash")
    child.frame().tool("bash")
    child.write(room / "child", cut=1)
    lead_log().write(room / "lead")
    for folder in ("child", "lead"):
        ingest(room / "split", room / folder)
    ingest(room / "once", room / "child", room / "lead")
    assert differences(agents_of(room / "split"), agents_of(room / "once")) == []


def test_a_roster_in_a_torn_frame_is_remembered(room: Path) -> None:
    """A teammate whose log comes later is known from the whole lines of its Lead's torn frame."""
    child, lead = child_log(), lead_log()
    child.tool("bash")
    split = agents_after(room / "split", [(lead, 1)], [child])
    assert split == agents_after(room / "once", [(lead, 1), child])


@pytest.mark.parametrize("created_at", [None, 0, "then", T // 1000, T * 1000])
def test_an_ageless_session_waits_for_its_roster(room: Path, created_at: object) -> None:
    """A session that does not say when it began is nobody's subagent as long as its Lead's log may name it."""
    lead = LogBuilder("lead", created_at=T)
    lead.turn_start()
    lead.tool("bash")
    child = LogBuilder("child", created_at=created_at, parent="lead", origin="subagent").at(T + 20)
    child.descriptor("Writes code.")
    child.tool("bash")
    agents_after(room / "split", [lead, child])
    lead.later(10).spawn("child", "coder", "Writes code.")
    assert agents_after(room / "split", [lead]) == agents_after(room / "once", [lead, child])


def test_a_torn_seed_is_nobodys_work(room: Path) -> None:
    """As long as a seed is torn it is not known where it ends: nothing of it counts."""
    lead = lead_log(4, provider="fork", context="fork")
    child = LogBuilder("child", created_at=T + 20, generation=4, parent="lead", origin="subagent", is_seeded=True)
    child.at(T + 5).tool("bash")
    child.at(T + 6).end_seed(inherited=True)
    child.block().tool("bash", "Error: no", is_error=True)
    child.block().at(T + 25).end_seed(inherited=True)
    child.frame().descriptor("Writes code.")
    child.tool("bash")
    whole = agents_after(room / "once", [lead, child])
    _, seed, rest = frames(child.zstd())
    for cut in range(len(rest), len(rest) + len(seed), 5):
        root = room / str(cut)
        assert agents_after(root, [lead, (child, cut)], [child]) == whole


def test_a_later_mark_takes_nothing_back(room: Path) -> None:
    """A log that claims, once it has gone on, that all of it was inherited gives the same in one run and in two."""
    lead, child = lead_log(4, provider="fork", context="fork"), child_log(4, seeded=True)
    child.tool("bash")
    agents_after(room / "split", [lead, child])
    child.frame().end_seed(inherited=True)
    child.tool("bash")
    assert agents_after(room / "split", [child]) == agents_after(room / "once", [lead, child])


def test_a_new_generation_keeps_the_place_of_what_waited(room: Path) -> None:
    """An answer that waited for its message stands where it belongs though its log changed format in between."""

    def child(generation: int) -> LogBuilder:
        log = child_log(generation)
        log.later(200).user("Go on.", from_team("lead", "message", "lead", "lead"))
        log.call("bash", call="call")
        log.assistant()
        log.result("call")
        return log

    lead = lead_log(3)
    spawned = len(lead.zstd())
    lead.later(100).queued("lead", "lead", "child", message="message")
    unsaid = len(lead.zstd()) - spawned
    split = agents_after(room / "split", [(lead, unsaid), child(3)], [child(4)], [lead])
    assert split == agents_after(room / "once", [lead, child(3), child(4)])


@pytest.mark.parametrize("plain", [True, False], ids=["plain-copy", "packed-copy"])
def test_a_shorter_copy_takes_nothing_back(room: Path, plain: bool) -> None:  # noqa: FBT001
    """Where a longer log was read, a shorter copy of it in any encoding changes nothing that others ask of it."""
    lead, child = lead_log(), child_log()
    child.tool("bash")
    short = LogBuilder("lead", created_at=T)
    short.turn_start()
    once = agents_after(room / "once", [lead, child])
    lead.write(room / "long", zstd=plain)
    short.write(room / "short", zstd=not plain)
    child.write(room / "short")
    ingest(room / "home", room / "long")
    ingest(room / "home", room / "short")
    assert agents_of(room / "home") == once


def test_an_older_generation_takes_nothing_back(room: Path) -> None:
    """Where a log was read in its newest generation, an older one elsewhere changes nothing, compressed or not."""
    child = child_log(4)
    child.tool("bash")
    old = child_log(3)
    lead = lead_log(4)
    once = agents_after(room / "once", [lead, child])
    child.write(room / "new")
    old.write(room / "old", zstd=False)
    lead.write(room / "lead")
    for place in ("new", "old", "lead"):
        ingest(room / "home", room / place)
    assert agents_of(room / "home") == once


@pytest.mark.parametrize("runs", [1, 2], ids=["one-run", "two-runs"])
def test_the_longer_copy_is_the_one_that_says_more(room: Path, runs: int) -> None:
    """Bytes on disk say nothing about a log: a copy that holds more lines in fewer bytes is the longer one."""
    lead = lead_log()
    cut_off = frame(hashlib.sha256(bytes([number])).hexdigest().encode() for number in range(99))
    torn = lead.zstd() + cut_off[:-9]
    for _ in range(5):
        lead.tool("bash")
    small = encode([lead.batches()])
    assert len(torn) > len(small)
    for tree, data in (("torn", torn), ("small", small)):
        lead.write(room / tree).write_bytes(data)
    trees = [room / "torn", room / "small"]
    for paths in [trees] if runs == 1 else [[tree] for tree in trees]:
        ingest(room / "home", *paths)
    ingest(room / "once", room / "small")
    assert agents_of(room / "home") == agents_of(room / "once")


@pytest.mark.parametrize("size", [100, 1000])
def test_lines_that_go_on_in_the_next_frame_are_read_alike(room: Path, size: int) -> None:
    """Frames that end in mid-line, as some compressors make them, give the same in one run and in one run for each."""
    lead = lead_log()
    for _ in range(10):
        lead.tool("bash")
    header, *batches = lead.batches()
    text = b"".join(batches)
    pieces = [frame([header]), *(frame([text[at : at + size]]) for at in range(0, len(text), size))]
    path = lead.write(room / "logs")
    for count in range(1, len(pieces) + 1):
        path.write_bytes(b"".join(pieces[:count]))
        ingest(room / "split", room / "logs")
    ingest(room / "once", room / "logs")
    assert agents_of(room / "split") == agents_of(room / "once")
