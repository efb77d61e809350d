"""A disk that fails, and what it holds after the power was cut.

`Disk` stands in for `a2a_trust.store.files.system`. It carries every call out on real files, as the page cache of a
running machine would show them, and keeps beside them what is durable: the content of a file once that file was
synced, a name once its folder was. A `Fault` makes one call fail, tears a write, or ends the process there; after
that, `after_power_loss` gives every folder that a disk may be left with.

Harsher than most disks: syncing a file does not make its name durable, names that were not synced may come true in any
selection, and what a failed sync did not write stays lost, as on Linux, until it is written again.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from contextlib import contextmanager
from enum import Enum
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from a2a_trust.store import files

if TYPE_CHECKING:
    from collections.abc import Iterator

NOBODY = 65_534

Folder = dict[str, bytes]
"""The files of a home by name."""


class Killed(BaseException):
    """The process ends here. No handler of ours may catch it, and nothing may be written after it."""


class How(Enum):
    """What happens at a call."""

    EIO = "fails with EIO"
    ENOSPC = "fails with ENOSPC"
    EIO_LATE = "is done, and reported as failed with EIO"
    KILL = "is not reached"


class Fault(NamedTuple):
    """What happens at the call with a number, after some bytes of it were written."""

    at: int
    how: How
    written: int = 0


class Call(NamedTuple):
    """A call that was made."""

    name: str
    file: str
    size: int = 0


class Write(NamedTuple):
    """A change of a file's content: bytes at an offset, or a new size where there are none."""

    offset: int
    data: bytes | None


class NameChange(NamedTuple):
    """A change of the names in a folder: a file gets one, loses one, or both at once."""

    target: str
    inode: Inode | None
    source: str

    def apply(self, names: dict[str, Inode]) -> None:
        """Change a mapping of names."""
        if self.source:
            names.pop(self.source, None)
        if self.inode is not None:
            names[self.target] = self.inode


