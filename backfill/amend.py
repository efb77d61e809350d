"""Two ways of taking up what was recorded before: judging logs anew, and adopting the store of the plugin."""

from __future__ import annotations

import os
import re
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Struct

from a2a_trust.console import HomeOption, JsonOption, home_of, output, print_json
from a2a_trust.errors import NoLedgerError
from a2a_trust.text import safe

if TYPE_CHECKING:
    from a2a_trust.backfill.anew import Judgement

    from a2a_trust.model import Row
    from a2a_trust.store import TrustStore
    from a2a_trust.store.adopt import Adoption

SHOWN = 20
_REPEATED = re.compile(r"#[0-9]+\Z", re.ASCII)
"""How `read_store` tells rows about the same event apart."""


class Adopted(Struct, frozen=True, kw_only=True, rename="camel"):
    """What adopting gave."""

    adopted: int
    known: int
    read_instead: list[str]
    """Sessions whose logs still exist, and were read."""
    evidence_from_logs: int
    unreadable: list[str]
    differences: list[Judgement]
    """How the plugin judged events of the sessions that were read instead, and how their logs are judged here."""


def reattribute(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Judge every log that still exists by this version's rules; what differs supersedes the old row."""
    from a2a_trust.backfill.anew import judge_anew

    from a2a_trust.store import TrustStore
    from a2a_trust.store.reader import AUDIT

    place = home_of(home)
    if not (place / AUDIT).exists():
        raise NoLedgerError(f"{place}: nothing is recorded here yet; run: a2a-trust backfill")
    with TrustStore(place) as store:
        judgements = judge_anew(store)
    if as_json:
        print_json(judgements)
        return
    output().print(f"{len(judgements)} events are judged otherwise than before.")
    _print_judgements(judgements)


def adopt(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that holds the plugin's audit.jsonl.")],
    home: HomeOption = None,
    logs: Annotated[
        list[Path] | None, typer.Option("--logs", metavar="PATH", help="Where the session logs are. May be repeated.")
    ] = None,
    keep_judgements: Annotated[
        bool, typer.Option("--keep-judgements", help="Take over every row, even of sessions whose logs still exist.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Take over the store of the JavaScript plugin (version 1); it is only read."""
    from a2a_trust.store import TrustStore
    from a2a_trust.store.adopt import read_store

    read_store(folder)
    with TrustStore(home_of(home)) as store:
        done = _adopt(store, folder, logs or [], keep_judgements=keep_judgements)
    if as_json:
        print_json(done)
        return
    console = output()
    console.print(f"adopted       {done.adopted} rows" + (f", {done.known} were known" if done.known else ""))
    if done.read_instead:
        console.print(
            f"read instead  {len(done.read_instead)} sessions, whose logs gave {done.evidence_from_logs} new evidence"
        )
    for text in done.unreadable[:SHOWN]:
        console.print(f"skipped       {safe(text)}")
    if len(done.unreadable) > SHOWN:
        console.print(f"  … and {len(done.unreadable) - SHOWN} more with --json")
    if done.differences:
        console.print("The plugin and the logs differ (plugin → here):")
        _print_judgements(done.differences)


def _adopt(store: TrustStore, folder: Path, logs: list[Path], *, keep_judgements: bool) -> Adopted:
    from a2a_trust.backfill.run import Options, run

    from a2a_trust.sources.base import load_sources
    from a2a_trust.store.adopt import read_store

    whole = read_store(folder)
    evidence = 0
    read_instead: list[str] = []
    if not keep_judgements:
        before = store.ledger.audit.rows
        run(store, load_sources(["dsh"]), Options(paths=logs), os.environ)
        read_instead = [session for session in whole.sessions if store.cache.log(session) is not None]
        evidence = _new_evidence(store, before, set(read_instead))
    adoption = read_store(folder, read_instead)
    rows = _not_ours(store, adoption.rows)
    commit = store.commit(rows)
    return Adopted(
        adopted=len(rows) - commit.known,
        known=len(adoption.rows) - len(rows) + commit.known,
        read_instead=read_instead,
        evidence_from_logs=evidence,
        unreadable=adoption.unreadable,
        differences=_differences(store, whole, set(read_instead)),
    )


def _new_evidence(store: TrustStore, before: int, sessions: set[str]) -> int:
    """Count the evidence that reading gave in the given sessions; other logs at the same place are not meant."""
    return sum(row.quality is not None and row.session in sessions for row in islice(store.rows(), before, None))


def _not_ours(store: TrustStore, rows: list[Row]) -> list[Row]:
    """Return the rows about events of which our own reading has recorded nothing, whoever judged them."""
    from a2a_trust.store.known import adopted_id

    ours = {adopted_id(row) for row in store.rows()} - {""}
    return [row for row in rows if row.id not in ours and _REPEATED.sub("", row.id) not in ours]


def _differences(store: TrustStore, whole: Adoption, sessions: set[str]) -> list[Judgement]:
    """Return where the plugin's rows of sessions that were read here say something else than our rows."""
    from a2a_trust.backfill.anew import Judgement, said

    from a2a_trust.store.known import adopted_id

    theirs = {row.id: row for row in whole.rows if row.evidence.session in sessions and row.dim is not None}
    rows = list(store.rows())
    ours = {adopted_id(row): row for row in rows if row.session in sessions and not row.evidence.digest}
    folded = _folded(store, rows)
    found = []
    for row_id, row in theirs.items():
        mine = ours.get(row_id)
        now = said(mine)
        if mine is not None and mine.kind == row.kind:
            if mine.id in folded:
                continue
            now = f"{now}, {_why_not_folded(store, mine)}"
        found.append(Judgement(id=row_id, name=row.subject_name or "", before=said(row), now=now))
    for row_id, mine in ours.items():
        if mine.dim is not None and mine.evidence.role == "teammate" and row_id not in theirs:
            found.append(Judgement(id=row_id, name=mine.subject_name or "", before=None, now=said(mine)))
    return found


def _folded(store: TrustStore, rows: list[Row]) -> set[str]:
    """Return the ids of the rows that move a score."""
    from a2a_trust.agents import resolve

    by_subject: dict[str, list[Row]] = {}
    for row in rows:
        if row.subject:
            by_subject.setdefault(store.amendments.subject(row.subject), []).append(row)
    return {
        row.id
        for found in by_subject.values()
        for row, quality in resolve(found, store.policy, store.amendments)
        if quality is not None
    }


def _why_not_folded(store: TrustStore, row: Row) -> str:
    from a2a_trust.policy import TASK_COMPLETED, is_coordination

    if is_coordination(store.policy, row.evidence.tool):
        return "recorded and not folded: a coordination tool"
    if row.kind == TASK_COMPLETED:
        return "recorded and not folded: no work of its owner is known"
    return f"recorded and not folded under policy {store.policy.name}"


def _print_judgements(judgements: list[Judgement]) -> None:
    console = output()
    for one in judgements[:SHOWN]:
        console.print(
            f"  {safe(one.name)}: {safe(one.before or 'nothing')} → {safe(one.now or 'nothing')}  ({safe(one.id, 80)})"
        )
    if len(judgements) > SHOWN:
        console.print(f"  … and {len(judgements) - SHOWN} more with --json")
