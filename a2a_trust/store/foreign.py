"""Whose home it is: that of another program, version 1 of the store, is read by `adopt` and never written to."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from a2a_trust.errors import HomeError
from a2a_trust.store.reader import AUDIT
from a2a_trust.store.snapshot import BACKUP, LEDGER, is_foreign

if TYPE_CHECKING:
    from pathlib import Path


def refuse_foreign_home(home: Path) -> None:
    """Raise `HomeError` for a home that another program keeps: version-1 rows, or a ledger that stands on no log."""
    if _has_foreign_rows(home / AUDIT) or any(is_foreign(home / name) for name in (LEDGER, BACKUP)):
        raise HomeError(
            f"{home}: this is the store of another program (version 1), which is never written to; adopt it into a "
            f"home of its own: a2a-trust adopt {home} --home DIR"
        )


def _has_foreign_rows(path: Path) -> bool:
    """Tell whether version-1 rows stand in a log above any row of ours, whatever stands above them."""
    with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
        for line in file:
            # The first row of ours, which a log of ours has within a line or two, ends the search.
            if b'"prev":' in line:
                return False
            if b'"subjectName"' in line:
                return True
    return False
