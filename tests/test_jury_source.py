"""The source `jury` reads logs of jury runs as they are: growing, damaged, edited, newer, or somebody else's."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import jury_runs
import msgspec
import pytest
from homes import agents_of, differences, rows_of, scratch
from hypothesis import given
from hypothesis import strategies as st
from jurymade import CAST, JUDGES, STEP, T0, Run, actor, frame, framed, ingest
from typer.testing import CliRunner

from a2a_trust import cli, facts
from a2a_trust.sources import jury_events as je
from a2a_trust.sources.base import LogUnreadableError, Skips
from a2a_trust.sources.jury import JurySource
from a2a_trust.testing import JUNK

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from a2a_trust.sources.base import LogFile, Reading

pytestmark = pytest.mark.usefixtures("no_waiting")

SOURCE = JurySource()


def tribunal(**more: object) -> Run:
    """A run in which everything happens at least once."""
    run = Run("tribunal", CAST, **more)
    run.item("case", texts={"E1": "the bow door was open and nobody saw it"})
    for seat in ("ada", "ben", "chief"):
        run.vote(seat, "baseline")
    run.quote("ada", "verified")
    run.quote("ada", "mismatch", attempt=2, number=1)
    for seat in ("ada", "chief"):
        run.vote(seat, "verdict")
        run.seal(seat, holds=seat != "ada")
    run.fault("ben", "verdict", "identity_mismatch")
    run.absent("ben", "verdict")
    run.message("ada", "chief", "look", "star")
    run.vote("chief", "position", condition="star", number=1)
    run.ballot("ada", "accept", "star", "reject")
    run.outcome("star", "decided", "accept")
    run.end()
    return run


def judges() -> Run:
    """Judges who agree, and who do not, with what a person decides then."""
    run = Run("judges", JUDGES, run="run-2")
    for number, votes in enumerate((("accept", "accept"), ("accept", "reject")), start=1):
        run.item(f"t{number}", judged=je.AgentType(name="worker"))
        for seat, vote in zip(("strict", "kind"), votes, strict=True):
            run.vote(seat, "verdict", vote)
        run.outcome("independent", "agreed" if votes[0] == votes[1] else "review", votes[0])
    run.end()
    run.resolve("t2", "reject")
    return run


def read(path: Path, cursor: bytes | None = None) -> Reading:
    """One reading of the log in a folder."""
    return SOURCE.read(log_in(path), cursor)


def log_in(path: Path) -> LogFile:
    """The log in a folder."""
    ((log,),) = SOURCE.discover(path, Skips())
    return log


def seqs(reading: Reading) -> set[int]:
    """All facts of a reading."""
    return {fact.seq for part in reading.logs for fact in [*part.facts, *part.torn_facts]}


# ------------------------------------------------------------------ finding


def test_runs_are_found_where_the_engine_keeps_them(tmp_path: Path) -> None:
    """In the folder that the environment names, else in one beside the home; whatever else lies there is no log."""
    assert SOURCE.default_roots({"A2A_TRUST_JURIES": str(tmp_path)}) == [tmp_path]
    (default,) = SOURCE.default_roots({})
    assert default.name == ".a2a-trust-juries"
    for name in ("one", "two/three"):
        folder = tribunal().write(tmp_path / name)
        (folder / "result.json").write_text("{}")
        (folder / f"old-{je.LOG_NAME}").write_bytes(b"")
    found = [log.path for (log,) in SOURCE.discover(tmp_path, Skips())]
    assert found == [str(tmp_path / name / je.LOG_NAME) for name in ("one", "two/three")]
    assert [log.path for (log,) in SOURCE.discover(tmp_path / "one" / je.LOG_NAME, Skips())] == found[:1]
    assert list(SOURCE.discover(tmp_path / "one/result.json", Skips())) == []


def test_a_log_that_is_gone_is_said(tmp_path: Path) -> None:
    """Between being found and being read anything can happen."""
    log = log_in(tribunal().write(tmp_path))
    (tmp_path / je.LOG_NAME).unlink()
    with pytest.raises(LogUnreadableError):
        SOURCE.read(log, None)


def test_the_command_reads_runs_and_says_what_to_do_about_test_doubles(tmp_path: Path) -> None:
    """They are counted with the option that scores them."""
    cast = [actor(seat, fixture=True) for seat in ("chief", "ada", "ben")]
    run = Run("tribunal", cast)
    run.item("case")
    run.vote("ada", "verdict")
    run.write(tmp_path / "runs")
    command = ["backfill", str(tmp_path / "runs"), "--home", str(tmp_path / "home")]
    done = CliRunner().invoke(cli.app, command)
    assert done.exit_code == 0, done.output
    assert "skipped       fixture 1 (test doubles of jury runs; to score them: --include-fixtures)" in done.output
    done = CliRunner().invoke(cli.app, [*command, "--include-fixtures"])
    assert "evidence      2 new" in done.output
    assert "skipped" not in done.output


# ------------------------------------------------------------------ reading on


@pytest.mark.parametrize("size", [1, 3, 100])
def test_every_cut_reads_on_to_the_same_facts(tmp_path: Path, size: int) -> None:
    """Cut after any frame, or within one, the log is read on from there: no fact is lost, none told twice."""
    run = tribunal()
    data = framed(run.raw, size)
    path = run.write(tmp_path) / je.LOG_NAME
    path.write_bytes(data)
    whole = read(tmp_path)
    for cut in range(0, len(data), 7 if size > 1 else 61):
        path.write_bytes(data[:cut])
        first = read(tmp_path)
        path.write_bytes(data)
        rest = read(tmp_path, first.cursor)
        told = [fact.seq for reading in (first, rest) for part in reading.logs for fact in part.facts]
        assert not rest.restarted
        assert sorted(told) == sorted(fact.seq for part in whole.logs for fact in part.facts)
        assert seqs(first) <= seqs(whole)


def test_a_torn_frame_is_left_until_it_is_whole(tmp_path: Path) -> None:
    """However much of it could be read: going on with a killed run sets it aside, and asks again."""
    run = Run()
    run.item("case")
    run.vote("ada", "baseline")
    for number in range(1, 900):
        words = " ".join(je.sha256(f"{number}.{part}") for part in range(8))
        run.answer("ada", "position", {"vote": "accept", "reason": words}, "star", number)
    path = run.write(tmp_path) / je.LOG_NAME
    data = frame(b"".join(run.raw[:3])) + frame(b"".join(run.raw[3:]))
    path.write_bytes(data[:-9])
    torn = read(tmp_path)
    assert (torn.lines, len(seqs(torn)), dict(torn.skips.counts)) == (3, 3, {})
    path.write_bytes(data)
    assert len(seqs(read(tmp_path, torn.cursor))) == 2 * 899


def test_what_a_killed_run_lost_is_no_evidence(tmp_path: Path) -> None:
    """Read before it is gone on with and after, the ledger is what the log that came of it gives."""
    jury_runs.run(tmp_path / "whole", "judges")
    data = (tmp_path / "whole" / je.LOG_NAME).read_bytes()
    for number, cut in enumerate((len(data) // 2, len(data) - 300, len(data) - 1)):
        folder = tmp_path / str(number) / "run"
        folder.mkdir(parents=True)
        (folder / je.LOG_NAME).write_bytes(data[:cut])
        ingest(tmp_path / f"home-{number}", folder, fixtures=True)
        jury_runs.resume(folder, "judges")
        ingest(tmp_path / f"home-{number}", folder, fixtures=True)
        ingest(tmp_path / f"fresh-{number}", folder, fixtures=True)
        assert differences(agents_of(tmp_path / f"home-{number}"), agents_of(tmp_path / f"fresh-{number}")) == []


def test_a_frame_may_end_within_a_line(tmp_path: Path) -> None:
    """The engine ends frames with lines; who packs a log anew may not."""
    run = tribunal()
    path = run.write(tmp_path) / je.LOG_NAME
    whole = read(tmp_path)
    raw = b"".join(run.raw)
    path.write_bytes(b"".join(frame(raw[at : at + 100]) for at in range(0, len(raw), 100)))
    again = read(tmp_path)
    assert (seqs(again), again.lines, again.skips) == (seqs(whole), whole.lines, whole.skips)


def test_another_log_under_the_same_name_is_read_from_its_start(tmp_path: Path) -> None:
    """The cursor stands in a log that is gone."""
    tribunal().write(tmp_path)
    first = read(tmp_path)
    judges().write(tmp_path)
    again = read(tmp_path, first.cursor)
    assert again.restarted
    assert seqs(again) == seqs(read(tmp_path))


def test_every_line_is_found_again(tmp_path: Path) -> None:
    """By the number of its facts: the frame in which it stands, and the line whose event was judged."""
    run = tribunal()
    log = log_in(run.write(tmp_path))
    facts_of = [fact for part in read(tmp_path).logs for fact in part.facts]
    places = SOURCE.locate(log, {fact.seq for fact in facts_of})
    assert len(facts_of) > 20
    for fact in facts_of:
        frame_at, line = places[fact.seq]
        assert frame_at is not None
        event = je.EVENTS.decode(je.LINES.decode(run.raw[line - 1]).event)
        assert fact.heard is not None
        assert event.key == fact.heard.key


# ------------------------------------------------------------------ the chain


def edits(raw: list[bytes]) -> list[list[bytes]]:
    """Ways to make a log say something else, each at the fifth line."""
    other = Run("tribunal", CAST, run="run-9").raw
    return [
        [*raw[:5], raw[5].replace(b'"start":4', b'"start":5'), *raw[6:]],
        [*raw[:5], *raw[6:]],
        [*raw[:5], raw[6], raw[5], *raw[7:]],
        [*raw[:5], raw[4], *raw[5:]],
        [*raw[:5], *other, *raw[5:]],
    ]


@pytest.mark.parametrize("number", range(5))
def test_nothing_counts_behind_a_broken_chain(tmp_path: Path, number: int) -> None:
    """A line that was edited, lost, moved, repeated or put in ends the evidence; the rest is counted."""
    run = tribunal()
    edited = edits(run.raw)[number]
    path = run.write(tmp_path) / je.LOG_NAME
    path.write_bytes(framed(run.raw[:5]))
    sound = seqs(read(tmp_path))
    path.write_bytes(framed(edited))
    reading = read(tmp_path)
    assert seqs(reading) == sound
    assert reading.skips.counts["chain-broken"] == len(edited) - 5
    assert reading.skips.places["chain-broken"][0].endswith(": line 6")
    path.write_bytes(framed(edited) + frame(run.raw[-1]))
    assert read(tmp_path, reading.cursor).skips.counts == {"chain-broken": 1}


def test_a_lost_frame_ends_the_evidence(tmp_path: Path) -> None:
    """What stands behind it hangs on lines that nobody can read."""
    run = tribunal()
    pieces = [frame(line) for line in run.raw]
    spoiled = bytearray(pieces[5])
    spoiled[-1] ^= 1
    path = run.write(tmp_path) / je.LOG_NAME
    path.write_bytes(b"".join([*pieces[:5], bytes(spoiled), *pieces[6:]]))
    reading = read(tmp_path)
    assert reading.skips.counts == {"damaged-frame": 1, "chain-broken": len(pieces) - 6}
    assert reading.lines == len(pieces) - 1
    path.write_bytes(b"".join(pieces[:5]))
    assert seqs(reading) == seqs(read(tmp_path))


def test_lines_that_are_none_cost_only_themselves(tmp_path: Path) -> None:
    """They are no part of the chain."""
    run = tribunal()
    path = run.write(tmp_path) / je.LOG_NAME
    whole = read(tmp_path)
    junk = [piece + b"\n" for piece in JUNK]
    path.write_bytes(framed(list(itertools.chain(*itertools.zip_longest(run.raw, junk, fillvalue=b"\n")))))
    reading = read(tmp_path)
    assert seqs(reading) == seqs(whole)
    assert set(reading.skips.counts) == {"malformed-line", "wrong-shape"}
    assert reading.used + reading.irrelevant + sum(reading.skips.counts.values()) == reading.lines


# ------------------------------------------------------------------ strangers


def chained(*bodies: bytes, first: Sequence[bytes] = ()) -> list[bytes]:
    """Lines of a sound chain, whatever they say."""
    lines, head = [*first], je.NO_HASH
    for line in first:
        head = je.LINES.decode(line).hash
    for body in bodies:
        head = je.chained(body, head)
        lines.append(b'{"hash":"%s","event":%s}\n' % (head.encode(), body))
    return lines


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'{"type":"bribe","key":"k","time":1}', "unknown-type"),
        (b'{"type":"run","v":2,"key":"run","time":1}', "newer-event"),
        (b'{"type":"absent","key":"k","time":1}', "wrong-shape"),
        (b'{"type":"ended","key":"k","time":1,"finished":true,"calls":1,"failed":0,"more":1}', "wrong-shape"),
        (b'{"type":7}', "wrong-shape"),
        (b"[]", "wrong-shape"),
    ],
)
def test_an_event_that_is_not_known_is_counted(tmp_path: Path, body: bytes, reason: str) -> None:
    """The chain goes on behind it."""
    run = tribunal()
    path = run.write(tmp_path) / je.LOG_NAME
    path.write_bytes(framed(chained(body, je.LINES.decode(run.raw[2]).event, first=run.raw[:2])))
    reading = read(tmp_path)
    assert reading.skips.counts == {reason: 1}
    assert len(seqs(reading)) == 3


@pytest.mark.parametrize("number", [1 << 53, 10**30, -1])
def test_a_number_that_nobody_can_hold_costs_its_line(tmp_path: Path, number: int) -> None:
    """A span, or a time, that no text and no clock could have."""
    run = Run()
    run.item("case")
    run.quote("ada", "verified", start=number, end=number + 12)
    run.vote("ada", "verdict", ms=number)
    run.vote("ben", "verdict")
    path = run.write(tmp_path / "runs")
    assert read(path).skips.counts == {"wrong-shape": 2}
    assert ingest(tmp_path / "home", path).evidence == 2


def test_who_was_not_introduced_did_nothing(tmp_path: Path) -> None:
    """Events before the first, of a second run in one log, and of seats that nobody has."""
    run = tribunal()
    bodies = [je.LINES.decode(line).event for line in run.raw]
    stranger = Run("tribunal", [actor("eve")])
    stranger.item("case")
    stranger.vote("eve", "verdict")
    stranger.message("eve", "ada", "look", "star")
    strange = [je.LINES.decode(line).event for line in stranger.raw]
    path = run.write(tmp_path) / je.LOG_NAME
    path.write_bytes(framed(chained(bodies[3], *bodies[:3], bodies[0], strange[2], strange[4])))
    reading = read(tmp_path)
    assert reading.skips.counts == {"session-unknown": 4}
    assert {part.header.session for part in reading.logs} == {"jury/run-1/ada"}


def test_a_time_that_is_none_counts_at_the_greatest_so_far(tmp_path: Path) -> None:
    """Before any valid one an event is undated, and older than everything."""
    run = Run()
    run.item("case")
    for seat in ("ada", "ben", "chief"):
        run.vote(seat, "verdict")
    for event, time in zip(run.events, (7, -1, 10**30, 1_790_000_000_000, 5), strict=True):
        event.time = time
    path = run.write(tmp_path / "runs")
    reading = read(path)
    assert [fact.time for part in reading.logs for fact in part.facts] == [*[0] * 3, *[1_790_000_000_000] * 6]
    assert reading.undated == 3


def test_a_slash_in_a_name_makes_no_session_of_two(tmp_path: Path) -> None:
    """A seat of one run never passes for another run."""
    run = Run(run="a/b", cast=[actor("x"), actor("x/y")])
    run.item("case")
    run.vote("x", "verdict")
    run.vote("x/y", "verdict")
    sessions = {part.header.session for part in read(run.write(tmp_path)).logs}
    assert sessions == {"jury/a%2Fb/x", "jury/a%2Fb/x%2Fy"}


# ------------------------------------------------------------------ any order, any cut


def shared(data: st.DataObject) -> list[Run]:
    """Two tellings of one hearing, each event sooner, later or just when the other says, and a run of judges."""
    hearing = je.sha256("one hearing")
    tellings = [tribunal(run=name, hearing=hearing) for name in data.draw(st.permutations(("run-1", "run-3")))]
    for run in tellings:
        now = T0
        for event in run.events:
            now += data.draw(st.sampled_from((0, 0, 1, STEP, 5 * STEP)))
            event.time = now
    return [*tellings, judges()]


@given(data=st.data())
def test_any_split_over_any_readings_gives_the_same_agents(data: st.DataObject) -> None:
    """Whatever grows in which order, cut at whatever byte, read with or without test doubles in between."""
    from pathlib import Path  # noqa: PLC0415 - only this test makes folders of its own

    with scratch() as name:
        folder = Path(name)
        whole = {}
        for number, run in enumerate(shared(data)):
            path = run.write(folder / "runs" / str(number), 3) / je.LOG_NAME
            whole[path] = path.read_bytes()
        ingest(folder / "whole", folder / "runs", fixtures=True)
        sizes = dict.fromkeys(whole, 0)
        for _ in range(data.draw(st.integers(0, 4))):
            path = data.draw(st.sampled_from(sorted(whole)))
            sizes[path] = data.draw(st.integers(sizes[path], len(whole[path])))
            for each, size in sizes.items():
                each.write_bytes(whole[each][:size])
            ingest(folder / "home", folder / "runs", fixtures=data.draw(st.booleans()))
        for path, content in whole.items():
            path.write_bytes(content)
        for path in data.draw(st.permutations(sorted(whole))):
            ingest(folder / "home", path.parent, fixtures=True)
        assert differences(agents_of(folder / "home"), agents_of(folder / "whole")) == []


def test_rows_of_a_run_say_only_what_its_log_says(tmp_path: Path) -> None:
    """Read whole or line by line, the rows are the same."""
    run = tribunal()
    raw = run.raw
    run.write(tmp_path / "whole", 100)
    ingest(tmp_path / "one", tmp_path / "whole")
    (tmp_path / "grown").mkdir()
    for count in range(1, len(raw) + 1):
        (tmp_path / "grown" / je.LOG_NAME).write_bytes(framed(raw[:count], 1))
        ingest(tmp_path / "many", tmp_path / "grown")

    def said(home: Path) -> list[object]:
        return sorted((row.id, row.kind, row.time, row.seq, msgspec.json.encode(row.evidence)) for row in rows_of(home))

    assert said(tmp_path / "many") == said(tmp_path / "one")


def test_no_tool_is_excused() -> None:
    """None is called in a run."""
    assert SOURCE.classify("bash", facts.Failure("denied", ""), refused=True) is None
