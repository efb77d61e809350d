"""The terminal dashboard, driven by its keys.

Screens are compared as text, not as SVG: a screen's text is what a person reads, it can be reviewed in a diff, and it
stays the same when Textual renders its SVG in another way. The footer, which is Textual's own, is left out. To write
the expected screens anew: A2A_TRUST_SNAPSHOTS=write pytest tests/test_dashboard.py.
"""

import os
import re
import shutil
from pathlib import Path

import pytest
from a2a_trust.dashboard import board as boards
from a2a_trust.dashboard import glyphs, overview_rows, row_page
from a2a_trust.dashboard.app import POLL_SECONDS, TrustApp, theme_for
from a2a_trust.dashboard.board import Health, Order, SortKey
from a2a_trust.dashboard.row_page import RowPlace
from a2a_trust.dashboard.screens.base import health_text
from a2a_trust.dashboard.screens.overview import OverviewScreen
from a2a_trust.dashboard.trends import Window
from boards import (
    HOSTILE,
    LONG_NAME,
    NOW,
    agent_rows,
    demo_home,
    drive,
    evidence,
    hostile_home,
    keys,
    many_home,
    record,
    screen_text,
    settle,
    settled,
    shared_home,
    shown,
)
from homes import FIXTURES, ingest
from msgspec import structs
from textual.pilot import Pilot
from typer.testing import CliRunner

from a2a_trust import cli
from a2a_trust.lenses import Lens
from a2a_trust.model import Profile
from a2a_trust.store.audit import Placement

SNAPSHOTS = Path(__file__).parent / "snapshots"
SIZES = {"80x24": (80, 24), "200x60": (200, 60)}
SCREENS = {
    "overview": (),
    "overview-by-tool": ("l", "l", "l"),
    "overview-one-line": ("z",),
    "agent": ("down", "enter"),
    "agent-further": ("down", "enter", "pagedown", "pagedown"),
    "evidence": ("e", "a"),
    "row": ("down", "e", "enter"),
    "compare": ("down", "space", "space", "c"),
    "help": ("question_mark",),
}
HANGS_ON_ALL_ROWS = re.compile(r"\b[0-9a-f]{64}\b|(?<=byte )\d+")
MANY = 10_000


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """A home over the shared logs, and a time an hour after their newest event."""
    home = tmp_path_factory.mktemp("shared") / "home"
    return home, shared_home(home)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with very many agents."""
    home = tmp_path_factory.mktemp("many") / "home"
    many_home(home, MANY)
    return home


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with hostile names."""
    home = tmp_path_factory.mktemp("hostile") / "home"
    hostile_home(home)
    return home


@pytest.fixture
def invented(tmp_path: Path) -> Path:
    """A home with the invented agents."""
    home = tmp_path / "home"
    demo_home(home)
    return home


def check_snapshot(name: str, lines: list[str]) -> None:
    """Compare a screen with the one that was looked at and kept."""
    # The first line says how many rows there are and the head of their chain; hashes and places hang on every row.
    path, text = SNAPSHOTS / f"{name}.txt", HANGS_ON_ALL_ROWS.sub("#", "\n".join(lines[1:]) + "\n")
    if os.environ.get("A2A_TRUST_SNAPSHOTS") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("screen", SCREENS)
