"""Everything about one agent that its rows tell and the snapshot does not: exact courses, tools, what was not blamed.

Reads only the agent's own rows, found through the index.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from a2a_trust.dashboard.trends import Course, Point
from msgspec import Struct

from a2a_trust.agents import CALL_UNANSWERED, RESPONSE_UNATTRIBUTABLE, TOOL_UNATTRIBUTABLE, resolve
from a2a_trust.lenses import Lens
from a2a_trust.model import DIMENSIONS, Dimension, Row
from a2a_trust.policy import GOOD, TASK_COMPLETED, TOOL_ERROR, TOOL_SUCCESS, is_coordination
from a2a_trust.reputation import PRIOR, step
from a2a_trust.store import live

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from a2a_trust.dashboard.board import Board

    from a2a_trust.model import Policy
    from a2a_trust.signals import Signal

MOST_ROWS = 20_000
"""Rows read of one agent; of more, the newest."""
BAD_SHOWN = 8


class ToolUse(Struct, kw_only=True):
    """How the calls of one tool ended."""

    tool: str
    good: int = 0
    faults: int = 0
    excused: int = 0
    unanswered: int = 0
    coordination: bool = False
    """Its calls move no score."""

    @property
    def calls(self) -> int:
        """All calls."""
        return self.good + self.faults + self.excused + self.unanswered


class Detail(Struct, frozen=True, kw_only=True):
    """One agent from its rows."""

    courses: dict[Dimension, Course]
    tools: list[ToolUse]
    not_blamed: list[tuple[str, int]]
    """Why something moved no score, and how often, most often first."""
    bad: list[tuple[Row, float, float]]
    """The newest bad evidence, newest first, with the value before and after."""
    whole: bool
    """Whether all rows were read."""
    rows: int


def subjects_of(board: Board, signal: Signal) -> list[str]:
    """Return the fingerprints whose rows are all of this agent's; empty for a lens that cuts through fingerprints."""
    if board.lens is Lens.FINGERPRINT:
        return [signal.key]
    if board.lens is Lens.NAME:
        return [other.key for other in board.types if other.name == signal.key]
    return []


def read_detail(home: Path, board: Board, signal: Signal, most: int = MOST_ROWS) -> Detail | None:
    """Return the detail of an agent; `None` where the lens has no index."""
    subjects = subjects_of(board, signal)
    if not subjects:
        return None
    found: list[tuple[Row, float | None]] = []
    whole, amendments = True, live.amendments(home)
    for subject in subjects:
        rows, complete = live.rows_of(home, subject, most)
        whole = whole and complete
        found += resolve(rows, board.policy, amendments)
    found.sort(key=lambda pair: pair[0].key)
    return make_detail(found, board.policy, whole=whole)


def make_detail(found: Sequence[tuple[Row, float | None]], policy: Policy, *, whole: bool) -> Detail:
    """Return the detail that rows give, in key order, each with the quality with which it is folded."""
    values: dict[Dimension, float] = {}
    starts: dict[Dimension, float] = {}
    points: dict[Dimension, list[Point]] = {dim: [] for dim in DIMENSIONS}
    bad: list[tuple[Row, float, float]] = []
    for row, quality in found:
        if row.dim is None or quality is None:
            continue
        if row.dim not in values:
            # Of a part of the rows, the first says where it found the value.
            known = row.before if not whole and row.before is not None else PRIOR
            values[row.dim] = starts[row.dim] = known
        before = values[row.dim]
        after = values[row.dim] = step(before, quality, policy)
        points[row.dim].append(Point(row.time, after, quality, row.kind))
        if quality < GOOD:
            bad.append((row, before, after))
    return Detail(
        courses={dim: Course(starts.get(dim, PRIOR), points[dim], whole) for dim in DIMENSIONS},
        tools=_tools(found, policy),
        not_blamed=_not_blamed(found, policy),
        bad=bad[: -BAD_SHOWN - 1 : -1],
        whole=whole,
        rows=len(found),
    )


def _tools(found: Sequence[tuple[Row, float | None]], policy: Policy) -> list[ToolUse]:
    tools: dict[str, ToolUse] = {}
    fields = {
        TOOL_SUCCESS: "good", TOOL_ERROR: "faults", TOOL_UNATTRIBUTABLE: "excused", CALL_UNANSWERED: "unanswered",
    }  # fmt: skip
    for row, _ in found:
        name, field = row.evidence.tool, fields.get(row.kind)
        if name is None or field is None:
            continue
        use = tools.setdefault(name, ToolUse(tool=name, coordination=is_coordination(policy, name)))
        setattr(use, field, getattr(use, field) + 1)
    return sorted(tools.values(), key=lambda use: (use.coordination, -use.calls, use.tool))


def _not_blamed(found: Sequence[tuple[Row, float | None]], policy: Policy) -> list[tuple[str, int]]:
    reasons: Counter[str] = Counter()
    for row, quality in found:
        tool = row.evidence.tool
        if row.kind in (TOOL_UNATTRIBUTABLE, RESPONSE_UNATTRIBUTABLE):
            what = f"call of {tool}" if tool else "late answer"
            reasons[f"{what}: {row.evidence.reason or 'unknown'}"] += 1
        elif row.kind == CALL_UNANSWERED:
            reasons[f"call of {tool}: its result never came"] += 1
        elif row.kind == TASK_COMPLETED and row.dim is Dimension.COMPETENCE and quality is None:
            reasons["task completed: no work of its owner stands behind it"] += 1
        elif is_coordination(policy, tool) and row.kind == TOOL_ERROR:
            reasons[f"failed call of {tool}: coordination, not work"] += 1
        elif row.kind in ("exit-code", "spawn-failed", "run-stopped", "task-released", "task-deleted"):
            reasons[row.kind.replace("-", " ")] += 1
    return sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))
