"""`transcript.md`: what was said in the order in which it was said, and nothing of it markup."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st
from jurylogs import Log as Made
from jurylogs import actor, judges, opinion, survey, tribunal
from markdown_it import MarkdownIt

from a2a_trust.jury import transcript
from a2a_trust.jury.fold import fold
from a2a_trust.jury.markdown import inline, quoted
from a2a_trust.text import safe

HOSTILE = "# <script>alert(1)</script> [x](javascript:y) ![i](http://e.x) \x1b[31m | `c` **b** \u202e &lt; http://a.b"
PLAIN = {"inline", "paragraph_open", "paragraph_close", "blockquote_open", "blockquote_close"}
PLAIN_INSIDE = {"text", "text_special", "softbreak", "hardbreak"}


def text_of(log: Made) -> str:
    """The transcript of a log."""
    return b"".join(transcript.chunks(survey(log.lines()), fold(log.lines()))).decode()


def read_as(text: str) -> tuple[set[str], str]:
    """The kinds of tokens that Markdown finds, and the text that a reader sees."""
    found, seen = set(), []
    for token in MarkdownIt("gfm-like", {"linkify": False}).parse(text):
        if token.type != "inline":
            found.add(token.type)
        for child in token.children or ():
            found.add(child.type)
            seen.append("\n" if child.type in {"softbreak", "hardbreak"} else child.content)
        seen.append("\n")
    return found, "".join(seen)


@given(st.text(max_size=60))
@example(HOSTILE)
@example("1. a")
@example("---")
@example("    code")
@example("~~~")
def test_a_text_of_one_line_reads_as_written(text: str) -> None:
    """Whatever it holds, it is one paragraph of text, the same that `safe` shows."""
    found, seen = read_as(f"It says: {inline(text)}")
    assert found <= PLAIN | PLAIN_INSIDE
    assert seen.strip() == f"It says: {safe(text).strip()}".strip()


@given(st.text(alphabet=st.sampled_from("a1.)-+*#=>`~|<&_[]!\\: \t\n"), max_size=40))
@example("a\n===")
@example("a\n\n    b\n- c\n1. d")
@example("| a |\n| - |\n| b |")
def test_a_text_of_many_lines_reads_as_written(text: str) -> None:
    """It is a quote with its lines kept: no list, heading, table, code or rule."""
    found, seen = read_as(quoted(text))
    assert found <= PLAIN | PLAIN_INSIDE
    kept = [safe(line.strip()) for line in text.splitlines()]
    assert seen.split() == " ".join(kept).split()


def test_a_hearing_is_told_in_its_order() -> None:
    """Record, verdicts, seals, messages, ballots and outcome, each once and under its heading."""
    text = text_of(tribunal())
    order = [
        "### Record", "It was locked", "### Before the record was heard", "### Sealed verdicts", "### Seals opened",
        "### star: Round 1", "look at E1", "and the time", "### star: Ballot", "Outcome, star: guilty",
        "### star: Announcement", "Guilty it is",
    ]  # fmt: skip
    places = [text.index(what) for what in order]
    assert places == sorted(places)
    assert "**Ben**: NOT what was sealed" in text
    assert "**Ben**: guilty; its ballot said not guilty, the frozen vote counts" in text
    assert "mismatch: “door stood open”" in text


def test_faults_and_absences_are_told() -> None:
    """What went wrong stands where it went wrong."""
    log = Made("judges", [actor("a"), actor("b")], traces=1)
    log.item("t1")
    log.fault("a", "verdict", "malformed", words="`vote` is missing")
    log.absent("b", "verdict")
    text = text_of(log)
    assert "**A**: attempt 1 failed, malformed: \\`vote\\` is missing" in text
    assert "**B**: no answer within 3 attempts; the last one: timeout" in text
    assert "* state: not finished: it was cut short" in text


def test_names_and_texts_are_never_markup() -> None:
    """Nothing that an agent or a case says becomes HTML, a link, a heading or a terminal escape."""
    log = Made("judges", [actor("a", name=HOSTILE), actor("b")], traces=1, title=HOSTILE)
    log.item(HOSTILE, question=HOSTILE, texts={HOSTILE: "x"})
    log.answer("a", "verdict", opinion("accept", 80, reason=HOSTILE))
    log.outcome("independent", "review", None, reason=HOSTILE)
    log.end()
    log.resolve(HOSTILE, "accept")
    text = text_of(log)
    found, _ = read_as(text)
    assert not found & {"html_inline", "html_block", "link_open", "image", "code_block"}
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert text.count("\n## ") == 1


def test_a_large_data_set_is_cut_with_a_count() -> None:
    """The first items in full, the others counted."""
    text = text_of(judges([("accept", "accept", None)] * (transcript.SHOWN + 7)))
    assert text.count("\n## ") == transcript.SHOWN
    assert "And 7 more items" in text


def test_trust_is_told_as_it_was_shown() -> None:
    """What the jurors were shown of earlier runs stands in the transcript."""
    from a2a_trust.sources.jury_events import Trust  # noqa: PLC0415

    log = Made("tribunal", [actor("a")], trust=Trust(mode="all", text="ada: 0.9"))
    assert "> ada: 0.9" in text_of(log)
