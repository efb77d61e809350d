"""The terminal dashboard: reads a home in the background, follows its files, and shows screens over what it read.

Nothing here writes to the home. Files are looked at twice a second and read again only when they are others.
"""

from __future__ import annotations

import os
import time
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from a2a_trust.dashboard import board as boards
from a2a_trust.dashboard.screens.agent import AgentScreen
from a2a_trust.dashboard.screens.base import TrustScreen
from a2a_trust.dashboard.screens.compare import CompareScreen
from a2a_trust.dashboard.screens.empty import EmptyScreen
from a2a_trust.dashboard.screens.evidence import EvidenceScreen
from a2a_trust.dashboard.screens.help import HelpScreen
from a2a_trust.dashboard.screens.overview import OverviewScreen
from textual import work
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.worker import get_current_worker

from a2a_trust.errors import NoLedgerError, TrustError
from a2a_trust.lenses import Lens
from a2a_trust.store import live
from a2a_trust.text import safe

if TYPE_CHECKING:
    import tempfile
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from a2a_trust.dashboard.board import Board
    from textual.screen import Screen

    from a2a_trust.signals import Signal

POLL_SECONDS = 0.5
LOGS_SECONDS = 3.0
TICK_SECONDS = 10.0
CHAIN_CHECKED_BYTES = 32 << 20
"""Up to this size of the audit log its chain is checked whenever it has grown; a longer one on demand."""
MOST_COMPARED = 6
DARK, LIGHT, ANSI = "textual-dark", "textual-light", "ansi-dark"


def clock() -> int:
    """Return the time, ms."""
    return time.time_ns() // 1_000_000


def theme_for(environ: Mapping[str, str], wanted: str | None = None) -> str:
    """Return the theme that suits a terminal: the wanted one, else by the background that `COLORFGBG` tells of.

    With `NO_COLOR` never one that leaves colours to the terminal: Textual would make all of them black.
    """
    wanted = wanted or environ.get("TEXTUAL_THEME")
    if wanted and not (environ.get("NO_COLOR") and wanted.startswith("ansi-")):
        return wanted
    background = environ.get("COLORFGBG", "").rpartition(";")[2]
    return LIGHT if background in {"7", "15"} or wanted == "ansi-light" else DARK


