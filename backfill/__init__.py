"""From session logs to the ledger: discover, extract, attribute, commit. Only what is new is read.

`run` is the library function; `commands` puts it on the command line.
"""

from a2a_trust.backfill.run import Options, Summary, run

__all__ = ["Options", "Summary", "run"]
