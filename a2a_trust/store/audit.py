"""The audit log: `audit.jsonl`, one row a line, each chained to the line before by its SHA-256.

Rows are only ever appended. This module writes and reads lines and keeps the chain; it knows no policy and no fold.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from a2a_trust.errors import AuditDamageError, HomeError
from a2a_trust.model import NO_HEAD, ROW_VERSION, AuditMark, Row
from a2a_trust.store import files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

T = TypeVar("T")

_ENCODER = msgspec.json.Encoder(order="deterministic")
_DECODER = msgspec.json.Decoder(Row)
_OUR_START = b'{"v":'
"""How a row of ours begins, and no row of another program."""
_EXPONENT = re.compile(rb"e-?[0-9]+[,\]}]")
"""How a number with an exponent ends, and no digest, which is quoted. A literal at its start makes it fast to find."""
_NEVER_BELOW, _NEVER_FROM = 1e-3, 1e9
"""Between these no number is written with an exponent; zero is not, either."""
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|-?[0-9]+(?:\.[0-9]+)?e-?[0-9]+')


class _Version(Struct):
    """What is looked at of a row that is none of this version."""

    v: int = ROW_VERSION


_VERSION = msgspec.json.Decoder(_Version)


class Placement(NamedTuple):
    """A row and where its line begins in the audit log, in bytes."""

    row: Row
    offset: int


def encode_row(row: Row) -> bytes:
    """Return a row as its line, without the newline."""
    line = _ENCODER.encode(row)
    return plain_floats(line) if _may_have_exponents(row) else line


def _may_have_exponents(row: Row) -> bool:
    """Tell whether a number of a row may be written with an exponent: few are, and to look at the line is dearer."""
    details = row.evidence
    if row.late is not None or details.given is not None or details.policy is not None:
        return True
    for number in (row.quality, row.before, row.after, row.delta):
        if number and not _NEVER_BELOW <= abs(number) < _NEVER_FROM:
            return True
    return False


def plain_floats(data: bytes) -> bytes:
    """Write the numbers of a JSON text that have an exponent with a point instead: `1e-6` as `0.000001`."""
    if _EXPONENT.search(data) is None:
        return data
    return _TOKEN.sub(lambda token: token[0] if token[0][:1] == b'"' else _plain(token[0]), data)


def _plain(number: bytes) -> bytes:
    text = format(Decimal(number.decode()), "f")
    return (text if "." in text else f"{text}.0").encode()


def decode_row(line: bytes) -> Row:
    """Return the row of a line. Raises `msgspec.DecodeError`, and `HomeError` for a row of a newer version."""
    try:
        row = _DECODER.decode(line)
    except msgspec.DecodeError:
        # A newer version may give its keys another shape, which is no damage either.
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            _refuse_newer(_VERSION.decode(line).v)
        raise
    if row.v != ROW_VERSION:
        _refuse_newer(row.v)
        msg = f"a row of version {row.v}, which there never was"
        raise msgspec.ValidationError(msg)
    return row


def _refuse_newer(version: int) -> None:
    if version > ROW_VERSION:
        raise HomeError(f"a row of version {version}, written by a newer version; update a2a-trust")


def hash_line(line: bytes) -> str:
    """Return what the next row carries as `prev`."""
    return hashlib.sha256(line).hexdigest()


def read_rows(path: Path, mark: AuditMark, *, until: int, settled: int | None = None) -> Iterator[Placement]:
    """Yield the rows from a mark up to a byte, checking that each is whole and linked to the one before.

    Raises `AuditDamageError` that names the row, its byte and what is wrong. With `settled`, a bad row at that byte
    or behind it is the end: nothing stands on it, and a writer will set it aside.
    """
    head, offset, number = mark.head, mark.bytes, mark.rows
    if offset >= until:
        return
    with path.open("rb") as file:
        file.seek(offset)
        for line in file:
            if offset >= until:
                return
            number += 1
            try:
                row = check_line(line, head, f"{path}: row {number} at byte {offset}")
            except AuditDamageError:
                if settled is None or offset < settled:
                    raise
                return
            yield Placement(row, offset)
            head = hash_line(line[:-1])
            offset += len(line)


def check_line(line: bytes, head: str, place: str) -> Row:
    """Return the row of a line that must be whole and linked to `head`. Raises `AuditDamageError`."""
    if not line.endswith(b"\n"):
        msg = f"{place}: the line has no end"
        raise AuditDamageError(msg)
    row = parse_line(line, place)
    if row.prev != head:
        msg = f"{place}: broken chain: it names {row.prev[:12]} as the row before, which is {head[:12]}"
        raise AuditDamageError(msg)
    return row


class Recovery(NamedTuple):
    """What was set aside behind the last row that was known to be good."""

    path: str
    bytes: int
    offset: int
    why: str


class Tail(NamedTuple):
    """How an audit log ends: where its sound rows end, and what is wrong with the bytes behind them."""

    sound: AuditMark
    size: int
    why: str


def find_tail(path: Path, mark: AuditMark) -> Tail:
    """Find the end of the sound rows behind a mark.

    What stands before the mark was acknowledged by a snapshot; that it is there is checked by its length and its last
    row. Raises `AuditDamageError` where it is not.
    """
    size = path.stat().st_size if path.exists() else 0
    if size < mark.bytes:
        msg = (
            f"{path}: {size} bytes, but the ledger stands on {mark.bytes} bytes ({mark.rows} rows): its end was cut "
            "off; restore the file, or keep what is there with: a2a-trust verify --repair"
        )
        raise AuditDamageError(msg)
    if not stands_on(path, mark):
        msg = (
            f"{path}: row {mark.rows}, which ends at byte {mark.bytes}, is not the row that the ledger stands on; see: "
            "a2a-trust verify"
        )
        raise AuditDamageError(msg)
    rows, offset, head = mark.rows, mark.bytes, mark.head
    why = ""
    if size > offset:
        with path.open("rb") as file:
            file.seek(offset)
            for line in file:
                try:
                    check_line(line, head, f"{path}: row {rows + 1} at byte {offset}")
                except AuditDamageError as error:
                    why = str(error)
                    break
                rows, offset, head = rows + 1, offset + len(line), hash_line(line[:-1])
    return Tail(AuditMark(rows=rows, bytes=offset, head=head), size, why)


def recover_tail(path: Path, mark: AuditMark) -> tuple[AuditMark, Recovery | None]:
    """Find the end of the sound rows behind a mark, set aside what follows it, and make those rows durable.

    Rows that no snapshot holds are there to be read, which does not say that they would survive a power loss: whoever
    wrote them may have died, or failed, before. Raises `AuditDamageError` like `find_tail`.
    """
    sound, size, why = find_tail(path, mark)
    if why and sound.bytes == 0:
        _check_first_write(path, why)
    recovery = _set_aside(path, sound.bytes, size, why) if why else None
    if sound.bytes > mark.bytes:
        files.confirm(path, mark.bytes, sound.bytes)
    return sound, recovery


def _check_first_write(path: Path, why: str) -> None:
    """Refuse a log without a sound row, unless all it holds is what a failed first write of ours may leave.

    That is the beginning of a row, or garbage in which no key stands. Whatever else is there was whole once, or is
    another program's. Raises `AuditDamageError`.
    """
    with path.open("rb") as file:
        line = file.readline()
        if line.startswith(_OUR_START) and not line.endswith(b"\n"):
            return
        file.seek(0)
        if not any(b'":' in line for line in file):
            return
    msg = f"{why}; no row of this program stands before it, so nothing was set aside"
    raise AuditDamageError(msg)


def stands_on(path: Path, mark: AuditMark) -> bool:
    """Tell whether the last row before a mark is the one whose hash the mark holds."""
    if mark.bytes == 0:
        return mark.head == NO_HEAD
    if not path.exists() or path.stat().st_size < mark.bytes:
        return False
    step = 1 << 16
    with path.open("rb") as file:
        start, end = mark.bytes, b""
        while start > 0 and end.count(b"\n") < 2:  # noqa: PLR2004 - the line's own end, and the one before it
            start = max(0, start - step)
            file.seek(start)
            end = file.read(mark.bytes - start)
    return end.endswith(b"\n") and hash_line(end[:-1].rpartition(b"\n")[2]) == mark.head


def last_whole_line(path: Path) -> int:
    """Return where the last whole line of the log ends, in bytes; 0 where there is no log."""
    try:
        size = path.stat().st_size
    except OSError:
        return 0
    step, start, end = 1 << 16, size, b""
    with path.open("rb") as file:
        while start > 0 and b"\n" not in end:
            start = max(0, start - step)
            file.seek(start)
            end = file.read(size - start)
    return start + end.rfind(b"\n") + 1


def _set_aside(path: Path, offset: int, size: int, why: str) -> Recovery:
    """Move everything from an offset on into a file of its own, durably, and cut the log there."""
    number = 1
    while (aside := path.with_name(f"{path.name}.torn-{number}")).exists():
        number += 1
    with path.open("rb") as file:
        file.seek(offset)
        files.replace(aside, file.read())
    files.truncate(path, offset)
    return Recovery(str(aside), size - offset, offset, why)


class AuditWriter:
    """Appends rows behind a mark. After any failure it must be thrown away and the log recovered."""

    def __init__(self, path: Path, mark: AuditMark) -> None:
        self._path = path
        self.mark = mark

    def append(self, rows: Iterable[Row]) -> list[Placement]:
        """Append rows durably: when this returns they are acknowledged.

        Returns them as written, with their places. The rows' `prev` is set here.
        """
        rows_count, offset, head = self.mark.rows, self.mark.bytes, self.mark.head
        placed: list[Placement] = []
        lines: list[bytes] = []
        for row in rows:
            chained = msgspec.structs.replace(row, prev=head)
            line = encode_row(chained)
            head = hash_line(line)
            placed.append(Placement(chained, offset))
            lines += (line, b"\n")
            offset += len(line) + 1
            rows_count += 1
        if not placed:
            return placed
        files.append(self._path, b"".join(lines))
        self.mark = AuditMark(rows=rows_count, bytes=offset, head=head)
        return placed


def empty_mark() -> AuditMark:
    """Return the mark before the first row."""
    return AuditMark(rows=0, bytes=0, head=NO_HEAD)


def slices(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the items in lists of at most `size`."""
    iterator = iter(items)
    while part := list(islice(iterator, size)):
        yield part


def read_row_at(path: Path, offsets: Sequence[int]) -> Iterator[Row]:
    """Yield the rows whose lines begin at the offsets. Raises `AuditDamageError`."""
    if not offsets:
        return
    with path.open("rb") as file:
        for offset in offsets:
            file.seek(offset)
            yield parse_line(file.readline(), f"{path}: the row at byte {offset}")


def parse_line(line: bytes, place: str) -> Row:
    """Return the row of a line that was acknowledged.

    Raises `AuditDamageError` that names the place, and `HomeError` for a row of a newer version.
    """
    try:
        return decode_row(line.removesuffix(b"\n"))
    except HomeError as error:
        raise HomeError(f"{place}: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        msg = f"{place} is damaged: {error}; see: a2a-trust verify"
        raise AuditDamageError(msg) from None
