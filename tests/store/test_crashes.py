"""The store: what is found again after a crash at any moment, and behind a torn tail."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest
from homes import audit_of, ingest
from storehomes import AUDIT, BACKUP, FOLDER, LEDGER, SLICE, Calls, Killed, call, commit, content, lines_of
from undelayed import NoWaiting

from a2a_trust.errors import HomeError
from a2a_trust.store import TrustStore, files, read_ledger
from a2a_trust.store.snapshot import encode_ledger

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


# ---------------------------------------------------------------------- a crash at any moment


def stop_at(number: int, error: BaseException) -> Callable[[int], None]:
    """Raise just before the call of a number."""

    def before(made: int) -> None:
        if made == number:
            raise error

    return before


class Uninterrupted(NamedTuple):
    """A run that nothing disturbed."""

    calls: int
    content: dict[str, bytes]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Uninterrupted:
    """The run as it should be."""
    place = tmp_path_factory.mktemp("uninterrupted") / "home"
    calls = Calls(place)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "system", calls)
        patch.setattr(SLICE, 30)
        ingest(place, FOLDER)
    return Uninterrupted(len(calls.made), content(place))


class Crash(NamedTuple):
    """A run that was stopped before one of its calls, and the run after it."""

    call: int
    rows: int
    """Whole lines of the log after the crash."""
    rows_read: int
    """Rows on which the ledger stood that was read then."""
    audit: bytes
    """The log after the second run."""
    ledger: bytes


@pytest.fixture(scope="module", params=[Killed(), OSError(5, "Input/output error")], ids=["killed", "failing disk"])
def crashes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, uninterrupted: Uninterrupted
) -> list[Crash]:
    """A crash before every call of the run: of the process, or of the disk."""
    found = []
    for number in range(1, uninterrupted.calls + 1):
        home = tmp_path_factory.mktemp("crash") / "home"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(SLICE, 30)
            patch.setattr(files, "system", Calls(home, stop_at(number, request.param)))
            with pytest.raises((Killed, HomeError)):
                ingest(home, FOLDER)
            patch.setattr(files, "system", NoWaiting())
            rows = audit_of(home).count(b"\n") if (home / AUDIT).exists() else 0
            rows_read = read_ledger(home).audit.rows if rows else 0
            ingest(home, FOLDER)
        found.append(Crash(number, rows, rows_read, audit_of(home), (home / LEDGER).read_bytes()))
    return found


def test_a_run_after_a_crash_loses_and_repeats_nothing(crashes: list[Crash], uninterrupted: Uninterrupted) -> None:
    """Wherever a run was stopped, the next one ends in the audit log of a run that was not."""
    assert [crash.call for crash in crashes if crash.audit != uninterrupted.content[AUDIT]] == []


def test_a_run_after_a_crash_brings_the_ledger_up(crashes: list[Crash], uninterrupted: Uninterrupted) -> None:
    """Wherever a run was stopped, after the next one the snapshot on disk is that of a run that was not."""
    assert [crash.call for crash in crashes if crash.ledger != uninterrupted.content[LEDGER]] == []


def test_a_reader_after_a_crash_sees_what_was_written(crashes: list[Crash]) -> None:
    """Wherever a run was stopped, the ledger that is read is the fold of the rows that stand whole in the log."""
    assert [crash.call for crash in crashes if crash.rows_read != crash.rows] == []


def test_a_crash_before_the_snapshot_is_caught_up_at_the_next_opening(
    home: Path, monkeypatch: pytest.MonkeyPatch, uninterrupted: Uninterrupted
) -> None:
    """Where rows were appended and no snapshot was written, the next opening folds them, to the same bytes."""

    def crash(_home: Path, _ledger: object) -> None:
        raise Killed

    monkeypatch.setattr(SLICE, 30)
    with TrustStore(home):
        pass
    with monkeypatch.context() as patch:
        patch.setattr("a2a_trust.store.store.write_snapshot", crash)
        with pytest.raises(Killed):
            ingest(home, FOLDER)
    with TrustStore(home) as store:
        assert encode_ledger(store.ledger) == uninterrupted.content[LEDGER]


@pytest.mark.parametrize("part", [0.0, 0.001, 0.5, 0.999])
def test_a_torn_write_is_set_aside_and_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uninterrupted: Uninterrupted, part: float
) -> None:
    """Whatever part of an append reached the disk, the next run ends in the log of an undisturbed one."""
    home = tmp_path / "home"

    class Torn(NoWaiting):
        def write(self, descriptor: int, data: memoryview) -> int:
            if len(data) < 2000:
                return super().write(descriptor, data)
            super().write(descriptor, data[: int(len(data) * part)])
            raise Killed

    monkeypatch.setattr(SLICE, 30)
    with monkeypatch.context() as patch:
        patch.setattr(files, "system", Torn())
        with pytest.raises(Killed):
            ingest(home, FOLDER)
    ingest(home, FOLDER)
    assert audit_of(home) == uninterrupted.content[AUDIT]


def test_what_is_left_by_a_killed_writer_is_removed(home: Path) -> None:
    """Temporary files of a writer that died are gone after the next opening."""
    commit(home, call(1))
    for name in ("ledger.json.tmp", "ledger.json.bak.tmp"):
        (home / name).write_bytes(b"half a ledg")
    with TrustStore(home):
        pass
    assert [path.name for path in home.iterdir() if path.suffix == ".tmp"] == []


def test_a_failed_sync_is_told(home: Path, watched: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fails is named, with what stands, and nothing is tried a second time."""
    calls = Calls(home, stop_at(2, OSError(5, "Input/output error")))
    monkeypatch.setattr(files, "system", calls)
    with pytest.raises(HomeError, match="Input/output error"):
        commit(home, call(2))
    assert calls.made == [("write", AUDIT), ("sync", AUDIT)]
    assert watched.made == []


