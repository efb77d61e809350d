"""One agent from its rows: the fold in key order, and the same while rows arrive in any order."""

from collections.abc import Iterable, Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_trust.agents import Placed, fold_agent
from a2a_trust.model import (
    DIMENSIONS,
    HISTORY_ROWS,
    ROW_VERSION,
    AgentRecord,
    Details,
    Dimension,
    DimensionTrust,
    Late,
    Policy,
    Profile,
    Role,
    Row,
    Stats,
)
from a2a_trust.policy import BUILT_IN, SEED, STANDARD, is_coordination, quality_of
from a2a_trust.refold import AgentFold
from a2a_trust.reputation import PRIOR, fold, step

SUBJECT = "f" * 64
SESSIONS = ("a", "b")
TOOLS = ("bash", "team_task_update")
BOTH = (Dimension.COMPETENCE, Dimension.RELIABILITY)
both_policies = pytest.mark.parametrize("policy", BUILT_IN.values(), ids=list(BUILT_IN))
OLD, NEW = (Profile(name="coder", description=text) for text in ("Old.", "New."))


def row(  # noqa: PLR0913 - one argument for each part of a key
    row_id: str,
    kind: str = "tool-success",
    time: int = 0,
    *,
    session: str = "a",
    gen: int = 0,
    seq: int = 0,
    pos: int = 0,
    dim: Dimension | None = Dimension.COMPETENCE,
    **details: object,
) -> Row:
    """A row about the one agent of these tests."""
    return Row(
        v=ROW_VERSION,
        id=row_id,
        time=time,
        session=session,
        gen=gen,
        seq=seq,
        pos=pos,
        kind=kind,
        subject=SUBJECT,
        subject_name="coder",
        dim=dim,
        evidence=Details(**{"role": Role.TEAMMATE, **details}),
    )


def good(row_id: str, time: int, **where: object) -> Row:
    """A successful work call."""
    return row(row_id, "tool-success", time, **{"tool": "bash", **where})


def bad(row_id: str, time: int, **where: object) -> Row:
    """A failed work call."""
    return row(row_id, "tool-error", time, **{"tool": "bash", **where})


def completion(row_id: str, time: int, dim: Dimension = Dimension.COMPETENCE, **where: object) -> Row:
    """A completed task, owned by the session `a` since time 0 unless it is said otherwise."""
    return row(row_id, "task-completed", time, **{"dim": dim, "owner": "a", "since": 0, "session": "lead", **where})


def observation(row_id: str, kind: str, time: int = 0, **details: object) -> Row:
    """A row that moves no score."""
    return row(row_id, kind, time, **{"dim": None, **details})


# ---------------------------------------------------------------------- the definition, written once more


def is_supported(completed: Row, known: Iterable[Row], policy: Policy) -> bool:
    """A successful work call of the owner stands between its becoming the owner and the completion."""
    details = completed.evidence
    return details.since is not None and any(
        work.kind == "tool-success"
        and not is_coordination(policy, work.evidence.tool)
        and work.session == details.owner
        and work.time >= details.since
        and work.key < completed.key
        for work in known
    )


def course(known: Sequence[Row], dim: Dimension, policy: Policy) -> list[tuple[Row, float]]:
    """The rows that are folded in a dimension, in key order, with their qualities."""
    judged = [
        (known_row, quality_of(policy, known_row, supported=is_supported(known_row, known, policy)))
        for known_row in sorted(known, key=lambda known_row: known_row.key)
        if known_row.dim is dim
    ]
    return [(known_row, quality) for known_row, quality in judged if quality is not None]


def placed_by_definition(new: Row, above: Sequence[Row], policy: Policy) -> Placed:
    """What a row did, over itself and the rows above it that no row known by then corrects."""
    corrected = {known.supersedes for known in (*above, new)}
    known = [*(known for known in above if known.id not in corrected), new]
    folded = course(known, new.dim, policy) if new.dim else []
    own = [quality for known, quality in folded if known.id == new.id]
    if not own:
        return Placed()
    before = fold((quality for known, quality in folded if known.key < new.key), policy)
    after = step(before, own[0], policy)
    later = [quality for known, quality in folded if known.key > new.key]
    return Placed(own[0], before, after, Late(len(later), fold(later, policy, after)) if later else None)


