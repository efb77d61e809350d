"""What each key does, made from the key maps themselves, so that it cannot say anything else."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from a2a_trust.dashboard.grid import Grid
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.app import ComposeResult
    from textual.screen import Screen

_MEANING = """
A bar is the index of a dimension, from 0 to 1: it starts at 0.5, good news moves it a little, bad news more, and it
remembers about ten events. It is no probability. Compare by the line below it: the share of good evidence with its
95 % interval. ░ marks fewer samples than the policy asks for: not enough evidence. ◌ marks an agent of whose
calls and answers a fifth or more say nothing about it (rate limits, refusals, crashes). ▲ ▼ are changes over the
window, ~ where the snapshot does not reach back so far. Numbers advise; they block nobody.
"""


class HelpScreen(ModalScreen[None]):
    """The keys of a screen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,q,enter", "dismiss", "Close"),
    ]
    DEFAULT_CSS = """
    HelpScreen { align: center middle; }
    HelpScreen VerticalScroll {
        width: 78; max-width: 100%; height: auto; max-height: 100%; padding: 0 2;
        border: round $primary; background: $surface;
    }
    """

    def __init__(self, over: Screen[object]) -> None:
        """Explain the screen below."""
        super().__init__()
        self._over = over

    def compose(self) -> ComposeResult:
        """Yield the text."""
        with VerticalScroll():
            yield Static(self._text())

    def _text(self) -> Text:
        text = Text()
        name = type(self._over).__name__.removesuffix("Screen")
        _keys(text, f"{name}", _bindings(type(self._over).BINDINGS))
        _keys(text, "Lists", _bindings(Grid.BINDINGS))
        _keys(text, "Everywhere", _bindings(type(self.app).BINDINGS))
        text.append("Click a title to sort, a row to choose it, a key below to press it; ctrl+p lists all actions.\n")
        text.append(_MEANING.replace("\n", " ").strip(), "dim")
        return text

    async def action_dismiss(self, result: None = None) -> None:
        """Close the help."""
        self.dismiss(result)


def _bindings(found: Iterable[BindingType]) -> list[Binding]:
    return [binding for binding in found if isinstance(binding, Binding)]


def _keys(text: Text, title: str, bindings: list[Binding]) -> None:
    text.append(f"{title}\n", "bold")
    shown = [(_key(binding), binding.description) for binding in bindings]
    half = (len(shown) + 1) // 2
    for place in range(half):
        for key, what in (shown[place], *shown[place + half : place + half + 1]):
            text.append(f"  {key:>12}  ", "bold")
            text.append(f"{what:<20}")
        text.append("\n")


def _key(binding: Binding) -> str:
    names = {"slash": "/", "question_mark": "?", "escape": "esc", "pageup": "pgup", "pagedown": "pgdn"}
    return " ".join(names.get(key, key) for key in binding.key.split(","))
