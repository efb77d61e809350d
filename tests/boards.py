"""Homes for the tests of what is looked at: invented agents, hostile names, many of them; and the screen as text."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Final

import msgspec
from a2a_trust.dashboard import demo
from a2a_trust.dashboard.app import TrustApp
from homes import FIXTURES, ingest
from textual import _wait

from a2a_trust.model import ROW_VERSION, Details, Dimension, Profile, Role, Row
from a2a_trust.policy import TOOL_ERROR, TOOL_SUCCESS
from a2a_trust.store import TrustStore, read_ledger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from textual.pilot import Pilot

NOW: Final = 1_796_000_000_000
"""When the invented agents stop, ms."""
LONG_NAME: Final = "long-" + "name-" * 59
HOSTILE: Final = (
    "[b]bold[/b] [@click=app.quit]quit[/]",
    "\x1b[31mred\x1b]0;title\x07",
    "\u202egnp.exe\u202c",
    "<script>alert(1)</script><img src=x onerror=alert(2)>",
    "{{ 7 * 7 }} & \"quoted\" 'name'",
    "研究員 レビュー担当",
    "🧑‍🔬 scientist 🚀",
    "two\nlines\tand tabs",
    "\ud800lone",
    LONG_NAME,
)
"""Names that logs could hold; each must be shown as text, on one line."""


def shared_home(home: Path) -> int:
    """Record the shared logs, and return an hour after their newest event, ms."""
    ingest(home, *sorted(path for path in FIXTURES.iterdir() if path.is_dir() and not path.name.startswith("made-")))
    now = read_ledger(home).updated_at + 3_600_000
    settle(home, now - 60_000)
    return now


def settle(home: Path, time: int) -> None:
    """Give the snapshot a time of its own, so that a screen says the same whenever the test runs."""
    os.utime(home / "ledger.json", ns=(time * 1_000_000, time * 1_000_000))


def evidence(profile: Profile, number: int, *, good: bool, time: int, tool: str = "bash") -> Row:
    """One judged call."""
    return Row(
        v=ROW_VERSION,
        id=f"tool:{profile.fingerprint[:16]}:{number}",
        time=time,
        session=f"session-{profile.fingerprint[:16]}",
        gen=0,
        seq=number,
        pos=0,
        team_id="team",
        kind=TOOL_SUCCESS if good else TOOL_ERROR,
        subject=profile.fingerprint,
        subject_name=profile.name,
        dim=Dimension.COMPETENCE,
        evidence=Details(tool=tool, role=profile.role, project="/p", source="dsh", profile=profile),
    )


def registration(profile: Profile, time: int) -> Row:
    """The row that says who an agent is."""
    row = evidence(profile, 0, good=True, time=time)
    return msgspec.structs.replace(
        row, id=f"member:{profile.fingerprint[:16]}", kind="member-registered", dim=None, pos=-1,
        evidence=Details(profile=profile, role=profile.role, source="dsh"),
    )  # fmt: skip


def agent_rows(profile: Profile, qualities: str, until: int = NOW, apart_ms: int = 60_000) -> list[Row]:
    """An agent whose calls went as a text says, `+` well and `-` badly, the last of them at `until`."""
    first = until - apart_ms * len(qualities)
    return [
        registration(profile, first),
        *(
            evidence(profile, number, good=how == "+", time=first + number * apart_ms)
            for number, how in enumerate(qualities, start=1)
        ),
    ]


def record(home: Path, rows: list[Row]) -> None:
    """Put rows into a home."""
    with TrustStore(home) as store:
        store.commit(rows)
    settle(home, NOW - 60_000)


def hostile_home(home: Path) -> None:
    """Record an agent of each hostile name, and one whose other fields and tool are hostile too."""
    rows: list[Row] = []
    for number, name in enumerate(HOSTILE):
        profile = Profile(name=msgspec_safe(name), description=msgspec_safe(name), provider="p", role=Role.SUBAGENT)
        rows += agent_rows(profile, "+-" * (number + 3), NOW - number)
    worst = msgspec_safe(HOSTILE[3])
    profile = Profile(name="plain", description=worst, provider=worst, context=worst, model=worst)
    rows += [
        registration(profile, NOW - 9000),
        *(evidence(profile, n, good=n % 2 == 0, time=NOW - 9000 + n, tool=worst) for n in range(1, 9)),
    ]
    record(home, rows)


def msgspec_safe(name: str) -> str:
    """A lone surrogate cannot be written as JSON: a source replaces it, as here."""
    return name.encode("utf-8", "replace").decode()


def many_home(home: Path, count: int, *, evidence_each: int | None = None) -> None:
    """Record many agents with a little evidence each, or with as much as is said."""
    rows: list[Row] = []
    for number in range(count):
        profile = Profile(name=f"agent-{number:05}", provider="spawn", context="fresh")
        rows += agent_rows(profile, "+-+" * (evidence_each // 3) if evidence_each else "+" * (number % 7), NOW - number)
    record(home, rows)


def demo_home(home: Path) -> None:
    """Record the invented agents that the dashboard offers."""
    demo.write(home, NOW)
    settle(home, NOW - 60_000)


def screen_text(app: TrustApp) -> list[str]:
    """What stands on the screen, line by line."""
    strips = app.screen._compositor.render_strips()  # noqa: SLF001 - Textual offers the screen only as SVG
    return ["".join(segment.text for segment in strip).rstrip() for strip in strips]


async def settled(pilot: Pilot[None]) -> None:
    """Wait until everything that was begun is done and drawn, and nothing on the screen moves any more."""
    while True:
        await pilot.app.workers.wait_for_complete()
        await pilot.wait_for_scheduled_animations()
        await pilot.pause()
        if not any(worker.is_running for worker in pilot.app.workers):
            return


# Textual waits after each key until the process has been idle for this long. That everything a key began is done is
# seen by `settled` from the workers and the message queues; here a moment is enough.
_wait.SLEEP_GRANULARITY = 1 / 200
_wait.SLEEP_IDLE = _wait.SLEEP_GRANULARITY / 4


def drive(app: TrustApp, size: tuple[int, int], script: Callable[[Pilot[None], TrustApp], Awaitable[None]]) -> None:
    """Run the application without a terminal and do with it what a script says."""

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await settled(pilot)
            await script(pilot, app)

    asyncio.run(run())


def keys(*presses: str) -> Callable[[Pilot[None], TrustApp], Awaitable[None]]:
    """Make the script that presses keys, each when all that the one before began is done.

    `type word` types a word.
    """

    async def press(pilot: Pilot[None], _: TrustApp) -> None:
        for key in presses:
            await pilot.press(*(key.removeprefix("type ") if key.startswith("type ") else [key]))
            await settled(pilot)

    return press


def shown(home: Path, *presses: str, size: tuple[int, int] = (80, 24), now: int = NOW) -> list[str]:
    """What stands on the screen after some keys."""
    app = TrustApp(home, now=lambda: now, theme="textual-dark")
    found: list[str] = []

    async def script(pilot: Pilot[None], running: TrustApp) -> None:
        await keys(*presses)(pilot, running)
        found.extend(screen_text(running))

    drive(app, size, script)
    return found
