"""Runs as a user asks for them: which case, where to, anew or resumed, and what is told meanwhile."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

import a2a_trust
from a2a_trust.errors import RunFolderError, UsageError
from a2a_trust.jury import cases, engine, reference, trust, views
from a2a_trust.jury.fold import Reading
from a2a_trust.jury.journal import Journal, read_lines
from a2a_trust.jury.run_folder import expect_text
from a2a_trust.sources.jury_events import LOG_NAME, FaultCode, Limits, Preset, RunOpened

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Protocol

    from a2a_trust.jury.cases import Case
    from a2a_trust.jury.views import Views
    from a2a_trust.sources.jury_events import Event

    class Teller(Protocol):
        """Somebody who tells how far a run is."""

        def begun(self, opened: RunOpened) -> None:
            """Hear that calls begin."""

        def event(self, event: Event) -> None:
            """Hear of a call that was made."""


HEAD_BYTES = 4_000_000


class Asked(Struct, frozen=True, kw_only=True):
    """What a run is asked for; `None` for what was not said: the default, or what a resumed run began with."""

    case: str
    preset: Preset | None = None
    condition: str | None = None
    seed: int | None = None
    rounds: int | None = None
    order: str | None = None
    rule: str | None = None
    trust: str | None = None
    max_attempts: int | None = None
    deadline: float | None = None
    concurrency: int | None = None
    max_calls: int | None = None
    max_traces: int | None = None
    judges: Path | None = None
    judged: Path | None = None
    faulty: tuple[str, ...] = ()

    def limits(self) -> dict[str, Any]:
        """Return the limits that were said."""
        names = Limits.__struct_fields__
        return {name: value for name in names if (value := getattr(self, name)) is not None}


class _Head(Struct):
    """What a case file says of itself."""

    preset: Preset


def preset_of(source: str) -> Preset:
    """Return the preset of a case: of one that comes with the package, or as its file says it.

    Raises:
        CaseError: It does not say so.
    """
    path = Path(source)
    if source in cases.SHIPPED and not path.exists():
        return cases.SHIPPED[source][0]
    if path.suffix.lower() in {".jsonl", ".ndjson"}:
        return "judges"
    try:
        with path.open("rb") as file:
            return msgspec.json.decode(file.read(HEAD_BYTES), type=_Head).preset
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        # Reading it as a case tells what is wrong with it, and where.
        return "tribunal"


def new_folder(root: Path, preset: Preset) -> Path:
    """Return a folder for a run, with the time and some chance in its name so that no two runs share it."""
    return root / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{preset}-{secrets.token_hex(3)}"


def refuse_folder(folder: Path, home: Path) -> None:
    """Refuse a folder within the ledger's home, where a jury never writes, and one that cannot be named."""
    expect_text(folder)
    try:
        inside = folder.resolve().is_relative_to(home.resolve())
    except (OSError, RuntimeError) as error:
        raise RunFolderError(f"{folder}: {error}; give another --output-dir") from None
    if inside:
        raise UsageError(f"--output-dir {folder}: this is in the home, which holds the ledger; give a folder elsewhere")


def start(asked: Asked, folder: Path, home: Path, tell: Teller) -> Views:
    """Make a run in a folder of its own and return its views, written."""
    preset = asked.preset or preset_of(asked.case)
    limits = Limits(**asked.limits())
    case = cases.load(asked.case, preset, max_traces=limits.max_traces)
    options = _options(asked, preset, limits)
    frozen = trust.freeze(home, options.trust, engine.empanel(case, options))
    opened = engine.prepare(case, options, frozen)
    providers = engine.reference_providers()
    for actor in opened.cast:
        if actor.provider not in providers:
            raise UsageError(
                f"{actor.id}: no provider {actor.provider!r} is known here; expected {reference.NAME}, the test double"
            )
    with Journal.create(folder, opened) as journal:
        tell.begun(opened)
        engine.run(journal, case, providers, tell.event)
    return views.write_all(folder)


def resume(asked: Asked, folder: Path, tell: Teller) -> Views:
    """Go on with the run in a folder and return its views, written."""
    if not (folder / LOG_NAME).is_file():
        raise RunFolderError(f"{folder} holds no run to go on with; leave out --resume, or name another --output-dir")
    opened = _opened(folder)
    _refuse_other(asked, folder, opened)
    if not all((folder / name).is_file() for name in views.NAMES) and views.Views(folder).run.finished:
        # It was killed between its last event and its views, which are all that is left to do.
        return views.write_all(folder)
    case: Case = cases.load(asked.case, opened.preset, max_traces=opened.limits.max_traces)
    with Journal.resume(folder) as journal:
        views.remove_all(folder)
        tell.begun(opened)
        engine.run(journal, case, engine.reference_providers(), tell.event)
    return views.write_all(folder)


def _opened(folder: Path) -> RunOpened:
    return Reading(read_lines(folder / LOG_NAME)).run.opened


def _options(asked: Asked, preset: Preset, limits: Limits) -> engine.RunOptions:
    said = {
        name: value
        for name in ("condition", "seed", "rounds", "order", "rule", "trust")
        if (value := getattr(asked, name)) is not None
    }
    if preset != "judges" and (asked.judges or asked.judged):
        raise UsageError("--judges and --judged go with a data set, for the preset judges")
    if asked.judges is not None:
        said["judges"] = cases.load_judges(asked.judges)
    if asked.judged is not None:
        said["agents"] = cases.load_agents(asked.judged)
    return engine.RunOptions(preset=preset, limits=limits, faulty=dict(_faults(asked.faulty)), **said)


def _faults(given: Iterable[str]) -> Iterable[tuple[str, FaultCode]]:
    for one in given:
        seat, _, code = one.partition("=")
        try:
            yield seat, msgspec.convert(code, FaultCode)
        except msgspec.ValidationError:
            raise UsageError(f"--faulty {one!r}: expected SEAT=CODE with the code of a fault") from None


def _refuse_other(asked: Asked, folder: Path, opened: RunOpened) -> None:
    """Refuse to go on with another run than the one that is there."""
    if opened.version != a2a_trust.__version__:
        raise RunFolderError(
            f"{folder}: begun by a2a-trust {opened.version}, and this is {a2a_trust.__version__}; go on with that one, "
            "or begin anew in another --output-dir"
        )
    if asked.judges or asked.judged or asked.faulty:
        raise UsageError("--judges, --judged and --faulty are kept from the beginning of a run; leave them out")
    condition = "all" if len(opened.conditions) > 1 else opened.conditions[0]
    found = {
        "preset": opened.preset,
        "seed": opened.seed,
        "rounds": opened.rounds,
        "order": opened.order,
        "rule": opened.rule.kind,
        "trust": opened.trust.mode,
        **msgspec.structs.asdict(opened.limits),
    }
    # The one condition of a preset may also be asked for as all of them.
    if asked.condition not in {None, condition} and not (asked.condition == "all" and opened.preset != "tribunal"):
        found["condition"] = condition
    for name, value in found.items():
        said = getattr(asked, name)
        if said is not None and said != value:
            option = name.replace("_", "-").replace("order", "evidence-order")
            raise RunFolderError(
                f"{folder}: holds the run {opened.run} with --{option} {value}, and {said} was asked for; leave the "
                "option out, or begin anew in another --output-dir"
            )
