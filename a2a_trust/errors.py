"""One error class and one exit code for each failure that a user can meet.

A message says what was found, where, what was expected and what to do. The command line prints it on one line.
"""

from __future__ import annotations

from typing import ClassVar


class TrustError(Exception):
    """Base of all failures that are told in one line. Exit code 1."""

    exit_code: ClassVar[int] = 1


class UsageError(TrustError):
    """An argument names nothing, or two arguments contradict each other. Exit code 2."""

    exit_code = 2


class NothingFoundError(TrustError):
    """There are no logs where the command looked. Exit code 3."""

    exit_code = 3


class SomeUnreadableError(TrustError):
    """Some logs could not be read; the others were. Exit code 4."""

    exit_code = 4


class PolicyError(TrustError):
    """A policy is unknown, invalid, or differs from the policy of the home. Exit code 5."""

    exit_code = 5


class AuditDamageError(TrustError):
    """A row of the audit log that was acknowledged is missing or altered. Exit code 6."""

    exit_code = 6


class HomeError(TrustError):
    """The home cannot be read or written. Exit code 7."""

    exit_code = 7


class HomeBusyError(TrustError):
    """Another process is writing to the home. Exit code 8."""

    exit_code = 8


class NoLedgerError(TrustError):
    """Nothing has been recorded in this home yet. Exit code 9."""

    exit_code = 9


class UnknownAgentError(TrustError):
    """No agent, or more than one, answers to a name or fingerprint prefix. Exit code 10."""

    exit_code = 10


class SnapshotError(TrustError):
    """A snapshot file of signals is not whole, or not the one that its name says. Exit code 12."""

    exit_code = 12


class CaseError(TrustError):
    """A case file or data set for a jury is not one, or asks for more than a run may use. Exit code 13."""

    exit_code = 13


class RunFolderError(TrustError):
    """A folder is not that of the jury run in question, or cannot take one. Exit code 14."""

    exit_code = 14


class JuryLogError(TrustError):
    """The log of a jury run is damaged, or says something else than its run gives. Exit code 15."""

    exit_code = 15


class ResolutionError(TrustError):
    """A resolution of an item of a jury was refused: unknown, stale, blank or done before. Exit code 16."""

    exit_code = 16


ALL_ERRORS: tuple[type[TrustError], ...] = (
    TrustError,
    UsageError,
    NothingFoundError,
    SomeUnreadableError,
    PolicyError,
    AuditDamageError,
    HomeError,
    HomeBusyError,
    NoLedgerError,
    UnknownAgentError,
    SnapshotError,
    CaseError,
    RunFolderError,
    JuryLogError,
    ResolutionError,
)
