"""The store: what a commit and a policy change."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING

import msgspec
import pytest
from homes import FIXTURES, agents_of, audit_of, ingest
from storehomes import AUDIT, LEDGER, call, commit, content, parsed, seen

from a2a_trust.errors import PolicyError
from a2a_trust.model import Policy, Role
from a2a_trust.policy import BUILT_IN, SEED, STANDARD
from a2a_trust.store import Commit, TrustStore, read_ledger
from a2a_trust.store.snapshot import encode_ledger

if TYPE_CHECKING:
    from pathlib import Path

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
