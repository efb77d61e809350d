"""What the pages say in tables, examples and links is what the code does."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sysconfig
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import msgspec
import pytest
import typer
import typer.main
from a2a_trust.backfill.notable import Told
from a2a_trust.backfill.run import UNREADABLE
from homes import FIXTURES, audit_of, ingest
from typer.testing import CliRunner

from a2a_trust import cli
from a2a_trust.errors import ALL_ERRORS
from a2a_trust.facts import Failure
from a2a_trust.findings import PROVIDER_ERROR
from a2a_trust.model import DIMENSIONS, Late, Policy, Row
from a2a_trust.policy import BUILT_IN, RATED, RESPONSE_LATENCY, STANDARD, load_policy
from a2a_trust.reputation import interval, step
from a2a_trust.sources import dsh_facts, dsh_lines
from a2a_trust.store.verify import DefectKind
from a2a_trust.text import percent

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
NOT_COUNTED = "–"
INTERRUPTED = 130
ENDLESS = r"dashboard$|--watch|trust watch"
"""Commands that go on until somebody stops them; their own tests start and stop them."""


def table(page: Path, *titles: str) -> list[list[str]]:
    """The rows of the one table of a page that has these titles."""
    lines = page.read_text(encoding="utf-8").splitlines()
    (start,) = (number for number, line in enumerate(lines) if cells(line) == list(titles))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append(cells(line))
    return rows


def cells(line: str) -> list[str]:
    """The cells of a line of a table; one that is all code without its marks."""
    if not line.startswith("|"):
        return []
    return [re.sub(r"^`([^`]*)`$", r"\1", cell.strip()) for cell in line.strip("|").split("|")]


def code_blocks(page: Path, tag: str) -> list[str]:
    """The fenced blocks of a page with a tag."""
    return re.findall(rf"^```{tag}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def literals(node: ast.expr, names: dict[str, set[str]]) -> Iterator[str]:
    """The strings that an expression can be, given those that names stand for."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.Name):
        yield from names.get(node.id, ())
    elif isinstance(node, ast.IfExp):
        yield from literals(node.body, names)
        yield from literals(node.orelse, names)


def first_arguments(path: Path, *functions: str) -> set[str]:
    """The strings with which a module calls functions, by the end of their names, as first argument."""
    found: set[str] = set()
    for scope in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(scope, ast.FunctionDef):
            continue
        names: dict[str, set[str]] = {}
        for node in ast.walk(scope):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                names.setdefault(node.targets[0].id, set()).update(literals(node.value, {}))
        for node in ast.walk(scope):
            if isinstance(node, ast.Call) and node.args and ast.unparse(node.func).endswith(functions):
                found.update(literals(node.args[0], names))
    return found


