"""The read-only view: what it gives, where it comes from, that it never writes, and that a snapshot file is checked."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from homes import FIXTURES, ingest
from hypothesis import given
from hypothesis import strategies as st
from signalhomes import TIME, ledger_of, plant, record

from a2a_trust import frozen
from a2a_trust.errors import NoLedgerError, SnapshotError, UnknownAgentError, UsageError
from a2a_trust.frozen import freeze
from a2a_trust.lenses import Lens
from a2a_trust.model import Details, Dimension, HistoryEntry, Profile, Role
from a2a_trust.signals import TrustSignals

# What a process that reads everything opens, creates, renames or removes, as Python reports it to an audit hook.
READ_EVERYTHING = """
import os, sys
from pathlib import Path

home = Path(sys.argv[1])
wrong = []

def watch(event, arguments):
    if event == "open":
        path, mode, flags = arguments
        writes = (isinstance(mode, str) and set(mode) & set("wax+")) or (flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
        if writes and str(path) != os.devnull and "__pycache__" not in str(path):
            wrong.append((event, str(path)))
    elif event in ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate", "os.chmod", "os.utime", "os.link",
                   "sqlite3.connect") and "__pycache__" not in str(arguments):
        wrong.append((event, str(arguments)))

sys.dont_write_bytecode = True
sys.addaudithook(watch)
from a2a_trust.briefing import Reader, brief
from a2a_trust.hooks import answer
from a2a_trust.lenses import Lens
from a2a_trust.signals import TrustSignals
from a2a_trust.status import status_of
from a2a_trust.tools import Compare, Listing, Query, Tools

signals = TrustSignals(home)
keys = [signal.key for signal in signals.agents()]
for lens in Lens:
    signals.by(lens)
    brief(signals, Reader(lens=lens))
for key in keys:
    signals.for_agent(key)
    list(signals.rows_of(key))
status_of(signals)
answer(b'{"hook_event_name": "SessionStart"}', home, {})
tools = Tools(home, lambda: 0)
tools.query(Query(agent=keys[0]))
tools.compare(Compare(agents=keys[:2]))
tools.list(Listing())
assert "a2a_trust.store.store" not in sys.modules, "the writer was imported"
print(wrong)
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home over the logs of one team."""
    place = tmp_path_factory.mktemp("signals") / "home"
    ingest(place, FIXTURES / "a-team")
    return place


def content_of(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file below a folder, with its content and its time of change."""
    return {
        str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in sorted(folder.rglob("*")) if path.is_file()
    }


def test_an_agent_answers_to_profile_fingerprint_prefix_and_name(home: Path) -> None:
    """However it is named, it is the same signal."""
    signals = TrustSignals(home)
    signal = signals.for_agent("researcher")
    profile = Profile(
        **{name: getattr(signal.profile, name) for name in ("name", "description", "provider", "context")}
    )
    assert [signals.for_agent(wanted) for wanted in (profile, signal.key, signal.key[:8])] == [signal] * 3


def test_an_ambiguous_name_lists_the_candidates(tmp_path: Path) -> None:
    """Nobody is given the numbers of a namesake."""
    two = [record("a", description=text) for text in ("one", "two")]
    signals = TrustSignals(plant(tmp_path / "home", ledger_of(two)), catch_up=False)
    with pytest.raises(UnknownAgentError, match=f"(?s){two[0].fingerprint[:12]}.*|{two[1].fingerprint[:12]}"):
        signals.for_agent("a")


def test_agents_can_be_asked_for_by_role(home: Path) -> None:
    """Each role has its own, and together they are all."""
    signals = TrustSignals(home)
    by_role = {role: {signal.name for signal in signals.agents(role)} for role in Role}
    assert by_role == {
        Role.MAIN: {"main"},
        Role.TEAMMATE: {"researcher", "implementer", "reviewer"},
        Role.SUBAGENT: set(),
    }


