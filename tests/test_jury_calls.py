"""Asking jurors: each once, with its own deadline, whatever a provider does, whenever the run is killed."""

from __future__ import annotations

import _thread
import asyncio
import contextlib
import itertools
import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from homes import scratch
from hypothesis import given
from hypothesis import strategies as st
from juries import INVENTED, MISPLACED, OPTIONS, SPAN, Scripted, actor, ended, opened, request, verdict

from a2a_trust.jury.calls import Caller, Opening, infrastructure
from a2a_trust.jury.contracts import MAX_WORDS, Expected, Verdict, content_of, read_answer
from a2a_trust.jury.journal import DivergedError, Journal, LogEndError, read_events
from a2a_trust.jury.pool import ABANDONED_LIMIT
from a2a_trust.jury.procedure import commitment
from a2a_trust.jury.providers import ProviderError, Reply
from a2a_trust.sources.jury_events import (
    LOG_NAME,
    Answered,
    AttemptFailed,
    Cited,
    Limits,
    QuorumMissed,
    RequestRefused,
    RunEnded,
    SealOpened,
    WentAbsent,
    line_of,
    sha256,
)
from a2a_trust.store import files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from a2a_trust.jury.jobs import Request
    from a2a_trust.jury.providers import Call, Provider
    from a2a_trust.sources.jury_events import Event

QUICK = Limits(deadline=0.05)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a run may go."""
    return tmp_path / "run"


def run(folder: Path, provider: Provider, requests: Sequence[Request], limits: Limits | None = None) -> list[Any]:
    """A run of nothing but these requests; the answers."""
    with Journal.create(folder, opened(limits)) as journal:
        found = Caller(journal, {"script": provider}).ask(requests)
        journal.put(ended())
    replayed(folder, requests)
    return found


def replayed(folder: Path, requests: Sequence[Request]) -> Caller:
    """Walk through a log again, with nobody to ask."""
    journal = Journal.replay(folder)
    caller = Caller(journal, {})
    caller.ask(requests)
    journal.put(ended(journal.epoch))
    journal.finish()
    return caller


def logged(folder: Path, kind: type[Any]) -> list[Any]:
    """The events of a kind."""
    return [event for event in read_events(folder) if isinstance(event, kind)]


def faults(folder: Path) -> list[str]:
    """The codes of the attempts that failed, in order."""
    return [event.code for event in logged(folder, AttemptFailed)]


def test_an_answer_is_logged_with_what_it_was_asked_and_what_it_cited(folder: Path) -> None:
    """Hashes of the prompt and its parts, never the prompt; the content as its contract writes it."""
    said = Reply(text=verdict(citations=[SPAN]), provider="script", model="m1", tokens=(10, 3))
    (found,) = run(folder, Scripted([said]), [request()])
    assert isinstance(found, Verdict)
    (answered,), (cited,) = logged(folder, Answered), logged(folder, Cited)
    assert (answered.key, answered.attempt, answered.model, answered.tokens) == (
        "answer/t1/-/verdict/j1",
        1,
        "m1",
        (10, 3),
    )
    assert (answered.prompt, answered.shown) == (request().prompt.sha256, {"record": sha256("t1")})
    assert json.loads(bytes(answered.content))["citations"] == [SPAN]
    assert (cited.key, cited.status, cited.text) == (
        "citation/t1/-/verdict/j1/1/0",
        "verified",
        sha256(request().texts["E1"]),
    )


def test_a_wrong_answer_gets_the_validators_words_and_another_try(folder: Path) -> None:
    """As part `complaint` of the prompt, hashed like the others; of the reply itself only the hash is kept."""
    provider = Scripted(["Guilty!", verdict()])
    run(folder, provider, [request()])
    (fault,), (answered,) = logged(folder, AttemptFailed), logged(folder, Answered)
    first, second = provider.calls
    assert (first.complaint, second.complaint) == ("", fault.words)
    assert fault.words in second.prompt.user
    assert second.prompt.shown["complaint"] == fault.words
    assert (fault.code, fault.reply, fault.attempt) == ("malformed", sha256("Guilty!"), 1)
    assert (answered.attempt, answered.shown["complaint"]) == (2, sha256(fault.words))
    assert answered.prompt == second.prompt.sha256 != fault.prompt == first.prompt.sha256
    assert b"Guilty!" not in b"".join(line_of(event, "0" * 64)[0] for event in read_events(folder))


@pytest.mark.parametrize("attempts", [1, 2, 5])
def test_who_never_answers_rightly_is_absent_after_all_attempts(attempts: int, folder: Path) -> None:
    """With the code of the last; the run goes on with the others."""
    provider = Scripted(lambda call: "prose" if call.actor.id == "j1" else verdict())
    found = run(folder, provider, [request("j1"), request("j2")], Limits(max_attempts=attempts))
    assert found[0] is None
    assert found[1] is not None
    (absent,) = logged(folder, WentAbsent)
    assert (absent.key, absent.attempts, absent.code) == ("absent/t1/-/verdict/j1/0", attempts, "malformed")
    assert faults(folder) == ["malformed"] * attempts


class OddError(BaseException):
    """Something that derives from no ordinary exception."""


class MuteError(Exception):
    """An error that cannot say what it is."""

    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize("blocking", [False, True])
@pytest.mark.parametrize(
    ("raised", "words"),
    [
        (ProviderError("no such host"), "no such host"),
        (ValueError("bad JSON from proxy"), "ValueError in answer()"),
        (TimeoutError("connect timed out"), "TimeoutError in answer()"),
        (asyncio.CancelledError(), "CancelledError in answer()"),
        (OddError("odd"), "OddError in answer()"),
        (GeneratorExit(), "GeneratorExit in answer()"),
        (MuteError(), "MuteError in answer()"),
        (ProviderError("\x1b[31mred\nline \ud800"), r"\x1b[31mred\x0aline \ud800"),
        (ProviderError("x" * 5_000), "x" * 999 + "…"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_whatever_a_provider_raises_is_its_own_fault(
    raised: BaseException,
    words: str,
    folder: Path,
    *,
    blocking: bool,
) -> None:
    """A built-in timeout is not our deadline; cancelling is not the end of the run; the words are safe to keep.

    Those of a library's error are not kept at all: it may repeat the reply that it could not read.
    """
    provider = Scripted([raised, verdict()], blocking=blocking)
    (found,) = run(folder, provider, [request()])
    assert found is not None
    (fault,) = logged(folder, AttemptFailed)
    assert (fault.code, fault.words, fault.reply) == ("provider_error", words, None)
    assert provider.calls[1].complaint == ""


@pytest.mark.parametrize("said", [None, b"{}", 7, {"text": "x"}, Reply(text=7), Reply(text="x", tokens=(1, "x"))])  # type: ignore[arg-type] # wrong on purpose
def test_what_is_no_reply_is_the_providers_fault(said: object, folder: Path) -> None:
    """And not the juror's."""
    run(folder, Scripted([said, verdict()]), [request()])
    assert faults(folder) == ["provider_error"]