def trust_by_definition(known: Sequence[Row], policy: Policy) -> dict[Dimension, DimensionTrust]:
    """The four dimensions over all rows."""
    found = {}
    for dim in DIMENSIONS:
        folded = course(known, dim, policy)
        found[dim] = DimensionTrust(
            value=fold((quality for _, quality in folded), policy),
            samples=len(folded),
            good=sum(quality >= 0.5 for _, quality in folded),
            updated_at=folded[-1][0].time if folded else None,
        )
    return found


# ---------------------------------------------------------------------- what arrives, and how

Parts = list[list[list[Row]]]
"""Commits of slices of rows."""


class Run:
    """An agent to which rows come in commits of slices, as a store hands them on."""

    def __init__(self, policy: Policy, commits: Parts) -> None:
        """Take in everything: each slice is stored when it is done, each commit ends in a snapshot."""
        self.placed: list[Placed] = []
        self.record: AgentRecord | None = None
        self._stored: list[Row] = []
        for slices in commits:
            agent = AgentFold(SUBJECT, policy, self._snapshot(), self._rows)
            for part in slices:
                self.placed += [agent.add(new) for new in part]
                self._stored += part
                agent.flushed()
            self.record = agent.record()

    def _snapshot(self) -> AgentRecord | None:
        """The record as it comes back from its file."""
        return msgspec.json.decode(msgspec.json.encode(self.record), type=AgentRecord | None)

    def _rows(self, session: str | None) -> list[Row]:
        return [known for known in self._stored if session in (None, known.session)]


def all_at_once(rows: Iterable[Row]) -> Parts:
    """One commit of one slice."""
    return [[list(rows)]]


def one_by_one(rows: Iterable[Row]) -> Parts:
    """A commit, and so a snapshot, for each row."""
    return [[[new]] for new in rows]


def row_by_row(rows: Iterable[Row]) -> Parts:
    """One commit in which each row is a slice."""
    return [[[new] for new in rows]]


every_way = pytest.mark.parametrize("parts", [all_at_once, one_by_one, row_by_row])


@st.composite
def events(draw: st.DrawFn) -> list[Row]:
    """The rows of one made-up event; those of a task share all of their keys but the position."""
    where = {
        "time": draw(st.integers(0, 6)),
        "session": draw(st.sampled_from(SESSIONS)),
        "gen": draw(st.integers(0, 1)),
        "seq": draw(st.integers(0, 2)),
    }
    kind = draw(
        st.sampled_from(
            [
                "tool-success",
                "tool-success",
                "tool-error",
                "task-completed",
                "task-completed",
                "task-reopened",
                "message-sent",
                "response-latency",
                "feedback",
                "member-registered",
                "model-seen",
                "tool-unattributable",
                "exit-code",
                "call-unanswered",
                "no-such-kind",
            ]
        )
    )
    role = draw(st.sampled_from([Role.TEAMMATE, Role.TEAMMATE, Role.MAIN, None]))
    if kind in ("task-completed", "task-reopened"):
        details = {
            "owner": draw(st.sampled_from([*SESSIONS, None])),
            "since": draw(st.one_of(st.none(), st.integers(0, 6))),
            "task": "task-1",
        }
        return [row("", kind, **where, pos=pos, dim=dim, role=role, **details) for pos, dim in enumerate(BOTH)]
    dims = {
        "message-sent": Dimension.COMMUNICATION,
        "response-latency": Dimension.COMMUNICATION,
        "feedback": draw(st.sampled_from(DIMENSIONS)),
    }
    details = {
        "tool": draw(st.sampled_from(TOOLS)) if kind.startswith("tool") or kind == "exit-code" else None,
        "ms": draw(st.sampled_from([5, 60_001, 600_001])) if kind == "response-latency" else None,
        "rating": draw(st.integers(1, 5)) if kind == "feedback" else None,
        "model": draw(st.sampled_from(["model-a", "model-b"])) if kind == "model-seen" else None,
        "profile": draw(st.sampled_from([OLD, NEW])) if kind == "member-registered" else None,
        "reason": draw(st.sampled_from(["denied", None])) if kind == "tool-unattributable" else None,
    }
    evidence = kind in ("tool-success", "tool-error", "no-such-kind", *dims)
    dim = dims.get(kind, Dimension.COMPETENCE) if evidence else None
    return [row("", kind, **where, pos=draw(st.integers(-1, 1)), dim=dim, role=role, **details)]


