"""The store: the audit log, which is the truth; the ledger, a view of it; the cache, an index of both."""

from a2a_trust.store.reader import read_ledger
from a2a_trust.store.store import Commit, TrustStore, default_home

__all__ = ["Commit", "TrustStore", "default_home", "read_ledger"]