def test_an_unknown_provider_is_an_error_of_its_call(folder: Path) -> None:
    """The others are asked."""
    found = run(folder, Scripted([verdict()]), [request(actor=actor(provider="none")), request("j2")])
    assert found[0] is None
    assert found[1] is not None
    assert "'none'" in logged(folder, AttemptFailed)[0].words


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("[]", "malformed"),
        ("{}", "missing_field"),
        (verdict(by="j2"), "identity_mismatch"),
        (Reply(text=verdict(), model="m2"), "identity_mismatch"),
        (Reply(text=verdict(), provider="other"), "identity_mismatch"),
        (verdict(citations=[INVENTED]), "quote_mismatch"),
        (verdict(citations=[MISPLACED]), "quote_misplaced"),
        (verdict(reason="See E99."), "unadmitted_citation"),
        (verdict(citations=[MISPLACED, INVENTED], reason="See E99."), "quote_mismatch"),
        ('{"reason":"\ud800"}', "malformed"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_each_fault_has_its_code(said: object, code: str, folder: Path) -> None:
    """And costs one attempt."""
    run(folder, Scripted([said, verdict()]), [request()])
    assert faults(folder) == [code]
    assert logged(folder, Answered)[0].attempt == 2


def test_every_citation_of_every_attempt_that_parsed_is_logged(folder: Path) -> None:
    """With its quote, so that it can be checked again, and where it stands instead."""
    said = verdict(citations=[SPAN, MISPLACED, INVENTED], reason="E99 and E98")
    run(folder, Scripted(["prose", said, verdict()]), [request()])
    cited = logged(folder, Cited)
    assert [event.status for event in cited] == ["verified", "misplaced", "mismatch", "unadmitted", "unadmitted"]
    assert {event.key.rpartition("/")[0] for event in cited} == {"citation/t1/-/verdict/j1/2"}
    assert (cited[1].found, cited[1].found_in, cited[2].quote) == (4, "E1", INVENTED["quote"])
    assert (cited[3].source, cited[3].quote) == ("E99", "E99")


def test_words_that_are_cut_for_the_log_are_told_as_they_stand_there(folder: Path) -> None:
    """An answer that is wrong in many places has a long complaint; its run can be walked through again all the same."""
    wrong = [INVENTED | {"source": "E" * 100 + str(n), "quote": f"{n} was never said " * 8} for n in range(8)]
    requests = [request()]
    run(folder, Scripted([verdict(citations=wrong), verdict()]), requests)
    (fault,) = logged(folder, AttemptFailed)
    assert len(fault.words) == MAX_WORDS
    replayed(folder, requests)


@pytest.mark.parametrize("strict", [False, True])
def test_bad_citations_sink_the_last_attempt_only_where_that_is_asked_for(
    folder: Path,
    *,
    strict: bool,
) -> None:
    """A juror's answer counts without their weight; a judge's verdict does not."""
    said = verdict(citations=[INVENTED])
    (found,) = run(folder, Scripted([said]), [request(strict_citations=strict)], Limits(max_attempts=2))
    assert (found is None) == strict
    assert faults(folder) == ["quote_mismatch"] * (2 if strict else 1)
    assert [event.status for event in logged(folder, Cited)] == ["mismatch"] * 2


def test_a_hung_provider_is_left_behind_at_its_deadline_and_its_slot_is_free(folder: Path) -> None:
    """With one slot, those that wait behind it are asked; what it gives later is thrown away."""
    release = threading.Event()

    def script(call: Call) -> str:
        if call.actor.id == "j1":
            release.wait(60)
        return verdict(reason=call.actor.id)

    provider = Scripted(script, blocking=True)
    limits = Limits(deadline=0.3, concurrency=1, max_attempts=1)
    with Journal.create(folder, opened(limits)) as journal:
        caller = Caller(journal, {"script": provider})
        found = caller.ask([request(seat) for seat in ("j1", "j2", "j3")])
        release.set()
        for thread in threading.enumerate():
            if thread.name == "jury-call":
                thread.join(60)
        again = caller.ask([request("j4")])
    assert [answer and answer.reason for answer in [*found, *again]] == [None, "j2", "j3", "j4"]  # type: ignore[union-attr] # verdicts
    (fault,), (absent,) = logged(folder, AttemptFailed), logged(folder, WentAbsent)
    assert (fault.code, fault.words, absent.code) == ("timeout", "no answer within 0.3 s", "timeout")
    assert len(logged(folder, Answered)) == 3


def test_a_deadline_is_counted_from_when_a_call_begins(folder: Path) -> None:
    """Eight calls through one slot take longer than one deadline, and none of them is late."""
    limits = Limits(deadline=1.0, concurrency=1)

    def slow(_: Call) -> str:
        time.sleep(0.2)
        return verdict()

    found = run(folder, Scripted(slow, blocking=True), [request(f"j{n}") for n in range(8)], limits)
    assert None not in found


@pytest.mark.parametrize("blocking", [False, True])
def test_what_comes_after_its_deadline_is_a_timeout(folder: Path, *, blocking: bool) -> None:
    """Also of a provider that cannot be interrupted."""
    waits = iter([0.4, 0.0])

    def slow(_: Call) -> str:
        time.sleep(next(waits))
        return verdict()

    (found,) = run(folder, Scripted(slow, blocking=blocking), [request()], Limits(deadline=0.2))
    assert found is not None
    assert faults(folder) == ["timeout"]


def test_so_many_calls_are_under_way_and_no_more(folder: Path) -> None:
    """The limit is met and kept."""
    now, most, lock = 0, 0, threading.Lock()
    full = threading.Event()

    def count(_: Call) -> str:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
            if now == 3:
                full.set()
        full.wait(30)
        with lock:
            now -= 1
        return verdict()

    found = run(folder, Scripted(count, blocking=True), [request(f"j{n}") for n in range(12)], Limits(concurrency=3))
    assert (most, None in found) == (3, False)


def test_providers_that_do_not_block_are_called_in_order_and_so_logged(folder: Path) -> None:
    """One juror's attempts before the next juror's, in the calling thread."""
    threads = set()

    def script(call: Call) -> str:
        threads.add(threading.current_thread())
        return "prose" if call.attempt == 1 else verdict()

    provider = Scripted(script)
    run(folder, provider, [request(f"j{n}") for n in range(4)])
    expected = [(f"j{n}", attempt) for n in range(4) for attempt in (1, 2)]
    assert [(call.actor.id, call.attempt) for call in provider.calls] == expected
    assert [(event.actor, event.attempt) for event in logged(folder, AttemptFailed | Answered)] == expected  # type: ignore[arg-type] # isinstance takes unions
    assert threads == {threading.current_thread()}


def test_answers_are_logged_as_they_arrive_and_returned_in_order(folder: Path) -> None:
    """Who is quick does not wait in the log for who is slow."""
    first = threading.Event()

    def script(call: Call) -> str:
        if call.actor.id == "j1":
            first.wait(30)
        return verdict(reason=call.actor.id)

    def seen(event: Event) -> None:
        if isinstance(event, Answered) and event.actor == "j2":
            first.set()

    requests = [request("j1"), request("j2")]
    with Journal.create(folder, opened()) as journal:
        found = Caller(journal, {"script": Scripted(script, blocking=True)}, seen).ask(requests)
        journal.put(ended())
    assert [answer.reason for answer in found] == ["j1", "j2"]  # type: ignore[union-attr] # verdicts
    assert [event.actor for event in logged(folder, Answered)] == ["j2", "j1"]
    replayed(folder, requests)


def test_a_provider_that_hangs_again_and_again_is_not_called_any_more(folder: Path) -> None:
    """Each hung call holds a thread; there are only so many."""
    release = threading.Event()
    provider = Scripted(lambda _: release.wait(60) and verdict(), blocking=True)
    limits = Limits(deadline=0.01, concurrency=64, max_attempts=1)
    run(folder, provider, [request(f"j{n}") for n in range(ABANDONED_LIMIT + 100)], limits)
    release.set()
    codes = faults(folder)
    assert len(provider.calls) < len(codes) == ABANDONED_LIMIT + 100
    assert set(codes) == {"timeout", "provider_error"}
    assert ABANDONED_LIMIT <= codes.count("timeout") == len(provider.calls) <= ABANDONED_LIMIT + limits.concurrency


@pytest.mark.parametrize("wish", [KeyboardInterrupt, SystemExit])
def test_a_provider_that_ends_its_own_thread_ends_nothing_else(wish: type[BaseException], folder: Path) -> None:
    """A library that calls `sys.exit` is one juror's fault; nobody at the keyboard reaches such a thread."""
    provider = Scripted(lambda call: wish() if call.actor.id == "j3" else verdict(), blocking=True)
    requests = [request(f"j{n}") for n in range(1, 5)]
    found = run(folder, provider, requests, Limits(max_attempts=1))
    assert [answer is None for answer in found] == [False, False, True, False]
    assert faults(folder) == ["provider_error"]


@pytest.mark.parametrize("wish", [KeyboardInterrupt, SystemExit])
def test_a_wish_to_end_the_process_ends_the_run_and_leaves_a_log_to_go_on_with(
    wish: type[BaseException], folder: Path
) -> None:
    """The answers before it are in the log, and are not asked for again."""
    provider = Scripted(lambda call: wish() if call.actor.id == "j3" else verdict())
    requests = [request(f"j{n}") for n in range(1, 5)]
    journal = Journal.create(folder, opened(Limits(concurrency=1)))
    with pytest.raises(wish), journal:
        Caller(journal, {"script": provider}).ask(requests)
    again = Scripted([verdict()])
    with Journal.resume(folder) as journal:
        assert None not in Caller(journal, {"script": again}).ask(requests)
        journal.put(ended(1))
    assert [call.actor.id for call in again.calls] == ["j3", "j4"]
    replayed(folder, requests)


def test_an_interrupt_while_a_provider_hangs_is_heard(folder: Path) -> None:
    """The run does not wait for a deadline to see that somebody pressed Ctrl-C."""
    release = threading.Event()

    def hang(_: Call) -> str:
        _thread.interrupt_main()
        release.wait(60)
        return verdict()

    journal = Journal.create(folder, opened())
    with pytest.raises(KeyboardInterrupt), journal:
        Caller(journal, {"script": Scripted(hang, blocking=True)}).ask([request()])
    release.set()
    with Journal.resume(folder) as journal:
        assert Caller(journal, {"script": Scripted([verdict()])}).ask([request()]) != [None]


def test_a_process_ends_though_a_provider_hangs(tmp_path: Path) -> None:
    """Nobody joins the thread of a call that was left behind."""
    program = """
import sys, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from juries import Scripted, opened, request
from a2a_trust.jury.calls import Caller
from a2a_trust.jury.journal import Journal
from a2a_trust.sources.jury_events import Limits

limits = Limits(deadline=0.05, max_attempts=1)
with Journal.create(Path(sys.argv[2]), opened(limits)) as journal:
    print(Caller(journal, {"script": Scripted(lambda _: time.sleep(3600), blocking=True)}).ask([request()]))
"""
    arguments = [sys.executable, "-c", program, str(Path(__file__).parent), str(tmp_path / "run")]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout == "[None]\n"
    assert faults(tmp_path / "run") == ["timeout"]


def test_the_budget_of_calls_is_kept_and_told(folder: Path) -> None:
    """Who is not asked is not absent; retries count as well."""
    provider = Scripted(lambda call: "prose" if call.attempt == 1 else verdict())
    requests = [request(f"j{n}") for n in range(1, 5)]
    found = run(folder, provider, requests, Limits(max_calls=5))
    assert [answer is not None for answer in found] == [True, True, False, False]
    assert len(provider.calls) == 5
    assert [event.what for event in logged(folder, RequestRefused)] == ["verdict/j3", "verdict/j4"]
    assert "5 calls" in logged(folder, RequestRefused)[0].reason
    assert logged(folder, WentAbsent) == []


def test_calls_are_counted_from_the_log(folder: Path) -> None:
    """The same in the run and when it is walked through again."""
    provider = Scripted(["prose", verdict(citations=[INVENTED]), verdict(), ProviderError("x"), verdict()])
    with Journal.create(folder, opened()) as journal:
        caller = Caller(journal, {"script": provider})
        caller.ask([request("j1"), request("j2")])
        journal.put(ended())
    for counted in (caller, replayed(folder, [request("j1"), request("j2")])):
        assert (counted.calls, counted.failed) == (5, 3)
        assert counted.faults == {"malformed": 1, "quote_mismatch": 1, "provider_error": 1}
        assert counted.infrastructure() == {}


@pytest.mark.parametrize(
    ("calls", "faults_by_code", "found"),
    [
        (8, {"timeout": 4}, {"timeout": 4}),
        (9, {"timeout": 4}, {}),
        (3, {"timeout": 3}, {}),
        (4, {"provider_error": 4}, {"provider_error": 4}),
        (10, {"timeout": 5, "malformed": 5}, {"malformed": 5, "timeout": 5}),
        (0, {}, {}),
    ],
)
def test_half_of_all_calls_failing_alike_is_infrastructure(
    calls: int, faults_by_code: dict[Any, int], found: dict[str, int]
) -> None:
    """And at least four: three calls are bad luck."""
    assert infrastructure(calls, faults_by_code) == found


@pytest.mark.parametrize(("dead", "found"), [({"j1"}, {}), ({"j1", "j2"}, {"provider_error": 12})])
def test_what_strikes_one_seat_alone_is_that_seats_own(dead: set[str], found: dict[str, int], folder: Path) -> None:
    """One of three judges that is down makes half of all calls fail, and is no fault of what all run on."""
    provider = Scripted(lambda call: ProviderError("down") if call.actor.id in dead else verdict())
    requests = [request(seat, item) for item in ("t1", "t2") for seat in ("j1", "j2", "j3")]
    with Journal.create(folder, opened()) as journal:
        caller = Caller(journal, {"script": provider})
        caller.ask(requests)
        journal.put(ended())
    assert caller.infrastructure() == replayed(folder, requests).infrastructure() == found


def test_to_open_a_seal_spends_no_call(folder: Path) -> None:
    """The budget is one of answers."""
    with Journal.create(folder, opened(Limits(max_calls=1))) as journal:
        caller = Caller(journal, {"script": Scripted([verdict()])})
        assert None not in caller.ask([request()])
        assert None not in caller.reveal([opening("j1"), opening("j2")])
    assert caller.calls == 1


def test_a_seal_that_nobody_opens_spends_no_call_either(folder: Path) -> None:
    """What failed is in the log, and in no number of calls."""
    with Journal.create(folder, opened()) as journal:
        caller = Caller(journal, {"script": Revealer([ProviderError("gone")])})
        assert caller.reveal([opening(f"j{number}") for number in range(4)]) == [None] * 4
    assert (caller.calls, caller.failed, caller.infrastructure()) == (0, 0, {})
    assert len(faults(folder)) == 12


def opening(seat: str = "j1") -> Opening:
    """A seal that is to be opened."""
    canonical = bytes(content_of(read_answer("verdict", verdict().encode())))
    return Opening(
        request=request(seat, step="open"), nonce="f" * 64, sealed=canonical, commitment=commitment("f" * 64, canonical)
    )


class Revealer(Scripted):
    """A provider that opens what it likes."""

    def reveal(self, call: Call, sealed: bytes) -> bytes:  # noqa: ARG002 - it does not care
        """Say what the script says."""
        self.calls.append(call)
        said = self._script[min(len(self.calls), len(self._script)) - 1]  # type: ignore[index] # a list here
        if isinstance(said, BaseException):
            raise said
        return said  # type: ignore[no-any-return]


def reveal(folder: Path, provider: Provider, openings: Sequence[Opening]) -> list[SealOpened | None]:
    """A run of nothing but openings, walked through again."""
    with Journal.create(folder, opened()) as journal:
        found = Caller(journal, {"script": provider}).reveal(openings)
        journal.put(ended())
    replay = Journal.replay(folder)
    again = Caller(replay, {}).reveal(openings)
    assert [(one and one.holds) for one in again] == [(one and one.holds) for one in found]
    replay.put(ended())
    replay.finish()
    return found


def test_a_seal_that_is_opened_honestly_holds(folder: Path) -> None:
    """Also where the same verdict is written in another way."""
    spaced = json.dumps(json.loads(verdict()), indent=2).encode()
    (honest,) = reveal(folder, Scripted([]), [opening()])
    assert honest is not None
    assert (honest.holds, honest.key) == (True, "opened/t1/j1")
    (other,) = reveal(folder.with_name("other"), Revealer([spaced]), [opening()])
    assert other is not None
    assert other.holds


def test_another_verdict_than_the_sealed_one_breaks_the_seal(folder: Path) -> None:
    """What was opened is kept, in canonical form."""
    (found,) = reveal(folder, Revealer([verdict(vote="not_guilty").encode()]), [opening()])
    assert found is not None
    assert not found.holds
    assert json.loads(bytes(found.verdict))["vote"] == "not_guilty"


def test_what_opens_nothing_is_a_fault(folder: Path) -> None:
    """No verdict at all, nothing in bytes, an error: then nobody opened it."""
    (found,) = reveal(folder, Revealer([b"\xff", "text", ProviderError("gone")]), [opening()])
    assert found is None
    assert faults(folder) == ["malformed", "provider_error", "provider_error"]
    assert logged(folder, WentAbsent)[0].step == "open"


def test_no_logged_answer_is_believed_that_cannot_have_been_accepted(folder: Path) -> None:
    """A log that is chained anew after an edit is held against what was asked."""
    run(folder, Scripted(["prose", verdict(citations=[SPAN])]), [request()])
    events = list(read_events(folder))
    changed = 0
    for number, event in enumerate(events):
        for name, value in (
            ("content", msgspec.Raw(verdict(vote="maybe").encode())),
            ("content", msgspec.Raw(verdict().encode())),
            ("content", msgspec.Raw(b'{"vote":"guilty"}')),
            ("attempt", 1 if isinstance(event, Answered) else 7),
            ("prompt", "0" * 64),
            ("shown", {}),
            ("status", "mismatch"),
            ("quote", "never written"),
            ("words", "other words"),
            ("step", "position"),
        ):
            if not hasattr(event, name) or getattr(event, name) == value:
                continue
            made = [*events[:number], msgspec.structs.replace(event, **{name: value}), *events[number + 1 :]]
            with scratch() as place:
                write(Path(place), made)
                with pytest.raises(DivergedError):
                    replayed(Path(place), [request()])
            changed += 1
    assert changed > 12


def write(folder: Path, events: Sequence[Event]) -> None:
    """Write events as a log that is sound."""
    import zstandard  # noqa: PLC0415 - only here

    before, lines = "0" * 64, []
    for event in events:
        line, before = line_of(event, before)
        lines.append(line)
    (folder / LOG_NAME).write_bytes(zstandard.ZstdCompressor(write_checksum=True).compress(b"".join(lines)))


class Killed(BaseException):
    """The process ends here."""


def script_of(seed: int) -> Callable[[Call], object]:
    """A provider's ways: what it gives at the nth attempt of each juror, always the same."""
    sayings: list[object] = [
        verdict(), verdict(citations=[SPAN]), verdict(citations=[INVENTED]), "prose", "{}", ProviderError("down"),
        verdict(reason="E99"), verdict(by="j9"),
    ]  # fmt: skip
    return lambda call: sayings[int(sha256(f"{seed}/{call.actor.id}/{call.attempt}"), 16) % len(sayings)]


def attempts_of(events: Sequence[Event]) -> list[tuple[Any, ...]]:
    """What was asked and what came of it, without what is told of time or of epochs."""
    kept = (Answered, AttemptFailed, Cited, WentAbsent)
    return sorted(
        (event.key.rpartition("/")[0] if isinstance(event, WentAbsent) else event.key, type(event).__name__)
        for event in events
        if isinstance(event, kept)
    )


@pytest.mark.usefixtures("no_waiting")
@given(
    seed=st.integers(0, 10**6),
    kills=st.lists(st.tuples(st.integers(1, 12), st.integers(0, 400)), max_size=4),
    blocking=st.booleans(),
)
def test_no_call_is_made_twice_whose_answer_is_in_the_log(
    *, seed: int, kills: list[tuple[int, int]], blocking: bool
) -> None:
    """Kill the run again and again, with its last bytes lost: it ends as it would have, and nothing is asked twice."""
    with scratch() as place:
        go_through_kills(Path(place), seed, kills, blocking=blocking)


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize("blocking", [False, True])
def test_a_run_may_be_killed_at_any_event(*, blocking: bool) -> None:
    """Each of them in turn, and each time that it is gone on with."""
    with scratch() as place:
        events = go_through_kills(Path(place) / "0", 5, [], blocking=blocking)
        for kill_at in range(1, events + 1):
            go_through_kills(Path(place) / str(kill_at), 5, [(kill_at, 0)], blocking=blocking)
        go_through_kills(Path(place) / "each", 5, [(1, 0)] * events, blocking=blocking)
    assert events > 20


def go_through_kills(place: Path, seed: int, kills: Sequence[tuple[int, int]], *, blocking: bool) -> int:
    """Go on with a run until no kill is left, and hold what came of it against a run that was never killed.

    A kill is the number of the event behind which the process ends, and how many bytes of the log do not survive it.
    Return how many events the run has beside its beginning and end.
    """
    requests = [request(f"j{n}", item) for item in ("t1", "t2") for n in range(4)]
    made: list[tuple[str, str, int]] = []

    def script(call: Call) -> object:
        made.append((call.item, call.actor.id, call.attempt))
        return script_of(seed)(call)

    run(place / "whole", Scripted(script_of(seed)), requests)
    folder = place / "run"
    Journal.create(folder, opened(Limits(concurrency=3))).close()
    first = (folder / LOG_NAME).stat().st_size
    for kill_at, lost in [*kills, (None, 0)]:
        made.clear()
        with Journal.resume(folder) as journal, contextlib.suppress(Killed):
            before = {event.key for event in logged(folder, Answered)}
            Caller(journal, {"script": Scripted(script, blocking=blocking)}, killer(kill_at)).ask(requests)
            journal.put(ended(journal.epoch))
        assert {f"answer/{item}/-/verdict/{seat}" for item, seat, _ in made} & before == set()
        assert len(set(made)) == len(made)
        if logged(folder, RunEnded):
            break
        files.truncate(folder / LOG_NAME, max(first, (folder / LOG_NAME).stat().st_size - lost))
    found = attempts_of(list(read_events(folder)))
    assert found == attempts_of(list(read_events(place / "whole")))
    replayed(folder, requests)
    return len(found)


def killer(kill_at: int | None) -> Callable[[Event], None]:
    """A listener that kills the process at the nth event."""
    numbers: Iterator[int] = itertools.count(1)

    def hear(_: Event) -> None:
        if next(numbers) == kill_at:
            raise Killed

    return hear


def test_an_interrupted_replay_of_an_unfinished_log_compares_what_there_is(folder: Path) -> None:
    """Whoever was answered is compared, whoever was not ends it."""
    provider = Scripted(lambda call: KeyboardInterrupt() if call.actor.id == "j2" else verdict())
    requests = [request("j1"), request("j2"), request("j3")]
    journal = Journal.create(folder, opened())
    with pytest.raises(KeyboardInterrupt), journal:
        Caller(journal, {"script": provider}).ask(requests)
    replay = Journal.replay(folder)
    with pytest.raises(LogEndError):
        Caller(replay, {}).ask(requests)
    replay.finish()


def test_who_was_absent_at_a_missed_quorum_is_asked_again_and_nobody_else(folder: Path) -> None:
    """In the next epoch, with attempts that number on; an absence elsewhere stands."""
    requests = [request("j1"), request("j2"), request("j1", step="baseline")]
    dead = Scripted(lambda call: verdict() if (call.actor.id, call.step) == ("j1", "verdict") else "prose")
    with Journal.create(folder, opened(Limits(max_attempts=2))) as journal:
        found = Caller(journal, {"script": dead}).ask(requests)
        assert [answer is None for answer in found] == [False, True, True]
        journal.put(QuorumMissed(key="quorum/t1/-/0", time=0, item="t1", present=1, needed=2, empanelled=2))
        journal.put(ended(0, finished=False))
    alive = Scripted(["prose", verdict()])
    with Journal.resume(folder) as journal:
        found = Caller(journal, {"script": alive}).ask(requests)
        journal.put(ended(1))
    assert [answer is None for answer in found] == [False, False, True]
    assert [(call.actor.id, call.attempt) for call in alive.calls] == [("j2", 3), ("j2", 4)]
    counted = replayed(folder, requests)
    assert (counted.calls, counted.failed) == (7, 5)


def test_an_absence_stands_where_no_quorum_was_missed(folder: Path) -> None:
    """Going on with a run asks nobody again who had all attempts."""
    with Journal.create(folder, opened()) as journal:
        Caller(journal, {"script": Scripted(["prose"])}).ask([request()])
    with Journal.resume(folder) as journal:
        assert Caller(journal, {"script": Scripted([])}).ask([request()]) == [None]


def test_the_same_step_may_be_taken_more_than_once(folder: Path) -> None:
    """By a number in its key."""
    requests = [request(number=n, round=1) for n in (1, 2)]
    run(folder, Scripted([verdict()]), requests)
    assert [event.key for event in logged(folder, Answered)] == [
        "answer/t1/-/verdict-1/j1",
        "answer/t1/-/verdict-2/j1",
    ]


def test_names_with_slashes_do_not_make_one_key_of_two(folder: Path) -> None:
    """Names of items come from whoever made the data set."""
    who = actor("b/-/verdict/c")
    other = request("c", "a/-/verdict/b")
    first = request(item="a", actor=who, expected=Expected(actor=who, item="a", options=OPTIONS))
    found = run(folder, Scripted([verdict(reason="1"), verdict(reason="2")]), [first, other])
    assert [answer.reason for answer in found] == ["1", "2"]
