"""Every source that ships passes the conformance suite on its made logs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from dshlog import frame, frames, is_whole
from jurymade import framed, lines_of

from a2a_trust.testing import CHECKS, JUNK, Case

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("no_waiting")

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
JURY = ["made-damaged", "made-doubles", "made-edited", "made-hearing", "made-infrastructure", "made-judges"]
CLAUDE = sorted(path.name for path in (FIXTURES / "claude-code").glob("made-*"))
DSH = ["a-team", "c-kill-killed", "g-raw", "made-forks", "made-subagents", "v4-a-team"]


def between_frames(data: bytes) -> bytes:
    """Put lines that are none between the frames of a compressed log; behind its header, before a torn end."""
    if data[:1] == b"{":
        head, _, rest = data.partition(b"\n")
        return head + b"\n" + b"\n".join(JUNK) + b"\n" + rest
    out = []
    for number, piece in enumerate(frames(data)):
        out.append(piece)
        if is_whole(piece):
            out.append(frame([JUNK[number % len(JUNK)] + b"\n"]))
    return b"".join(out)


def between_lines(data: bytes) -> bytes:
    """Put lines that are none between the lines of a compressed log, whatever frames they stand in."""
    out: list[bytes] = []
    for number, line in enumerate(lines_of(data)):
        out += [line, JUNK[number % len(JUNK)] + b"\n"]
    return framed(out)


by_check = pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)


@by_check
@pytest.mark.parametrize("folder", CLAUDE)
def test_claude_code_conforms(check: Callable[[Case], None], folder: str, tmp_path: Path) -> None:
    """The source `claude-code` holds what every source must."""
    check(Case("claude-code", FIXTURES / "claude-code" / folder, tmp_path))


@by_check
@pytest.mark.parametrize("folder", DSH)
def test_dsh_conforms(check: Callable[[Case], None], folder: str, tmp_path: Path) -> None:
    """The source `dsh` holds what every source must."""
    check(Case("dsh", FIXTURES / "dsh" / folder, tmp_path, between_frames))


@by_check
@pytest.mark.parametrize("folder", JURY)
def test_jury_conforms(check: Callable[[Case], None], folder: str, tmp_path: Path) -> None:
    """The source `jury` holds what every source must."""
    check(Case("jury", FIXTURES / "jury" / folder, tmp_path, between_lines))
