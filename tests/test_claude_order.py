"""Claude Code: whatever happened, and however its transcripts are cut and ordered, the same agents come out."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from claudehomes import ingest
from claudelog import write
from claudestories import Story
from homes import agents_of, differences, scratch
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True, scope="module")
def no_waiting_for_the_disk() -> Iterator[None]:
    """Power stays on in these tests, and they write a great many homes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda _: None)
        yield


@given(st.integers(0, 10**9))
def test_any_order_and_any_cut_of_any_story_gives_the_same_agents(seed: int) -> None:
    """Files that grow line by line, forks before what they copy, members before their lead, one file at a time."""
    chance = random.Random(seed)  # noqa: S311 - a story for each number
    files = Story(chance).files
    logs = {name: data for name, data in files.items() if isinstance(data, bytes)}
    beside = {name: data for name, data in files.items() if name not in logs}
    with scratch() as folder:
        root = Path(folder)
        write(root / "whole", files)
        ingest(root / "home", root / "whole" / "projects")
        write(root / "growing", beside)
        grown = dict.fromkeys(logs, 0)
        for _ in range(chance.randint(1, 3)):
            for name in chance.sample(sorted(logs), chance.randint(1, len(logs))):
                lines = logs[name].splitlines(keepends=True)
                grown[name] = chance.randint(grown[name], len(lines))
                write(root / "growing", {name: b"".join(lines[: grown[name]])})
            ingest(root / "grown", root / "growing" / "projects")
        for name in chance.sample(sorted(logs), len(logs)):
            write(root / "growing", {name: logs[name]})
            ingest(root / "grown", root / "growing" / name)
        assert differences(agents_of(root / "grown"), agents_of(root / "home")) == []
