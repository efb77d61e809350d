"""The log of a run: durable, chained, gone on with after a kill at any byte, and no edit of it unseen."""

from __future__ import annotations

import errno
import io
import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import zstandard
from homes import scratch
from hypothesis import given
from hypothesis import strategies as st
from juries import ended, opened, sealed

from a2a_trust.errors import JuryLogError, ResolutionError, RunFolderError
from a2a_trust.jury.journal import DivergedError, Journal, LogEndError, append, read_events, read_lines
from a2a_trust.jury.run_folder import LOCK_NAME
from a2a_trust.sources.jury_events import LOG_NAME, QuorumMissed, Resolved, line_of
from a2a_trust.sources.zstd_frames import MAGIC
from a2a_trust.store import files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from a2a_trust.sources.jury_events import Event

ITEMS = 6


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a finished run of a few events, in several frames."""
    walk(Journal.create(tmp_path / "run", opened(), clock=count(10).__next__))
    return tmp_path / "run"


def walk(journal: Journal, items: int = ITEMS, kill_at: int | None = None) -> list[Event]:
    """Walk through a run, syncing at every other event; close what is written also where the walk is killed."""
    with journal:
        found = []
        for number in range(items):
            if number == kill_at:
                raise Killed
            found.append(journal.put(sealed(f"t{number}")))
            if number % 2:
                journal.sync()
        found.append(journal.put(ended(journal.epoch)))
        if journal.replaying:
            journal.finish()
        return found


class Killed(Exception):  # noqa: N818 - what happens to a process
    """The process ends here."""


def lines_of(folder: Path) -> list[bytes]:
    """The lines of a log as they stand."""
    with zstandard.ZstdDecompressor().stream_reader(
        io.BytesIO((folder / LOG_NAME).read_bytes()), read_across_frames=True
    ) as reader:
        return reader.read().splitlines(keepends=True)


def rewrite(folder: Path, lines: Iterable[bytes]) -> None:
    """Write lines as a log whose frames are sound."""
    compressor = zstandard.ZstdCompressor(write_checksum=True)
    (folder / LOG_NAME).write_bytes(b"".join(compressor.compress(line) for line in lines))


def keys(folder: Path) -> list[str]:
    """The keys of a log."""
    return [event.key for event in read_events(folder)]


def test_what_was_put_is_read_again(folder: Path) -> None:
    """In order, chained, each with the time at which it was put."""
    found = list(read_lines(folder))
    assert [event.key for _, event in found] == ["run", *(f"seal/t{n}/j1" for n in range(ITEMS)), "ended/0"]
    assert [event.time for _, event in found] == list(range(10, 10 + ITEMS + 2))
    assert list(read_lines(folder / LOG_NAME)) == found


def test_a_log_can_be_walked_through_again(folder: Path) -> None:
    """A replay finds every event, writes nothing, locks nothing."""
    (folder / LOCK_NAME).unlink(missing_ok=True)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    found = walk(Journal.replay(folder))
    assert [event.time for event in found] == list(range(11, 11 + ITEMS + 1))
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_what_was_synced_is_in_the_file(tmp_path: Path) -> None:
    """Without anybody closing anything."""
    journal = Journal.create(tmp_path / "run", opened())
    assert keys(tmp_path / "run") == ["run"]
    journal.put(sealed("t0"))
    journal.sync()
    assert keys(tmp_path / "run") == ["run", "seal/t0/j1"]
    journal.close()


def test_what_was_not_synced_is_in_the_file_soon(tmp_path: Path) -> None:
    """A thread of the log's own writes it, though the walk waits for something else."""
    with Journal.create(tmp_path / "run", opened()) as journal:
        journal.put(sealed("t0"))
        until = time.monotonic() + 30
        while len(keys(tmp_path / "run")) < 2 and time.monotonic() < until:
            time.sleep(0.01)
        assert keys(tmp_path / "run") == ["run", "seal/t0/j1"]


