"""The first screen: one row an agent type, with bars, trend and change; or one a key of another lens."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from a2a_trust.dashboard import overview_rows
from a2a_trust.dashboard.board import SORT_KEYS, Order, SortKey, select
from a2a_trust.dashboard.grid import Column, Grid
from a2a_trust.dashboard.overview_rows import Look
from a2a_trust.dashboard.screens.base import TrustScreen
from a2a_trust.dashboard.trends import Window
from textual import on
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Input, Static

from a2a_trust.lenses import Lens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_trust.dashboard.grid import Piece
    from textual.app import ComposeResult

    from a2a_trust.signals import Signal

LENS_NAMES = {Lens.FINGERPRINT: "type"}
_WINDOWS, _LENSES = tuple(Window), tuple(Lens)


class Choices(Static):
    """The line under the health line: lens, window and order, each choice a link."""

    DEFAULT_CSS = "Choices { height: 1; padding: 0 1; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }"


class OverviewScreen(TrustScreen):
    """All agents."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Agent", key_display="⏎"),
        Binding("e", "evidence", "Evidence"),
        Binding("space", "mark", "Mark", key_display="␣"),
        Binding("c", "compare", "Compare"),
        Binding("slash", "filter", "Filter", key_display="/"),
        Binding("l", "lens(1)", "Lens"),
        Binding("w", "window(1)", "Window"),
        Binding("s", "sort(1)", "Sort"),
        Binding("r", "reverse", "Reverse", show=False),
        Binding("z", "compact", "Lines", show=False),
        Binding("L", "lens(-1)", "Lens before", show=False),
        Binding("S", "sort(-1)", "Sort before", show=False),
        Binding("W", "window(-1)", "Window before", show=False),
        Binding("escape", "clear", "Clear", show=False),
    ]
    DEFAULT_CSS = """
    OverviewScreen Input { display: none; height: 1; border: none; padding: 0 1; }
    OverviewScreen Input.open { display: block; }
    OverviewScreen #told { height: 1; padding: 0 1; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def __init__(self) -> None:
        """Begin with the best total first."""
        super().__init__()
        self.order = Order()
        self.window = Window.DAY
        self.filter = ""
        self.compact = False
        self._look: Look | None = None
        self._spark = 0

    def compose_body(self) -> ComposeResult:
        """Yield the choices, the filter, the list and what it leaves out."""
        yield Choices()
        yield Input(placeholder="filter: name, role, provider, model, description", compact=True)
        yield Grid(self._draw, lambda signal: signal.key, lines=2, empty="  no agent matches the filter", id="agents")
        yield Static(id="told")

    def on_mount(self) -> None:
        """Show all agents, with the cursor in the list."""
        self.grid.focus()
        self.show()

    @property
    def grid(self) -> Grid:
        """The list."""
        return self.query_one("#agents", Grid)

    @property
    def selected(self) -> Signal | None:
        """The agent under the cursor."""
        found: Signal | None = self.grid.selected
        return found

    # ------------------------------------------------------------------ drawing

    def show(self, *, stay: bool = True) -> None:
        """Order, filter and draw all anew."""
        board, now = self.board, self.trust.now()
        self._set_look()
        signals = select(board, self.filter, self.order, self.window, now)
        self.grid.set_items(signals, stay=stay)
        self.query_one(Choices).update(self._choices())
        self.query_one("#told", Static).update(Content(self._told(len(signals))))

    def _set_look(self) -> None:
        width = self.size.width or self.app.size.width
        self._look = Look(
            width=width,
            lens=self.board.lens,
            order=self.order,
            window=self.window,
            now=self.trust.now(),
            policy=self.board.policy,
            marked=frozenset(self.trust.marked),
            compact=self.compact,
        )
        columns = overview_rows.columns(self._look)
        self._spark = _width_of(columns, "spark")
        self.grid.set_columns(columns)

    def _draw(self, signal: Signal, line: int) -> Sequence[Sequence[Piece]]:
        return overview_rows.draw(signal, line, self._look, self._spark) if self._look else []

    def _choices(self) -> Content:
        lens = [(LENS_NAMES.get(lens, lens), f"screen.set_lens('{lens}')", lens is self.board.lens) for lens in _LENSES]
        windows = [(window, f"screen.set_window('{window}')", window is self.window) for window in _WINDOWS]
        text = f"by {_links(lens)}  Δ {_links(windows)}  "
        text += f"[@click=screen.sort(1)]sort {self.order.key}[/] [@click=screen.reverse]{self._direction()}[/]"
        if self.trust.folding:
            text += "  [b]folding …[/]"
        return Content.from_markup(text)

    def _direction(self) -> str:
        return "↑" if self.order.ascending else "↓"

    def _told(self, shown: int) -> str:
        board, total = self.board, len(self.board.signals)
        name = LENS_NAMES.get(board.lens, board.lens)
        parts = [f"{shown} of {total}" if self.filter else f"{total} {name}" + ("s" if total != 1 else "")]
        if self.filter:
            parts.append(f"filter: {self.filter}")
        if self.trust.marked:
            parts.append(f"{len(self.trust.marked)} marked")
        parts.append(f"policy {board.policy.name}")
        wide = self.size.width >= overview_rows.WIDE
        parts.append(f"░ fewer than {board.policy.min_samples} samples" if wide else "░ few samples")
        parts.append("◌ much not attributable" if wide else "◌ much excused")
        if wide:
            parts.append("below a bar: share of good evidence and its 95 % interval")
            parts.append("~ since the oldest step kept")
        return " · ".join(parts)

    def on_resize(self) -> None:
        """Fit the columns to the new width."""
        if self.is_mounted:
            self.show()

    def tick(self) -> None:
        """Let ages grow, and changes leave their window."""
        super().tick()
        self._set_look()

    # ------------------------------------------------------------------ what keys and clicks do

    def action_open(self) -> None:
        """Show the agent under the cursor in full."""
        if self.selected is not None:
            self.trust.open_agent(self.selected.key)

    @on(Grid.Opened)
    def _opened(self) -> None:
        self.action_open()

    def action_evidence(self) -> None:
        """Show the newest evidence, of the agent under the cursor."""
        self.trust.open_evidence(self.selected)

    def action_mark(self) -> None:
        """Mark the agent under the cursor for comparing, or take the mark away."""
        if self.selected is None:
            return
        self.trust.toggle_mark(self.selected.key)
        self.grid.action_move(1)
        self.show()

    def action_compare(self) -> None:
        """Compare the marked agents."""
        self.trust.open_compare(self.selected)

    def action_filter(self) -> None:
        """Type a filter."""
        field = self.query_one(Input)
        field.add_class("open")
        field.focus()

    @on(Input.Changed)
    def _filter_changed(self, event: Input.Changed) -> None:
        self.filter = event.value
        self.show(stay=False)

    @on(Input.Submitted)
    def _filter_done(self) -> None:
        if not self.filter:
            self.query_one(Input).remove_class("open")
        self.grid.focus()

    def action_clear(self) -> None:
        """Take the filter away; then the marks."""
        field = self.query_one(Input)
        if field.has_class("open"):
            field.value = ""
            field.remove_class("open")
            self.grid.focus()
        elif self.trust.marked:
            self.trust.marked.clear()
            self.show()

    def action_lens(self, by: int) -> None:
        """Fold by the next key."""
        self.action_set_lens(_LENSES[(_LENSES.index(self.board.lens) + by) % len(_LENSES)])

    def action_set_lens(self, lens: str) -> None:
        """Fold by a key."""
        self.trust.set_lens(Lens(lens))
        self.query_one(Choices).update(self._choices())

    def action_window(self, by: int) -> None:
        """Look further back, or less far."""
        self.action_set_window(_WINDOWS[(_WINDOWS.index(self.window) + by) % len(_WINDOWS)])

    def action_set_window(self, window: str) -> None:
        """Show changes over a window."""
        self.window = Window(window)
        self.show()

    def action_sort(self, by: int) -> None:
        """Order by the next column."""
        key = SORT_KEYS[(SORT_KEYS.index(self.order.key) + by) % len(SORT_KEYS)]
        self.order = Order(key, ascending=self.order.ascending)
        self.show(stay=False)

    def action_reverse(self) -> None:
        """Turn the order around."""
        self.order = Order(self.order.key, ascending=not self.order.ascending)
        self.show(stay=False)

    @on(Grid.HeaderClicked)
    def _header_clicked(self, event: Grid.HeaderClicked) -> None:
        if event.key not in set(SORT_KEYS):
            return
        key = SortKey(event.key)
        self.order = Order(key, ascending=not self.order.ascending if key is self.order.key else False)
        self.show(stay=False)

    def action_compact(self) -> None:
        """Draw agents on one line, or on two."""
        self.compact = not self.compact
        self.grid.set_lines(1 if self.compact else 2)


def _links(choices: Sequence[tuple[str, str, bool]]) -> str:
    """Return choices as links in markup. Their names are ours."""
    return " ".join(f"[{'b reverse ' if chosen else ''}@click={action}]{name}[/]" for name, action, chosen in choices)


def _width_of(columns: Sequence[Column], key: str) -> int:
    return next((column.width for column in columns if column.key == key), 0)