class TrustApp(App[None]):
    """The dashboard of one home."""

    TITLE = "a2a-trust"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark", "help", "Help", key_display="?"),
        Binding("v", "check_chain", "Check the chain", show=False),
        Binding("t", "toggle_theme", "Light or dark", show=False),
        Binding("q", "quit", "Quit"),
    ]

    def __init__(
        self, home: Path, *, now: Callable[[], int] = clock, lens: Lens | None = None, theme: str | None = None
    ) -> None:
        """Show a home. `now` gives the time in ms, from which ages and windows are counted."""
        super().__init__()
        self.home = home
        self.now = now
        self.board: Board | None = None
        self.marked: list[str] = []
        """Keys of the agents to compare, in the order in which they were marked."""
        self.folding = False
        self.chain_state = "not checked (v)"
        self._folders: list[tempfile.TemporaryDirectory[str]] = []
        self.grown = 0
        """Session logs that hold more than was read of them."""
        self._lens = lens
        self._shape: live.Shape | None = None
        self._loading = False
        self.theme = theme_for(os.environ, theme)

    def on_mount(self) -> None:
        """Read the home, and look at its files from now on."""
        self.poll()
        self.set_interval(POLL_SECONDS, self.poll)
        self.set_interval(LOGS_SECONDS, self.look_at_logs)
        self.set_interval(TICK_SECONDS, self._tick)

    def _tick(self) -> None:
        if self.board is not None and isinstance(self.screen, TrustScreen):
            self.screen.tick()

    # ------------------------------------------------------------------ reading

    def poll(self) -> None:
        """Read the home again if its files are others than they were."""
        if self._loading:
            return
        shape = live.shape(self.home)
        if shape != self._shape:
            self._shape = shape
            self._load()

    @work(thread=True, exclusive=True, group="logs", description="logs")
    def look_at_logs(self) -> None:
        """See whether session logs have grown since they were read."""
        if self.board is None:
            return
        grown = boards.grown_logs(self.home)
        if grown != self.grown and not get_current_worker().is_cancelled:
            self.call_from_thread(self._logs_seen, grown)

    def _logs_seen(self, grown: int) -> None:
        self.grown = grown
        self._tick()

    def set_lens(self, lens: Lens) -> None:
        """Fold by another key, in the background."""
        if self.board is not None and lens is self.board.lens:
            return
        self._lens = lens
        self.marked.clear()
        self.folding = True
        self._load()

    @work(thread=True, exclusive=True, group="load", description="load")
    def _load(self) -> None:
        worker = get_current_worker()
        self._loading = True
        try:
            board: Board | TrustError = boards.load(self.home, self._lens)
        except TrustError as error:
            board = error
        except OSError as error:
            board = TrustError(f"{self.home}: {error.strerror or error}")
        finally:
            self._loading = False
        if not worker.is_cancelled:
            self.call_from_thread(self._loaded, board)

    def _loaded(self, board: Board | TrustError) -> None:
        self.folding = False
        if isinstance(board, TrustError):
            self._failed(board)
            return
        first = self.board is None
        self.board = board
        self._lens = board.lens
        known = {signal.key for signal in board.signals}
        self.marked[:] = [key for key in self.marked if key in known]
        if first:
            self.switch_screen(OverviewScreen()) if self._stack_is_deep() else self.push_screen(OverviewScreen())
        else:
            for screen in self.screen_stack:
                if isinstance(screen, TrustScreen) and screen.is_current:
                    screen.board_changed()
        size = self._shape.audit[1] if self._shape and self._shape.audit else 0
        self.look_at_logs()
        if size <= CHAIN_CHECKED_BYTES:
            self.action_check_chain()

    def _stack_is_deep(self) -> bool:
        return len(self.screen_stack) > 1

    def _failed(self, error: TrustError) -> None:
        if self.board is not None:
            # What was read before stays on the screen: a moment's trouble must not take it away.
            self.notify(safe(str(error)), severity="error", markup=False)
            return
        screen = EmptyScreen(None if isinstance(error, NoLedgerError) else safe(str(error)))
        if self._stack_is_deep():
            self.switch_screen(screen)
        else:
            self.push_screen(screen)

    def keep(self, folder: tempfile.TemporaryDirectory[str]) -> str:
        """Keep a folder until the application ends, and return where it is."""
        self._folders.append(folder)
        return folder.name

    def on_unmount(self) -> None:
        """Take away what was kept."""
        for folder in self._folders:
            folder.cleanup()

    def show_home(self, home: Path) -> None:
        """Show another home instead, as if started over it."""
        self.home, self.board, self._shape, self._lens = home, None, None, None
        self.poll()

    # ------------------------------------------------------------------ the chain

    @work(thread=True, exclusive=True, group="chain", description="chain")
    def action_check_chain(self) -> None:
        """Follow the chain of the audit log from its first row."""
        worker = get_current_worker()

        def tell(state: str) -> None:
            if not worker.is_cancelled:
                self.call_from_thread(self._chain_checked, state)

        try:
            chain = live.check_chain(self.home, lambda rows: tell(f"{rows} rows …"))
        except (TrustError, OSError):
            tell("not readable")
            return
        tell(f"BROKEN: {chain.fault}" if chain.fault else "ok")

    def _chain_checked(self, state: str) -> None:
        self.chain_state = state
        if isinstance(self.screen, TrustScreen):
            self.screen.tick()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Offer every action of the screen, and ours, to the command palette: each can then be clicked."""
        for owner in (screen, self):
            for binding in type(owner).BINDINGS:
                if isinstance(binding, Binding):
                    act = partial(self.run_action, binding.action, owner)
                    yield SystemCommand(binding.description, f"key {binding.key}", act)
        yield SystemCommand("Theme", "Choose the colours", self.action_change_theme)

    # ------------------------------------------------------------------ between screens

    def signal(self, key: str) -> Signal | None:
        """Return the signal of a key under the lens shown."""
        board = self.board
        return next((signal for signal in board.signals if signal.key == key), None) if board else None

    def listed(self) -> list[str]:
        """Return the keys of the agents in the order in which the overview lists them."""
        for screen in self.screen_stack:
            if isinstance(screen, OverviewScreen):
                return [signal.key for signal in screen.grid.items]
        return []

    def toggle_mark(self, key: str) -> None:
        """Mark an agent for comparing, or take the mark away."""
        if key in self.marked:
            self.marked.remove(key)
        elif len(self.marked) < MOST_COMPARED:
            self.marked.append(key)
        else:
            self.notify(f"At most {MOST_COMPARED} can be compared at once.")

    def open_agent(self, key: str) -> None:
        """Show one agent in full."""
        self.push_screen(AgentScreen(key))

    def open_evidence(self, signal: Signal | None) -> None:
        """Show the newest evidence, of one agent type or of all; under another lens filtered by its key."""
        lens = self.board.lens if self.board else Lens.FINGERPRINT
        if signal is None or lens is Lens.FINGERPRINT:
            self.push_screen(EvidenceScreen(signal))
            return
        field = {Lens.NAME: "agent:", Lens.TOOL: "tool:"}.get(lens)
        self.push_screen(EvidenceScreen(None, f"{field}{signal.key}" if field and " " not in signal.key else ""))

    def open_compare(self, selected: Signal | None) -> None:
        """Compare the marked agents, and the selected one where only one is marked."""
        keys = list(self.marked)
        if selected is not None and len(keys) < 2 and selected.key not in keys:  # noqa: PLR2004 - a pair
            keys.append(selected.key)
        if len(keys) < 2:  # noqa: PLR2004 - a pair
            self.notify("Mark two or more agents with the space bar, then press c.")
            return
        self.push_screen(CompareScreen(keys))

    def action_help(self) -> None:
        """Say what each key does."""
        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen(self.screen))

    def action_toggle_theme(self) -> None:
        """Change between light and dark."""
        self.theme = DARK if not self.current_theme.dark else LIGHT