def test_events_that_belong_together_stand_in_one_frame(tmp_path: Path) -> None:
    """A frame is whole or not there: so are they."""
    with Journal.create(tmp_path / "run", opened()) as journal:
        size = (tmp_path / "run" / LOG_NAME).stat().st_size
        journal.put_all([sealed(f"t{n}") for n in range(ITEMS)])
        journal.sync()
        frame = (tmp_path / "run" / LOG_NAME).read_bytes()[size:]
    assert frame.count(MAGIC) == 1
    with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(frame)) as reader:
        assert len(reader.read().splitlines()) == ITEMS


def test_time_never_runs_backwards(tmp_path: Path) -> None:
    """A clock that is set back does not take the log along, nor does one that is behind when a run is resumed."""
    with Journal.create(tmp_path / "run", opened(), clock=iter([9, 5, 7, 12]).__next__) as journal:
        for number in range(3):
            journal.put(sealed(f"t{number}"))
    with Journal.resume(tmp_path / "run", clock=lambda: 3):
        pass
    assert [event.time for event in read_events(tmp_path / "run")] == [9, 9, 9, 12, 12]


@pytest.mark.parametrize("kill_at", range(ITEMS))
def test_a_killed_run_is_gone_on_with(kill_at: int, tmp_path: Path) -> None:
    """What stands in the log is not written again; the rest follows in the next epoch."""
    with pytest.raises(Killed):
        walk(Journal.create(tmp_path / "run", opened()), kill_at=kill_at)
    journal = Journal.resume(tmp_path / "run")
    assert (journal.epoch, journal.recovery) == (1, None)
    walk(journal)
    found = keys(tmp_path / "run")
    assert sorted(found) == sorted(["run", *(f"seal/t{n}/j1" for n in range(ITEMS)), "resumed/1", "ended/1"])
    assert found[kill_at + 1] == "resumed/1"
    walk(Journal.replay(tmp_path / "run"))


@pytest.mark.usefixtures("no_waiting")
def test_a_run_is_gone_on_with_from_a_log_that_was_cut_at_any_byte(folder: Path) -> None:
    """Whole frames are kept, what is torn is set aside byte for byte and told, and the run ends as it would have."""
    whole, full = (folder / LOG_NAME).read_bytes(), keys(folder)
    first, kept = whole.index(MAGIC, 1), set()
    for size in range(len(whole)):
        with scratch() as place:
            run = Path(place)
            (run / LOG_NAME).write_bytes(whole[:size])
            if size < first:
                with pytest.raises(RunFolderError, match="no whole line"):
                    Journal.resume(run)
                walk(Journal.create(run, opened()))
                assert keys(run) == full
                continue
            journal = Journal.resume(run)
            torn = whole[:size][journal.recovery.offset :] if journal.recovery else b""
            if journal.recovery:
                assert journal.recovery.bytes == len(torn) > 0
                assert journal.recovery.path.read_bytes() == torn
            walk(journal)
            found = keys(run)
            assert sorted(set(found) - {"resumed/1", "ended/1"}) == sorted(set(full) - {"ended/0"})
            kept.add(found.index("resumed/1"))
            walk(Journal.replay(run))
    assert len(kept) > 2


def test_a_torn_end_is_told_where_a_log_is_only_read(folder: Path) -> None:
    """Nothing is cut by looking; the line and what to do are named."""
    whole = (folder / LOG_NAME).read_bytes()
    (folder / LOG_NAME).write_bytes(whole[:-3])
    for read in (lambda: list(read_events(folder)), lambda: Journal.replay(folder)):
        with pytest.raises(JuryLogError, match=r"line \d+: \d+ bytes from byte \d+ on are no whole line.*--resume"):
            read()
    (folder / LOG_NAME).write_bytes(whole + b"\x28\xb5")
    with pytest.raises(JuryLogError, match=f"line {ITEMS + 3}: 2 bytes.*restore"):
        Journal.replay(folder)


def swap(lines: list[bytes], at: int) -> list[bytes]:
    """The lines with one moved behind the next."""
    return [*lines[:at], lines[at + 1], lines[at], *lines[at + 2 :]]


