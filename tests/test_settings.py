"""Settings: the environment first, then the file, and never a failure."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_trust.advice import DEFAULT_MODE, DEFAULT_TOKENS, Mode
from a2a_trust.settings import CONFIG, INJECTION, read_settings


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    """Nothing set is nothing wrong."""
    settings = read_settings(tmp_path, {})
    assert (settings.mode, settings.max_tokens, settings.problems) == (DEFAULT_MODE, DEFAULT_TOKENS, [])


def test_the_file_sets_mode_and_budget(tmp_path: Path) -> None:
    """Both stand in the table `signals`; other tables are left alone."""
    (tmp_path / CONFIG).write_text('[signals]\ninjection = "all"\nmax_tokens = 300\n[other]\nx = 1\n', encoding="utf-8")
    settings = read_settings(tmp_path, {})
    assert (settings.mode, settings.max_tokens, settings.problems) == (Mode.ALL, 300, [])


def test_the_environment_goes_before_the_file(tmp_path: Path) -> None:
    """What is set for one run wins."""
    (tmp_path / CONFIG).write_text('[signals]\ninjection = "all"\n', encoding="utf-8")
    assert read_settings(tmp_path, {INJECTION: "off"}).mode is Mode.OFF


@pytest.mark.parametrize(
    "text",
    [
        "[signals]\ninjection = 5",
        '[signals]\ninjection = "loud"',
        "[signals]\nmax_tokens = 15",
        "[signals]\nmax_tokens = true",
        "[signals]\ncolour = 1",
        "signals = 1",
        "[signals",
    ],
)
def test_what_is_wrong_is_reported_and_the_default_used(tmp_path: Path, text: str) -> None:
    """One problem, and it names the file."""
    (tmp_path / CONFIG).write_text(text, encoding="utf-8")
    settings = read_settings(tmp_path, {})
    assert (settings.mode, settings.max_tokens, len(settings.problems)) == (DEFAULT_MODE, DEFAULT_TOKENS, 1)
    assert str(tmp_path / CONFIG) in settings.problems[0]


@given(content=st.binary())
def test_no_file_fails(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whatever the file holds, there are settings."""
    place = tmp_path_factory.getbasetemp()
    (place / CONFIG).write_bytes(content)
    assert read_settings(place, {}).max_tokens >= 16
