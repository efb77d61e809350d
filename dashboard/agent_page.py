"""One agent as a page of text for a terminal of some width. Pure; names are made safe, nothing is markup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from a2a_trust.dashboard import glyphs, timechart
from a2a_trust.dashboard.board import unattributable_share
from a2a_trust.dashboard.detail import Detail
from a2a_trust.dashboard.overview_rows import tone
from a2a_trust.dashboard.trends import Window, course, dimension_change
from msgspec import Struct
from rich.text import Text

from a2a_trust.lenses import Lens
from a2a_trust.model import DIMENSIONS, Dimension, Policy, Row
from a2a_trust.signals import Signal
from a2a_trust.text import percent, safe, when
from a2a_trust.wording import why

if TYPE_CHECKING:
    from a2a_trust.dashboard.detail import ToolUse
    from a2a_trust.dashboard.trends import Course


CHART_HEIGHT = 4
_TWO_CHARTS = 132
_LABEL = 13
_TOOLS_SHOWN = 20


class Page(Struct, frozen=True, kw_only=True):
    """What the page is made from."""

    signal: Signal
    lens: Lens
    policy: Policy
    namesakes: Sequence[Signal]
    detail: Detail | None
    window: Window
    now: int
    width: int
    styles: Mapping[str, str]
    """Colours by the names that bars use."""


def page(what: Page) -> Text:
    """Return the whole page."""
    text = Text()
    _head(text, what)
    _charts(text, what)
    _lowered(text, what)
    _statistics(text, what)
    _tools(text, what)
    _not_blamed(text, what)
    _namesakes(text, what)
    return text


def _title(text: Text, title: str, what: Page) -> None:
    text.append(f"\n{title} ", "bold")
    text.append("─" * max(0, what.width - len(title) - 1) + "\n", what.styles["faint"])


def _field(text: Text, label: str, value: str, what: Page, style: str = "") -> None:
    text.append(f"{label:<{_LABEL}}", what.styles["faint"])
    text.append(f"{value}\n", style)


def _head(text: Text, what: Page) -> None:
    signal, profile = what.signal, what.signal.profile
    name = signal.name if what.lens is Lens.FINGERPRINT else signal.key
    text.append(safe(glyphs.named(name)) + "\n", "bold")
    if what.lens is Lens.FINGERPRINT:
        _field(text, "fingerprint", signal.key, what)
        where = "  ".join(
            f"{label} {safe(value)}"
            for label, value in (
                ("role", profile.role), ("provider", profile.provider), ("context", profile.context),
                ("model", profile.model),
            )
            if value
        )  # fmt: skip
        _field(text, "what it is", where, what)
        if profile.description:
            _field(text, "description", safe(profile.description), what)
    else:
        _field(text, "one", f"{what.lens} over all agent types", what)
    if not signal.scored and what.lens is Lens.FINGERPRINT:
        _field(text, "not scored", f"policy {what.policy.name} leaves out the role {profile.role}", what)
    seen = f"{when(signal.first_seen)} to {when(signal.last_seen)} UTC ({glyphs.ago(signal.last_seen, what.now)})"
    _field(text, "seen", f"{seen}, {signal.stats.sessions} sessions", what)
    total = "not enough evidence" if signal.total is None else f"{signal.total:.4f}"
    _field(text, "total", total, what, "bold")


# ---------------------------------------------------------------------- charts


def _charts(text: Text, what: Page) -> None:
    signal = what.signal
    known = [dim for dim in DIMENSIONS if signal.dimensions[dim].samples]
    courses = {dim: _course(what, dim) for dim in known}
    part = what.detail is None or not what.detail.whole
    _title(text, f"Value over time{', newest part' if part else ''} (UTC; ▼ bad evidence, gap: idle)", what)
    if not known:
        text.append("No evidence in any dimension: there is nothing to say about this agent yet.\n")
        return
    span = timechart.span_of(list(courses.values()))
    two = what.width >= _TWO_CHARTS
    width = (what.width - 4) // 2 if two else what.width
    blocks = [_chart(what, dim, courses[dim], span, width) for dim in known]
    for left in range(0, len(blocks), 2 if two else 1):
        pair = blocks[left : left + 2] if two else [blocks[left]]
        for lines in zip(*pair, strict=True):
            text.append(Text("    ").join(lines))
            text.append("\n")
    missing = [dim for dim in DIMENSIONS if dim not in known]
    if missing:
        text.append(f"no evidence: {', '.join(missing)}\n", what.styles["faint"])


def _course(what: Page, dim: Dimension) -> Course:
    if what.detail is not None:
        return what.detail.courses[dim]
    return course(what.signal, dim, what.policy)


def _chart(what: Page, dim: Dimension, line: Course, span: timechart.Span, width: int) -> list[Text]:
    state = what.signal.dimensions[dim]
    low = state.confidence == glyphs.LOW
    value = state.value or 0.0
    style = what.styles["faint"] if low else what.styles[tone(value)]
    head = Text()
    head.append(f"{dim:<{_LABEL}}", "bold")
    head.append(f"{value:.3f}", style)
    head.append(f"  {state.samples} samples, {glyphs.rate(state)}", what.styles["faint"])
    if low:
        head.append("  not enough evidence", what.styles["fair"])
    change = dimension_change(what.signal, dim, what.policy, what.window.since(what.now))
    if change is not None and what.width >= 70:  # noqa: PLR2004 - below there is no room for it
        shown = glyphs.signed(change.delta)
        head.append(
            f"  {what.window} {shown}", what.styles["faint" if shown == "=" else "good" if change.delta > 0 else "bad"]
        )
    inner = width - 4
    chart = timechart.draw(line, span, inner, CHART_HEIGHT)
    rows = [Text("1.0 " if place == 0 else "    ", what.styles["faint"]) for place in range(CHART_HEIGHT)]
    for row, cells in zip(rows, chart.rows, strict=True):
        row.append(cells, style)
    axis = Text("0.0 ", what.styles["faint"])
    for mark in chart.axis:
        axis.append(mark, what.styles["bad" if mark == timechart.BAD_MARK else "faint"])
    labels = Text("    ").append(chart.labels, what.styles["faint"])
    lines = [head, *rows, axis, labels]
    for one in lines:
        one.truncate(width, pad=True)
    return lines


# ---------------------------------------------------------------------- what happened


def _lowered(text: Text, what: Page) -> None:
    if what.detail is None or not what.detail.bad:
        return
    _title(text, "What lowered it, newest first", what)
    for row, before, after in what.detail.bad:
        line = Text()
        line.append(f"{when(row.time, exact=True)[5:19]}  ", what.styles["faint"])
        line.append(f"{row.dim or '':<14}")
        line.append(f"{before:.3f} → {after:.3f}  ", what.styles["bad"])
        line.append(reason_of(row))
        line.truncate(what.width, overflow="ellipsis")
        text.append(line)
        text.append("\n")


def reason_of(row: Row) -> str:
    """Return in a few words what a row is about."""
    return f"{row.kind} {safe(why(row))}"


def _statistics(text: Text, what: Page) -> None:
    stats = what.signal.stats
    _title(text, "Statistics", what)
    _field(
        text, "tasks",
        f"{stats.tasks_completed} completed, {stats.tasks_reopened} reopened, {stats.tasks_released} released, "
        f"{stats.tasks_deleted} deleted", what,
    )  # fmt: skip
    _field(text, "tool calls", f"{stats.tool_calls}, {stats.tool_errors} of them failed", what)
    _field(
        text, "messages",
        f"{stats.messages_sent} sent, {stats.messages_delivered} delivered, answers: {stats.responses_on_time} on "
        f"time, {stats.responses_late} late", what,
    )  # fmt: skip
    if stats.jury:
        _field(text, "juries", ", ".join(f"{kind} {count}" for kind, count in sorted(stats.jury.items())), what)


def _tools(text: Text, what: Page) -> None:
    if what.detail is None or not what.detail.tools:
        return
    _title(text, "Tools by how calls ended (█ success, ▒ its fault, · excused or unanswered)", what)
    most = max(use.calls for use in what.detail.tools)
    for use in what.detail.tools[:_TOOLS_SHOWN]:
        _tool(text, use, most, what)
    left = len(what.detail.tools) - _TOOLS_SHOWN
    if left > 0:
        text.append(f"… and {left} more tools\n", what.styles["faint"])


def _tool(text: Text, use: ToolUse, most: int, what: Page) -> None:
    name = min(24, max(12, what.width // 4))
    room = max(8, what.width - name - 40)
    text.append(glyphs.fit(use.tool, name) + " ")
    length = max(1, round(use.calls / most * room))
    faults = round(use.faults / use.calls * length)
    faults = max(faults, min(1, use.faults))
    excused = round((use.excused + use.unanswered) / use.calls * length)
    text.append("█" * max(0, length - faults - excused), what.styles["faint" if use.coordination else "good"])
    text.append("▒" * faults, what.styles["bad"])
    text.append("·" * excused, what.styles["faint"])
    parts = [f"{use.good} good"] + [
        f"{count} {label}"
        for count, label in ((use.faults, "fault"), (use.excused, "excused"), (use.unanswered, "unanswered"))
        if count
    ]
    text.append(f" {', '.join(parts)}" + (" (not scored)" if use.coordination else "") + "\n", what.styles["faint"])


def _not_blamed(text: Text, what: Page) -> None:
    _title(text, "Not blamed, and why", what)
    share = unattributable_share(what.signal)
    if share:
        text.append(f"{percent(share)} % of its calls and answers say nothing about it.\n")
    reasons = what.detail.not_blamed if what.detail is not None else sorted(what.signal.stats.unattributable.items())
    for reason, count in reasons:
        text.append(f"{count:>6} × ", what.styles["faint"])
        text.append(f"{safe(reason)}\n")
    if not reasons:
        text.append("Nothing: all that was recorded counts.\n", what.styles["faint"])


def _namesakes(text: Text, what: Page) -> None:
    if len(what.namesakes) < 2:  # noqa: PLR2004 - itself and another
        return
    _title(text, f"Agent types of this name ({len(what.namesakes)}), by first appearance", what)
    for number, other in enumerate(what.namesakes[:_TOOLS_SHOWN]):
        own = other.key == what.signal.key
        profile = other.profile
        text.append(f"{'▶' if own else ' '} {other.key[:12]}  ", "bold" if own else "")
        text.append(f"since {when(other.first_seen)}  ", what.styles["faint"])
        text.append("no total" if other.total is None else f"{other.total:.4f}", "bold")
        bars = " ".join(
            glyphs.bar(state.value or 0.0, 5, low=state.confidence != "enough") if state.samples else "·····"
            for state in other.dimensions.values()
        )
        text.append(f"  {bars}\n")
        changed = _differences(what.namesakes[number - 1], other) if number else []
        where = "/".join(safe(part, 20) for part in (profile.role, profile.provider, profile.context) if part)
        text.append(f"    {where}" + (f"; changed: {', '.join(changed)}" if changed else "") + "\n")


def _differences(before: Signal, after: Signal) -> list[str]:
    """Return what made a new fingerprint of a name."""
    return [
        f"{field} {safe(old, 30)!r} → {safe(new, 30)!r}"
        for field in ("description", "provider", "context")
        if (old := getattr(before.profile, field)) != (new := getattr(after.profile, field))
    ]
