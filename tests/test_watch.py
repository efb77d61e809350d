"""`show --watch`: again after each change, until interrupted."""

from pathlib import Path

import pytest
from a2a_trust.dashboard import watch
from boards import NOW, agent_rows, evidence, record

from a2a_trust.errors import NoLedgerError
from a2a_trust.model import Profile

PROFILE = Profile(name="agent")


class Script:
    """Stands for waiting: does one thing after the other, then interrupts."""

    def __init__(self, *steps: object) -> None:
        """Take the steps, callables or `None`."""
        self._steps = list(steps)

    def __call__(self, _: float) -> None:
        """Do the next step instead of waiting."""
        if not self._steps:
            raise KeyboardInterrupt
        step = self._steps.pop(0)
        if callable(step):
            step()


def test_a_home_is_shown_once_for_each_change(tmp_path: Path) -> None:
    """Nothing new, nothing shown."""
    shown: list[int] = []
    record(tmp_path, agent_rows(PROFILE, "+"))
    wait = Script(None, lambda: record(tmp_path, [evidence(PROFILE, 7, good=True, time=NOW + 1)]), None, None)
    with pytest.raises(KeyboardInterrupt):
        watch.follow(tmp_path, lambda: shown.append(1), wait)
    assert len(shown) == 2


def test_a_home_that_is_empty_is_waited_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Who starts watching before the first backfill is told so, and sees it when it comes."""

    def show() -> None:
        if not (tmp_path / "audit.jsonl").exists():
            raise NoLedgerError("nothing is recorded here yet")
        shown.append(1)

    shown: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        watch.follow(tmp_path, show, Script(None, lambda: record(tmp_path, agent_rows(PROFILE, "+")), None))
    assert shown == [1]
    assert "waiting for it" in capsys.readouterr().err
