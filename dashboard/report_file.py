"""Where a report may be written: never into a home, and over nothing but an earlier report."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

from a2a_trust.errors import UsageError
from a2a_trust.text import safe

if TYPE_CHECKING:
    from pathlib import Path

_BEGINNING = b"<!doctype html>"
_MARK = b'<meta name="generator" content="a2a-trust '
_LOOKED_AT = 1024
"""Bytes within which each report names what made it; the template puts that before title and style."""


def check_target(file: Path, home: Path) -> Path:
    """Return the file that a report may be written to, links followed; UsageError where it may not."""
    try:
        target = file.resolve()
        if target.is_relative_to(home.resolve()):
            raise _refusal(file, "this is in the home, which holds the ledger; give a file elsewhere")
        if target.exists():
            _check_replaceable(file, target)
    except (OSError, RuntimeError, ValueError) as error:
        # Python before 3.13 tells of a loop of links as a RuntimeError.
        raise _refusal(file, f"{_reason(error)}; give a file that can be written") from None
    return target


def write_report(file: Path, target: Path, text: str) -> None:
    """Put a report in its place, whole or not at all."""
    beside = target.with_name(f".{target.name[:100]}.{os.getpid()}.tmp")
    try:
        try:
            with beside.open("x", encoding="utf-8") as stream:
                if target.exists():
                    shutil.copymode(target, beside)
                stream.write(text)
            beside.replace(target)
        except BaseException:
            with suppress(OSError):
                beside.unlink()
            raise
    except OSError as error:
        raise _refusal(file, f"{_reason(error)}; give a file that can be written") from None


def _check_replaceable(file: Path, target: Path) -> None:
    if not target.is_file():
        raise _refusal(file, "this is not a regular file; give a file that can be written")
    with target.open("rb") as stream:
        beginning = stream.read(_LOOKED_AT)
    if not beginning.lstrip().startswith(_BEGINNING) or _MARK not in beginning:
        raise _refusal(file, "there is a file that is no report of a2a-trust; remove it or give another name")


def _reason(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)


def _refusal(file: Path, why: str) -> UsageError:
    return UsageError(f"--output {safe(str(file))}: {why}")
