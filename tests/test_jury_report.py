"""`report.html`: one page with all numbers, nothing of a name as markup, no script, and small."""

from __future__ import annotations

from html.parser import HTMLParser

from jurylogs import Log as Made
from jurylogs import actor, judges, opinion, tribunal

from a2a_trust.jury import report
from a2a_trust.jury.fold import fold
from a2a_trust.jury.summary import summarise

HOSTILE = "<img src=x onerror=alert(1)>'\"&\x1b[31m\u202e</style></title>"
MOST_BYTES = 2_000_000


class Page(HTMLParser):
    """Elements and text of a page."""

    def __init__(self, text: str) -> None:
        """Read a page."""
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        """Note text."""
        self.text += data


def page_of(log: Made) -> tuple[str, Page]:
    """The report of a log, and what a browser makes of it."""
    run, summary = summarise(log.lines())
    text = b"".join(report.chunks(run, summary, fold(log.lines()))).decode()
    return text, Page(text)


def test_a_report_needs_nothing_else() -> None:
    """No script, no address, no form; the policy of the page forbids all of it."""
    text, page = page_of(tribunal())
    assert not {name for name, _ in page.elements} & {"script", "link", "img", "iframe", "form", "a", "object"}
    assert "://" not in text
    policies = [attrs["content"] for name, attrs in page.elements if name == "meta" and "http-equiv" in attrs]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"]


def test_a_report_tells_the_outcome_and_how_it_came_about() -> None:
    """Outcome, votes, every juror at every stage, what did not hold, and the head of the log."""
    _, page = page_of(tribunal())
    for told in (
        "star: guilty.", "guilty 3, not guilty 0", "round 1", "as is known to be true", "door stood open",
        "seal_broken 1", "50 % (1 of 2)", "N/A: nothing was cited", "5 of 5 who take part are test doubles",
        list(tribunal().lines())[-1][0],
    ):  # fmt: skip
        assert told in page.text, told


def test_names_and_texts_are_never_markup() -> None:
    """Whatever an agent or a case says stays text, and reaches no terminal as a control."""
    log = Made("judges", [actor("a", name=HOSTILE, model=HOSTILE), actor("b")], traces=1, title=HOSTILE)
    log.item(HOSTILE, question=HOSTILE)
    log.answer("a", "verdict", opinion("accept", 80, reason=HOSTILE))
    log.cite("a", HOSTILE, "mismatch")
    log.fault("b", "verdict", "malformed", words=HOSTILE)
    log.outcome("independent", "review", None, reason=HOSTILE)
    log.end()
    log.resolve(HOSTILE, "accept")
    text, page = page_of(log)
    assert "img" not in {name for name, _ in page.elements}
    assert not {key for _, attrs in page.elements for key in attrs if key.startswith("on")}
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert page.text.count("<img src=x onerror=alert(1)>") > 5


def test_a_large_data_set_stays_small() -> None:
    """The first items are shown, and how many there are."""
    text, page = page_of(judges([("accept", "reject", None)] * 1000))
    assert text.count("<section>") == report.SHOWN
    assert f"The first {report.SHOWN} are shown" in page.text
    assert "1000 items: 0 agreed, 1000 for a person (1000 still wait)" in page.text
    assert len(text) < MOST_BYTES


def test_an_unfinished_run_says_so() -> None:
    """The headline tells that it was cut short, and what is missing."""
    log = judges()
    log.events.pop()
    _, page = page_of(log)
    assert "Not finished: it has not come to its end. 1 answers are missing." in page.text
