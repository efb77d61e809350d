"""One agent in full: who it is, how each dimension went, what lowered it, what was not blamed on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from a2a_trust.dashboard import agent_page
from a2a_trust.dashboard.board import namesakes
from a2a_trust.dashboard.detail import read_detail
from a2a_trust.dashboard.screens.base import TrustScreen
from a2a_trust.dashboard.styles import styles_of
from a2a_trust.dashboard.trends import Window
from textual import work
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static
from textual.worker import get_current_worker

from a2a_trust.errors import TrustError
from a2a_trust.lenses import Lens

if TYPE_CHECKING:
    from a2a_trust.dashboard.board import Board
    from a2a_trust.dashboard.detail import Detail
    from textual.app import ComposeResult

    from a2a_trust.signals import Signal

_MARGIN = 3


class AgentScreen(TrustScreen):
    """One agent."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,b", "app.pop_screen", "Back", key_display="esc"),
        Binding("e", "evidence", "Evidence"),
        Binding("space", "mark", "Mark", key_display="␣"),
        Binding("c", "compare", "Compare"),
        Binding("n", "next(1)", "Next"),
        Binding("p", "next(-1)", "Previous"),
        Binding("w", "window", "Window"),
    ]
    DEFAULT_CSS = "AgentScreen VerticalScroll { padding: 0 1; scrollbar-size-vertical: 1; }"

    def __init__(self, key: str) -> None:
        """Show the agent of a key."""
        super().__init__()
        self.key = key
        self.window = Window.DAY
        self._detail: Detail | None = None

    def compose_body(self) -> ComposeResult:
        """Yield the page."""
        with VerticalScroll():
            yield Static(id="page")

    def on_mount(self) -> None:
        """Show what the snapshot tells, and read the rest."""
        self.query_one(VerticalScroll).focus()
        self.board_changed()

    def board_changed(self) -> None:
        """Read the agent's rows again."""
        super().board_changed()
        signal = self.trust.signal(self.key)
        if signal is not None:
            self._read(self.board, signal)

    @work(thread=True, exclusive=True, group="detail", description="detail")
    def _read(self, board: Board, signal: Signal) -> None:
        worker = get_current_worker()
        try:
            detail = read_detail(self.trust.home, board, signal)
        except (TrustError, OSError, ValueError):
            # The page then shows what the snapshot knows.
            detail = None
        if not worker.is_cancelled:
            self.app.call_from_thread(self._have_read, detail)

    def _have_read(self, detail: Detail | None) -> None:
        self._detail = detail
        self.show()

    def show(self, *, stay: bool = True) -> None:  # noqa: ARG002 - there is no cursor to keep
        """Draw the page for the width there is."""
        signal = self.trust.signal(self.key)
        body = self.query_one("#page", Static)
        if signal is None:
            body.update("This agent is no longer in the ledger.")
            return
        board = self.board
        body.update(
            agent_page.page(
                agent_page.Page(
                    signal=signal,
                    lens=board.lens,
                    policy=board.policy,
                    namesakes=namesakes(board, signal) if board.lens in (Lens.FINGERPRINT, Lens.NAME) else [],
                    detail=self._detail,
                    window=self.window,
                    now=self.trust.now(),
                    width=max(40, self.app.size.width - _MARGIN),
                    styles=styles_of(self.app),
                )
            )
        )

    def on_resize(self) -> None:
        """Draw the page for another width."""
        if self.is_mounted:
            self.show()

    def action_evidence(self) -> None:
        """Show the newest evidence of this agent."""
        self.trust.open_evidence(self.trust.signal(self.key))

    def action_mark(self) -> None:
        """Mark this agent for comparing, or take the mark away."""
        self.trust.toggle_mark(self.key)
        self.notify("marked" if self.key in self.trust.marked else "no longer marked", timeout=1)

    def action_compare(self) -> None:
        """Compare this agent with the marked ones."""
        self.trust.open_compare(self.trust.signal(self.key))

    def action_next(self, by: int) -> None:
        """Show the agent that follows in the overview."""
        keys = self.trust.listed()
        if self.key in keys:
            self.key = keys[(keys.index(self.key) + by) % len(keys)]
            self._detail = None
            self.query_one(VerticalScroll).scroll_home(animate=False)
            self.board_changed()

    def action_window(self) -> None:
        """Show changes over another window."""
        windows = tuple(Window)
        self.window = windows[(windows.index(self.window) + 1) % len(windows)]
        self.show()
