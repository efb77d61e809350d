"""Changing a settings file: ours goes in once and comes out again, and everything else keeps its bytes."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from a2a_trust.errors import UsageError
from a2a_trust.hook_install import change_settings, hook_command, settings_path
from a2a_trust.hook_settings import install, uninstall

COMMAND = "/usr/bin/a2a-trust hook claude-code"
ONE = ("SessionStart",)
BOTH = ("SessionStart", "UserPromptSubmit")
OURS = {"hooks": [{"type": "command", "command": COMMAND, "timeout": 5}]}

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()
)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=6)
HANDLERS = st.fixed_dictionaries({"type": st.just("command"), "command": st.text()})
GROUPS = st.fixed_dictionaries({"hooks": st.lists(HANDLERS, min_size=1, max_size=3)}, optional={"matcher": st.text()})
EVENTS = st.dictionaries(
    st.sampled_from([*BOTH, "PreToolUse", "Stop"]), st.lists(GROUPS, min_size=1, max_size=3), min_size=1
)
STYLES = st.sampled_from(
    [
        {"indent": 2},
        {"indent": 4},
        {"indent": "\t"},
        {},
        {"separators": (",", ":")},
        {"indent": 2, "ensure_ascii": False},
    ]
)


@st.composite
def settings(draw: st.DrawFn) -> str:
    """A settings file in any style, with or without hooks of others."""
    value: dict[str, Any] = draw(st.dictionaries(st.text().filter(lambda key: key != "hooks"), VALUES, max_size=4))
    if draw(st.booleans()):
        value["hooks"] = draw(EVENTS)
        value = dict(draw(st.permutations(list(value.items()))))
    text = json.dumps(value, **draw(STYLES)) + draw(st.sampled_from(["", "\n"]))
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


@given(text=settings(), events=st.sampled_from([ONE, BOTH]))
def test_what_goes_in_comes_out_byte_for_byte(text: str, events: tuple[str, ...]) -> None:
    """Undoing gives exactly the file that was there before."""
    assert uninstall(install(text, COMMAND, events)) == text


@given(text=settings(), events=st.sampled_from([ONE, BOTH]))
def test_only_ours_is_added(text: str, events: tuple[str, ...]) -> None:
    """The new file says what the old one said, and our command under each event."""
    old, new = json.loads(text), json.loads(install(text, COMMAND, events))
    for event in events:
        assert new["hooks"][event].pop() == OURS
        if not new["hooks"][event]:
            del new["hooks"][event]
    if not new["hooks"]:
        del new["hooks"]
    assert new == old


@given(text=settings())
def test_everything_else_keeps_its_bytes(text: str) -> None:
    """What is added stands in one place for each event; before, between and behind it every byte is the old one."""
    new = install(text, COMMAND, ONE)
    start = next((place for place, (a, b) in enumerate(zip(text, new, strict=False)) if a != b), len(text))
    behind = len(text) - start
    assert new.startswith(text[:start])
    assert new.endswith(text[len(text) - behind :]) or json.loads(text) == {}


@given(text=settings())
def test_installing_again_changes_nothing(text: str) -> None:
    """Ours is there once, however often it is installed."""
    once = install(text, COMMAND, BOTH)
    assert install(once, COMMAND, BOTH) == once


def test_an_older_command_of_ours_is_replaced() -> None:
    """A command that moved is not left beside the new one."""
    text = install("{}", "/old/place/a2a-trust hook claude-code", ONE)
    assert json.loads(install(text, COMMAND, ONE)) == {"hooks": {"SessionStart": [OURS]}}


def test_a_handler_of_ours_among_others_is_taken_out_alone() -> None:
    """What somebody else put into the same group stays, with its matcher."""
    other = {"type": "command", "command": "echo"}
    ours = {"type": "command", "command": COMMAND}
    group = {"matcher": "startup", "hooks": [ours, other]}
    text = json.dumps({"hooks": {"SessionStart": [group]}}, indent=2)
    assert json.loads(uninstall(text)) == {"hooks": {"SessionStart": [{"matcher": "startup", "hooks": [other]}]}}


@pytest.mark.parametrize(
    "command",
    [
        "echo a2a-trust hook claude-codex",
        "my-a2a-trustee hook claude-code2",
        "hook",
        "my-a2a-trust hook claude-code",
        "a2a-trust hook claude-code && notify",
        "a2a-trust hook claude-code | tee log",
        "a2a-trust hook claude-code --other x",
        "echo a2a-trust hook claude-code",
        "a2a-trust hook codex",
        "a2a-trust hook 'claude-code",
    ],
)
def test_what_is_not_ours_stays(command: str) -> None:
    """A command that only resembles ours, or that a user has built around it, is somebody else's."""
    text = json.dumps({"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": command}]}]}})
    assert uninstall(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "null",
        "{'a': 1}",
        '{"a": 1,}',
        '{"a": 1} // comment',
        '{"a": NaN}',
        '{"hooks": []}',
        '{"hooks": {"SessionStart": {}}}',
        '{"hooks": {"SessionStart": [5]}}',
        '{"hooks": {"SessionStart": [{"hooks": 5}]}}',
        '{"hooks": {}, "hooks": {}}',
        "[" * 100_000,
    ],
)
def test_what_is_no_settings_file_is_refused(text: str) -> None:
    """Nothing is repaired, and nothing is guessed."""
    with pytest.raises(UsageError, match="settings"):
        install(text, COMMAND, ONE)


