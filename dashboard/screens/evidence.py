"""The newest rows of the audit log, live: filtered while typing, older ones fetched when the cursor comes near."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from a2a_trust.dashboard import evidence_rows, glyphs
from a2a_trust.dashboard.grid import Grid
from a2a_trust.dashboard.screens.base import TrustScreen
from a2a_trust.dashboard.screens.row import RowScreen
from textual import on, work
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Input, Static
from textual.worker import get_current_worker

from a2a_trust.model import DIMENSIONS
from a2a_trust.store import live
from a2a_trust.text import safe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_trust.dashboard.grid import Piece
    from textual.app import ComposeResult

    from a2a_trust.signals import Signal
    from a2a_trust.store.audit import Placement

PAGE_ROWS = 1000
"""Rows read at a time, from the end of the log backwards."""
LOOK_BACK_PAGES = 20
"""Pages read without being asked where a filter lets little through."""
MOST_ROWS = 50_000
"""Rows kept while the log is followed; the oldest go first."""
_KINDS = (
    "",
    "tool-error",
    "tool-success",
    "tool-unattributable",
    "task-",
    "message-sent",
    "response-",
    "juror-",
    "answer-",
    "citation-",
)


class EvidenceScreen(TrustScreen):
    """The newest evidence."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Back", key_display="esc"),
        Binding("enter", "open", "Row", key_display="⏎"),
        Binding("slash", "filter", "Filter", key_display="/"),
        Binding("d", "dimension", "Dimension"),
        Binding("x", "kind", "Kind"),
        Binding("a", "agent", "Agent"),
        Binding("i", "session", "Session"),
        Binding("o", "older", "Older"),
    ]
    DEFAULT_CSS = """
    EvidenceScreen Input { height: 1; border: none; padding: 0 1; }
    EvidenceScreen #told { height: 1; padding: 0 1; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def __init__(self, signal: Signal | None, text: str = "") -> None:
        """Show the rows of an agent type, or of all, filtered by a text."""
        super().__init__()
        self.subject = signal.key if signal else ""
        self._subject_name = signal.name if signal else ""
        self._rows: list[Placement] = []
        self._start: int | None = None
        self._end = 0
        self._shown: list[Placement] = []
        self._first_text = text
        self._busy = False
        self._damaged = 0
        self._generation = 0

    def compose_body(self) -> ComposeResult:
        """Yield the filter, the list and what it leaves out."""
        yield Input(self._first_text, placeholder="/ filter: words, agent: dim: kind: session: tool:", compact=True)
        yield Grid(self._draw, lambda placed: placed.offset, empty="  no row matches the filter", id="rows")
        yield Static(id="told")

    @property
    def grid(self) -> Grid:
        """The list."""
        return self.query_one("#rows", Grid)

    @property
    def text(self) -> str:
        """The filter as it was typed."""
        return self.query_one(Input).value

    def on_mount(self) -> None:
        """Read the newest rows."""
        self.grid.focus()
        self.show()
        self._read_older()

    def board_changed(self) -> None:
        """Read what was added."""
        super().board_changed()
        if self._start is not None:
            self._read_newer()

    # ------------------------------------------------------------------ reading

    def _restart(self) -> None:
        """Forget what was read: other rows are asked for."""
        self._rows, self._shown, self._start, self._damaged = [], [], None, 0
        self._generation += 1
        self.show()
        self._read_older()

    def _read_older(self, *, pages: int = LOOK_BACK_PAGES) -> None:
        if not self._busy and self._start != 0 and len(self._rows) < MOST_ROWS:
            self._busy = True
            self._read_page(self.subject, self._start, self._generation, pages)

    @work(thread=True, group="rows", description="rows")
    def _read_page(self, subject: str, before: int | None, generation: int, pages: int) -> None:
        home, page = self.trust.home, None
        try:
            if subject:
                page = live.newest_rows_of(home, subject, PAGE_ROWS, before)
            page = page or live.newest_rows(home, PAGE_ROWS, before)
        except OSError:
            page = live.Page([], 0, 0, 0)
        if not get_current_worker().is_cancelled:
            self.app.call_from_thread(self._have_older, page, generation, pages)

    def _have_older(self, page: live.Page, generation: int, pages: int) -> None:
        self._busy = False
        if generation != self._generation:
            self._read_older()
            return
        if self._start is None:
            self._end = page.end
        self._start = page.start
        self._rows += page.rows
        self._damaged += page.damaged
        self._shown += self._matching(page.rows)
        self._draw_all()
        if pages > 1 and len(self._shown) <= self.grid.size.height:
            # The filter lets so little through that the screen is not full yet: look further back.
            self._read_older(pages=pages - 1)

    @work(thread=True, exclusive=True, group="newer", description="newer")
    def _read_newer(self) -> None:
        try:
            rows, end = live.rows_since(self.trust.home, self._end)
        except OSError:
            return
        if not get_current_worker().is_cancelled and end > self._end:
            self.app.call_from_thread(self._have_newer, rows, end)

    def _have_newer(self, rows: list[Placement], end: int) -> None:
        newer = rows[::-1]
        self._rows = [*newer, *self._rows][:MOST_ROWS]
        self._end = end
        self._shown = [*self._matching(newer), *self._shown][:MOST_ROWS]
        self._draw_all()

    @on(Grid.NearEnd)
    def _near_end(self) -> None:
        self._read_older(pages=1)

    # ------------------------------------------------------------------ drawing

    def _matching(self, rows: Sequence[Placement]) -> list[Placement]:
        wanted = evidence_rows.parse(self.text, self.subject)
        return [placed for placed in rows if evidence_rows.lets_through(wanted, placed.row)]

    def show(self, *, stay: bool = True) -> None:
        """Filter and draw all anew."""
        self._shown = self._matching(self._rows)
        self._draw_all(stay=stay)

    def _draw_all(self, *, stay: bool = True) -> None:
        self.grid.set_columns(evidence_rows.columns(self.app.size.width))
        self.grid.set_items(self._shown, stay=stay)
        self.query_one("#told", Static).update(Content(self._told()))

    def _told(self) -> str:
        whole = self._start == 0
        whose = f" of {safe(glyphs.named(self._subject_name), 30)} {self.subject[:12]}" if self.subject else ""
        parts = [
            f"{len(self._shown)} of the newest {len(self._rows)} rows{whose}" + (" (all there are)" if whole else "")
        ]
        if self.subject:
            parts.append("a: all agents")
        if self._damaged:
            parts.append(f"{self._damaged} lines are no rows")
        if not whole:
            parts.append("o: look further back")
        return " · ".join(parts)

    def _draw(self, placed: Placement, _: int) -> Sequence[Sequence[Piece]]:
        return evidence_rows.draw(placed.row, self.app.size.width)

    def on_resize(self) -> None:
        """Fit the columns to the new width."""
        if self.is_mounted:
            self.show()

    # ------------------------------------------------------------------ what keys and clicks do

    @on(Grid.Opened)
    def _opened(self) -> None:
        self.action_open()

    def action_open(self) -> None:
        """Show the row under the cursor in full."""
        if self.grid.selected is not None:
            self.app.push_screen(RowScreen(self.grid.selected))

    def action_filter(self) -> None:
        """Type a filter."""
        self.query_one(Input).focus()

    @on(Input.Changed)
    def _filter_changed(self) -> None:
        self.show(stay=False)
        if len(self._shown) <= self.grid.size.height:
            self._read_older()

    @on(Input.Submitted)
    def _filter_done(self) -> None:
        self.grid.focus()

    def action_back(self) -> None:
        """Take the filter away; if there is none, go back."""
        if self.text or self.query_one(Input).has_focus:
            self.query_one(Input).value = ""
            self.grid.focus()
        else:
            self.app.pop_screen()

    def action_older(self) -> None:
        """Read older rows."""
        self._read_older()

    def action_dimension(self) -> None:
        """Show only the next dimension; after the last, all."""
        self._cycle("dim", ("", *DIMENSIONS))

    def action_kind(self) -> None:
        """Show only the next kind of rows; after the last, all."""
        self._cycle("kind", _KINDS)

    def _cycle(self, field: str, choices: Sequence[str]) -> None:
        known = evidence_rows.parse(self.text).fields.get(field, [""])[0]
        following = choices[(choices.index(known) + 1) % len(choices)] if known in choices else ""
        self._set_field(field, following)

    def _set_field(self, field: str, wanted: str) -> None:
        others = [word for word in self.text.split() if not word.casefold().startswith(f"{field}:")]
        self.query_one(Input).value = " ".join([*others, f"{field}:{wanted}"] if wanted else others)

    def action_agent(self) -> None:
        """Show only rows of the agent under the cursor, or again those of all."""
        placed: Placement | None = self.grid.selected
        if self.subject or placed is None or placed.row.subject is None:
            self.subject = ""
        else:
            self.subject, self._subject_name = placed.row.subject, placed.row.subject_name or ""
        self._restart()

    def action_session(self) -> None:
        """Show only rows of the session under the cursor, or again those of all."""
        placed: Placement | None = self.grid.selected
        known = evidence_rows.parse(self.text).fields.get("session")
        self._set_field("session", "" if known or placed is None else placed.row.session)
