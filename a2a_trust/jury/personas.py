"""Jurors made from a seed: the same seed gives the same panel on any machine, and every juror of it another name.

Drawn by hashing, not by a generator whose numbers a new release could change.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

VERSION = 1
"""Of the lists below and of how they are drawn from."""

_FIRST = (
    "Adaeze", "Anders", "Beatriz", "Cormac", "Dilnoza", "Edda", "Farid", "Greta", "Hamid", "Imke", "Jorun", "Kavita",
    "Leocadia", "Mikolaj", "Nerys", "Oyelaran", "Pilar", "Quentin", "Ragnhild", "Sibusiso", "Tevita", "Ulrike",
    "Viorel", "Wanjiru",
)  # fmt: skip
_LAST = (
    "Abara", "Brekke", "Cardoso", "Dunleavy", "Ergashev", "Fjeld", "Ghorbani", "Hollander", "Ivarsson", "Jankauskas",
    "Kulkarni", "Lindqvist", "Mazur", "Nwosu", "Okkonen", "Prothero", "Quiroga", "Rahimi", "Szabo", "Tuilagi", "Urbina",
    "Vasile", "Wambui", "Yildirim",
)  # fmt: skip
_TRADE = (
    "baker", "bus driver", "carpenter", "dental nurse", "electrician", "florist", "gardener", "harbour pilot",
    "insurance adjuster", "librarian", "locksmith", "machinist", "midwife", "music teacher", "optician",
    "postal worker", "retired surveyor", "roofer", "school cook", "translator", "vet", "warehouse planner",
)  # fmt: skip
_HABIT = (
    "reads the small print first",
    "asks what was said and what was only meant",
    "thinks of the one who had least power",
    "wants to know who could have prevented it",
    "distrusts a story without a gap",
    "looks for the rule, then for the reason behind it",
    "judges by what came of it",
    "judges by what was known at the time",
    "gives weight to what was left unsaid",
    "counts how many had to be careless at once",
)
_TEMPER = (
    "slow to change an opinion",
    "quick to see the other side",
    "uneasy with disagreement",
    "fond of a good argument",
    "firm, and gentle about it",
    "hard to impress",
    "willing to be the only one",
    "glad to be persuaded",
)
_STRIDE = 5
"""Between the last names of neighbours: it shares no divisor with their number, so that all are different."""
_T = TypeVar("_T")


class Persona(Struct, frozen=True):
    """A juror that was drawn."""

    name: str
    text: str


def draw(seed: int, count: int) -> list[Persona]:
    """Return the panel of a seed. A smaller panel is the beginning of a larger one."""
    return [_drawn(seed, number) for number in range(count)]


def _drawn(seed: int, number: int) -> Persona:
    first = _FIRST[(_number(seed, "first") + number) % len(_FIRST)]
    last = _LAST[(_number(seed, "last") + _STRIDE * number) % len(_LAST)]
    age = 22 + _number(seed, number, "age") % 55
    trade, habit, temper = (_pick(pool, seed, number, pool[0]) for pool in (_TRADE, _HABIT, _TEMPER))
    return Persona(f"{first} {last}", f"{trade[0].upper()}{trade[1:]}, {age}. {habit[0].upper()}{habit[1:]}; {temper}.")


def _pick(pool: Sequence[_T], *what: object) -> _T:
    return pool[_number(*what) % len(pool)]


def _number(*what: object) -> int:
    text = "\n".join(map(str, (VERSION, *what)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
