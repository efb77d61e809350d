"""`report.html`: a run on one page that needs nothing else: no script, no network, all text escaped."""

from __future__ import annotations

from importlib.resources import files
from itertools import islice
from typing import TYPE_CHECKING

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from msgspec import Struct

from a2a_trust.jury import fold
from a2a_trust.jury.contracts import Verdict
from a2a_trust.jury.transcript import outcome_line
from a2a_trust.sources.jury_events import AttemptFailed, Cited, Resolved, WentAbsent
from a2a_trust.text import percent, safe, when

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from a2a_trust.jury.fold import Item, Run
    from a2a_trust.jury.measures import Rate
    from a2a_trust.jury.panels import Panel
    from a2a_trust.jury.summary import Grounding, Listed, Summary
    from a2a_trust.sources.jury_events import Condition

SHOWN = 200
"""Items that are shown; of a larger data set the rest is counted."""
LISTED = 50
"""Citations and faults of one item that are listed."""
TEXT_SHOWN = 700
NOT_APPLICABLE = "N/A"


class _Row(Struct, frozen=True, kw_only=True):
    """One juror under one condition."""

    name: str
    positions: tuple[Verdict | None, ...]
    reason: str


class _Panel(Struct, frozen=True, kw_only=True):
    """One condition."""

    condition: str
    outcome: str
    label: str | None
    columns: tuple[str, ...]
    rows: tuple[_Row, ...]


class _Fault(Struct, frozen=True, kw_only=True):
    """One fault."""

    actor: str
    step: str
    code: str
    words: str


class _Item(Struct, frozen=True, kw_only=True):
    """One item."""

    name: str
    question: str
    texts: tuple[tuple[str, str], ...]
    """Of a trajectory: what was judged."""
    parts: tuple[_Panel, ...]
    citations: tuple[Cited, ...]
    """Those that do not hold."""
    faults: tuple[_Fault, ...]
    resolution: Resolved | None


def chunks(run: Run, summary: Summary, items: Iterable[Item]) -> Iterator[bytes]:
    """Yield the file."""
    folder = files(__package__)
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters.update(
        clean=_clean, when=when, percent=_percent, na=_na, count=_count, rate=_rate, votes=_votes,
        grounding=_grounding, spread=_spread, listed=_listed,
    )  # fmt: skip
    template = environment.from_string((folder / "report.html.j2").read_text(encoding="utf-8"))
    text = template.render(
        run=run,
        summary=summary,
        title=run.opened.title or "A jury run",
        headline=headline(summary),
        labelled=summary.labelled,
        fixtures=sum(actor.fixture for actor in summary.actors),
        items=[_item(run, item) for item in islice(items, SHOWN)],
        version=run.opened.version,
        style=Markup((folder / "report.css").read_text(encoding="utf-8")),  # noqa: S704 - our own file
    )
    yield text.encode("utf-8", "backslashreplace") + b"\n"


def headline(summary: Summary) -> str:
    """Return what the run came to, in a sentence or two."""
    counts = summary.counts
    if summary.panels:
        one = len({panel.item for panel in summary.panels}) == 1
        text = "; ".join(
            f"{panel.condition if one else panel.item}: {panel.outcome or panel.status}" for panel in summary.panels
        )
    else:
        outcomes = ", ".join(f"{outcome} {count}" for outcome, count in summary.outcomes.items() if outcome != "review")
        text = f"{counts.agreed} of {counts.items} items agreed ({outcomes or 'none'}), {counts.review} for a person"
    if not summary.finished:
        text += f". Not finished: {summary.reason}"
    if summary.missing.count:
        text += f". {summary.missing.count} answers are missing"
    return f"{text}."


def _item(run: Run, item: Item) -> _Item:
    faults = [event for event in item.events if isinstance(event, AttemptFailed | WentAbsent)]
    return _Item(
        name=item.opened.item,
        question=item.opened.question,
        texts=tuple(item.opened.texts.items()) if run.opened.traces else (),
        parts=tuple(_panel(run, item, condition) for condition in run.opened.conditions),
        citations=tuple(event for event in item.of(Cited) if event.status != "verified")[:LISTED],
        faults=tuple(_fault(event) for event in faults[:LISTED]),
        resolution=run.resolutions.get(item.opened.item),
    )


def _panel(run: Run, item: Item, condition: Condition) -> _Panel:
    reached = item.outcome(condition)
    courses = fold.courses(run.opened, item, condition)
    rounds = sorted({number for course in courses for number, _ in course.moves})
    heard = any(course.baseline for course in courses)
    rows = [
        _Row(
            name=course.actor.name,
            positions=(
                *((course.baseline,) if heard else ()),
                course.sealed,
                *(course.after(number) for number in rounds),
            ),
            reason=course.final.reason if course.final else "",
        )
        for course in courses
    ]
    return _Panel(
        condition=condition,
        outcome=outcome_line(reached) if reached else "no outcome",
        label=reached.label if reached else None,
        columns=(*(("before",) if heard else ()), "sealed", *(f"round {number}" for number in rounds)),
        rows=tuple(rows),
    )


def _fault(event: AttemptFailed | WentAbsent) -> _Fault:
    if isinstance(event, WentAbsent):
        return _Fault(actor=event.actor, step=event.step, code=f"absent ({event.code})", words="")
    return _Fault(actor=event.actor, step=event.step, code=event.code, words=event.words)


def _clean(text: str) -> str:
    return safe(text, TEXT_SHOWN)


def _percent(points: float) -> str:
    return percent(points / 100)


def _na(number: float | None) -> str:
    return NOT_APPLICABLE if number is None else f"{number:.3g}"


def _count(number: int | None) -> str:
    return NOT_APPLICABLE if number is None else str(number)


def _rate(found: Rate) -> str:
    return f"{percent(found.rate)} % ({percent(found.low)}–{percent(found.high)} %)"


def _votes(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{safe(name)} {count}" for name, count in counts.items())


def _grounding(found: Grounding) -> str:
    if found.share is None:
        return f"{NOT_APPLICABLE}: nothing was cited"
    cited = found.verified + found.misplaced + found.mismatch + found.unadmitted
    return f"{percent(found.share)} % ({found.verified} of {cited})"


def _listed(found: Listed) -> str:
    more = f" and {found.count - len(found.first)} more" if found.count > len(found.first) else ""
    return ", ".join(safe(name) for name in found.first) + more


def _spread(panel: Panel) -> str:
    stages = [stage.polarization for stage in panel.stages if stage.stage != "baseline"]
    return f"{_na(stages[0])} → {_na(stages[-1])}" if stages else NOT_APPLICABLE
