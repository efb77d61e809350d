"""What is installed is ours: from a wheel, from a source distribution and as an editable install, without a network."""

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parent.parent
# Where each top-level folder that ships stands in a wheel.
SHIPPED = {"a2a_trust": "a2a_trust", "backfill": "a2a_trust/backfill", "dashboard": "a2a_trust/dashboard"}
BUILD_FILES = ("pyproject.toml", "README.md", "LICENSE", "MANIFEST.in")
LEFTOVERS = shutil.ignore_patterns("__pycache__", "*.pyc")

HOSTILE_PYPROJECT = """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[project]
name = "hostile"
version = "1.0"
[tool.setuptools]
packages = ["backfill", "dashboard"]
"""
HOSTILE_MODULE = 'raise RuntimeError("hostile code ran")\n'

WHERE = """
import a2a_trust.backfill, a2a_trust.dashboard
print(a2a_trust.backfill.__file__)
print(a2a_trust.dashboard.__file__)
"""
ENTRY_POINTS = """
from importlib.metadata import entry_points
for group in ("console_scripts", "a2a_trust.commands", "a2a_trust.sources"):
    for entry_point in entry_points(group=group):
        if entry_point.value.startswith("a2a_trust."):
            entry_point.load()
            print(group, entry_point.name)
"""


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a program away from the checkout, so that only what is installed can be imported."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def output(*command: str | Path, cwd: Path) -> str:
    """What a program printed; the test fails if the program does."""
    done = run(*command, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def pip(*arguments: str | Path, cwd: Path) -> None:
    """Run pip without a network and without anything but what is given."""
    output(sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments, cwd=cwd)


def build_wheel(source: Path, folder: Path) -> Path:
    """Build a wheel from a source folder or archive with what this environment holds."""
    pip("wheel", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", folder, source, cwd=folder)
    (wheel,) = folder.glob("*.whl")
    return wheel


def names_in(wheel: Path) -> set[str]:
    """The names of all files in a wheel, but for its metadata."""
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if not PurePosixPath(name).parts[0].endswith(".dist-info")}


def make_hostile(folder: Path) -> Path:
    """Write a distribution whose top-level packages are called like our folders and fail when imported."""
    for package in ("backfill", "dashboard"):
        (folder / package).mkdir(parents=True)
        (folder / package / "__init__.py").write_text(HOSTILE_MODULE, encoding="utf-8")
    (folder / "pyproject.toml").write_text(HOSTILE_PYPROJECT, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what ships: a build leaves folders behind, and what an earlier one left would end up in the next."""
    copy = tmp_path_factory.mktemp("source")
    for name in BUILD_FILES:
        shutil.copy(ROOT / name, copy)
    for folder in SHIPPED:
        shutil.copytree(ROOT / folder, copy / folder, ignore=LEFTOVERS)
    return copy


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    return build_wheel(source, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with our wheel, the hostile one, and the dependencies of this environment."""
    folder = tmp_path_factory.mktemp("environment")
    output(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder)
    hostile = build_wheel(make_hostile(folder / "hostile-source"), tmp_path_factory.mktemp("hostile"))
    pip("--python", folder, "install", "--no-deps", "--no-index", wheel, hostile, cwd=folder)
    # A path in a .pth file makes packages importable but runs no .pth file there, so not that of our editable install.
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return folder


def test_a_wheel_holds_exactly_what_ships(source: Path, wheel: Path) -> None:
    """Every file of the three folders is in the wheel, in our namespace, and nothing else is."""
    expected = {
        f"{target}/{path.relative_to(source / folder).as_posix()}"
        for folder, target in SHIPPED.items()
        for path in (source / folder).rglob("*")
        if path.is_file()
    }
    assert names_in(wheel) == expected, "new packages and data files are named in [tool.setuptools] of pyproject.toml"
    assert {PurePosixPath(name).parts[0] for name in names_in(wheel)} == {"a2a_trust"}
    assert "a2a_trust/py.typed" in expected


def test_the_hostile_distribution_is_really_in_the_way(environment: Path) -> None:
    """The names of our folders, taken alone, lead to the hostile packages."""
    for package in ("backfill", "dashboard"):
        done = run(environment / "bin/python", "-c", f"import {package}", cwd=environment)
        assert "hostile code ran" in done.stderr


def test_a_wheel_imports_its_own_packages(environment: Path) -> None:
    """Beside a hostile distribution our backfill and dashboard are those of the wheel."""
    (packages,) = environment.glob("lib/python*/site-packages")
    expected = [str(packages / "a2a_trust" / name / "__init__.py") for name in ("backfill", "dashboard")]
    assert output(environment / "bin/python", "-c", WHERE, cwd=environment).splitlines() == expected


@pytest.mark.parametrize("arguments", [["--help"], ["backfill", "--help"], ["show", "--help"]])
def test_the_installed_command_runs_our_plugins(environment: Path, arguments: list[str]) -> None:
    """Beside a hostile distribution the command and its plugins start."""
    assert "Usage:" in output(environment / "bin/a2a-trust", *arguments, cwd=environment)


@pytest.mark.parametrize("case", ["cold-store", "night-desk", "trajectories"])
def test_an_installed_wheel_hears_the_cases_that_come_with_it(environment: Path, tmp_path: Path, case: str) -> None:
    """They, the page's template and its style are in it; what a run leaves is whole."""
    places = ("--output-dir", "out", "--home", "home")
    done = run(environment / "bin/a2a-trust", "jury", "run", case, "--quiet", *places, cwd=tmp_path)
    assert "report.html shows it" in done.stdout, done.stderr
    output(environment / "bin/a2a-trust", "jury", "check", "out", cwd=tmp_path)


def test_an_installed_wheel_offers_its_entry_points(environment: Path) -> None:
    """The command, its plugins and the log formats are found, and load."""
    found = output(environment / "bin/python", "-c", ENTRY_POINTS, cwd=environment).splitlines()
    expected = {"console_scripts a2a-trust", "a2a_trust.commands backfill", "a2a_trust.commands dashboard"}
    assert expected | {"a2a_trust.sources dsh"} <= set(found)
    assert len(found) == len(set(found))


def test_an_editable_install_imports_the_checkout(tmp_path: Path) -> None:
    """In the environment of the tests our packages are the folders of the repository, wherever Python starts."""
    make_hostile(tmp_path)
    expected = [str(ROOT / name / "__init__.py") for name in ("backfill", "dashboard")]
    assert output(sys.executable, "-c", WHERE, cwd=tmp_path).splitlines() == expected


def test_an_editable_install_offers_its_entry_points(tmp_path: Path) -> None:
    """In the environment of the tests, too, the command, its plugins and the log formats are found, and load."""
    make_hostile(tmp_path)
    found = output(sys.executable, "-c", ENTRY_POINTS, cwd=tmp_path).splitlines()
    assert {"a2a_trust.commands backfill", "a2a_trust.commands dashboard", "a2a_trust.sources dsh"} <= set(found)


@pytest.mark.slow
def test_a_source_distribution_builds_the_same_wheel(source: Path, wheel: Path, tmp_path: Path) -> None:
    """The wheel that somebody builds from our source distribution holds the same files as ours."""
    output(sys.executable, "-m", "build", "--no-isolation", "--sdist", "--outdir", tmp_path, source, cwd=tmp_path)
    (archive,) = tmp_path.glob("*.tar.gz")
    assert names_in(build_wheel(archive, tmp_path)) == names_in(wheel)
