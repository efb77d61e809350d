"""Contracts of jury answers: what is refused, with which code, and what its author is told."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_trust.jury.contracts import (
    CONTRACTS,
    MAX_ANSWER_BYTES,
    Address,
    Announcement,
    Ballot,
    Citation,
    ContractError,
    Expected,
    Position,
    Statement,
    Verdict,
    content_of,
    prose_of,
    read_answer,
    schema_of,
    validate,
)
from a2a_trust.sources.jury_events import Actor, Step

if TYPE_CHECKING:
    from a2a_trust.jury.contracts import Answer

ME = Actor(id="j1", part="juror", name="Ada", provider="reference")
EXPECTED = Expected(actor=ME, item="t1", options=("guilty", "not_guilty"), targets=("j2", "j3"), outcome="guilty")
VERDICT: dict[str, Any] = {"probability": 70, "vote": "guilty", "confidence": 0.5, "reason": "It fits."}
SPAN = {"source": "E1", "start": 0, "end": 3, "quote": "abc"}
ADDRESS = {"target": "j2", "move": "challenge", "message": "Why?"}


def refused(step: Step, answer: object, expected: Expected = EXPECTED) -> ContractError:
    """The refusal of an answer; a text stands as it is."""
    with pytest.raises(ContractError) as caught:
        validate(step, answer if isinstance(answer, str | bytes) else json.dumps(answer), expected)
    return caught.value


def accepted(step: Step, answer: object, expected: Expected = EXPECTED) -> Answer:
    """The answer as it is taken."""
    return validate(step, json.dumps(answer), expected)


def test_a_probability_of_one_is_one_percent() -> None:
    """No number is taken for a share because it could be one."""
    answer = accepted("verdict", VERDICT | {"probability": 1})
    assert isinstance(answer, Verdict)
    assert answer.probability == 1.0


@pytest.mark.parametrize(
    "value", ["NaN", "Infinity", "-Infinity", "true", "250", "-3", "1e999", '"70"', "null", "[70]"]
)
@pytest.mark.parametrize("field", ["probability", "confidence"])
def test_a_number_that_is_none_or_out_of_range_is_refused(field: str, value: str) -> None:
    """Nothing is clamped, scaled or read as a number that is not one."""
    text = json.dumps(VERDICT | {field: "HERE"}).replace('"HERE"', value)
    assert refused("verdict", text).code == "malformed"


@pytest.mark.parametrize(
    "text",
    [
        "I find him guilty, since E99 says so.",
        "",
        "null",
        "[]",
        "[[[[",
        "[" * 60_000,
        '{"reason":' * 6_000,
        f"{json.dumps(VERDICT)} That is all.",
        f"```json\n{json.dumps(VERDICT)}\n```",
        f"{json.dumps(VERDICT)}{json.dumps(VERDICT)}",
        f"\ufeff{json.dumps(VERDICT)}",
        b'{"reason":"\xff"}',
        json.dumps([VERDICT]),
    ],
    ids=lambda text: repr(text[:20]),
)
def test_what_is_no_single_object_is_malformed(text: str | bytes) -> None:
    """Neither prose, nor a list, nor an object with something around it: and none of it is rescued."""
    assert refused("verdict", text).code == "malformed"


@pytest.mark.parametrize("step", CONTRACTS)
def test_junk_is_refused_by_its_size_before_it_is_read(step: Step) -> None:
    """200 KB are no answer, whatever they hold; and the complaint does not repeat them."""
    error = refused(step, json.dumps({"statement": "x", "junk": "y" * 200_000}))
    assert error.code == "malformed"
    assert str(MAX_ANSWER_BYTES) in error.words


def test_an_unknown_key_is_refused_and_named_shortly() -> None:
    """Nothing reaches a result that the contract does not know."""
    error = refused("statement", {"statement": "He left.", "mood": 3})
    assert (error.code, "`mood`" in error.words) == ("malformed", True)
    assert len(refused("statement", {"statement": "He left.", "k" * 40_000: 3}).words) < 200


@pytest.mark.parametrize("key", ["probability", "vote", "confidence", "reason"])
def test_a_missing_key_is_named(key: str) -> None:
    """A field that is not there is told from one that is wrong."""
    error = refused("verdict", {name: value for name, value in VERDICT.items() if name != key})
    assert (error.code, f"`{key}`" in error.words) == ("missing_field", True)


@pytest.mark.parametrize(
    "text",
    [
        '{"vote":"guilty","vote":"not_guilty"}',
        '{"vote":"guilty","v\\u006fte":"not_guilty"}',
        '{"vote":"guilty","vote":"guilty"}',
    ],
)
def test_a_key_that_stands_twice_is_refused(text: str) -> None:
    """Which of the two counts would be a guess, however the key is spelled."""
    assert refused("ballot", text).code == "malformed"


def test_a_key_that_stands_twice_in_a_citation_is_refused() -> None:
    """Inner objects are looked at as well."""
    text = json.dumps({"statement": "x", "citations": [SPAN]}).replace('"start": 0', '"start": 0, "start": 1')
    assert "twice" in refused("statement", text).words


@pytest.mark.parametrize(
    "text", ['{"statement":"\\ud800"}', '{"statement":"\ud800"}', '{"statement":"\\udc00\\ud800"}']
)
def test_a_lone_surrogate_is_refused(text: str) -> None:
    """It is no character: it could be neither logged nor quoted."""
    assert refused("statement", text).code == "malformed"


@pytest.mark.parametrize("by", ["j1", "Ada"])
def test_an_echoed_identity_that_is_right_is_tolerated(by: str) -> None:
    """Models repeat what their prompt told them; that is no fault."""
    assert accepted("verdict", VERDICT | {"by": by, "item": "t1"}).by == by


@pytest.mark.parametrize("claim", [{"by": "j2"}, {"item": "t2"}, {"by": ""}, {"by": "ada"}])
def test_an_identity_that_is_wrong_is_a_mismatch(claim: dict[str, str]) -> None:
    """Neither another juror's answer, nor one about something else."""
    assert refused("verdict", VERDICT | claim).code == "identity_mismatch"