def test_provenance_says_where_the_numbers_come_from(home: Path) -> None:
    """Policy, rows, head, as-of time and sources are those of the home."""
    provenance = TrustSignals(home).provenance
    rows = (home / "audit.jsonl").read_bytes().splitlines()
    assert (provenance.policy, provenance.rows, provenance.sources, provenance.snapshot) == (
        "standard",
        len(rows),
        ["dsh"],
        None,
    )


def test_staleness_is_measured_to_a_given_time(home: Path) -> None:
    """By default to the newest row; never to the clock."""
    signals = TrustSignals(home)
    newest = max(signal.last_seen for signal in signals.agents())
    assert min(signal.stale_for or 0 for signal in signals.agents()) == signals.provenance.as_of - newest
    later = TrustSignals(home, now=newest + 5)
    assert {signal.last_seen + (signal.stale_for or 0) for signal in later.agents()} == {newest + 5}


def test_an_undated_agent_has_no_staleness(tmp_path: Path) -> None:
    """What has no time is not fifty years old."""
    signals = TrustSignals(plant(tmp_path / "home", ledger_of([record("a", last_seen=0)])), catch_up=False, now=TIME)
    assert signals.for_agent("a").stale_for is None


def test_what_was_given_cannot_change_what_will_be(home: Path) -> None:
    """Whoever changes a signal that can be changed changes a copy; the rest cannot be."""
    signals = TrustSignals(home)
    before = signals.for_agent("researcher")
    before.stats.tool_calls += 1
    before.stats.unattributable["mine"] = 1
    before.history.clear()
    assert signals.for_agent("researcher") == TrustSignals(home).for_agent("researcher")
    for name in ("policy", "provenance"):
        with pytest.raises(AttributeError):
            setattr(signals, name, None)


def test_a_glance_gives_the_same_numbers(home: Path) -> None:
    """All but the histories, which are most of a ledger, is there."""
    full, glance = TrustSignals(home), TrustSignals.at_a_glance(home)
    assert glance.provenance == full.provenance
    assert glance.agents() == [msgspec.structs.replace(signal, history=[]) for signal in full.agents()]


def test_a_text_in_a_history_is_no_source(tmp_path: Path) -> None:
    """A failure text that looks like JSON is not taken for it."""
    agent = record("a", {Dimension.COMPETENCE: (0.5, 1, 1)})
    detail = Details(text='"source":"forged","', source="dsh")
    entry = HistoryEntry(time=TIME, kind="tool-error", dim=Dimension.COMPETENCE, quality=0.0, detail=detail)
    agent.history = [entry, msgspec.structs.replace(entry, detail=Details(source="dsh", text='"source":"forged"'))]
    home = plant(tmp_path / "home", ledger_of([agent]))
    assert TrustSignals.at_a_glance(home).provenance.sources == ["dsh"]


def test_an_empty_home_says_what_to_do(tmp_path: Path) -> None:
    """Nothing recorded is told as such."""
    with pytest.raises(NoLedgerError, match="a2a-trust backfill"):
        TrustSignals(tmp_path, catch_up=False)


