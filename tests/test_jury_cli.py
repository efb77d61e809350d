"""The jury's commands: what they print, where they write, how they end, and what they refuse."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path
from typing import Any, NamedTuple, get_args

import msgspec
import pytest
from jurylogs import judges, opinion, write_events
from typer.testing import CliRunner

from a2a_trust import cli
from a2a_trust.errors import CaseError, ResolutionError, RunFolderError, TrustError, UsageError
from a2a_trust.jury import commands
from a2a_trust.jury.endings import Ending
from a2a_trust.jury.journal import read_events
from a2a_trust.jury.views import NAMES
from a2a_trust.sources import jury_events
from a2a_trust.sources.jury_events import LOG_NAME, Answered, RunResumed

HOSTILE = "\x1b[31m\u202e[bold]x"
pytestmark = pytest.mark.usefixtures("no_waiting")
COMMAND = Path(sysconfig.get_path("scripts")) / "a2a-trust"


class Done(NamedTuple):
    """What a command left."""

    code: int
    out: str
    err: str
    error: TrustError | None


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Homes of the ledger and of runs that are nobody's, in an empty folder that is the current one."""
    monkeypatch.setenv("A2A_TRUST_HOME", str(tmp_path / "ledger"))
    monkeypatch.setenv("A2A_TRUST_JURIES", str(tmp_path / "juries"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def jury(*words: str | Path) -> Done:
    """Run a command of the group."""
    result = CliRunner().invoke(cli.app, ["jury", *map(str, words)])
    error = result.exception if isinstance(result.exception, TrustError) else None
    if result.exception and not error and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Done(error.exit_code if error else result.exit_code, result.stdout, result.stderr, error)


def cut(folder: Path, keep: int) -> None:
    """Leave the first lines of a log, as a kill would."""
    write_events(folder, list(read_events(folder))[:keep])


# ------------------------------------------------------------------ run


def test_a_first_run_needs_nothing_but_a_name(places: Path) -> None:
    """It goes into a folder of its own, says where, and shows what it came to; the ledger's home is not touched."""
    done = jury("run", "cold-store")
    assert done.code == 0
    (folder,) = (places / "juries").iterdir()
    assert sorted(path.name for path in folder.iterdir()) == sorted((*NAMES, LOG_NAME, "jury.lock"))
    assert str(folder) in done.out
    for told in ("solo", "independent", "star", "mesh", "grounding: 100 %", "test doubles"):
        assert told in done.out
    for phase in ("the record is built", "verdicts are sealed", "star: round 1", "mesh: ballots"):
        assert phase in done.err
    assert not (places / "ledger").exists()


def test_how_much_is_told_is_chosen(places: Path) -> None:
    """Nothing, each phase, or each call; results go to standard output in any case."""
    quiet, plain, loud = (jury("run", "cold-store", *words) for words in (["-q"], [], ["-v"]))
    assert quiet.err == ""
    assert "statement of cold-store" in loud.err
    assert "statement of cold-store" not in plain.err
    assert len(list((places / "juries").iterdir())) == 3
    assert jury("run", "cold-store", "-q", "-v").error.__class__ is UsageError


def test_json_is_for_scripts() -> None:
    """One document, with the folder, the ending and all numbers."""
    done = jury("run", "trajectories", "--json", "-q")
    told = json.loads(done.out)
    assert (told["ending"], told["exitCode"], done.code) == ("reviews", 43, 43)
    assert told["summary"] == json.loads((Path(told["folder"]) / "summary.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("words", "ending"),
    [
        (["cold-store"], None),
        (["trajectories"], Ending.REVIEWS),
        (["trajectories", "--max-false-accept", "2"], Ending.REVIEWS),
        (["trajectories", "--max-false-accept", "1"], Ending.FALSE_ACCEPTS),
        (["night-desk"], Ending.HUNG),
        (["night-desk", "--rule", "majority"], None),
        (["cold-store", "--condition", "star", "--faulty", "kofi=absent"], Ending.MISSING),
        (["cold-store", "--condition", "star", "--faulty", "kofi=malformed"], None),
        (["trajectories", "--max-false-accept", "0", "--faulty", "brisk=absent"], Ending.MISSING),
        (
            ["night-desk", "--faulty", "juror-1=absent", "--faulty", "juror-2=absent", "--faulty", "juror-3=absent"],
            Ending.UNFINISHED,
        ),
    ],
)
def test_each_ending_has_its_code(words: list[str], ending: Ending | None) -> None:
    """A script can tell what a run came to; whatever it is, the run is whole and its views hold."""
    done = jury("run", *words, "--output-dir", "out")
    assert done.code == (ending.exit_code if ending else 0), done.err
    assert jury("check", "out").code == 0


def test_the_codes_are_those_of_the_page() -> None:
    """docs/exit-codes.md lists each ending."""
    page = (Path(__file__).parent.parent / "docs/exit-codes.md").read_text(encoding="utf-8")
    told = [line for line in page.splitlines() if re.match(r"\| 4\d ", line)]
    assert [line.split("|")[1:3] for line in told] == [[f" {one.exit_code} ", f" `{one}` "] for one in Ending]


def test_choices_are_those_of_the_format() -> None:
    """The command line names what the log can hold, in full."""
    assert list(commands.PresetName) == list(get_args(jury_events.Preset))
    assert list(commands.ConditionName) == ["all", *get_args(jury_events.Condition)]
    rule = jury_events.schema()["$defs"]["Rule"]["properties"]["kind"]["enum"]
    assert sorted([*commands.RuleName, "agreement"]) == sorted(rule)
    assert list(commands.TrustMode) == ["off", "lead-only", "all"]
    assert list(commands.OrderName) == ["standard", "reverse"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"not json", "case"),
        (b"\xff\xfe\x00", "case"),
        (b'{"preset":"tribunal"}', "case"),
        (b"", "case"),
        (b"[" * 100_000, "case"),
    ],
)
def test_what_is_no_case_is_refused_before_anything_is_written(places: Path, content: bytes, told: str) -> None:
    """One line, an exit code, and no folder."""
    (places / "case.json").write_bytes(content)
    done = jury("run", "case.json")
    assert isinstance(done.error, CaseError)
    assert told in str(done.error)
    assert not (places / "juries").exists()


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["nowhere.json"], CaseError),
        (["trajectories", "--preset", "panel"], CaseError),
        (["trajectories", "--max-traces", "3"], CaseError),
        (["trajectories", "--max-calls", "3"], CaseError),
        (["cold-store", "--condition", "digest"], UsageError),
        (["cold-store", "--judged", "map.json"], UsageError),
        (["cold-store", "--faulty", "kofi=tired"], UsageError),
        (["cold-store", "--faulty", "nobody=absent"], UsageError),
        (["cold-store", "--resume"], UsageError),
        (["cold-store", "--resume", "--output-dir", "nowhere"], RunFolderError),
        (["cold-store", "--output-dir", "ledger/run"], UsageError),
        (["cold-store", "--output-dir", "no-text-\udc9b"], RunFolderError),
        (["trajectories", "--judges", "nowhere.json"], CaseError),
    ],
)
def test_what_cannot_be_run_writes_nothing(places: Path, words: list[str], kind: type[TrustError]) -> None:
    """The reason is told before a folder is made."""
    done = jury("run", *words)
    assert isinstance(done.error, kind), done
    assert list(places.iterdir()) == []


