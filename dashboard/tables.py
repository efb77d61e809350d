"""Tables and pages for the terminal: agents, one agent, and the steps behind a number.

Everything printed comes from the same structs as `--json`. A number without enough evidence never looks earned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_trust.dashboard import glyphs
from rich.table import Table
from rich.text import Text

from a2a_trust.console import print_table
from a2a_trust.lenses import Lens
from a2a_trust.model import DIMENSIONS
from a2a_trust.text import percent, safe, when

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_trust.dashboard.explanation import Explanation, Step
    from rich.console import Console

    from a2a_trust.model import Policy
    from a2a_trust.signals import DimensionSignal, Signal

WIDE = 110
"""Columns from which on the time an agent was last seen gets a column of its own."""
NAME_WIDTHS = (17, 30)
"""Columns for names, narrow and wide."""
LOW = "low"


def _table(*titles: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for title in titles:
        table.add_column(title)
    return table


def agents_table(signals: Sequence[Signal], lens: Lens, width: int) -> Table:
    """Return one row an agent type, or one a key of another lens; two lines each, made for `width` columns."""
    wide = width >= WIDE
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2 if wide else 1, 0, 0))
    title = "agent" if lens is Lens.FINGERPRINT else str(lens)
    table.add_column(title, no_wrap=True, overflow="ellipsis", max_width=NAME_WIDTHS[wide])
    for dim in DIMENSIONS:
        table.add_column(dim, no_wrap=True)
    for last in ("total", "last seen (UTC)") if wide else ("total, seen",):
        table.add_column(last, no_wrap=True)
    for signal in signals:
        total, seen = _total_cell(signal), when(signal.last_seen)
        last_cells = (total, Text(seen)) if wide else (Text.assemble(total, ("\n" + seen[:10], "dim")),)
        table.add_row(
            _name_cell(signal, lens),
            *(_dimension_cell(signal.dimensions[dim], scored=signal.scored) for dim in DIMENSIONS),
            *last_cells,
        )
    return table


def _name_cell(signal: Signal, lens: Lens) -> Text:
    if lens is not Lens.FINGERPRINT:
        return Text(safe(glyphs.named(signal.key)))
    profile = signal.profile
    kind = "/".join(part for part in (safe(profile.provider, 12), safe(profile.context, 8)) if part)
    return Text.assemble(safe(glyphs.named(signal.name)), ("\n" + f"{profile.role} {kind}".strip(), "dim"))


def _dimension_cell(dimension: DimensionSignal, *, scored: bool) -> Text:
    if dimension.value is None:
        return Text("–" if scored else "not scored", "dim")
    low = dimension.confidence == LOW
    text = Text(f"{dimension.value:.3f}/{dimension.samples}", "dim" if low else "")
    if low:
        text.append(" low", "yellow")
    return text.append(f"\n{_rate(dimension)}", "dim")


def _rate(dimension: DimensionSignal) -> str:
    if dimension.rate is None or dimension.low is None or dimension.high is None:
        return ""
    return f"{percent(dimension.rate)}% {percent(dimension.low)}–{percent(dimension.high)}"


def _total_cell(signal: Signal) -> Text:
    return Text("not enough", "dim") if signal.total is None else Text(f"{signal.total:.4f}")


def legend(policy: Policy) -> str:
    """Return what the cells of the table mean."""
    return (
        "index/samples: from 0 to 1, moved most by what is recent and by what went wrong; below it the share of good "
        "evidence with its 95 % interval: compare agents by that. "
        f"low, not enough: fewer than {policy.min_samples} samples. Policy: {policy.name}."
    )


def print_agent(console: Console, signal: Signal, namesakes: Sequence[Signal], policy: Policy) -> None:
    """Print one agent: who it is, its numbers, what was not blamed on it, and its newest evidence."""
    profile = signal.profile
    console.print(Text(safe(glyphs.named(signal.name)), "bold"))
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for label, value in (
        ("fingerprint", signal.key),
        ("role", f"{profile.role}" + ("" if signal.scored else f" (not scored under policy {policy.name})")),
        ("description", profile.description),
        ("provider", profile.provider),
        ("context", profile.context),
        ("model", profile.model),
        ("sessions", str(signal.stats.sessions)),
        ("seen (UTC)", f"{when(signal.first_seen)} to {when(signal.last_seen)}"),
        ("total", "not enough evidence" if signal.total is None else str(signal.total)),
    ):
        if value:
            table.add_row(label, Text(safe(value)))
    print_table(console, table)
    print_table(console, _dimensions_table(signal))
    _print_statistics(console, signal)
    _print_history(console, signal)
    for other in namesakes:
        console.print(
            f"Another agent has this name: {other.key[:12]} ({other.profile.role} {safe(other.profile.provider)}/"
            f"{safe(other.profile.context)}), last seen {when(other.last_seen)}.",
            soft_wrap=True,
        )


def _dimensions_table(signal: Signal) -> Table:
    table = _table("dimension", "value", "samples", "good", "rate, 95 %", "confidence")
    for dim in DIMENSIONS:
        state = signal.dimensions[dim]
        value = "–" if state.value is None else str(state.value)
        table.add_row(dim, value, str(state.samples), str(state.good), _rate(state) or "–", state.confidence)
    return table


def _print_statistics(console: Console, signal: Signal) -> None:
    stats = signal.stats
    console.print(
        f"tasks {stats.tasks_completed} completed, {stats.tasks_reopened} reopened, {stats.tasks_released} released, "
        f"{stats.tasks_deleted} deleted; tools {stats.tool_calls} calls, {stats.tool_errors} errors; messages "
        f"{stats.messages_sent} sent, answers {stats.responses_on_time} on time, {stats.responses_late} late",
        soft_wrap=True,
    )
    if stats.jury:
        console.print(f"juries {', '.join(f'{safe(kind)} {count}' for kind, count in sorted(stats.jury.items()))}")
    excused = [f"{safe(reason)} {count}" for reason, count in sorted(stats.unattributable.items())]
    for count, label in (
        (stats.unanswered_calls, "calls without a result"),
        (stats.non_zero_exits, "commands with a non-zero exit code"),
        (stats.unsupported_completions, "completions without work"),
        (stats.failed_spawns, "failed spawns"),
        (stats.runs_ended, "runs to the end"),
        (stats.runs_stopped, "runs cut short"),
        (stats.runs_open, "runs without an end so far"),
        (stats.coordination_calls, "coordination calls"),
    ):
        if count:
            excused.append(f"{label} {count}")
    console.print(f"moved no score: {', '.join(excused) or 'nothing'}")


def _print_history(console: Console, signal: Signal, shown: int = 10) -> None:
    newest = signal.history[-shown:]
    if not newest:
        return
    table = _table("newest evidence (UTC)", "kind", "dimension", "quality", "of")
    for entry in reversed(newest):
        detail = entry.detail
        what = detail.tool or detail.task or (detail.heard.words if detail.heard else detail.message) or ""
        table.add_row(when(entry.time, exact=True), entry.kind, entry.dim, str(entry.quality), Text(safe(what, 40)))
    print_table(console, table)


def print_explanation(console: Console, explanation: Explanation, limit: int) -> None:
    """Print the steps behind each value, the newest `limit` of each dimension; 0 for all."""
    console.print(Text(f"{safe(glyphs.named(explanation.name))} {explanation.fingerprint[:12]}", "bold"))
    for amended in explanation.amended:
        why = f": {safe(amended.why)}" if amended.why else ""
        console.print(f"amended {when(amended.time, exact=True)}: {safe(amended.what)}, {amended.rows} rows{why}")
    logs: dict[tuple[str, str | None], int] = {}
    for dimension in explanation.dimensions:
        if not dimension.steps:
            console.print(f"\n{dimension.dim}: no evidence")
            continue
        heading = f"\n{dimension.dim}: {dimension.value} after {len(dimension.steps)} pieces of evidence"
        console.print(Text(heading, "bold"))
        steps = dimension.steps[-limit:] if limit else dimension.steps
        left_out = len(dimension.steps) - len(steps)
        if left_out:
            console.print(f"… {left_out} earlier ones, which lead to {steps[0].before}; all with --limit 0")
        table = _table("time (UTC)", "kind", "quality", "before → after", "log, seq, frame", "why")
        for step in steps:
            number = logs.setdefault((step.session, step.file), len(logs) + 1)
            table.add_row(
                when(step.time, exact=True),
                step.kind,
                str(step.quality),
                f"{step.before} → {step.after}",
                f"[{number}] {_place(step)}",
                Text(safe(step.why)),
            )
        print_table(console, table)
    if logs:
        console.print("\n[log], seq or line of the event in it, @byte at which its zstd frame begins:")
    for (session, file), number in logs.items():
        console.print(f"[{number}] {safe(session)}: {safe(file) if file else 'its log is no longer where it was'}")


def _place(step: Step) -> str:
    """Return where a step's event stands: its seq, or its line where the format numbers no events."""
    if not step.numbered:
        return "–" if step.line is None else f"line {step.line}"
    return f"{step.seq}" + ("" if step.frame is None else f" @{step.frame}")
