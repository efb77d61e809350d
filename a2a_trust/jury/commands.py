"""The command group `jury`: run a jury, check what it left, and decide what it could not."""

from __future__ import annotations

import os
import shlex
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer
from typer.core import TyperGroup

from a2a_trust.console import HomeOption, JsonOption, home_of, note, output, print_json
from a2a_trust.errors import UsageError
from a2a_trust.text import safe

if TYPE_CHECKING:
    from a2a_trust.jury.endings import Ending
    from a2a_trust.jury.summary import Summary
    from a2a_trust.sources.jury_events import Preset


REVIEWS_SHOWN = 50


class PresetName(StrEnum):
    """Kinds of juries."""

    TRIBUNAL = "tribunal"
    PANEL = "panel"
    JUDGES = "judges"


class ConditionName(StrEnum):
    """Who may address whom, or all of a preset's for comparison."""

    ALL = "all"
    SOLO = "solo"
    INDEPENDENT = "independent"
    STAR = "star"
    MESH = "mesh"
    DIGEST = "digest"


class OrderName(StrEnum):
    """Order of a hearing."""

    STANDARD = "standard"
    REVERSE = "reverse"


class RuleName(StrEnum):
    """How votes become an outcome."""

    MAJORITY = "majority"
    SUPERMAJORITY = "supermajority"
    UNANIMOUS = "unanimous"


class TrustMode(StrEnum):
    """Who is shown what earlier runs say."""

    OFF = "off"
    LEAD_ONLY = "lead-only"
    ALL = "all"


