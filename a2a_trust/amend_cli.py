"""The command group `amend`: what people do to a ledger. Each act is one more row in the audit log."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from a2a_trust.console import HomeOption, home_of, note, output
from a2a_trust.errors import NoLedgerError, UsageError
from a2a_trust.model import DIMENSIONS, Dimension
from a2a_trust.signals import TrustSignals
from a2a_trust.store import TrustStore, amend
from a2a_trust.store.reader import AUDIT
from a2a_trust.text import safe

amend_app = typer.Typer(
    name="amend",
    help="Retract a session, rate, reset or join agents, judge anew: rows that can be undone, never edits.",
    epilog="Example: a2a-trust amend feedback researcher --competence 4 --comment 'found the cause'",
    no_args_is_help=True,
    rich_markup_mode=None,
)

WhyOption = Annotated[str, typer.Option("--why", help="The reason, kept with the row.")]
UndoOption = Annotated[bool, typer.Option("--undo", help="Take it back.")]
AgentArgument = Annotated[str, typer.Argument(metavar="AGENT", help="A name, or the start of a fingerprint.")]


def now_ms() -> int:
    """Return the time at which a person acts."""
    return time.time_ns() // 1_000_000


@contextmanager
def _store(home: Path | None) -> Iterator[TrustStore]:
    place = home_of(home)
    if not (place / AUDIT).exists():
        raise NoLedgerError(f"{place}: nothing is recorded here yet; run: a2a-trust backfill")
    with TrustStore(place) as store:
        yield store


@amend_app.command(
    epilog="Examples: a2a-trust amend retract SESSION --why test | a2a-trust amend retract logs/old --why x"
)
def retract(
    session: Annotated[str, typer.Argument(metavar="SESSION|PATH", help="A session id, or a log or folder of logs.")],
    why: WhyOption = "",
    undo: UndoOption = False,
    home: HomeOption = None,
) -> None:
    """Let a session count for nothing: its rows stay in the log and leave the ledger."""
    if not why and not undo:
        raise UsageError("--why is missing: say why the session must not count")
    with _store(home) as store:
        sessions = amend.sessions_at(store, session)
        if not sessions:
            raise UsageError(f"{session!r}: no row stands in such a session, and no log was read at such a path")
        amend.retract(store, sessions, why, now_ms(), undo=undo)
    for name in sessions:
        output().print(f"{'counts again' if undo else 'retracted'}: {safe(name)}")


@amend_app.command(epilog="Example: a2a-trust amend feedback researcher --competence 4 --reliability 5 --observer ann")
def feedback(
    agent: AgentArgument,
    competence: Annotated[int | None, typer.Option(help="1 to 5.")] = None,
    reliability: Annotated[int | None, typer.Option(help="1 to 5.")] = None,
    communication: Annotated[int | None, typer.Option(help="1 to 5.")] = None,
    integrity: Annotated[int | None, typer.Option(help="1 to 5.")] = None,
    comment: Annotated[str, typer.Option(help=f"At most {amend.COMMENT_LIMIT} characters.")] = "",
    observer: Annotated[str, typer.Option(help="Who rates.")] = "",
    session: Annotated[str, typer.Option(help="The session that it is about.")] = "",
    home: HomeOption = None,
) -> None:
    """Rate an agent, from 1 to 5 in any dimension."""
    stated = zip(DIMENSIONS, (competence, reliability, communication, integrity), strict=True)
    ratings = {dim: rating for dim, rating in stated if rating is not None}
    fingerprint = TrustSignals(home_of(home)).for_agent(agent, note).key
    given = amend.Feedback(ratings=ratings, comment=comment, observer=observer, session=session)
    with _store(home) as store:
        amend.feedback(store, fingerprint, given, now_ms())
        trust = store.ledger.agents[store.amendments.subject(fingerprint)].trust
    for dim in ratings:
        output().print(f"{dim} is {trust[dim].value} after {trust[dim].samples} pieces of evidence")


@amend_app.command(epilog="Example: a2a-trust amend reset researcher competence --why 'new prompt'")
def reset(
    agent: AgentArgument,
    dimension: Annotated[Dimension | None, typer.Argument(help="Default: all of them.")] = None,
    why: WhyOption = "",
    home: HomeOption = None,
) -> None:
    """Let an agent begin anew: what is older moves no score any more, statistics stay."""
    with _store(home) as store:
        # Of an agent that is folded under another, only its own rows: a reset cannot be taken back.
        fingerprint = amend.find_agent(store, agent)
        amend.reset(store, fingerprint, dimension, why, now_ms())
    output().print(f"{safe(agent)} begins anew in {dimension or 'all dimensions'}")


@amend_app.command(epilog="Examples: a2a-trust amend alias 3ee4bfd2 8c625b63 | … --undo")
def alias(
    one: Annotated[str, typer.Argument(metavar="A", help="The agent whose rows move: a name or fingerprint.")],
    other: Annotated[str, typer.Argument(metavar="B", help="The agent that becomes the fold of both.")],
    undo: UndoOption = False,
    home: HomeOption = None,
) -> None:
    """Say that two agent types are one: B becomes the fold of both."""
    with _store(home) as store:
        if undo:
            first, second = amend.find_alias(store, one, other)
        else:
            first, second = amend.find_agent(store, one), amend.find_agent(store, other)
        amend.alias(store, first, second, now_ms(), undo=undo)
    output().print(f"{first[:12]} is {'no longer ' if undo else ''}folded under {second[:12]}")
