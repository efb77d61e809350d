"""Two or more agents side by side; what cannot be told is said so."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from a2a_trust.dashboard import compare_page
from a2a_trust.dashboard.screens.base import TrustScreen
from a2a_trust.dashboard.styles import styles_of
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

_MARGIN = 3


class CompareScreen(TrustScreen):
    """The marked agents."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,b", "app.pop_screen", "Back", key_display="esc"),
        *(Binding(str(place + 1), f"agent({place})", f"Agent {chr(65 + place)}", show=False) for place in range(6)),
    ]
    DEFAULT_CSS = "CompareScreen VerticalScroll { padding: 0 1; scrollbar-size-vertical: 1; }"

    def __init__(self, keys: Sequence[str]) -> None:
        """Compare the agents of these keys."""
        super().__init__()
        self.keys = list(keys)

    def compose_body(self) -> ComposeResult:
        """Yield the page."""
        with VerticalScroll():
            yield Static(id="compared")

    def on_mount(self) -> None:
        """Show it."""
        self.query_one(VerticalScroll).focus()
        self.show()

    def show(self, *, stay: bool = True) -> None:  # noqa: ARG002 - there is no cursor to keep
        """Draw the page for the width there is."""
        signals = [signal for key in self.keys if (signal := self.trust.signal(key)) is not None]
        width = max(40, self.app.size.width - _MARGIN)
        self.query_one("#compared", Static).update(
            compare_page.page(signals, self.board.lens, width, styles_of(self.app))
        )

    def on_resize(self) -> None:
        """Draw the page for another width."""
        if self.is_mounted:
            self.show()

    def action_agent(self, place: int) -> None:
        """Show one of them in full."""
        if place < len(self.keys):
            self.trust.open_agent(self.keys[place])
