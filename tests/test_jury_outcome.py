"""What votes come to: by the rule, whoever cast them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_trust.jury.outcome import outcome_of, quorum_needed, tally
from a2a_trust.sources.jury_events import Rule

OPTIONS = ("yes", "no", "abstain")
KINDS = ("majority", "supermajority", "unanimous", "agreement")


def votes(yes: int, no: int = 0) -> list[str]:
    """So many votes."""
    return ["yes"] * yes + ["no"] * no


@pytest.mark.parametrize(
    ("kind", "yes", "no", "status"),
    [
        ("majority", 3, 2, "decided"),
        ("majority", 2, 2, "hung"),
        ("majority", 1, 0, "decided"),
        ("majority", 0, 0, "hung"),
        ("supermajority", 4, 2, "decided"),
        ("supermajority", 3, 2, "hung"),
        ("supermajority", 2, 1, "decided"),
        ("supermajority", 0, 0, "hung"),
        ("unanimous", 5, 0, "decided"),
        ("unanimous", 5, 1, "hung"),
        ("unanimous", 0, 0, "hung"),
        ("agreement", 2, 0, "agreed"),
        ("agreement", 1, 1, "review"),
        ("agreement", 0, 0, "review"),
    ],
)
def test_each_rule_decides_as_it_says(kind: str, yes: int, no: int, status: str) -> None:
    """A tie hangs; no votes decide nothing; what decides nothing says why."""
    found = outcome_of(Rule(kind=kind), votes(yes, no), OPTIONS, yes + no)  # type: ignore[arg-type] # a literal
    assert found.status == status
    assert (found.outcome, found.reason == "") == (("yes", True) if status in {"decided", "agreed"} else (None, False))


def test_a_judge_without_a_valid_verdict_sends_it_to_review() -> None:
    """Equal verdicts of those who are left are no agreement."""
    found = outcome_of(Rule(kind="agreement"), votes(1), OPTIONS, 2)
    assert (found.status, found.outcome, found.reason) == ("review", None, "1 of 2 gave no valid verdict")


@given(st.lists(st.sampled_from(OPTIONS), max_size=12), st.sampled_from(KINDS), st.randoms())
def test_the_order_of_votes_and_options_decides_nothing(cast: list[str], kind: str, draw: object) -> None:
    """Who votes first, or stands first, has no more weight; the tally names every option and counts every vote."""
    rule = Rule(kind=kind)  # type: ignore[arg-type] # a literal
    found = outcome_of(rule, cast, OPTIONS, len(cast))
    mixed, options = list(cast), list(OPTIONS)
    draw.shuffle(mixed)  # type: ignore[attr-defined]
    draw.shuffle(options)  # type: ignore[attr-defined]
    assert outcome_of(rule, mixed, options, len(cast)) == found
    assert list(found.tally) == list(tally(cast, OPTIONS)) == list(OPTIONS)
    assert sum(found.tally.values()) == len(cast)
    if found.outcome is not None:
        assert all(found.tally[found.outcome] > count for name, count in found.tally.items() if name != found.outcome)


def test_the_quorum_is_two_thirds_rounded_up() -> None:
    """The table of panels of three to twelve."""
    needed = {size: quorum_needed(Rule(kind="majority"), size) for size in (1, 2, 3, 4, 5, 6, 8, 9, 10, 12)}
    assert needed == {1: 1, 2: 2, 3: 2, 4: 3, 5: 4, 6: 4, 8: 6, 9: 6, 10: 7, 12: 8}
    assert quorum_needed(Rule(kind="agreement", quorum=(0, 1)), 2) == 0
