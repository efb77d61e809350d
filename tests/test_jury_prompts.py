"""What prompts hold, and what never reaches one: the noninterference of jurors."""

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jury_runs
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from jury_runs import Authored, Recorder

from a2a_trust.jury import prompts, reference
from a2a_trust.jury.providers import Call
from a2a_trust.sources.jury_events import Preset, RunOpened, Trust, canonical, sha256

JURORS = ("juror", "foreperson")
OPTIONS: dict[Preset, tuple[str, str]] = {
    "tribunal": ("liable", "not_liable"),
    "panel": ("fair", "unfair"),
    "judges": ("accept", "reject"),
}
SOURCES: dict[Preset, str] = {"tribunal": "E1", "panel": "case", "judges": "output"}

private = st.fixed_dictionaries(
    {
        "probability": st.floats(0, 100),
        "vote": st.sampled_from([0, 1]),
        "confidence": st.floats(0, 1),
        "factors": st.lists(st.text(min_size=1, max_size=30), max_size=4),
        "uncertainty": st.text(max_size=60),
    }
)
PLAIN: dict[str, Any] = {"probability": 50.0, "vote": 0, "confidence": 0.5, "factors": [], "uncertainty": ""}


def write(call: Call, secrets: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Author an answer: what is public follows from the seat and the step, what is private is given."""
    own = secrets.get(call.actor.id, PLAIN)
    vote = call.options[own["vote"]] if call.options else ""
    verdict = own | {"vote": vote, "reason": f"Reason of seat {call.actor.id} in round {call.round}."}
    answers: dict[str, dict[str, Any]] = {
        "statement": {"statement": f"Said by {call.actor.id}."},
        "announcement": {"outcome": call.prompt.data.get("outcome"), "text": "So it is."},
        "ballot": {"vote": vote},
        "address": {
            "target": call.targets[sum(map(ord, call.actor.id)) % len(call.targets)] if call.targets else "",
            "move": "inform",
            "message": f"A word from {call.actor.id}.",
        },
        "position": verdict | {"reply": "I hear you."},
    }
    return answers.get(call.step, verdict)


def calls_of(preset: Preset, secrets: dict[str, dict[str, Any]], **options: Any) -> list[Call]:  # noqa: ANN401 - options
    """Every call of a run whose jurors keep these things to themselves."""
    provider = Authored(lambda call: write(call, secrets))
    with tempfile.TemporaryDirectory() as folder:
        jury_runs.run(Path(folder) / "run", preset, providers={reference.NAME: provider}, **options)
    return provider.calls


def shown(calls: list[Call], *, but: str) -> list[tuple[str, str, bytes]]:
    """Every prompt of everybody but one; the judge, who announces the tally, left out."""
    return [
        (call.actor.id, call.step, canonical(call.prompt))
        for call in calls
        if call.actor.id != but and call.step != "announcement"
    ]


@pytest.mark.parametrize(
    ("preset", "seat"), [("tribunal", "bram"), ("tribunal", "lucia"), ("panel", "juror-3"), ("judges", "careful")]
)
@given(one=private, other=private)
# A whole run an example: to shrink a failure would take minutes, and what is drawn is small as it is.
@settings(max_examples=15, phases=[Phase.explicit, Phase.reuse, Phase.generate])
def test_what_a_juror_keeps_to_itself_changes_no_prompt_of_another(
    preset: Preset, seat: str, one: dict[str, Any], other: dict[str, Any]
) -> None:
    """Probability, vote, confidence, factors and uncertainty of one juror leave all other prompts byte-identical."""
    rounds = {"rounds": 0 if preset == "judges" else 2}
    before = shown(calls_of(preset, {seat: one}, **rounds), but=seat)
    assert before == shown(calls_of(preset, {seat: other}, **rounds), but=seat)
    assert len(before) > 20


def test_the_property_can_fail() -> None:
    """A public reason does reach the others, so prompts that never change would prove nothing."""
    prompts_of = [call.prompt.user for call in calls_of("panel", {}) if call.step == "position"]
    assert all("Reason of seat" in user for user in prompts_of)


def every_call(tmp_path: Path, preset: Preset, **options: Any) -> list[Call]:  # noqa: ANN401 - options
    """Every call of a run of the reference."""
    recorder = Recorder(reference.ReferenceProvider())
    jury_runs.run(tmp_path / preset, preset, providers={reference.NAME: recorder}, **options)
    return recorder.calls


def test_the_truth_of_a_case_changes_no_prompt(tmp_path: Path) -> None:
    """Neither its outcome nor its note."""
    for preset in ("tribunal", "panel"):
        found = []
        for number, truth in enumerate((None, {"outcome": OPTIONS[preset][0]}, {"outcome": OPTIONS[preset][1]})):
            content = json.loads(case_text(preset)) | ({"truth": truth} if truth else {})
            if truth is None:
                content.pop("truth", None)
            path = tmp_path / f"{preset}-{number}.json"
            path.write_text(json.dumps(content), encoding="utf-8")
            found.append([canonical(call.prompt) for call in every_call(tmp_path / str(number), preset, source=path)])
        assert found[0] == found[1] == found[2]


def case_text(preset: Preset) -> str:
    """A case of the package, as text."""
    folder = Path(prompts.__file__).parent / "cases"
    names = {"tribunal": "cold-store.json", "panel": "night-desk.json", "judges": "trajectories.jsonl"}
    return (folder / names[preset]).read_text(encoding="utf-8")


def test_a_label_and_a_judged_agent_change_no_prompt(tmp_path: Path) -> None:
    """A judge knows neither what is right nor whose work it is."""
    found = []
    for number, change in enumerate(({}, {"label": "accept"}, {"agent": {"name": "somebody else"}})):
        rows = [json.loads(line) | change for line in case_text("judges").splitlines()]
        path = tmp_path / f"{number}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        found.append([canonical(call.prompt) for call in every_call(tmp_path / str(number), "judges", source=path)])
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("preset", ["tribunal", "panel", "judges"])
def test_no_prompt_holds_the_seed_or_the_fingerprint_of_the_run(tmp_path: Path, preset: Preset) -> None:
    """From either, the nonces of others could be computed."""
    calls = every_call(tmp_path, preset, seed=987_654_321)
    first = jury_runs.events(tmp_path / preset)[0]
    assert isinstance(first, RunOpened)
    for call in calls:
        told = canonical(call.prompt).decode()
        assert "987654321" not in told
        assert first.control not in told
        assert first.hearing not in told


def test_a_juror_of_a_panel_is_shown_nobody_else(tmp_path: Path) -> None:
    """Names and personas of others never stand in a prompt, also where a juror gives its own reason its name."""
    cast: dict[str, Any] = {}

    def sign(call: Call) -> dict[str, Any]:
        cast[call.actor.id] = call.actor
        answer = reference.answer(call)
        signed = f"I, {call.actor.name} ({call.actor.id}), say so. {call.actor.persona}"
        return answer | ({"reason": signed} if "reason" in answer else {})

    provider = Authored(sign)
    jury_runs.run(tmp_path / "run", "panel", providers={reference.NAME: provider}, rounds=3)
    for call in provider.calls:
        told = canonical(call.prompt).decode()
        for seat, other in cast.items():
            if seat != call.actor.id:
                assert not any(words in told for words in (other.name, *other.name.split(), other.persona, f"{seat})"))


def test_the_digest_tells_no_vote_and_no_tally() -> None:
    """It is made of reasons alone, and of nothing that says how many think so."""
    calls = calls_of("panel", {f"juror-{number}": PLAIN | {"vote": number % 2} for number in range(1, 8)})
    digests = {call.prompt.shown["digest"] for call in calls if call.step == "position"}
    assert digests
    for digest in digests:
        assert not any(option in digest for option in OPTIONS["panel"])


@pytest.mark.parametrize(
    ("preset", "mode", "parts"),
    [
        ("tribunal", "off", set()),
        ("tribunal", "lead-only", {"foreperson"}),
        ("tribunal", "all", {"foreperson", "juror"}),
        ("panel", "all", set()),
        ("judges", "all", set()),
    ],
)
def test_the_trust_signal_is_shown_word_for_word_to_those_who_may_see_it(
    tmp_path: Path,
    preset: Preset,
    mode: Any,  # noqa: ANN401 - a mode
    parts: set[str],
) -> None:
    """Frozen text, fenced as data; in a panel nobody sees it whatever the mode."""
    text = "agents: 3\nadvisory only <<<brackets>>>"
    trust = Trust(mode=mode, text=text, sha256=sha256(text))
    calls = every_call(tmp_path, preset, trust=trust)
    assert {call.actor.part for call in calls if text in call.prompt.user} == parts
    assert {call.actor.part for call in calls if "trust" in call.prompt.shown} == parts


@pytest.mark.parametrize("preset", ["tribunal", "panel", "judges"])
def test_the_data_of_a_prompt_holds_nothing_that_its_text_does_not_tell(tmp_path: Path, preset: Preset) -> None:
    """A provider that computes knows no more than one that reads."""
    for call in every_call(tmp_path, preset):
        for leaf in leaves({name: value for name, value in call.prompt.data.items() if name != "kind"}):
            assert leaf in call.prompt.user or json.dumps(leaf, ensure_ascii=False)[1:-1] in call.prompt.user


def leaves(value: object) -> Iterator[str]:
    """Every text within a value."""
    match value:
        case str():
            yield value
        case dict():
            yield from leaves(list(value.values()))
        case list() | tuple():
            for inner in value:
                yield from leaves(inner)
        case _:
            pass


@given(text=st.text(max_size=200), other=st.text(max_size=200))
def test_no_text_can_end_its_own_fence(text: str, other: str) -> None:
    """What stands between fences is data to its last character."""
    record = prompts.Record.of({"E1": text, "E2": other})
    for name, body in record.evidence.items():
        mark = sha256(body)[:12]
        assert f"<<<{name} {mark}\n{body}\n{mark}>>>" in record.text
        assert mark not in body


@pytest.mark.parametrize("preset", ["tribunal", "panel", "judges"])
def test_whatever_a_case_or_an_actor_wrote_stands_between_fences(tmp_path: Path, preset: Preset) -> None:
    """Nothing of it is left where the prompt itself speaks."""
    calls = every_call(tmp_path, preset)
    first = jury_runs.events(tmp_path / preset)[0]
    assert isinstance(first, RunOpened)
    written = {text for text in leaves(first.material) if len(text) > 100 and text not in personas_of(first)}
    for call in calls:
        data = call.prompt.data
        message = data.get("message", {}).get("text", "")
        whole = [*data.get("texts", {}).values(), *data.get("arguments", []), data.get("question", ""), message]
        fenced = re.compile(r"<<<[^\n]* ([0-9a-f]{12})\n.*?\n\1>>>", re.DOTALL)
        spoken = fenced.sub("", call.prompt.user) + call.prompt.system
        assert not [text for text in {*written, *whole} if len(text) > 20 and text in spoken]


def personas_of(first: RunOpened) -> set[str]:
    """What everybody is told of itself."""
    return {actor.persona for actor in first.cast}


def test_prompts_are_what_their_version_says(tmp_path: Path) -> None:
    """Whoever changes how a prompt is put together must count its version up, and pins the new prompts here."""
    told = [canonical(call.prompt) for preset in jury_runs.CASES for call in every_call(tmp_path, preset)]
    pinned = (prompts.VERSION, prompts.fingerprint()[:12], reference.MODEL, sha256(b"\n".join(told))[:12])
    assert pinned == PINNED


def test_the_complaint_reaches_the_next_attempt(tmp_path: Path) -> None:
    """With the validator's words, as a part of its own."""
    provider = Authored(
        lambda call: (
            reference.answer(call)
            | ({"vote": "perhaps"} if call.attempt == 1 and "vote" in reference.answer(call) else {})
        )
    )
    jury_runs.run(tmp_path / "run", "panel", providers={reference.NAME: provider})
    again = [call for call in provider.calls if call.attempt == 2]
    assert again
    assert all("perhaps" in call.prompt.shown["complaint"] and "perhaps" in call.prompt.user for call in again)


PINNED = (2, "1d3702bc6431", "reference-1", "d5fd819c2a97")
