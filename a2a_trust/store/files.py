"""What the store asks of a file system, and what each call promises.

`sync` returns when the data would survive a power loss, as far as the platform can promise it: `fsync` everywhere,
`F_FULLFSYNC` on macOS, where `fsync` only reaches the drive. `sync_folder` makes names durable; Windows offers no such
call and journals them itself. After a failed `sync` the state of the file is unknown: never call it again on the same
descriptor.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

FILE_MODE = 0o600
FOLDER_MODE = 0o700


def sync(descriptor: int) -> None:
    """Make what was written to a file durable."""
    if sys.platform == "darwin":
        import fcntl  # noqa: PLC0415 - exists on this platform only

        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fsync(descriptor)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of the data; a signal or a full pipe may make the system take it in parts."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def replace_durably(path: Path, data: bytes, backup: Path | None = None) -> None:
    """Replace a file's content so that at every moment the old or the new content stands under its name.

    With `backup`, the old content is kept under that name; there is no moment in which neither exists.
    """
    temporary = path.with_name(f"{path.name}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, FILE_MODE)
    try:
        write_all(descriptor, data)
        sync(descriptor)
    finally:
        os.close(descriptor)
    if backup is not None and path.exists():
        _keep(path, backup)
    temporary.replace(path)
    sync_folder(path.parent)


def _keep(path: Path, backup: Path) -> None:
    """Put a second name on the file that is about to be replaced, by way of a temporary name."""
    link = backup.with_name(f"{backup.name}.tmp")
    link.unlink(missing_ok=True)
    try:
        os.link(path, link)
    except OSError:
        # No hard links here: the copy is not atomic, but it is made under a temporary name too.
        link.write_bytes(path.read_bytes())
        link.chmod(FILE_MODE)
    link.replace(backup)
