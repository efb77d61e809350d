"""Which part may import which, what pure code may touch, and what no file of the repository may say."""

import ast
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# Where each package stands in the repository.
FOLDERS = {"a2a_trust.backfill": "backfill", "a2a_trust.dashboard": "dashboard", "a2a_trust": "a2a_trust"}

# A part is a module or a package directly below a2a_trust; `a2a_trust` itself is its `__init__`. Inside a part anything
# may import anything. To the left the part, to the right all that it may import of ours.
RULES = {"model", "errors", "policy", "reputation", "facts"}
FOLDS = RULES | {"amendments", "agents", "refold", "lenses"}
FINDINGS = {"log_state", "findings", "event_fold"}
LIBRARY = FOLDS | FINDINGS | {"attribution", "sources", "store", "text", "wording", "signals"}
# What agents and harnesses are given, and the answers to their hooks.
SIGNALS = {
    "errors", "lenses", "frozen", "signals", "comparison", "advice", "status", "settings", "briefing", "tools", "hooks",
    "hook_install",
}  # fmt: skip
SHELL = LIBRARY | {"a2a_trust", "console", "health", "maintenance"}
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "text": set(),
    "model": set(),
    "facts": {"model", "errors"},
    "log_state": {"model", "facts"},
    "policy": {"model", "errors"},
    "reputation": {"model", "errors", "policy"},
    "amendments": {"model"},
    "agents": RULES | {"amendments"},
    "refold": RULES | {"amendments", "agents"},
    "lenses": RULES | {"amendments", "agents"},
    "findings": RULES | {"amendments", "agents", "log_state"},
    "wording": {"model", "policy"},
    "event_fold": RULES | {"amendments", "agents", "log_state", "findings"},
    "attribution": RULES | FINDINGS | {"amendments", "agents"},
    "sources": RULES,
    "store": FOLDS | {"log_state"},
    "a2a_trust": LIBRARY,
    "frozen": FOLDS | {"store"},
    "signals": FOLDS | {"store", "frozen"},
    "comparison": {"model", "signals"},
    "advice": {"model", "lenses", "signals"},
    "status": {"advice", "signals", "text"},
    "settings": {"advice"},
    "briefing": {"model", "lenses", "advice", "signals"},
    "tools": FOLDS | {"text", "advice", "comparison", "signals"},
    "mcp_server": {"a2a_trust", "errors", "model", "store", "tools"},
    "hooks": {"errors", "briefing", "settings", "signals"},
    "hook_settings": {"errors"},
    "hook_install": {"errors", "store", "hooks", "hook_settings"},
    "plain": {"errors", "store", "text"},
    "quick": SIGNALS | {"plain"},
    "__main__": {"a2a_trust", "plain", "quick", "cli"},
    "console": {"plain", "text"},
    "health": LIBRARY | {"a2a_trust", "console"},
    "maintenance": LIBRARY | {"console"},
    "amend_cli": LIBRARY | {"console"},
    "signals_cli": SIGNALS | {"console", "quick", "mcp_server"},
    "cli": SHELL | {"amend_cli", "signals_cli", "plain"},
    "backfill": SHELL | {"amend_cli", "plain"},
    "testing": LIBRARY | {"a2a_trust", "backfill"},
    "dashboard": SHELL,
    "jury": SHELL | {"advice"},
}

# Everything outside our own code that a pure part may import: nothing here reads, writes, waits or asks the time.
PURE = FOLDS | FINDINGS | {"attribution", "text", "wording", "advice", "comparison", "status", "hook_settings"}
PURE_IMPORTS = {
    "__future__", "abc", "array", "bisect", "collections", "collections.abc", "dataclasses", "datetime", "difflib",
    "enum", "functools", "hashlib", "heapq", "itertools", "math", "msgspec", "operator", "re", "shlex", "string",
    "types", "typing", "unicodedata",
}  # fmt: skip
# A policy is also a file that somebody wrote.
PURE_IMPORTS_OF = {"policy": {"json", "os", "pathlib", "tomllib"}, "hook_settings": {"json"}}
IMPURE_CALLS = {"open", "print", "input", "eval", "exec", "__import__"}