@pytest.mark.parametrize("target", ["j1", "j9", "", "J2"])
def test_a_target_that_the_topology_does_not_allow_is_unknown(target: str) -> None:
    """Itself, a stranger, nobody; the words list who could be meant."""
    error = refused("address", ADDRESS | {"target": target or " "})
    assert error.code == "unknown_target"
    assert "'j2' or 'j3'" in error.words


def test_a_vote_is_one_of_the_options_and_the_words_list_them() -> None:
    """Close is not equal."""
    for step, answer in (("verdict", VERDICT), ("ballot", {})):
        error = refused(step, answer | {"vote": "Guilty"})  # type: ignore[arg-type] # steps are literals
        assert (error.code, "'guilty' or 'not_guilty'" in error.words) == ("malformed", True)


def test_an_announcement_is_the_outcome_that_the_votes_came_to() -> None:
    """Whoever announces decides nothing."""
    assert isinstance(accepted("announcement", {"outcome": "guilty", "text": "So it is."}), Announcement)
    error = refused("announcement", {"outcome": "not_guilty", "text": "So it is."})
    assert (error.code, "'guilty'" in error.words) == ("malformed", True)


@pytest.mark.parametrize("field", ["statement", "quote"])
def test_a_blank_is_no_text(field: str) -> None:
    """Spaces say nothing and prove nothing; the words do not speak in regular expressions."""
    span = SPAN | {"quote": "  "} if field == "quote" else SPAN
    error = refused("statement", {"statement": "  " if field == "statement" else "x", "citations": [span]})
    assert (error.code, "not blank" in error.words, "regex" in error.words) == ("malformed", True, False)


@pytest.mark.parametrize("change", [{"start": 3}, {"end": 10**30}, {"start": -1}, {"start": 0.5}, {"more": 1}])
def test_a_span_that_is_none_is_refused_with_its_place(change: dict[str, object]) -> None:
    """The complaint says which citation it is about."""
    spans = [SPAN | {"start": 1}, SPAN | change]
    error = refused("statement", {"statement": "x", "citations": spans})
    assert (error.code, "$.citations[1]" in error.words) == ("malformed", True)


def test_a_span_counts_once() -> None:
    """A citation repeated would look like more of them."""
    assert refused("statement", {"statement": "x", "citations": [SPAN, SPAN]}).code == "malformed"


def test_citations_are_asked_for_where_they_are_required() -> None:
    """A verdict of a judge stands on quotes."""
    needed = msgspec.structs.replace(EXPECTED, citations_required=True)
    assert refused("verdict", VERDICT, needed).code == "missing_field"
    accepted("verdict", VERDICT | {"citations": [SPAN]}, needed)


LIMITS: list[tuple[Step, dict[str, Any], str, int]] = [
    ("statement", {}, "statement", 2_000),
    ("statement", {"statement": "x"}, "thesis", 300),
    ("verdict", VERDICT, "reason", 700),
    ("verdict", VERDICT, "uncertainty", 400),
    ("position", VERDICT, "reply", 700),
    ("address", ADDRESS, "message", 700),
    ("announcement", {"outcome": "guilty"}, "text", 700),
]


@pytest.mark.parametrize(("step", "answer", "field", "limit"), LIMITS)
def test_a_text_may_be_as_long_as_is_stated_and_no_longer(
    step: Step, answer: dict[str, Any], field: str, limit: int
) -> None:
    """Characters are counted, not bytes; nothing is cut."""
    accepted(step, answer | {field: "🙂" * limit})
    error = refused(step, answer | {field: "🙂" * (limit + 1)})
    assert (error.code, str(limit) in error.words, field in error.words) == ("malformed", True, True)


