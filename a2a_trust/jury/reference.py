"""The reference provider: jurors that compute, so that a run needs no network, no key and no luck.

A test double, not a mind. Its jurors move by arithmetic over what they are shown: who cited which evidence, what a
message names, how a persona hashes. It reads the data of the prompt, the persona and the seed, and never which
condition it is in, who else sits there, or what others voted. The same call gives the same bytes on any machine.
"""

from __future__ import annotations

import hashlib
import math
import re
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from a2a_trust.jury.providers import Reply
from a2a_trust.jury.reference_judge import judge
from a2a_trust.jury.spans import MIN_QUOTE, Span, clip, sentences
from a2a_trust.sources.jury_events import canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from a2a_trust.jury.providers import Call
    from a2a_trust.sources.jury_events import Step

NAME = "reference"
MODEL = "reference-1"
"""Changes whenever the same call would be answered otherwise."""

_LEANING = 1.3
_NOISE = 1.2
_EVIDENCE = 0.9
_PULL = 1.5
_DIGEST_PULL = 1.6
_MAX_LOGIT = 4.0
_SHORT = 3
"""Letters of words that say little about what a sentence is about."""
_MOVES = ("challenge", "support", "question", "inform", "propose")


class ReferenceProvider:
    """Answers every step for every part."""

    blocking = False

    def answer(self, call: Call) -> Reply:
        """Return the answer, with provider and model as they are configured."""
        return Reply(text=canonical(answer(call)).decode(), provider=call.actor.provider, model=call.actor.model)

    def reveal(self, call: Call, sealed: bytes) -> bytes:  # noqa: ARG002 - it opens what it sealed
        """Return the sealed verdict."""
        return sealed


def answer(call: Call) -> dict[str, Any]:
    """Return what the contract of the step asks for."""
    if call.step in _ANSWERS:
        return _ANSWERS[call.step](call)
    if call.actor.part == "judge":
        return judge(call.actor.parameters, call.prompt.data["texts"], call.options)
    return _first(call)


class _Mind(Struct, frozen=True):
    """What a persona makes of a juror, under a seed."""

    persona: str
    seed: int

    def unit(self, *what: object) -> float:
        """Return a number in [0, 1) that belongs to this persona alone."""
        return _unit(self.persona, *what)

    @property
    def prior(self) -> float:
        """Where it leans before it knows anything, in log odds: persona, and the day it has."""
        return (self.unit("leaning") - 0.5) * _LEANING + (self.unit("day", self.seed) - 0.5) * _NOISE

    @property
    def openness(self) -> float:
        """How far it goes to meet what it is told."""
        return 0.35 + 0.65 * self.unit("openness")

    @property
    def bar(self) -> float:
        """The percentage from which it votes for the first option."""
        return 46 + 8 * self.unit("bar")

    def weight(self, source: str) -> float:
        """How much a text counts with it."""
        return 0.4 + 1.2 * self.unit("weight", source)


def _first(call: Call) -> dict[str, Any]:
    """Return a verdict of one's own: prior and evidence, nobody else."""
    mind = _Mind(call.actor.persona, call.seed)
    pulls = _pulls(mind, call.prompt.data)
    return _verdict(call, mind, mind.prior + _EVIDENCE * sum(pulls.values()), pulls)


def _position(call: Call) -> dict[str, Any]:
    """Return a verdict after a message or a digest."""
    mind = _Mind(call.actor.persona, call.seed)
    data = call.prompt.data
    before = _logit(data["own"]["probability"])
    if "message" in data:
        pull = _message_pull(mind, data, call.options)
        reply = {"reply": f"You make me {'more' if pull * before > 0 else 'less'} sure than I was."}
    else:
        sides = [_direction(text, call.options) for text in data["arguments"]]
        pull = _DIGEST_PULL * mind.openness * sum(sides) / max(1, len(sides))
        reply = {}
    return _verdict(call, mind, before + pull, _pulls(mind, data)) | reply


def _message_pull(mind: _Mind, data: Mapping[str, Any], options: Sequence[str]) -> float:
    """Return how far a message moves one: its direction, by the weight of what it cites, less where that is known."""
    message = data["message"]
    named = [name for name in message["cites"] if name in data["texts"]]
    weight = sum(map(mind.weight, named)) / len(named) if named else 0.5
    known = set(named) <= {factor.partition(":")[0] for factor in data["own"].get("factors", ())}
    tone = 0.8 + 0.4 * mind.unit("tone", message["text"])
    return _PULL * mind.openness * _direction(message["text"], options) * weight * tone * (0.6 if known else 1.0)


def _address(call: Call) -> dict[str, Any]:
    mind = _Mind(call.actor.persona, call.seed)
    own = call.prompt.data["own"]
    pulls = _pulls(mind, call.prompt.data)
    spans = _cited(mind, call, own["vote"], pulls)[:1]
    target = call.targets[int(mind.unit("target", call.seed, call.round, *call.targets) * len(call.targets))]
    move = _MOVES[int(mind.unit("move", call.seed, call.round) * len(_MOVES))]
    why = f": {spans[0].source} says “{clip(spans[0].quote, 300)}”" if spans else ", by what I have read"
    message = f"I hold to {own['vote']}{why}."
    return {"target": target, "move": move, "message": message, "citations": [span.cite() for span in spans]}