EDITS: dict[str, tuple[int, Callable[[list[bytes]], list[bytes]]]] = {
    "a value": (3, lambda lines: [*lines[:2], lines[2].replace(b"t1", b"tX"), *lines[3:]]),
    "a hash": (3, lambda lines: [*lines[:2], lines[2].replace(b'"hash":"', b'"hash":"0', 1), *lines[3:]]),
    "a space": (3, lambda lines: [*lines[:2], lines[2].replace(b'{"hash"', b'{ "hash"'), *lines[3:]]),
    "a key beside the event": (3, lambda lines: [*lines[:2], lines[2].replace(b"}\n", b',"x":1}\n'), *lines[3:]]),
    "removed": (3, lambda lines: [*lines[:2], *lines[3:]]),
    "moved": (3, lambda lines: swap(lines, 2)),
    "repeated": (4, lambda lines: [*lines[:3], *lines[2:]]),
    "no event": (3, lambda lines: [*lines[:2], b"{}\n", *lines[3:]]),
    "empty": (3, lambda lines: [*lines[:2], b"\n", *lines[3:]]),
    "the first removed": (1, lambda lines: lines[1:]),
    "the first repeated": (2, lambda lines: [lines[0], *lines]),
    "the end of its line": (3, lambda lines: [*lines[:2], lines[2][:-1]]),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_line_is_found_and_named(edit: str, folder: Path) -> None:
    """Whoever reads the log is told the line and the file, whatever frames it stands in."""
    number, change = EDITS[edit]
    rewrite(folder, change(lines_of(folder)))
    reads = (lambda: list(read_lines(folder)), lambda: Journal.replay(folder), lambda: Journal.resume(folder))
    for read in reads:
        with pytest.raises(JuryLogError) as caught:
            read()
        assert f"line {number}:" in str(caught.value)
        assert str(folder / LOG_NAME) in str(caught.value)


def test_a_line_of_another_run_is_found(folder: Path, tmp_path: Path) -> None:
    """It does not follow from the lines of this one, though it is sound where it comes from."""
    walk(Journal.create(tmp_path / "other", opened(run="r2"), clock=count(10).__next__))
    lines, others = lines_of(folder), lines_of(tmp_path / "other")
    rewrite(folder, [*lines[:3], others[3], *lines[4:]])
    with pytest.raises(JuryLogError, match="line 4: its hash does not follow"):
        list(read_events(folder))


@pytest.mark.usefixtures("no_waiting")
@given(st.integers(0, 10**9))
def test_no_flipped_bit_changes_what_is_read(at: int) -> None:
    """It is found, or it stands where it means nothing."""
    with scratch() as place:
        run = Path(place) / "run"
        walk(Journal.create(run, opened()))
        whole, before = bytearray((run / LOG_NAME).read_bytes()), list(read_lines(run))
        whole[at // 8 % len(whole)] ^= 1 << at % 8
        (run / LOG_NAME).write_bytes(whole)
        try:
            found = list(read_lines(run))
        except JuryLogError:
            return
        assert found == before


def chained_lines(events: Iterable[Event]) -> list[bytes]:
    """Lines of events, chained anew: what somebody writes who knows the format."""
    lines, before = [], "0" * 64
    for event in events:
        line, before = line_of(event, before)
        lines.append(line)
    return lines


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (lambda events: events[:3] + events[4:], "expected 'seal/t2/j1'"),
        (lambda events: [*events[:3], sealed("t9"), *events[3:]], "line 4: the run gives no 'seal/t9/j1'"),
        (lambda events: [*events[:3], sealed("t1"), *events[3:]], "'seal/t1/j1'"),
        (lambda events: [*events[:3], sealed("t2"), sealed("t2"), *events[3:]], "stands above as well|gives no"),
    ],
)
def test_a_replay_finds_what_the_run_does_not_give(
    edit: Callable[[list[Event]], list[Event]], told: str, folder: Path
) -> None:
    """A log that is chained anew after an edit is sound as a log; its run does not give it."""
    events = edit(list(read_events(folder)))
    for event in events:
        event.time = 10
    rewrite(folder, chained_lines(events))
    with pytest.raises(DivergedError, match=told):
        walk(Journal.replay(folder))


