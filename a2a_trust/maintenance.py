"""What is done to a home beside adding to it: rebuilding the ledger, and changing or previewing its policy."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from a2a_trust.console import output, print_json, print_table, progress
from a2a_trust.errors import NoLedgerError, UsageError
from a2a_trust.model import DIMENSIONS, AgentRecord, Policy
from a2a_trust.policy import STANDARD
from a2a_trust.reputation import total
from a2a_trust.store import TrustStore, read_ledger
from a2a_trust.store.reader import AUDIT, fold_log, read_all_rows
from a2a_trust.store.snapshot import LEDGER, encode_ledger, read_snapshot
from a2a_trust.text import safe

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from a2a_trust.store.verify import Verification


class Rebuilt(Struct, frozen=True):
    """What rebuilding gave."""

    rows: int
    agents: int
    policy: str
    changes: list[str]


class Difference(Struct, frozen=True):
    """One number of one agent under the home's policy and under another."""

    agent: str
    name: str
    number: str
    now: float | None
    then: float | None
    samples_now: int
    samples_then: int


class Preview(Struct, frozen=True):
    """What another policy would give."""

    now: str
    then: str
    differences: list[Difference]


def _need_home(home: Path) -> None:
    """Refuse a home without an audit log: a command that repairs or changes must not make an empty one."""
    if not (home / AUDIT).exists():
        raise NoLedgerError(f"{home}: nothing is recorded here yet; run: a2a-trust backfill")


def rebuild(home: Path) -> Rebuilt:
    """Fold the audit log anew, without looking at snapshot or cache, and write the snapshot."""
    _need_home(home)
    old = read_snapshot(home / LEDGER)
    with TrustStore(home) as store:
        store.rebuild()
        new = store.ledger
        if old is None:
            changes = ["there was no readable ledger.json"]
        elif encode_ledger(old) == encode_ledger(new):
            changes = []
        else:
            changes = list(_changes(old.agents, new.agents)) or ["the ledger's head, not its agents"]
        return Rebuilt(new.audit.rows, len(new.agents), new.policy.name, changes)


def _changes(old: Mapping[str, AgentRecord], new: Mapping[str, AgentRecord]) -> Iterator[str]:
    for key in sorted(old.keys() | new.keys()):
        before, after = old.get(key), new.get(key)
        name = safe((after or before or new[key]).profile.name)
        if before is None or after is None:
            yield f"{name} {key[:12]}: {'was missing' if before is None else 'is not in the audit log'}"
            continue
        for dim in DIMENSIONS:
            if before.trust.get(dim) != after.trust[dim]:
                was = before.trust.get(dim)
                yield (
                    f"{name} {key[:12]}: {dim} {was.value if was else '-'}/{was.samples if was else 0} is "
                    f"{after.trust[dim].value}/{after.trust[dim].samples}"
                )
        if before.trust == after.trust and before != after:
            yield f"{name} {key[:12]}: statistics or history"


def current_policy(home: Path) -> Policy:
    """Return the policy of a home; the default one where nothing was recorded yet."""
    try:
        return read_ledger(home).policy
    except NoLedgerError:
        return STANDARD


def set_policy(home: Path, policy: Policy) -> bool:
    """Put a home under a policy; tell whether that changed anything. A new home begins under it."""
    if not (home / AUDIT).exists():
        with TrustStore(home, policy):
            return True
    with TrustStore(home) as store:
        return store.set_policy(policy)


def preview_policy(home: Path, policy: Policy | None) -> Preview:
    """Return every number that another policy would change. Writes nothing."""
    if policy is None:
        raise UsageError("--preview needs the policy to preview: a2a-trust policy --set NAME|FILE --preview")
    rows = list(read_all_rows(home))
    now = fold_log(rows)
    then = fold_log(rows, policy)
    differences = [
        difference
        for key, agent in now.agents.items()
        for difference in _differences(agent, then.agents[key], now.policy, policy)
    ]
    return Preview(now.policy.name, policy.name, differences)