def test_reading_everything_writes_nothing(home: Path) -> None:
    """Neither importing nor using the read-only side opens a file for writing, or leads to the store."""
    before = content_of(home)
    done = subprocess.run([sys.executable, "-c", READ_EVERYTHING, home], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr
    assert content_of(home) == before


def test_a_read_only_home_is_enough(home: Path, tmp_path: Path) -> None:
    """Signals are given from a folder that nobody may write to."""
    copy = tmp_path / "home"
    copy.mkdir()
    for name in ("audit.jsonl", "ledger.json"):
        (copy / name).write_bytes((home / name).read_bytes())
        (copy / name).chmod(0o400)
    copy.chmod(0o500)
    try:
        found = [TrustSignals(copy).by(lens) for lens in Lens]
    finally:
        copy.chmod(0o700)
    assert found == [TrustSignals(home).by(lens) for lens in Lens]


def test_readers_see_whole_snapshots_while_a_writer_commits(tmp_path: Path) -> None:
    """At every moment what is read is one committed state: an agent has as much evidence as its row count says."""
    place = tmp_path / "home"
    code = (
        "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[2]); from homes import FIXTURES, ingest\n"
        "for name in ('a-team', 'g-raw', 'v3-a-team', 'v4-a-team', 'f-fork', 'mix-v3-v4', 'c-kill-killed'):\n"
        "    ingest(Path(sys.argv[1]), FIXTURES / name)\n"
    )
    ingest(place, FIXTURES / "e-failures")
    seen: set[int] = set()
    with subprocess.Popen([sys.executable, "-c", code, place, Path(__file__).parent]) as writer:
        while writer.poll() is None:
            signals = TrustSignals(place, catch_up=False)
            seen.add(signals.provenance.rows)
            in_ledger = sum(signal.samples for signal in signals.agents())
            folded = sum(signal.samples for signal in signals.by(Lens.FINGERPRINT))
            by_source = sum(signal.samples for signal in signals.by(Lens.SOURCE))
            assert in_ledger == folded == by_source
    assert writer.returncode == 0
    assert len(seen) > 1


@pytest.mark.parametrize("lens", list(Lens))
def test_a_snapshot_file_gives_the_signals_of_its_home(home: Path, tmp_path: Path, lens: Lens) -> None:
    """Under every lens, and long after the home has moved on."""
    name = freeze(home, tmp_path / "run.json")
    opened = TrustSignals(tmp_path / "run.json")
    assert opened.by(lens) == TrustSignals(home).by(lens)
    assert opened.provenance == msgspec.structs.replace(TrustSignals(home).provenance, snapshot=name)


def test_equal_homes_freeze_to_equal_bytes(home: Path, tmp_path: Path) -> None:
    """The name of a snapshot is made of its content."""
    names = [freeze(home, tmp_path / file) for file in ("a.json", "b.json")]
    assert names[0] == names[1]
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_a_snapshot_file_is_never_replaced(home: Path, tmp_path: Path) -> None:
    """Freezing twice is harmless; freezing over another content is refused."""
    path = tmp_path / "run.json"
    assert freeze(home, path) == freeze(home, path)
    path.write_bytes(b"mine")
    with pytest.raises(SnapshotError, match="never replaced"):
        freeze(home, path)
    assert path.read_bytes() == b"mine"


def test_a_snapshot_file_holds_no_rows(home: Path, tmp_path: Path) -> None:
    """Who asks for rows is sent to the home."""
    freeze(home, tmp_path / "run.json")
    with pytest.raises(UsageError, match="open the home"):
        TrustSignals(tmp_path / "run.json").rows()


@given(data=st.data())
def test_an_altered_snapshot_file_is_refused(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory, home: Path
) -> None:
    """Whichever byte of it changes, it is refused, or says exactly what it said before."""
    path = tmp_path_factory.getbasetemp() / "altered.json"
    good = tmp_path_factory.getbasetemp() / "good.json"
    if not good.exists():
        freeze(home, good)
    content = bytearray(good.read_bytes())
    place = data.draw(st.one_of(st.integers(0, 200), st.integers(0, len(content) - 1)))
    content[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    try:
        opened = frozen.read_frozen(path)
    except SnapshotError:
        return
    assert opened == frozen.read_frozen(good)


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"\xff", b'{"format":"x","version":1}'])
def test_what_is_no_snapshot_file_is_told(tmp_path: Path, content: bytes) -> None:
    """Any other file is refused with a word on how to make one."""
    path = tmp_path / "other.json"
    path.write_bytes(content)
    with pytest.raises(SnapshotError, match="--freeze"):
        TrustSignals(path)


def test_a_lens_needs_the_rows_of_its_snapshot_only(home: Path) -> None:
    """Rows that were appended after opening change nothing that was opened."""
    signals = TrustSignals(home)
    before = signals.by(Lens.NAME)
    audit = home / "audit.jsonl"
    whole = audit.read_bytes()
    try:
        with audit.open("ab") as file:
            file.write(b'{"half a row')
        assert signals.by(Lens.NAME) == before
    finally:
        audit.write_bytes(whole)


def test_dimensions_are_all_there(home: Path) -> None:
    """A dimension without evidence is shown as such, not left out."""
    assert set(TrustSignals(home).for_agent("reviewer").dimensions) == set(Dimension)