def slug(heading: str) -> str:
    """The anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def environment(home: Path) -> dict[str, str]:
    """What a command sees of its surroundings: a home of its own, and logs that are there."""
    return {
        "PATH": os.pathsep.join((sysconfig.get_path("scripts"), os.environ["PATH"])),
        "HOME": str(home),
        "DSH_HOME": str(FIXTURES / "a-team"),
        "A2A_TRUST_HOME": str(home / "ledger"),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "COLUMNS": "120",
    }


def output_of(command: str, home: Path, folder: Path = ROOT) -> str:
    """What a command of the pages prints; the test fails if the command does."""
    done = subprocess.run(
        ["bash", "-c", command],  # noqa: S607 bash is found on PATH
        cwd=folder,
        env=environment(home),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


# ------------------------------------------------------------------ tables


def test_every_exit_code_is_told() -> None:
    """Codes, classes and what they mean are those of the errors."""
    rows = table(DOCS / "exit-codes.md", "code", "class", "what happened", "what to do")
    told = [(int(code), name, what) for code, name, what, _ in rows if name]
    assert told == [
        (error.exit_code, error.__name__, (error.__doc__ or "").partition(" Exit code")[0]) for error in ALL_ERRORS
    ]
    assert [int(code) for code, name, *_ in rows if not name] == [0, INTERRUPTED]


def test_every_exit_code_of_verify_is_told() -> None:
    """Codes and kinds are those of the defects."""
    rows = table(DOCS / "exit-codes.md", "code", "kind", "what is wrong")
    assert [(int(code), kind) for code, kind, _ in rows] == [(kind.exit_code, kind) for kind in DefectKind]


def test_every_reason_to_skip_is_told() -> None:
    """The reasons of the summary are those that reader and run can give."""
    modules = [*(ROOT / "a2a_trust/sources").glob("*.py"), *(ROOT / "backfill").glob("*.py")]
    given = {
        reason for path in modules for reason in first_arguments(path, "skips.add", "LineError", "LogUnreadableError")
    }
    told = [reason for reason, *_ in table(DOCS / "logs.md", "reason", "what was skipped", "why")]
    assert sorted(told) == sorted(given)


def test_every_reason_for_exit_code_4_is_told() -> None:
    """The page names the reasons after which a run says that something was not read."""
    (sentence,) = re.findall(
        r"^After (.*?) the run ends with exit code 4", (DOCS / "logs.md").read_text(), re.MULTILINE
    )
    assert set(re.findall(r"`([^`]+)`", sentence)) == set(UNREADABLE)


def test_every_event_without_a_use_is_told() -> None:
    """The reasons under `unused` are those that attribution can give."""
    told = [reason for reason, _ in table(DOCS / "logs.md", "reason", "what happened")]
    folds = (ROOT / "a2a_trust/findings.py", ROOT / "a2a_trust/event_fold.py")
    assert sorted(told) == sorted({reason for fold in folds for reason in first_arguments(fold, "self._skip")})


def test_every_event_that_is_read_is_told() -> None:
    """The page lists exactly the kinds of lines that are parsed, and those that move the clock."""
    tags = {kind.__struct_config__.tag for kind in get_args(dsh_lines.AnyLine)}
    rows = table(DOCS / "logs.md", "event", "what it says")
    assert {tag for events, _ in rows for tag in re.findall(r"[a-z-]+(?:/[a-z-]+)*", events)} == tags
    (clock,) = re.findall(r"move that clock: (.*?)\.", (DOCS / "logs.md").read_text(encoding="utf-8"), re.DOTALL)
    assert set(re.findall(r"`([^`]+)`", clock)) == {kind.__struct_config__.tag for kind in dsh_lines.CLOCKED}


def test_every_excuse_is_told() -> None:
    """A code that the page gives for a reason leads to it, and every code that excuses stands on the page."""
    rows = table(DOCS / "numbers.md", "reason", "what happened", "known by")
    told = {reason: re.findall(r"`([A-Z_]+)`", known_by) for reason, _, known_by in rows}
    for reason, codes in told.items():
        for code in codes:
            assert dsh_facts.classify("team_task_update", Failure(code, ""), refused=False) == reason
    excusing = dsh_facts._REASON_BY_CODE  # noqa: SLF001 - the page must hold all of it
    assert set(excusing) <= {code for codes in told.values() for code in codes}
    assert dsh_facts.classify("bash", Failure("", ""), refused=True) in told
    assert PROVIDER_ERROR in told


def test_every_kind_of_evidence_is_told() -> None:
    """Kinds and qualities are those of both built-in policies."""
    told = {row[0]: row for row in table(DOCS / "numbers.md", "kind", "dimension", "standard", "seed", "from")}
    by_rule = {RESPONSE_LATENCY, *RATED}
    assert set(told) - by_rule == set(STANDARD.quality) - by_rule
    for kind, (_, dimension, *qualities, _) in told.items():
        assert dimension == "any" or set(dimension.split(", ")) <= set(DIMENSIONS)
        if kind not in by_rule:
            expected = [BUILT_IN[name].quality.get(kind, NOT_COUNTED) for name in ("standard", "seed")]
            assert qualities == [str(quality) for quality in expected]


def test_the_example_of_the_index_is_right() -> None:
    """Each step of the example leads from its value before to its value after."""
    rows = table(DOCS / "numbers.md", "evidence", "q", "α", "value before", "value after")
    assert rows
    value = "0.5"
    for kind, quality, alpha, before, after in rows:
        assert before == value
        assert float(quality) == STANDARD.quality[kind]
        assert float(alpha) == (STANDARD.alpha_good if float(quality) >= 0.5 else STANDARD.alpha_bad)
        assert str(step(float(before), float(quality), STANDARD)) == after
        value = after


def test_the_examples_of_the_rate_are_right() -> None:
    """Each rate and interval is what its counts give."""
    rows = table(DOCS / "numbers.md", "good", "samples", "rate", "interval")
    assert rows
    for good, samples, rate, bounds in rows:
        given = interval(int(good), int(samples))
        assert given is not None
        assert (rate, bounds) == (f"{percent(given.rate)}%", f"{percent(given.low)}–{percent(given.high)}")


def test_every_key_of_a_policy_is_told() -> None:
    """The page lists the keys of a policy file, with the values of `standard` where it gives them."""
    rows = table(DOCS / "policy.md", "key", "value", "standard")
    assert [key for key, *_ in rows] == ["base", *Policy.__struct_fields__]
    values = {key: json.loads(value) for key, _, value in rows if re.match(r'(?!.*\]\()[\[0-9tf]|"standard', value)}
    builtin = msgspec.to_builtins(STANDARD)
    assert values.pop("base") == STANDARD.name
    assert values == {key: json.loads(json.dumps(builtin[key])) for key in values}


def test_every_key_of_a_line_of_watch_is_told() -> None:
    """The page lists the keys with which a step is printed as JSON."""
    told = dict(table(DOCS / "watch.md", "event", "keys"))
    keys = {field.encode_name for field in (*msgspec.structs.fields(Told), *msgspec.structs.fields(Late))}
    assert set(re.findall(r"`(\w+)`", told["step"])) == keys - {"event"}


def test_the_example_of_a_policy_is_one(tmp_path: Path) -> None:
    """The file that the page shows is accepted, and every key in it does something."""
    (text,) = code_blocks(DOCS / "policy.md", "toml")
    (tmp_path / "example.toml").write_text(text, encoding="utf-8")
    policy = msgspec.to_builtins(load_policy(tmp_path / "example.toml"))
    base = msgspec.to_builtins(STANDARD)
    assert {key for key in policy if policy[key] != base[key]} == set(tomllib.loads(text)) - {"base"}


def test_the_row_that_is_shown_is_one(tmp_path: Path) -> None:
    """The example is the row that its log gives, key by key in the order of the file, and every key is explained."""
    (shown,) = code_blocks(DOCS / "store.md", "json")
    ingest(tmp_path / "home", FIXTURES / "a-team")
    line = json.dumps(json.loads(shown), separators=(",", ":"), ensure_ascii=False).encode()
    assert line == audit_of(tmp_path / "home").splitlines()[3]
    told = [key for keys, _ in table(DOCS / "store.md", "key", "meaning") for key in re.findall(r"\w+", keys)]
    assert told == list(Row.__struct_encode_fields__)


# ------------------------------------------------------------------ examples


def test_the_readme_lists_every_command() -> None:
    """The table of commands holds every one that `--help` shows."""
    told = [name for name, *_ in table(ROOT / "README.md", "command", "what it does", "example")]
    group = typer.main.get_command(cli.app)
    assert sorted(told) == sorted(name for name, command in group.commands.items() if not command.hidden)


def test_the_commands_in_the_text_run(tmp_path: Path) -> None:
    """Every command of the README that is no block of its own runs where there are logs and a ledger."""
    text = re.sub(r"^```.*?^```$", "", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    found = [code for code in re.findall(r"`(a2a-trust [^`]+)`", text) if not re.search(r"\b[A-Z]{3,}\b", code)]
    assert "a2a-trust backfill && a2a-trust show" in found
    output_of("a2a-trust backfill", tmp_path)
    for command in found:
        if not re.search(ENDLESS, command):
            output_of(command, tmp_path, tmp_path)


def test_the_picture_shows_the_numbers_of_the_fixtures(tmp_path: Path) -> None:
    """The README shows what `show` prints for the logs of `make demo`: names, numbers and rates."""
    (picture,) = (block for block in code_blocks(ROOT / "README.md", "text") if block.startswith("agent"))
    output_of("a2a-trust backfill fixtures/dsh --exclude 'made-*'", tmp_path)
    printed = output_of("a2a-trust show", tmp_path)
    assert picture.split() == printed.split(), "put the output of `a2a-trust show` on these logs into the README"


def test_the_examples_in_python_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples of the architecture run; the plugin adds a command that works."""
    library, plugin = code_blocks(DOCS / "architecture.md", "python")
    monkeypatch.chdir(tmp_path)
    ingest(tmp_path / ".demo-home", FIXTURES / "a-team")
    exec(compile(library, "library", "exec"), {})  # noqa: S102 - our own page
    names: dict[str, object] = {"__name__": "plugin"}
    exec(compile(plugin, "plugin", "exec"), names)  # noqa: S102 - our own page
    app = typer.Typer()
    names["register"](app)  # type: ignore[operator]
    result = CliRunner().invoke(app, ["--home", ".demo-home"])
    assert result.exit_code == 0, result.output
    assert sorted(result.output.split()) == ["implementer", "main", "researcher", "reviewer"]


# ------------------------------------------------------------------ links and paths


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(page: Path) -> None:
    """Files and headings that a page links to are there."""
    wrong = []
    for link in re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
        name, _, anchor = link.partition("#")
        if "://" in name:
            continue
        target = page.parent / name if name else page
        if not target.exists():
            wrong.append(link)
        elif anchor:
            headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            wrong += [] if anchor in map(slug, headings) else [link]
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_file_named_is_there(page: Path) -> None:
    """Files of the repository that a page names exist."""
    named = re.findall(
        r"`((?:a2a_trust|backfill|dashboard|tests|fixtures|benchmarks|docs)/[\w./-]*)`",
        page.read_text(encoding="utf-8"),
    )
    assert [name for name in named if not (ROOT / name).exists()] == []
