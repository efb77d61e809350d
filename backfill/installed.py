"""The sources that are installed, as options name them."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from a2a_trust.errors import UsageError

if TYPE_CHECKING:
    from a2a_trust.sources.base import Source


def installed_names(incomplete: str) -> list[str]:
    """Complete the name of a source."""
    from a2a_trust.sources.base import GROUP  # noqa: PLC0415 - every command loads this module, and few need it

    return sorted(entry.name for entry in entry_points(group=GROUP) if entry.name.startswith(incomplete))


def installed(names: list[str]) -> dict[str, Source]:
    """Return the sources of these names, or all. Raises `UsageError`."""
    from a2a_trust.sources.base import load_sources  # noqa: PLC0415 - as above

    try:
        return load_sources(names)
    except KeyError as error:
        raise UsageError(f"--source {error.args[0]}: not installed; installed: {', '.join(load_sources())}") from None
