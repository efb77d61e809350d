"""a2a-trust: a reputation of AI agent types, kept from the logs that their harness already writes.

The package is a library first: `model` holds the types, `policy` and `reputation` the rules, `sources` the log
readers, `attribution` the way from an event to evidence, `store` the audit log and its views. Nothing in here
imports `a2a_trust.backfill` or `a2a_trust.dashboard`, which are plugins of the command line.
"""

__version__ = "0.1.0"
