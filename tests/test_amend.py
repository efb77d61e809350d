"""What people say after the fact: each act is one more row, can be undone, survives a rebuild, and is shown."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from homes import FIXTURES, agents_of, ingest, rows_of
from made_rows import AGENTS, PROFILES, T, registered, tool_call
from typer.testing import CliRunner

from a2a_trust import cli
from a2a_trust.errors import UnknownAgentError, UsageError
from a2a_trust.facts import LogHeader
from a2a_trust.log_state import LogState
from a2a_trust.model import DIMENSIONS, Dimension
from a2a_trust.signals import TrustSignals
from a2a_trust.store import TrustStore, amend, read_ledger
from a2a_trust.store.adopt import read_store
from a2a_trust.store.cache import LogEntry
from a2a_trust.store.reader import AUDIT
from a2a_trust.store.verify import verify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from a2a_trust.model import AgentRecord

V1_STORE = FIXTURES.parent / "v1-store"
CODER, CRITIC = AGENTS
COMPETENCE = Dimension.COMPETENCE
LATER = T + 1_000_000
ROWS = [
    *(registered(agent, session) for agent in range(2) for session in ("s0", "s1")),
    *(tool_call(number, session="s0") for number in range(1, 6)),
    *(tool_call(number, session="s1", failed=True) for number in range(6, 9)),
    *(tool_call(number, session="s1", agent=1) for number in range(9, 13)),
]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A home with two agents in two sessions; whatever was done to it, a rebuild changes nothing, and it verifies."""
    home = tmp_path / "home"
    with TrustStore(home) as store:
        store.commit(ROWS)
    yield home
    before = agents_of(home)
    with TrustStore(home) as store:
        store.rebuild()
    assert agents_of(home) == before
    assert verify(home).defects == []


def do(home: Path, act: Callable[[TrustStore], object]) -> None:
    """Do something in a run of its own."""
    with TrustStore(home) as store:
        act(store)


def agent(home: Path, key: str = CODER) -> AgentRecord:
    """What the ledger says of an agent."""
    return read_ledger(home).agents[key]


def value(home: Path, key: str = CODER, dim: Dimension = COMPETENCE) -> tuple[float, int]:
    """Value and samples of an agent."""
    state = agent(home, key).trust[dim]
    return state.value, state.samples


def command(home: Path, *arguments: str) -> Any:  # noqa: ANN401 - what `--json` says, or the text
    """Run a command on a home and return what it prints."""
    result = CliRunner().invoke(cli.app, [*arguments, "--home", str(home)])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout) if "--json" in arguments else result.stdout


def explained(home: Path, name: str = "coder") -> list[tuple[str, str, int]]:
    """What `explain` says was amended."""
    told = command(home, "explain", name, "--json")
    steps = {dimension["dim"]: (dimension["value"], len(dimension["steps"])) for dimension in told["dimensions"]}
    key = told["fingerprint"]
    assert steps == {dim.value: value(home, key, dim) for dim in DIMENSIONS}
    return [(one["kind"], one["what"], one["rows"]) for one in told["amended"]]


def only(rows: list[Any], tmp_path: Path) -> bytes:
    """The agents that some rows alone give."""
    with TrustStore(tmp_path / "only") as store:
        store.commit(rows)
    return agents_of(tmp_path / "only")


# ------------------------------------------------------------------ retract


def test_a_retracted_session_counts_for_nothing(home: Path, tmp_path: Path) -> None:
    """The ledger is what it would be if the session had only registered its agents; its rows stay in the log."""
    rows = len(rows_of(home))
    do(home, lambda store: amend.retract(store, ["s1"], "a rehearsal", LATER))
    without = [row for row in ROWS if row.session == "s0" or row.kind == "member-registered"]
    assert agents_of(home) == only(without, tmp_path)
    assert len(rows_of(home)) == rows + 1
    assert explained(home) == [("retract", "session s1 counts for nothing", 3)]


