"""Reading many logs, in several processes where that pays: whatever one log does to its reader, the others are read."""

from __future__ import annotations

import concurrent.futures
import functools
import multiprocessing
import os
import signal
import threading
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING

import msgspec
from a2a_trust.backfill.extract import Extract, Job, extract, failed

if TYPE_CHECKING:
    from collections.abc import Iterator

JOBS_AHEAD = 4
"""Logs handed to each process ahead of time: so much of what was read waits in memory at most."""
KEPT_BYTES = 16 << 20
_JOB = msgspec.msgpack.Decoder(Job)
_EXTRACT = msgspec.msgpack.Decoder(Extract)


def extract_all(jobs: Iterator[Job], processes: int) -> Iterator[Extract]:
    """Yield what each log gave, in whatever order they are done."""
    _keep_freed_memory()
    if processes <= 1:
        yield from map(extract, jobs)
        return
    anything_read = False
    broken = True
    while broken:
        broken, flying = False, dict[concurrent.futures.Future[bytes], Job]()
        try:
            for done in _in_processes(jobs, flying, processes):
                anything_read = True
                yield done
        except BrokenProcessPool:
            # A process died: of one of the logs that were being read, or it was killed. Each of them gets its own.
            broken = True
            alone = [(job, _alone(job)) for job in flying.values()]
            anything_read = anything_read or any(found is not None for _, found in alone)
            for job, found in alone:
                if found is not None:
                    yield found
                elif anything_read:
                    yield failed(job, "the process that read it died")
                else:
                    # Where no process ever read anything there can be none.
                    yield extract(job)
        except (OSError, NotImplementedError, ImportError):
            yield from map(extract, flying.values())
            yield from map(extract, jobs)


def _in_processes(
    jobs: Iterator[Job], flying: dict[concurrent.futures.Future[bytes], Job], processes: int
) -> Iterator[Extract]:
    """Yield what each log gave. `flying` holds what was taken of the jobs and has not been given back."""
    with concurrent.futures.ProcessPoolExecutor(processes) as pool:
        try:
            while True:
                while len(flying) < processes * JOBS_AHEAD and (job := next(jobs, None)) is not None:
                    flying[_submit(pool, msgspec.msgpack.encode(job))] = job
                if not flying:
                    return
                finished, _ = concurrent.futures.wait(flying, return_when=concurrent.futures.FIRST_COMPLETED)
                for future in finished:
                    done = _EXTRACT.decode(future.result())
                    del flying[future]
                    yield done
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _submit(pool: concurrent.futures.ProcessPoolExecutor, job: bytes) -> concurrent.futures.Future[bytes]:
    """Hand a job to the pool; one that is broken by then answers that, as it does for all that it was given."""
    try:
        return pool.submit(serve, job)
    except BrokenProcessPool as error:
        refused: concurrent.futures.Future[bytes] = concurrent.futures.Future()
        refused.set_exception(error)
        return refused


def _alone(job: Job) -> Extract | None:
    """Read a log in a process of its own; `None` where that dies too."""
    with concurrent.futures.ProcessPoolExecutor(1) as pool:
        try:
            return _EXTRACT.decode(pool.submit(serve, msgspec.msgpack.encode(job)).result())
        except (BrokenProcessPool, OSError):
            return None


def serve(job: bytes) -> bytes:
    """Read a log for another process."""
    _begin()
    return msgspec.msgpack.encode(extract(_JOB.decode(job)))


@functools.cache
def _begin() -> None:
    """Leave an interrupt from the keyboard to the process that reads for the user, and end when that one does.

    A process that outlived it would hold the lock of the home that it inherited.
    """
    _keep_freed_memory()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow_parent, daemon=True).start()


def _keep_freed_memory() -> None:
    """Have the C library keep what is freed for the next log, up to some bytes.

    glibc gives the end of its heap back to the system, to ask for it again a moment later: each buffer of a log anew,
    an eighth of the time of a run. The first large block that is freed teaches it better (mallopt(3),
    `M_TRIM_THRESHOLD`). Elsewhere this does nothing; the block is never touched.
    """
    bytes(KEPT_BYTES)


def _follow_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
