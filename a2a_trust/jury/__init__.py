"""Juries that remember: panels of agents judge an item in a procedure that code enforces, and the log of it is all.

The engine reads the frozen trust signal and never writes a ledger; the source `jury` makes evidence of its logs.
"""
