"""What is shown where nothing is recorded: what to run, and invented agents to look around with."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from a2a_trust.dashboard import demo
from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Center, Middle
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Button, Footer, Static

from a2a_trust.text import safe

if TYPE_CHECKING:
    from a2a_trust.dashboard.app import TrustApp
    from textual.app import ComposeResult

_NOTHING = """Nothing is recorded in {home} yet.

Read the session logs that your agents have left:

    a2a-trust backfill

This screen then fills by itself. Logs elsewhere: a2a-trust backfill PATH.
What is found where: a2a-trust doctor.

Or look around first with invented agents (they go into a temporary
folder, and away when you quit)."""
_BROKEN = """{home} cannot be shown:

{error}

What is found where: a2a-trust doctor. What is wrong: a2a-trust verify."""


class EmptyScreen(Screen[None]):
    """Nothing to show."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("d", "demo", "Invented agents")]
    DEFAULT_CSS = """
    EmptyScreen #says { width: 76; max-width: 100%; padding: 1 2; border: round $primary; }
    EmptyScreen Button { margin-top: 1; }
    """

    def __init__(self, error: str | None) -> None:
        """Say that nothing was recorded, or why what was cannot be shown."""
        super().__init__()
        self._error = error

    def compose(self) -> ComposeResult:
        """Put it into the middle."""
        app: TrustApp = self.app  # type: ignore[assignment]
        template = _NOTHING if self._error is None else _BROKEN
        told = template.format(home=safe(str(app.home)), error=self._error)
        with Middle():
            yield Center(Static(Content(told), id="says"))
            yield Center(Button("Look around with invented agents (d)", id="demo", variant="primary"))
        yield Footer(compact=True, show_command_palette=False)

    @on(Button.Pressed, "#demo")
    def _pressed(self) -> None:
        self.action_demo()

    def action_demo(self) -> None:
        """Record the invented agents in a temporary home and show that."""
        app: TrustApp = self.app  # type: ignore[assignment]
        folder = Path(app.keep(tempfile.TemporaryDirectory(prefix="a2a-trust-demo-")))
        demo.write(folder, app.now())
        app.show_home(folder)
