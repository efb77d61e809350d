"""The views of a log: computed again at any time, written whole or not at all, and any change of one found."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest
from jurylogs import judges, tribunal

from a2a_trust.errors import RunFolderError
from a2a_trust.jury import views
from a2a_trust.jury.views import NAMES, Views, write_all

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a run, with its views."""
    judges().write(tmp_path)
    write_all(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", NAMES)
def test_a_view_that_was_deleted_comes_back_the_same(folder: Path, name: str) -> None:
    """Byte for byte: nothing but the log decides what stands in it."""
    before = (folder / name).read_bytes()
    (folder / name).unlink()
    (difference,) = [found for one in NAMES if (found := Views(folder).difference(one))]
    assert str(difference) == f"{name}: found no such file, expected one"
    Views(folder).write(name)
    assert (folder / name).read_bytes() == before


@pytest.mark.parametrize(
    ("name", "field", "change"),
    [
        ("result.json", "$.items[2].conditions[0].tally.accept", ('"accept":1', '"accept":2')),
        ("result.json", "$.run.seed", ('"seed": 7', '"seed": 8')),
        (
            "summary.json",
            "$.falseAccepts.count",
            ('"count": 1,\n    "first": [\n      "t4"', '"count": 0,\n"first":["t4"'),
        ),
        ("summary.json", "$.title", ('"title": "A made run",\n', "")),
        ("transcript.md", "line 1", ("A made run", "Another run")),
        ("report.html", "line 8", ("A made run", "Another run")),
    ],
)
def test_a_change_of_a_view_is_named(folder: Path, name: str, field: str, change: tuple[str, str]) -> None:
    """The difference says which field or line it is, what stands there and what should."""
    path = folder / name
    text = path.read_text(encoding="utf-8")
    assert change[0] in text
    path.write_text(text.replace(*change, 1), encoding="utf-8")
    difference = Views(folder).difference(name)
    assert difference is not None
    assert (difference.file, difference.place) == (name, field)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps other rights")
def test_views_are_as_private_as_their_log(folder: Path) -> None:
    """They hold the same texts."""
    assert {(folder / name).stat().st_mode & 0o777 for name in NAMES} == {0o600}


def test_white_space_alone_is_a_difference(folder: Path) -> None:
    """A file that says the same in other bytes is still another file."""
    path = folder / "summary.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8"))), encoding="utf-8")
    assert Views(folder).difference("summary.json") is not None
    path.write_bytes(b"".join(Views(folder).chunks("summary.json")) + b"\n")
    assert Views(folder).difference("summary.json") is not None


def test_what_is_no_json_is_a_difference(folder: Path) -> None:
    """A view may hold anything by the time it is looked at."""
    (folder / "result.json").write_bytes(b"\xff\x00{")
    difference = Views(folder).difference("result.json")
    assert difference is not None
    assert difference.place == "the whole file"


def test_a_view_that_fails_leaves_the_one_before(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writing is whole or not at all."""
    before = (folder / "transcript.md").read_bytes()

    def torn(*_: object):  # noqa: ANN202 - a piece of a view
        yield b"half"
        raise OSError("no space")

    monkeypatch.setattr(views.transcript, "chunks", torn)
    with pytest.raises(OSError, match="no space"):
        Views(folder).write("transcript.md")
    assert (folder / "transcript.md").read_bytes() == before
    assert sorted(path.name for path in folder.iterdir()) == sorted((*NAMES, "jury.jsonl.zst", "jury.lock"))


def test_a_folder_without_a_log_is_refused(tmp_path: Path) -> None:
    """There is nothing that views could be computed from."""
    with pytest.raises(RunFolderError, match=r"jury\.jsonl\.zst"):
        Views(tmp_path)


def test_views_of_a_run_are_a_function_of_its_log(tmp_path: Path) -> None:
    """Two folders with the same log hold the same views."""
    for name in ("a", "b"):
        write_all(tribunal().write(tmp_path / name))
    for name in NAMES:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