def test_a_retraction_can_be_undone(home: Path) -> None:
    """Undone, everything is as it was, and both acts are told."""
    before = agents_of(home)
    do(home, lambda store: amend.retract(store, ["s1"], "a rehearsal", LATER))
    do(home, lambda store: amend.retract(store, ["s1"], "", LATER + 1, undo=True))
    assert agents_of(home) == before
    assert [what for _, what, _ in explained(home)] == ["session s1 counts for nothing", "session s1 counts again"]


def test_rows_that_come_later_are_retracted_too(home: Path) -> None:
    """A retraction is about the session, whenever its rows arrive."""
    do(home, lambda store: amend.retract(store, ["s1"], "a rehearsal", LATER))
    before = agents_of(home)
    do(home, lambda store: store.commit([tool_call(30, session="s1"), tool_call(2, session="s1", agent=1)]))
    assert agents_of(home) == before


def test_a_path_names_the_sessions_below_it(tmp_path: Path) -> None:
    """Who has a folder of logs needs no session ids."""
    home = tmp_path / "home"
    ingest(home, FIXTURES / "a-team")
    told = command(home, "amend", "retract", str(FIXTURES / "a-team"), "--why", "a rehearsal")
    assert told.count("retracted: ") == 4
    assert read_ledger(home).agents.values()
    assert all(state.samples == 0 for record in read_ledger(home).agents.values() for state in record.trust.values())


@pytest.mark.parametrize("through", ["link", "dots"])
def test_a_path_is_found_by_any_of_its_names(through: str, tmp_path: Path) -> None:
    """A link to a folder, and a way around, name the same logs."""
    home = tmp_path / "home"
    ingest(home, FIXTURES / "a-team")
    (tmp_path / "link").symlink_to(FIXTURES / "a-team")
    place = tmp_path / "link" if through == "link" else FIXTURES / "a-team" / ".." / "a-team"
    told = command(home, "amend", "retract", str(place), "--why", "a rehearsal")
    assert told.count("retracted: ") == 4


def test_a_session_that_was_adopted_is_retracted(tmp_path: Path) -> None:
    """Adopted rows stand in no session of their own, and still are about one."""
    with TrustStore(tmp_path) as store:
        store.commit(read_store(V1_STORE).rows)
    sessions = read_store(V1_STORE).sessions
    for session in sessions:
        command(tmp_path, "amend", "retract", session, "--why", "test")
    assert all(
        state.samples == 0 for record in read_ledger(tmp_path).agents.values() for state in record.trust.values()
    )
    command(tmp_path, "amend", "retract", sessions[0], "--undo")


def test_a_file_of_several_sessions_names_them_all(home: Path, tmp_path: Path) -> None:
    """Some harnesses write the logs of several agents into one file."""
    header = LogHeader(source="claude-code", session="s0", gen=0, created=0)
    states = [LogState(header=msgspec.structs.replace(header, session=session)) for session in ("s0", "s1")]
    entry = LogEntry(
        *("s0", "claude-code", "", str(tmp_path / "log.jsonl"), 0, 0, 0, 0, 1, 0, "", 0, b""),
        state=msgspec.msgpack.encode(states),
        live=b"",
    )
    do(home, lambda store: store.cache.save_logs([entry]))
    with TrustStore(home) as store:
        assert amend.sessions_at(store, str(tmp_path)) == ["s0", "s1"]
        assert amend.sessions_at(store, "") == []


@pytest.mark.parametrize(
    ("sessions", "undo"), [(["nobody"], False), (["s0", "nobody"], False), (["s0"], True)], ids=str
)
def test_what_cannot_be_retracted_is_refused(sessions: list[str], *, undo: bool, home: Path) -> None:
    """A session without rows, or one that is not retracted, changes nothing, not even for the others."""
    rows = rows_of(home)
    with pytest.raises(UsageError):
        do(home, lambda store: amend.retract(store, sessions, "test", LATER, undo=undo))
    assert rows_of(home) == rows