# Folders that so many texts name that finding one says nothing about this machine; /home/dev is that of the fixtures.
COMMON_FOLDERS = {"/", "/home", "/home/dev", "/mnt", "/opt", "/src", "/srv", "/usr", "/var", tempfile.gettempdir()}


def modules() -> dict[str, Path]:
    """Every module that ships, by its dotted name."""
    found = {}
    for package, folder in FOLDERS.items():
        for path in (ROOT / folder).rglob("*.py"):
            inner = path.relative_to(ROOT / folder).with_suffix("").parts
            found[".".join((package, *inner)).removesuffix(".__init__")] = path
    return dict(sorted(found.items()))


MODULES = modules()


def part_of(name: str) -> str:
    """The part that a dotted name of ours belongs to."""
    return name.split(".")[1] if "." in name else name


def imports(name: str, path: Path) -> Iterator[tuple[int, str]]:
    """Line and absolute dotted name of everything that a module imports, wherever in it the import stands."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), filename=str(path))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                # `from package import module` names a module, `from module import thing` does not.
                yield node.lineno, f"{base}.{alias.name}" if f"{base}.{alias.name}" in MODULES else base
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            yield from (
                (node.lineno, argument.value)
                for argument in node.args[:1]
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
            )


def place(path: Path, line: int) -> str:
    """A place in a file as editors understand it."""
    return f"{path.relative_to(ROOT)}:{line}"


def test_every_part_has_its_rule() -> None:
    """A part that is new, or gone, is added to or taken from the table above."""
    assert {part_of(name) for name in MODULES} == set(MAY_IMPORT), "bring MAY_IMPORT in tests/test_house.py up to date"


@pytest.mark.parametrize("part", MAY_IMPORT)
def test_imports_point_downwards(part: str) -> None:
    """A part imports only the parts that the table allows it."""
    allowed = MAY_IMPORT[part] | {part}
    wrong = [
        f"{place(path, line)} imports {target}"
        for name, path in MODULES.items()
        if part_of(name) == part
        for line, target in imports(name, path)
        if target.split(".")[0] in {"a2a_trust", "backfill", "dashboard"}
        # By their folder names they would be somebody else's packages as soon as we are installed.
        and (not target.startswith("a2a_trust") or part_of(target) not in allowed)
    ]
    assert wrong == [], f"{part} may import {sorted(allowed)}"


@pytest.mark.parametrize("part", sorted(PURE))
def test_pure_code_imports_nothing_that_does_io(part: str) -> None:
    """Pure parts import only what neither reads, writes, waits nor asks the time."""
    allowed = PURE_IMPORTS | PURE_IMPORTS_OF.get(part, set())
    wrong = [
        f"{place(path, line)} imports {target}"
        for name, path in MODULES.items()
        if part_of(name) == part
        for line, target in imports(name, path)
        if target.split(".")[0] != "a2a_trust" and target not in allowed
    ]
    assert wrong == [], "a module that does no I/O at all may be added to PURE_IMPORTS in tests/test_house.py"


@pytest.mark.parametrize("part", sorted(PURE))
def test_pure_code_calls_nothing_that_does_io(part: str) -> None:
    """Pure parts neither open nor print, whatever they import."""
    wrong = [
        f"{place(path, node.lineno)} calls {node.func.id}"
        for name, path in MODULES.items()
        if part_of(name) == part
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in IMPURE_CALLS
        and not (part == "policy" and node.func.id == "open")
    ]
    assert wrong == []


def test_no_file_names_the_machine_it_was_made_on() -> None:
    """Neither the folder of this checkout, nor the one above it, nor the user's home stands in any file."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607 git is found on PATH
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    folders = {str(folder) for folder in (ROOT, ROOT.parent, Path.home())} - COMMON_FOLDERS
    # What merely begins or ends like one of them is another path.
    named = [re.compile(rb"(?<![\w.-])" + re.escape(folder.encode()) + rb"(?![\w-])") for folder in folders]
    wrong = {
        f"{name} names {match.group().decode()}"
        for name in listed.stdout.decode().split("\0")
        if (ROOT / name).is_file()
        for machine in named
        for match in machine.finditer((ROOT / name).read_bytes())
    }
    assert wrong == set()
