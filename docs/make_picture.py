"""Draw docs/dashboard.svg: the dashboard over the logs in fixtures/, as a terminal of 120 columns shows it.

Run it with `make picture` whenever the screen or the numbers change. Nothing in the picture depends on when or where
it is made, and it loads no fonts from anywhere.
"""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from pathlib import Path

from a2a_trust.backfill import Options, run
from a2a_trust.dashboard.app import TrustApp

from a2a_trust.sources.base import load_sources
from a2a_trust.store import TrustStore, read_ledger
from a2a_trust.store.snapshot import LEDGER

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "dashboard.svg"
SIZE = (120, 25)
HOUR_MS = 3_600_000
LOADED_FONT = re.compile(r"@font-face\s*\{.*?\}\s*", re.DOTALL)
NAMED_FONT = re.compile(r"font-family: Fira Code, monospace", re.IGNORECASE)


async def draw(home: Path, now: int) -> str:
    """Return the overview as SVG."""
    app = TrustApp(home, now=lambda: now, theme="textual-dark")
    async with app.run_test(size=SIZE) as pilot:
        # The home is read, then its chain checked, each in the background.
        for _ in range(3):
            await app.workers.wait_for_complete()
            await pilot.pause()
        picture = app.export_screenshot(title="a2a-trust dashboard")
    picture = LOADED_FONT.sub("", picture)
    picture = NAMED_FONT.sub("font-family: ui-monospace, Menlo, Consolas, monospace", picture)
    return "\n".join(line.rstrip() for line in picture.splitlines()) + "\n"


def main() -> None:
    """Read the logs into a home that goes away again, and write the picture."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        logs = sorted(path for path in (ROOT / "fixtures/dsh").iterdir() if not path.name.startswith("made-"))
        with TrustStore(home) as store:
            run(store, load_sources(["dsh"]), Options(paths=[path for path in logs if path.is_dir()], jobs=1), {})
        now = read_ledger(home).updated_at + HOUR_MS
        ingested = (now - HOUR_MS // 60) * 1_000_000
        os.utime(home / LEDGER, ns=(ingested, ingested))
        PICTURE.write_text(asyncio.run(draw(home, now)), encoding="utf-8")


if __name__ == "__main__":
    main()
