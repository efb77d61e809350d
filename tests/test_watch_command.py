"""The command `watch` as users run it: a process of its own, beside whoever writes the logs."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from dshlog import LogBuilder, frames
from homes import FIXTURES, LOG_GLOB, agents_of, ingest, rows_of

from a2a_trust.store.snapshot import LEDGER, read_snapshot
from a2a_trust.store.verify import verify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PATIENCE_S = 60
"""No test waits for a time; after this one gives up on what never comes."""
TREE = FIXTURES / "made-failures"
SOME_ROWS = 30
"""So many and more are in these logs; it is enough to see that it works."""
T = 1_796_100_000_000
ROUNDS = 40

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX start and stop these processes")


class Watch:
    """A watcher in a process of its own, and what it has printed so far."""

    def __init__(self, root: Path, *arguments: str, **streams: Any) -> None:  # noqa: ANN401 - as Popen takes them
        """Start it over the folder `logs`."""
        self.root = root
        (root / "logs").mkdir(exist_ok=True)
        command = [sys.executable, "-m", "a2a_trust", "watch", str(root / "logs"), "--home", str(root / "home")]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams
        kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
        self.process = subprocess.Popen(
            [*command, *arguments], env={**kept, "HOME": str(root), "LANG": "C.UTF-8"}, text=True, **streams
        )
        self.out: list[str] = []
        self.err: list[str] = []
        self._readers = [
            threading.Thread(target=into.extend, args=(stream,), daemon=True)
            for into, stream in ((self.out, self.process.stdout), (self.err, self.process.stderr))
            if stream is not None
        ]
        for reader in self._readers:
            reader.start()

    def until(self, holds: Callable[[], object]) -> None:
        """Wait until something holds."""
        end = time.monotonic() + PATIENCE_S
        while not holds():
            assert self.process.poll() is None, "".join(self.err)
            assert time.monotonic() < end, "".join(self.out + self.err)
            time.sleep(0.01)

    def until_caught_up(self) -> None:
        """Wait until it says that it follows."""
        self.until(lambda: any("caught up" in line or "no logs yet" in line for line in self.err))

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and return the exit code, once all that was printed is read."""
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE_S)
        self.close()
        return code

    def close(self) -> None:
        """Let nothing of it be left."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for reader in self._readers:
            reader.join()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()

    def rows(self) -> int:
        """Rows in the audit log."""
        return len(rows_of(self.root / "home")) if (self.root / "home" / "audit.jsonl").exists() else 0

    def held(self) -> int:
        """Rows that the snapshot holds."""
        ledger = read_snapshot(self.root / "home" / LEDGER)
        return ledger.audit.rows if ledger else 0


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Watch]]:
    """Start watchers; none outlives its test."""
    started: list[Watch] = []

    def begin(*arguments: str, **streams: object) -> Watch:
        started.append(Watch(tmp_path, *arguments, **streams))
        return started[-1]

    yield begin
    for one in started:
        one.close()


def write_live(root: Path, seed: int = 1, tree: Path = TREE) -> None:
    """Write logs as a harness does: frame by frame, one now and then torn first, all logs at once."""
    luck = random.Random(seed)  # noqa: S311 - the moments of a test
    left = {root / path.relative_to(tree): frames(path.read_bytes()) for path in sorted(tree.rglob(LOG_GLOB))}
    while left:
        path = luck.choice(sorted(left))
        piece = left[path].pop(0)
        path.parent.mkdir(parents=True, exist_ok=True)
        whole = path.stat().st_size if path.exists() else 0
        if luck.random() < 0.2:
            with path.open("ab") as file:
                file.write(piece[: luck.randint(0, len(piece))])
            time.sleep(luck.random() / 100)
            os.truncate(path, whole)
        with path.open("ab") as file:
            file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        if not left[path]:
            del left[path]
        time.sleep(luck.random() / 200)


def is_complete(root: Path) -> bool:
    """Whether the home holds what one run over the logs gives, and every row is sound."""
    ingest(root / "once", TREE)
    return agents_of(root / "home") == agents_of(root / "once") and not verify(root / "home").defects


@pytest.mark.parametrize("how", [(), ("--poll",)], ids=["told", "polled"])
def test_logs_are_followed_while_written(start: Callable[..., Watch], tmp_path: Path, how: tuple[str, ...]) -> None:
    """Whatever stood in the logs at the moments at which they were read: in the end all is there, once."""
    ingest(tmp_path / "once", TREE)
    expected = len(rows_of(tmp_path / "once"))
    watch = start(*how)
    write_live(tmp_path / "logs")
    watch.until(lambda: watch.rows() >= expected)
    assert watch.end() == 0
    assert watch.held() == expected
    assert is_complete(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_stops_it_cleanly(start: Callable[..., Watch], tmp_path: Path, number: signal.Signals) -> None:
    """Everything that was read is in the snapshot, and the exit code says that all is well."""
    watch = start()
    write_live(tmp_path / "logs")
    watch.until(lambda: watch.rows() > SOME_ROWS)
    assert watch.end(number) == 0
    assert watch.held() == watch.rows()
    assert watch.err[-1].startswith("a2a-trust: stopped; ")


def test_it_outlives_the_terminal_where_that_is_asked_for(start: Callable[..., Watch], tmp_path: Path) -> None:
    """Started by `nohup`, it goes on when the terminal is closed."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        watch = start()
    finally:
        signal.signal(signal.SIGHUP, before)
    watch.until(lambda: watch.err)
    watch.process.send_signal(signal.SIGHUP)
    write_live(tmp_path / "logs")
    watch.until(lambda: watch.rows() > SOME_ROWS)
    assert watch.end() == 0


