"""A list for any number of items: only the lines on the screen are ever made, so sorting and filtering stay instant.

Textual's DataTable makes and measures every cell of every row when rows are set, which takes seconds for ten thousand
agents; this draws each line when it is looked at. It knows nothing of what an item is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from a2a_trust.dashboard.glyphs import fit
from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual import events

Piece = tuple[str, str]
"""Text, and the name of its style: one of `Grid.STYLES`, or empty."""
HEADER_LINES = 1


class Column(NamedTuple):
    """A column: what it is called, how wide it is in cells, and whether it is the one that orders the rows."""

    key: str
    title: str
    width: int
    right: bool = False
    arrow: str = ""


Draw = "Callable[[Any, int], Sequence[Sequence[Piece]]]"


class Grid(ScrollView, can_focus=True):
    """A list with a header, a cursor, and rows of one or two lines."""

    STYLES: ClassVar[tuple[str, ...]] = ("good", "fair", "bad", "faint", "strong", "note")
    COMPONENT_CLASSES: ClassVar[set[str]] = {"grid--header", "grid--sorted", "grid--cursor"} | {
        f"grid--{name}" for name in ("good", "fair", "bad", "faint", "strong", "note")
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home,g", "edge(-1)", "First", show=False),
        Binding("end,G", "edge(1)", "Last", show=False),
    ]
    DEFAULT_CSS = """
    Grid { height: 1fr; scrollbar-size-vertical: 1; overflow-x: hidden; overflow-y: auto; }
    Grid > .grid--header { text-style: bold; }
    Grid > .grid--sorted { color: $text-primary; text-style: bold underline; }
    Grid > .grid--cursor { background: $panel; }
    Grid:focus > .grid--cursor { background: $panel-lighten-2; }
    Grid:ansi > .grid--cursor, Grid:ansi:focus > .grid--cursor { text-style: reverse; }
    Grid > .grid--good { color: $text-success; }
    Grid > .grid--fair { color: $text-warning; }
    Grid > .grid--bad { color: $text-error; }
    Grid > .grid--faint { text-style: dim; }
    Grid > .grid--strong { text-style: bold; }
    Grid > .grid--note { color: $text-accent; }
    """
    cursor: reactive[int] = reactive(0, repaint=True)

    class Opened(Message):
        """An item was chosen."""

        def __init__(self, grid: Grid, item: Any) -> None:  # noqa: ANN401 - any item
            super().__init__()
            self.grid, self.item = grid, item

    class HeaderClicked(Message):
        """A title was clicked."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    class NearEnd(Message):
        """The cursor came close to the last item: there may be more to fetch."""

    def __init__(
        self,
        draw: Callable[[Any, int], Sequence[Sequence[Piece]]],
        identify: Callable[[Any], object],
        *,
        lines: int = 1,
        empty: str = "",
        id: str | None = None,  # noqa: A002 - as every widget calls it
    ) -> None:
        """Make a list. `draw` gives the lines of an item, for each column its pieces; `identify` what stays the same.

        `draw` is called with the item and the number of the line in it.
        """
        super().__init__(id=id)
        self._draw, self._identify, self._lines, self._empty = draw, identify, lines, empty
        self.items: Sequence[Any] = ()
        self.columns: Sequence[Column] = ()

    @property
    def selected(self) -> Any:  # noqa: ANN401 - any item
        """The item under the cursor, `None` where there is none."""
        return self.items[self.cursor] if self.cursor < len(self.items) else None

    def set_columns(self, columns: Sequence[Column]) -> None:
        """Show these columns."""
        self.columns = columns
        self.refresh()

    def set_items(self, items: Sequence[Any], *, stay: bool = True) -> None:
        """Show these items; the cursor stays on its item if that is still among them."""
        known = self._identify(self.selected) if stay and self.selected is not None and self.cursor > 0 else None
        self.items = items
        self.virtual_size = Size(self.size.width, len(items) * self._lines + HEADER_LINES)
        places = (place for place, item in enumerate(items) if self._identify(item) == known)
        place = next(places, None) if known is not None else None
        self.cursor = min(self.cursor if stay else 0, max(0, len(items) - 1)) if place is None else place
        if place is not None or not stay:
            self._show_cursor()
        self.refresh()

    def set_lines(self, lines: int) -> None:
        """Draw each item on this many lines."""
        self._lines = lines
        self.set_items(self.items)
        self._show_cursor()

    # ------------------------------------------------------------------ drawing

    def render_line(self, y: int) -> Strip:
        """Draw one line of the screen."""
        width = self.size.width
        if y < HEADER_LINES:
            return self._header(width)
        line = y - HEADER_LINES + self.scroll_offset.y
        place, part = divmod(line, self._lines)
        if place >= len(self.items):
            if not self.items and line == 1 and self._empty:
                return self._strip([[(self._empty, "faint")]], [Column("", "", width)], width, Style())
            return Strip.blank(width, self.rich_style)
        under = self.get_component_rich_style("grid--cursor", partial=True) if place == self.cursor else Style()
        return self._strip(self._draw(self.items[place], part), self.columns, width, under)

    def _header(self, width: int) -> Strip:
        segments = []
        for column in self.columns:
            name = "sorted" if column.arrow else "header"
            style = self.get_component_rich_style(f"grid--{name}", partial=True)
            segments.append(Segment(fit(column.title + column.arrow, column.width, right=column.right), style))
            segments.append(Segment(" "))
        return Strip(segments).adjust_cell_length(width).apply_style(self.rich_style)

    def _strip(self, cells: Sequence[Sequence[Piece]], columns: Sequence[Column], width: int, under: Style) -> Strip:
        segments: list[Segment] = []
        for column, cell in zip(columns, cells, strict=False):
            left = column.width
            for number, (text, name) in enumerate(cell):
                last = number == len(cell) - 1
                style = self.get_component_rich_style(f"grid--{name}", partial=True) if name else Style()
                shown = fit(text, left, right=column.right and len(cell) == 1) if last else text
                segments.append(Segment(shown, style))
                left -= Segment.get_line_length(segments[-1:])
            if not cell:
                segments.append(Segment(" " * left))
            segments.append(Segment(" "))
        return Strip(segments).adjust_cell_length(width).apply_style(self.rich_style + under)

    # ------------------------------------------------------------------ moving

    def watch_cursor(self) -> None:
        """Keep the cursor on the screen."""
        if len(self.items) - self.cursor <= self._per_page():
            self.post_message(self.NearEnd())

    def _per_page(self) -> int:
        return max(1, (self.size.height - HEADER_LINES) // self._lines)

    def _show_cursor(self) -> None:
        region = Region(0, self.cursor * self._lines, 1, self._lines + HEADER_LINES)
        self.scroll_to_region(region, animate=False, force=True)

    def action_move(self, by: int) -> None:
        """Move the cursor by some items."""
        self.cursor = min(max(0, self.cursor + by), max(0, len(self.items) - 1))
        self._show_cursor()

    def action_page(self, by: int) -> None:
        """Move the cursor by some screens."""
        self.action_move(by * self._per_page())

    def action_edge(self, to: int) -> None:
        """Move the cursor to the first item or to the last."""
        self.action_move(to * len(self.items))

    def action_open(self) -> None:
        """Choose the item under the cursor."""
        if self.selected is not None:
            self.post_message(self.Opened(self, self.selected))

    def on_click(self, event: events.Click) -> None:
        """Order by a title; put the cursor on an item, and choose it if it was there already."""
        if event.y < HEADER_LINES:
            left = 0
            for column in self.columns:
                if left <= event.x <= left + column.width:
                    self.post_message(self.HeaderClicked(column.key))
                left += column.width + 1
            return
        place = (event.y - HEADER_LINES + self.scroll_offset.y) // self._lines
        if place < len(self.items):
            if place == self.cursor:
                self.action_open()
            self.cursor = place

    def on_resize(self) -> None:
        """Know the new width."""
        self.virtual_size = Size(self.size.width, len(self.items) * self._lines + HEADER_LINES)
