"""What the store asks of a file system, and what each call promises.

`append` and `replace` return when their effect would survive a power loss, as far as the platform can promise it:
`fsync` everywhere, `F_FULLFSYNC` on macOS, where `fsync` only reaches the drive. Names become durable with the folder
that holds them; Windows offers no such call and journals names itself. After a failed `fsync` the state of the file is
unknown, and a second try on the same descriptor may lie: callers stop, read again and verify.

All calls that change something go through `system`, so that tests can record them, make them fail, or stop there.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

FILE_MODE = 0o600
FOLDER_MODE = 0o700
_CHUNK_BYTES = 1 << 20
_BINARY = getattr(os, "O_BINARY", 0)
"""Windows would write every line feed as two bytes otherwise."""


class System:
    """The calls themselves."""

    def mkdir(self, path: Path) -> None:
        """Make a folder that only its owner may enter."""
        path.mkdir(mode=FOLDER_MODE)

    def open(self, path: Path, flags: int) -> int:
        """Open a file that only its owner may read."""
        return os.open(path, flags | _BINARY, FILE_MODE)

    def write(self, descriptor: int, data: memoryview) -> int:
        """Write some of the data and return how much."""
        return os.write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        """Make the content of a file, or the names in a folder, durable."""
        if sys.platform == "darwin":
            import fcntl  # noqa: PLC0415 - exists on this platform only

            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        else:
            os.fsync(descriptor)

    def truncate(self, descriptor: int, size: int) -> None:
        """Cut a file."""
        os.ftruncate(descriptor, size)

    def link(self, source: Path, target: Path) -> None:
        """Give a file a second name."""
        os.link(source, target)

    def replace(self, source: Path, target: Path) -> None:
        """Rename a file; what stood under the new name is gone."""
        os.replace(source, target)  # noqa: PTH105 - the system call is the point here

    def unlink(self, path: Path) -> None:
        """Remove a name."""
        os.unlink(path)  # noqa: PTH108 - as above


system = System()


def make_folder(path: Path) -> None:
    """Make a folder, and those above it, if they are not there; their names are durable."""
    if path.is_dir():
        return
    make_folder(path.parent)
    try:
        system.mkdir(path)
    except FileExistsError:
        if not path.is_dir():
            raise
    sync_name(path)


def sync_name(folder: Path) -> None:
    """Make the name of a folder durable, where one may: the folder above may be another user's."""
    with contextlib.suppress(PermissionError):
        sync_folder(folder.parent)


def append(path: Path, data: bytes) -> None:
    """Add data to the end of a file, durably; the file is made if need be, and its name is durable too."""
    created = not path.exists()
    _write(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, data)
    if created:
        sync_folder(path.parent)


def replace(path: Path, data: bytes | Iterable[bytes], backup: Path | None = None) -> None:
    """Replace a file's content so that at every moment the old or the new content stands under its name, durably.

    The content may come in parts. With `backup`, the old content is kept under that name; there is no moment in which
    neither exists.
    """
    temporary = path.with_name(f"{path.name}.tmp")
    _write(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, data)
    if backup is not None and path.exists():
        _keep(path, backup)
    system.replace(temporary, path)
    sync_folder(path.parent)


def truncate(path: Path, size: int) -> None:
    """Cut a file at a byte, durably."""
    descriptor = system.open(path, os.O_WRONLY)
    try:
        system.truncate(descriptor, size)
        system.sync(descriptor)
    finally:
        os.close(descriptor)


def confirm(path: Path, offset: int, size: int) -> None:
    """Make bytes durable that another process wrote, and of which nobody knows whether they reached the disk.

    To sync them is not enough: what a failed sync did not write counts as written on Linux, and a later sync says so.
    Hence the same bytes are written once more in their place, where a crash at any moment leaves them as they are.
    """
    with path.open("rb") as file:
        descriptor = system.open(path, os.O_WRONLY)
        try:
            file.seek(offset)
            os.lseek(descriptor, offset, os.SEEK_SET)
            while offset < size and (data := file.read(min(_CHUNK_BYTES, size - offset))):
                _write_all(descriptor, data)
                offset += len(data)
            system.sync(descriptor)
        finally:
            os.close(descriptor)
    sync_folder(path.parent)


def remove(path: Path) -> None:
    """Remove a file if it is there."""
    try:
        system.unlink(path)
    except FileNotFoundError:
        return


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        system.sync(descriptor)
    finally:
        os.close(descriptor)


def _write(path: Path, flags: int, data: bytes | Iterable[bytes]) -> None:
    descriptor = system.open(path, flags)
    try:
        for chunk in (data,) if isinstance(data, bytes) else _chunks(data):
            _write_all(descriptor, chunk)
        system.sync(descriptor)
    finally:
        os.close(descriptor)


def _chunks(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Join parts into few that are large."""
    held: list[bytes] = []
    size = 0
    for part in parts:
        held.append(part)
        size += len(part)
        if size >= _CHUNK_BYTES:
            yield b"".join(held)
            held, size = [], 0
    yield b"".join(held)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[system.write(descriptor, view) :]


def _keep(path: Path, backup: Path) -> None:
    """Put a second name on the file that is about to be replaced, by way of a temporary name."""
    link = backup.with_name(f"{backup.name}.tmp")
    remove(link)
    try:
        system.link(path, link)
    except OSError:
        # No hard links here: a copy is not atomic, but it has a temporary name until it is durable.
        _write(link, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, path.read_bytes())
    system.replace(link, backup)
