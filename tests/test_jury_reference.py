"""The reference provider: the same call, the same bytes; and what it shows of each topology."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import jury_runs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_trust.jury import engine, faulty, reference
from a2a_trust.jury.citations import check
from a2a_trust.jury.contracts import Expected, citations_of, validate
from a2a_trust.jury.providers import Call, Prompt
from a2a_trust.jury.reference_judge import CHECKS, KNOWN_CHECKS, judge
from a2a_trust.jury.spans import sentences
from a2a_trust.sources.jury_events import Actor, Answered, OutcomeReached, RunOpened

SEEDS = range(1, 21)


def recorded(tmp_path: Path, **options: Any) -> list[Call]:  # noqa: ANN401 - fields of the options
    """Every call of a tribunal."""
    recorder = jury_runs.Recorder(reference.ReferenceProvider())
    jury_runs.run(tmp_path / "run", "tribunal", providers={reference.NAME: recorder}, **options)
    return recorder.calls


def test_it_does_not_look_at_the_condition_nor_at_the_seat(tmp_path: Path) -> None:
    """What makes the conditions differ is what jurors are shown."""
    for call in recorded(tmp_path):
        other = msgspec.structs.replace(
            call, condition=None, actor=msgspec.structs.replace(call.actor, id="x", name="Y", conditions=())
        )
        assert reference.answer(call) == reference.answer(other)


def test_it_reads_no_more_than_the_data_of_the_prompt(tmp_path: Path) -> None:
    """The text of the prompt says the same; neither of the two knows more than the other."""
    for call in recorded(tmp_path):
        blank = msgspec.structs.replace(call.prompt, system="", user="", shown={})
        assert reference.answer(call) == reference.answer(msgspec.structs.replace(call, prompt=blank))


def final_means(tmp_path: Path, seed: int) -> dict[str, float]:
    """The mean probability of the jurors of each condition at its end."""
    folder = tmp_path / str(seed)
    jury_runs.run(folder, "tribunal", seed=seed)
    log = jury_runs.events(folder)
    first = log[0]
    assert isinstance(first, RunOpened)
    sealed: dict[str, float] = {}
    moved: dict[str, dict[str, float]] = defaultdict(dict)
    for event in log:
        if isinstance(event, Answered) and event.step in {"verdict", "position"}:
            probability = json.loads(bytes(event.content))["probability"]
            (sealed if event.step == "verdict" else moved[str(event.condition)])[event.actor] = probability
    means = {}
    for condition in first.conditions:
        panel = [actor.id for actor in first.cast if actor.id in sealed and condition in actor.conditions]
        means[condition] = sum(moved[condition].get(seat, sealed[seat]) for seat in panel) / len(panel)
    return means


def test_each_topology_leads_elsewhere_for_every_seed(tmp_path: Path, no_waiting: None) -> None:  # noqa: ARG001 - a fixture
    """Over seeds 1 to 20 the four conditions end with four different mean probabilities."""
    for seed in SEEDS:
        means = final_means(tmp_path, seed)
        assert len(means) == len(set(means.values())) == 4


def test_topologies_change_tallies_and_verdicts(tmp_path: Path, no_waiting: None) -> None:  # noqa: ARG001 - a fixture
    """Hearing each other moves votes for most seeds, and the verdict itself for some."""
    moved, turned = 0, 0
    for seed in SEEDS:
        folder = tmp_path / str(seed)
        jury_runs.run(folder, "tribunal", seed=seed)
        found = {e.condition: e for e in jury_runs.events(folder) if isinstance(e, OutcomeReached)}
        shared = [found["independent"], found["star"], found["mesh"]]
        moved += len({tuple(event.tally.items()) for event in shared}) > 1
        turned += len({event.outcome for event in shared}) > 1
    assert moved >= 15
    assert turned >= 3


TEXTS = st.dictionaries(st.sampled_from(["case", "annex"]), st.text(max_size=300), min_size=1)


def call(texts: dict[str, str], seed: int, data: dict[str, Any], step: Any = "verdict") -> Call:  # noqa: ANN401 - a step
    """A call of a juror of a panel."""
    actor = Actor(id="j1", part="juror", name="J", persona="Reads.", provider="reference")
    prompt = Prompt(system="", user="", data={"texts": texts} | data)
    return Call(actor=actor, item="i", step=step, prompt=prompt, options=("fair", "unfair"), seed=seed)


@given(texts=TEXTS, seed=st.integers(), arguments=st.lists(st.text(max_size=80), max_size=5))
def test_every_answer_meets_its_contract_and_quotes_exactly(
    texts: dict[str, str], seed: int, arguments: list[str]
) -> None:
    """Whatever the texts are."""
    first = call(texts, seed, {})
    own = reference.answer(first)
    then = call(texts, seed, {"own": own, "arguments": arguments}, "position")
    for asked in (first, then):
        expected = Expected(actor=asked.actor, item="i", options=asked.options)
        answer = validate(asked.step, json.dumps(reference.answer(asked)), expected)
        assert all(check(cite, texts).status == "verified" for cite in citations_of(answer))


@given(texts=st.fixed_dictionaries({"input": st.text(max_size=200), "output": st.text(max_size=300)}))
def test_every_judge_quotes_exactly(texts: dict[str, str]) -> None:
    """One quote wherever there is anything to quote."""
    for name in KNOWN_CHECKS:
        actor = Actor(id="j1", part="judge", name="J", persona="Reads.", provider="reference")
        written = json.dumps(judge({CHECKS: name}, texts, ("accept", "reject")))
        answer = validate("verdict", written, Expected(actor=actor, item="i", options=("accept", "reject")))
        cited = citations_of(answer)
        assert bool(cited) == any(text.strip() for text in texts.values())
        assert all(check(cite, texts).status == "verified" for cite in cited)


@given(text=st.text(max_size=400))
def test_sentences_stand_in_their_text(text: str) -> None:
    """In code points, in order, none empty."""
    end = 0
    for span in sentences("t", text):
        assert span.quote
        assert span.start >= end
        end = span.start + len(span.quote)
        assert text[span.start : end] == span.quote


@pytest.mark.parametrize("code", faulty.CODES)
def test_every_fault_code_has_a_juror_that_commits_it(code: str) -> None:
    """And a provider that is there."""
    assert faulty.provider_of(code) in engine.reference_providers()  # type: ignore[arg-type] # codes are literals
