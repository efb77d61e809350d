"""Jurors that fail on purpose, from the command that runs them to what the ledger says of them, and of nobody else."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from homes import rows_of
from jury_runs import events
from jurymade import frame, hear, ingest, lines_of
from typer.testing import CliRunner

from a2a_trust import cli
from a2a_trust.jury import faulty
from a2a_trust.jury.check import check
from a2a_trust.jury.providers import ProviderError
from a2a_trust.model import Dimension
from a2a_trust.sources import jury_events as je
from a2a_trust.sources.jury_facts import INFRASTRUCTURE
from a2a_trust.store import read_ledger

if TYPE_CHECKING:
    from pathlib import Path

    from a2a_trust.jury.providers import Call, Reply

pytestmark = pytest.mark.usefixtures("no_waiting")

QUICK = je.Limits(deadline=0.2)
SEATS: dict[je.Preset, str] = {"tribunal": "bram", "panel": "juror-2", "judges": "careful"}
GOOD = {"juror-present", "answer-accepted", "citation-verified", "message-sent", "response-latency"}
"""What those give who do nothing wrong."""


def run_command(folder: Path, case: str, seats: dict[str, je.FaultCode]) -> int:
    """Run a case with the command, some seats failing; return the exit code."""
    given = [part for seat, code in seats.items() for part in ("--faulty", f"{seat}={code}")]
    command = [
        "jury",
        "run",
        case,
        "--output-dir",
        str(folder),
        "-q",
        "--deadline",
        "0.2",
        "--home",
        str(folder / "none"),
    ]
    return CliRunner().invoke(cli.app, [*command, *given]).exit_code


def seats_of(folder: Path) -> dict[str, str]:
    """The seat of each session of a run."""
    opened = events(folder)[0]
    assert isinstance(opened, je.RunOpened)
    return {f"jury/{opened.run}/{actor.id}": actor.id for actor in opened.cast}


def told(home: Path, run: Path) -> dict[str, Counter[str]]:
    """What a ledger says of each seat of a run, by kind; of the run itself under an empty name."""
    ingest(home, run, fixtures=True)
    seats = seats_of(run)
    found: dict[str, Counter[str]] = {}
    for row in rows_of(home):
        if row.kind not in ("policy", "member-registered", "judged"):
            found.setdefault(seats.get(row.session, ""), Counter())[row.kind] += 1
    return found


def bad(rows: Counter[str]) -> set[str]:
    """Kinds that not everybody has."""
    return set(rows) - GOOD


WHERE: dict[je.FaultCode, set[str]] = {
    "timeout": set(),
    "provider_error": set(),
    "malformed": set(),
    "missing_field": set(),
    "unknown_target": set(),
    "unadmitted_citation": {"citation-unadmitted"},
    "quote_misplaced": {"citation-misplaced"},
    "quote_mismatch": {"citation-mismatch"},
    "identity_mismatch": {"identity-mismatch"},
    "ballot_changed": {"ballot-changed"},
    "seal_broken": {"seal-broken"},
    "absent": {"juror-absent"},
}
"""What each fault of a juror in a tribunal comes to; what was mended at the next attempt costs only the first try."""


def test_every_code_has_its_place() -> None:
    """The table knows all of them."""
    assert set(WHERE) == set(faulty.CODES)


@pytest.mark.parametrize("code", faulty.CODES)
def test_each_fault_of_a_tribunal_lands_with_who_did_it(tmp_path: Path, code: je.FaultCode) -> None:
    """As evidence about that juror; about everybody else the ledger says only good; the check passes."""
    run_command(tmp_path / "run", "cold-store", {"bram": code})
    assert check(tmp_path / "run").holds
    found = told(tmp_path / "home", tmp_path / "run")
    assert bad(found["bram"]) == WHERE[code]
    assert {seat for seat, rows in found.items() if bad(rows)} <= {"bram"}
    first_tries = found["bram"]["juror-present"] - found["bram"]["answer-accepted"]
    assert (first_tries > 0) is (code not in ("ballot_changed", "seal_broken", "absent"))
    assert found["maren"]["juror-present"] == found["maren"]["answer-accepted"] > 0


@pytest.mark.parametrize(
    ("code", "kinds"),
    [
        ("absent", {"juror-absent"}),
        ("quote_mismatch", {"citation-mismatch", "answer-abandoned"}),
        ("quote_misplaced", {"citation-misplaced", "answer-abandoned"}),
        ("identity_mismatch", {"identity-mismatch"}),
        ("seal_broken", {"seal-broken"}),
        ("malformed", set()),
    ],
)
def test_each_fault_of_a_judge_lands_with_it(tmp_path: Path, code: je.FaultCode, kinds: set[str]) -> None:
    """One of two that fails at every trace is half of the run, and is at fault all the same; nothing is agreed on."""
    run_command(tmp_path / "run", "trajectories", {"careful": code})
    assert check(tmp_path / "run").holds
    found = told(tmp_path / "home", tmp_path / "run")
    assert (bad(found["careful"]), bad(found["brisk"])) == (kinds, set())
    judged = sum(row.kind == "judged" for row in rows_of(tmp_path / "home"))
    assert (judged > 0) is ("answer-abandoned" not in kinds and "juror-absent" not in kinds)


def test_a_run_of_six_failures_finishes_and_each_is_told(tmp_path: Path) -> None:
    """Dead, slow, lying about a quote, changing a ballot, opening another verdict, breaking JSON; one is well."""
    wrong: dict[str, je.FaultCode] = {
        "juror-1": "absent", "juror-2": "timeout", "juror-3": "quote_mismatch",
        "juror-4": "ballot_changed", "juror-5": "seal_broken", "juror-6": "malformed",
    }  # fmt: skip
    code = run_command(tmp_path / "run", "night-desk", wrong)
    assert code != 0
    assert check(tmp_path / "run").holds
    found = told(tmp_path / "home", tmp_path / "run")
    assert {seat: bad(rows) for seat, rows in found.items()} == {
        "juror-1": {"juror-absent"},
        "juror-2": set(),
        "juror-3": {"citation-mismatch"},
        "juror-4": {"ballot-changed"},
        "juror-5": {"seal-broken"},
        "juror-6": set(),
        "juror-7": set(),
    }
    for seat in ("juror-2", "juror-6"):
        assert found[seat]["answer-accepted"] < found[seat]["juror-present"]
    low = {
        agent.profile.model
        for agent in read_ledger(tmp_path / "home").agents.values()
        if agent.trust[Dimension.INTEGRITY].samples and agent.trust[Dimension.INTEGRITY].value < 0.5
    }
    assert low == {"quote_mismatch", "ballot_changed", "seal_broken"}


class Down:
    """A provider of which every call fails from some call on."""

    blocking = False

    def __init__(self, inner: Any, after: int = 0) -> None:  # noqa: ANN401 - a provider
        self._inner = inner
        self._left = after

    def answer(self, call: Call) -> Reply:
        """Fail, once the good ones are spent."""
        self._left -= 1
        if self._left < 0:
            raise ProviderError("no route to host")
        return self._inner.answer(call)

    def reveal(self, call: Call, sealed: bytes) -> bytes:
        """Open what was sealed."""
        return self._inner.reveal(call, sealed)


def test_a_provider_that_is_down_is_nobodys_fault(tmp_path: Path) -> None:
    """One observation of the run, no evidence about anybody; what was answered before stands."""
    from a2a_trust.jury import engine  # noqa: PLC0415 - its own name is that of a module here

    providers = {name: Down(inner, after=6) for name, inner in engine.reference_providers().items()}
    ended = hear(tmp_path / "run", "judges", providers=providers)
    assert set(ended.infrastructure) == {"provider_error"}
    found = told(tmp_path / "home", tmp_path / "run")
    assert found.pop("") == {INFRASTRUCTURE: 1}
    assert {kind for rows in found.values() for kind in rows} <= GOOD
    assert sum(rows["juror-present"] for rows in found.values()) == 6
    summary = ingest(tmp_path / "again", tmp_path / "run", fixtures=True)
    assert summary.skipped["infrastructure"] == 34


def test_a_run_that_is_gone_on_with_tells_both_of_its_parts(tmp_path: Path) -> None:
    """Read in between or not, the ledger is the same in the end."""
    from jury_runs import resume  # noqa: PLC0415 - beside the test that needs it

    wrong: dict[str, je.FaultCode] = dict.fromkeys(("juror-1", "juror-2", "juror-3"), "absent")
    ended = hear(tmp_path / "run", "panel", faulty=wrong, limits=QUICK)
    assert not ended.finished
    before = told(tmp_path / "home", tmp_path / "run")
    resume(tmp_path / "run", "panel")
    check_of = told(tmp_path / "whole", tmp_path / "run")
    assert told(tmp_path / "home", tmp_path / "run") == check_of
    assert all(check_of[seat] >= before[seat] for seat in before)
    ids = [sorted(row.id for row in rows_of(tmp_path / name)) for name in ("home", "whole")]
    assert ids[0] == ids[1]


def test_an_edited_run_buys_nothing(tmp_path: Path) -> None:
    """Whichever line a liar mends, with the old hash or with its own right one: from there on nothing counts."""
    run_command(tmp_path / "run", "trajectories", {"careful": "quote_mismatch"})
    log = tmp_path / "run" / je.LOG_NAME
    lines, seats = lines_of(log.read_bytes()), seats_of(tmp_path / "run")
    lies = [place for place, line in enumerate(lines) if b'"mismatch"' in line]
    for number, place in enumerate((lies[0], lies[len(lies) // 2])):
        mended = je.LINES.decode(lines[place].replace(b'"mismatch"', b'"verified"')).event
        own = je.chained(mended, je.LINES.decode(lines[place - 1]).hash)
        for hash_ in (je.LINES.decode(lines[place]).hash, own):
            line = b'{"hash":"%s","event":%s}\n' % (hash_.encode(), mended)
            log.write_bytes(frame(b"".join([*lines[:place], line, *lines[place + 1 :]])))
            summary = ingest(tmp_path / f"{number}-{hash_}", tmp_path / "run", fixtures=True)
            # Who makes the hash of the mended line right is found out at the next.
            assert summary.skipped == {"chain-broken": len(lines) - place - (hash_ == own)}
            rows = [row for row in rows_of(tmp_path / f"{number}-{hash_}") if seats.get(row.session) == "careful"]
            assert sum(row.kind == "citation-verified" for row in rows) == (hash_ == own)
            told_before = {answer_of(lines[lie]) for lie in lies if lie < place}
            assert sum(row.kind == "citation-mismatch" for row in rows) == len(told_before)


def answer_of(line: bytes) -> str:
    """The answer in which something was cited."""
    key: str = json.loads(line)["event"]["key"]
    return key.rsplit("/", 2)[0]
