"""What a user set for the signals: the environment first, then `config.toml` in the home, else the default.

A setting that is wrong never stops anything: its default is used, and what was wrong is reported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from a2a_trust.advice import DEFAULT_TOKENS, MIN_TOKENS, Mode, mode_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

CONFIG = "config.toml"
INJECTION = "A2A_TRUST_INJECTION"


class Settings(Struct, frozen=True, kw_only=True):
    """The settings in force, and what was wrong with those that are not."""

    mode: Mode
    max_tokens: int
    problems: list[str]


class _Signals(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Table `[signals]` of the file."""

    injection: str | None = None
    max_tokens: int = DEFAULT_TOKENS


class _Config(Struct, frozen=True, kw_only=True):
    """The file; other tables are other parts' business."""

    signals: _Signals = _Signals()


def read_settings(home: Path, environ: Mapping[str, str]) -> Settings:
    """Return the settings of a home. Never raises for what stands in the file or in the environment."""
    path = home / CONFIG
    config, problems = _read(path)
    value, source = config.signals.injection, f"{path}: signals.injection"
    if environ.get(INJECTION):
        value, source = environ[INJECTION], INJECTION
    mode, wrong = mode_of(value, source)
    problems += [wrong] if wrong else []
    max_tokens = config.signals.max_tokens
    if max_tokens < MIN_TOKENS:
        problems.append(f"{path}: signals.max_tokens is {max_tokens}, below {MIN_TOKENS}; {DEFAULT_TOKENS} is used")
        max_tokens = DEFAULT_TOKENS
    return Settings(mode=mode, max_tokens=max_tokens, problems=problems)


def _read(path: Path) -> tuple[_Config, list[str]]:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return _Config(), []
    except OSError as error:
        return _Config(), [f"{path}: {error.strerror or error}; the defaults are used"]
    try:
        return msgspec.toml.decode(data, type=_Config), []
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return _Config(), [f"{path}: {error}; the defaults are used"]