def _differences(now: AgentRecord, then: AgentRecord, old: Policy, new: Policy) -> Iterator[Difference]:
    name = now.profile.name
    for dim in DIMENSIONS:
        a, b = now.trust[dim], then.trust[dim]
        if (a.value, a.samples) != (b.value, b.samples):
            yield Difference(
                now.fingerprint,
                name,
                dim,
                a.value if a.samples else None,
                b.value if b.samples else None,
                a.samples,
                b.samples,
            )
    totals = total(now.trust, old), total(then.trust, new)
    if totals[0] != totals[1]:
        yield Difference(now.fingerprint, name, "total", *totals, 0, 0)


def print_preview(preview: Preview, stated: str, *, as_json: bool) -> None:
    """Print what another policy would give; `stated` is how the user named it."""
    if as_json:
        print_json(preview)
        return
    from rich.table import Table  # noqa: PLC0415 - slow to import

    console = output()
    if not preview.differences:
        console.print(f"Policy {preview.then} gives the same numbers as {preview.now}.")
        return
    table = Table(box=None, pad_edge=False)
    for title in ("agent", "fingerprint", "number", preview.now, preview.then):
        table.add_column(title)
    for row in preview.differences:
        table.add_row(
            safe(row.name, 30),
            row.agent[:12],
            row.number,
            _number(row.now, row.samples_now),
            _number(row.then, row.samples_then),
        )
    print_table(console, table)
    console.print(f"Nothing was changed. To change it: a2a-trust policy --set {safe(shlex.quote(stated))}")


def _number(value: float | None, samples: int) -> str:
    if value is None:
        return "not enough evidence" if not samples else "–"
    return f"{value}/{samples}" if samples else f"{value}"


def repair_home(home: Path, *, as_json: bool) -> None:
    """Repair a damaged audit log and tell what was done."""
    from a2a_trust.store.repair import repair  # noqa: PLC0415 - rarely needed

    if not (home / LEDGER).exists():
        # A log that is gone is damage only where something stands on it.
        _need_home(home)
    done, console = repair(home), output()
    if as_json:
        print_json(done)
    elif done is None:
        console.print("No row is damaged; nothing was done.")
    else:
        console.print(f"damage     {safe(done.damage)}")
        console.print(f"kept       {done.rows_kept} rows, {done.bytes_kept} bytes")
        console.print(f"set aside  {done.bytes_set_aside} bytes; all as it was found: {', '.join(done.kept_as)}")
        console.print("The next backfill reads every session log anew and brings back what these still hold.")


def verify_home(home: Path, pin: Path | None, write_pin: Path | None, *, as_json: bool) -> int:
    """Check a home, tell what is found, and return the exit code."""
    from a2a_trust.store.verify import pin_of, read_pin, verify  # noqa: PLC0415 - slow to import

    with progress("verifying") as report:
        found = verify(home, read_pin(pin) if pin else None, lambda done, total: report(done, total, ""))
    if write_pin is not None and not found.defects:
        write_pin.write_bytes(msgspec.json.encode(pin_of(found)) + b"\n")
    if as_json:
        print_json(found)
    else:
        _print_verification(found, write_pin)
    return found.exit_code


def _print_verification(found: Verification, write_pin: Path | None) -> None:
    console = output()
    held = f", held against {', '.join(found.checked) or 'nothing'}"
    console.print(f"{found.rows} rows, {found.bytes} bytes, head {found.head[:16]}{held}")
    if not found.checked:
        console.print("There is neither a ledger nor a pin: that rows are missing at the end could not be seen.")
    if found.torn_bytes:
        console.print(f"{found.torn_bytes} bytes behind them were never acknowledged; the next writer sets them aside")
    for defect in found.defects:
        place = f"row {defect.row} at byte {defect.byte}: " if defect.row else ""
        console.print(f"{defect.kind}: {place}{safe(defect.what)}")
    if found.defect_count > len(found.defects):
        console.print(f"… and {found.defect_count - len(found.defects)} more")
    if not found.defects:
        agree = "; the views agree" if found.checked else ""
        console.print(f"Every row links to the one before it and does what the rows above it give{agree}.")
        if write_pin is not None:
            console.print(f"pin written to {safe(str(write_pin))}: keep it where whoever writes this home cannot")