@st.composite
def deliveries(draw: st.DrawFn) -> tuple[list[Row], Parts]:
    """Rows with ids of their own in the order in which they arrive, and the commits and slices they come in."""
    made = [new for event in draw(st.lists(events(), max_size=8)) for new in event]
    names = draw(st.permutations(range(len(made))))
    rows = [msgspec.structs.replace(new, id=f"row-{name:02}") for new, name in zip(made, names, strict=True)]
    rows = draw(st.permutations(rows))
    commits: Parts = [[[]]]
    for new in rows:
        commits[-1][-1].append(new)
        match draw(st.sampled_from(["go on", "go on", "slice", "commit"])):
            case "slice":
                commits[-1].append([])
            case "commit":
                commits.append([[]])
    return rows, commits


# ---------------------------------------------------------------------- in any order


@both_policies
@given(delivery=deliveries())
def test_rows_in_any_order_give_the_fold_in_key_order(policy: Policy, delivery: tuple[list[Row], Parts]) -> None:
    """Whatever the order and the cuts, the record is the fold of all rows in key order."""
    rows, commits = delivery
    assert Run(policy, commits).record == fold_agent(SUBJECT, rows, policy)


@both_policies
@given(delivery=deliveries())
def test_each_row_says_what_it_did(policy: Policy, delivery: tuple[list[Row], Parts]) -> None:
    """Quality, before, after and late are those over the row itself and the rows above it."""
    rows, commits = delivery
    expected = [placed_by_definition(new, rows[:number], policy) for number, new in enumerate(rows)]
    assert Run(policy, commits).placed == expected


@both_policies
@given(delivery=deliveries())
def test_trust_is_the_fold_by_definition(policy: Policy, delivery: tuple[list[Row], Parts]) -> None:
    """Value, samples, good and the time of the newest evidence are those of the fold, dimension by dimension."""
    rows, _ = delivery
    assert fold_agent(SUBJECT, rows, policy).trust == trust_by_definition(rows, policy)


@both_policies
@given(delivery=deliveries())
def test_the_order_of_rows_does_not_matter_to_the_definition(policy: Policy, delivery: tuple[list[Row], Parts]) -> None:
    """The fold of a list of rows is that of the list backwards."""
    rows, _ = delivery
    assert fold_agent(SUBJECT, reversed(rows), policy) == fold_agent(SUBJECT, rows, policy)


@st.composite
def corrections(draw: st.DrawFn) -> tuple[list[Row], Parts]:
    """As `deliveries`, but some rows correct one that came before."""
    rows, commits = draw(deliveries())
    for number in range(1, len(rows)):
        if draw(st.booleans()):
            rows[number] = msgspec.structs.replace(rows[number], supersedes=rows[draw(st.integers(0, number - 1))].id)
    now = {new.id: new for new in rows}
    return rows, [[[now[new.id] for new in part] for part in slices] for slices in commits]


@both_policies
@given(delivery=corrections())
def test_corrected_rows_leave_the_fold(policy: Policy, delivery: tuple[list[Row], Parts]) -> None:
    """A row that a later one supersedes counts no more, whatever it supported, and each row says what it did."""
    rows, commits = delivery
    expected = [placed_by_definition(new, rows[:number], policy) for number, new in enumerate(rows)]
    run = Run(policy, commits)
    assert (run.record, run.placed) == (fold_agent(SUBJECT, rows, policy), expected)


# ---------------------------------------------------------------------- late rows


def test_a_row_that_comes_in_order_is_not_late() -> None:
    """Each row in key order goes on from the one before."""
    placed = Run(STANDARD, all_at_once([good("1", 1), bad("2", 2)])).placed
    assert placed == [Placed(0.8, 0.5, 0.53), Placed(0.0, 0.53, 0.371)]


@every_way
def test_a_late_row_says_what_it_moved(parts: object) -> None:
    """A row that comes after a greater key tells its own step, how many were folded again, and the value now."""
    placed = Run(STANDARD, parts([good("2", 2), good("3", 3), bad("1", 1)])).placed
    assert placed[2] == Placed(0.0, 0.5, 0.35, Late(2, fold([0.0, 0.8, 0.8], STANDARD)))


@every_way
def test_a_late_row_moves_all_that_follows(parts: object) -> None:
    """After a late row every value behind it is another, so that the next row goes on from the right one."""
    qualities = [0.0, *[0.8] * 20]
    rows = [*(good(f"{time:02}", time) for time in range(2, 22)), bad("01", 1), good("22", 22)]
    placed = Run(STANDARD, parts(rows)).placed
    value = fold(qualities, STANDARD)
    assert placed[-2:] == [Placed(0.0, 0.5, 0.35, Late(20, value)), Placed(0.8, value, step(value, 0.8, STANDARD))]


