"""Logs of juries that somebody edited and chained anew: what the engine finds, and that nobody sees a traceback."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
import zstandard
from jury_runs import log_of

from a2a_trust.errors import JuryLogError
from a2a_trust.jury import engine
from a2a_trust.jury.empanel import fingerprints
from a2a_trust.sources.jury_events import (
    LOG_NAME,
    NO_HASH,
    Actor,
    Event,
    Limits,
    Preset,
    Rule,
    RunOpened,
    Trust,
    line_of,
)

if TYPE_CHECKING:
    from pathlib import Path

PRESETS: list[Preset] = ["tribunal", "panel", "judges"]
EDITS: dict[str, Any] = {
    "seed": 8, "rounds": 3, "order": "reverse", "case": "1" * 64, "limits": Limits(max_attempts=1), "version": "0",
    "rule": Rule(kind="unanimous"), "trust": Trust(mode="all"), "conditions": ("mesh", "solo"), "control": "1" * 64,
    "hearing": "1" * 64, "key": "run/1",
}  # fmt: skip
IMPOSSIBLE: dict[str, Any] = {
    "cast": [], "rounds": -1, "rule": Rule(kind="majority", quorum=(1, 0)), "traces": 3,
    "material": {"preset": "tribunal"}, "preset": "tribunal",
}  # fmt: skip
POSSIBLE = {("tribunal", "preset"), ("judges", "material")}
"""A tribunal is its own preset, and judges need no material."""


def forge(folder: Path, log: list[Event], changes: dict[str, Any], *, consistent: bool = False) -> None:
    """Chain a log anew whose first event was changed; `consistent` has the fingerprints that go with the change."""
    first = log[0]
    assert isinstance(first, RunOpened)
    first = msgspec.structs.replace(first, **changes)
    if consistent:
        first.control, first.hearing = fingerprints(first)
    lines, before = [], NO_HASH
    for event in (first, *log[1:]):
        line, before = line_of(event, before)
        lines.append(line)
    folder.mkdir()
    (folder / LOG_NAME).write_bytes(zstandard.ZstdCompressor().compress(b"".join(lines)))


@pytest.mark.parametrize("preset", PRESETS)
def test_what_a_run_says_of_itself_follows_from_itself(tmp_path: Path, preset: Preset) -> None:
    """Its fingerprints are numbers like all others: they are computed again, and every field that they cover with them.

    The seat of a judge, its provider and its model are among them.
    """
    log = log_of(tmp_path / "run", preset)
    assert isinstance(log[0], RunOpened)
    cast = [msgspec.structs.replace(actor, model="another") for actor in log[0].cast]
    for name, value in (EDITS | {"cast": cast}).items():
        forge(tmp_path / name, log, {name: value})
        with pytest.raises(JuryLogError, match=r"line 1: `(control|hearing|key)`"):
            engine.replay(tmp_path / name)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_run_that_nobody_can_have_held_is_told_in_one_line(tmp_path: Path, preset: Preset) -> None:
    """A log is data from a stranger, also one that fits together."""
    options = {"condition": "star"} if preset == "tribunal" else {}
    log = log_of(tmp_path / "run", preset, **options)
    forge(tmp_path / "same", log, {}, consistent=True)
    assert engine.replay(tmp_path / "same") is not None
    for name, value in IMPOSSIBLE.items():
        if (preset, name) in POSSIBLE:
            continue
        forge(tmp_path / name, log, {name: value}, consistent=True)
        with pytest.raises(JuryLogError) as refused:
            engine.replay(tmp_path / name)
        assert "\n" not in str(refused.value)


def test_a_seat_that_is_not_there_is_told_in_one_line(tmp_path: Path) -> None:
    """Whoever answers must take part."""
    log = log_of(tmp_path / "run", "tribunal", condition="star")
    assert isinstance(log[0], RunOpened)
    cast: list[Actor] = [msgspec.structs.replace(actor, id=f"{actor.id}-1") for actor in log[0].cast]
    forge(tmp_path / "forged", log, {"cast": cast}, consistent=True)
    with pytest.raises(JuryLogError, match="cannot be walked through"):
        engine.replay(tmp_path / "forged")
