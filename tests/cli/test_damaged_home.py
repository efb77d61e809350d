"""A home that is damaged is told in one line, by every command."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from commandline import AUDIT, BACKUP, CACHE, LEDGER, LOCK, Done, named
from homes import FIXTURES

from a2a_trust import errors

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def put(name: str, data: bytes) -> Callable[[Path], None]:
    """Replace a file of a home."""

    def spoil(home: Path) -> None:
        (home / name).write_bytes(data)

    return spoil


def folder_at(name: str) -> Callable[[Path], None]:
    """Put a folder where a file of a home should be."""

    def spoil(home: Path) -> None:
        (home / name).unlink()
        (home / name).mkdir()

    return spoil


def cut_log(home: Path) -> None:
    """Take the last hundred bytes off the audit log."""
    data = (home / AUDIT).read_bytes()
    (home / AUDIT).write_bytes(data[:-100])


def edit_log(home: Path) -> None:
    """Edit a row in the middle of the audit log."""
    data = (home / AUDIT).read_bytes()
    place = data.index(b'"quality":0.8', len(data) // 2)
    (home / AUDIT).write_bytes(data[:place] + data[place:].replace(b"0.8", b"0.9", 1))


def no_utf8(home: Path) -> None:
    """Put a byte that is no UTF-8 into the middle of the audit log."""
    data = bytearray((home / AUDIT).read_bytes())
    data[data.index(b'"kind":"', len(data) // 2) + 9] = 0xFF
    (home / AUDIT).write_bytes(data)


def far_future(home: Path) -> None:
    """Write a time into the snapshot that no calendar knows."""
    data = (home / LEDGER).read_bytes()
    (home / LEDGER).write_bytes(re.sub(rb'"lastSeen":\d+', b'"lastSeen":999999999999999999', data))


DAMAGE: dict[str, Callable[[Path], None]] = {
    "the ledger is garbage": put(LEDGER, b"\xff\x00garbage"),
    "the ledger is empty": put(LEDGER, b""),
    "the ledger is nested deeply": put(LEDGER, b'{"version":' + b"[" * 100_000),
    "the ledger has a key that is nested deeply": put(LEDGER, b'{"new":' + b"[" * 100_000),
    "the ledger is a folder": folder_at(LEDGER),
    "the ledger is of another time": far_future,
    "the backup is a folder": folder_at(BACKUP),
    "the audit log is garbage": put(AUDIT, b"\xff\x00garbage\n"),
    "the audit log is empty": put(AUDIT, b""),
    "the audit log is one torn line": put(AUDIT, b'{"v":2'),
    "the audit log is nested deeply": put(AUDIT, b'{"v":2,"new":' + b"[" * 100_000 + b"\n"),
    "the audit log is a folder": folder_at(AUDIT),
    "the audit log is cut": cut_log,
    "the audit log is edited": edit_log,
    "the audit log is no UTF-8": no_utf8,
    "the cache is garbage": put(CACHE, b"garbage" * 1000),
    "the cache is a folder": folder_at(CACHE),
    "the lock is a folder": folder_at(LOCK),
}


@pytest.mark.parametrize(
    "arguments",
    [
        ["show"],
        ["show", "--by", "tool"],
        ["explain", "main"],
        ["doctor"],
        ["policy", "--set", "seed"],
        ["rebuild"],
        ["backfill", str(FIXTURES / "made-solo")],
    ],
    ids=named,
)
@pytest.mark.parametrize("spoil", DAMAGE.values(), ids=list(DAMAGE))
def test_a_damaged_home_is_told_in_one_line(
    run: Callable[..., Done], copy_of: Callable[..., Path], spoil: Callable[[Path], None], arguments: list[str]
) -> None:
    """Whatever is wrong with a home, a command does its work or says in one line why not; nobody sees a traceback."""
    spoil(copy_of("a-team"))
    done = run(*arguments)
    codes = {error.exit_code for error in errors.ALL_ERRORS}
    assert done.code in codes | {0}
    assert done.err.count("\n") == (done.code != 0)


@pytest.mark.parametrize("arguments", [["show"], ["explain", "main"], ["doctor"], ["policy"], ["rebuild"]], ids=named)
def test_a_home_that_is_a_file_is_told_in_one_line(
    run: Callable[..., Done], tmp_path: Path, arguments: list[str]
) -> None:
    """A file that was given as the home, and is no snapshot file either, is refused in words."""
    place = tmp_path / "file"
    place.write_bytes(b"")
    done = run(*arguments, "--home", place)
    assert done.code in {0, 7, 9, 12}
    assert done.err.count("\n") == (done.code != 0)