def test_a_replay_and_a_resumed_run_find_another_value(folder: Path, tmp_path: Path) -> None:
    """The field is named; time is the one thing that may differ."""
    other = sealed("t0")
    other.commitment = "e" * 64
    with pytest.raises(DivergedError, match=r"line 2: commitment of 'seal/t0/j1'"):
        Journal.replay(folder).put(other)
    with Journal.create(tmp_path / "new", opened()) as journal:
        journal.put(sealed("t0"))
    with Journal.resume(tmp_path / "new") as journal, pytest.raises(DivergedError, match="commitment"):
        journal.put(other)
    with pytest.raises(DivergedError, match="line 1: seed of 'run'"):
        Journal.replay(folder).put(opened(seed=8))
    Journal.replay(folder).put(opened())


def test_a_replay_of_an_unfinished_run_says_where_the_log_ends(tmp_path: Path) -> None:
    """That is no divergence: there is nothing more to compare."""
    with pytest.raises(Killed):
        walk(Journal.create(tmp_path / "run", opened()), kill_at=2)
    with pytest.raises(LogEndError):
        walk(Journal.replay(tmp_path / "run"))


def test_events_are_taken_once_in_any_order_and_only_read_as_far_as_needed(folder: Path) -> None:
    """What was passed over is kept until it is asked for, and nothing behind it is read."""
    journal = Journal.replay(folder)
    assert journal.take_passed("seal/t0/j1") is None
    third = journal.take("seal/t2/j1")
    assert third is not None
    assert len(journal._passed) == 2  # noqa: SLF001 - what it keeps is what this is about
    first = journal.take_first(["seal/t1/j1", "seal/t0/j1"])
    assert first is not None
    assert first.key == "seal/t0/j1"
    second = journal.take_passed("seal/t1/j1")
    assert second is not None
    assert journal.take_passed("seal/t1/j1") is None
    assert len(journal._passed) == 0  # noqa: SLF001 - as above


def test_what_past_epochs_say_of_themselves_is_not_part_of_the_walk(tmp_path: Path) -> None:
    """That a quorum was missed, that the run ended: told by the journal, asked for by nobody."""
    missed = [
        QuorumMissed(key=f"quorum/t1/-/{n}", time=0, item="t1", present=1, needed=2, empanelled=3, epoch=n)
        for n in (0, 1)
    ]
    run = tmp_path / "run"
    with Journal.create(run, opened()) as journal:
        assert journal.missed_quorum("t1", None) == []
        journal.put(missed[0])
        journal.put(ended(0, finished=False))
    with Journal.resume(run) as journal:
        assert (journal.missed_quorum("t1", None), journal.missed_quorum("t1", "solo")) == ([0], [])
        journal.put(missed[1])
        journal.put(ended(1, finished=False))
    replay = Journal.replay(run)
    assert (replay.epoch, replay.finished, replay.missed_quorum("t1", None)) == (1, False, [0])
    replay.put(missed[1])
    replay.put(ended(1, finished=False))
    replay.finish()


def test_one_process_at_a_time_writes(tmp_path: Path) -> None:
    """The second is told who is in its way."""
    with Journal.create(tmp_path / "run", opened()):
        for begin in (lambda: Journal.resume(tmp_path / "run"), lambda: Journal.create(tmp_path / "run", opened())):
            with pytest.raises(RunFolderError, match="another process is writing"):
                begin()
    Journal.resume(tmp_path / "run").close()


def test_a_folder_holds_one_run(folder: Path, tmp_path: Path) -> None:
    """Which run is in it, and what to do, is told; nothing in it changes."""
    before = (folder / LOG_NAME).read_bytes()
    with pytest.raises(RunFolderError, match=r"finished panel run r1 .*aaaaaaaaaaaa.*choose another --output-dir$"):
        Journal.create(folder, opened(control="e" * 64))
    with pytest.raises(RunFolderError, match="r1 is finished; there is nothing to go on with"):
        Journal.resume(folder)
    with pytest.raises(Killed):
        walk(Journal.create(tmp_path / "new", opened()), kill_at=1)
    with pytest.raises(RunFolderError, match=r"unfinished panel run r1.*--resume"):
        Journal.create(tmp_path / "new", opened())
    assert (folder / LOG_NAME).read_bytes() == before


