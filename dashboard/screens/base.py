"""What all screens share: the health line on top, the footer, and being told when the home was read again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_trust.dashboard import glyphs
from rich.cells import cell_len
from rich.text import Text
from textual.screen import Screen
from textual.widgets import Footer, Static

from a2a_trust.text import safe

if TYPE_CHECKING:
    from a2a_trust.dashboard.app import TrustApp
    from a2a_trust.dashboard.board import Board, Health
    from textual.app import ComposeResult

_HEAD_SHOWN = 7
_WIDE = 120
_BAD_CHAINS = ("BROKEN", "not readable")
_HEAD_ROOM = len(" · ") * 2 + len("head ") + _HEAD_SHOWN
_LEAST_FAULT = 10
"""Cells below which the beginning of a fault tells nothing."""


class HealthLine(Static):
    """One line: which logs, when they were read last, how many rows, the head of the chain, the newest event."""

    DEFAULT_CSS = "HealthLine { height: 1; background: $panel; color: $foreground; padding: 0 1; }"

    def render(self) -> Text:
        """Draw what the application knows now."""
        app: TrustApp = self.app  # type: ignore[assignment]
        if app.board is None:
            return Text("reading the home …", no_wrap=True)
        return health_text(app.board.health, app.grown, app.chain_state, app.now(), self.size.width)


def health_text(health: Health, grown: int, chain: str, now: int, width: int) -> Text:
    """Return the health line for a width: what is wrong comes first, what fits least is left out."""
    wide = width >= _WIDE
    lead = _lead(grown, chain, wide=wide)
    parts = {"fault": _fault(chain, width - cell_len(lead))} | _parts(health, chain, now, wide=wide)
    for name, shorter in _shortenings(health):
        if cell_len(_joined(lead, parts)) <= width:
            break
        parts[name] = shorter
    text = Text(no_wrap=True, overflow="ellipsis")
    return text.append(lead, "bold").append(_joined("", parts))


def _is_bad(chain: str) -> bool:
    return chain.startswith(_BAD_CHAINS)


def _lead(grown: int, chain: str, *, wide: bool) -> str:
    """Return the mark and what it stands for."""
    logs = f"{grown} log{'s' if grown > 1 else ''} grew" + (" since: run a2a-trust backfill" if wide else "")
    if _is_bad(chain):
        return f"! chain {chain.partition(':')[0]}" + (f" · {logs}" if grown else "")
    if grown:
        return f"! {logs}"
    return "● " + ("up to date with its logs" if wide else "up to date")


def _fault(chain: str, room: int) -> str:
    """Return what is wrong with the chain, cut to the room beside the head; nothing where that is too little."""
    room -= _HEAD_ROOM
    return safe(chain.partition(": ")[2], room) if _is_bad(chain) and room >= _LEAST_FAULT else ""


def _parts(health: Health, chain: str, now: int, *, wide: bool) -> dict[str, str]:
    """Return what follows, by what it tells, in the order in which it is shown."""
    head, bad = health.head[:_HEAD_SHOWN], _is_bad(chain)
    logs = ", ".join(f"{name} {count}" for name, count in health.sessions.items())
    age = glyphs.ago if wide else glyphs.age
    return {
        "sources": f"{logs}{' session logs' if wide else ''}" if logs else "",
        "ingest": f"{'last ingest' if wide else 'ingest'} {age(health.ingested, now)}",
        "newest": f"newest {'event ' if wide else ''}{age(health.newest, now)}",
        "rows": f"{health.rows} rows",
        "head": f"head {head}" if bad else f"head {head}, chain {chain}" if wide else f"{head} chain {chain}",
        "behind": f"{glyphs.count(health.behind)} bytes not shown yet" if health.behind else "",
    }


def _shortenings(health: Health) -> list[tuple[str, str]]:
    """Return what to say in fewer words, or not at all, where there is no room: the least needed first."""
    logs = sum(health.sessions.values())
    total = f"{logs} log{'' if logs == 1 else 's'}" if health.sessions else ""
    return [("sources", total), *((name, "") for name in ("ingest", "rows", "sources", "newest", "behind", "fault"))]


def _joined(lead: str, parts: dict[str, str]) -> str:
    return lead + "".join(f" · {part}" for part in parts.values() if part)


class TrustScreen(Screen[None]):
    """A screen over the board."""

    TITLE_TEXT = ""

    @property
    def trust(self) -> TrustApp:
        """The application, by its own type."""
        app: TrustApp = self.app  # type: ignore[assignment]
        return app

    @property
    def board(self) -> Board:
        """What was read of the home."""
        board = self.trust.board
        assert board is not None, "screens are shown once there is something to show"  # noqa: S101 - for the reader
        return board

    def compose(self) -> ComposeResult:
        """Put the parts of the screen between health line and footer."""
        yield HealthLine()
        yield from self.compose_body()
        yield Footer(compact=True, show_command_palette=False)

    def compose_body(self) -> ComposeResult:
        """Yield the parts of this screen."""
        yield from ()

    def on_mount(self) -> None:
        """Show what there is."""
        self.show()

    def on_screen_resume(self) -> None:
        """Show what has changed while another screen was on top."""
        if self.is_mounted:
            self.board_changed()

    def board_changed(self) -> None:
        """Show a home that was read again."""
        self.query_one(HealthLine).refresh()
        self.show()

    def tick(self) -> None:
        """Let ages grow."""
        self.query_one(HealthLine).refresh()

    def show(self, *, stay: bool = True) -> None:
        """Draw the screen anew; `stay` keeps the cursor where it is."""
