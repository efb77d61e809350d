"""Whatever names and texts in logs hold, a terminal gets no escape and JSON stays JSON."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pytest
from commandline import WIDE, Done, agents_in, named
from dshlog import LogBuilder
from homes import FIXTURES, ingest
from make_fixtures import T

from a2a_trust.lenses import Lens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

OURS = re.compile(r"\x1b\[(?:0|1|2|33|2;33|1;2|1;33)?m")
"""The colours that tables use: bold, dim, yellow. None of the hostile names has these."""
CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
EVIL = "\x1b[31m\x1b]0;title\x07\x9b5m\x7f\u202e\u2028[bold]x[/]\r\n"
"""Colours, a window title, both forms of CSI, a deletion, a direction, line ends, markup."""


def raw_controls(text: str) -> list[str]:
    """Characters that would do something to a terminal, other than our own line ends and colours."""
    return CONTROLS.findall(OURS.sub("", text))


@pytest.fixture(scope="module")
def evil_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home over the hostile names of the fixtures, and over logs in which every text is hostile."""
    root = tmp_path_factory.mktemp("evil")
    boss = LogBuilder(f"session-{EVIL}", created_at=T, cwd=f"/home/dev/{EVIL}")
    boss.end_seed()
    boss.turn_start()
    boss.spawn("evil-mate", f"mate {EVIL}", f"Does {EVIL}.", provider=f"by {EVIL}", context=f"in {EVIL}")
    boss.task(f"task {EVIL}", 1, "in_progress", "evil-mate")
    member = LogBuilder("evil-mate", created_at=boss.now, parent=boss.session, origin="subagent")
    member.descriptor(f"Does {EVIL}.")
    member.end_seed()
    member.turn_start()
    member.step()
    member.later(5).assistant("On it.", model=f"model {EVIL}")
    member.later(5).tool(f"tool {EVIL}", call := "ok")
    member.later(5).tool(f"tool {EVIL}", f"Error: {EVIL}", is_error=True)
    member.later(5).tool("bash", f"Error {EVIL} happened", is_error=True)
    member.later(5).tool("read", call, is_error=True, code=f"CODE {EVIL}")
    boss.later(50).task(f"task {EVIL}", 2, "completed", "evil-mate")
    boss.queued("evil-mate", f"mate {EVIL}", boss.session, message=f"message {EVIL}")
    paths = [root / "logs" / name / "session.jsonl" for name in ("boss", "mate")]
    for path, log in zip(paths, (boss, member), strict=True):
        path.parent.mkdir(parents=True)
        path.write_bytes(log.lines())
    ingest(root / "home", root / "logs", FIXTURES / "made-names")
    return root / "home"


def every_look(keys: Sequence[str]) -> list[list[str]]:
    """Every way of looking at a home with these agents."""
    return [
        ["show"],
        *(["show", "--by", lens] for lens in Lens),
        *(["show", key] for key in keys),
        *(["explain", key, "--limit", "0"] for key in keys),
        ["policy"],
        ["policy", "--set", "seed", "--preview"],
        ["doctor"],
        ["show", f"nobody {EVIL}"],
        ["show", "mate"],
        ["show", "nobody", "--by", "tool"],
        ["show", "nobody", "--by", "model"],
        ["show", "nobody", "--by", "project"],
        ["show", f"mate {EVIL}", "--by", "name"],
        ["show", f"tool {EVIL}", "--by", "tool"],
        ["explain", "main", f"{EVIL}"],
    ]


@pytest.mark.parametrize("coloured", [False, True], ids=["plain", "coloured"])
@pytest.mark.parametrize("columns", ["80", "200"])
def test_nothing_hostile_reaches_the_terminal(
    run: Callable[..., Done], evil_home: Path, monkeypatch: pytest.MonkeyPatch, columns: str, *, coloured: bool
) -> None:
    """Whatever stands in names, tools, models, tasks or failures, no command prints a character that does something."""
    if coloured:
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("TERM", "xterm-256color")
    keys = list(agents_in(run("show", "--json", "--by", "fingerprint", home=evil_home)))
    raw = {}
    for arguments in every_look(keys):
        done = run(*arguments, home=evil_home, columns=columns)
        if found := raw_controls(done.out + done.err):
            raw[" ".join(arguments)] = found
    assert raw == {}


def test_colours_are_ours_alone(run: Callable[..., Done], evil_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above looks at coloured output: there are colours in it."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert OURS.search(run("show", home=evil_home).out)


def test_markup_in_names_stays_text(run: Callable[..., Done], home_of: Callable[..., Path]) -> None:
    """What looks like the markup of a table is printed letter by letter."""
    out = run("show", "--by", "name", home=home_of("made-names"), columns=WIDE).out
    assert "[bold red]coder[/] <script>al" in out


@pytest.mark.parametrize(
    "arguments", [["show", "--json"], ["explain", "main", "--json"], ["doctor", "--json"]], ids=named
)
def test_json_has_no_raw_control(run: Callable[..., Done], evil_home: Path, arguments: list[str]) -> None:
    """JSON may be printed on a terminal too: what is a control character stands as its escape, and reads back."""
    done = run(*arguments, home=evil_home)
    assert re.findall("[\x00-\x09\x0b-\x1f\x7f-\x9f]", done.out) == []
    assert done.json()


def test_json_keeps_names_as_they_are(run: Callable[..., Done], evil_home: Path) -> None:
    """Scripts get the name itself, not how it is shown."""
    agents = agents_in(run("show", "--json", "--by", "fingerprint", home=evil_home))
    assert f"mate {EVIL}" in {agent["name"] for agent in agents.values()}


def test_a_run_over_hostile_logs_prints_nothing_hostile(
    run: Callable[..., Done], evil_home: Path, tmp_path: Path
) -> None:
    """The summary of a run names places and reasons, never with a character that does something."""
    shutil.copytree(evil_home.parent / "logs", tmp_path / "logs" / "evil \x1b[31m\u202e")
    (tmp_path / "logs" / "evil \x1b[31m\u202e" / "boss" / "session.v9.jsonl").write_bytes(b"")
    broken = tmp_path / "logs" / "broken \x9b" / "session.jsonl"
    broken.parent.mkdir()
    broken.write_bytes(b"no log")
    done = run("backfill", tmp_path / "logs")
    assert ("newer-format 1" in done.out, raw_controls(done.out + done.err)) == (True, [])