class Told(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What `jury run --json` prints."""

    folder: str
    ending: str | None
    exit_code: int
    summary: Any


class _ListByDefault(TyperGroup):
    """A group whose first word may be left out where it is `list`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - a type that Typer keeps to itself
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = ["list", *args]
        return super().parse_args(ctx, args)


jury_app = typer.Typer(
    name="jury",
    help="Let a jury of agents judge a case, a text or trajectories; check and resolve what it came to.",
    epilog="Examples: a2a-trust jury cases | a2a-trust jury run cold-store | a2a-trust jury review",
    no_args_is_help=True,
    rich_markup_mode=None,
)
review_app = typer.Typer(
    cls=_ListByDefault,
    help="List what went to a person, show it, decide it. Without a further word: list.",
    epilog="Examples: a2a-trust jury review | a2a-trust jury review DIR --all | a2a-trust jury review show TRACE",
    rich_markup_mode=None,
)

PlaceOption = Annotated[
    Path | None,
    typer.Option(
        "--runs",
        metavar="DIR",
        help="A folder of runs, or that of one run. Default: $A2A_TRUST_JURIES, else ~/.a2a-trust-juries.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    jury_app.add_typer(review_app, name="review")
    app.add_typer(jury_app)


def runs_of(option: Path | None) -> Path:
    """Return the folder of runs that an option, or else the environment, names."""
    from a2a_trust.sources.jury import JurySource

    return option.expanduser() if option is not None else JurySource().default_roots(os.environ)[0]


@jury_app.command(
    epilog="Examples: a2a-trust jury run cold-store | a2a-trust jury run case.json --condition star --seed 3 | "
    "a2a-trust jury run traces.jsonl --max-false-accept 0"
)
def run(
    case: Annotated[
        str, typer.Argument(metavar="CASE|DATASET", help="A file, or the name of a case that `jury cases` lists.")
    ],
    preset: Annotated[
        PresetName | None, typer.Option(help="The kind of jury. Default: as the case says; judges for JSON lines.")
    ] = None,
    condition: Annotated[
        ConditionName | None, typer.Option(help="Who may address whom. Default: all that the preset knows.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Equal seeds give equal runs of test doubles. Default: 7.")] = None,
    rounds: Annotated[
        int | None, typer.Option(min=0, max=3, help="Rounds of deliberation, where there are any. Default: 1.")
    ] = None,
    evidence_order: Annotated[OrderName | None, typer.Option(help="Order of a hearing. Default: standard.")] = None,
    rule: Annotated[
        RuleName | None, typer.Option(help="How votes become an outcome. Default: the preset's, or the case's.")
    ] = None,
    output_dir: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where the run goes: an empty folder. Default: a new one in --runs."),
    ] = None,
    runs: Annotated[
        Path | None,
        typer.Option(
            "--runs",
            metavar="DIR",
            help="Where the folder of the run is made. Default: $A2A_TRUST_JURIES, else ~/.a2a-trust-juries.",
        ),
    ] = None,
    trust: Annotated[
        TrustMode | None, typer.Option(help="Who is shown what the ledger says. Default: lead-only.")
    ] = None,
    judges: Annotated[
        Path | None, typer.Option(metavar="FILE", help="For judges: who judges, a JSON list of at least two.")
    ] = None,
    judged: Annotated[
        Path | None, typer.Option(metavar="FILE", help="For judges: JSON, the profile of the agent behind each trace.")
    ] = None,
    max_attempts: Annotated[
        int | None, typer.Option(min=1, max=5, help="Times that one answer is asked for. Default: 3.")
    ] = None,
    deadline: Annotated[
        float | None, typer.Option(min=0.001, max=86_400, help="Seconds for each call. Default: 60.")
    ] = None,
    concurrency: Annotated[int | None, typer.Option(min=1, max=64, help="Calls at a time. Default: 6.")] = None,
    max_calls: Annotated[int | None, typer.Option(min=1, help="Refuse a run that takes more calls.")] = None,
    max_traces: Annotated[int | None, typer.Option(min=1, help="Refuse a data set of more traces.")] = None,
    max_false_accept: Annotated[
        int | None, typer.Option(min=0, help="Exit with a code of its own on more false accepts than this.")
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on with the unfinished run in --output-dir; no answer is asked for twice."),
    ] = False,
    faulty: Annotated[
        list[str] | None, typer.Option(metavar="SEAT=CODE", hidden=True, help="Let a seat fail on purpose.")
    ] = None,
    home: HomeOption = None,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Tell nothing while it runs.")] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Tell each call.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Let a jury judge, and write its log, result, numbers, transcript and report into a folder."""
    if quiet and verbose:
        raise UsageError("-q and -v contradict each other; give one of them")
    if resume and output_dir is None:
        raise UsageError("--resume needs the folder of the run: --output-dir DIR")
    from a2a_trust.jury import runs as made
    from a2a_trust.jury.endings import ending_of
    from a2a_trust.jury.progress import Progress

    named: Preset | None = preset.value if preset else None
    asked = made.Asked(
        case=case, preset=named, condition=condition, seed=seed, rounds=rounds,
        order=evidence_order, rule=rule, trust=trust, max_attempts=max_attempts, deadline=deadline,
        concurrency=concurrency, max_calls=max_calls, max_traces=max_traces, judges=judges, judged=judged,
        faulty=tuple(faulty or ()),
    )  # fmt: skip
    place = home_of(home)
    folder = output_dir.expanduser() if output_dir else made.new_folder(runs_of(runs), named or made.preset_of(case))
    made.refuse_folder(folder, place)
    progress = Progress(0 if quiet else 2 if verbose else 1)
    try:
        found = made.resume(asked, folder, progress) if resume else made.start(asked, folder, place, progress)
    except KeyboardInterrupt:
        note(f"interrupted; what was answered is kept; {_again(case, folder)}")
        raise
    ending = ending_of(found.summary, max_false_accept)
    code = ending.exit_code if ending else 0
    if as_json:
        print_json(Told(folder=str(folder), ending=ending, exit_code=code, summary=found.summary))
    else:
        from a2a_trust.jury import tables

        tables.print_summary(output(), found.summary)
        output().print(f"The run is in {safe(str(folder))}; report.html shows it.")
    if ending:
        spent = (found.summary.calls or 0) >= found.run.opened.limits.max_calls
        again = "begin anew with a greater --max-calls in another --output-dir" if spent else _again(case, folder)
        note(_told(ending, found.summary, again, folder))
        raise typer.Exit(code)


def _again(case: str, folder: Path) -> str:
    return f"go on with: a2a-trust jury run {shlex.quote(case)} --resume --output-dir {shlex.quote(str(folder))}"


def _told(ending: Ending, summary: Summary, again: str, folder: Path) -> str:
    """Return what an ending means, and what to do; `again` is how an unfinished run comes to its end."""
    place = shlex.quote(str(folder))
    false_accepts = summary.false_accepts.count if summary.false_accepts else 0
    return {
        "unfinished": f"unfinished: {summary.reason}; {again}",
        "missing": f"{summary.missing.count} answers are missing; the run is finished without them",
        "false-accepts": f"{false_accepts} false accepts, more than --max-false-accept",
        "reviews": f"{summary.reviews.pending.count} wait for a person: a2a-trust jury review {place}",
        "hung": f"{summary.counts.hung} ended without a decision",
    }[ending]


@jury_app.command(epilog="Examples: a2a-trust jury check DIR | a2a-trust jury check DIR --restore")
def check(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run.")],
    head: Annotated[
        str, typer.Option(metavar="HASH", help="Hold the log against the hash of a line that was kept elsewhere.")
    ] = "",
    restore: Annotated[
        bool, typer.Option("--restore", help="Write views that are missing or differ again, from the log.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Compute everything about a run again from its log, and fail on any difference."""
    from a2a_trust.jury import check as checking
    from a2a_trust.jury.endings import Ending
    from a2a_trust.sources.jury_events import LOG_NAME

    found = checking.check(folder.expanduser(), head=head, restore=restore)
    if as_json:
        print_json(found)
    else:
        for line in found.checked:
            output().print(f"checked: {safe(line)}")
        for name in found.restored:
            output().print(f"written again: {name}")
        for difference in found.differences:
            output().print(f"differs: {safe(str(difference))}")
        if found.holds:
            state = "" if found.finished else "; it is not finished"
            output().print(f"The run {safe(found.run)} is what its log says{state}.")
    if not found.holds:
        if any(difference.file != LOG_NAME for difference in found.differences):
            note("a view can be written again from the log: --restore")
        raise typer.Exit(Ending.DIFFERENT.exit_code)


@jury_app.command(epilog="Examples: a2a-trust jury cases | a2a-trust jury cases --copy cold-store")
def cases(
    copy: Annotated[
        str | None, typer.Option(metavar="NAME", help="Copy a case into this folder, to start from.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the cases that come along, all of them made up."""
    from a2a_trust.jury import shipped

    if copy is not None:
        output().print(f"The case is in {safe(str(shipped.copy(copy, Path.cwd())))}.")
        return
    found = shipped.listed()
    if as_json:
        print_json(found)
        return
    for one in found:
        output().print(f"{one.name}  {one.preset}: {safe(one.title)}")
    output().print("Run one: a2a-trust jury run NAME. Start from one: a2a-trust jury cases --copy NAME.")


@review_app.command("list", epilog="Examples: a2a-trust jury review | a2a-trust jury review DIR --all")
def list_reviews(
    place: Annotated[
        Path | None, typer.Argument(metavar="[DIR]", help="The folder of one run, or of many. Default: as --runs.")
    ] = None,
    runs: PlaceOption = None,
    every: Annotated[bool, typer.Option("--all", help="Also what was decided.")] = False,
    limit: Annotated[int, typer.Option(min=0, help="Rows: the first this many; 0 for all.")] = REVIEWS_SHOWN,
    as_json: JsonOption = False,
) -> None:
    """List what went to a person and waits."""
    from a2a_trust.jury import tables
    from a2a_trust.jury.reviews import Queue

    where = place.expanduser() if place else runs_of(runs)
    with Queue(where) as queue:
        found, unread = queue.reviews(pending=not every), queue.unread()
    for folder, reason in unread:
        note(f"{folder}: not read: {reason}")
    if as_json:
        print_json(found)
    elif found:
        tables.print_reviews(output(), found[: limit or None])
        if limit and len(found) > limit:
            output().print(f"The first {limit} of {len(found)}; all with --limit 0.")
        named = place or runs
        note("Look at one: a2a-trust jury review show TRACE" + (f" --runs {shlex.quote(str(named))}" if named else ""))
    else:
        output().print(f"Nothing waits for a person in {safe(str(where))}.")


@review_app.command(epilog="Example: a2a-trust jury review show TRACE --run RUN")
def show(
    trace: Annotated[str, typer.Argument(metavar="TRACE")],
    run_id: Annotated[str, typer.Option("--run", metavar="RUN", help="Its run, or how it begins.")] = "",
    dataset: Annotated[str, typer.Option(metavar="HASH", help="Its data set, or how that begins.")] = "",
    runs: PlaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show one item: its texts with the quotes marked, what each judge said, and how to decide it."""
    from a2a_trust.jury import tables
    from a2a_trust.jury.reviews import Queue, item_of

    with Queue(runs_of(runs)) as queue:
        review = queue.find(trace, run_id, dataset)
        folder = queue.folder_of(review)
    found, item = item_of(folder, review.trace)
    if as_json:
        from a2a_trust.jury.result import item_part

        print_json(item_part(found, item))
        return
    tables.print_review(output(), review, item)
    if review.resolution is None:
        words = ("a2a-trust", "jury", "review", "resolve", "--runs", str(folder), "--run", review.run, "--dataset",
                 review.dataset, "--trace", review.trace, "--seen", review.line[:12])  # fmt: skip
        output().print(f"Decide it: {safe(shlex.join(words))} --decision … --resolver … --note …")


@review_app.command(
    epilog="Example: a2a-trust jury review resolve --run RUN --dataset HASH --trace TRACE --decision accept "
    "--resolver ann --note 'the output is right'"
)
def resolve(
    run_id: Annotated[str, typer.Option("--run", metavar="RUN", help="Its run, in full.")],
    dataset: Annotated[str, typer.Option(metavar="HASH", help="Its data set, in full.")],
    trace: Annotated[str, typer.Option(metavar="TRACE", help="Its trace.")],
    decision: Annotated[str, typer.Option(help="One of its options.")],
    resolver: Annotated[str, typer.Option(help="Who decides.")],
    note_: Annotated[str, typer.Option("--note", help="Why.")],
    seen: Annotated[
        str,
        typer.Option(metavar="HASH", help="Refuse unless this is how the line of its outcome begins; `show` names it."),
    ] = "",
    runs: PlaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Decide an item, once: into the log of its run, then into everything computed from it."""
    from a2a_trust.jury.reviews import Key, Queue

    with Queue(runs_of(runs)) as queue:
        review = queue.resolve(Key(run_id, dataset, trace), seen, decision, resolver, note_)
    if as_json:
        print_json(review)
    else:
        output().print(f"{safe(trace)} is resolved as {safe(decision)}; the views of its run say so.")