def test_without_hard_links_the_backup_is_a_copy(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a file system without hard links the generation before is kept all the same."""

    class Linkless(NoWaiting):
        def link(self, source: Path, target: Path) -> None:
            raise OSError(1, "Operation not permitted", str(source), None, str(target))

    monkeypatch.setattr(files, "system", Linkless())
    commit(home, call(1))
    before = (home / LEDGER).read_bytes()
    commit(home, call(2))
    assert (home / BACKUP).read_bytes() == before


# ---------------------------------------------------------------------- a torn tail

TAILS: dict[str, Callable[[bytes], bytes]] = {
    "half a row": lambda last: last[: len(last) // 2],
    "a row without its end": lambda last: last[:-1],
    "one byte": lambda _: b"{",
    "garbage": lambda _: b"\xff\x00\n",
    "an empty line": lambda _: b"\n",
    "zeros": lambda _: bytes(512),
    "a row that follows another": lambda last: last,
    "garbage, and a row behind it": lambda last: b"garbage\n" + last,
    "half a long row": lambda last: last[:100] + b"x" * 200_000,
}
tails = pytest.mark.parametrize("make_tail", TAILS.values(), ids=list(TAILS))


def tear(home: Path, make_tail: Callable[[bytes], bytes]) -> tuple[bytes, bytes]:
    """Make a home of two rows and add a torn tail to its log; return what is sound and what is not."""
    commit(home, call(1))
    sound = audit_of(home)
    tail = make_tail(sound.splitlines(keepends=True)[-1])
    (home / AUDIT).write_bytes(sound + tail)
    return sound, tail


@tails
def test_a_torn_tail_is_set_aside_to_the_byte(home: Path, make_tail: Callable[[bytes], bytes]) -> None:
    """What follows the last sound row goes into a file of its own; the log ends where it was sound."""
    sound, tail = tear(home, make_tail)
    with TrustStore(home):
        pass
    assert (audit_of(home), (home / "audit.jsonl.torn-1").read_bytes()) == (sound, tail)


@tails
def test_a_torn_tail_is_reported_to_the_byte(home: Path, make_tail: Callable[[bytes], bytes]) -> None:
    """The report names the file that was made, how many bytes went there, from where, and why."""
    sound, tail = tear(home, make_tail)
    with TrustStore(home) as store:
        found = store.recovery
    assert found is not None
    assert (found.path, found.bytes, found.offset) == (str(home / "audit.jsonl.torn-1"), len(tail), len(sound))
    assert found.why.startswith(f"{home / AUDIT}: row 3 at byte {len(sound)}")


def test_sound_rows_before_a_torn_one_are_kept(home: Path) -> None:
    """Rows that were appended, though no snapshot holds them, stay; only the torn one goes."""
    commit(home, call(1))
    ledger = (home / LEDGER).read_bytes()
    commit(home, call(2), call(3), call(4))
    whole = lines_of(home)
    (home / LEDGER).write_bytes(ledger)
    (home / BACKUP).unlink()
    (home / AUDIT).write_bytes(b"\n".join(whole)[:-5])
    with TrustStore(home) as store:
        assert (lines_of(home), store.ledger.audit.rows) == (whole[:-1], 4)


def test_torn_tails_are_numbered(home: Path) -> None:
    """A second torn tail does not take the place of the first."""
    commit(home, call(1))
    for tail in (b"first", b"second"):
        with (home / AUDIT).open("ab") as file:
            file.write(tail)
        with TrustStore(home):
            pass
    kept = [(home / f"audit.jsonl.torn-{number}").read_bytes() for number in (1, 2)]
    assert kept == [b"first", b"second"]


def test_a_whole_log_needs_no_recovery(home: Path) -> None:
    """Where nothing is torn nothing is reported."""
    commit(home, call(1))
    with TrustStore(home) as store:
        assert store.recovery is None


@tails
def test_a_reader_does_not_see_a_torn_tail(home: Path, make_tail: Callable[[bytes], bytes]) -> None:
    """What follows the acknowledged rows and is no row is nothing that was ever said."""
    tear(home, make_tail)
    assert encode_ledger(read_ledger(home)) == (home / LEDGER).read_bytes()


def test_rows_longer_than_what_is_read_at_a_time_are_found(home: Path) -> None:
    """The last row is found, however long it is, by a writer and by a reader."""
    commit(home, call(1, "tool-error", text="x" * 200_000), call(2, "tool-error", text="y" * 200_000))
    before = encode_ledger(read_ledger(home))
    with TrustStore(home) as store:
        assert (store.recovery, encode_ledger(store.ledger)) == (None, before)
