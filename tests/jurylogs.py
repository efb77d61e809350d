"""Logs of jury runs made by hand, event by event, as tests need them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import zstandard

from a2a_trust.jury.fold import Reading
from a2a_trust.sources import jury_events as je
from a2a_trust.sources.jury_events import NO_HASH, canonical, key_of, line_of, sha256, step_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from a2a_trust.jury.fold import Run

BEGAN = 1_800_000_000_000
MS = 12
NONCE = "ab" * 32
TRIBUNAL_JURORS = ("ada", "ben", "chief")


def actor(seat: str, part: je.Part = "juror", **more: Any) -> je.Actor:  # noqa: ANN401 - any field
    """Somebody who is asked; a test double."""
    values = {"name": seat.title(), "provider": "reference", "model": "r1", "fixture": True} | more
    return je.Actor(id=seat, part=part, **values)


def opinion(vote: str, probability: float, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - any field
    """Content of a verdict or a position."""
    return {"probability": probability, "vote": vote, "confidence": 0.8, "reason": f"says {vote}"} | more


class Log:
    """The events of one run, in the order in which they are added; each comes a millisecond after the one before."""

    def __init__(self, preset: je.Preset, cast: Iterable[je.Actor], **more: Any) -> None:  # noqa: ANN401 - any field
        """Open the run."""
        values: dict[str, Any] = {
            "run": "run-1",
            "preset": preset,
            "conditions": ("independent",),
            "title": "A made run",
            "control": sha256("control"),
            "hearing": sha256("hearing"),
            "case": sha256("case"),
            "rule": je.Rule(kind="majority"),
            "rounds": 1,
            "seed": 7,
            "limits": je.Limits(),
            "trust": je.Trust(mode="off"),
            "version": "0",
        }
        self.events: list[je.Event] = []
        self._item = ""
        self.add(je.RunOpened(key="run", time=0, cast=list(cast), **(values | more)))

    def add(self, event: je.Event) -> je.Event:
        """Add an event, at the next millisecond."""
        event.time = BEGAN + len(self.events)
        self.events.append(event)
        return event

    def item(self, name: str, options: tuple[str, ...] = ("accept", "reject"), **more: Any) -> None:  # noqa: ANN401
        """Open an item; what follows is about it."""
        self._item = name
        values: dict[str, Any] = {"question": f"What of {name}?", "texts": {"output": f"the output of {name}"}} | more
        self.add(je.ItemOpened(key=key_of("item", name), time=0, item=name, options=options, **values))

    def answer(
        self,
        seat: str,
        step: je.Step,
        content: dict[str, Any],
        condition: je.Condition | None = None,
        number: int = 0,
        **more: Any,  # noqa: ANN401 - any field
    ) -> None:
        """Add an answer."""
        values: dict[str, Any] = {"attempt": 1, "prompt": NO_HASH, "ms": MS} | more
        self.add(
            je.Answered(
                key=key_of("answer", self._item, condition, step_of(step, number), seat),
                time=0,
                item=self._item,
                condition=condition,
                step=step,
                actor=seat,
                content=msgspec.Raw(canonical(content)),
                **values,
            )
        )

    def fault(self, seat: str, step: je.Step, code: je.FaultCode, attempt: int = 1, words: str = "wrong") -> None:
        """Add an attempt that failed."""
        key = key_of("fault", self._item, None, step, seat, f"0.{attempt}")
        self.add(
            je.AttemptFailed(
                key=key, time=0, item=self._item, step=step, actor=seat, attempt=attempt, prompt=NO_HASH, code=code,
                words=words, ms=MS,
            )
        )  # fmt: skip

    def absent(self, seat: str, step: je.Step, code: je.FaultCode = "timeout", epoch: int = 0) -> None:
        """Add an answer that never came."""
        key = key_of("absent", self._item, None, step, seat, epoch)
        self.add(
            je.WentAbsent(key=key, time=0, item=self._item, step=step, actor=seat, attempts=3, code=code, epoch=epoch)
        )

    def cite(self, seat: str, quote: str, status: je.CitationStatus = "verified", start: int = 4) -> None:
        """Add a citation of the text `output`, by a verdict's author."""
        key = key_of("citation", self._item, None, "verdict", seat, "0.1", len(self.events))
        self.add(
            je.Cited(
                key=key, time=0, item=self._item, step="verdict", actor=seat, source="output", start=start,
                end=start + len(quote), quote=quote, status=status,
            )
        )  # fmt: skip

    def seal(self, seat: str, *, holds: bool | None = True) -> None:
        """Add a seal, and its opening unless `holds` is `None`."""
        sealed = next(
            event.content
            for event in self.events
            if isinstance(event, je.Answered) and (event.actor, event.item, event.step) == (seat, self._item, "verdict")
        )
        commitment = sha256(f"{NONCE}\n{bytes(sealed).decode()}")
        self.add(
            je.Sealed(key=key_of("seal", self._item, seat), time=0, item=self._item, actor=seat, commitment=commitment)
        )
        if holds is not None:
            key = key_of("opened", self._item, seat)
            self.add(
                je.SealOpened(key=key, time=0, item=self._item, actor=seat, nonce=NONCE, verdict=sealed, holds=holds)
            )

    def close(self, phase: Any, seats: tuple[str, ...], condition: je.Condition | None = None, number: int = 0) -> None:  # noqa: ANN401
        """Close a phase."""
        key = key_of("phase", self._item, condition, f"{phase}-{number}")
        self.add(
            je.PhaseClosed(
                key=key, time=0, item=self._item, condition=condition, phase=phase, round=number, present=seats,
                state=NO_HASH,
            )
        )  # fmt: skip

    def message(self, sender: str, target: str, text: str, condition: je.Condition, number: int = 1) -> None:
        """Add an address and its delivery."""
        content = {"target": target, "move": "challenge", "message": text}
        self.answer(sender, "address", content, condition, number, round=number)
        key = key_of("message", self._item, condition, number, sender)
        self.add(
            je.MessageDelivered(
                key=key, time=0, item=self._item, condition=condition, round=number, sender=sender, target=target,
                text=sha256(text),
            )
        )  # fmt: skip

    def ballot(self, seat: str, vote: str, condition: je.Condition, submitted: str | None = None) -> None:
        """Add a ballot; a changed one where something else was submitted."""
        key = key_of("ballot", self._item, condition, seat)
        self.add(
            je.BallotCast(
                key=key, time=0, item=self._item, condition=condition, actor=seat, vote=vote,
                submitted=submitted or vote, changed=bool(submitted),
            )
        )  # fmt: skip

    def outcome(self, condition: je.Condition, status: Any, outcome: str | None, **more: Any) -> None:  # noqa: ANN401
        """Add an outcome."""
        values: dict[str, Any] = {"tally": {}} | more
        key = key_of("outcome", self._item, condition)
        self.add(
            je.OutcomeReached(
                key=key, time=0, item=self._item, condition=condition, status=status, outcome=outcome, **values
            )
        )

    def end(self, *, finished: bool = True, epoch: int = 0, **more: Any) -> None:  # noqa: ANN401 - any field
        """End the run."""
        values: dict[str, Any] = {"calls": 10, "failed": 0} | more
        self.add(je.RunEnded(key=key_of("ended", epoch), time=0, epoch=epoch, finished=finished, **values))

    def resolve(self, name: str, decision: str) -> None:
        """Add a person's decision."""
        self.add(
            je.Resolved(
                key=key_of("resolution", name), time=0, item=name, case=sha256("case"), decision=decision,
                resolver="Ann", note="read it",
            )
        )  # fmt: skip

    def lines(self) -> Iterator[tuple[str, je.Event]]:
        """Yield the events as a reader of the log gives them: each with the hash of its line."""
        head = NO_HASH
        for event in self.events:
            line, head = line_of(event, head)
            yield head, je.EVENTS.decode(je.LINES.decode(line).event)

    def write(self, folder: Path) -> Path:
        """Write the log into a folder, in one frame."""
        folder.mkdir(parents=True, exist_ok=True)
        write_events(folder, self.events)
        return folder


