"""What sources share when they look for logs: a walk that no link, loop or closed folder can stop."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from a2a_trust.sources.base import Skips

DEPTH_LIMIT = 16
CONTENT_LIMIT = 1 << 20
"""Bytes; a larger file beside logs says nothing."""


def entries(folder: str, skips: Skips) -> list[os.DirEntry[str]]:
    """Return what a folder holds, by name; a folder that cannot be read is counted and holds nothing."""
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        skips.add("folder-unreadable", f"{folder}: {error.strerror}")
        return []


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Tell whether an entry is a folder, or leads to one."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def stat_of(path: str, skips: Skips) -> os.stat_result | None:
    """Return size and times of a file; what cannot be looked at, or is no file, is counted."""
    try:
        path.encode()
        found = os.stat(path)  # noqa: PTH116 - asked for each log; a `Path` costs more than the answer
    except OSError as error:
        skips.add("log-unreadable", f"{path}: {error.strerror}")
        return None
    except UnicodeEncodeError:
        skips.add("log-unreadable", f"{path}: its name is no text")
        return None
    if not stat.S_ISREG(found.st_mode):
        skips.add("log-unreadable", f"{path}: not a file")
        return None
    return found


def content(path: Path) -> str:
    """Return the text of a small regular file beside logs, else nothing."""
    try:
        if not path.is_file() or path.stat().st_size > CONTENT_LIMIT:
            return ""
        return path.read_bytes().decode("utf-8-sig", "replace")
    except (OSError, ValueError):
        return ""


def folders(root: str, skips: Skips) -> Iterator[list[os.DirEntry[str]]]:
    """Yield what a folder and each folder below it holds, each folder once, whatever links lead to it."""
    visited: set[str] = set()
    pending = [(root, os.path.realpath(root), 0)]
    while pending:
        folder, real, depth = pending.pop()
        if real in visited:
            continue
        visited.add(real)
        found = entries(folder, skips)
        yield found
        if depth == DEPTH_LIMIT:
            continue
        for entry in found:
            if is_folder(entry):
                # Only a link can lead elsewhere: asking for each folder would cost more than listing it.
                inner = os.path.realpath(entry.path) if entry.is_symlink() else os.path.join(real, entry.name)  # noqa: PTH118
                pending.append((entry.path, inner, depth + 1))


def walk(root: str, suffix: str, skips: Skips) -> Iterator[str]:
    """Yield the files below a folder whose names end in `suffix`."""
    for found in folders(root, skips):
        for entry in found:
            if entry.name.endswith(suffix) and not is_folder(entry):
                yield entry.path
