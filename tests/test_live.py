"""Reading a home beside its writer: from the end, through the index, and along the chain."""

import sqlite3
from pathlib import Path

import pytest
from boards import NOW, agent_rows, demo_home, evidence, record
from homes import rows_of as all_rows

from a2a_trust.errors import NoLedgerError
from a2a_trust.model import Profile
from a2a_trust.store import live, read_ledger
from a2a_trust.store.cache import CACHE

PROFILE = Profile(name="agent")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with the invented agents."""
    demo_home(tmp_path / "home")
    return tmp_path / "home"


def in_pages(home: Path, size: int) -> list[str]:
    """The ids of all rows, read page by page from the end."""
    found: list[str] = []
    page = live.newest_rows(home, size)
    while page.rows:
        found += [placed.row.id for placed in page.rows]
        if page.start == 0:
            break
        page = live.newest_rows(home, size, page.start)
    return found


@pytest.mark.parametrize("block", [300, 1024, 1 << 18])
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_pages_from_the_end_hold_every_row_once(
    home: Path, size: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the sizes of pages and blocks, the rows come newest first, none twice and none left out."""
    monkeypatch.setattr(live, "_BLOCK_BYTES", block)
    assert in_pages(home, size) == [row.id for row in reversed(all_rows(home))]


def test_a_line_that_is_being_written_is_left_out(home: Path) -> None:
    """A row without its newline is not there yet."""
    newest = live.newest_rows(home, 1).rows[0].row.id
    with (home / "audit.jsonl").open("ab") as file:
        file.write(b'{"v":2,"id":"half')
    assert live.newest_rows(home, 1).rows[0].row.id == newest


def test_lines_that_are_no_rows_are_counted(home: Path) -> None:
    """Damage is passed over, and told."""
    with (home / "audit.jsonl").open("ab") as file:
        file.write(b"no row\n")
    page = live.newest_rows(home, 3)
    assert (len(page.rows), page.damaged) == (2, 1)


def test_what_was_added_is_read_alone(tmp_path: Path) -> None:
    """Following a log reads the rows behind the place reached, and says where it has got to."""
    record(tmp_path, agent_rows(PROFILE, "+++"))
    end = live.newest_rows(tmp_path, 1).end
    record(tmp_path, [evidence(PROFILE, 9, good=True, time=NOW + 1)])
    rows, reached = live.rows_since(tmp_path, end)
    assert [placed.row.seq for placed in rows] == [9]
    assert live.rows_since(tmp_path, reached) == ([], reached)


@pytest.mark.parametrize("cache", ["whole", "missing", "damaged", "behind"])
def test_the_rows_of_an_agent_are_found_with_and_without_an_index(home: Path, cache: str) -> None:
    """The index only makes it faster: missing, damaged or behind, the rows are the same."""
    if cache == "behind":
        known = (home / CACHE).read_bytes()
        record(home, [evidence(PROFILE, 9, good=True, time=NOW + 1)])
        (home / CACHE).write_bytes(known)
    elif cache == "missing":
        (home / CACHE).unlink()
    elif cache == "damaged":
        (home / CACHE).write_bytes(b"this is no database")
    for subject in read_ledger(home).agents:
        expected = [row for row in all_rows(home) if row.subject == subject]
        assert live.rows_of(home, subject, 100_000) == (expected, True)


def test_of_many_rows_of_an_agent_the_newest_are_read(home: Path) -> None:
    """A limit leaves out the oldest, and is told."""
    subject = max(read_ledger(home).agents)
    expected = [row for row in all_rows(home) if row.subject == subject][-5:]
    assert live.rows_of(home, subject, 5) == (expected, False)


def test_pages_of_one_agent_hold_every_row_of_it_once(home: Path) -> None:
    """Page by page through the index, an agent's rows come newest first."""
    subject = max(read_ledger(home).agents)
    found: list[str] = []
    page = live.newest_rows_of(home, subject, 7)
    while page is not None and page.rows:
        found += [placed.row.id for placed in page.rows]
        page = live.newest_rows_of(home, subject, 7, page.start) if page.start else None
    assert found == [row.id for row in reversed(all_rows(home)) if row.subject == subject]


def test_every_row_of_a_sound_log_is_linked(home: Path) -> None:
    """The neighbours of a row agree with it, at the ends of the log too."""
    for placed in live.newest_rows(home, 100_000).rows:
        link = live.link_at(home, placed.offset)
        assert link is not None
        assert link.holds


def test_a_sound_chain_ends_in_the_head_of_the_ledger(home: Path) -> None:
    """Following the chain gives the number of rows and the head that the snapshot names."""
    audit = read_ledger(home).audit
    assert live.check_chain(home) == live.Chain(audit.rows, audit.head, "")


def test_an_altered_row_breaks_the_chain_behind_it(home: Path) -> None:
    """The first row that does not fit is named by its number."""
    path = home / "audit.jsonl"
    lines = path.read_bytes().split(b"\n")
    lines[10] = lines[10].replace(b"demo", b"dem0", 1)
    path.write_bytes(b"\n".join(lines))
    assert live.check_chain(home).fault.startswith("row 12 at byte")


def test_a_cut_log_is_told_by_the_ledger(home: Path) -> None:
    """A log whose end is missing is sound in itself; the snapshot knows better."""
    path = home / "audit.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-5]))
    assert "the end of the log is missing" in live.check_chain(home).fault


def test_an_empty_home_has_no_chain(tmp_path: Path) -> None:
    """Where nothing is recorded, that is said."""
    with pytest.raises(NoLedgerError):
        live.check_chain(tmp_path)


def test_a_long_log_whose_snapshot_lags_is_shown_as_of_the_snapshot(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Millions of rows are not folded anew because a few came after the snapshot; how much is missing is told."""
    known, time = (home / "ledger.json").read_bytes(), 60_000
    size = (home / "audit.jsonl").stat().st_size
    record(home, [evidence(PROFILE, 9, good=True, time=NOW + time)])
    (home / "ledger.json").write_bytes(known)
    assert live.read_state(home).behind == 0
    monkeypatch.setattr(live, "_CATCH_UP_BYTES", 0)
    state = live.read_state(home)
    assert state.behind == (home / "audit.jsonl").stat().st_size - size
    assert PROFILE.fingerprint not in state.ledger.agents


def test_asking_makes_no_cache(home: Path) -> None:
    """A reader leaves no file behind where there was none."""
    (home / CACHE).unlink()
    assert live.sessions_by_source(home) == {}
    assert live.newest_logs(home) == []
    assert not (home / CACHE).exists()


def test_a_cache_that_is_being_written_is_no_trouble(home: Path) -> None:
    """While a writer holds the index, rows are found without it."""
    writer = sqlite3.connect(home / CACHE, isolation_level=None)
    writer.execute("BEGIN EXCLUSIVE")
    try:
        assert live.sessions_by_source(home) == {}
    finally:
        writer.close()
