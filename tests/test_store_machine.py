"""After any sequence of things that happen to a home, what it says is what its audit log gives."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from faulty import Disk, Fault, How, Killed, folder_for_homes
from homes import agents_of, encode_agents
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from made_rows import AGENTS, T, completed, registered, tool_call

from a2a_trust.errors import UsageError
from a2a_trust.model import DIMENSIONS, Dimension
from a2a_trust.policy import BUILT_IN, SEED, STANDARD
from a2a_trust.store import TrustStore, amend, read_ledger
from a2a_trust.store.cache import remove_cache
from a2a_trust.store.reader import AUDIT, fold_log, read_all_rows
from a2a_trust.store.snapshot import BACKUP, LEDGER
from a2a_trust.store.verify import verify

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a_trust.model import Row

THOROUGH = os.environ.get("A2A_TRUST_HYPOTHESIS") == "slow"
SESSIONS = ("s0", "s1")
EVENTS: list[Row] = [
    *(registered(agent, session) for agent in range(2) for session in SESSIONS),
    *(
        tool_call(number, agent=agent, session=session, failed=number % 5 == 0, late=number % 3)
        for agent in range(2)
        for session in SESSIONS
        for number in range(agent, 12, 2)
    ),
    *(row for number in (4, 7, 9) for row in completed(number, session=SESSIONS[number % 2], since=number - 3)),
]
"""What logs hold; a run brings any of it, in any order."""
events = st.lists(st.sampled_from(EVENTS), min_size=1, max_size=8)
agents = st.sampled_from(AGENTS)


class Home(RuleBasedStateMachine):
    """A home, and what people, logs, crashes and bad luck do to it."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory(dir=folder_for_homes())
        self.home = Path(self._folder.name) / "home"
        self.clock = T + 5_000
        self.acknowledged: set[str] = set()
        self.corrections = 0
        self.do(lambda store: store.commit(EVENTS[:6]))

    def teardown(self) -> None:
        """Remove the home."""
        self._folder.cleanup()

    def do(self, act: Callable[[TrustStore], object]) -> None:
        """Do something in a run of its own."""
        with TrustStore(self.home) as store:
            act(store)
            self.acknowledged = {row.id for row in store.rows()}

    def now(self) -> int:
        """The time of the next thing that a person does; evidence comes before and after it."""
        self.clock += 700
        return self.clock

    def known(self) -> list[str]:
        """The agents that have a record."""
        return sorted(read_ledger(self.home).agents)

    # ------------------------------------------------------------------ what happens

    @rule(rows=events)
    def commit(self, rows: list[Row]) -> None:
        """A run brings rows, some of them known, some of them late."""
        self.do(lambda store: store.commit(rows))

    @rule(row=st.sampled_from(EVENTS), failed=st.booleans())
    def correct(self, row: Row, *, failed: bool) -> None:
        """Later rules judge a recorded event anew."""
        if row.dim is None or row.kind == "task-completed":
            return
        rows = list(read_all_rows(self.home))
        superseded = {other.supersedes for other in rows}
        last = [other.id for other in rows if other.id.partition("~")[0] == row.id and other.id not in superseded]
        if not last:
            return
        self.corrections += 1
        kind = "tool-error" if failed else "tool-success"
        new = msgspec.structs.replace(row, id=f"{row.id}~{self.corrections}", kind=kind, supersedes=last[0])
        self.do(lambda store: store.commit([new]))

    @rule(session=st.sampled_from(SESSIONS), undo=st.booleans())
    def retract(self, session: str, *, undo: bool) -> None:
        """A person takes a session out, or in again."""

        def act(store: TrustStore) -> None:
            if store.cache.known([session]) and undo is (session in store.amendments.retracted):
                amend.retract(store, [session], "test", self.now(), undo=undo)

        self.do(act)

    @rule(agent=agents, dim=st.sampled_from([None, *DIMENSIONS]))
    def reset(self, agent: str, dim: Dimension | None) -> None:
        """A person lets an agent begin anew."""
        if agent in self.known():
            self.do(lambda store: amend.reset(store, agent, dim, "", self.now()))

    @rule(agent=agents, rating=st.integers(1, 5), observer=st.sampled_from(["ann", "bob"]))
    def rate(self, agent: str, rating: int, observer: str) -> None:
        """A person rates an agent, until the limit."""

        def act(store: TrustStore) -> None:
            given = amend.Feedback(ratings={Dimension.COMPETENCE: rating}, observer=observer, session="s0")
            try:
                amend.feedback(store, agent, given, self.now())
            except UsageError as error:
                assert "limit" in str(error)  # noqa: PT017 - anything else that is refused fails

        if agent in self.known():
            self.do(act)

    @rule(swap=st.booleans())
    def join(self, *, swap: bool) -> None:
        """A person says that both agents are one, or no longer."""
        one, other = AGENTS if swap else reversed(AGENTS)

        def act(store: TrustStore) -> None:
            if store.amendments.aliases.get(one) == other:
                amend.alias(store, one, other, self.now(), undo=True)
            elif {one, other} <= set(store.ledger.agents):
                amend.alias(store, one, other, self.now())

        self.do(act)

    @rule(name=st.sampled_from(sorted(BUILT_IN)))
    def change_policy(self, name: str) -> None:
        """The home is put under a policy."""
        self.do(lambda store: store.set_policy(BUILT_IN[name]))

    @rule()
    def change_policy_and_back(self) -> None:
        """To change the policy and back changes nothing."""
        before, policy = agents_of(self.home), read_ledger(self.home).policy
        for wanted in (SEED if policy == STANDARD else STANDARD, policy):
            self.do(lambda store, wanted=wanted: store.set_policy(wanted))
        assert agents_of(self.home) == before

    @rule(rows=events, at=st.integers(0, 12), power=st.booleans(), fate=st.integers(0, 99))
    def crash(self, rows: list[Row], at: int, *, power: bool, fate: int) -> None:
        """A run is killed between two steps of a commit, and perhaps the power fails."""
        disk = Disk(self.home, Fault(at, How.KILL))
        with disk.installed():
            try:
                with TrustStore(self.home) as store:
                    store.commit(rows)
            except Killed:
                pass
        if power:
            left = disk.after_power_loss()
            for path in self.home.iterdir():
                if not path.name.startswith(("cache.sqlite", "ledger.lock")):
                    path.unlink()
            for name, data in left[fate % len(left)].items():
                (self.home / name).write_bytes(data)
        self.do(lambda _: None)

    @rule(ledger=st.booleans(), backup=st.booleans(), cache=st.booleans())
    def lose_views(self, *, ledger: bool, backup: bool, cache: bool) -> None:
        """Views are deleted: they can be made anew."""
        if ledger:
            (self.home / LEDGER).unlink(missing_ok=True)
        if backup:
            (self.home / BACKUP).unlink(missing_ok=True)
        if cache:
            remove_cache(self.home)
        self.do(lambda _: None)

    @rule()
    def rebuild(self) -> None:
        """To rebuild changes nothing."""
        before = agents_of(self.home)
        self.do(lambda store: store.rebuild())
        assert agents_of(self.home) == before

    # ------------------------------------------------------------------ what always holds

    @precondition(lambda self: (self.home / AUDIT).exists())
    @invariant()
    def the_ledger_is_what_the_log_gives(self) -> None:
        """Live and rebuilt agents are equal byte for byte, everything verifies, and no acknowledged row is gone."""
        rows = list(read_all_rows(self.home))
        assert encode_agents(read_ledger(self.home)) == encode_agents(fold_log(rows))
        assert verify(self.home).defects == []
        ids = [row.id for row in rows]
        assert len(ids) == len(set(ids))
        assert self.acknowledged <= set(ids)


TestHome = Home.TestCase
TestHome.settings = settings(
    max_examples=400 if THOROUGH else 25, stateful_step_count=40 if THOROUGH else 20, deadline=None
)