# ------------------------------------------------------------------ feedback


def rate(home: Path, rating: int, observer: str = "ann", session: str = "s0", comment: str = "") -> None:
    """Rate the coder's competence."""
    given = amend.Feedback(ratings={COMPETENCE: rating}, observer=observer, session=session, comment=comment)
    do(home, lambda store: amend.feedback(store, CODER, given, LATER))


@pytest.mark.parametrize(("rating", "quality"), [(1, 0.0), (2, 0.25), (3, 0.5), (4, 0.75), (5, 1.0)])
def test_a_rating_is_evidence(rating: int, quality: float, home: Path) -> None:
    """A rating from 1 to 5 is one more piece of evidence, with its quality."""
    _, samples = value(home)
    rate(home, rating)
    entry = agent(home).history[-1]
    assert (entry.kind, entry.quality, value(home)[1]) == ("feedback", quality, samples + 1)


@pytest.mark.parametrize("rating", [0, 6, -1])
def test_a_rating_out_of_range_is_refused(rating: int, home: Path) -> None:
    """Nothing is recorded of it."""
    rows = rows_of(home)
    with pytest.raises(UsageError, match="from 1 to 5"):
        rate(home, rating)
    assert rows_of(home) == rows


def test_an_observer_rates_an_agent_three_times_a_session(home: Path) -> None:
    """The fourth rating is refused; another session, or another observer, has its own three."""
    for _ in range(amend.FEEDBACK_LIMIT):
        rate(home, 5)
    with pytest.raises(UsageError, match="the limit"):
        rate(home, 5)
    rate(home, 5, session="s1")
    rate(home, 5, observer="bob")
    assert sum(row.kind == "feedback" for row in rows_of(home)) == amend.FEEDBACK_LIMIT + 2


def test_a_comment_is_kept_and_bounded(home: Path) -> None:
    """500 characters are kept, one more is refused."""
    rate(home, 4, comment="x" * amend.COMMENT_LIMIT)
    assert rows_of(home)[-1].evidence.comment == "x" * amend.COMMENT_LIMIT
    with pytest.raises(UsageError, match="characters"):
        rate(home, 4, comment="x" * (amend.COMMENT_LIMIT + 1))


def test_feedback_about_a_retracted_session_counts_for_nothing(home: Path) -> None:
    """What is said about a session goes with it."""
    rate(home, 1, session="s1")
    do(home, lambda store: amend.retract(store, ["s1"], "test", LATER))
    assert "feedback" not in {entry.kind for entry in agent(home).history}


# ------------------------------------------------------------------ reset


@pytest.mark.parametrize("dim", [None, COMPETENCE])
def test_a_reset_agent_begins_anew(dim: Dimension | None, home: Path) -> None:
    """Older evidence moves no score, statistics stay, the other agent is untouched, and new evidence counts."""
    stats, other = agent(home).stats, agent(home, CRITIC)
    do(home, lambda store: amend.reset(store, CODER, dim, "new prompt", LATER))
    assert value(home) == (0.5, 0)
    assert (agent(home).stats, agent(home, CRITIC)) == (stats, other)
    assert explained(home) == [("reset", f"{dim or 'every dimension'} began anew", 8)]
    do(home, lambda store: store.commit([tool_call(2_000)]))
    assert value(home) == (0.53, 1)


def test_a_reset_of_one_dimension_leaves_the_others(home: Path) -> None:
    """Reliability is not what was reset."""
    before = value(home)
    do(home, lambda store: amend.reset(store, CODER, Dimension.RELIABILITY, "", LATER))
    assert value(home) == before


def test_what_is_older_than_a_reset_changes_nothing_when_it_comes_late(home: Path) -> None:
    """The reset is about event times, not about arrival."""
    do(home, lambda store: amend.reset(store, CODER, None, "", LATER))
    do(home, lambda store: store.commit([tool_call(3, session="s2")]))
    assert value(home) == (0.5, 0)