def test_a_folder_of_other_things_is_left_alone(tmp_path: Path) -> None:
    """A run does not mix with anything, and leaves no lock where it may not be."""
    for name in ("a.txt", "b.txt", "c.txt", "d.txt"):
        (tmp_path / name).touch()
    with pytest.raises(RunFolderError, match=r"holds a.txt, b.txt, c.txt and 1 more.*empty folder"):
        Journal.create(tmp_path, opened())
    assert len(list(tmp_path.iterdir())) == 4
    with pytest.raises(RunFolderError, match="expected"):
        Journal.create(tmp_path / "a.txt", opened())


def test_no_run_is_told_as_such(tmp_path: Path) -> None:
    """Nothing is made by looking for one."""
    looks = (
        lambda: list(read_events(tmp_path)),
        lambda: Journal.replay(tmp_path / "none"),
        lambda: Journal.resume(tmp_path / "none"),
        lambda: append(tmp_path / "none", resolution()),
    )
    for look in looks:
        with pytest.raises(RunFolderError, match="not there; expected"):
            look()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("call", ["write", "sync"])
def test_after_a_failed_write_nothing_is_written_any_more(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The walk is told at its next step; when the disk has room again, the run is gone on with."""
    run = tmp_path / "run"
    journal = Journal.create(run, opened())

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(files.system, call, full)
        journal.put(sealed("t0"))
        with pytest.raises(JuryLogError, match=r"No space left on device.*--resume"):
            journal.sync()
    size = (run / LOG_NAME).stat().st_size
    with pytest.raises(JuryLogError, match="No space left"):
        journal.put(sealed("t1"))
    with pytest.raises(JuryLogError, match="No space left"):
        journal.close()
    assert (run / LOG_NAME).stat().st_size == size
    walk(Journal.resume(run))
    walk(Journal.replay(run))


def test_half_a_frame_that_a_full_disk_took_is_set_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A write that was cut is behind the last whole line, and the lines before it are there."""
    run = tmp_path / "run"
    journal = Journal.create(run, opened())
    real, calls = files.system.write, count()

    def cut(descriptor: int, data: memoryview) -> int:
        if next(calls):
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(descriptor, data[:20])

    with monkeypatch.context() as broken:
        broken.setattr(files.system, "write", cut)
        journal.put(sealed("t0"))
        with pytest.raises(JuryLogError):
            journal.close()
    with Journal.resume(run) as journal:
        assert journal.recovery is not None
        assert journal.recovery.bytes == 20
        assert "20 bytes from byte" in caplog.text
        assert journal.recovery.path.name in caplog.text
    assert keys(run) == ["run", "resumed/1"]


def resolution(item: str = "t1") -> Resolved:
    """A person's decision."""
    return Resolved(key=f"resolution/{item}", time=0, item=item, case="c" * 64, decision="yes", resolver="R", note="N")


def test_a_resolution_is_added_to_a_finished_run_once(folder: Path, tmp_path: Path) -> None:
    """Behind its last line, chained to it, and outside the walk."""
    append(folder, resolution(), clock=lambda: 5)
    append(folder, resolution("t2"))
    with pytest.raises(ResolutionError, match="'t1' was resolved before"):
        append(folder, resolution())
    found = list(read_events(folder))
    assert [event.key for event in found[-2:]] == ["resolution/t1", "resolution/t2"]
    assert found[-2].time == found[-3].time
    walk(Journal.replay(folder))
    with pytest.raises(Killed):
        walk(Journal.create(tmp_path / "new", opened()), kill_at=1)
    with pytest.raises(RunFolderError, match="not finished"):
        append(tmp_path / "new", resolution())


def test_a_resolution_is_not_added_to_a_log_that_was_edited(folder: Path) -> None:
    """It would be built on sand."""
    rewrite(folder, lines_of(folder)[1:])
    with pytest.raises(JuryLogError, match="line 1"):
        append(folder, resolution())
