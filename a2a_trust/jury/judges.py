"""Judges of trajectories: each by itself, window by window, so that a data set of any length takes the same memory.

Equal valid verdicts of all judges decide; whatever else comes of it goes to a person.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from a2a_trust.jury import prompts
from a2a_trust.jury.bench import Jury
from a2a_trust.jury.case_types import Judge
from a2a_trust.jury.cases import ALL_AGENTS
from a2a_trust.jury.prompts import Matter
from a2a_trust.jury.reference_judge import CHECKS
from a2a_trust.sources.jury_events import AgentType, Condition, ItemOpened, Option, key_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from a2a_trust.jury.bench import Bench
    from a2a_trust.jury.case_types import Agent, Trajectory

CONDITION: Condition = "independent"
WINDOW = 64
"""Traces that are under way at a time; each is a call of every judge."""
MATTER = Matter(
    question="Is the output an acceptable answer to the input?",
    options=("accept", "reject"),
    facts={
        "burden": "Accept what a careful person would hand on as it is; reject what is wrong, invented or not done."
    },
)
DEFAULT_JUDGES = (
    Judge(
        id="careful",
        name="Careful reader",
        persona="Reads the output against the input, word for word, and minds what is assumed or quoted.",
        parameters={CHECKS: "empty,failure,hedge,quotes"},
    ),
    Judge(
        id="brisk",
        name="Brisk reader",
        persona="Asks whether the task was done, and whether every number comes from somewhere.",
        parameters={CHECKS: "empty,failure,removal,quotes,numbers"},
    ),
)


class Trace:
    """One trajectory as a run needs it."""

    __slots__ = ("item", "judged", "label", "texts")

    def __init__(self, item: str, texts: dict[str, str], judged: AgentType | None, label: Option | None) -> None:
        self.item = item
        self.texts = texts
        self.judged = judged
        self.label = label
        """Withheld from everything but the outcome."""


def traces_of(rows: Iterable[Trajectory], agents: Mapping[str, Agent]) -> Iterator[Trace]:
    """Yield the traces of a data set; `agents` says whose work each is where its row does not."""
    for row in rows:
        agent = row.agent or agents.get(row.trace_id) or agents.get(ALL_AGENTS)
        judged = agent.profile() if agent else None
        yield Trace(row.trace_id, {"input": row.input, "output": row.output}, judged, row.label)


def walk(bench: Bench, traces: Iterable[Trace]) -> int:
    """Judge every trace; return how many there were."""
    waiting = iter(traces)
    count = 0
    while window := list(islice(waiting, WINDOW)):
        _judge(bench, window)
        count += len(window)
    return count


def _judge(bench: Bench, window: list[Trace]) -> None:
    """Take a window of traces from their texts to their outcomes."""
    judges = bench.opened.cast
    juries = [Jury(bench.open_item(_item(trace)), judges) for trace in window]
    answers = bench.ask(
        [
            bench.request(
                jury.item,
                judge,
                "verdict",
                prompts.judgement(judge, MATTER, jury.item.texts),
                texts=jury.item.texts,
                strict_citations=True,
                citations_required=any(text.strip() for text in jury.item.texts.values()),
            )
            for jury in juries
            for judge in judges
        ]
    )
    width = len(judges)
    bench.seal_all([(jury, answers[at * width : (at + 1) * width]) for at, jury in enumerate(juries)])
    for trace, jury in zip(window, juries, strict=True):
        bench.outcome_of(jury, CONDITION, trace.label)
    bench.sync()


def _item(trace: Trace) -> ItemOpened:
    return ItemOpened(
        key=key_of("item", trace.item),
        time=0,
        item=trace.item,
        question=MATTER.question,
        options=MATTER.options,
        texts=trace.texts,
        facts=MATTER.facts,
        judged=trace.judged,
    )
