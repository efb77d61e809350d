"""The colours of the theme in force, by the names that pages and rows use; nothing else chooses a colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.app import App

_VARIABLES = {"good": "text-success", "fair": "text-warning", "bad": "text-error", "note": "text-accent"}


def styles_of(app: App[None]) -> dict[str, str]:
    """Return styles as rich reads them."""
    variables = app.theme_variables
    found = {"faint": "dim", "strong": "bold", "": ""}
    for name, variable in _VARIABLES.items():
        colour = variables.get(variable, "")
        found[name] = colour if colour.startswith("#") else _FALLBACK[name]
    return found


_FALLBACK = {"good": "green", "fair": "yellow", "bad": "red", "note": "magenta"}