def test_a_provider_that_is_not_there_is_refused(places: Path) -> None:
    """At once, not after every call to it has failed."""
    judges = [{"id": name, "name": name, "persona": name, "provider": name} for name in ("acme", "reference")]
    (places / "judges.json").write_text(json.dumps(judges))
    done = jury("run", "trajectories", "--judges", "judges.json", "--output-dir", "out")
    assert isinstance(done.error, UsageError)
    assert "acme: no provider 'acme' is known here" in str(done.error)
    assert not (places / "out").exists()


@pytest.mark.parametrize("seconds", ["0", "86401", "inf", "nan"])
def test_a_deadline_that_no_log_can_hold_is_refused(places: Path, seconds: str) -> None:
    """Before a log is begun that nobody could read."""
    assert jury("run", "cold-store", "--deadline", seconds).code == UsageError.exit_code
    assert list(places.iterdir()) == []


def test_a_folder_holds_one_run(places: Path) -> None:
    """A finished run, or anything else, stays what it is."""
    jury("run", "cold-store", "--output-dir", "out")
    before = {path.name: path.read_bytes() for path in (places / "out").iterdir()}
    for words in ([], ["--seed", "8"], ["--resume"], ["--resume", "--seed", "8"]):
        done = jury("run", "cold-store", "--output-dir", "out", *words)
        assert isinstance(done.error, RunFolderError)
        assert {path.name: path.read_bytes() for path in (places / "out").iterdir()} == before
    (places / "mine").mkdir()
    (places / "mine/result.json").write_text("{}")
    done = jury("run", "cold-store", "--output-dir", "mine")
    assert isinstance(done.error, RunFolderError)
    assert "result.json" in str(done.error)


