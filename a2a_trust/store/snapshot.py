"""The ledger snapshot: `ledger.json`, written atomically, with the generation before as `ledger.json.bak`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from a2a_trust.model import Ledger
from a2a_trust.store import files
from a2a_trust.store.audit import plain_floats

if TYPE_CHECKING:
    from pathlib import Path

LEDGER = "ledger.json"
BACKUP = "ledger.json.bak"

_ENCODER = msgspec.json.Encoder(order="deterministic")
_DECODER = msgspec.json.Decoder(Ledger)


def encode_ledger(ledger: Ledger) -> bytes:
    """Return the ledger as its file holds it."""
    return plain_floats(_ENCODER.encode(ledger)) + b"\n"


def write_snapshot(home: Path, ledger: Ledger) -> None:
    """Replace the snapshot durably and keep the one before."""
    files.replace(home / LEDGER, encode_ledger(ledger), home / BACKUP)


def read_snapshot(path: Path) -> Ledger | None:
    """Return a snapshot; `None` where the file is missing or is no ledger."""
    try:
        return _DECODER.decode(path.read_bytes())
    except FileNotFoundError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
