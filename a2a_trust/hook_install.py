"""Installing our hook for a host: its settings file, shown as a difference first, then replaced as a whole.

The change itself is `hook_settings`'s. A file that somebody else changes meanwhile is left alone.
"""

from __future__ import annotations

import difflib
import shlex
import shutil
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from a2a_trust.errors import HomeError, UsageError
from a2a_trust.hook_settings import install, uninstall
from a2a_trust.hooks import EVENTS
from a2a_trust.store import files

if TYPE_CHECKING:
    from collections.abc import Mapping

CONFIG_DIR = "CLAUDE_CONFIG_DIR"
NEW_FILE_MODE = 0o600


class Change(Struct, frozen=True, kw_only=True):
    """What would become of a settings file, or did."""

    path: str
    changes: bool
    difference: str
    """The change as a unified diff; empty where there is none."""
    done: bool


def settings_path(environ: Mapping[str, str]) -> Path:
    """Return Claude Code's user settings: in `$CLAUDE_CONFIG_DIR`, else in `~/.claude`."""
    folder = environ.get(CONFIG_DIR)
    return (Path(folder) if folder else Path("~/.claude")).expanduser() / "settings.json"


def hook_command(home: Path | None) -> str:
    """Return the command for the host's shell: by its full path, as the host may have another search path."""
    beside = Path(sys.executable).parent / "a2a-trust"
    found = str(beside) if beside.exists() else shutil.which("a2a-trust")
    words = [str(Path(found).absolute())] if found else [sys.executable, "-m", "a2a_trust"]
    words += ["hook", "claude-code"]
    words += ["--home", str(home.expanduser().absolute())] if home else []
    return shlex.join(words)


def change_settings(path: Path, home: Path | None, *, undo: bool, every_prompt: bool, write: bool) -> Change:
    """Put our hook into a settings file, or take it out, and say what changes; write it only with `write`.

    Raises `UsageError` for a file that is not the JSON it should be, `HomeError` where it cannot be read or written.
    """
    # What the name stands for is replaced, not the link: settings are often kept elsewhere and linked to.
    target = path.resolve()
    try:
        old = target.read_bytes() if target.exists() else b""
        text = old.decode()
        new = uninstall(text) if undo else install(text, hook_command(home), EVENTS if every_prompt else EVENTS[:1])
        if write and new != text:
            _replace(target, old, new.encode())
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8: {error}; nothing was changed") from None
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    except OSError as error:
        raise HomeError(f"{path}: {error.strerror or error}; nothing was changed") from None
    difference = "".join(
        line if line.endswith("\n") else f"{line}\n"
        for line in difflib.unified_diff(
            text.splitlines(keepends=True), new.splitlines(keepends=True), str(path), str(path)
        )
    )
    return Change(path=str(path), changes=new != text, difference=difference, done=write and new != text)


def _replace(target: Path, old: bytes, new: bytes) -> None:
    target.parent.mkdir(mode=files.FOLDER_MODE, parents=True, exist_ok=True)
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else NEW_FILE_MODE
    if (target.read_bytes() if target.exists() else b"") != old:
        raise UsageError("changed while it was read; nothing was changed: try again")
    files.replace(target, new)
    target.chmod(mode)