def test_a_second_signal_stops_it_at_once(start: Callable[..., Watch], tmp_path: Path) -> None:
    """Where the first one waits for another writer, nobody has to wait with it; the home is sound."""
    watch = start()
    write_live(tmp_path / "logs")
    watch.until(lambda: watch.rows() > SOME_ROWS)
    watch.process.send_signal(signal.SIGSTOP)
    for _ in range(2):
        watch.process.send_signal(signal.SIGTERM)
        watch.process.send_signal(signal.SIGINT)
    watch.process.send_signal(signal.SIGCONT)
    assert watch.process.wait(PATIENCE_S) in {128 + signal.SIGTERM, 128 + signal.SIGINT}
    assert verify(tmp_path / "home").exit_code == 0


def test_notable_steps_are_printed_and_nothing_else(start: Callable[..., Watch], tmp_path: Path) -> None:
    """A line for each step of 0.05 or more."""
    watch = start()
    watch.until(lambda: watch.err)
    write_live(tmp_path / "logs")
    watch.until(lambda: watch.rows() > SOME_ROWS and watch.held() == watch.rows())
    watch.end()
    notable = [row for row in rows_of(tmp_path / "home") if row.delta is not None and abs(row.delta) >= 0.05]
    assert 0 < len(watch.out) <= len(notable)
    assert all(" ▼ " in line or " ▲ " in line for line in watch.out)


def test_json_is_a_line_for_each_event(start: Callable[..., Watch], tmp_path: Path) -> None:
    """The catch-up, each row, the end; nothing else stands between them."""
    write_live(tmp_path / "logs")
    watch = start("--json", "--verbose")
    watch.until_caught_up()
    log = LogBuilder("later", created_at=T, agent_preset="newcomer")
    log.end_seed()
    log.turn_start()
    log.tool("bash", "Error: no", is_error=True)
    log.write(tmp_path / "logs")
    watch.until(lambda: any('"event":"step"' in line for line in watch.out))
    assert watch.end() == 0
    events = [json.loads(line) for line in watch.out]
    assert [events[0]["event"], events[-1]["event"]] == ["caught-up", "stopped"]
    assert events[0]["files"] == len(list(TREE.rglob(LOG_GLOB)))
    assert events[-1]["rows"] == len(events) - 2
    (step,) = (event for event in events if event["event"] == "step")
    assert (step["agent"], step["dim"], step["before"], step["after"]) == ("newcomer", "competence", 0.5, 0.35)


