"""Snapshot files: the signals of one moment in one file, with a name and a digest, for a run that must not move.

A file holds the ledger and the fold under every lens, so that all signals can be given from it alone. It is written
once and never replaced; opening it checks it byte for byte.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from a2a_trust.errors import SnapshotError
from a2a_trust.lenses import Lens, fold_by
from a2a_trust.model import AgentRecord, Ledger
from a2a_trust.store import files
from a2a_trust.store.audit import plain_floats
from a2a_trust.store.reader import fold_log, read_all_rows

if TYPE_CHECKING:
    from pathlib import Path

FORMAT = "a2a-trust-signals"
VERSION = 1
NAME_DIGITS = 12
"""Characters of the digest that stand in the name."""

_ENCODER = msgspec.json.Encoder(order="deterministic")


class Body(Struct, frozen=True, kw_only=True):
    """What the digest is over."""

    home: str
    ledger: Ledger
    lenses: dict[Lens, dict[str, AgentRecord]]
    """Every lens but the fingerprint, which the ledger holds."""


class _File(Struct, frozen=True, kw_only=True):
    """The file: the body stays bytes until its digest is known to be right."""

    format: str
    version: int
    name: str
    sha256: str
    body: msgspec.Raw


class Frozen(Struct, frozen=True, kw_only=True):
    """A snapshot file that was checked."""

    name: str
    body: Body


def freeze(home: Path, path: Path) -> str:
    """Write the signals of a home to a file, durably, and return their name.

    The name is made of the content: equal content has an equal name. Raises `SnapshotError` where the file exists with
    another content or cannot be written, `NoLedgerError` where the home is empty.
    """
    rows = list(read_all_rows(home))
    ledger = fold_log(rows)
    lenses: dict[Lens, dict[str, AgentRecord]] = {
        lens: fold_by(lens, rows, ledger.policy) for lens in Lens if lens is not Lens.FINGERPRINT
    }
    body = plain_floats(_ENCODER.encode(Body(home=str(home), ledger=ledger, lenses=lenses)))
    digest = hashlib.sha256(body).hexdigest()
    name = _name(ledger, digest)
    data = _ENCODER.encode(
        _File(format=FORMAT, version=VERSION, name=name, sha256=digest, body=msgspec.Raw(body)),
    )
    try:
        if not path.exists():
            files.replace(path, data + b"\n")
        elif path.read_bytes() != data + b"\n":
            raise SnapshotError(f"{path}: exists with another content; a snapshot is never replaced: give a new name")
    except OSError as error:
        raise SnapshotError(f"{path}: {error.strerror or error}; give a file in a folder you may write to") from None
    return name


def _name(ledger: Ledger, digest: str) -> str:
    return f"signals-{ledger.audit.rows}-{digest[:NAME_DIGITS]}"


def read_frozen(path: Path) -> Frozen:
    """Open a snapshot file. Raises `SnapshotError` where it is none, or not the one that its digest names."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=_File)
        known = found.format == FORMAT and found.version == VERSION
        if not known:
            raise SnapshotError(f"{path}: format {found.format} {found.version}, not {FORMAT} {VERSION}")
        digest = hashlib.sha256(found.body).hexdigest()
        if digest != found.sha256:
            raise SnapshotError(
                f"{path}: the content has the digest {digest[:NAME_DIGITS]}, not {found.sha256[:NAME_DIGITS]}: "
                "it was altered; freeze the home again"
            )
        body = msgspec.json.decode(found.body, type=Body)
        if found.name != _name(body.ledger, digest):
            raise SnapshotError(f"{path}: its name is {_name(body.ledger, digest)}, not {found.name}: it was altered")
        return Frozen(name=found.name, body=body)
    except OSError as error:
        raise SnapshotError(f"{path}: {error.strerror or error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SnapshotError(
            f"{path}: not a snapshot file: {error}; make one with: a2a-trust signals --freeze"
        ) from None
