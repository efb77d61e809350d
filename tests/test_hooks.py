"""Hooks: what a host sends, what it gets, and that no session ever fails for them."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from signalhomes import TIME, ledger_of, plant, record

from a2a_trust.advice import DISCLAIMER, LEAD_HEADER
from a2a_trust.hooks import EVENTS, answer
from a2a_trust.model import Dimension, Role

SOME = {Dimension.COMPETENCE: (0.5, 9, 5)}

# Inputs as the hosts document them: https://code.claude.com/docs/en/hooks and https://learn.chatgpt.com/docs/hooks.
INPUTS = {
    "claude-code at the start": {
        "session_id": "abc123",
        "transcript_path": "/home/dev/.claude/projects/x/abc123.jsonl",
        "cwd": "/home/dev/project",
        "hook_event_name": "SessionStart",
        "source": "startup",
        "model": "claude-sonnet-5",
    },
    "claude-code at a prompt": {
        "session_id": "abc123",
        "transcript_path": "/home/dev/.claude/projects/x/abc123.jsonl",
        "cwd": "/home/dev/project",
        "permission_mode": "default",
        "hook_event_name": "UserPromptSubmit",
        "prompt": "Write a function to calculate the factorial of a number",
    },
    "codex at the start": {
        "session_id": "0198",
        "transcript_path": None,
        "cwd": "/home/dev/project",
        "hook_event_name": "SessionStart",
        "model": "some-model",
        "permission_mode": "default",
        "source": "startup",
    },
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a teammate and a subagent."""
    agents = [record("one", SOME, last_seen=TIME + 1), record("two", SOME, role=Role.SUBAGENT)]
    return plant(tmp_path / "home", ledger_of(agents))


@pytest.mark.parametrize("name", INPUTS)
def test_a_documented_input_gets_the_text_as_context(home: Path, name: str) -> None:
    """The answer is the documented object, for the event that was asked, and nothing else."""
    found = answer(json.dumps(INPUTS[name]).encode(), home, {})
    output = json.loads(found.output)
    context = output["hookSpecificOutput"].pop("additionalContext")
    assert output == {"hookSpecificOutput": {"hookEventName": INPUTS[name]["hook_event_name"]}}
    assert (context.splitlines()[0], context.splitlines()[-1]) == (LEAD_HEADER, DISCLAIMER)
    assert found.remarks == []


def test_the_agent_of_the_session_is_not_told_of_itself(home: Path) -> None:
    """A session that runs as an agent names it."""
    event = {**INPUTS["claude-code at the start"], "agent_type": "one"}
    context = json.loads(answer(json.dumps(event).encode(), home, {}).output)["hookSpecificOutput"]["additionalContext"]
    assert [line.partition(":")[0] for line in context.splitlines()[1:-1]] == ["two"]


@pytest.mark.parametrize("event", ["PreToolUse", "Stop", "SubagentStart", ""])
def test_other_events_get_silence(home: Path, event: str) -> None:
    """Nothing is said where it would not be heard, or could block."""
    assert answer(json.dumps({"hook_event_name": event}).encode(), home, {}).output == b""


def test_an_empty_home_is_silent(tmp_path: Path) -> None:
    """Before anything was recorded there is nothing to say, and nothing to remark."""
    found = answer(b'{"hook_event_name": "SessionStart"}', tmp_path, {})
    assert (found.output, found.remarks) == (b"", [])


def test_a_log_without_a_snapshot_is_not_waited_for(home: Path) -> None:
    """Folding a whole log takes as long as the log is: the session goes on without it."""
    (home / "ledger.json").unlink()
    found = answer(b'{"hook_event_name": "SessionStart"}', home, {})
    assert (found.output, found.remarks) == (b"", [])


def test_a_snapshot_of_another_log_is_remarked(home: Path) -> None:
    """Numbers that nobody could prove are not told."""
    (home / "audit.jsonl").write_bytes(b"y\n")
    found = answer(b'{"hook_event_name": "SessionStart"}', home, {})
    assert (found.output, len(found.remarks)) == (b"", 1)


@pytest.mark.parametrize("environ", [{"A2A_TRUST_INJECTION": "off"}])
def test_off_is_silent(home: Path, environ: dict[str, str]) -> None:
    """The user's word counts."""
    assert answer(b'{"hook_event_name": "SessionStart"}', home, environ).output == b""


def test_a_wrong_setting_is_remarked_and_not_obeyed(home: Path) -> None:
    """The default is used, and the remark says so."""
    found = answer(b'{"hook_event_name": "SessionStart"}', home, {"A2A_TRUST_INJECTION": "never"})
    assert found.output
    assert len(found.remarks) == 1


@given(data=st.binary())
def test_no_input_fails_a_session(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whatever comes in, nothing is raised and nothing is said."""
    assert answer(data, tmp_path_factory.getbasetemp(), {}).output == b""


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b'{"version":1}', b"[" * 100_000])
def test_no_broken_home_fails_a_session(tmp_path: Path, content: bytes) -> None:
    """A ledger that is no ledger is as good as none."""
    for name in ("ledger.json", "audit.jsonl", "config.toml"):
        (tmp_path / name).write_bytes(content)
    assert answer(b'{"hook_event_name": "SessionStart"}', tmp_path, {}).output == b""


def test_the_events_are_the_documented_ones() -> None:
    """Both hosts add the context of these two before the model acts."""
    assert EVENTS == ("SessionStart", "UserPromptSubmit")
