"""Trust in: the signal that a run is given is frozen when it begins, and reading it leaves no trace."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, get_args

import msgspec
import pytest
from homes import FIXTURES, ingest
from juries import actor
from made_rows import AGENTS, T, registered, tool_call
from signalhomes import TIME, ledger_of, plant, record

from a2a_trust.advice import DISCLAIMER, LEAD_HEADER, for_lead
from a2a_trust.errors import AuditDamageError
from a2a_trust.frozen import freeze as freeze_signals
from a2a_trust.jury.trust import freeze
from a2a_trust.model import AgentRecord, Dimension
from a2a_trust.signals import TrustSignals
from a2a_trust.sources.jury_events import NO_HASH, Actor, TrustMode, sha256
from a2a_trust.sources.jury_facts import profile_of
from a2a_trust.store import TrustStore, amend
from a2a_trust.store.reader import read_ledger

if TYPE_CHECKING:
    from pathlib import Path

CAST = [actor("j1"), actor("j2"), actor("j3")]
"""Three jurors, of whom the third has no record."""


def known(who: Actor, value: float, last_seen: int) -> AgentRecord:
    """What a ledger holds of a juror."""
    profile = profile_of(who)
    trust = {Dimension.INTEGRITY: (value, 9, 5)}
    made = record(profile.name, trust, last_seen=last_seen)
    return msgspec.structs.replace(made, fingerprint=profile.fingerprint, profile=profile)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home that knows two of the cast, and a stranger."""
    agents = [known(CAST[0], 0.9, TIME + 1), known(CAST[1], 0.2, TIME + 2), record("stranger", last_seen=TIME + 3)]
    return plant(tmp_path / "home", ledger_of(agents))


def with_rows(tmp_path: Path) -> Path:
    """A home that a session was recorded in."""
    ingest(tmp_path / "home", FIXTURES / "a-team")
    return tmp_path / "home"


def state(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Everything below a folder: when it changed last, and its bytes."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in [folder, *sorted(folder.rglob("*"))]
    }


def test_the_text_is_the_advisory_text_on_the_cast_alone(home: Path) -> None:
    """Newest first; nobody who takes no part, nobody without evidence."""
    found = freeze(home, "lead-only", CAST)
    head, *rows, last = found.text.splitlines()
    assert (head, last) == (LEAD_HEADER, DISCLAIMER)
    assert [row.partition(":")[0] for row in rows] == ['"Juror j2"', '"Juror j1"']
    assert "integrity 0.20/9" in rows[0]
    signals = TrustSignals(home)
    assert found.text == for_lead([one for one in signals.agents() if one.name.startswith("Juror")]).text


def test_the_signal_is_named_in_full(home: Path) -> None:
    """Rows, head and policy: enough to find the same numbers again."""
    found, ledger = freeze(home, "all", CAST), read_ledger(home)
    assert (found.mode, found.policy, found.as_of) == ("all", ledger.policy.name, ledger.updated_at)
    assert (found.rows, found.head) == (ledger.audit.rows, ledger.audit.head)
    assert found.sha256 == sha256(found.text)
    assert freeze(home, "all", reversed(CAST)) == found


def test_nothing_of_the_home_is_touched(home: Path) -> None:
    """No lock, no cache, no byte, no time of a change: not even of the folder."""
    before = state(home)
    freeze(home, "all", CAST)
    assert state(home) == before


@pytest.mark.skipif(sys.platform == "win32", reason="folders are not closed to writing by their mode there")
def test_a_home_that_cannot_be_written_is_read(home: Path) -> None:
    """What is asked for is reading."""
    writable = freeze(home, "all", CAST)
    for path in home.iterdir():
        path.chmod(0o400)
    home.chmod(0o500)
    try:
        assert freeze(home, "all", CAST) == writable
    finally:
        home.chmod(0o700)


def test_a_home_with_a_real_log_is_left_alone_even_where_its_snapshot_is_gone(tmp_path: Path) -> None:
    """Folding the log happens in memory."""
    place = with_rows(tmp_path)
    (place / "ledger.json").unlink()
    before = state(place)
    found = freeze(place, "all", CAST)
    assert found.rows > 0
    assert state(place) == before


@pytest.mark.parametrize("mode", get_args(TrustMode))
def test_without_a_ledger_the_mode_is_kept_and_nothing_is_made(mode: TrustMode, tmp_path: Path) -> None:
    """No home is made by asking for one."""
    (tmp_path / "empty").mkdir()
    for place in (None, tmp_path / "none", tmp_path / "empty"):
        found = freeze(place, mode, CAST)
        assert (found.mode, found.text, found.rows, found.sha256) == (mode, "", 0, sha256(""))
    assert [path.name for path in tmp_path.rglob("*")] == ["empty"]


def test_off_reads_nothing(home: Path) -> None:
    """Not even what is broken."""
    (home / "audit.jsonl").write_bytes(b"gone\n")
    assert freeze(home, "off", CAST).rows == 0
    with pytest.raises(AuditDamageError):
        freeze(home, "all", CAST)


def test_nobody_known_gives_no_text_but_names_the_ledger(home: Path) -> None:
    """An empty text is an answer too."""
    found = freeze(home, "all", [actor("j9")])
    assert (found.text, found.rows, found.head != NO_HASH) == ("", 1, True)


def test_a_persona_is_part_of_who_it_is(home: Path) -> None:
    """The same name with another persona is another juror."""
    other = msgspec.structs.replace(CAST[0], persona="Doubts everything.")
    assert freeze(home, "all", [other]).text == ""


def test_a_snapshot_file_gives_the_same_text(tmp_path: Path) -> None:
    """A run may be pinned to a file of signals."""
    place = with_rows(tmp_path)
    freeze_signals(place, tmp_path / "signals.json")
    assert freeze(tmp_path / "signals.json", "all", CAST) == freeze(place, "all", CAST)


def test_a_juror_that_is_folded_under_another_is_told_of_as_that_one(tmp_path: Path) -> None:
    """What people said after the fact holds for juries too."""
    juror = profile_of(CAST[0])
    row = registered(session="s9")
    evidence = msgspec.structs.replace(row.evidence, profile=juror)
    place = tmp_path / "home"
    with TrustStore(place) as store:
        store.commit(
            [
                registered(),
                *(tool_call(number) for number in range(6)),
                msgspec.structs.replace(row, subject=juror.fingerprint, subject_name=juror.name, evidence=evidence),
            ]
        )
    assert freeze(place, "all", CAST).text == ""
    with TrustStore(place) as store:
        amend.alias(store, juror.fingerprint, AGENTS[0], T + 9)
    assert "coder: competence" in freeze(place, "all", CAST).text
