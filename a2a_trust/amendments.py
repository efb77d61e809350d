"""What people say about rows after the fact: retractions, resets, aliases. Each is a row; nothing is ever edited.

Pure: this module keeps what the amendment rows of an audit log add up to, and answers what that does to other rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_trust.model import DIMENSIONS, Dimension, Key, Row

if TYPE_CHECKING:
    from collections.abc import Iterable

MEMBER_REGISTERED = "member-registered"
RETRACT = "retract"
RESET = "reset"
ALIAS = "alias"
AMENDMENT_KINDS = (RETRACT, RESET, ALIAS)
WITHDRAWN = "withdrawn"
"""An observation that supersedes a row which later rules would not make."""


class Amendments:
    """What people said about rows after the fact: sessions retracted, agents reset, agents that are one.

    The last row about a session or an agent wins. Amendments are rows without a subject; nothing is ever edited.
    """

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self.retracted: dict[str, str] = {}
        """Session -> why."""
        self.resets: dict[tuple[str, Dimension], Key] = {}
        self.aliases: dict[str, str] = {}
        for row in rows:
            self.add(row)

    def add(self, row: Row) -> None:
        """Take a row into account; rows that are no amendments change nothing."""
        details = row.evidence
        if row.kind == RETRACT and details.session:
            self.retracted.pop(details.session, None)
            if not details.undo:
                self.retracted[details.session] = details.comment or ""
        elif row.kind == RESET and details.agent:
            for dim in DIMENSIONS if details.scope is None else (details.scope,):
                self.resets[details.agent, dim] = max(row.key, self.resets.get((details.agent, dim), row.key))
        elif row.kind == ALIAS and details.agent and details.alias:
            self.aliases.pop(details.agent, None)
            if not details.undo:
                self.aliases[details.agent] = details.alias

    def subject(self, fingerprint: str) -> str:
        """Return the fingerprint under which the rows of another are folded; chains are followed to their end."""
        return self._chain(fingerprint)[-1] if self.aliases else fingerprint

    def _chain(self, fingerprint: str) -> list[str]:
        """Return a fingerprint and all under which its rows are folded, the last one last."""
        chain = [fingerprint]
        while (target := self.aliases.get(chain[-1])) is not None and target not in chain:
            chain.append(target)
        return chain

    def members(self, fingerprint: str) -> list[str]:
        """Return all fingerprints whose rows are folded under one, itself first."""
        return [fingerprint, *sorted(key for key in self.aliases if self.subject(key) == fingerprint)]

    def drops(self, row: Row) -> bool:
        """Tell whether a row counts for nothing at all, not even a statistic. Who an agent is is no judgement."""
        return (
            bool(self.retracted)
            and row.kind != MEMBER_REGISTERED
            and (row.evidence.session or row.session) in self.retracted
        )

    def silences(self, row: Row) -> bool:
        """Tell whether a row moves no score any more: it is older than a reset of its agent."""
        if not self.resets or row.dim is None or row.subject is None:
            return False
        # An agent that began anew does not become older by being folded under another.
        chain = self._chain(row.subject) if self.aliases else [row.subject]
        return any(row.key < self.resets[agent, row.dim] for agent in chain if (agent, row.dim) in self.resets)


NO_AMENDMENTS = Amendments()
