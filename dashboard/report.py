"""The report: one HTML file that needs nothing else, made from the same signals as `show --json`.

Text from logs is made safe for one line and then escaped by the template; only `svg`, which never sees such text,
gives markup. The file may be passed on, so the path of the home is not in it.
"""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import TYPE_CHECKING

from a2a_trust.dashboard import glyphs, svg
from a2a_trust.dashboard.board import MUCH_UNATTRIBUTABLE, Board, unattributable_share
from a2a_trust.dashboard.detail import Detail, read_detail
from a2a_trust.dashboard.timechart import Span, span_of
from a2a_trust.dashboard.trends import Course, Window, course, total_change, total_course
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from msgspec import Struct, structs

from a2a_trust import __version__
from a2a_trust.lenses import Lens
from a2a_trust.model import DIMENSIONS, Dimension, Row
from a2a_trust.signals import DimensionSignal, Signal
from a2a_trust.store import live
from a2a_trust.text import percent, safe, when
from a2a_trust.wording import why

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

EVIDENCE_SHOWN = 200
ROWS_READ = 20_000
DETAILED_AGENTS = 100
"""Up to this many agents, each one's tools and excuses are read from its rows."""
COMPARED_AGENTS = 30
"""Agents in the comparison of rates: those with the most evidence."""
POINTS, FEW_POINTS, MANY_AGENTS = 64, 10, 250
"""Steps of each agent that are drawn and listed, and from how many agents on there are fewer."""
POINTS_DRAWN = 400
"""Steps that are drawn of each dimension where there are few agents; the table behind the chart lists fewer."""
NAME_SHOWN = 300


class DimensionPart(Struct, frozen=True, kw_only=True):
    """One dimension of one agent."""

    dim: Dimension
    state: DimensionSignal
    chart: Markup
    steps: list[tuple[str, str, float, str]]
    """Time, kind, quality, value after it; oldest first."""
    left_out: int
    interval: Markup


class AgentPart(Struct, frozen=True, kw_only=True):
    """One agent."""

    anchor: str
    signal: Signal
    name: str
    kind: str
    """Role, provider and context, as far as they are known."""
    dims: list[DimensionPart]
    spark: Markup
    change: str
    much_excused: bool
    first: str
    last: str
    from_: str
    until: str
    """Ends of the charts' time axis."""
    detail: Detail | None
    namesakes: list[Signal]


class _Around(Struct, frozen=True):
    """What is known of an agent beside its signal."""

    detail: Detail | None
    namesakes: list[Signal]


class EvidencePart(Struct, frozen=True, kw_only=True):
    """One row of the audit log."""

    row: Row
    what: str
    time: str


class Asked(Struct, frozen=True, kw_only=True):
    """What a report is to hold."""

    agents: list[str]
    """Keys; empty for all."""
    since: int
    """Only agents and evidence from this time on, ms; 0 for all."""
    points: int = POINTS
    """Steps of each dimension that are drawn and listed; fewer where there are many agents."""


def make_report(home: Path, board: Board, asked: Asked) -> str:
    """Return the report as HTML."""
    chosen = [
        signal
        for signal in board.signals
        if (not asked.agents or signal.key in asked.agents) and signal.last_seen >= asked.since
    ]
    chosen.sort(key=lambda signal: (signal.total is None, -(signal.total or 0.0), signal.name, signal.key))
    detailed = len(chosen) <= DETAILED_AGENTS
    if len(chosen) > MANY_AGENTS:
        asked = structs.replace(asked, points=FEW_POINTS)
    named: dict[str, list[Signal]] = {}
    for signal in sorted(board.types, key=lambda signal: (signal.first_seen, signal.key)):
        named.setdefault(signal.name, []).append(signal)
    agents = []
    for place, signal in enumerate(chosen):
        detail = read_detail(home, board, signal) if detailed else None
        agents.append(_agent(board, signal, f"a{place}", asked, _Around(detail, named.get(signal.name, []))))
    most = sorted(agents, key=lambda agent: -agent.signal.samples)[:COMPARED_AGENTS]
    folder = files("a2a_trust.dashboard") / "templates"
    script = (folder / "report.js").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters.update(
        clean=_shown, named=glyphs.named, when=when, percent=percent, number=glyphs.number, rate=glyphs.rate
    )
    template = environment.from_string((folder / "report.html.j2").read_text(encoding="utf-8"))
    return template.render(
        agents=agents,
        compared=sorted(most, key=lambda agent: agent.name),
        total_agents=len(board.signals),
        evidence=_evidence(home, board, chosen, asked),
        dims=DIMENSIONS,
        policy=board.policy,
        provenance=board.provenance,
        lens=board.lens,
        by_type=board.lens is Lens.FINGERPRINT,
        since=asked.since,
        version=__version__,
        style=Markup((folder / "report.css").read_text(encoding="utf-8")),  # noqa: S704 - our own file
        script=Markup(script),  # noqa: S704 - our own file
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        head_shown=board.provenance.head[:16],
    )