@pytest.mark.parametrize("keep", [1, 2, 20, 60, 150])
def test_a_run_that_was_cut_is_gone_on_with(places: Path, keep: int) -> None:
    """With the options that it began with, no answer asked for twice, and to the same end."""
    words = ("run", "cold-store", "--seed", "3", "--rounds", "2", "--output-dir", "out", "-q")
    whole = jury(*words)
    folder = places / "out"
    answers = {event.key: event.content for event in read_events(folder) if isinstance(event, Answered)}
    cut(folder, keep)
    kept = [event.key for event in read_events(folder) if isinstance(event, Answered)]
    done = jury("run", "cold-store", "--resume", "--output-dir", "out", "-v")
    assert done.code == 0
    # But for where it is.
    assert done.out == whole.out
    events = list(read_events(folder))
    assert {event.key: event.content for event in events if isinstance(event, Answered)} == answers
    assert sum(isinstance(event, RunResumed) for event in events) == 1
    assert done.err.count(" ms") == len(answers) - len(kept)
    assert jury("check", "out").code == 0


@pytest.mark.parametrize("left", [(), ("result.json",), ("result.json", "summary.json", "transcript.md")])
def test_a_run_that_was_killed_while_its_views_were_written_gets_them(places: Path, left: tuple[str, ...]) -> None:
    """Its log is whole, so nobody is asked, nothing is added, and the end is that of any run."""
    whole = jury("run", "cold-store", "--output-dir", "out", "-q")
    folder = places / "out"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for path in folder.iterdir():
        if path.name not in {LOG_NAME, *left}:
            path.unlink()
    done = jury("run", "cold-store", "--resume", "--output-dir", "out", "-q")
    assert (done.code, done.out) == (whole.code, whole.out)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_run_that_has_no_call_left_is_not_gone_on_with(places: Path) -> None:
    """Its budget is part of what it is, so to go on would ask nobody; both the run and the next attempt say so."""
    words = ("cold-store", "--condition", "independent", "--faulty", "kofi=absent", "--faulty", "bram=absent")
    done = jury("run", *words, "--max-calls", "29", "--output-dir", "out", "-q")
    assert done.code == Ending.UNFINISHED.exit_code
    assert "29 calls that the run may make are made; begin anew with a greater --max-calls" in " ".join(
        done.err.split()
    )
    before = (places / "out" / LOG_NAME).read_bytes()
    done = jury("run", "cold-store", "--resume", "--output-dir", "out")
    assert isinstance(done.error, RunFolderError)
    assert "greater --max-calls" in str(done.error)
    assert (places / "out" / LOG_NAME).read_bytes() == before
    assert jury("check", "out").code == 0


@pytest.mark.parametrize(
    "words", [["--seed", "8"], ["--rounds", "0"], ["--condition", "star"], ["--trust", "off"], ["--max-attempts", "1"]]
)
def test_another_run_is_not_gone_on_with(places: Path, words: list[str]) -> None:
    """An option that says otherwise is named; the log stays as it is."""
    jury("run", "cold-store", "--output-dir", "out", "-q")
    cut(places / "out", 30)
    before = (places / "out" / LOG_NAME).read_bytes()
    done = jury("run", "cold-store", "--resume", "--output-dir", "out", *words)
    assert isinstance(done.error, RunFolderError)
    assert words[0] in str(done.error)
    done = jury("run", "night-desk", "--resume", "--output-dir", "out")
    assert isinstance(done.error, TrustError)
    assert (places / "out" / LOG_NAME).read_bytes() == before