def test_late_is_counted_by_dimension() -> None:
    """Evidence of another dimension is not folded again."""
    sent = row("1", "message-sent", 1, dim=Dimension.COMMUNICATION)
    assert Run(STANDARD, all_at_once([good("2", 2), sent])).placed[1] == Placed(0.7, 0.5, 0.52)


@both_policies
def test_late_counts_only_what_is_folded(policy: Policy) -> None:
    """Rows with a greater key that the policy leaves out are none that were folded again."""
    later = [row("2", "no-such-kind", 2), observation("3", "exit-code", 3), good("4", 4, role=None)]
    assert Run(policy, all_at_once([*later, good("1", 1)])).placed[3] == Placed(0.8, 0.5, 0.53)


@every_way
def test_a_late_row_that_is_not_folded_moves_nothing(parts: object) -> None:
    """An observation is in its place in the statistics and says nothing of a value."""
    run = Run(STANDARD, parts([good("2", 2), observation("1", "exit-code", 1)]))
    assert (run.placed[1], run.record and run.record.stats.non_zero_exits) == (Placed(), 1)


@every_way
@pytest.mark.parametrize(
    "earlier",
    [
        {"session": "a"},
        {"session": "b", "gen": 0},
        {"session": "b", "gen": 1, "seq": 0},
        {"session": "b", "gen": 1, "seq": 1, "pos": 0},
        {"session": "b", "gen": 1, "seq": 1, "pos": 1},
    ],
    ids=["session", "generation", "seq", "position", "id"],
)
def test_ties_in_time_are_decided_by_the_rest_of_the_key(parts: object, earlier: dict[str, object]) -> None:
    """In one millisecond the session, the generation, the seq, the position and at last the id say who is first."""
    newest = good("2", 5, session="b", gen=1, seq=1, pos=1)
    placed = Run(STANDARD, parts([newest, bad("1", 5, **earlier)])).placed
    assert placed[1] == Placed(0.0, 0.5, 0.35, Late(1, 0.395))


@every_way
def test_a_tie_in_time_with_the_snapshot_may_be_in_order(parts: object) -> None:
    """A row of the newest millisecond with a greater key is not late, snapshot or not."""
    placed = Run(STANDARD, parts([good("1", 5, session="a"), bad("2", 5, session="b")])).placed
    assert placed[1] == Placed(0.0, 0.53, 0.371)


def test_rows_before_a_snapshot_are_asked_for_only_when_needed() -> None:
    """Rows in order cost no look at what is stored."""
    asked: list[str | None] = []

    def stored(session: str | None) -> list[Row]:
        asked.append(session)
        return []

    agent = AgentFold(SUBJECT, STANDARD, fold_agent(SUBJECT, [good("1", 1)], STANDARD), stored)
    for new in (good("2", 2), bad("3", 3), observation("4", "exit-code", 4)):
        agent.add(new)
    assert asked == []


def test_a_completion_asks_for_the_work_of_its_owner_once() -> None:
    """Only the rows of the owner's session are looked at, and only for the first of its tasks."""
    asked: list[str | None] = []
    before = [good("1", 1, session="a"), good("2", 2, session="b")]

    def stored(session: str | None) -> list[Row]:
        asked.append(session)
        return [known for known in before if session in (None, known.session)]

    agent = AgentFold(SUBJECT, STANDARD, fold_agent(SUBJECT, before, STANDARD), stored)
    for number, dim in enumerate(BOTH * 2):
        agent.add(completion(f"task-{number}", 3, dim, seq=number, since=1))
    assert asked == ["a"]


def test_a_policy_that_asks_for_no_work_looks_for_none() -> None:
    """Under `seed` a completion needs no look at what is stored."""
    asked: list[str | None] = []

    def stored(session: str | None) -> list[Row]:
        asked.append(session)
        return []

    AgentFold(SUBJECT, SEED, None, stored).add(completion("1", 3))
    assert asked == []