def _shown(text: str) -> str:
    return safe(text, NAME_SHOWN)


def _agent(board: Board, signal: Signal, anchor: str, asked: Asked, around: _Around) -> AgentPart:
    detail, policy, by_type = around.detail, board.policy, board.lens is Lens.FINGERPRINT
    courses = {
        dim: _part(detail.courses[dim] if detail else course(signal, dim, policy), asked.since) for dim in DIMENSIONS
    }
    profile = signal.profile
    where = "/".join(part for part in (profile.provider, profile.context) if part)
    span = span_of(list(courses.values()))
    change = total_change(signal, policy, Window.DAY.since(board.provenance.as_of))
    return AgentPart(
        anchor=anchor,
        signal=signal,
        name=_shown(glyphs.named(signal.name if by_type else signal.key)),
        kind=_shown(f"{profile.role} {where}".strip()) if by_type else "",
        dims=[_dimension(signal, dim, courses[dim], span, asked.points) for dim in DIMENSIONS],
        spark=Markup(svg.spark(total_course(signal, policy), asked.points // 2)),  # noqa: S704 - numbers only
        change="" if change is None else glyphs.signed(change.delta) + ("" if change.whole else "~"),
        much_excused=unattributable_share(signal) >= MUCH_UNATTRIBUTABLE,
        first=when(signal.first_seen),
        last=when(signal.last_seen),
        from_=when(span.first),
        until=when(span.last),
        detail=detail,
        namesakes=around.namesakes,
    )


def _part(whole: Course, since: int) -> Course:
    """Return the part of a course from a time on."""
    before = [point for point in whole.points if point.time < since]
    start = before[-1].value if before else whole.start
    return Course(start, whole.points[len(before) :], whole.whole and not before)


def _dimension(signal: Signal, dim: Dimension, line: Course, span: Span, points: int) -> DimensionPart:
    shown = line.points[-points:]
    state = signal.dimensions[dim]
    return DimensionPart(
        dim=dim,
        state=state,
        chart=Markup(svg.chart(line, span, POINTS_DRAWN if points == POINTS else points)),  # noqa: S704 - numbers only
        steps=[(when(point.time, exact=True)[:19], point.kind, point.quality, f"{point.value:.3f}") for point in shown],
        left_out=state.samples - len(shown),
        interval=Markup(svg.interval(state)),  # noqa: S704 - numbers only
    )


def _evidence(home: Path, board: Board, chosen: Sequence[Signal], asked: Asked) -> list[EvidencePart]:
    names = {signal.key for signal in chosen}
    by_type = board.lens is Lens.FINGERPRINT
    rows = [placed.row for placed in live.newest_rows(home, ROWS_READ).rows]
    kept = [
        row
        for row in rows
        if row.dim is not None
        and row.time >= asked.since
        and (not asked.agents or (row.subject if by_type else row.subject_name) in names)
    ]
    return [
        EvidencePart(row=row, what=_shown(why(row)), time=when(row.time, exact=True)[:19])
        for row in kept[:EVIDENCE_SHOWN]
    ]
