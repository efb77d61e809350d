"""The store: the audit log, which is the truth; the ledger, a view of it; the cache, an index of both.

The writer is imported on first use, so that who only reads neither pays for it nor holds it.
"""

from typing import TYPE_CHECKING, Any

from a2a_trust.store.reader import default_home, read_ledger

if TYPE_CHECKING:
    from a2a_trust.store.store import Commit, TrustStore

__all__ = ["Commit", "TrustStore", "default_home", "read_ledger"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the name stands for
    if name in ("Commit", "TrustStore"):
        from a2a_trust.store import store  # noqa: PLC0415 - see above

        return getattr(store, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