class Inode:
    """A file on the disk: what is durable of it, and what was written since."""

    def __init__(self, durable: bytes = b"") -> None:
        self.durable = durable
        self.pending: list[Write] = []

    def apply(self, writes: list[Write]) -> bytes:
        """The durable content with some writes carried out."""
        content = bytearray(self.durable)
        for offset, data in writes:
            if data is None:
                del content[offset:]
            else:
                content.extend(bytes(max(0, offset - len(content))))
                content[offset : offset + len(data)] = data
        return bytes(content)

    def sync(self) -> None:
        """Make everything durable that was not lost."""
        self.durable = self.apply(self.pending)
        self.pending = []

    def lose(self) -> None:
        """Fail to write: what was pending is dropped, and counts as written; a longer file keeps its length."""
        self.pending = []

    def remains(self) -> list[bytes]:
        """What may stand on the disk: nothing of the pending writes, all, the last torn, or garbage in its place."""
        if not self.pending:
            return [self.durable]
        *earlier, last = self.pending
        found = [self.durable, self.apply(self.pending), self.apply(earlier)]
        if last.data:
            half = last.data[: len(last.data) // 2]
            found.append(self.apply([*earlier, last._replace(data=half)]))
        found += [self._garbled(filler) for filler in (b"\0", b"}\n{\xff")]
        return list(dict.fromkeys(found))

    def _garbled(self, filler: bytes) -> bytes:
        """Garbage wherever the pending writes change something: writing a byte over its like leaves it as it is."""
        content = bytearray(self.apply(self.pending))
        for place, byte in enumerate(content):
            if place >= len(self.durable) or self.durable[place] != byte:
                content[place] = filler[place % len(filler)]
        return bytes(content)


class Disk(files.System):
    """A home on a disk that keeps count."""

    def __init__(self, home: Path, fault: Fault | None = None, *, links: bool = True) -> None:
        self.home = home
        self.fault = fault
        self.calls: list[Call] = []
        self.dead = False
        self._links = links
        self._full = False
        self._inodes: dict[int, Inode] = {}
        self._names: dict[str, Inode] = {}
        if home.exists():
            self._names = {name: Inode(data) for name, data in read_folder(home).items()}
        self._durable_names = dict(self._names)
        self._pending_names: list[NameChange] = []
        self._home_is_durable = home.exists()

    @contextmanager
    def installed(self) -> Iterator[Disk]:
        """Let the store use this disk."""
        before, files.system = files.system, self
        try:
            yield self
        finally:
            files.system = before

    def revive(self) -> None:
        """Start another process on the same machine: the disk works again, and what it never wrote is not forgotten."""
        self.fault, self.dead, self._full = None, False, False

    # ------------------------------------------------------------------ the calls

    def mkdir(self, path: Path) -> None:
        """Make a folder."""
        self._reach("mkdir", path)
        super().mkdir(path)
        self._done()

    def open(self, path: Path, flags: int) -> int:
        """Open a file; a new one gets a name."""
        self._reach("open", path)
        created = not path.exists()
        descriptor = super().open(path, flags)
        if created:
            self._name(path, Inode())
        inode = self._inodes[descriptor] = self._names[path.name]
        if flags & os.O_TRUNC and not created:
            inode.pending.append(Write(0, None))
        return descriptor

    def write(self, descriptor: int, data: memoryview) -> int:
        """Write, whole or torn."""
        inode = self._inodes[descriptor]
        if self._full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        torn = self._is_next() and self.fault is not None and self.fault.written
        if torn:
            self._write(descriptor, inode, data[: self.fault.written])
        self._reach("write", self._name_of(inode), len(data), torn=bool(torn))
        if torn:
            return int(torn)
        self._write(descriptor, inode, data)
        self._done()
        return len(data)

    def _write(self, descriptor: int, inode: Inode, data: memoryview) -> None:
        size = os.fstat(descriptor).st_size
        place = os.lseek(descriptor, 0, os.SEEK_CUR)
        appends = bool(fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_APPEND)
        os.write(descriptor, data)
        inode.pending.append(Write(size if appends else place, bytes(data)))

    def sync(self, descriptor: int) -> None:
        """Make content or names durable."""
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            self._sync_folder(found)
            return
        inode = self._inodes[descriptor]
        if self._is_next() and self.fault is not None and self.fault.how in (How.EIO, How.ENOSPC):
            inode.lose()
        self._reach("sync", self._name_of(inode))
        inode.sync()
        self._done()

    def _sync_folder(self, found: os.stat_result) -> None:
        is_home = self.home.exists() and os.path.samestat(found, self.home.stat())
        self._reach("sync-folder", self.home if is_home else self.home.parent)
        if is_home:
            self._durable_names = dict(self._names)
            self._pending_names = []
        else:
            self._home_is_durable = True
        self._done()

    def truncate(self, descriptor: int, size: int) -> None:
        """Cut a file."""
        inode = self._inodes[descriptor]
        self._reach("truncate", self._name_of(inode))
        super().truncate(descriptor, size)
        inode.pending.append(Write(size, None))
        self._done()

    def link(self, source: Path, target: Path) -> None:
        """Give a second name, on a disk that has links."""
        self._reach("link", target)
        if not self._links:
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))
        super().link(source, target)
        self._name(target, self._names[source.name])
        self._done()

    def replace(self, source: Path, target: Path) -> None:
        """Rename."""
        self._reach("replace", target)
        super().replace(source, target)
        self._name(target, self._names[source.name], source)
        self._done()

    def unlink(self, path: Path) -> None:
        """Remove a name."""
        if not path.exists():
            super().unlink(path)
        self._reach("unlink", path)
        super().unlink(path)
        if path.name in self._names:
            self._name(None, None, path)
        self._done()

    def _name(self, target: Path | None, inode: Inode | None, source: Path | None = None) -> None:
        change = NameChange(target.name if target else "", inode, source.name if source else "")
        change.apply(self._names)
        self._pending_names.append(change)

    # ------------------------------------------------------------------ faults

    def _is_next(self) -> bool:
        return self.fault is not None and self.fault.at == len(self.calls)

    def _reach(self, name: str, place: Path | str, size: int = 0, *, torn: bool = False) -> None:
        """Note a call, and fail instead of carrying it out where the fault says so."""
        if self.dead:
            raise Killed
        hit = self._is_next()
        self.calls.append(Call(name, place if isinstance(place, str) else place.name, size))
        if not hit or self.fault is None or self.fault.how is How.EIO_LATE:
            return
        if self.fault.how is How.KILL:
            self.dead = True
            raise Killed
        if torn:
            # A short write says how much it wrote; it is the next one that finds the disk full.
            self._full = True
            return
        code = errno.ENOSPC if self.fault.how is How.ENOSPC else errno.EIO
        raise OSError(code, os.strerror(code))

    def _done(self) -> None:
        if self.fault is not None and self.fault.how is How.EIO_LATE and self.fault.at == len(self.calls) - 1:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    def _name_of(self, inode: Inode) -> str:
        return next((name for name, known in self._names.items() if known is inode), "?")

    # ------------------------------------------------------------------ what remains

    def durable(self) -> Folder:
        """The least that a power loss leaves: nothing that was not synced."""
        return {name: inode.durable for name, inode in self._durable_names.items()} if self._home_is_durable else {}

    def after_power_loss(self) -> list[Folder]:
        """Every folder that a power loss may leave: any selection of unsynced names, several fates of contents."""
        found: dict[tuple[tuple[str, bytes], ...], Folder] = {}
        for chosen in product((False, True), repeat=len(self._pending_names)):
            names = dict(self._durable_names)
            for change, comes_true in zip(self._pending_names, chosen, strict=True):
                if comes_true:
                    change.apply(names)
            fates = {name: inode.remains() for name, inode in names.items()}
            for fate in range(max(map(len, fates.values()), default=1)):
                left = {name: contents[min(fate, len(contents) - 1)] for name, contents in fates.items()}
                found[tuple(sorted(left.items()))] = left
        if not self._home_is_durable:
            found[()] = {}
        return list(found.values())


def read_folder(home: Path) -> Folder:
    """The files of a home that the store writes itself; cache and lock are another's."""
    return {
        path.name: path.read_bytes()
        for path in sorted(home.iterdir())
        if path.is_file() and not path.name.startswith(("cache.sqlite", "ledger.lock"))
    }


def folder_for_homes() -> Path | None:
    """In memory where that is possible: a file system that keeps nothing has nothing to wait for."""
    memory = Path("/dev/shm")  # noqa: S108 - only a place that is fast where it exists
    return memory if memory.is_dir() else None


@contextmanager
def as_nobody(folder: Path) -> Iterator[None]:
    """Act as a user who may read a folder and write nowhere in it; who is root is let everywhere else."""
    for path in (folder, *folder.iterdir()):
        path.chmod(0o500 if path.is_dir() else 0o400)
    root = os.geteuid() == 0
    try:
        if root:
            for path in (folder.parent, folder, *folder.iterdir()):
                os.chown(path, NOBODY, NOBODY)
            os.seteuid(NOBODY)
        yield
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(0o700)
