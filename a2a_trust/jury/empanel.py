"""Who takes part in a run and under which rules: from a case and the options of a run to the first event of its log."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct, field

import a2a_trust
from a2a_trust.errors import CaseError, UsageError
from a2a_trust.jury import faulty, judges, panel, personas, prompts, reference, tribunal
from a2a_trust.jury.case_types import Agent, Judge, PanelCase, TribunalCase
from a2a_trust.jury.cases import Case, CaseFile, Dataset
from a2a_trust.jury.procedure import MAX_ROUNDS
from a2a_trust.sources.jury_events import (
    NO_HASH,
    Actor,
    Condition,
    FaultCode,
    Hash,
    Limits,
    Part,
    Preset,
    Rule,
    RunOpened,
    Trust,
    canonical,
    key_of,
    sha256,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

CONDITIONS: dict[Preset, tuple[Condition, ...]] = {
    "tribunal": tribunal.CONDITIONS,
    "panel": (panel.CONDITION,),
    "judges": (judges.CONDITION,),
}
RuleKind: TypeAlias = Literal["majority", "supermajority", "unanimous", "agreement"]
FIXTURES = {reference.NAME, faulty.NAME, faulty.HUNG}
"""Providers that are test doubles."""


class RunOptions(Struct, frozen=True, kw_only=True):
    """What a run is asked for, beside its case."""

    preset: Preset
    condition: str = "all"
    """One of the preset's, or `all`."""
    seed: int = 7
    rounds: Annotated[int, Meta(ge=0, le=MAX_ROUNDS)] = 1
    order: Literal["standard", "reverse"] = "standard"
    rule: RuleKind | None = None
    """`None` for the preset's, or the case's."""
    trust: Literal["off", "lead-only", "all"] = "lead-only"
    limits: Limits = Limits()
    provider: str = f"{reference.NAME}/{reference.MODEL}"
    """Provider and model of every part that has none of its own."""
    providers: dict[Part, str] = field(default_factory=dict)
    judges: tuple[Judge, ...] = judges.DEFAULT_JUDGES
    agents: dict[str, Agent] = field(default_factory=dict)
    """Whose work each trace is, where its row does not say."""
    faulty: dict[str, FaultCode] = field(default_factory=dict)
    """Seats that fail on purpose."""
    run: str | None = None


def empanel(case: Case, options: RunOptions) -> list[Actor]:
    """Return everybody who takes part, whatever the condition: equal casts make equal hearings.

    Raises:
        UsageError: A fault was asked of a seat that there is not, or two judges are the same.
    """
    if isinstance(case, Dataset):
        cast = [_judge(judge, options) for judge in options.judges]
    elif isinstance(case.case, PanelCase):
        drawn = personas.draw(options.seed, case.case.jurors)
        named = ((f"juror-{number}", persona) for number, persona in enumerate(drawn, 1))
        cast = [_actor(seat, "juror", persona.name, persona.text, options) for seat, persona in named]
    else:
        cast = _court(case.case, options)
    seats = [actor.id for actor in cast]
    for seat in options.faulty:
        if seat not in seats:
            raise UsageError(f"{seat!r} is no seat of this run; expected one of {', '.join(seats)}.")
    if options.preset == "judges":
        _check_judges(cast)
    return cast


def prepare(case: Case, options: RunOptions, trust: Trust) -> RunOpened:
    """Return the first event of a run. Nothing is written.

    Raises:
        UsageError: Options contradict each other or the case.
        CaseError: The case asks for more calls or traces than the run may use.
    """
    conditions = _conditions(options)
    if not 0 <= options.rounds <= MAX_ROUNDS:
        raise UsageError(f"{options.rounds} rounds were asked for; expected 0 to {MAX_ROUNDS}.")
    cast = empanel(case, options)
    count = case.count if isinstance(case, Dataset) else 0
    material = _agents(options) if isinstance(case, Dataset) else _material(case)
    _check_budget(case, options, planned_calls(case, cast, conditions, options.rounds))
    run = options.run or secrets.token_hex(6)
    kind = _rule(case, options)
    # Judges need no quorum: with one of them missing, a trace goes to a person.
    rule = Rule(kind=kind, quorum=(0, 1)) if kind == "agreement" else Rule(kind=kind)
    opened = RunOpened(
        key=key_of("run"),
        time=0,
        run=run,
        preset=options.preset,
        conditions=conditions,
        title=case.path.name if isinstance(case, Dataset) else case.case.title,
        control=NO_HASH,
        hearing=NO_HASH,
        case=case.sha256,
        material=material,
        prompts=prompts.fingerprint(),
        cast=cast,
        rule=rule,
        rounds=options.rounds,
        order=options.order,
        seed=options.seed,
        limits=options.limits,
        trust=trust,
        traces=count,
        version=a2a_trust.__version__,
    )
    # As a log gives it back, so that the same comes of the same.
    opened = msgspec.json.decode(canonical(opened), type=RunOpened)
    opened.control, opened.hearing = fingerprints(opened)
    return opened


def fingerprints(opened: RunOpened) -> tuple[Hash, Hash]:
    """Return what `control` and `hearing` of a run must be by everything else that it says of itself."""
    hearing = {
        name: getattr(opened, name)
        for name in ("preset", "case", "cast", "order", "limits", "seed", "material", "prompts", "version")
    }
    more = {name: getattr(opened, name) for name in ("conditions", "rounds", "rule", "trust")}
    fixtures = all(actor.fixture for actor in opened.cast)
    return sha256(canonical(hearing | more)), sha256(canonical(hearing if fixtures else {"run": opened.run}))