def _verdict(call: Call, mind: _Mind, logit: float, pulls: Mapping[str, float]) -> dict[str, Any]:
    probability = _percent(logit)
    vote = call.options[0]
    if probability < mind.bar:
        others = call.options[1:]
        vote = others[int(mind.unit("other", call.item) * len(others))]
    spans = _cited(mind, call, vote, pulls)
    named = ", ".join(dict.fromkeys(span.source for span in spans))
    because = f" What counts most with me is {named}." if named else " Nothing has been shown yet."
    return {
        "probability": probability,
        "vote": vote,
        "confidence": round(min(1.0, 0.5 + abs(logit) / 6), 2),
        "reason": f"I find for {vote}.{because}{_quoted(spans)}",
        "citations": [span.cite() for span in spans],
        "factors": [f"{span.source}: {clip(span.quote, 100)}" for span in spans],
        "uncertainty": "I could be moved." if abs(logit) < 1 else "",
    }


def _quoted(spans: Sequence[Span]) -> str:
    return f" It says “{clip(spans[0].quote, 300)}”" if spans else ""


def _pulls(mind: _Mind, data: Mapping[str, Any]) -> dict[str, float]:
    """Return which way each text pulls a juror, by name of the text; positive for the first option."""
    if "statements" in data:
        leans = _leans(data)
        return {name: lean * mind.weight(name) for name, lean in leans.items()}
    found: dict[str, float] = {}
    for name, text in data["texts"].items():
        units = [
            _unit("sense", span.quote) - 0.5 + 0.8 * (mind.unit(span.quote) - 0.5) for span in sentences(name, text)
        ]
        found[name] = 2.5 * sum(units) / math.sqrt(len(units) or 1)
    return found


def _leans(data: Mapping[str, Any]) -> dict[str, float]:
    """Return which way each piece of evidence leans, by who cited it, and each statement by what it cites.

    Later statements count a little more, so that the order of a hearing matters.
    """
    sided = [said for said in data["statements"] if said["side"]]
    leans: dict[str, list[float]] = {name: [] for name in data["texts"]}
    for said in sided:
        for name in said["cites"]:
            leans.setdefault(name, []).append(1.0 if said["side"] == data["first"] else -1.0)
    settled = {name: sum(lean) / len(lean) if lean else 0.0 for name, lean in leans.items()}
    for place, said in enumerate(data["statements"]):
        if not said["side"]:
            cited = [settled.get(name, 0.0) for name in said["cites"]]
            settled[said["id"]] = (0.25 + 0.04 * place) * sum(cited) / max(1, len(cited))
    return settled


def _cited(mind: _Mind, call: Call, vote: str, pulls: Mapping[str, float]) -> list[Span]:
    """Return passages of the two texts that pull hardest towards a vote."""
    sign = 1 if vote == call.options[0] else -1
    texts = call.prompt.data["texts"]
    ranked = sorted((name for name in texts if pulls.get(name, 0.0) * sign > 0), key=lambda name: -pulls[name] * sign)
    chosen = []
    for name in (ranked or list(texts))[:2]:
        spans = [span for span in sentences(name, texts[name]) if len(span.quote) >= MIN_QUOTE]
        if spans:
            chosen.append(spans[int(mind.unit("quote", call.seed, name) * len(spans))])
    return chosen


def _statement(call: Call) -> dict[str, Any]:
    """Return a statement: the first or second half of a brief, or what of it answers the question best."""
    data = call.prompt.data
    told = [span.quote for span in sentences("", data["brief"])] or [data["brief"]]
    half = (len(told) + 1) // 2
    match data["kind"]:
        case "opening":
            words = told[:half]
        case "closing":
            words = told[half:] or told
        case _:
            asked = _content_words(data["question"])
            words = sorted(told, key=lambda sentence: -len(asked & _content_words(sentence)))[:2]
    spans = [
        next(iter(sorted(_quotable(name, data["texts"]), key=lambda span: -len(span.quote))))
        for name in data["relies_on"]
        if any(_quotable(name, data["texts"]))
    ]
    return {"statement": " ".join(words), "thesis": clip(words[0], 280), "citations": [span.cite() for span in spans]}


def _quotable(name: str, texts: Mapping[str, str]) -> Iterator[Span]:
    return (span for span in sentences(name, texts.get(name, "")) if len(span.quote) >= MIN_QUOTE)


def _ballot(call: Call) -> dict[str, Any]:
    return {"vote": call.prompt.data["own"]["vote"]}


def _announcement(call: Call) -> dict[str, Any]:
    data = call.prompt.data
    counted = ", ".join(f"{count} for {option}" for option, count in data["tally"].items())
    return {"outcome": data["outcome"], "text": f"The votes were {counted}. The outcome is {data['outcome']}."}


def _direction(text: str, options: Sequence[str]) -> float:
    """Return 1 where a text names the first option first, -1 for another, 0 for none."""
    pattern = "|".join(re.escape(option) for option in sorted(options, key=len, reverse=True))
    found = re.search(rf"(?<!\w)(?:{pattern})(?!\w)", text)
    return 0.0 if found is None else 1.0 if found[0] == options[0] else -1.0


def _content_words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.lower()) if len(word) > _SHORT}


def _unit(*what: object) -> float:
    text = "\n".join(map(str, what))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") / (1 << 48)


def _percent(logit: float) -> float:
    return round(100 / (1 + math.exp(-max(-_MAX_LOGIT, min(_MAX_LOGIT, logit)))), 1)


def _logit(percent: float) -> float:
    share = min(0.98, max(0.02, percent / 100))
    return math.log(share / (1 - share))


_ANSWERS: dict[Step, Callable[[Call], dict[str, Any]]] = {
    "statement": _statement,
    "address": _address,
    "position": _position,
    "ballot": _ballot,
    "announcement": _announcement,
}
