"""Checking a run: whatever was changed, removed or added is found, and what is only a view comes back."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jurylogs import write_events

from a2a_trust.errors import JuryLogError, RunFolderError
from a2a_trust.jury import runs
from a2a_trust.jury.check import check
from a2a_trust.jury.journal import read_events
from a2a_trust.jury.progress import Progress
from a2a_trust.jury.views import NAMES
from a2a_trust.sources.jury_events import LOG_NAME, Answered, Cited, FaultCode, OutcomeReached

if TYPE_CHECKING:
    from pathlib import Path

    from a2a_trust.sources.jury_events import Event

pytestmark = pytest.mark.usefixtures("no_waiting")
CASES = ("cold-store", "night-desk", "trajectories")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of each case that comes along."""
    root = tmp_path_factory.mktemp("runs")
    for case in CASES:
        runs.start(runs.Asked(case=case), root / case, root / "home", Progress(0))
    return root


@pytest.fixture
def copied(made: Path, tmp_path: Path) -> Path:
    """A copy of the runs that a test may change."""
    return shutil.copytree(made, tmp_path / "runs")


@pytest.mark.parametrize("case", CASES)
def test_a_run_is_what_its_log_says(made: Path, case: str) -> None:
    """Nothing differs, and the check says what it compared."""
    found = check(made / case)
    assert (found.holds, found.finished, found.differences) == (True, True, ())
    assert len(found.checked) == 3
    assert found.head in found.checked[0]


@pytest.mark.parametrize("case", CASES)
def test_deleted_views_come_back(copied: Path, case: str) -> None:
    """All of them at once, byte for byte; a check without --restore names each and writes nothing."""
    folder = copied / case
    before = {name: (folder / name).read_bytes() for name in NAMES}
    for name in NAMES:
        (folder / name).unlink()
    found = check(folder)
    assert [difference.file for difference in found.differences] == list(NAMES)
    assert not (folder / NAMES[0]).exists()
    assert check(folder, restore=True).restored == NAMES
    assert {name: (folder / name).read_bytes() for name in NAMES} == before
    assert check(folder).holds


@given(st.data())
def test_any_changed_byte_of_the_log_is_found(
    made: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Wherever it is, and whatever it becomes."""
    log = (made / "trajectories" / LOG_NAME).read_bytes()
    place = data.draw(st.integers(0, len(log) - 1))
    other = data.draw(st.integers(1, 255))
    folder = tmp_path_factory.mktemp("changed")
    shutil.copytree(made / "trajectories", folder, dirs_exist_ok=True)
    (folder / LOG_NAME).write_bytes(log[:place] + bytes([log[place] ^ other]) + log[place + 1 :])
    try:
        found = check(folder)
    except (JuryLogError, RunFolderError):
        return
    assert (folder / LOG_NAME).read_bytes() != log
    # A byte of a frame's header may say the same in another way; then every event is still the same.
    assert list(read_events(folder)) == list(read_events(made / "trajectories")), found


def edited(folder: Path, kind: type, change: dict[str, object]) -> None:
    """Change the first event of a kind and chain the log anew, as a forger would."""
    events: list[Event] = list(read_events(folder))
    place = next(number for number, event in enumerate(events) if isinstance(event, kind))
    for name, value in change.items():
        setattr(events[place], name, value)
    write_events(folder, events)


@pytest.mark.parametrize(
    ("case", "kind", "change"),
    [
        ("cold-store", OutcomeReached, {"outcome": "not_liable"}),
        ("cold-store", OutcomeReached, {"tally": {"liable": 0, "not_liable": 1}}),
        ("trajectories", OutcomeReached, {"status": "review"}),
        ("trajectories", Cited, {"status": "mismatch"}),
        ("trajectories", Cited, {"quote": "something else"}),
        ("night-desk", Answered, {"prompt": "0" * 64}),
        ("night-desk", Answered, {"content": msgspec.Raw(b'{"vote":"fair"}')}),
    ],
)
def test_a_log_that_was_chained_anew_is_found(copied: Path, case: str, kind: type, change: dict[str, object]) -> None:
    """A forger who makes all hashes right has still written what the procedure does not give."""
    edited(copied / case, kind, change)
    with pytest.raises(JuryLogError):
        check(copied / case, restore=True)


def test_a_line_that_is_gone_is_found(copied: Path) -> None:
    """The first, the last, or any other, with the chain made right again."""
    folder = copied / "trajectories"
    events = list(read_events(folder))
    for place in (0, 1, len(events) // 2):
        write_events(folder, events[:place] + events[place + 1 :])
        with pytest.raises(JuryLogError):
            check(folder)
    # Without its end it is the log of a run that was cut short: its views say another head.
    write_events(folder, events[:-1])
    found = check(folder)
    assert (found.holds, found.finished) == (False, False)
    assert {difference.file for difference in found.differences} == set(NAMES)
    assert check(folder, head=check(copied / "cold-store").head).differences[0].place == "head"


def test_a_head_that_was_kept_elsewhere_is_held_against_the_log(made: Path) -> None:
    """Whoever keeps a hash finds out that the log is another one; a later line changes nothing."""
    folder = made / "trajectories"
    head = check(folder).head
    assert check(folder, head=head[:16]).holds
    (difference,) = check(folder, head="0" * 64).differences
    assert (difference.file, difference.place) == (LOG_NAME, "head")


@pytest.mark.parametrize("code", get_args(FaultCode))
def test_each_fault_is_counted_under_its_code(tmp_path: Path, code: FaultCode) -> None:
    """A juror that fails in any way loses no run; the numbers tell how it failed, and the check holds."""
    asked = runs.Asked(case="cold-store", condition="star", deadline=0.2, faulty=(f"kofi={code}",))
    found = runs.start(asked, tmp_path / "run", tmp_path / "home", Progress(0))
    assert found.summary.finished
    assert found.summary.faults[code] > 0
    assert {part.actor for part in found.summary.actors if part.faults} == {"kofi"}
    assert (code == "absent") == bool(found.summary.missing.count)
    assert check(tmp_path / "run").holds


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    """There is nothing to check."""
    with pytest.raises(RunFolderError):
        check(tmp_path)