def test_an_agent_that_began_anew_stays_so_under_another_name(home: Path) -> None:
    """An alias does not bring back what a reset took out."""
    do(home, lambda store: amend.reset(store, CODER, None, "", LATER))
    before = value(home, CRITIC)
    do(home, lambda store: amend.alias(store, CODER, CRITIC, LATER + 1))
    assert value(home, CRITIC) == before


def test_nobody_is_reset_who_is_not_there(home: Path) -> None:
    """An unknown fingerprint is refused."""
    with pytest.raises(UnknownAgentError):
        do(home, lambda store: amend.reset(store, "f" * 64, None, "", LATER))


# ------------------------------------------------------------------ alias


def test_an_alias_makes_two_agents_one(home: Path, tmp_path: Path) -> None:
    """B becomes the fold of both in the order of time, and keeps its own profile."""
    own = agent(home, CRITIC).profile
    do(home, lambda store: amend.alias(store, CODER, CRITIC, LATER))
    as_one = [msgspec.structs.replace(row, subject=CRITIC) for row in ROWS if row.dim]
    only(as_one, tmp_path)
    assert list(read_ledger(home).agents) == [CRITIC]
    assert agent(home, CRITIC).trust == agent(tmp_path / "only", CRITIC).trust
    assert agent(home, CRITIC).profile == own
    assert explained(home, "critic") == [("alias", f"{CODER[:12]} is folded under {CRITIC[:12]}", 10)]


def test_an_alias_can_be_undone(home: Path) -> None:
    """Undone, both are what they were, and both acts are told of both."""
    before = agents_of(home)
    do(home, lambda store: amend.alias(store, CODER, CRITIC, LATER))
    do(home, lambda store: amend.alias(store, CODER, CRITIC, LATER + 1, undo=True))
    assert agents_of(home) == before
    assert [kind for kind, _, _ in explained(home)] == ["alias", "alias"]


def three(home: Path) -> list[str]:
    """Add a third agent; return all three."""
    third = msgspec.structs.replace(PROFILES[0], name="third")
    row = tool_call(20, session="s0")
    new = msgspec.structs.replace(row, subject=third.fingerprint, subject_name="third")
    do(home, lambda store: store.commit([new]))
    return [CODER, CRITIC, third.fingerprint]


def test_chains_of_aliases_are_followed_to_their_end(home: Path) -> None:
    """A under B and B under C are all C."""
    one, two, last = three(home)
    do(home, lambda store: amend.alias(store, one, two, LATER))
    do(home, lambda store: amend.alias(store, two, last, LATER + 1))
    assert list(read_ledger(home).agents) == [last]
    assert value(home, last)[1] == sum(row.dim is not None for row in ROWS) + 1


def test_the_last_alias_of_an_agent_wins(home: Path) -> None:
    """An agent is folded under one other at a time."""
    one, two, last = three(home)
    do(home, lambda store: amend.alias(store, one, two, LATER))
    do(home, lambda store: amend.alias(store, one, last, LATER + 1))
    assert value(home, two)[1] == 4
    assert value(home, last)[1] == 9


@pytest.mark.parametrize("length", [1, 2, 3])
def test_a_circle_of_aliases_is_refused(length: int, home: Path) -> None:
    """Nobody is folded under itself, however long the way around."""
    agents = three(home)[:length]
    for place in range(length - 1):
        do(home, lambda store, place=place: amend.alias(store, agents[place], agents[place + 1], LATER + place))
    rows = rows_of(home)
    with pytest.raises(UsageError, match="circle"):
        do(home, lambda store: amend.alias(store, agents[-1], agents[0], LATER + 9))
    assert rows_of(home) == rows


def test_only_an_alias_that_is_one_can_be_undone(home: Path) -> None:
    """The message lists those that are."""
    with pytest.raises(UsageError, match="not an alias"):
        do(home, lambda store: amend.alias(store, CODER, CRITIC, LATER, undo=True))