@given(text=st.text())
def test_no_text_is_a_traceback(text: str) -> None:
    """Any text is changed or refused."""
    try:
        changed = install(text, COMMAND, ONE)
    except UsageError:
        return
    assume(text.strip())
    assert json.loads(changed)["hooks"]["SessionStart"]


@pytest.mark.parametrize("text", ["", " \n", "{}", "{}\n"])
def test_an_empty_file_becomes_a_whole_one(text: str) -> None:
    """Ours is all there is then, laid out for people."""
    assert install(text, COMMAND, ONE) == json.dumps({"hooks": {"SessionStart": [OURS]}}, indent=2) + (
        "" if text == "{}" else "\n"
    )


# ---------------------------------------------------------------------- the file itself


def change(path: Path, **options: bool) -> Any:  # noqa: ANN401 - a struct of the tested module
    """Change a settings file with the options given, the others off."""
    return change_settings(path, None, **{"undo": False, "every_prompt": False, "write": False, **options})


def test_the_settings_are_where_the_host_has_them(tmp_path: Path) -> None:
    """In `$CLAUDE_CONFIG_DIR`, else in the home of the user."""
    assert settings_path({"CLAUDE_CONFIG_DIR": str(tmp_path)}) == tmp_path / "settings.json"
    assert settings_path({}) == Path.home() / ".claude/settings.json"


def test_without_write_nothing_is_written(tmp_path: Path) -> None:
    """The difference is shown, the file is not even made."""
    path = tmp_path / "settings.json"
    shown = change(path)
    assert (shown.changes, shown.done, "hook claude-code" in shown.difference) == (True, False, True)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_file_is_made_and_ours_can_be_undone(tmp_path: Path) -> None:
    """The folder too, readable for its owner only."""
    path = tmp_path / "new/settings.json"
    assert change(path, write=True).done
    assert path.stat().st_mode & 0o777 == 0o600
    assert change(path, write=True, undo=True).done
    assert json.loads(path.read_text(encoding="utf-8")) == {}


def test_mode_and_link_stay(tmp_path: Path) -> None:
    """Settings that are kept elsewhere and linked to stay a link, and keep their permissions."""
    kept = tmp_path / "dotfiles.json"
    kept.write_text('{"model": "x"}\n', encoding="utf-8")
    kept.chmod(0o640)
    path = tmp_path / "settings.json"
    path.symlink_to(kept)
    change(path, write=True)
    assert path.is_symlink()
    assert kept.stat().st_mode & 0o777 == 0o640
    assert "hooks" in json.loads(kept.read_text(encoding="utf-8"))


def test_a_refused_file_is_not_touched(tmp_path: Path) -> None:
    """Invalid JSON is told with its path, and stays as it is."""
    path = tmp_path / "settings.json"
    path.write_text("{,}", encoding="utf-8")
    with pytest.raises(UsageError, match=f"{path}.*not valid JSON"):
        change(path, write=True)
    assert path.read_text(encoding="utf-8") == "{,}"


def test_text_that_is_no_utf_8_is_refused(tmp_path: Path) -> None:
    """Bytes that cannot be read cannot be kept."""
    path = tmp_path / "settings.json"
    path.write_bytes(b'{"a": "\xff"}')
    with pytest.raises(UsageError, match="not UTF-8"):
        change(path, write=True)


def test_the_command_names_the_home_that_was_given(tmp_path: Path) -> None:
    """By an absolute path, as the host runs it from anywhere."""
    command = hook_command(tmp_path / "my home")
    assert command.endswith(f"hook claude-code --home '{tmp_path}/my home'")
    assert command.startswith(("/", "'/"))
    assert uninstall(install("{}", command, BOTH)) == "{}"
