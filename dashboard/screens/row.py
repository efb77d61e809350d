"""One row of the audit log in full, over the screen it was chosen on."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from a2a_trust.dashboard import row_page
from a2a_trust.dashboard.screens.base import TrustScreen
from a2a_trust.dashboard.styles import styles_of
from textual import work
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static
from textual.worker import get_current_worker

if TYPE_CHECKING:
    from a2a_trust.dashboard.row_page import RowPlace
    from textual.app import ComposeResult

    from a2a_trust.store.audit import Placement


class RowScreen(TrustScreen):
    """A row."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,b", "app.pop_screen", "Back", key_display="esc"),
        Binding("g", "agent", "Its agent"),
    ]
    DEFAULT_CSS = "RowScreen VerticalScroll { padding: 0 1; scrollbar-size-vertical: 1; }"

    def __init__(self, placed: Placement) -> None:
        """Show a row that stands at a place of the audit log."""
        super().__init__()
        self._placed = placed
        self._place: RowPlace | None = None

    def compose_body(self) -> ComposeResult:
        """Yield the page."""
        with VerticalScroll():
            yield Static(id="row")

    def on_mount(self) -> None:
        """Show the row, and look for its line."""
        self.query_one(VerticalScroll).focus()
        self.show()
        self._find()

    @work(thread=True, exclusive=True, group="place", description="place")
    def _find(self) -> None:
        place = row_page.find_place(self.trust.home, self._placed)
        if not get_current_worker().is_cancelled:
            self.app.call_from_thread(self._found, place)

    def _found(self, place: RowPlace) -> None:
        self._place = place
        self.show()

    def show(self, *, stay: bool = True) -> None:  # noqa: ARG002 - there is no cursor to keep
        """Draw the page."""
        self.query_one("#row", Static).update(row_page.page(self._placed, self._place, styles_of(self.app)))

    def action_agent(self) -> None:
        """Show the agent that the row judges."""
        subject = self._placed.row.subject
        if subject and self.trust.signal(subject):
            self.trust.open_agent(subject)
