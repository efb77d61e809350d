"""The report: the same numbers as everywhere, nothing of a name as markup, and small."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from a2a_trust.dashboard import board as boards
from a2a_trust.dashboard.report import Asked, make_report
from boards import (
    HOSTILE,
    NOW,
    agent_rows,
    demo_home,
    hostile_home,
    many_home,
    msgspec_safe,
    record,
    shared_home,
    shown,
)
from typer.testing import CliRunner

from a2a_trust.cli import app
from a2a_trust.errors import UsageError
from a2a_trust.lenses import Lens
from a2a_trust.model import DIMENSIONS, Profile
from a2a_trust.text import safe, when

MOST_BYTES = 5_000_000


class Page(HTMLParser):
    """What a browser would make of a page: its elements, and its text."""

    def __init__(self, text: str) -> None:
        """Read a page."""
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.cells: list[list[str]] = []
        self._in_cell = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.elements.append((tag, dict(attrs)))
        if tag == "tr":
            self.cells.append([])
        if tag in {"td", "th"} and self.cells:
            self.cells[-1].append("")
            self._in_cell = True

    def handle_endtag(self, tag: str) -> None:
        """Leave a cell."""
        if tag in {"td", "th"}:
            self._in_cell = False

    def handle_data(self, data: str) -> None:
        """Note a text."""
        self.texts.append(data)
        if self._in_cell:
            self.cells[-1][-1] += data


def page_of(home: Path, lens: Lens | None = None, agents: list[str] | None = None, since: int = 0) -> str:
    """The report of a home."""
    return make_report(home, boards.load(home, lens), Asked(agents=agents or [], since=since))


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A home over the shared logs."""
    home = tmp_path_factory.mktemp("shared") / "home"
    return home, shared_home(home)