def test_each_screen_over_the_shared_logs(
    screen: str, size: str, shared: tuple[Path, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A screen shows what somebody has looked at and found right."""
    find = row_page.find_place

    def find_somewhere(home: Path, placed: Placement) -> RowPlace:
        """The place of a row, but for the folder, which is another one on each machine."""
        return structs.replace(find(home, placed), file="/logs/session.jsonl.zstd")

    monkeypatch.setattr(row_page, "find_place", find_somewhere)
    home, now = shared
    check_snapshot(f"{screen}-{size}", shown(home, *SCREENS[screen], size=SIZES[size], now=now)[:-1])


@pytest.mark.parametrize("size", SIZES)
def test_an_empty_home_says_what_to_run(size: str, tmp_path: Path) -> None:
    """Somebody without a ledger sees the command that makes one, and the offer of invented agents."""
    text = "\n".join(shown(tmp_path, size=SIZES[size]))
    assert "a2a-trust backfill" in text
    assert "invented agents" in text


def test_the_invented_agents_are_one_key_away_and_go_away_again(tmp_path: Path) -> None:
    """The demo fills the overview from a temporary folder, and leaves nothing behind."""
    app = TrustApp(tmp_path / "home", now=lambda: NOW)
    folders: list[Path] = []

    async def script(pilot: Pilot[None], running: TrustApp) -> None:
        await keys("d")(pilot, running)
        assert "researcher" in "\n".join(screen_text(running))
        folders.append(running.home)

    drive(app, (80, 24), script)
    assert not folders[0].exists()
    assert not (tmp_path / "home").exists()


def test_the_overview_begins_by_itself_when_something_is_recorded(tmp_path: Path) -> None:
    """Who starts the dashboard before the first backfill need not start it again."""
    home = tmp_path / "home"
    app = TrustApp(home, now=lambda: NOW)

    async def script(pilot: Pilot[None], running: TrustApp) -> None:
        demo_home(home)
        running.poll()
        await settled(pilot)
        assert isinstance(running.screen, OverviewScreen)

    drive(app, (80, 24), script)


def test_a_damaged_home_is_told_in_words(tmp_path: Path) -> None:
    """Damage is named on the screen, and nothing crashes."""
    demo_home(tmp_path)
    audit = tmp_path / "audit.jsonl"
    audit.write_bytes(audit.read_bytes()[:1000])
    text = "\n".join(shown(tmp_path))
    assert "rows were cut off" in text
    assert "a2a-trust doctor" in text


def test_low_confidence_never_looks_earned(tmp_path: Path) -> None:
    """Few samples are said to be not enough, none at all to be none; a bare 0.5 stands nowhere."""
    record(tmp_path, agent_rows(Profile(name="few"), "+-") + agent_rows(Profile(name="none"), ""))
    text = "\n".join(shown(tmp_path))
    assert "not enough" in text
    assert "no evidence" in text
    assert "0.5 " not in text
    assert "0.50" not in text


# ---------------------------------------------------------------------- many agents


def test_only_what_is_on_the_screen_is_drawn(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten thousand agents cost, when they are sorted, as many drawn lines as the screen has."""
    app, drawn = TrustApp(many, now=lambda: NOW), []
    draw = overview_rows.draw

    def counted(*arguments: object) -> object:
        drawn.append(arguments[0])
        return draw(*arguments)  # type: ignore[arg-type]

    async def script(pilot: Pilot[None], running: TrustApp) -> None:
        monkeypatch.setattr(overview_rows, "draw", counted)
        await keys("s")(pilot, running)
        assert 0 < len(drawn) <= 24 * 4

    drive(app, (80, 24), script)


def test_the_last_of_many_is_reached_with_one_key(many: Path) -> None:
    """The end key shows the last agent, the home key the first again."""
    by_name = ("S",) * list(SortKey).index(SortKey.TOTAL)
    text = "\n".join(shown(many, *by_name, "end"))
    assert f"agent-{MANY - 1:05}" in text
    assert "agent-00000" not in text


def test_filtering_many_shows_those_that_match(many: Path) -> None:
    """Each typed character narrows the list."""
    lines = shown(many, "slash", "type agent-0123")
    names = [line.split()[0] for line in lines if line.strip().startswith("agent-0")]
    assert {name.removesuffix("…")[:10] for name in names if name != "agent-0123"} == {"agent-0123"}
    assert "10 of 10000" in "\n".join(lines)


# ---------------------------------------------------------------------- hostile names


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("presses", [(), ("enter",), ("e", "a"), ("e", "a", "enter"), ("space", "space", "c")])
def test_hostile_names_stay_text(hostile: Path, presses: tuple[str, ...], size: str) -> None:
    """No screen lets a control, an escape or a bidi mark through, and each fits its lines."""
    lines = shown(hostile, *presses, size=SIZES[size])
    text = "".join(lines)
    assert not {char for char in text if char in "\x1b\x07\u202e\u202c\t" or 0xD800 <= ord(char) < 0xE000}
    assert len(lines) == SIZES[size][1]


def test_markup_in_a_name_is_shown_as_it_is(hostile: Path) -> None:
    """Brackets of a name are no markup."""
    text = "\n".join(shown(hostile, size=(200, 60)))
    assert "[b]bold[/b] [@click=app.quit]" in text


def test_a_long_name_is_cut_in_lists_and_whole_on_its_page(hostile: Path) -> None:
    """Three hundred characters take no more room in a list than there is; the agent's page shows them all."""
    overview = shown(hostile, "slash", "type long-name", "enter")
    assert any("…" in line for line in overview)
    page = "".join(line.strip() for line in shown(hostile, "slash", "type long-name", "enter", "enter"))
    assert LONG_NAME in page


@pytest.mark.parametrize("name", HOSTILE[5:7])
def test_wide_names_keep_columns_in_line(hostile: Path, name: str) -> None:
    """East Asian and emoji names push nothing out of its column."""
    lines = shown(hostile, "slash", f"type {name.rsplit(maxsplit=1)[-1]}", size=(200, 60))
    assert any(name.rsplit(maxsplit=1)[-1] in line for line in lines)


# ---------------------------------------------------------------------- what keys do


def names_of(lines: list[str], names: tuple[str, ...]) -> list[str]:
    """The order in which names begin lines."""
    return [word for line in lines for word in line.split()[:2] if word in names]


def test_any_column_can_order_the_list(tmp_path: Path) -> None:
    """By total the better agent comes first; turned around, the worse one."""
    rows = agent_rows(Profile(name="better"), "+" * 9) + agent_rows(Profile(name="worse"), "-" * 9)
    record(tmp_path, rows)
    assert names_of(shown(tmp_path), ("better", "worse")) == ["better", "worse"]
    assert names_of(shown(tmp_path, "r"), ("better", "worse")) == ["worse", "better"]


@pytest.mark.parametrize("key", SortKey)
def test_every_order_keeps_every_agent(invented: Path, key: SortKey) -> None:
    """No order loses an agent, and what has no number comes last in both directions."""
    board = boards.load(invented)
    for ascending in (False, True):
        found = boards.select(board, "", Order(key, ascending=ascending), Window.DAY, NOW)
        assert sorted(signal.key for signal in found) == sorted(signal.key for signal in board.signals)
    if key is SortKey.TOTAL:
        assert found[-1].total is None


def test_a_title_can_be_clicked_to_sort(invented: Path) -> None:
    """The mouse orders as the key does: a click on the title, another to turn it around."""
    app = TrustApp(invented, now=lambda: NOW)

    async def script(pilot: Pilot[None], running: TrustApp) -> None:
        for ascending in (False, True):
            await pilot.click("#agents", offset=(20, 0))
            await settled(pilot)
            screen = running.screen
            assert isinstance(screen, OverviewScreen)
            assert screen.order == Order(SortKey.COMPETENCE, ascending=ascending)

    drive(app, (80, 24), script)


def test_a_row_can_be_clicked_to_open_it(invented: Path) -> None:
    """The first click puts the cursor on an agent, the second opens it."""
    app = TrustApp(invented, now=lambda: NOW)

    async def script(pilot: Pilot[None], running: TrustApp) -> None:
        for _ in range(2):
            await pilot.click("#agents", offset=(5, 3))
            await settled(pilot)
        assert type(running.screen).__name__ == "AgentScreen"

    drive(app, (80, 24), script)


def test_every_action_is_in_the_command_palette(invented: Path) -> None:
    """Whoever has only a mouse finds each action of a screen in the palette."""
    app = TrustApp(invented, now=lambda: NOW)
    offered = {command.title for command in app.get_system_commands(OverviewScreen())}
    wanted = {binding.description for binding in OverviewScreen.BINDINGS if not isinstance(binding, tuple)}
    assert wanted <= offered


def test_the_lens_folds_by_another_key(shared: tuple[Path, int]) -> None:
    """By name, model, tool, project and source the same rows are shown under other keys."""
    home, now = shared
    texts = {lens: "\n".join(shown(home, *("l",) * place, now=now)) for place, lens in enumerate(Lens)}
    assert "bash" in texts[Lens.TOOL]
    assert "script-1" in texts[Lens.MODEL]
    assert "/home/dev" in texts[Lens.PROJECT]


def test_evidence_is_filtered_while_typing(invented: Path) -> None:
    """Only rows that hold what was typed are left."""
    lines = shown(invented, "e", "a", "slash", "type kind:tool-error dim:comp", size=(120, 40))
    rows = [line for line in lines if line.startswith("20")]
    assert rows
    assert all("tool-error" in line for line in rows)


def test_a_row_shows_its_line_and_its_link(shared: tuple[Path, int]) -> None:
    """Evidence leads to the line of the log that it comes from, and to its place in the chain."""
    home, now = shared
    text = "\n".join(shown(home, "e", "a", "enter", size=(200, 60), now=now))
    assert '"seq":' in text
    assert "The chain holds here." in text


def test_better_is_said_only_where_intervals_do_not_overlap(tmp_path: Path) -> None:
    """Of forty good calls against forty bad ones it is said, of three against three it is not."""
    far = agent_rows(Profile(name="good"), "+" * 40) + agent_rows(Profile(name="bad"), "-" * 40)
    record(tmp_path / "far", far)
    near = agent_rows(Profile(name="good"), "+" * 3) + agent_rows(Profile(name="bad"), "-+-")
    record(tmp_path / "near", near)
    mark_both = ("space", "space", "c")
    assert "A good is better than B bad" in "\n".join(shown(tmp_path / "far", *mark_both))
    text = "\n".join(shown(tmp_path / "near", *mark_both))
    assert "is better than" not in text
    assert "cannot tell yet: the intervals overlap" in text


@pytest.mark.parametrize(
    ("environ", "theme"),
    [
        ({}, "textual-dark"),
        ({"COLORFGBG": "0;15"}, "textual-light"),
        ({"COLORFGBG": "15;0"}, "textual-dark"),
        ({"TEXTUAL_THEME": "nord"}, "nord"),
        ({"TEXTUAL_THEME": "ansi-dark"}, "ansi-dark"),
        ({"TEXTUAL_THEME": "ansi-dark", "NO_COLOR": "1"}, "textual-dark"),
        ({"TEXTUAL_THEME": "ansi-light", "NO_COLOR": "1"}, "textual-light"),
    ],
)
def test_the_theme_suits_the_terminal(environ: dict[str, str], theme: str) -> None:
    """A terminal that says it is light gets the light theme."""
    assert theme_for(environ) == theme


@pytest.mark.parametrize("theme", ["textual-light", "ansi-dark", "ansi-light"])
def test_other_themes_show_the_same(invented: Path, theme: str) -> None:
    """No information is in the colours alone."""
    texts = []
    for chosen in ("textual-dark", theme):
        app = TrustApp(invented, now=lambda: NOW, theme=chosen)

        async def script(_: Pilot[None], running: TrustApp) -> None:
            texts.append(screen_text(running)[:-1])

        drive(app, (80, 24), script)
    assert texts[0] == texts[1]


def test_without_a_terminal_there_is_no_dashboard(tmp_path: Path) -> None:
    """In a pipe or a job it ends at once and names what to use instead."""
    done = CliRunner().invoke(cli.app, ["dashboard", "--home", str(tmp_path)])
    assert "needs a terminal" in str(done.exception)


# ---------------------------------------------------------------------- following, and never writing


def contents(home: Path) -> dict[str, tuple[bytes, int]]:
    """Every file of a home, byte by byte, and when it was written."""
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in sorted(home.iterdir())}


def plant(root: Path, logs: dict[Path, bytes]) -> None:
    """Write session logs below a folder."""
    for name, data in logs.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)