def invoked(home: Path, *arguments: str) -> Any:  # noqa: ANN401 - a result of click, with its two streams
    """Run a command that may be refused."""
    return CliRunner().invoke(cli.app, [*arguments, "--home", str(home)])


def test_an_alias_is_undone_by_name(home: Path) -> None:
    """An agent that is folded under another keeps its name and its fingerprint."""
    before = agents_of(home)
    for one, other in (("coder", "critic"), (CODER[:6], CRITIC[:6])):
        command(home, "amend", "alias", one, other)
        assert list(read_ledger(home).agents) == [CRITIC]
        command(home, "amend", "alias", one, other, "--undo")
        assert agents_of(home) == before


def test_aliases_become_chains_by_name(home: Path) -> None:
    """An aliased agent is joined with a third by its name, from either end; a circle is refused as one."""
    _, two, last = three(home)
    command(home, "amend", "alias", "critic", "third")
    command(home, "amend", "alias", "coder", "critic")
    assert list(read_ledger(home).agents) == [last]
    rows = rows_of(home)
    for one, other in (("third", "coder"), ("critic", "coder"), ("coder", "coder")):
        refused = invoked(home, "amend", "alias", one, other)
        assert isinstance(refused.exception, UsageError | SystemExit)
        assert "circle" in f"{refused.exception}{refused.output}"
    assert rows_of(home) == rows
    command(home, "amend", "alias", "critic", "third", "--undo")
    assert sorted(read_ledger(home).agents) == sorted([two, last])


def test_what_several_agents_answer_to_is_refused_with_candidates(home: Path) -> None:
    """A name that an aliased agent shares with another is no answer."""
    twin = msgspec.structs.replace(PROFILES[0], description="another coder").fingerprint
    new = msgspec.structs.replace(tool_call(20, session="s0"), subject=twin, subject_name="coder")
    do(home, lambda store: store.commit([new]))
    do(home, lambda store: amend.alias(store, CODER, CRITIC, LATER))
    with pytest.raises(UnknownAgentError, match=f"{min(CODER, twin)[:12]}.*{max(CODER, twin)[:12]}"):
        do(home, lambda store: amend.find_agent(store, "coder"))
    with TrustStore(home) as store:
        assert amend.find_alias(store, "coder", "critic") == (CODER, CRITIC)


def test_signals_of_an_aliased_agent_are_those_of_the_fold(home: Path) -> None:
    """Name, prefix and fingerprint lead to the agent under which it is folded, and a note says so."""
    do(home, lambda store: amend.alias(store, CODER, CRITIC, LATER))
    for wanted in ("coder", CODER[:8], CODER):
        notes: list[str] = []
        assert TrustSignals(home).for_agent(wanted, notes.append).key == CRITIC
        assert len(notes) == 1
        assert "critic" in notes[0]
    told = invoked(home, "amend", "feedback", "coder", "--competence", "4")
    assert (told.exit_code, "folded under critic" in told.output) == (0, True)
    assert rows_of(home)[-1].subject == CRITIC


def test_a_reset_of_an_aliased_agent_is_about_its_own_rows(home: Path) -> None:
    """A reset cannot be taken back, so the fold keeps what the other agent earned."""
    own = value(home, CRITIC)
    do(home, lambda store: amend.alias(store, CODER, CRITIC, LATER))
    do(home, lambda store: amend.reset(store, amend.find_agent(store, "coder"), None, "", LATER + 1))
    assert value(home, CRITIC) == own
    command(home, "amend", "reset", "coder")
    assert rows_of(home)[-1].evidence.agent == CODER


def test_a_policy_change_keeps_amendments(home: Path) -> None:
    """Whatever the numbers are, what people said still holds."""
    do(home, lambda store: amend.alias(store, CODER, CRITIC, LATER))
    do(home, lambda store: amend.retract(store, ["s1"], "test", LATER + 1))
    before = agents_of(home)
    for name in ("seed", "standard"):
        command(home, "policy", "--set", name)
    assert agents_of(home) == before


