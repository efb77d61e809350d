"""What the commands print of a run, its reviews and a check. Text from logs is printed as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from a2a_trust.console import print_table
from a2a_trust.jury.fold import verdict_of
from a2a_trust.jury.transcript import opinion
from a2a_trust.sources.jury_events import Answered, AttemptFailed, Cited, WentAbsent
from a2a_trust.text import percent, safe, when

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from a2a_trust.jury.fold import Item
    from a2a_trust.jury.panels import Stage
    from a2a_trust.jury.reviews import Review
    from a2a_trust.jury.summary import Grounding, Listed, Summary

NOT_APPLICABLE = "N/A"
TEXT_SHOWN = 20_000
"""Characters of a source text that `review show` prints."""
FIRST = 5
"""Items that a line names."""


def print_summary(console: Console, summary: Summary) -> None:
    """Print what a run came to."""
    if summary.panels:
        print_table(console, _panels(summary))
        options = next((panel.tally for panel in summary.panels if panel.tally), {})
        console.print(
            f"votes: {safe('–'.join(options))}, mean: per cent for the first of them, each when sealed → at the end; "
            "✓ ✗: the known truth"
        )
    else:
        counts = summary.counts
        agreed = ", ".join(f"{safe(name)} {count}" for name, count in summary.outcomes.items() if name != "review")
        console.print(
            f"{counts.items} traces: {counts.agreed} agreed ({agreed or 'none'}), {counts.review} for a person"
        )
    console.print(f"grounding: {_grounding(summary.grounding)}")
    if summary.agreement:
        kappa = _number(summary.agreement.kappa)
        unanimous = summary.agreement.unanimous
        console.print(
            f"agreement: κ {kappa} ({summary.agreement.method}), unanimous {percent(unanimous.rate)} % "
            f"({percent(unanimous.low)}–{percent(unanimous.high)} %)"
        )
    if summary.calibration:
        found = summary.calibration
        console.print(f"against known truth: accuracy {percent(found.accuracy.rate)} %, Brier score {found.brier:.3f}")
    if summary.false_accepts is not None:
        rejects = summary.false_rejects.count if summary.false_rejects else NOT_APPLICABLE
        console.print(f"false accepts: {_listed(summary.false_accepts)}; false rejects: {rejects}")
    if summary.faults:
        console.print(f"faults: {_counts(summary.faults)}")
    if summary.infrastructure:
        console.print(f"nobody's fault: {_counts(summary.infrastructure)} of {summary.calls} calls failed alike")
    if summary.missing.count:
        console.print(f"missing answers: {_listed(summary.missing)}")
    doubles = sum(actor.fixture for actor in summary.actors)
    if doubles:
        console.print(
            f"{doubles} of {len(summary.actors)} are test doubles: this shows the procedure, nobody's quality"
        )


def _panels(summary: Summary) -> Table:
    table = Table(box=None, pad_edge=False, show_edge=False)
    for title in ("item", "condition", "outcome", "votes", "mean %", "polarization", "gain", "flips"):
        table.add_column(title, justify="right" if title in {"mean %", "gain", "flips"} else "left")
    for panel in summary.panels:
        stages = [stage for stage in panel.stages if stage.stage != "baseline"]
        first, last = (stages[0], stages[-1]) if stages else (None, None)
        cells = (
            safe(panel.item, 30),
            panel.condition,
            safe(panel.outcome or panel.status, 30)
            + ("" if panel.correct is None else " ✓" if panel.correct else " ✗"),
            _course(panel.tally, first),
            f"{_number(first.mean)} → {_number(last.mean)}" if first and last else NOT_APPLICABLE,
            f"{_number(first.polarization)} → {_number(last.polarization)}" if first and last else NOT_APPLICABLE,
            _number(panel.consensus_gain),
            NOT_APPLICABLE if panel.flips is None else str(panel.flips),
        )
        table.add_row(*(Text(cell) for cell in cells))
    return table


def _course(tally: Mapping[str, int], sealed: Stage | None) -> str:
    """Return the votes when sealed and at the end, in the order of the options."""
    last = "–".join(str(count) for count in tally.values()) or NOT_APPLICABLE
    return f"{'–'.join(str(sealed.votes.get(option, 0)) for option in tally)} → {last}" if sealed and tally else last


def print_reviews(console: Console, reviews: Sequence[Review]) -> None:
    """Print what waits, or was decided."""
    table = Table(box=None, pad_edge=False, show_edge=False)
    for title in ("run", "data set", "trace", "state", "votes", "why"):
        table.add_column(title)
    for one in reviews:
        state = one.resolution.decision if one.resolution else "waits"
        cells = (one.run, one.dataset[:12], safe(one.trace, 40), safe(state), _votes(one.votes), safe(one.reason, 80))
        table.add_row(*(Text(cell) for cell in cells))
    print_table(console, table)


def print_review(console: Console, review: Review, item: Item) -> None:
    """Print a review with its source texts, quotes marked in them, and what each judge said."""
    console.print(f"run {safe(review.run)}, data set {review.dataset}")
    console.print(f"trace {safe(review.trace)}: {safe(review.reason)}")
    cited = list(enumerate(item.of(Cited), start=1))
    for name, text in item.opened.texts.items():
        console.print()
        console.print(Text(safe(name), style="bold"))
        mine = [(number, one) for number, one in cited if (one.found_in or one.source) == name]
        console.print(marked(text, mine))
    console.print()
    for event in item.of(Answered):
        if event.step == "verdict":
            verdict = verdict_of(event)
            console.print(Text(f"{safe(event.actor)}: {safe(opinion(verdict))}", style="bold"))
            console.print(f"  {safe(verdict.reason)}")
    for number, one in cited:
        console.print(f"  [{number}] {safe(one.actor)} cites {safe(one.source)} {one.start}–{one.end}: {one.status}")
        if one.status == "mismatch":
            console.print(f"      “{safe(one.quote, 200)}” stands in no text")
    for failed in item.events:
        if isinstance(failed, AttemptFailed):
            console.print(f"  {safe(failed.actor)}, attempt {failed.attempt}: {failed.code}: {safe(failed.words, 200)}")
        elif isinstance(failed, WentAbsent):
            console.print(f"  {safe(failed.actor)}: no answer within {failed.attempts} attempts ({failed.code})")
    console.print()
    if review.resolution:
        held = review.resolution
        console.print(
            f"Decided: {safe(held.decision)}, by {safe(held.resolver)} at {when(held.time)} UTC: {safe(held.note)}"
        )


def marked(text: str, cited: Sequence[tuple[int, Cited]]) -> Text:
    """Return a text with each quote that stands in it between `[[n|` and `|n]]`, safe on any terminal."""
    marks: list[tuple[int, int, str]] = []
    for number, one in cited:
        start = one.found if one.found is not None else one.start if one.status == "verified" else None
        if start is not None:
            end = start + len(one.quote)
            # At one place what ends comes before what begins, and what began last ends first.
            marks += [(start, 1, f"[[{number}|"), (end, 0, f"|{number}]]")]
    shown, place, open_quotes = Text(), 0, 0
    for at, begins, mark in sorted(marks):
        if at > TEXT_SHOWN:
            break
        shown.append(_lines(text[place:at]), style="reverse" if open_quotes else "")
        shown.append(mark, style="bold")
        open_quotes += 1 if begins else -1
        place = at
    rest = text[place:TEXT_SHOWN]
    shown.append(_lines(rest), style="reverse" if open_quotes else "")
    if len(text) > TEXT_SHOWN:
        shown.append(f"\n… and {len(text) - TEXT_SHOWN} more characters; the log holds all of them")
    return shown


def _lines(text: str) -> str:
    """Return a text with its lines kept, and every other control shown as its code."""
    return "\n".join(safe(line) for line in text.split("\n"))


def _votes(votes: Mapping[str, str]) -> str:
    return ", ".join(f"{safe(seat)} {safe(vote)}" for seat, vote in votes.items()) or "none"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{safe(name)} {count}" for name, count in counts.items())


def _listed(found: Listed) -> str:
    named = ", ".join(safe(name, 60) for name in found.first[:FIRST])
    more = f" and {found.count - FIRST} more" if found.count > FIRST else ""
    return f"{found.count} ({named}{more})" if found.count else "0"


def _number(value: float | None) -> str:
    return NOT_APPLICABLE if value is None else f"{value:.2f}" if abs(value) < 1 else f"{value:.1f}"


def _grounding(found: Grounding) -> str:
    if found.share is None:
        return f"{NOT_APPLICABLE}, nothing was cited"
    cited = found.verified + found.misplaced + found.mismatch + found.unadmitted
    return f"{percent(found.share)} %, {found.verified} of {cited} citations stand where they say"