# ---------------------------------------------------------------------- tasks and the work for them


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        (good("w", 5), True),
        (good("w", 2), True),
        (good("w", 9, session="a"), True),
        (good("w", 1), False),
        (good("w", 10), False),
        (good("w", 9, session="z", tool="bash"), False),
        (good("w", 5, session="b"), False),
        (bad("w", 5), False),
        (good("w", 5, tool="team_task_update"), False),
        (observation("w", "tool-unattributable", 5, tool="bash"), False),
    ],
    ids=[
        "between",
        "when it became the owner",
        "in the same millisecond, before",
        "before it was the owner",
        "after the completion",
        "in the same millisecond, after",
        "in another session",
        "failed",
        "coordination",
        "nobody's fault",
    ],
)
@every_way
@pytest.mark.parametrize("work_first", [True, False], ids=["in order", "late"])
def test_what_supports_a_completed_task(parts: object, work: Row, *, work_first: bool, expected: bool) -> None:
    """A successful work call of the owner, from becoming the owner on and before the completion, in any order."""
    owner = "z" if work.session == "z" else "a"
    done = completion("done", 9, Dimension.RELIABILITY, session="lead", owner=owner, since=2)
    rows = [work, done] if work_first else [done, work]
    record = Run(STANDARD, parts(rows)).record
    assert record is not None
    assert record.trust[Dimension.RELIABILITY].samples == expected


@every_way
def test_late_work_folds_the_task_that_waited_for_it(parts: object) -> None:
    """A completion that moved nothing when it came is folded as soon as its owner's work comes."""
    run = Run(STANDARD, parts([completion("done", 9), good("work", 5)]))
    assert run.placed == [Placed(), Placed(0.8, 0.5, 0.53, Late(1, 0.577))]


@every_way
def test_late_work_counts_the_task_as_completed(parts: object) -> None:
    """The statistics move the completion from those without work to the others."""
    before = Run(STANDARD, parts([completion("done", 9)])).record
    after = Run(STANDARD, parts([completion("done", 9), good("work", 5)])).record
    assert [
        (record.stats.tasks_completed, record.stats.unsupported_completions) for record in (before, after) if record
    ] == [(0, 1), (1, 0)]


@every_way
def test_work_after_one_task_supports_the_next(parts: object) -> None:
    """What was known of the owner's work when its first task was done is not all there will be."""
    rows = [completion("first", 5), good("work", 6), completion("second", 9, since=6)]
    record = Run(STANDARD, parts(rows)).record
    assert record is not None
    assert (record.stats.unsupported_completions, record.stats.tasks_completed) == (1, 1)


@every_way
def test_late_work_folds_no_other_sessions_task(parts: object) -> None:
    """Work of one session supports no task of another."""
    tasks = [completion("a", 8, owner="a"), completion("b", 9, owner="b")]
    record = Run(STANDARD, parts([*tasks, good("work", 5, session="b")])).record
    assert record is not None
    assert record.trust[Dimension.COMPETENCE].samples == 2


@every_way
def test_seed_folds_a_task_without_work(parts: object) -> None:
    """Under `seed` the completion counts when it comes."""
    assert Run(SEED, parts([completion("done", 9)])).placed == [Placed(1.0, 0.5, 0.55)]


@every_way
def test_coordination_calls_move_no_score(parts: object) -> None:
    """A look at the board is counted beside the score."""
    rows = [good("1", 1, tool="team_task_update"), bad("2", 2, tool="wait_agent")]
    run = Run(STANDARD, parts(rows))
    assert (run.placed, run.record and run.record.stats) == ([Placed()] * 2, Stats(coordination_calls=2))


