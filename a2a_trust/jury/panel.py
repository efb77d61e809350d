"""The panel: a text and variants of it, judged by the same personas, who hear each other's reasons and no more."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

from a2a_trust.jury import prompts
from a2a_trust.jury.bench import Jury
from a2a_trust.jury.cases import varied
from a2a_trust.jury.contracts import Position
from a2a_trust.jury.prompts import Matter
from a2a_trust.sources.jury_events import Actor, Condition, ItemOpened, key_of, sha256

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_trust.jury.bench import Bench, Positions
    from a2a_trust.jury.case_types import PanelCase
    from a2a_trust.sources.jury_events import Option

CONDITION: Condition = "digest"
TEXT = "case"
"""Name under which the text of a case is cited."""
SOMEBODY = "a juror"
_MIN_NAME = 3
_CLAUSE = re.compile(r"[.;]")
_UNSEEN = {"Mn", "Me", "Cf"}
"""Categories of accents and of what takes no room."""


def walk(bench: Bench, case: PanelCase, label: Option | None) -> None:
    """Judge the text, then each variant; the truth of a case is that of its text, not of a variant."""
    for item, title, text in varied(case):
        _Item(bench, case, item, title, text).walk(label if item == case.id else None)


class _Item:
    """One text before its panel."""

    def __init__(self, bench: Bench, case: PanelCase, item: str, title: str, text: str) -> None:
        self._bench = bench
        self._texts = {TEXT: text}
        self._matter = Matter(question=case.question, options=case.options, facts={"burden": case.burden})
        self._item = ItemOpened(
            key=key_of("item", item),
            time=0,
            item=item,
            question=case.question,
            options=case.options,
            texts=self._texts,
            facts=self._matter.facts | {"title": title},
        )

    def walk(self, label: Option | None) -> None:
        """Take the text from its verdicts to its outcome."""
        bench, matter = self._bench, self._matter
        bench.open_item(self._item)
        jury = Jury(self._item, bench.opened.cast)
        verdicts = bench.ask(
            [
                bench.request(
                    self._item,
                    actor,
                    "verdict",
                    prompts.panel_verdict(actor, matter, self._texts),
                    texts=self._texts,
                )
                for actor in jury.actors
            ]
        )
        if not bench.seal(jury, verdicts):
            return
        positions = bench.deliberate(jury, CONDITION)
        while (number := bench.begin_round(positions)) is not None:
            self._round(positions, number)
        ballots = [
            bench.request(
                self._item, actor, "ballot", prompts.ballot(actor, matter, positions[actor]), condition=CONDITION
            )
            for actor in jury.present
        ]
        bench.vote(positions, bench.ask(ballots))
        bench.outcome(positions, label)

    def _round(self, positions: Positions, number: int) -> None:
        """Show everybody the same digest, and take where each stands then."""
        bench, present = self._bench, positions.jury.present
        arguments = self._arguments(positions, number)
        bench.digest(positions, number, len(arguments), prompts.digest(arguments))
        answers = bench.ask(
            [
                bench.request(
                    self._item,
                    actor,
                    "position",
                    prompts.panel_position(actor, self._matter, self._texts, positions[actor], arguments),
                    condition=CONDITION,
                    round_=number,
                    number=number,
                    texts=self._texts,
                )
                for actor in present
            ]
        )
        silent = []
        for actor, answer in zip(present, answers, strict=True):
            if isinstance(answer, Position):
                positions.move(actor, answer)
            else:
                silent.append(actor.id)
        heard = [actor.id for actor in present if actor.id not in silent]
        bench.close(self._item.item, CONDITION, "round", heard, silent, positions.state(), round_=number)

    def _arguments(self, positions: Positions, number: int) -> list[str]:
        """Return everybody's reason without a name, in an order that the seed gives and nothing else."""
        present = positions.jury.present
        place = f"{self._bench.opened.seed}\n{self._item.item}\n{number}"
        order = sorted(present, key=lambda actor: sha256(f"{place}\n{actor.id}"))
        return [anonymous(positions[actor].reason, self._bench.opened.cast) for actor in order]


def anonymous(text: str, jurors: Sequence[Actor]) -> str:
    """Return a text in which no juror is named: their personas, what these say, names and the parts of these are gone.

    Neither case, accents, marks between letters nor characters that nobody sees hide a name; what is told in other
    words is not found.
    """
    hidden = (
        words
        for juror in jurors
        for words in (juror.persona, *_CLAUSE.split(juror.persona), juror.name, juror.id, *juror.name.split())
    )
    pattern = _naming(tuple(dict.fromkeys(words.strip() for words in hidden)))
    folded, places = _folded(text)
    places.append(len(text))
    parts, done = [], 0
    for found in pattern.finditer(folded) if pattern else ():
        parts += [text[done : places[found.start()]], SOMEBODY]
        done = places[found.end()]
    return "".join((*parts, text[done:]))


@lru_cache
def _naming(hidden: tuple[str, ...]) -> re.Pattern[str] | None:
    """Return a pattern for any of some words, the longest first, in a folded text."""
    found = [_word(words) for words in sorted(hidden, key=len, reverse=True) if len(words) >= _MIN_NAME]
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(found)})(?![^\W_])") if found else None


def _word(words: str) -> str:
    runs = re.findall(r"[^\W_]+", _folded(words)[0])
    return r"[\W_]{0,3}".join(r"(?:[^\w\s]|_)*".join(run) for run in runs) or re.escape(words)


def _folded(text: str) -> tuple[str, list[int]]:
    """Return a text without case, accents, compatibility forms and invisible characters, and where each of it stood."""
    letters = [
        (letter, place)
        for place, char in enumerate(text)
        for letter in unicodedata.normalize("NFKD", char).casefold()
        if unicodedata.category(letter) not in _UNSEEN
    ]
    return "".join(letter for letter, _ in letters), [place for _, place in letters]