def test_names_do_nothing_to_the_terminal(start: Callable[..., Watch], tmp_path: Path) -> None:
    """What logs say is printed as text, on both streams."""
    watch = start("--verbose")
    watch.until(lambda: watch.err)
    log = LogBuilder("evil \x1b[31m", created_at=T, agent_preset="\x1b]0;title\x07[bold]\n\u202e")
    log.end_seed()
    log.turn_start()
    log.tool("\x9b31m", "Error: \x1b[2J", is_error=True)
    log.write(tmp_path / "logs")
    watch.until(lambda: any("tool-error" in line for line in watch.out))
    watch.end()
    assert not {char for line in watch.out + watch.err for char in line[:-1] if not char.isprintable()}


@pytest.mark.parametrize("closed", ["reader gone", "no output"])
def test_without_a_reader_it_goes_on_recording(start: Callable[..., Watch], tmp_path: Path, closed: str) -> None:
    """A pipe whose reader has gone, or an output that is closed, costs the lines and no row."""
    if closed == "reader gone":
        reading, writing = os.pipe()
        watch = start("--verbose", stdout=writing)
        os.close(writing)
        os.close(reading)
    else:
        watch = start("--verbose", stdout=None, preexec_fn=lambda: os.close(1))
    watch.until(lambda: watch.err)
    write_live(tmp_path / "logs")
    watch.until(lambda: watch.rows() > SOME_ROWS and watch.held() == watch.rows())
    assert watch.end() == 0
    assert "Traceback" not in "".join(watch.err)
    assert is_complete(tmp_path)


def test_what_is_not_there_yet_is_waited_for(start: Callable[..., Watch], tmp_path: Path) -> None:
    """Nothing is made before there is something to record."""
    watch = start()
    (tmp_path / "logs").rmdir()
    watch.until(lambda: watch.err)
    assert not (tmp_path / "home").exists()
    write_live(tmp_path / "logs")
    watch.until(lambda: watch.held() > SOME_ROWS)
    assert watch.end() == 0


def test_a_backfill_runs_beside_it(start: Callable[..., Watch], tmp_path: Path) -> None:
    """Neither keeps the other out, and no row is there twice."""
    watch = start()
    writer = threading.Thread(target=write_live, args=(tmp_path / "logs",))
    writer.start()
    while writer.is_alive():
        ingest(tmp_path / "home", tmp_path / "logs")
    writer.join()
    ingest(tmp_path / "home", tmp_path / "logs")
    assert watch.end() == 0
    assert is_complete(tmp_path)


def kill_rounds(start: Callable[..., Watch], root: Path, rounds: int) -> None:
    """Kill watchers at random moments while logs are written, and let the last one finish."""
    luck = random.Random(20_260_101)  # noqa: S311 - the moments of a test
    writer = threading.Thread(target=write_live, args=(root / "logs",))
    writer.start()
    for _ in range(rounds):
        watch = start()
        # Waiting is the point: nothing tells the moment at which a real process is killed.
        time.sleep(luck.uniform(0, 1.5))
        watch.end(signal.SIGKILL)
    writer.join()
    watch = start()
    watch.until_caught_up()
    assert watch.end() == 0
    assert is_complete(root)


def test_killed_watchers_lose_nothing(start: Callable[..., Watch], tmp_path: Path) -> None:
    """SIGKILL at random moments: in the end every row is there, none twice, and the home verifies."""
    kill_rounds(start, tmp_path, 2)


@pytest.mark.slow
def test_watchers_killed_again_and_again_lose_nothing(start: Callable[..., Watch], tmp_path: Path) -> None:
    """The same, dozens of times over one home."""
    kill_rounds(start, tmp_path, ROUNDS)
