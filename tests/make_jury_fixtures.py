"""Write the made logs of jury runs below `fixtures/jury`, and what each must give.

Run as a script it writes `made-*/`, `expected.json` and `README.md`. Every expectation is a hand-written list of
judgements in the order of their times; only the step formula is computed, by `make_fixtures`.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jurymade import JUDGES, T0, TEXT, Run, actor, frame, framed
from make_fixtures import step

from a2a_trust.sources import jury_events as je

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ROOT: Final = Path(__file__).resolve().parent.parent / "fixtures" / "jury"
COMPETENCE, RELIABILITY, COMMUNICATION, INTEGRITY = "competence", "reliability", "communication", "integrity"
JUDGEMENTS: Final[dict[str, list[tuple[str, str, float]]]] = {
    "in": [("juror-present", RELIABILITY, 1.0), ("answer-accepted", COMPETENCE, 0.8)],
    "again": [("juror-present", RELIABILITY, 1.0)],
    "out": [("juror-absent", RELIABILITY, 0.0)],
    "lost": [("answer-abandoned", COMPETENCE, 0.0)],
    "true": [("citation-verified", INTEGRITY, 1.0)],
    "off": [("citation-misplaced", INTEGRITY, 0.25)],
    "false": [("citation-mismatch", INTEGRITY, 0.0)],
    "seal": [("seal-broken", INTEGRITY, 0.0)],
    "ballot": [("ballot-changed", INTEGRITY, 0.0)],
    "mask": [("identity-mismatch", INTEGRITY, 0.0)],
    "sent": [("message-sent", COMMUNICATION, 0.7)],
    "prompt": [("response-latency", COMMUNICATION, 1.0)],
    "slow": [("response-latency", COMMUNICATION, 0.5)],
    "upheld": [("verdict-confirmed", COMPETENCE, 1.0)],
    "overruled": [("verdict-overruled", COMPETENCE, 0.0)],
    "good": [("judged", COMPETENCE, 1.0)],
    "bad": [("judged", COMPETENCE, 0.0)],
}
"""What stands for what in the expectations: the evidence, as (kind, dimension, quality) of the policy `standard`."""


@dataclass(frozen=True)
class Scenario:
    """Logs by folder, as bytes, and what they must give."""

    text: str
    logs: Mapping[str, bytes]
    agents: Mapping[str, str]
    """Words of `JUDGEMENTS` by name of the agent."""
    sessions: int
    skipped: Mapping[str, int] = field(default_factory=dict)
    doubles: Mapping[str, str] = field(default_factory=dict)
    """Agents that there are only with `--include-fixtures`."""


def tribunal() -> Scenario:
    """A star of three, after a record that a party and a witness make."""
    cast = [
        actor("chief", "foreperson"), actor("ada"), actor("ben"), actor("judge", "judge"), actor("left", "party"),
        actor("guard", "witness"), actor("spare"),
    ]  # fmt: skip
    run = Run("tribunal", cast, title="The ferry", conditions=("star",), run="tribunal")
    run.item("case", ("liable", "not_liable"), texts={"E1": TEXT})
    run.answer("left", "statement", {"statement": "It was open."}, number=1)
    run.answer("guard", "statement", {"statement": "I was asleep."}, number=1, attempt=2)
    for seat in ("chief", "ada", "ben"):
        run.vote(seat, "baseline", "liable")
    run.quote("ada", "verified")
    run.quote("ada", "verified", number=1)
    run.quote("ben", "mismatch", "the bow door was shut")
    run.fault("ben", "verdict", "quote_mismatch")
    run.quote("ben", "misplaced", attempt=2)
    run.quote("chief", "verified", "door")
    run.quote("chief", "unadmitted", "E9", source="E9")
    for seat, attempt in (("chief", 1), ("ada", 1), ("ben", 2)):
        run.vote(seat, "verdict", "liable", attempt=attempt)
    for seat in ("chief", "ada", "ben"):
        run.seal(seat, holds=seat != "ben")
    run.message("ada", "chief", "look", "star")
    run.vote("chief", "position", "liable", condition="star", number=1, ms=90_000)
    run.message("ben", "chief", "look there", "star")
    run.vote("chief", "position", "not_liable", condition="star", number=2)
    run.message("chief", "ada", "did you see", "star")
    run.vote("ada", "position", "liable", condition="star", number=1)
    for seat in ("chief", "ada", "ben"):
        run.answer(seat, "ballot", {"vote": "liable"}, "star")
        run.ballot(seat, "liable", "star", "not_liable" if seat == "ada" else None)
    run.outcome("star", "decided", "liable")
    run.answer("judge", "announcement", {"outcome": "liable", "text": "Liable."}, "star")
    run.end()
    return Scenario(
        "One condition, `star`, with its record. ada cites twice and well, and her ballot is another than her vote; "
        "ben's first quote stands nowhere and his second elsewhere, and he opens another verdict than he sealed; the "
        "foreperson's quote is too short to count, and it names what was never admitted. A witness needs two attempts; "
        "nobody asks spare.",
        {"run": framed(run.raw)},
        {
            "Left": "in",
            "Guard": "again",
            "Chief": "in in slow in prompt in sent in in",
            "Ada": "in true in sent in prompt in in ballot",
            "Ben": "in false off again seal sent in in",
            "Judge": "in",
        },
        6,
    )


def panel() -> Scenario:
    """Isolated jurors over a baseline and a variant."""
    run = Run("panel", [actor(seat) for seat in ("ada", "ben", "cy")], conditions=("digest",), run="panel")
    for item in ("baseline", "variant-1"):
        run.item(item, ("yes", "no"), texts={"case": TEXT})
        for seat in ("ada", "ben"):
            run.vote(seat, "verdict", "yes")
            run.seal(seat)
        if item == "baseline":
            run.vote("cy", "verdict", "no")
        else:
            for attempt in (1, 2, 3):
                run.fault("cy", "verdict", "missing_field", attempt)
            run.absent("cy", "verdict", "missing_field")
        for seat in ("ada", "ben"):
            run.vote(seat, "position", "no", condition="digest", number=1)
        run.outcome("digest", "decided" if item == "baseline" else "hung", "no" if item == "baseline" else None)
    run.end()
    return Scenario(
        "Three jurors over a case and a variant of it. All change their minds, which says nothing of them; cy never "
        "gets the second verdict right.",
        {"run": framed(run.raw)},
        {"Ada": "in in in in", "Ben": "in in in in", "Cy": "in lost"},
        3,
    )


def judges() -> Scenario:
    """Two judges over four traces of two workers."""
    run = Run(
        "judges", JUDGES, conditions=("independent",), rounds=0, rule=je.Rule(kind="agreement"), traces=5, run="judges"
    )
    traces: list[tuple[str, str, str | None]] = [
        ("scribe", "accept", "accept"),
        ("scribe", "reject", "reject"),
        ("clerk", "accept", "reject"),
        ("clerk", "accept", None),
        ("clerk", "reject", "accept"),
    ]
    for number, (worker, strict, kind) in enumerate(traces, start=1):
        run.item(
            f"t{number}", texts={"output": TEXT}, judged=je.AgentType(name=worker, provider="acme", context="shop")
        )
        run.vote("strict", "verdict", strict)
        if kind is None:
            run.quote("kind", "mismatch", "an invented sentence")
            run.fault("kind", "verdict", "quote_mismatch")
            run.absent("kind", "verdict", "quote_mismatch")
        else:
            run.vote("kind", "verdict", kind)
        agreed = strict == kind
        run.outcome("independent", "agreed" if agreed else "review", strict if agreed else None)
    run.end()
    run.resolve("t3", "reject")
    run.resolve("t4", "accept")
    return Scenario(
        "Two judges over five traces of two workers: they accept one, reject one and disagree on two; of one, one "
        "judge's quote stands nowhere. A person decides two, later; one waits.",
        {"run": framed(run.raw)},
        {
            "Strict": "in in in in in overruled upheld",
            "Kind": "in in in false lost in upheld",
            "scribe": "good bad",
            "clerk": "bad good",
        },
        2,
    )


def faults() -> Scenario:
    """Every fault code, each with a juror of its own."""
    cast = [actor(code.replace("_", "-")) for code in je.FaultCode.__args__]  # type: ignore[attr-defined]
    run = Run("tribunal", cast, run="faults")
    run.item("case", texts={"E1": TEXT})
    for one in cast:
        run.vote(one.id, "baseline")
    for one in cast:
        code = one.id.replace("-", "_")
        if code == "seal_broken":
            run.vote(one.id, "verdict")
            run.seal(one.id, holds=False)
        elif code == "ballot_changed":
            run.vote(one.id, "verdict")
            run.ballot(one.id, "accept", "star", "reject")
        else:
            for attempt in (1, 2):
                run.fault(one.id, "verdict", code, attempt)  # type: ignore[arg-type]
            run.absent(one.id, "verdict", code)  # type: ignore[arg-type]
    run.end(calls=40)
    out = ("Timeout", "Provider-Error", "Absent")
    lost = ("Malformed", "Missing-Field", "Unknown-Target", "Unadmitted-Citation", "Quote-Misplaced", "Quote-Mismatch")
    return Scenario(
        "Twelve jurors, each with one code of fault, after a baseline in which all were well.",
        {"run": framed(run.raw)},
        {
            **dict.fromkeys(out, "in out"),
            **dict.fromkeys(lost, "in lost"),
            "Identity-Mismatch": "in mask lost",
            "Seal-Broken": "in in seal",
            "Ballot-Changed": "in in ballot",
        },
        12,
    )


def infrastructure() -> Scenario:
    """A provider that was down."""
    run = Run("tribunal", [actor(seat) for seat in ("ada", "ben", "cy")], run="infrastructure")
    run.item("case", texts={"E1": TEXT})
    run.vote("ada", "baseline")
    for seat in ("ben", "cy"):
        for attempt in (1, 2, 3):
            run.fault(seat, "baseline", "provider_error", attempt)
        run.absent(seat, "baseline", "provider_error")
    run.add(je.QuorumMissed(key="quorum/case/-/0", time=0, item="case", present=1, needed=2, empanelled=3))
    run.end(finished=False, calls=7, failed=6, infrastructure={"provider_error": 6})
    run.add(je.RunResumed(key="resumed/1", time=0, epoch=1))
    run.vote("ben", "baseline")
    run.absent("cy", "baseline", "provider_error", epoch=1)
    run.end(epoch=1, calls=4, failed=1)
    return Scenario(
        "Six of seven calls fail alike: nobody's fault. The run goes on later, and then one who is absent is so alone.",
        {"run": framed(run.raw)},
        {"Ada": "in", "Ben": "in", "Cy": "out"},
        3,
        {"infrastructure": 2},
    )


def hearing() -> Scenario:
    """One hearing that two runs tell, and one of them in two places."""
    logs = {}
    for number, condition in enumerate(("star", "mesh")):
        run = Run(
            "tribunal", [actor("ada"), actor("ben")], run=f"run-{condition}", hearing=je.sha256("one"),
            conditions=(condition,), start=T0 + number * 10**7,
        )  # fmt: skip
        run.item("case", texts={"E1": TEXT})
        for seat in ("ada", "ben"):
            run.vote(seat, "baseline")
            run.quote(seat, "verified")
            run.vote(seat, "verdict")
        run.message("ada", "ben", "look", condition)  # type: ignore[arg-type]
        run.vote("ben", "position", condition=condition, number=1)
        run.end()
        logs[condition] = framed(run.raw)
    logs["copy"] = logs["star"]
    return Scenario(
        "One hearing in two runs, of two conditions, the first of them in two folders: what they share counts once.",
        logs,
        {"Ada": "in true in in sent in sent", "Ben": "in true in in prompt in prompt"},
        6,
    )


def doubles() -> Scenario:
    """Test doubles beside somebody live."""
    cast = [actor("ada", fixture=True, provider="reference"), actor("ben")]
    run = Run("judges", cast, run="doubles")
    run.item("t1", judged=je.AgentType(name="scribe"))
    for seat in ("ada", "ben"):
        run.quote(seat, "verified")
        run.vote(seat, "verdict")
    run.outcome("independent", "agreed", "accept")
    run.end()
    return Scenario(
        "A reference judge beside a live one: what it did counts only where that is asked for, and so does what both "
        "say of a worker.",
        {"run": framed(run.raw)},
        {"Ben": "true in"},
        1,
        {"fixture": 2},
        {"Ada": "true in", "scribe": "good"},
    )


def _short(name: str) -> Run:
    run = Run("tribunal", [actor("ada"), actor("ben")], run=name)
    run.item("case", texts={"E1": TEXT})
    for seat in ("ada", "ben"):
        run.vote(seat, "baseline")
        run.vote(seat, "verdict")
    run.quote("ada", "mismatch", "an invented sentence")
    run.end()
    return run


def edited() -> Scenario:
    """A log in which a lie was made to look like a true quote."""
    lines = _short("edited").raw
    lines[6] = lines[6].replace(b'"mismatch"', b'"verified"')
    return Scenario(
        "The line of an invented quote was edited: it and what stands behind it is no evidence.",
        {"run": framed(lines)},
        {"Ada": "in in", "Ben": "in in"},
        2,
        {"chain-broken": 2},
    )


def damaged() -> Scenario:
    """A log with what is none in between, and a torn end."""
    lines = _short("damaged").raw
    odd = [b"{\n", b"[1, 2]\n", b"\x00\x00\n", b"\xff\xfe\n", b'{"hash": 7}\n']
    data = framed([*lines[:3], *odd, *lines[3:6]]) + frame(lines[6])[:-9]
    return Scenario(
        "Lines that are none between those of the chain, and at the end a frame that was being written.",
        {"run": data},
        {"Ada": "in in", "Ben": "in in"},
        2,
        {"malformed-line": 3, "wrong-shape": 2},
    )


def names() -> Scenario:
    """Names in every way that could hurt."""
    hostile = [
        "[bold red]coder[/]",
        "\x1b[31mred\x1b[0m",
        "two\nlines",
        "\u202eesrever",
        "../../etc/passwd",
        "a/b",
        "~1",
    ]
    cast = [
        actor(f"s{number}/{name}", name=name, persona=f"<script>{name}</script>", model=name)
        for number, name in enumerate(hostile)
    ]
    run = Run("tribunal", cast, title="<b>\x1b[2J</b>", run="names")
    run.item("case/../\x1b[2J", texts={"E1": TEXT})
    for one in cast:
        run.vote(one.id, "verdict")
    run.end()
    return Scenario(
        "Seats, names, personas, models, an item and a title with markup, terminal escapes, line breaks, right-to-left "
        "marks and paths.",
        {"run": framed(run.raw)},
        dict.fromkeys(hostile, "in"),
        len(hostile),
    )


SCENARIOS: Final[dict[str, Callable[[], Scenario]]] = {
    "made-tribunal": tribunal,
    "made-panel": panel,
    "made-judges": judges,
    "made-faults": faults,
    "made-infrastructure": infrastructure,
    "made-hearing": hearing,
    "made-doubles": doubles,
    "made-edited": edited,
    "made-damaged": damaged,
    "made-names": names,
}


# What is written.


def given(history: str) -> dict[str, Any]:
    """Return the counts by kind and [value, samples, good] by dimension for words in the order of their times."""
    kinds: dict[str, int] = {}
    trust: dict[str, list[float | int]] = {}
    for kind, dim, quality in (judgement for word in history.split() for judgement in JUDGEMENTS[word]):
        kinds[kind] = kinds.get(kind, 0) + 1
        value, samples, good = trust.get(dim, [0.5, 0, 0])
        trust[dim] = [step(value, quality), samples + 1, good + (quality >= 0.5)]
    order = (COMPETENCE, RELIABILITY, COMMUNICATION, INTEGRITY)
    return {"kinds": dict(sorted(kinds.items())), "trust": {dim: trust[dim] for dim in order if dim in trust}}


def expectation(scenario: Scenario) -> dict[str, Any]:
    """Return the entry of a scenario in `expected.json`."""
    agents = {name: given(history) for name, history in scenario.agents.items()}
    doubles = {name: given(history) for name, history in scenario.doubles.items()}
    return {
        "sessions": scenario.sessions,
        "skipped": dict(scenario.skipped),
        "agents": agents,
        "withFixtures": agents | doubles,
    }


def readme(scenarios: Mapping[str, Scenario], expected: Mapping[str, Any]) -> str:
    """Return the text of `README.md`."""
    lines = [
        "# Logs of jury runs for the tests",
        "",
        "Each folder holds runs, each with its log. All are written by `tests/make_jury_fixtures.py`; everybody in",
        "them is made up. `expected.json` says what each must give under the policy `standard`: `sessions`, what is",
        "`skipped`, and of each agent `kinds`, the evidence by kind, and `trust`, `[value, samples, good]` by",
        "dimension; `withFixtures` the same with `--include-fixtures`.",
        "",
        "| folder | what it holds |",
        "|---|---|",
        *(f"| {name} | {scenario.text} |" for name, scenario in scenarios.items()),
        "",
        "## What they must give",
    ]
    for name, entry in expected.items():
        left_out = ", ".join(f"{count} {reason}" for reason, count in entry["skipped"].items()) or "nothing skipped"
        lines += ["", f"### {name}", "", f"{entry['sessions']} sessions, {left_out}.", ""]
        lines += ["| agent | evidence by kind | trust |", "|---|---|---|"]
        for who, agent in entry["withFixtures"].items():
            mark = "" if who in entry["agents"] else " (with `--include-fixtures`)"
            kinds = ", ".join(f"{kind} {count}" for kind, count in agent["kinds"].items())
            trust = ", ".join(f"{dim} {'/'.join(map(str, state))}" for dim, state in agent["trust"].items())
            lines.append(f"| `{who.encode('unicode_escape').decode()}`{mark} | {kinds} | {trust} |")
    return "\n".join(lines) + "\n"


def build(root: Path) -> None:
    """Write all made runs below `root`, and the two files that say what they must give."""
    scenarios = {name: make() for name, make in SCENARIOS.items()}
    for name, scenario in scenarios.items():
        shutil.rmtree(root / name, ignore_errors=True)
        for folder, data in scenario.logs.items():
            (root / name / folder).mkdir(parents=True)
            (root / name / folder / je.LOG_NAME).write_bytes(data)
    expected = {name: expectation(scenario) for name, scenario in scenarios.items()}
    (root / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")
    (root / "README.md").write_text(readme(scenarios, expected), encoding="utf-8")


if __name__ == "__main__":
    ROOT.mkdir(exist_ok=True)
    build(ROOT)
