"""Policies: the built-in `seed` and `standard`, reading one from TOML, and the quality that a policy gives a row.

A policy decides only what is folded and with which number; what is recorded never depends on it.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from a2a_trust.errors import PolicyError
from a2a_trust.model import DIMENSIONS, Dimension, Policy, Role, Row

if TYPE_CHECKING:
    from pathlib import Path

GOOD = 0.5
RATINGS = (1, 5)

TASK_COMPLETED = "task-completed"
TASK_REOPENED = "task-reopened"
TOOL_SUCCESS = "tool-success"
TOOL_ERROR = "tool-error"
MESSAGE_SENT = "message-sent"
RESPONSE_LATENCY = "response-latency"
FEEDBACK = "feedback"
JUDGED = "judged"
RATED = (FEEDBACK, JUDGED)
"""Kinds whose quality follows from a rating; what a policy gives them is that of the best one."""

SEED = Policy(
    name="seed",
    alpha_good=0.10,
    alpha_bad=0.30,
    min_samples=5,
    weights=dict.fromkeys(DIMENSIONS, 1.0),
    roles=(Role.TEAMMATE,),
    quality={TASK_COMPLETED: 1.0, TOOL_SUCCESS: 0.8, TOOL_ERROR: 0.0, MESSAGE_SENT: 0.7},
    latency=((60_000, 1.0), (600_000, 0.5)),
    latency_beyond=0.0,
    completion_needs_work=False,
    coordination_tools=(),
)

STANDARD = msgspec.structs.replace(
    SEED,
    name="standard",
    roles=tuple(Role),
    quality={
        **SEED.quality,
        TASK_REOPENED: 0.0,
        FEEDBACK: 1.0,
        "answer-accepted": 0.8,
        "answer-abandoned": 0.0,
        "juror-present": 1.0,
        "juror-absent": 0.0,
        "citation-verified": 1.0,
        "citation-misplaced": 0.25,
        "citation-mismatch": 0.0,
        "seal-broken": 0.0,
        "ballot-changed": 0.0,
        "identity-mismatch": 0.0,
        "verdict-confirmed": 1.0,
        "verdict-overruled": 0.0,
        JUDGED: 1.0,
    },
    completion_needs_work=True,
    coordination_tools=(
        "team_*",
        "spawn_teammate",
        "send_message",
        "followup_task",
        "wait_agent",
        "list_agents",
        "interrupt_agent",
        "todo_write",
        "Agent",
        "AskUserQuestion",
        "EnterPlanMode",
        "ExitPlanMode",
        "SendMessage",
        "Task",
        "TaskCreate",
        "TaskGet",
        "TaskList",
        "TaskOutput",
        "TaskStop",
        "TaskUpdate",
        "TeamCreate",
        "TeamDelete",
        "TodoRead",
        "TodoWrite",
    ),
)

BUILT_IN = {policy.name: policy for policy in (STANDARD, SEED)}


def is_coordination(policy: Policy, tool: str | None) -> bool:
    """Tell whether calls of a tool are left out; a listed name that ends in `*` covers all names it begins."""
    return tool is not None and _listed(policy.coordination_tools, tool)


@lru_cache(maxsize=4096)
def _listed(names: tuple[str, ...], tool: str) -> bool:
    return any(tool.startswith(name[:-1]) if name.endswith("*") else tool == name for name in names)


def quality_of(policy: Policy, row: Row, *, supported: bool) -> float | None:
    """Return the quality in [0, 1] with which a policy folds a row, `None` where it does not fold it.

    `supported` tells whether the owner of a completed task is known to have done work for it; other kinds do not
    look at it.
    """
    details = row.evidence
    if row.dim is None:
        return None
    if details.given is not None:
        return details.given
    if details.role not in policy.roles or is_coordination(policy, details.tool):
        return None
    if row.kind == RESPONSE_LATENCY:
        return _latency_quality(policy, details.ms)
    if row.kind in RATED:
        return _rating_quality(policy, row.kind, details.rating)
    unsupported = row.kind == TASK_COMPLETED and policy.completion_needs_work and not supported
    return None if unsupported else policy.quality.get(row.kind)


def _rating_quality(policy: Policy, kind: str, rating: int | None) -> float | None:
    best = policy.quality.get(kind)
    if rating is None or best is None:
        return None
    low, high = RATINGS
    return (rating - low) / (high - low) * best


def _latency_quality(policy: Policy, ms: int | None) -> float | None:
    if ms is None:
        return None
    return next((quality for limit, quality in policy.latency if ms <= limit), policy.latency_beyond)


def load_policy(name: str | Path) -> Policy:
    """Return a built-in policy by name, or read one from a TOML file.

    A file states only what differs from the built-in policy that its key `base` names (default `standard`). Tables
    (`quality`, `weights`) are merged key by key; a kind of `quality` set to `false` is not folded. Raises `PolicyError`
    that names the wrong key.
    """
    text = str(name)
    if text in BUILT_IN:
        return BUILT_IN[text]

    import tomllib  # noqa: PLC0415 - only a policy in a file needs it

    try:
        with open(name, "rb") as file:  # noqa: PTH123 - `name` may be a plain string, and Path adds nothing here
            data = tomllib.load(file)
    except FileNotFoundError:
        msg = f"policy {text!r}: neither a built-in policy ({', '.join(BUILT_IN)}) nor a file"
        raise PolicyError(msg) from None
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        msg = f"policy {text}: not readable as TOML: {error}"
        raise PolicyError(msg) from None
    return parse_policy(data, text)


def parse_policy(data: dict[str, Any], place: str) -> Policy:
    """Build a policy from the content of a TOML file; `place` names the file in errors."""
    base_name = data.pop("base", STANDARD.name)
    if not isinstance(base_name, str) or base_name not in BUILT_IN:
        msg = f"policy {place}: key 'base': expected one of {', '.join(BUILT_IN)}, found {base_name!r}"
        raise PolicyError(msg)
    merged: dict[str, Any] = msgspec.to_builtins(BUILT_IN[base_name])
    merged["name"] = f"{base_name}-variant"
    for key, value in data.items():
        if key not in merged:
            import difflib  # noqa: PLC0415 - only a wrong key needs it

            close = difflib.get_close_matches(key, merged, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else f"; known keys: base, {', '.join(merged)}"
            msg = f"policy {place}: unknown key {key!r}{hint}"
            raise PolicyError(msg)
        merged[key] = {**merged[key], **value} if isinstance(value, dict) and isinstance(merged[key], dict) else value
    if isinstance(merged["quality"], dict):
        merged["quality"] = {kind: value for kind, value in merged["quality"].items() if value is not False}
    _check_tables(merged, place)
    try:
        policy = msgspec.convert(merged, Policy)
    except msgspec.ValidationError as error:
        msg = f"policy {place}: {_key_of(error)}"
        raise PolicyError(msg) from None
    check_policy(policy, place)
    return policy


def _check_tables(merged: dict[str, Any], place: str) -> None:
    """Raise `PolicyError` for an entry of a table that is no number, or that weighs no dimension."""
    for table in ("quality", "weights"):
        entries = merged[table] if isinstance(merged[table], dict) else {}
        for key, value in entries.items():
            if table == "weights" and key not in tuple(DIMENSIONS):
                raise PolicyError(f"policy {place}: key 'weights.{key}': there is no such dimension")
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise PolicyError(f"policy {place}: key '{table}.{key}': expected a number, found {value!r}")


def check_policy(policy: Policy, place: str) -> None:
    """Raise `PolicyError` that names the first key whose value is out of range."""
    limits = [limit for limit, _ in policy.latency]
    checks: list[tuple[str, bool, str]] = [
        ("name", bool(policy.name) and policy.name not in BUILT_IN, "a name of its own"),
        ("alpha_good", 0 < policy.alpha_good <= 1, "a number above 0 and up to 1"),
        ("alpha_bad", 0 < policy.alpha_bad <= 1, "a number above 0 and up to 1"),
        ("min_samples", policy.min_samples >= 1, "a whole number of at least 1"),
        ("latency", limits == sorted(set(limits)) and all(limit > 0 for limit in limits), "ascending times in ms"),
        ("latency_beyond", 0 <= policy.latency_beyond <= 1, "a number in [0, 1]"),
        ("roles", bool(policy.roles), "at least one of teammate, subagent, main"),
        ("weights", any(policy.weights.values()), "at least one weight above 0"),
    ]
    checks += [(f"quality.{kind}", 0 <= value <= 1, "a number in [0, 1]") for kind, value in policy.quality.items()]
    checks += [(f"latency.{limit}", 0 <= value <= 1, "a quality in [0, 1]") for limit, value in policy.latency]
    checks += [
        (f"weights.{dim}", math.isfinite(weight) and weight >= 0, "a number of at least 0")
        for dim, weight in policy.weights.items()
    ]
    for key, holds, expected in checks:
        if not holds:
            msg = f"policy {place}: key {key!r}: expected {expected}"
            raise PolicyError(msg)


def _key_of(error: msgspec.ValidationError) -> str:
    """Turn msgspec's `... - at `$.quality[...]`` into a sentence that begins with the key."""
    what, _, path = str(error).partition(" - at ")
    key = path.strip("`").removeprefix("$.") or "the file"
    return f"key {key!r}: {what[0].lower()}{what[1:]}"


def weight_of(policy: Policy, dim: Dimension) -> float:
    """Return a dimension's weight in the total; a dimension that is not listed weighs nothing."""
    return policy.weights.get(dim, 0.0)


def _toml(value: object) -> str:
    """Return a value as TOML writes it; for what a policy holds that is JSON, but for escaped pairs."""
    import json  # noqa: PLC0415 - only this text needs it

    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def to_toml(policy: Policy) -> str:
    """Return a policy as the TOML file that would give it; a start for one's own."""
    name = "# name" if policy.name in BUILT_IN else "name"
    data: dict[str, Any] = msgspec.to_builtins(policy)
    tables = {key: value for key, value in data.items() if isinstance(value, dict)}
    tables["quality"] |= {kind: False for kind in STANDARD.quality if kind not in tables["quality"]}
    lines = [
        f'base = "{STANDARD.name}"',
        f"{name} = {_toml(policy.name)}",
    ]
    lines += [f"{key} = {_toml(value)}" for key, value in data.items() if key not in tables and key != "name"]
    for table, values in tables.items():
        lines += ["", f"[{table}]", *(f"{_toml(key)} = {_toml(value)}" for key, value in values.items())]
    return "\n".join(lines)