def test_the_overview_follows_a_writer(tmp_path: Path) -> None:
    """When a session log grows and is ingested, its agents' numbers change on the screen without a key."""
    logs, home = tmp_path / "logs", tmp_path / "home"
    whole = {path.relative_to(FIXTURES): path.read_bytes() for path in (FIXTURES / "g-raw").rglob("*.jsonl")}
    assert whole
    plant(logs, {path: data[: data.index(b"\n", len(data) // 2) + 1] for path, data in whole.items()})
    ingest(home, logs)
    app = TrustApp(home)
    assert POLL_SECONDS <= 1

    async def script(pilot: Pilot[None], running: TrustApp) -> None:
        before = [line for line in screen_text(running) if "/" in line][3:]
        plant(logs, whole)
        ingest(home, logs)
        written = contents(home)
        for _ in range(200):
            await pilot.pause(0.05)
            now = [line for line in screen_text(running) if "/" in line][3:]
            if now != before:
                break
        await settled(pilot)
        assert now != before
        assert contents(home) == written

    drive(app, (80, 24), script)


def test_a_log_that_grew_is_told(tmp_path: Path) -> None:
    """Who forgets to run backfill sees it; after it, all is up to date again."""
    logs, home = tmp_path / "logs", tmp_path / "home"
    whole = {path.relative_to(FIXTURES): path.read_bytes() for path in (FIXTURES / "g-raw").rglob("*.jsonl")}
    plant(logs, {path: data[: data.index(b"\n", len(data) // 2) + 1] for path, data in whole.items()})
    ingest(home, logs)
    app = TrustApp(home)

    async def script(pilot: Pilot[None], running: TrustApp) -> None:
        assert "up to date" in screen_text(running)[0]
        plant(logs, whole)
        running.look_at_logs()
        await settled(pilot)
        assert f"! {len(whole)} logs grew" in screen_text(running)[0]
        ingest(home, logs)
        running.poll()
        await settled(pilot)
        assert "up to date" in screen_text(running)[0]

    drive(app, (80, 24), script)


def test_nothing_is_written_to_the_home(tmp_path: Path) -> None:
    """A tour through all screens leaves a read-only home as it was, byte by byte."""
    home = tmp_path / "home"
    now = shared_home(home)
    before = contents(home)
    for path in home.iterdir():
        path.chmod(0o400)
    home.chmod(0o500)
    try:
        tour = ("enter", "escape", "e", "a", "enter", "escape", "escape", "l", "l", "space", "space", "c", "v")
        text = "\n".join(shown(home, *tour, size=(200, 60), now=now))
        assert "chain ok" in text
        assert contents(home) == before
    finally:
        home.chmod(0o700)


def test_new_evidence_arrives_while_it_is_looked_at(tmp_path: Path) -> None:
    """The list of evidence grows at its top; the cursor stays on its row."""
    profile = Profile(name="agent")
    record(tmp_path, agent_rows(profile, "+" * 30))
    app = TrustApp(tmp_path, now=lambda: NOW)

    async def script(pilot: Pilot[None], running: TrustApp) -> None:
        await keys("e", "a", "down", "down")(pilot, running)
        screen = running.screen
        looked_at = screen.query_one("#rows").selected.row.id  # type: ignore[attr-defined]
        record(tmp_path, [evidence(profile, 99, good=False, time=NOW + 1)])
        settle(tmp_path, NOW)
        running.poll()
        await settled(pilot)
        grid = screen.query_one("#rows")
        assert grid.items[0].row.seq == 99  # type: ignore[attr-defined]
        assert grid.selected.row.id == looked_at  # type: ignore[attr-defined]

    drive(app, (80, 24), script)


def test_a_broken_chain_is_told(tmp_path: Path) -> None:
    """A row that was altered behind our back shows in the health line."""
    home = tmp_path / "home"
    demo_home(home)
    audit = home / "audit.jsonl"
    lines = audit.read_bytes().split(b"\n")
    lines[100] = lines[100].replace(b"tool", b"fool", 1)
    audit.write_bytes(b"\n".join(lines))
    assert "BROKEN" in "\n".join(shown(home, size=(200, 60)))


def health_of_three(chain: str, width: int, grown: int = 0) -> str:
    """The health line over three sources."""
    health = Health(
        sessions={"claude-code": 120, "dsh": 44, "openhands": 19},
        ingested=NOW - 300_000,
        rows=1_234_567,
        head="4649e0f" + "0" * 57,
        newest=NOW + 36_000_000,
        behind=0,
    )
    return health_text(health, grown, chain, NOW, width).plain


def test_the_health_line_fits_where_there_are_three_sources() -> None:
    """At 80 columns the sources are counted together, and the chain is still in the line."""
    line = health_of_three("ok", 78)
    assert line.startswith("● up to date · 183 logs · ")
    assert line.endswith("newest in 10h · 1234567 rows · 4649e0f chain ok")
    assert len(line) <= 78
    assert "claude-code 120, dsh 44, openhands 19 session logs" in health_of_three("ok", 198)


@pytest.mark.parametrize("width", [40, 78, 118, 198])
@pytest.mark.parametrize("grown", [0, 12])
def test_a_broken_chain_comes_first(width: int, grown: int) -> None:
    """At any width a broken chain begins the line, with the head of the log and no mark of soundness."""
    line = health_of_three("BROKEN: row 100 does not name the row before it, but another one", width, grown)
    assert line.startswith("! chain BROKEN · ")
    assert "head 4649e0f" in line
    assert "●" not in line
    assert "up to date" not in line
    assert len(line) <= max(width, 60 if grown else 0)
    assert ("row 100" in line) == (width > 40)


def test_a_broken_chain_is_told_at_80_columns(tmp_path: Path) -> None:
    """The smallest screen begins with it too."""
    home = tmp_path / "home"
    demo_home(home)
    audit = home / "audit.jsonl"
    audit.write_bytes(audit.read_bytes().replace(b"tool", b"fool", 1))
    assert shown(home)[0].strip().startswith("! chain BROKEN")


def test_times_ahead_of_the_clock_are_told() -> None:
    """An event of a clock that was wrong is neither of this moment nor past."""
    assert glyphs.age(NOW + 36_000_000, NOW) == "in 10h"
    assert glyphs.ago(NOW + 36_000_000, NOW) == "in 10h"
    assert glyphs.ago(NOW - 36_000_000, NOW) == "10h ago"
    assert glyphs.ago(NOW + 1, NOW) == "0s ago"
    assert glyphs.ago(0, NOW) == "–"


@pytest.mark.parametrize("name", ["", "   ", "\u3000", "\u2800\u200d"])
def test_a_blank_name_is_shown(name: str) -> None:
    """What cannot be seen is named; a name with a space in it is left alone."""
    assert glyphs.named(name) == "(blank)"
    assert glyphs.named(f"a{name}b") == f"a{name}b"


def test_a_blank_name_is_in_the_list(tmp_path: Path) -> None:
    """An agent without a visible name has a cell that says so, on each screen."""
    record(tmp_path, agent_rows(Profile(name="   "), "+" * 9))
    for presses in ((), ("enter",), ("e",)):
        assert "(blank)" in "\n".join(shown(tmp_path, *presses))


def test_a_home_that_vanishes_leaves_what_was_read(tmp_path: Path) -> None:
    """What was read stays on the screen when the files go away under it."""
    home = tmp_path / "home"
    demo_home(home)
    app = TrustApp(home, now=lambda: NOW)

    async def script(pilot: Pilot[None], running: TrustApp) -> None:
        shutil.rmtree(home)
        running.poll()
        await settled(pilot)
        assert "researcher" in "\n".join(screen_text(running))

    drive(app, (80, 24), script)
