"""Rows made for tests of the store: a few agents, a few sessions, one row an event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_trust.model import ROW_VERSION, Details, Dimension, Profile, Role, Row

if TYPE_CHECKING:
    from pathlib import Path

T = 1_796_100_000_000
PROFILES = tuple(Profile(name=name, description=f"Is the {name}.", provider="spawn") for name in ("coder", "critic"))
AGENTS = tuple(profile.fingerprint for profile in PROFILES)


def registered(agent: int = 0, session: str = "s0", time: int = T) -> Row:
    """The row that gives an agent its profile."""
    profile = PROFILES[agent]
    return Row(
        v=ROW_VERSION,
        id=f"member:{session}:{profile.name}",
        time=time,
        session=session,
        gen=0,
        seq=0,
        pos=0,
        kind="member-registered",
        subject=profile.fingerprint,
        subject_name=profile.name,
        evidence=Details(profile=profile, role=Role.TEAMMATE, source="dsh", rules=1),
    )


def tool_call(number: int, *, agent: int = 0, session: str = "s0", failed: bool = False, late: int = 0) -> Row:
    """A call of a tool, in the order of its number; `late` moves it back by so many numbers, in time only."""
    profile = PROFILES[agent]
    return Row(
        v=ROW_VERSION,
        id=f"tool:{session}:call-{number}",
        time=T + 1_000 * (number - late),
        session=session,
        gen=0,
        seq=number,
        pos=0,
        kind="tool-error" if failed else "tool-success",
        subject=profile.fingerprint,
        subject_name=profile.name,
        dim=Dimension.COMPETENCE,
        evidence=Details(tool="bash", call=f"call-{number}", role=Role.TEAMMATE, source="dsh", rules=1),
    )


def completed(number: int, *, agent: int = 0, session: str = "s0", since: int = 0) -> list[Row]:
    """A task that the session's own agent completed, a row for each dimension; work since a number supports it."""
    profile = PROFILES[agent]
    return [
        Row(
            v=ROW_VERSION,
            id=f"task:lead:task-{number}@2:{dim}",
            time=T + 1_000 * number,
            session="lead",
            gen=0,
            seq=number,
            pos=place,
            kind="task-completed",
            subject=profile.fingerprint,
            subject_name=profile.name,
            dim=dim,
            evidence=Details(
                task=f"task-{number}",
                revision=2,
                owner=session,
                since=T + 1_000 * since,
                role=Role.TEAMMATE,
                source="dsh",
                rules=1,
            ),
        )
        for place, dim in enumerate((Dimension.COMPETENCE, Dimension.RELIABILITY))
    ]


def without_policies(rows: list[Row]) -> list[str]:
    """The ids of rows, but not of those by which the home was put under a policy."""
    return [row.id for row in rows if row.kind != "policy"]


def copy_home(source: Path, target: Path) -> Path:
    """Copy a home with its cache."""
    target.mkdir(parents=True)
    for path in source.iterdir():
        if path.is_file() and path.name != "ledger.lock":
            (target / path.name).write_bytes(path.read_bytes())
    return target
