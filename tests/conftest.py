"""Hypothesis profiles for all tests; `A2A_TRUST_HYPOTHESIS` names the one in force."""

import os

import pytest
from hypothesis import HealthCheck, settings

# How fast a machine is says nothing about whether a property holds.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)

# The same examples every time: a change fails for what it did, never for the luck of the draw.
settings.register_profile("default", PATIENT, derandomize=True)
# New examples every time, and many of them: this one is the search, and the printed blob replays what it finds. Where a
# change is judged, the luck of the draw must not judge it.
settings.register_profile("slow", PATIENT, derandomize=os.environ.get("CI") == "true", max_examples=2_000)

settings.load_profile(os.environ.get("A2A_TRUST_HYPOTHESIS", "default"))


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Power stays on in tests that ask for this, and they write a great many homes."""
    monkeypatch.setattr("os.fsync", lambda _: None)
