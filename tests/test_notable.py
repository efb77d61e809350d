"""What `watch` says of a row."""

from __future__ import annotations

import pytest
from a2a_trust.backfill.notable import is_notable, line_of, told
from msgspec import structs

from a2a_trust.model import Details, Dimension, Late, Row
from a2a_trust.plain import json_line

ROW = Row(
    v=2,
    id="tool:s:1",
    time=1_796_100_000_000,
    session="s",
    gen=0,
    seq=1,
    pos=0,
    kind="tool-error",
    subject="f" * 64,
    subject_name="coder",
    dim=Dimension.COMPETENCE,
    quality=0.0,
    before=0.5,
    after=0.35,
    delta=-0.15,
    evidence=Details(tool="bash", code="TIMEOUT"),
)


@pytest.mark.parametrize(
    ("delta", "notable"), [(0.05, True), (-0.05, True), (0.0499994, False), (0.04999999999, True), (None, False)]
)
def test_a_step_of_a_twentieth_is_notable(delta: float | None, notable: bool) -> None:  # noqa: FBT001 - a table
    """Up or down; less is not."""
    assert is_notable(structs.replace(ROW, delta=delta)) is notable


def test_a_line_says_who_what_and_why() -> None:
    """Time, agent, dimension, before and after, kind and what the event was."""
    assert line_of(ROW) == "2026-12-01 04:40:00  coder  competence 0.500 ▼ 0.350  tool-error bash TIMEOUT"


def test_a_late_row_says_what_the_value_is_now() -> None:
    """Its own step is not where the value went."""
    assert "(late: 0.417 now)" in line_of(structs.replace(ROW, late=Late(3, 0.4171)))


def test_a_row_that_moves_nothing_says_so() -> None:
    """Evidence that the policy leaves out, and observations about nobody."""
    unfolded = structs.replace(ROW, before=None, after=None, delta=None, quality=None)
    assert line_of(unfolded).endswith("coder  competence not folded  tool-error bash TIMEOUT")
    nobody = structs.replace(unfolded, dim=None, subject_name=None, kind="spawn-failed", evidence=Details())
    assert line_of(nobody) == "2026-12-01 04:40:00  –  spawn-failed"


def test_nothing_hostile_stands_in_a_line() -> None:
    """Neither names nor texts of a log do anything to a terminal, or are more than one line."""
    evil = "\x1b[31m\x9b\u202e\n[bold]" + "x" * 500
    row = structs.replace(ROW, subject_name=evil, evidence=Details(tool=evil, text=evil), session=evil)
    for line in (line_of(row), json_line(told(row))):
        assert not {char for char in line if not char.isprintable() or char in "\x9b\u202e"}
    assert len(line_of(row)) < 250


def test_a_line_of_json_tells_a_step_from_a_row() -> None:
    """Scripts get exact numbers and names, without the keys that say nothing."""
    assert json_line(told(ROW)) == (
        '{"event":"step","time":1796100000000,"kind":"tool-error","agent":"coder","fingerprint":"' + "f" * 64 + '",'
        '"dim":"competence","before":0.5,"after":0.35,"why":"bash TIMEOUT","session":"s","id":"tool:s:1"}'
    )
    assert told(structs.replace(ROW, delta=0.01)).event == "row"