def command(*arguments: str | Path) -> str:
    """What a command prints."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def test_screen_report_and_json_give_the_same_numbers(shared: tuple[Path, int]) -> None:
    """Value, samples, rate, interval and total of every agent are the same in all three."""
    home, now = shared
    agents = json.loads(command("show", "--json", "--by", "fingerprint", "--home", home))["agents"]
    rows = [cells for cells in Page(page_of(home, Lens.FINGERPRINT)).cells if len(cells) == 9]
    lines = shown(home, size=(200, 60), now=now)
    assert len(agents) == 9
    for agent in agents:
        wanted = [_numbers(agent["dimensions"][dim]) for dim in DIMENSIONS]
        total = agent["total"]
        (row,) = [cells for cells in rows if re.match(rf"{agent['name']}\b|{agent['name']}(teammate|main)", cells[0])]
        at = next(place for place, line in enumerate(lines) if agent["name"] in line.split()[:2])
        screen = f"{lines[at]}\n{lines[at + 1]}"
        for cell, (value, rate) in zip(row[1:5], wanted, strict=True):
            assert value in cell
            assert rate in cell
            assert value in screen
            assert rate in screen
        assert row[5].strip() == ("not enough" if total is None else str(total))
        assert ("–" if total is None else f"{total:.3f}") in lines[at]


def _numbers(dimension: dict[str, float | None]) -> tuple[str, str]:
    """Value with samples, and rate with interval, as they are shown."""
    if dimension["value"] is None:
        return "no evidence", ""
    value = f"{dimension['value']:.3f}/{dimension['samples']}"
    if dimension["confidence"] == "low":
        return value, "not enough"
    low, rate, high = (f"{(dimension[name] or 0) * 100:.0f}" for name in ("low", "rate", "high"))
    return value, f"{rate}% {low}–{high}"


def test_a_hostile_name_is_text(tmp_path: Path) -> None:
    """Names make no element and no attribute, and stand in the page as they are."""
    hostile_home(tmp_path)
    page = Page(page_of(tmp_path))
    assert {"img"}.isdisjoint(tag for tag, _ in page.elements)
    assert [tag for tag, _ in page.elements].count("script") == 1
    assert not [name for _, attrs in page.elements for name in attrs if name.startswith("on")]
    for name in HOSTILE:
        assert safe(msgspec_safe(name)) in page.texts


def test_nothing_but_the_file_is_needed(shared: tuple[Path, int]) -> None:
    """No element points anywhere but into the page, and the page itself forbids all requests."""
    home, _ = shared
    page = Page(page_of(home))
    links = [attrs.get(name) or "" for _, attrs in page.elements for name in ("href", "src") if name in attrs]
    assert links
    assert all(link.startswith("#") for link in links)
    (policy,) = [attrs["content"] for _, attrs in page.elements if attrs.get("http-equiv")]
    assert (policy or "").startswith("default-src 'none'")


def test_every_link_leads_somewhere(shared: tuple[Path, int]) -> None:
    """What a link names is in the page, once."""
    home, _ = shared
    page = Page(page_of(home))
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert {(attrs["href"] or "")[1:] for _, attrs in page.elements if "href" in attrs} <= set(ids)


def test_the_provenance_stands_in_the_report(shared: tuple[Path, int]) -> None:
    """Policy, rows, head and what the numbers are not; but not where the home lies."""
    home, _ = shared
    text, provenance = page_of(home), boards.load(home).provenance
    assert provenance.head in text
    assert f"{provenance.rows} rows" in text
    assert "standard" in text
    assert "a probability" in text
    assert str(home) not in text


def test_a_report_can_be_of_one_agent(shared: tuple[Path, int], tmp_path: Path) -> None:
    """With --agent the others are left out, from the evidence too."""
    home, _ = shared
    command("report", "-o", tmp_path / "one.html", "--agent", "reviewer", "--home", home)
    page = Page((tmp_path / "one.html").read_text(encoding="utf-8"))
    assert len([1 for tag, attrs in page.elements if tag == "section" and attrs.get("class") == "agent"]) == 1
    assert "implementer" not in {text.strip() for text in page.texts}


def test_a_report_can_begin_at_a_time(tmp_path: Path) -> None:
    """With a time, evidence before it is not listed."""
    demo_home(tmp_path)
    hour = 3_600_000
    text = page_of(tmp_path, since=NOW - 24 * hour)
    times = re.findall(r"<tr><td>(\d{4}-\d\d-\d\d \d\d:\d\d)", text)
    assert times
    assert min(times) >= when(NOW - 24 * hour)


@pytest.mark.parametrize(("since", "ms"), [("24h", 24), ("7d", 168)])
def test_since_is_read_as_a_span(since: str, ms: int) -> None:
    """Hours and days count back from the newest event."""
    assert boards.parse_since(since, NOW) == NOW - ms * 3_600_000


def test_since_is_read_as_a_date() -> None:
    """A date without a zone is in UTC."""
    assert boards.parse_since("2026-11-30", NOW) == 1_795_996_800_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--since", "soon"], "give hours"),
        (["--agent", "nobody-of-this-name"], "no agent is named"),
        (["-o", "/no/such/folder/report.html"], "give a file that can be written"),
    ],
)
def test_a_wrong_option_is_told_in_words(
    shared: tuple[Path, int], tmp_path: Path, arguments: list[str], message: str
) -> None:
    """What cannot be done is said in one line that says what can."""
    home, _ = shared
    done = CliRunner().invoke(app, ["report", "-o", str(tmp_path / "r.html"), "--home", str(home), *arguments])
    assert message in str(done.exception)


def refused(home: Path, file: Path) -> str:
    """Why a report is not written to a file."""
    done = CliRunner().invoke(app, ["report", "-o", str(file), "--home", str(home)])
    assert isinstance(done.exception, UsageError)
    return str(done.exception)


@pytest.mark.parametrize("name", ["audit.jsonl", "new.html", "folder/new.html"])
def test_a_report_is_not_written_into_the_home(tmp_path: Path, name: str) -> None:
    """Neither the ledger nor anything beside it is a place for a report, by no way there."""
    home, link = tmp_path / "home", tmp_path / "link"
    demo_home(home)
    link.symlink_to(home)
    before = {path: path.read_bytes() for path in home.iterdir()}
    assert "in the home" in refused(home, home / name)
    assert "in the home" in refused(home, link / name)
    assert "in the home" in refused(link, home / name)
    assert {path: path.read_bytes() for path in home.iterdir()} == before


def test_a_report_replaces_only_a_report(tmp_path: Path) -> None:
    """A file of somebody's stays as it is, an earlier report is written anew, and nothing is left beside it."""
    home, folder = tmp_path / "home", tmp_path / "folder"
    demo_home(home)
    folder.mkdir()
    file, report = folder / "thesis.html", folder / "trust.html"
    file.write_text("<!doctype html>\n<title>Thesis</title>", encoding="utf-8")
    assert "no report" in refused(home, file)
    assert "not a regular file" in refused(home, folder)
    command("report", "-o", report, "--home", home)
    whole = report.read_bytes()
    report.write_bytes(whole[:2000])
    report.chmod(0o600)
    command("report", "-o", report, "--home", home)
    assert report.read_bytes() == whole
    assert report.stat().st_mode & 0o777 == 0o600
    assert file.read_text(encoding="utf-8").endswith("Thesis</title>")
    assert sorted(folder.iterdir()) == [file, report]


def test_a_blank_name_can_be_seen(tmp_path: Path) -> None:
    """An agent whose name is only spaces has a link to click, and a cell that says so."""
    record(tmp_path, agent_rows(Profile(name="   "), "+" * 9))
    page = Page(page_of(tmp_path, Lens.FINGERPRINT))
    assert page.texts.count("(blank)") >= 3
    assert not [text for text in page.texts if text and set(text) == {" "} and len(text) == 3]
    assert "(blank)" in command("show", "--by", "fingerprint", "--home", tmp_path)


def test_a_thousand_agents_make_a_small_file(tmp_path: Path) -> None:
    """A thousand agents, each with more evidence than is drawn, stay below five megabytes."""
    many_home(tmp_path, 1000, evidence_each=64)
    assert len(page_of(tmp_path, Lens.FINGERPRINT).encode()) < MOST_BYTES