def survey(lines: Iterable[tuple[str, je.Event]]) -> Run:
    """The run that a log holds, read to its end."""
    reading = Reading(lines)
    list(reading.items())
    return reading.run


def write_events(folder: Path, events: Iterable[je.Event]) -> None:
    """Write a log, chained anew."""
    head, lines = NO_HASH, bytearray()
    for event in events:
        line, head = line_of(event, head)
        lines += line
    (folder / je.LOG_NAME).write_bytes(zstandard.compress(bytes(lines)))


def tribunal() -> Log:
    """A star of three over one round: the chief is moved, one ballot is changed, one quote is invented."""
    cast = [
        actor("judge", "judge"), actor("left", "party"), *(actor(seat) for seat in TRIBUNAL_JURORS[:2]),
        actor("chief", "foreperson"),
    ]  # fmt: skip
    log = Log("tribunal", cast, conditions=("star",))
    log.item("case", ("guilty", "not guilty"), texts={"E1": "the door was locked at nine"}, facts={"charge": "theft"})
    log.answer("left", "statement", {"statement": "It was locked.\nSee E1.", "thesis": "locked"}, number=1)
    for seat, before, sealed in (("ada", 50, 90), ("ben", 50, 70), ("chief", 40, 20)):
        log.answer(seat, "baseline", opinion("not guilty", before))
        log.answer(seat, "verdict", opinion("guilty" if sealed > 50 else "not guilty", sealed))
    log.cite("ada", "door was locked")
    log.cite("ben", "door stood open", "mismatch")
    for seat in TRIBUNAL_JURORS:
        log.seal(seat, holds=seat != "ben")
    log.close("sealed", TRIBUNAL_JURORS)
    log.message("ada", "chief", "look at E1", "star")
    log.answer("chief", "position", opinion("not guilty", 40, reply="perhaps"), "star", 1, round=1)
    log.message("ben", "chief", "and the time", "star")
    log.answer("chief", "position", opinion("guilty", 60), "star", 2, round=1)
    log.close("round", TRIBUNAL_JURORS, "star", 1)
    for seat in TRIBUNAL_JURORS:
        log.ballot(seat, "guilty", "star", "not guilty" if seat == "ben" else None)
    log.outcome("star", "decided", "guilty", tally={"guilty": 3, "not guilty": 0}, label="guilty")
    log.answer("judge", "announcement", {"outcome": "guilty", "text": "Guilty it is."}, "star")
    log.end()
    return log


