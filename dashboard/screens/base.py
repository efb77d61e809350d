"""What all screens share: the health line on top, the footer, and being told when the home was read again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_trust.dashboard import glyphs
from rich.text import Text
from textual.screen import Screen
from textual.widgets import Footer, Static

if TYPE_CHECKING:
    from a2a_trust.dashboard.app import TrustApp
    from a2a_trust.dashboard.board import Board, Health
    from textual.app import ComposeResult

_HEAD_SHOWN = 7
_WIDE = 120


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
    """Return the health line for a width."""
    wide = width >= _WIDE
    text = Text(no_wrap=True, overflow="ellipsis")
    if grown:
        text.append(
            f"! {grown} log{'s' if grown > 1 else ''} grew" + (" since: run a2a-trust backfill" if wide else ""), "bold"
        )
    else:
        text.append("● " + ("up to date with its logs" if wide else "up to date"), "bold")
    logs = ", ".join(f"{name} {count}" for name, count in health.sessions.items())
    parts = [
        f"{logs}{' session logs' if wide else ''}" if logs else "",
        f"{'last ingest' if wide else 'ingest'} {glyphs.age(health.ingested, now)}{' ago' if wide else ''}",
        f"newest {'event ' if wide else ''}{glyphs.age(health.newest, now)}{' ago' if wide else ''}",
        f"{health.rows} rows",
        f"head {health.head[:_HEAD_SHOWN]}, chain {chain}" if wide else f"{health.head[:_HEAD_SHOWN]} chain {chain}",
        f"{glyphs.count(health.behind)} bytes not shown yet" if health.behind else "",
    ]
    text.append("".join(f" · {part}" for part in parts if part))
    return text


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