def planned_calls(case: Case, cast: Sequence[Actor], conditions: Sequence[Condition], rounds: int) -> int:
    """Return how many calls a run makes if every first attempt is accepted."""
    if isinstance(case, Dataset):
        return case.count * len(cast)
    if isinstance(case.case, PanelCase):
        return (1 + len(case.case.variants)) * len(cast) * (2 + rounds)
    court = case.case
    jurors = len(court.jurors)
    solo = "solo" in conditions
    shared = len(conditions) - solo
    hearing = len(list(tribunal.slots(court, "standard"))) + 2 * (jurors * (shared > 0) + solo)
    spoken = 2 * jurors * rounds * len(tribunal.WITH_ROUNDS & set(conditions))
    return hearing + spoken + shared * (jurors + 1) + 2 * solo


def case_of(material: dict[str, Any]) -> TribunalCase | PanelCase:
    """Return the case that a log holds, without its hidden truth."""
    return msgspec.convert(material, TribunalCase | PanelCase)


def agents_of(material: dict[str, Any]) -> dict[str, Agent]:
    """Return whose work each trace is, where its row does not say, as a log holds it."""
    return msgspec.convert(material.get("agents", {}), dict[str, Agent])


def _agents(options: RunOptions) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(canonical({"agents": options.agents} if options.agents else {}))
    return found


def _material(case: CaseFile) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(canonical(msgspec.structs.replace(case.case, truth=None)))
    return found


def _conditions(options: RunOptions) -> tuple[Condition, ...]:
    known = CONDITIONS[options.preset]
    if options.condition == "all":
        return known
    for condition in known:
        if condition == options.condition:
            return (condition,)
    raise UsageError(
        f"The condition {options.condition!r} is none of the preset {options.preset}; expected all or one of"
        f" {', '.join(known)}."
    )


def _rule(case: Case, options: RunOptions) -> RuleKind:
    given = options.rule
    if (given == "agreement") != (options.preset == "judges") and given is not None:
        raise UsageError(
            f"The rule {given} is none of the preset {options.preset}; expected"
            f" {'agreement' if options.preset == 'judges' else 'majority, supermajority or unanimous'}."
        )
    if given is not None:
        return given
    if isinstance(case, Dataset):
        return "agreement"
    return case.case.rule if isinstance(case.case, PanelCase) else "majority"


def _check_budget(case: Case, options: RunOptions, planned: int) -> None:
    limits = options.limits
    if planned > limits.max_calls:
        raise CaseError(
            f"This run makes at least {planned} calls, and may make {limits.max_calls}. Allow more with --max-calls, or"
            " ask for less."
        )
    if isinstance(case, Dataset) and case.count > limits.max_traces:
        raise CaseError(
            f"{case.path} holds {case.count} traces, and the run may judge {limits.max_traces}. Allow more with"
            " --max-traces."
        )


def _court(case: TribunalCase, options: RunOptions) -> list[Actor]:
    together: tuple[Condition, ...] = tuple(c for c in tribunal.CONDITIONS if c != "solo")
    cast = [_actor(case.judge.id, "judge", case.judge.name, case.judge.persona, options)]
    cast += [_actor(party.id, "party", party.name, party.persona, options) for party in case.parties]
    cast += [_actor(witness.id, "witness", witness.name, witness.persona, options) for witness in case.witnesses]
    for juror in case.jurors:
        part: Part = "foreperson" if juror.id == case.foreperson else "juror"
        cast.append(_actor(juror.id, part, juror.name, juror.persona, options, together))
    solo = case.solo
    return [*cast, _actor(solo.id, "juror", solo.name, solo.persona, options, ("solo",))]


def _actor(  # noqa: PLR0913, PLR0917 - a seat is all of these
    seat: str, part: Part, name: str, persona: str, options: RunOptions, conditions: tuple[Condition, ...] = ()
) -> Actor:
    provider, _, model = options.providers.get(part, options.provider).partition("/")
    provider, model = _or_faulty(seat, provider, model, options)
    return Actor(
        id=seat,
        part=part,
        name=name,
        persona=persona,
        provider=provider,
        model=model,
        fixture=provider in FIXTURES,
        conditions=conditions,
    )


def _judge(judge: Judge, options: RunOptions) -> Actor:
    default = reference.MODEL if judge.provider == reference.NAME else ""
    provider, model = _or_faulty(judge.id, judge.provider, judge.model or default, options)
    return Actor(
        id=judge.id,
        part="judge",
        name=judge.name,
        persona=judge.persona,
        provider=provider,
        model=model,
        fixture=provider in FIXTURES,
        parameters=judge.parameters,
    )


def _or_faulty(seat: str, provider: str, model: str, options: RunOptions) -> tuple[str, str]:
    code = options.faulty.get(seat)
    return (provider, model) if code is None else (faulty.provider_of(code), code)


def _check_judges(cast: Sequence[Actor]) -> None:
    if len(cast) < 2:  # noqa: PLR2004 - agreement takes two
        raise UsageError(f"{len(cast)} judge was given; expected at least two.")
    if len({actor.id for actor in cast}) < len(cast):
        raise UsageError("Two judges have the same id; expected an id of its own for each.")
    seen: dict[bytes, str] = {}
    for actor in cast:
        key = canonical([actor.persona, actor.provider, actor.model, actor.parameters])
        if key in seen:
            raise UsageError(
                f"The judges {seen[key]} and {actor.id} are configured alike, so that their agreement would say"
                " nothing; expected them to differ in persona, provider, model or parameters."
            )
        seen[key] = actor.id
