"""Output and failures without a terminal library: what the commands that must start at once have in common with all.

Never imports Typer or Rich. Results go to standard output, everything else to standard error.
"""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Any

import msgspec

from a2a_trust.errors import HomeError, TrustError
from a2a_trust.store.reader import default_home
from a2a_trust.text import safe

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

INTERRUPTED = 130

_CONTROLS = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_ENCODER = msgspec.json.Encoder(order=None)


def home_of(option: Path | None) -> Path:
    """Return the home that an option, or else the environment, names."""
    return option.expanduser() if option is not None else default_home(os.environ)


def print_text(text: str) -> None:
    """Print a result; what the terminal cannot show is shown as its code."""
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace") + b"\n")
    sys.stdout.buffer.flush()


def print_json(value: Any) -> None:  # noqa: ANN401 - any struct
    """Print a struct as indented JSON."""
    print_text(_harmless(msgspec.json.format(_ENCODER.encode(value), indent=2)))


def json_line(value: Any) -> str:  # noqa: ANN401 - any struct
    """Return a struct as JSON on one line, without its end."""
    return _harmless(_ENCODER.encode(value))


def _harmless(data: bytes) -> str:
    """Return JSON with controls as their codes: they can stand in strings only, and none reaches a terminal."""
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", data.decode())


def fail(error: Exception) -> None:
    """Print a failure on one line."""
    remark(f"a2a-trust: {error}")


def remark(text: str) -> None:
    """Print a remark on standard error, on one line."""
    print(safe(text), file=sys.stderr)  # noqa: T201 - there is no console here, and must be none


def run_told(run: Callable[[], object]) -> None:
    """Run a command. A failure is told in one line and ends the process with its own exit code."""
    try:
        run()
    except TrustError as error:
        fail(error)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # The reader of our output has gone: nothing to tell, and nobody to tell it to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        fail(HomeError(f"{error.filename or 'a file'}: {error.strerror or error}"))
        sys.exit(HomeError.exit_code)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