# ------------------------------------------------------------------ reattribute


def older_judgements(home: Path) -> int:
    """Make a home as an earlier version of the rules would have: it blamed what nobody is blamed for today."""
    ingest(home, FIXTURES / "e-failures")
    rows = [row for row in rows_of(home) if row.kind != "policy"]
    blamed = {row.id for row in rows if row.kind == "tool-unattributable"}
    older = [
        msgspec.structs.replace(
            row,
            kind="tool-error" if row.id in blamed else row.kind,
            dim=COMPETENCE if row.id in blamed else row.dim,
            evidence=msgspec.structs.replace(row.evidence, reason=None) if row.id in blamed else row.evidence,
            **dict.fromkeys(("quality", "before", "after", "delta", "late")),
            prev="",
        )
        for row in rows
    ]
    entries = home.parent / "cache-of-logs"
    with TrustStore(home) as store:
        logs = list(store.cache.logs())
    for path in home.iterdir():
        path.rename(entries.with_name(f"first-{path.name}"))
    with TrustStore(home) as store:
        store.commit(older)
        store.cache.save_logs(logs)
    return len(blamed)


def test_logs_are_judged_anew_by_rows_that_supersede(tmp_path: Path) -> None:
    """Where this version's rules differ, the old row leaves the fold and stays in the log; once."""
    home = tmp_path / "home"
    blamed = older_judgements(home)
    before = (home / AUDIT).read_bytes()
    assert blamed > 0
    assert len(command(home, "amend", "reattribute", "--json")) == blamed
    assert (home / AUDIT).read_bytes().startswith(before)
    assert sum(row.supersedes is not None for row in rows_of(home)) == blamed
    ingest(tmp_path / "fresh", FIXTURES / "e-failures")
    assert {key: record.trust for key, record in read_ledger(home).agents.items()} == {
        key: record.trust for key, record in read_ledger(tmp_path / "fresh").agents.items()
    }
    assert command(home, "amend", "reattribute", "--json") == []
    assert verify(home).defects == []


def test_what_was_adopted_is_not_judged_anew(tmp_path: Path) -> None:
    """Nothing is told that is not written: adopted judgements are history."""
    with TrustStore(tmp_path) as store:
        store.commit(read_store(V1_STORE).rows)
    ingest(tmp_path, FIXTURES / "a-team")
    before = rows_of(tmp_path)
    assert command(tmp_path, "amend", "reattribute", "--json") == []
    assert rows_of(tmp_path) == before


def test_explain_shows_what_was_judged_anew(tmp_path: Path) -> None:
    """Each superseded row of an agent is told, and the steps are those that count."""
    home = tmp_path / "home"
    blamed = older_judgements(home)
    command(home, "amend", "reattribute", "--json")
    told = [one for key in read_ledger(home).agents for one in explained(home, key)]
    assert len(told) == blamed
    assert all("judged anew" in what for _, what, _ in told)


def test_explain_shows_amendments_in_words(home: Path) -> None:
    """The page names each act, its reason and how many rows it is about; nothing in it is markup or an escape."""
    do(home, lambda store: amend.retract(store, ["s1"], "[red]a \x1b[31mrehearsal", LATER))
    told = command(home, "explain", "coder")
    assert "session s1 counts for nothing, 3 rows: [red]a " in told
    assert "\x1b" not in told


def test_a_reset_leaves_the_statistics(tmp_path: Path) -> None:
    """What is older than a reset moves no score any more, and is counted as before."""
    ingest(tmp_path, FIXTURES / "a-team")
    with TrustStore(tmp_path) as store:
        before = {key: record.stats for key, record in store.ledger.agents.items()}
        for key in before:
            amend.reset(store, key, None, "anew", 1_800_000_000_000)
        assert {key: record.stats for key, record in store.ledger.agents.items()} == before
        assert not any(state.samples for record in store.ledger.agents.values() for state in record.trust.values())
