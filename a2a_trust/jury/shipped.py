"""The cases that come along, as `jury cases` lists and copies them."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from msgspec import Struct

from a2a_trust.errors import UsageError
from a2a_trust.jury import cases
from a2a_trust.jury.case_types import PanelCase
from a2a_trust.jury.cases import Dataset

if TYPE_CHECKING:
    from pathlib import Path


class Shipped(Struct, frozen=True, kw_only=True):
    """A case that comes along."""

    name: str
    preset: str
    title: str


def listed() -> list[Shipped]:
    """Return all cases that come along."""
    return [Shipped(name=name, preset=preset, title=_title(name)) for name, (preset, _) in cases.SHIPPED.items()]


def copy(name: str, folder: Path) -> Path:
    """Copy a case into a folder, never over anything, and return where it is."""
    if name not in cases.SHIPPED:
        raise UsageError(f"--copy {name!r}: there is no such case; there are: {', '.join(cases.SHIPPED)}")
    file = cases.SHIPPED[name][1]
    target = folder / file
    try:
        with target.open("xb") as stream:
            stream.write((files(__package__) / "cases" / file).read_bytes())
    except FileExistsError:
        raise UsageError(f"{target} is there already; nothing was copied") from None
    return target


def _title(name: str) -> str:
    found = cases.load(name, cases.SHIPPED[name][0])
    if isinstance(found, Dataset):
        return f"{found.count} trajectories and what each should come to"
    if isinstance(found.case, PanelCase):
        return f"{found.case.title}, with {len(found.case.variants)} variants"
    return f"{found.case.title}, a hearing with {len(found.case.jurors)} jurors"