def test_judged_agents_are_named_by_a_map(places: Path) -> None:
    """The profile of the agent behind a trace goes into the log of the run."""
    (places / "map.json").write_text(json.dumps({"*": {"name": "writer", "provider": "p"}}), encoding="utf-8")
    rows = [{"trace_id": f"t{number}", "input": "do it", "output": "it is done"} for number in range(2)]
    (places / "traces.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    jury("run", "traces.jsonl", "--judged", "map.json", "--output-dir", "out", "-q")
    items = json.loads((places / "out/result.json").read_text(encoding="utf-8"))["items"]
    assert [item["judged"]["name"] for item in items] == ["writer", "writer"]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send")
def test_an_interrupted_run_says_how_to_go_on(places: Path) -> None:
    """A provider that hangs is left by Ctrl-C at once; what was answered is kept."""
    process = subprocess.Popen(
        [COMMAND, "jury", "run", "trajectories", "--faulty", "brisk=timeout", "--output-dir", "out"],
        cwd=places, env=os.environ, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    for _ in range(600):
        if (places / "out" / LOG_NAME).exists():
            break
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "a2a-trust jury run trajectories --resume --output-dir out" in told
    assert "Traceback" not in told
    assert any(isinstance(event, Answered) for event in read_events(places / "out"))


# ------------------------------------------------------------------ check


def test_a_check_says_what_it_compared_and_what_differs(places: Path) -> None:
    """File and field, a code of its own, and how to mend it."""
    jury("run", "trajectories", "--output-dir", "out", "-q")
    done = jury("check", "out")
    assert (done.code, done.out.count("checked: ")) == (0, 3)
    path = places / "out/summary.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"agreed": 16', '"agreed": 20'), encoding="utf-8")
    (places / "out/report.html").unlink()
    done = jury("check", "out")
    assert done.code == Ending.DIFFERENT.exit_code
    assert "summary.json, $.counts.agreed: found 20, expected 16" in done.out
    assert "report.html: found no such file" in done.out
    assert "--restore" in done.err
    assert json.loads(jury("check", "out", "--json").out)["differences"][0]["place"] == "$.counts.agreed"
    assert jury("check", "out", "--restore").code == 0
    assert jury("check", "out").code == 0
    apart = jury("check", "out", "--head", "zz")
    assert (apart.code, "--restore" in apart.err) == (Ending.DIFFERENT.exit_code, False)
    assert "head: found no such line, expected one with the hash zz" in apart.out


def test_a_damaged_log_is_told_in_one_line(places: Path) -> None:
    """With the line that is damaged; no view is written from it."""
    jury("run", "trajectories", "--output-dir", "out", "-q")
    log = places / "out" / LOG_NAME
    log.write_bytes(log.read_bytes()[:-40])
    done = jury("check", "out", "--restore")
    assert (done.code, "line" in str(done.error)) == (15, True)
    assert jury("check", "nowhere").code == 14


# ------------------------------------------------------------------ review


@pytest.fixture
def judged() -> dict[str, Any]:
    """A run with reviews, and the first of them as the list tells it."""
    jury("run", "trajectories", "-q")
    found: dict[str, Any] = json.loads(jury("review", "--json").out)[0]
    return found


def resolve(review: dict[str, Any], **more: str) -> Done:
    """Resolve a review."""
    said = {
        "run": review["run"], "dataset": review["dataset"], "trace": review["trace"], "decision": "accept",
        "resolver": "ann", "note": "it is right", "seen": review["line"],
    } | more  # fmt: skip
    return jury("review", "resolve", *(word for name, value in said.items() for word in (f"--{name}", value)))


def test_a_review_from_list_to_decision(judged: dict[str, Any], places: Path) -> None:
    """Listed, shown, decided, gone from the list, and in all views."""
    listed = jury("review")
    assert judged["trace"] in listed.out
    shown = jury("review", "show", judged["trace"])
    assert "[[1|" in shown.out
    assert f"--trace {judged['trace']}" in shown.out
    assert resolve(judged).code == 0
    assert judged["trace"] not in jury("review").out
    assert "accept" in jury("review", "--all").out
    assert "Decided: accept, by ann" in jury("review", "show", judged["trace"]).out
    (folder,) = (path for path in (places / "juries").iterdir() if path.is_dir())
    assert jury("check", folder).code == 0
    assert jury("review", folder).code == jury("review", "list", "--runs", folder).code == 0


@pytest.mark.parametrize(
    "more",
    [
        {"trace": "nobody"},
        {"run": "other"},
        {"dataset": "0" * 64},
        {"decision": "maybe"},
        {"note": " "},
        {"seen": "00"},
    ],
)
def test_a_decision_that_does_not_fit_is_refused(judged: dict[str, Any], more: dict[str, str]) -> None:
    """With a code of its own; twice as well."""
    assert isinstance(resolve(judged, **more).error, ResolutionError)
    resolve(judged)
    assert isinstance(resolve(judged).error, ResolutionError)


def test_a_list_of_nothing_writes_nothing(places: Path) -> None:
    """Looking makes no folder and no database."""
    assert "Nothing waits" in jury("review").out
    assert json.loads(jury("review", "--json").out) == []
    assert list(places.iterdir()) == []


def test_what_agents_wrote_is_text_on_a_terminal(places: Path) -> None:
    """Neither markup nor an escape of the terminal gets through."""
    log = judges([("accept", "reject", None)], title=HOSTILE)
    item, first = log.events[1], log.events[2]
    item.texts = {"output": f"{HOSTILE} the output"}  # type: ignore[union-attr]
    first.content = msgspec.Raw(jury_events.canonical(opinion("accept", 80, reason=HOSTILE)))  # type: ignore[union-attr]
    log.write(places / "juries/one")
    shown = jury("review", "show", "t1")
    assert shown.code == 0
    for raw in ("\x1b", "\u202e"):
        assert raw not in shown.out + jury("review").out
    assert "[bold]x" in shown.out


def test_quotes_are_marked_where_they_stand(places: Path) -> None:
    """Overlapping ones too."""
    log = judges([("accept", "reject", None)])
    log.write(places / "juries/one")
    assert "the [[1|[[2|output|1]]|2]] of t1" in jury("review", "show", "t1").out


# ------------------------------------------------------------------ cases, and the way to all of it


def test_cases_are_listed_and_copied(places: Path) -> None:
    """Each can be run by its name, and be the beginning of one's own; nothing is written over."""
    listed = json.loads(jury("cases", "--json").out)
    assert [one["name"] for one in listed] == ["cold-store", "night-desk", "trajectories"]
    for one in listed:
        assert one["name"] in jury("cases").out
        assert jury("cases", "--copy", one["name"]).code == 0
        assert jury("cases", "--copy", one["name"]).error.__class__ is UsageError
    (places / "cold-store.json").rename(places / "mine.json")
    assert jury("run", "mine.json", "-q").code == 0
    assert jury("cases", "--copy", "nothing").error.__class__ is UsageError


def test_a_file_is_preferred_to_a_case_of_its_name(places: Path) -> None:
    """Whoever has a file of that name means it."""
    shutil.copy(Path(commands.__file__).parent / "cases/night-desk.json", places / "cold-store")
    done = jury("run", "cold-store", "-q")
    assert "digest" in done.out


@pytest.mark.parametrize("words", [["--help"], ["jury", "--help"], ["jury", "run", "--help"], ["doctor", "--help"]])
def test_help_does_not_load_the_engine(words: list[str], places: Path) -> None:
    """What only a run needs is imported by a run."""
    program = (
        "import sys; from a2a_trust.__main__ import main; sys.argv = ['a2a-trust', *sys.argv[1:]]\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(*sorted(name for name in sys.modules if name.startswith('a2a_trust.jury.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, check=True, cwd=places
    )
    assert done.stdout.splitlines()[-1] == "a2a_trust.jury.commands"


@pytest.mark.parametrize("name", ["run", "check", "cases", "review", "review list", "review show", "review resolve"])
def test_each_command_has_an_example(name: str) -> None:
    """Whoever asks for help sees one."""
    told = " ".join(jury(*name.split(), "--help").out.split())
    assert f"a2a-trust jury {name.removesuffix(' list')}" in told.partition("Example")[2]
