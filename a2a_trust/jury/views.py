"""The files beside a log: all computed from it, written whole or not at all, and held against it byte by byte."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from a2a_trust.errors import RunFolderError
from a2a_trust.jury import fold, report, result, summary, transcript
from a2a_trust.jury.journal import read_lines
from a2a_trust.jury.run_folder import expect_text, locked, told
from a2a_trust.sources.jury_events import LOG_NAME
from a2a_trust.store import files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from a2a_trust.jury.fold import Item, Run
    from a2a_trust.jury.summary import Summary

RESULT, SUMMARY, TRANSCRIPT, REPORT = "result.json", "summary.json", "transcript.md", "report.html"
NAMES = (RESULT, SUMMARY, TRANSCRIPT, REPORT)
_WAIT_SECONDS = 30.0
_SHOWN = 60
"""Characters of a value that a difference repeats."""


class Difference(Struct, frozen=True, kw_only=True):
    """Where a view is not what its log gives."""

    file: str
    place: str
    """A field or a line; empty where the file itself is missing."""
    found: str
    expected: str

    def __str__(self) -> str:
        """Return it on one line."""
        where = f"{self.file}, {self.place}" if self.place else self.file
        return f"{where}: found {self.found}, expected {self.expected}"


class Views:
    """The views of one log as it stands now."""

    def __init__(self, folder: Path) -> None:
        """Read the log of a folder once, for the run and its numbers.

        Raises:
            RunFolderError: There is no log.
            JuryLogError: It is damaged.
        """
        self.folder = folder
        self._log = log_of(folder)
        self.run: Run
        self.summary: Summary
        self.run, self.summary = summary.summarise(read_lines(self._log))

    def items(self) -> Iterator[Item]:
        """Yield the items, reading the log again."""
        return fold.fold(read_lines(self._log))

    def holds(self, found: str) -> bool:
        """Tell whether a line of the log has a hash, or one that begins so."""
        return any(line.startswith(found) for line, _ in read_lines(self._log))

    def chunks(self, name: str) -> Iterator[bytes]:
        """Yield what a view holds."""
        makers: dict[str, Callable[[], Iterator[bytes]]] = {
            RESULT: lambda: result.chunks(self.run, self.items()),
            SUMMARY: lambda: summary.chunks(self.summary),
            TRANSCRIPT: lambda: transcript.chunks(self.run, self.items()),
            REPORT: lambda: report.chunks(self.run, self.summary, self.items()),
        }
        return makers[name]()

    def write(self, name: str) -> None:
        """Put a view in its place."""
        path = self.folder / name
        beside = path.with_name(f".{name}.{os.getpid()}.tmp")
        try:
            # It says what the log says, and is as private.
            beside.touch(files.FILE_MODE)
            with beside.open("wb") as file:
                file.writelines(self.chunks(name))
            beside.replace(path)
        except BaseException:
            with suppress(OSError):
                beside.unlink()
            raise

    def difference(self, name: str) -> Difference | None:
        """Return where a view differs from what the log gives, first."""
        path = self.folder / name
        if not path.is_file():
            return Difference(file=name, place="", found="no such file", expected="one")
        with path.open("rb") as file:
            for chunk in self.chunks(name):
                if file.read(len(chunk)) != chunk:
                    return self._located(name)
            return self._located(name) if file.read(1) else None

    def _located(self, name: str) -> Difference:
        """Return the place of a difference: a field of JSON, or a line."""
        found, expected = (self.folder / name).read_bytes(), b"".join(self.chunks(name))
        if name.endswith(".json"):
            try:
                pair = msgspec.json.decode(found), msgspec.json.decode(expected)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                return Difference(file=name, place="the whole file", found=f"no JSON ({error})", expected="JSON")
            for place, value, given in _differences(*pair, "$"):
                return Difference(file=name, place=place, found=value, expected=given)
        lines = found.split(b"\n"), expected.split(b"\n")
        for number in range(max(map(len, lines))):
            one, other = (part[number] if number < len(part) else None for part in lines)
            if one != other:
                return Difference(file=name, place=f"line {number + 1}", found=_shown(one), expected=_shown(other))
        raise AssertionError


def log_of(folder: Path) -> Path:
    """Return the log of a run's folder; RunFolderError where there is none, or none that can be named."""
    expect_text(folder)
    path = folder / LOG_NAME
    if not path.is_file():
        raise RunFolderError(
            f"{folder} holds no {LOG_NAME}; expected the folder of a jury run, which each run names at its end"
        )
    return path


def write_all(folder: Path) -> Views:
    """Write all views of a folder and return them.

    The last one to write has read the log last: one writes at a time.
    """
    with told(folder), locked(folder, _WAIT_SECONDS):
        views = Views(folder)
        for name in NAMES:
            views.write(name)
    return views


def remove_all(folder: Path) -> None:
    """Remove the views of a run that goes on: until they are written again, none stands beside a newer log."""
    for name in NAMES:
        with suppress(FileNotFoundError):
            (folder / name).unlink()


def _differences(one: object, other: object, place: str) -> Iterator[tuple[str, str, str]]:
    """Yield place and both values of what differs between two JSON values."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in [*other, *(key for key in one if key not in other)]:
            where = f"{place}.{key}"
            if key not in one or key not in other:
                yield where, *(("a value", "none") if key in one else ("none", _told(other[key])))
            else:
                yield from _differences(one[key], other[key], where)
    elif isinstance(one, list) and isinstance(other, list):
        for number, pair in enumerate(zip(one, other, strict=False)):
            yield from _differences(*pair, f"{place}[{number}]")
        if len(one) != len(other):
            yield place, f"{len(one)} entries", f"{len(other)}"
    elif type(one) is not type(other) or one != other:
        yield place, _told(one), _told(other)


def _told(value: object) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _shown(line: bytes | None) -> str:
    return "no such line" if line is None else _told(line.decode("utf-8", "replace"))
