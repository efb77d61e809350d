"""One command in a process of its own, and what it cost: `python measured.py -- ARGUMENTS` is `a2a-trust ARGUMENTS`.

With `--decode FOLDER` the command is the baseline instead: every log below a folder is decoded, frame by frame, and
nothing else. The figures of the process, and those of the processes that it started, go to standard error as JSON.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

_KB = 1 << 10 if sys.platform == "darwin" else 1
_SEP = "--"


class Cost(NamedTuple):
    """What one run took."""

    cpu: float
    """Seconds of processor time, of all processes."""
    wall: float
    parent_mb: float
    """Peak of resident memory."""
    worker_mb: float
    """The greatest peak among the processes that it started; 0 where there were none."""


def run(*arguments: str, environ: dict[str, str] | None = None, data: bytes = b"") -> Cost:
    """Run `a2a-trust` with arguments, or the baseline, and return what it took."""
    mode = () if arguments[0] == "--decode" else (_SEP,)
    command = [sys.executable, __file__, *mode, *arguments]
    started = time.monotonic()
    done = subprocess.run(command, env=environ, input=data, capture_output=True, check=False)
    wall = time.monotonic() - started
    try:
        cpu, parent, worker = json.loads(done.stderr.splitlines()[-1])
    except (ValueError, IndexError):
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr.decode(errors='replace')}") from None
    return Cost(cpu, wall, parent, worker)


def decode(folder: Path) -> None:
    """Decode every log below a folder, one frame after the other."""
    from a2a_trust.sources import zstd_frames  # noqa: PLC0415 - the command must not pay for it

    for path in sorted(folder.rglob("session*.zstd")):
        with path.open("rb") as file:
            for _ in zstd_frames.walk(file, 0):
                pass


def _main() -> None:
    if sys.argv[1] == "--decode":
        decode(Path(sys.argv[2]))
        return
    sys.argv[1:2] = []
    from a2a_trust.__main__ import main  # noqa: PLC0415 - nor the baseline for this

    main()


if __name__ == "__main__":
    code: object = 0
    try:
        _main()
    except SystemExit as stop:
        code = stop.code
    own, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime
    figures = (cpu, own.ru_maxrss / _KB / 1024, others.ru_maxrss / _KB / 1024)
    sys.stdout.flush()
    sys.stderr.write(json.dumps(figures) + "\n")
    sys.exit(code if isinstance(code, int) else 1)
