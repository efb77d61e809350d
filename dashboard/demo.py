"""Invented agents for those who have recorded nothing yet: a team whose story the dashboard can tell.

Written into a temporary home through the store, as real logs would be; never into the user's own.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from msgspec import Struct

from a2a_trust.agents import MODEL_SEEN, TOOL_UNATTRIBUTABLE
from a2a_trust.amendments import MEMBER_REGISTERED
from a2a_trust.model import ROW_VERSION, Details, Dimension, Profile, Role, Row
from a2a_trust.policy import MESSAGE_SENT, RESPONSE_LATENCY, TASK_COMPLETED, TASK_REOPENED, TOOL_ERROR, TOOL_SUCCESS
from a2a_trust.store import TrustStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SOURCE = "demo"
_TOOLS = ("read_file", "write_file", "run_command", "search", "fetch")
_REASONS = ("rate-limited", "user-refused", "interrupted")
_HOUR_MS = 3_600_000
_SLOW_MS, _QUICK_MS = 700_000, 20_000


class Character(Struct, frozen=True, kw_only=True):
    """An invented agent type."""

    profile: Profile
    calls: int
    failing: float
    """Share of its calls that fail."""
    lately: float
    """Share that fails on its last day."""
    excused: float = 0.0
    """Share of its calls that fail through no fault of its own."""
    tasks: int = 0
    reopened: int = 0
    messages: int = 0
    slow: float = 0.0


CAST = (
    Character(
        profile=Profile(
            name="researcher", description="Finds and reads sources", provider="spawn", context="fresh", model="demo-l"
        ),
        calls=120, failing=0.05, lately=0.05, tasks=14, messages=20,
    ),
    Character(
        profile=Profile(
            name="implementer", description="Writes the change", provider="spawn", context="fresh", model="demo-m"
        ),
        calls=160, failing=0.06, lately=0.45, tasks=12, reopened=3, messages=16, slow=0.1,
    ),
    Character(
        profile=Profile(
            name="implementer", description="Writes code", provider="spawn", context="fresh", model="demo-s"
        ),
        calls=60, failing=0.3, lately=0.3, tasks=5, reopened=2, messages=6, slow=0.3,
    ),
    Character(
        profile=Profile(
            name="reviewer", description="Reads every diff", provider="fork", context="fork", model="demo-l"
        ),
        calls=70, failing=0.01, lately=0.01, tasks=9, messages=24,
    ),
    Character(
        profile=Profile(
            name="fetcher", description="Downloads pages", provider="spawn", context="fresh", model="demo-s"
        ),
        calls=40, failing=0.1, lately=0.1, excused=0.5, messages=4, slow=0.5,
    ),
    Character(profile=Profile(name="main", context="root", role=Role.MAIN, model="demo-l"),
              calls=90, failing=0.12, lately=0.1, messages=30),
    Character(profile=Profile(name="newcomer", provider="spawn", context="fresh", model="demo-s"),
              calls=3, failing=0.0, lately=0.0),
)  # fmt: skip


def rows(cast: tuple[Character, ...], now: int, days: int = 4) -> Iterator[Row]:
    """Yield the rows of the cast over the days before `now`, ms; the same ones every time."""
    for number, character in enumerate(cast):
        yield from _rows_of(character, number, now, days)


def _rows_of(character: Character, number: int, now: int, days: int) -> Iterator[Row]:
    random = Random(number)  # noqa: S311 - a story, not a secret
    subject = character.profile.fingerprint
    seq = 0

    def row(kind: str, time: int, dim: Dimension | None, details: Details, name: str) -> Row:
        nonlocal seq
        seq += 1
        day = (now - time) // (24 * _HOUR_MS)
        return Row(
            v=ROW_VERSION, id=f"{name}:{number}:{seq}", time=time, session=f"demo-{number}-{day}", gen=0, seq=seq,
            pos=0, team_id="demo", kind=kind, subject=subject, subject_name=character.profile.name, dim=dim,
            evidence=details,
        )  # fmt: skip

    def details(**known: object) -> Details:
        role = character.profile.role
        project = f"/demo/project-{number % 2}"
        return Details(role=role, project=project, source=SOURCE, **known)  # type: ignore[arg-type]

    def at() -> int:
        # Work comes in spells with silence between them.
        spell = random.randrange(days * 3)
        return now - spell * 8 * _HOUR_MS - random.randrange(3 * _HOUR_MS) - 60_000

    first = now - days * 24 * _HOUR_MS
    yield row(MEMBER_REGISTERED, first, None, details(profile=character.profile), "member")
    yield row(MEMBER_REGISTERED, first + _HOUR_MS, None, details(profile=character.profile), "member")
    yield row(MODEL_SEEN, first, None, details(model=character.profile.model), "model")
    for time in sorted(at() for _ in range(character.calls)):
        failing = character.lately if now - time < 24 * _HOUR_MS else character.failing
        tool, luck = random.choice(_TOOLS), random.random()
        if luck < character.excused:
            yield row(TOOL_UNATTRIBUTABLE, time, None, details(tool=tool, reason=random.choice(_REASONS)), "tool")
        elif random.random() < failing:
            yield row(TOOL_ERROR, time, Dimension.COMPETENCE, details(tool=tool, text="no such file"), "tool")
        else:
            yield row(TOOL_SUCCESS, time, Dimension.COMPETENCE, details(tool=tool, ms=random.randrange(9000)), "tool")
    for place in range(character.tasks):
        time, kind = at(), TASK_REOPENED if place < character.reopened else TASK_COMPLETED
        for dim in (Dimension.COMPETENCE, Dimension.RELIABILITY):
            owner = f"demo-{number}-{(now - time) // (24 * _HOUR_MS)}"
            task = details(task=f"task-{place}", revision=2, owner=owner, since=first)
            yield row(kind, time, dim, task, f"task:{dim}")
    for place in range(character.messages):
        time = at()
        yield row(MESSAGE_SENT, time, Dimension.COMMUNICATION, details(message=f"m-{number}-{place}"), "msg")
        ms = _SLOW_MS if random.random() < character.slow else _QUICK_MS
        yield row(RESPONSE_LATENCY, time + 1, Dimension.COMMUNICATION, details(message=f"m-{place}", ms=ms), "lat")


def write(home: Path, now: int, cast: tuple[Character, ...] = CAST) -> None:
    """Record the cast in a home of its own."""
    with TrustStore(home) as store:
        store.commit(sorted(rows(cast, now), key=lambda row: row.key))