# ---------------------------------------------------------------------- the rest of a record


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([good("1", 1), bad("2", 2)], Stats(tool_calls=2, tool_errors=1)),
        ([observation("1", "tool-unattributable", reason="denied")], Stats(unattributable={"denied": 1})),
        (
            [observation("1", "response-unattributable", reason="provider_error")],
            Stats(unattributable={"provider_error": 1}),
        ),
        ([observation("1", "tool-unattributable")], Stats(unattributable={"unknown": 1})),
        ([observation("1", "call-unanswered", tool="bash")], Stats(unanswered_calls=1)),
        ([observation("1", "exit-code", tool="bash", exit_code=1)], Stats(non_zero_exits=1)),
        ([observation("1", "spawn-failed")], Stats(failed_spawns=1)),
        ([observation("1", "message-delivered")], Stats(messages_delivered=1)),
        ([observation("1", "task-released")], Stats(tasks_released=1)),
        ([observation("1", "task-deleted")], Stats(tasks_deleted=1)),
        ([observation("1", "member-registered", profile=OLD)], Stats(sessions=1)),
        ([observation("1", "model-seen", model="model-a")], Stats()),
        ([row("1", "message-sent", dim=Dimension.COMMUNICATION)], Stats(messages_sent=1)),
        ([row("1", "response-latency", dim=Dimension.COMMUNICATION, ms=60_001)], Stats(responses_on_time=1)),
        ([row("1", "response-latency", dim=Dimension.COMMUNICATION, ms=600_001)], Stats(responses_late=1)),
        ([row(str(pos), "task-reopened", pos=pos, dim=dim) for pos, dim in enumerate(BOTH)], Stats(tasks_reopened=1)),
        (
            [completion(str(pos), 1, dim, pos=pos) for pos, dim in enumerate(BOTH)],
            Stats(unsupported_completions=1),
        ),
        (
            [good("w", 0), *(completion(str(pos), 1, dim, pos=pos) for pos, dim in enumerate(BOTH))],
            Stats(tool_calls=1, tasks_completed=1),
        ),
    ],
    ids=lambda value: None if isinstance(value, Stats) else f"{value[0].kind}-{len(value)}",
)
def test_every_kind_is_counted_once(rows: list[Row], expected: Stats) -> None:
    """Each event is in one count, a task's two rows together in one."""
    assert fold_agent(SUBJECT, rows, STANDARD).stats == expected


def test_the_newest_registration_describes_the_agent() -> None:
    """The profile is that of the newest registration in key order, whenever its row came."""
    rows = [
        observation("2", "member-registered", 2, profile=NEW),
        observation("1", "member-registered", 1, profile=OLD),
    ]
    assert fold_agent(NEW.fingerprint, rows, STANDARD).profile == NEW


def test_the_newest_model_is_shown() -> None:
    """The model is the last one seen in key order, whatever was registered after it."""
    rows = [
        observation("1", "model-seen", 1, model="model-a"),
        observation("2", "model-seen", 2, model="model-b"),
        observation("3", "member-registered", 3, profile=OLD),
    ]
    assert fold_agent(SUBJECT, rows, STANDARD).profile.model == "model-b"


def test_an_agent_that_was_never_registered_has_the_name_of_its_rows() -> None:
    """Without a registration at least the name is known."""
    assert fold_agent(SUBJECT, [good("1", 1)], STANDARD).profile == Profile(name="coder")


def test_first_and_last_seen_are_those_of_the_keys() -> None:
    """The first and the last time are those of any row, evidence or not, in any order."""
    rows = [good("2", 20), observation("3", "exit-code", 30), observation("1", "exit-code", 10)]
    record = fold_agent(SUBJECT, rows, STANDARD)
    assert (record.first_seen, record.last_seen) == (10, 30)


def test_an_undated_row_is_seen_at_0() -> None:
    """A row without a time does not hide the times of the others."""
    record = fold_agent(SUBJECT, [good("2", 20), good("1", 0)], STANDARD)
    assert (record.first_seen, record.last_seen) == (0, 20)


@every_way
def test_the_history_holds_the_newest_evidence(parts: object) -> None:
    """Of much evidence the last 64 pieces by key are kept, also where the rows came backwards."""
    rows = [observation("x", "exit-code", 0), *(good(f"{number:03}", number) for number in range(HISTORY_ROWS + 6))]
    record = Run(STANDARD, parts(reversed(rows))).record
    assert record is not None
    assert [entry.time for entry in record.history] == list(range(6, HISTORY_ROWS + 6))


def test_a_history_entry_says_what_was_folded() -> None:
    """An entry has the time, the kind, the dimension, the quality and the details of its row."""
    (entry,) = fold_agent(SUBJECT, [good("1", 7)], STANDARD).history
    assert (entry.time, entry.kind, entry.dim, entry.quality, entry.detail.tool) == (
        7,
        "tool-success",
        Dimension.COMPETENCE,
        0.8,
        "bash",
    )


def test_an_agent_without_evidence_has_four_empty_dimensions() -> None:
    """Every dimension is there, at one half with nothing behind it."""
    record = fold_agent(SUBJECT, [observation("1", "exit-code")], STANDARD)
    empty = DimensionTrust(value=PRIOR, samples=0, good=0, updated_at=None)
    assert record.trust == dict.fromkeys(DIMENSIONS, empty)