def test_lists_are_as_long_as_is_stated_and_no_longer() -> None:
    """Eight citations, four factors."""
    spans = [SPAN | {"end": 3 + number} for number in range(9)]
    accepted("verdict", VERDICT | {"citations": spans[:8], "factors": ["x" * 160] * 4})
    refused("verdict", VERDICT | {"citations": spans})
    refused("verdict", VERDICT | {"factors": ["x"] * 5})
    refused("verdict", VERDICT | {"factors": ["x" * 161]})


def test_the_longest_answer_fits() -> None:
    """The limit on bytes refuses nothing that the contract allows."""

    def full(char: str) -> dict[str, Any]:
        spans = [{"source": char * 200, "start": n, "end": 999, "quote": char * 2_000} for n in range(8)]
        return {"statement": char * 2_000, "thesis": char * 300, "citations": spans}

    accepted("statement", full("\x01"))
    validate("statement", json.dumps(full("🙂"), ensure_ascii=False), EXPECTED)


WORDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=40).filter(lambda text: text.strip() != "")
CITATIONS = st.builds(
    lambda source, start, size, quote: Citation(source=source, start=start, end=start + size, quote=quote),
    WORDS,
    st.integers(0, 1_000),
    st.integers(1, 1_000),
    WORDS,
)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "citations": st.lists(CITATIONS, max_size=3, unique=True).map(tuple),
    "factors": st.lists(WORDS, max_size=4).map(tuple),
    "probability": st.floats(0, 100),
    "confidence": st.floats(0, 1),
    "vote": st.sampled_from(EXPECTED.options),
    "outcome": st.just("guilty"),
    "target": st.sampled_from(EXPECTED.targets),
    "move": st.sampled_from(["challenge", "concede"]),
    "by": st.sampled_from([None, "j1"]),
    "item": st.sampled_from([None, "t1"]),
}


def answers(step: Step) -> st.SearchStrategy[Answer]:
    """Answers that meet the contract of a step."""
    contract = CONTRACTS[step]
    return st.builds(contract, **{name: FIELDS.get(name, WORDS) for name in contract.__struct_fields__})


@given(st.data(), st.sampled_from(sorted(CONTRACTS)))
def test_what_was_accepted_reads_the_same_from_its_log(data: st.DataObject, step: Step) -> None:
    """Canonical content is a fixed point, and it meets its contract again."""
    answer = data.draw(answers(step))
    content = content_of(answer)
    assert validate(step, bytes(content), EXPECTED) == read_answer(step, content) == answer
    assert content_of(read_answer(step, content)) == content


@given(st.binary(max_size=200) | st.text(max_size=200), st.sampled_from(sorted(CONTRACTS)))
def test_whatever_comes_back_is_an_answer_or_a_refusal(text: str | bytes, step: Step) -> None:
    """Nothing else is ever raised, and the words fit a log, on one line."""
    words = "fine"
    try:
        validate(step, text, EXPECTED)
    except ContractError as error:
        words = error.words
    assert 0 < len(words) <= 1_000
    assert words.replace("\u200d", "").replace("\u200c", "").isprintable()


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=5), st.lists, max_leaves=5))
def test_whatever_stands_in_a_field_is_taken_as_it_is_or_refused(value: object) -> None:
    """No field turns one value into another."""
    try:
        answer = accepted("verdict", VERDICT | {"probability": value})
    except ContractError:
        return
    assert isinstance(answer, Verdict)
    assert type(value) in (int, float)
    assert answer.probability == value


def test_schemas_are_strict_and_state_their_limits() -> None:
    """What prompts are given says what the validator will say."""
    for step in CONTRACTS:
        schema = schema_of(step)
        for shape in schema["$defs"].values():
            assert shape["additionalProperties"] is False
    verdict = schema_of("verdict")["$defs"]["Verdict"]
    assert (verdict["properties"]["probability"]["maximum"], verdict["properties"]["reason"]["maxLength"]) == (100, 700)


def test_every_step_that_is_answered_has_a_contract() -> None:
    """A seal is opened with bytes."""
    assert set(CONTRACTS) == set(get_args(Step)) - {"open"}


def test_prose_is_all_that_is_written_freely() -> None:
    """Identifiers are looked for wherever they may be named."""
    position = Position(
        probability=1, vote="guilty", confidence=1, reason="r", factors=("f", "g"), uncertainty="u", reply="p"
    )
    assert prose_of(position) == "r\nf\ng\nu\np"
    assert prose_of(Statement(statement="s", thesis="t")) == "s\nt"
    assert prose_of(Address(target="j2", move="inform", message="m")) == "m"
    assert prose_of(Announcement(outcome="guilty", text="t")) == "t"
    assert prose_of(Ballot(vote="guilty")) == ""
