"""What a row's event was, in words. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_trust.policy import RESPONSE_LATENCY, TASK_COMPLETED, TASK_REOPENED

if TYPE_CHECKING:
    from a2a_trust.model import Row


def why(row: Row) -> str:
    """Return in words what the row's event was."""
    details = row.evidence
    if row.kind in (TASK_COMPLETED, TASK_REOPENED):
        return f"{details.task} revision {details.revision}" if details.revision else f"task {details.task}"
    if row.kind == RESPONSE_LATENCY:
        return f"answered after {details.ms} ms"
    parts = [details.tool, details.code, details.text]
    if details.heard:
        parts += [details.reason, details.heard.words]
    elif details.message:
        parts.append(f"message {details.message}")
    return " ".join(part.partition("\n")[0][:60] for part in parts if part)
