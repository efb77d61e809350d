"""How soon `a2a-trust watch` has a row for what an agent did: from the frame that is durable to the row that is.

Writes so many session logs at once, each frame synced, in teams of a Lead and four teammates, while `watch` follows
them as users run it. A row counts as durable when the watcher has told it on its output, which it does after the sync.
With `--kills` the watcher is killed at random moments and started again; rows that a catch-up finds count when it ends.
At the end everything is compared: each result has its row, none has two, `verify` finds nothing, and the agents are,
byte for byte, those of one `backfill` over the finished logs.

    python benchmarks/live.py --minutes 2
    python benchmarks/live.py --minutes 10 --kills
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO

import zstandard

START = 1_790_000_000_000
TEAM = 5
TOOLS = ("read", "write", "edit", "bash", "grep", "glob", "python")
FILLER = 2_000
"""Characters of a result."""
ERROR_SHARE = 0.15
KILL_SECONDS = (4.0, 40.0)
"""A watcher lives so long before it is killed, at least and at most."""
PATIENCE_SECONDS = 60.0


class Session(threading.Thread):
    """A session that writes its log: at random moments a call, then its result, each in a frame that is synced."""

    def __init__(self, root: Path, number: int, per_second: float, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self.durable: dict[str, float] = {}
        """By the id of its row, when each result was durable."""
        self._luck = random.Random(number)  # noqa: S311 - made-up work, not a secret
        self._mean = 1 / per_second
        self._halt = stop
        lead = number - number % TEAM
        self._session = f"live-{number}"
        self._compressor = zstandard.ZstdCompressor(level=3)
        self._seq = 0
        self._path = root / f"project-{lead // TEAM}" / self._session / "session.jsonl.zstd"
        self._path.parent.mkdir(parents=True)
        header = {"type": "session", "version": 0, "id": self._session, "createdAt": START, "cwd": "/src"}
        if number != lead:
            header |= {"parentSession": f"live-{lead}", "origin": "subagent"}
        self._append([header])
        members = [f"live-{lead + place}" for place in range(1, TEAM)] if number == lead else []
        self._append([self._event("turn/start", {"turn": 1}), *(self._member(member) for member in members)])

    def run(self) -> None:
        """Work until somebody asks to stop."""
        while not self._halt.wait(self._luck.expovariate(1 / self._mean)):
            call = f"call-{self._seq}"
            named = {"turn": 1, "step": 1, "callId": call, "name": self._luck.choice(TOOLS), "arguments": "{}"}
            self._append([self._event("tool/call", named)])
            failed = self._luck.random() < ERROR_SHARE
            text = [{"type": "text", "text": self._luck.randbytes(FILLER // 2).hex()}]
            block = {"type": "tool-result", "toolCallId": call, "content": text, "isError": failed}
            message = {"source": {"kind": "tool", "callId": call}, "content": [block], "role": "user", "id": call}
            self._append([self._event("tool/result", {"turn": 1, "step": 1, "message": message})])
            self.durable[f"tool:{self._session}:{call}"] = time.monotonic()

    def _member(self, member: str) -> dict[str, object]:
        who = {"id": member, "name": f"worker-{member[-1]}", "description": "Works.", "phase": "active"}
        who |= {"provider": "spawn", "context": "fresh"}
        return self._event("team/member", {"version": 1, "teamId": self._session, "member": who})

    def _event(self, kind: str, data: dict[str, object]) -> dict[str, object]:
        self._seq += 1
        return {"type": kind, "seq": self._seq - 1, "time": int(time.time() * 1000), "data": data}

    def _append(self, lines: list[dict[str, object]]) -> None:
        data = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        frame = self._compressor.compressobj()
        with self._path.open("ab") as file:
            file.write(frame.compress(data.encode()) + frame.flush())
            file.flush()
            os.fsync(file.fileno())


class Watch:
    """The watcher, started again whenever it is killed, and when it told which row."""

    def __init__(self, logs: Path, home: Path) -> None:
        self._command = [sys.executable, "-m", "a2a_trust", "watch", str(logs), "--home", str(home), "--json", "-v"]
        self._audit = home / "audit.jsonl"
        self._seen = 0
        self.told: dict[str, float] = {}
        self.ready: list[float] = []
        """When each start had caught up."""
        self.gone: list[float] = []
        """When each was killed."""
        self.cpu = 0.0
        self.start()

    def start(self) -> None:
        """Start it, and read what it says."""
        self.process = subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert self.process.stdout is not None  # noqa: S101 - it was asked for
        self._reader = threading.Thread(target=self._read, args=(self.process.stdout,), daemon=True)
        self._reader.start()

    def end(self, number: signal.Signals) -> int:
        """Stop or kill it, and return its exit code."""
        self.process.send_signal(number)
        self.gone.append(time.monotonic())
        _, status, usage = os.wait4(self.process.pid, 0)
        self.cpu += usage.ru_utime + usage.ru_stime
        self._reader.join()
        return os.waitstatus_to_exitcode(status)

    def _read(self, output: IO[bytes]) -> None:
        for line in output:
            now = time.monotonic()
            try:
                said = json.loads(line)
            except ValueError:
                # The last line of one that was killed.
                continue
            if said["event"] == "caught-up":
                for row in self.new_ids():
                    self.told.setdefault(row, now)
                self.ready.append(now)
            elif "id" in said:
                self.told.setdefault(said["id"], now)

    def new_ids(self) -> list[str]:
        """Return the ids of the rows behind those that were looked at before."""
        with self._audit.open("rb") as file:
            file.seek(self._seen)
            lines = file.read().rpartition(b"\n")[0].splitlines()
            self._seen += sum(map(len, lines)) + len(lines)
        return [json.loads(line)["id"] for line in lines]


def wait_until(what: str, holds: object) -> None:
    """Wait until something holds; end the benchmark where it never does."""
    until = time.monotonic() + PATIENCE_SECONDS
    while not holds():  # type: ignore[operator]
        if time.monotonic() > until:
            sys.exit(f"{what}: not after {PATIENCE_SECONDS:.0f} s")
        time.sleep(0.05)


def figures(seconds: list[float]) -> str:
    """Return median, 95th percentile and greatest of some times."""
    if len(seconds) < 2:  # noqa: PLR2004 - quantiles need two
        return "none"
    cut = statistics.quantiles(seconds, n=20)[-1]
    return f"p50 {statistics.median(seconds):.3f} s, p95 {cut:.3f} s, max {max(seconds):.3f} s ({len(seconds)} rows)"


def check(root: Path, expected: set[str]) -> list[str]:
    """Return what is wrong with the home that the watcher left."""
    ids = [json.loads(line)["id"] for line in (root / "home/audit.jsonl").read_bytes().splitlines()]
    wrong = []
    if lost := expected - set(ids):
        wrong.append(f"{len(lost)} rows lost, such as {min(lost)}")
    if len(ids) != len(set(ids)):
        wrong.append(f"{len(ids) - len(set(ids))} rows twice")
    for arguments in (
        ["verify", "--home", str(root / "home")],
        ["backfill", str(root / "logs"), "--home", str(root / "once")],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "a2a_trust", *arguments], capture_output=True, text=True, check=False
        )
        if done.returncode:
            wrong.append(f"{arguments[0]} ends with {done.returncode}: {done.stderr}")
    agents = [json.loads((root / home / "ledger.json").read_bytes())["agents"] for home in ("home", "once")]
    if json.dumps(agents[0]) != json.dumps(agents[1]):
        wrong.append("the agents are not those of one backfill")
    return wrong


def main() -> None:
    """Write, watch, kill, measure, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--per-second", type=float, default=1.0, help="calls of each session in a second, in the mean")
    parser.add_argument("--kills", action="store_true", help="kill the watcher now and then")
    parser.add_argument("--folder", type=Path, help="where to write; default: a temporary folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        root, stop = Path(folder), threading.Event()
        sessions = [Session(root / "logs", number, options.per_second, stop) for number in range(options.sessions)]
        watch = Watch(root / "logs", root / "home")
        wait_until("catching up", lambda: watch.ready)
        began = time.monotonic()
        for session in sessions:
            session.start()
        luck = random.Random(1)  # noqa: S311 - moments, not secrets
        while (left := began + 60 * options.minutes - time.monotonic()) > 0:
            time.sleep(min(left, luck.uniform(*KILL_SECONDS)) if options.kills else left)
            if options.kills and time.monotonic() < began + 60 * options.minutes:
                watch.end(signal.SIGKILL)
                watch.start()
        stop.set()
        for session in sessions:
            session.join()
        durable = {row: when for session in sessions for row, when in session.durable.items()}
        wait_until("the last rows", lambda: durable.keys() <= watch.told.keys())
        code = watch.end(signal.SIGTERM)
        wrong = check(root, set(durable))
    late = {row: max(0.0, watch.told[row] - when) for row, when in durable.items()}
    down = list(zip(watch.gone, [*watch.ready[1:], float("inf")], strict=False))
    live = [late[row] for row, when in durable.items() if not any(a - 1 <= when <= b for a, b in down[:-1])]
    took = time.monotonic() - began
    print(
        f"{options.sessions} sessions, {len(durable)} results in {options.minutes:g} min; load {os.getloadavg()[0]:.1f}"
    )
    print(f"while it ran   {figures(live)}")
    if options.kills:
        print(f"killed {len(watch.gone) - 1} times; with the time it was down: {figures(list(late.values()))}")
    print(f"CPU            {watch.cpu / took:.0%} of one core")
    print(f"stopped with   exit code {code}")
    print(
        "wrong          "
        + ("; ".join(wrong) or "nothing: no row lost, none twice, verified, agents as of one backfill")
    )
    sys.exit(bool(wrong) or code)


if __name__ == "__main__":
    main()
