"""Readers of session logs, one module a format, and what they share."""
