"""The report in a real browser. `make test-browser` runs these; they need Debian's chromium, or another one on PATH."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from boards import HOSTILE, hostile_home, many_home, msgspec_safe, shared_home
from playwright.sync_api import BrowserContext, Page, sync_playwright
from test_report import page_of

from a2a_trust.lenses import Lens
from a2a_trust.text import safe

pytestmark = pytest.mark.browser

BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
SERIOUS = {"serious", "critical"}
SHOTS = os.environ.get("A2A_TRUST_SHOTS")
"""A folder for screenshots, for those who want to look at them."""


def browser_path() -> str:
    """Where a browser lies that can be driven."""
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    assert found, "no browser: apt-get install chromium, or name one: CHROMIUM=/path/to/chromium"
    return found


@pytest.fixture(scope="module")
def browser() -> Iterator[BrowserContext]:
    """A browser with a profile of its own, empty and soon gone."""
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as profile:
        context = playwright.chromium.launch_persistent_context(
            profile, executable_path=browser_path(), args=FLAGS, headless=True
        )
        yield context
        context.close()


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Reports over the shared logs, over hostile names, and over many agents."""
    folder = tmp_path_factory.mktemp("reports")
    shared_home(folder / "shared")
    hostile_home(folder / "hostile")
    many_home(folder / "many", 300)
    made = {}
    for name in ("shared", "hostile", "many"):
        made[name] = folder / f"{name}.html"
        made[name].write_text(page_of(folder / name, Lens.FINGERPRINT), encoding="utf-8")
    return made


@pytest.fixture
def page(browser: BrowserContext) -> Iterator[Page]:
    """A new tab."""
    tab = browser.new_page()
    yield tab
    tab.close()


@pytest.mark.parametrize("report", ["shared", "hostile", "many"])
def test_nothing_is_asked_of_any_network_and_nothing_goes_wrong(
    page: Page, reports: dict[str, Path], report: str
) -> None:
    """Opening the file is the only request, and the console stays empty."""
    requests: list[str] = []
    told: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.on("dialog", lambda dialog: told.append(dialog.message))
    page.goto(reports[report].as_uri())
    page.wait_for_load_state("networkidle")
    assert requests == [reports[report].as_uri()]
    assert told == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("report", ["shared", "hostile"])
def test_axe_finds_no_serious_fault(
    browser: BrowserContext, reports: dict[str, Path], report: str, size: dict[str, int], scheme: str
) -> None:
    """With the details open, too, in both schemes and at both sizes."""
    page = browser.new_page()
    page.set_viewport_size(size)  # type: ignore[arg-type]
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(reports[report].as_uri())
    page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
    # axe is put in from outside, where the page's own policy does not reach.
    found = Axe().run(page).response["violations"]
    if SHOTS:
        page.evaluate("for (const part of document.querySelectorAll('details')) part.open = false")
        page.screenshot(path=f"{SHOTS}/report-{report}-{size['width']}-{scheme}.png", full_page=True)
    page.close()
    assert [(fault["id"], fault["nodes"][0]["html"]) for fault in found if fault["impact"] in SERIOUS] == []


def test_a_hostile_name_is_shown_as_text(page: Page, reports: dict[str, Path]) -> None:
    """A reader sees the name itself, and the browser has made nothing of it."""
    page.goto(reports["hostile"].as_uri())
    shown = page.locator("#agents tbody th a").all_inner_texts()
    assert sorted(shown) == sorted([*(safe(msgspec_safe(name)).strip() for name in HOSTILE), "plain"])
    assert page.locator("img").count() == 0


@pytest.mark.parametrize("report", ["shared", "hostile", "many"])
def test_a_phone_need_not_scroll_sideways(page: Page, reports: dict[str, Path], report: str) -> None:
    """Only tables scroll, inside themselves."""
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    page.goto(reports[report].as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_the_list_can_be_filtered_and_sorted_with_the_keyboard(page: Page, reports: dict[str, Path]) -> None:
    """Typing narrows the table, Enter on a title orders it, and both are told to a screen reader."""
    page.goto(reports["many"].as_uri())
    page.locator("#filter").focus()
    page.keyboard.type("agent-0001")
    assert page.locator("#agents tbody tr:visible").count() == 10
    assert page.locator("#told").inner_text() == "10 of 300"
    page.locator("#agents thead button").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("#agents thead th").first.get_attribute("aria-sort") == "descending"
    names = page.locator("#agents tbody tr:visible th a").all_inner_texts()
    assert names == sorted(names, reverse=True)


def test_without_scripts_everything_is_there(browser: BrowserContext, reports: dict[str, Path]) -> None:
    """A mail client or a strict browser shows the whole report; only filter and sorting are missing."""
    page = browser.new_page()
    text = reports["shared"].read_text(encoding="utf-8")
    page.set_content(text[: text.index("<script>")])
    assert page.locator("#agents tbody tr").count() == 9
    assert not page.locator("#filter").is_visible()
    page.close()


def test_print_shows_every_agent(page: Page, reports: dict[str, Path]) -> None:
    """On paper nothing is hidden behind a scroll bar, and what needs a script is left out."""
    page.emulate_media(media="print")
    page.goto(reports["shared"].as_uri())
    assert page.locator("section.agent").count() == 9
    assert not page.locator("#filter").is_visible()