JUDGED = (
    # Votes of both judges, the known truth.
    ("accept", "accept", "accept"),
    ("reject", "reject", "reject"),
    ("accept", "reject", None),
    ("accept", "accept", "reject"),
    ("reject", None, "accept"),
)


def judges(votes: Iterable[tuple[str, str | None, str | None]] = JUDGED, **more: Any) -> Log:  # noqa: ANN401 - any field
    """Two judges over a data set: items `t1`, `t2`, …; `None` for a judge who is absent."""
    votes = list(votes)
    cast = [actor("strict", "judge", model="s"), actor("kind", "judge", model="k")]
    values: dict[str, Any] = {"traces": len(votes), "rounds": 0, "rule": je.Rule(kind="agreement")} | more
    log = Log("judges", cast, **values)
    missing = []
    for number, (one, other, label) in enumerate(votes, start=1):
        log.item(f"t{number}", texts={"input": "do it", "output": f"the output of t{number}"})
        for seat, vote in (("strict", one), ("kind", other)):
            if vote is None:
                log.absent(seat, "verdict")
                missing.append(f"t{number}/-/verdict/{seat}")
                continue
            log.answer(seat, "verdict", opinion(vote, 80 if vote == "accept" else 10))
            log.cite(seat, "output")
        agreed = one == other
        tally = {"accept": [one, other].count("accept"), "reject": [one, other].count("reject")}
        reason = "" if agreed else "they disagree" if other else "a judge is absent"
        log.outcome(
            "independent", "agreed" if agreed else "review", one if agreed else None, tally=tally, label=label,
            reason=reason,
        )  # fmt: skip
    log.end(missing=tuple(missing), calls=2 * len(votes), failed=3 * len(missing))
    return log
