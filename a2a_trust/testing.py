"""The conformance suite: what every source of session logs must hold, run over logs that its maker gives.

Each check takes a `Case` and raises `ConformanceError` with what was expected and what was found. Nothing is read or
written outside the case's logs and its scratch folder. The source must be installed: it is found by its name.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from a2a_trust.backfill import Options, Summary, run
from a2a_trust.backfill.run import LINE_SKIPS
from a2a_trust.model import AuditMark
from a2a_trust.sources.base import Locating, Skips, load_sources
from a2a_trust.store import TrustStore, read_ledger
from a2a_trust.store.snapshot import encode_ledger

if TYPE_CHECKING:
    from collections.abc import Sequence

JUNK: tuple[bytes, ...] = (
    b"{",
    b"\x00" * 64,
    b"[1, 2]",
    b"17",
    b'"text"',
    b"{}",
    b'{"type": "',
    b"\xff\xfe\x00",
    b"[" * 50_000,
    b'{"n": ' + b"9" * 5_000,
)
"""Lines that are none, in any format of JSON lines."""


class ConformanceError(AssertionError):
    """A source does not hold what every source must."""


def _between_lines(data: bytes) -> bytes:
    """Put lines that are none between the lines of a text file, each in turn."""
    lines = [line for line in data.split(b"\n") if line]
    ended = data.endswith(b"\n")
    out: list[bytes] = []
    for number, line in enumerate(lines):
        out += [line, JUNK[number % len(JUNK)]]
    return b"\n".join(out if ended else out[:-1]) + (b"\n" if ended and out else b"")


class Case(Struct, frozen=True):
    """A source, logs of its format, and an empty folder to work in."""

    source: str
    """Name of the entry point in the group `a2a_trust.sources`."""
    logs: Path
    scratch: Path
    damage: Callable[[bytes], bytes] = _between_lines
    """How lines that are none are put into a file; another way where a format is not lines of text."""
    seed: int = 0
    """Another seed tries other orders and other cuts."""


def _ingest(case: Case, home: Path, paths: Sequence[Path]) -> Summary:
    with TrustStore(home) as store:
        return run(store, load_sources([case.source]), Options(paths=paths, jobs=1), {})


def _agents(home: Path) -> bytes:
    """Return the agents of a home as its ledger holds them, and nothing that depends on the order of runs."""
    return encode_ledger(msgspec.structs.replace(read_ledger(home), updated_at=0, audit=AuditMark()))


def _files(case: Case, root: Path) -> list[Path]:
    """Return the log that is read of each session below a folder."""
    (source,) = load_sources([case.source]).values()
    return [Path(candidates[0].path) for candidates in source.discover(root, Skips())]


def _whole(case: Case) -> bytes:
    home = case.scratch / "whole"
    if not home.exists():
        _ingest(case, home, [case.logs])
    return _agents(home)


def _copied(case: Case, name: str) -> Path:
    tree = case.scratch / name
    shutil.copytree(case.logs, tree)
    return tree


def _same(case: Case, home: Path, expected: bytes, how: str) -> None:
    if _agents(home) != expected:
        raise ConformanceError(
            f"source {case.source}, logs {case.logs}: {how} gives other agents than reading all once"
        )


def finds_its_logs(case: Case) -> None:
    """Something is found, and some of it is evidence: otherwise no other check says anything."""
    summary = _ingest(case, case.scratch / "found", [case.logs])
    if not summary.files or not summary.evidence + summary.observations:
        raise ConformanceError(
            f"source {case.source}, logs {case.logs}: {summary.files} logs found, {summary.evidence} pieces of "
            f"evidence and {summary.observations} observations; expected some of each"
        )


def finds_one_log_alone(case: Case) -> None:
    """A source that offers `around` finds by each file what `discover` finds of the session, and nothing else."""
    (source,) = load_sources([case.source]).values()
    if not isinstance(source, Locating):
        return
    expected = {log.path: found for found in source.discover(case.logs, Skips()) for log in found}
    for path in sorted(path for path in case.logs.rglob("*") if path.is_file()):
        found = list(source.around(path, Skips()))
        if found != ([expected[str(path)]] if str(path) in expected else []):
            raise ConformanceError(f"source {case.source}: around {path} are {found}, not what discover finds")


def reads_once(case: Case) -> None:
    """Reading the same logs again adds nothing, with what is remembered of them and without."""
    home = case.scratch / "again"
    _ingest(case, home, [case.logs])
    expected = _agents(home)
    for remembered in (True, False):
        if not remembered:
            (home / "cache.sqlite").unlink()
        summary = _ingest(case, home, [case.logs])
        if summary.evidence or summary.evidence_not_folded or summary.observations:
            raise ConformanceError(f"source {case.source}, logs {case.logs}: reading again adds {summary}")
        _same(case, home, expected, "reading again")


def reads_in_any_order(case: Case) -> None:
    """Reading the logs one by one, in any order, gives what reading all at once gives."""
    files = _files(case, case.logs)
    orders = [files, files[::-1]]
    chance = random.Random(case.seed)  # noqa: S311 - the same orders every time
    orders += [chance.sample(files, len(files)) for _ in range(4)]
    for number, order in enumerate(orders):
        home = case.scratch / f"order-{number}"
        for path in order:
            _ingest(case, home, [path])
        _same(case, home, _whole(case), f"the order {[path.name for path in order]}")


def reads_growing_logs(case: Case) -> None:
    """Logs that are cut at any byte and grow later give what whole logs give."""
    tree = _copied(case, "growing")
    files = _files(case, tree)
    whole = {path: path.read_bytes() for path in files}
    _ingest(case, case.scratch / "grown", [tree])
    expected = _agents(case.scratch / "grown")
    chance = random.Random(case.seed)  # noqa: S311 - the same cuts every time
    for number in range(12):
        home = case.scratch / f"growing-{number}"
        sizes = dict.fromkeys(files, 0)
        for _ in range(3):
            for path, data in whole.items():
                sizes[path] = chance.randint(sizes[path], len(data))
                path.write_bytes(data[: sizes[path]])
            _ingest(case, home, [tree])
        for path, data in whole.items():
            path.write_bytes(data)
        _ingest(case, home, [tree])
        _same(case, home, expected, f"growing by steps (seed {case.seed}, round {number})")


def survives_damage(case: Case) -> None:
    """Lines that are none cost themselves and nothing else, and are counted."""
    tree = _copied(case, "damaged")
    _ingest(case, case.scratch / "sound", [tree])
    expected = _agents(case.scratch / "sound")
    for path in _files(case, tree):
        path.write_bytes(case.damage(path.read_bytes()))
    home = case.scratch / "damaged-home"
    summary = _ingest(case, home, [tree])
    _same(case, home, expected, "reading with malformed lines in between")
    if not any(summary.skipped.get(reason) for reason in LINE_SKIPS):
        raise ConformanceError(f"source {case.source}, logs {case.logs}: malformed lines are skipped and not counted")


def counts_every_line(case: Case) -> None:
    """Every line that is read is used, irrelevant, a copy or skipped, and only one of these."""
    summary = _ingest(case, case.scratch / "counted", [case.logs])
    skipped = sum(summary.skipped.get(reason, 0) for reason in LINE_SKIPS)
    counted = summary.lines_used + summary.lines_irrelevant + summary.lines_inherited + skipped
    if counted != summary.lines:
        raise ConformanceError(f"source {case.source}, logs {case.logs}: {summary.lines} lines read, {counted} counted")


def forgets_nothing(case: Case) -> None:
    """Logs that are gone, or that shrank, take nothing from the ledger."""
    tree = _copied(case, "vanishing")
    home = case.scratch / "vanished"
    _ingest(case, home, [tree])
    expected = _agents(home)
    for path in _files(case, tree):
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    _ingest(case, home, [tree])
    _same(case, home, expected, "reading logs that shrank")
    for path in _files(case, tree):
        path.unlink()
    _ingest(case, home, [tree])
    _same(case, home, expected, "reading when the logs are gone")


CHECKS: tuple[Callable[[Case], None], ...] = (
    finds_its_logs,
    finds_one_log_alone,
    reads_once,
    reads_in_any_order,
    reads_growing_logs,
    survives_damage,
    counts_every_line,
    forgets_nothing,
)
"""All checks, in the order of what they need."""


def check_source(case: Case) -> None:
    """Run all checks, each in a scratch folder of its own. Raises `ConformanceError` at the first that fails."""
    for check in CHECKS:
        check(msgspec.structs.replace(case, scratch=case.scratch / check.__name__))
