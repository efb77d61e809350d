"""Citations: whether a quote stands where it is said to, elsewhere, or nowhere."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from a2a_trust.jury.citations import MAX_UNADMITTED, Checked, check, identifiers, unadmitted
from a2a_trust.jury.contracts import Citation

TEXTS = {"E1": "The glass was broken, the glass was clean.", "E2": "A glass was found. 🙂 It was clean."}
WORDS = st.text(st.sampled_from("ab🙂é "), min_size=1, max_size=12)


def cite(source: str, start: int, quote: str, end: int | None = None) -> Citation:
    """A citation of a quote from a place on."""
    return Citation(source=source, start=start, end=start + len(quote) if end is None else end, quote=quote)


def test_a_quote_that_stands_where_it_is_said_to_is_verified() -> None:
    """Offsets count code points, so that an emoji is one."""
    assert check(cite("E1", 4, "glass was broken"), TEXTS) == Checked("verified")
    assert check(cite("E2", 21, "It was clean."), TEXTS) == Checked("verified")


def test_a_span_that_runs_over_the_end_is_not_verified() -> None:
    """A slice that is cut by the end of the text is not the span that was named."""
    assert check(cite("E1", 36, "clean.", end=99), TEXTS) == Checked("misplaced", 36, "E1")


def test_a_quote_that_stands_elsewhere_is_misplaced_and_its_nearest_place_is_named() -> None:
    """In the cited text first, then in the others by name."""
    assert check(cite("E1", 20, "glass was"), TEXTS) == Checked("misplaced", 26, "E1")
    assert check(cite("E1", 3, "glass was"), TEXTS) == Checked("misplaced", 4, "E1")
    assert check(cite("E1", 0, "A glass was found"), TEXTS) == Checked("misplaced", 0, "E2")
    assert check(cite("E9", 4, "glass was"), TEXTS) == Checked("misplaced", 4, "E1")


def test_a_quote_that_stands_nowhere_is_a_mismatch() -> None:
    """Case, spaces and forms of Unicode count; a text that does not exist holds nothing."""
    for quote in ("Glass was broken", "glass  was broken", "glass was mended"):
        assert check(cite("E1", 4, quote), TEXTS).status == "mismatch"
    assert check(cite("E9", 0, "never written"), TEXTS).status == "mismatch"
    assert check(cite("E1", 0, "e\u0301"), {"E1": "é"}).status == "mismatch"


@given(WORDS, st.data())
def test_every_slice_of_a_text_is_verified(text: str, data: st.DataObject) -> None:
    """Whatever was copied from its place passes."""
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    assume(text[start:end].strip())
    assert check(cite("a", start, text[start:end]), {"a": text}).status == "verified"


@given(st.dictionaries(st.sampled_from("xyz"), WORDS), WORDS, st.sampled_from("xyz"), st.integers(0, 20))
def test_what_a_check_says_is_so(texts: dict[str, str], quote: str, source: str, start: int) -> None:
    """Each status can be seen in the texts, and none other would fit."""
    assume(quote.strip())
    status, found, where = check(cite(source, start, quote), texts)
    here = texts.get(source, "")[start : start + len(quote)] == quote
    assert (status == "verified") == here
    if status == "misplaced":
        assert found is not None
        assert texts[where].startswith(quote, found)
        places = [n for n in range(len(texts[where])) if texts[where].startswith(quote, n)]
        if where == source:
            assert abs(found - start) == min(abs(n - start) for n in places)
    if status == "mismatch":
        assert not any(quote in text for text in texts.values())


def test_identifiers_that_were_never_admitted_are_found_in_prose() -> None:
    """Each once, in order, in the forms that prose has; what only looks like one is left alone."""
    prose = "E99 and E1 (see E100, E99; S3 too) against E02. Not XE77, E7a, e88 or B4, nor E."
    assert unadmitted(prose, ["E1", "E2", "S1"]) == ["E99", "E100", "S3"]


def test_without_admitted_identifiers_there_are_none_to_miss() -> None:
    """A panel's case is one text named `case`; B12 in it is a vitamin."""
    assert unadmitted("B12 and E99", ["case"]) == []


def test_what_is_admitted_beside_makes_nothing_else_look_like_a_name() -> None:
    """An error E42 and a valve V4 that the evidence tells of: E43 was never heard of, V5 is none of our names."""
    assert unadmitted("E42, E43, V4, V5", ["E1"], identifiers("V4 failed with E42")) == ["E43"]


def test_so_many_are_told_and_no_more() -> None:
    """An answer full of inventions does not fill a log."""
    assert len(unadmitted(" ".join(f"E{number}" for number in range(50)), ["E1"])) == MAX_UNADMITTED
