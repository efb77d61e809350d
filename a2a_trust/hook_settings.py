"""Adding our hook to a host's settings file, and taking it out again, as a change of text.

Pure. Everything that is not ours keeps its bytes: order, spaces, line ends, numbers as they were written. A file that
is not the JSON that the host documents is refused, never repaired.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import Any, NamedTuple

from a2a_trust.errors import UsageError

HOOKS = "hooks"
TIMEOUT_SECONDS = 5
_PROGRAM = re.compile(r"(?:.*[/\\])?a2a-trust(?:\.exe)?", re.DOTALL)
_MODULE = ["-m", "a2a_trust"]
_OPTIONS = {"--home", "--max-tokens"}
_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


class _Item(NamedTuple):
    """A member of an object, or an element of an array, and where it stands in the text."""

    gap: int
    """Where the space before it begins."""
    start: int
    value_start: int
    end: int
    key: str
    value: Any


class _Container(NamedTuple):
    """An object or an array: `start` is its bracket, `end` is behind the closing one."""

    start: int
    end: int
    items: list[_Item]


def install(text: str, command: str, events: tuple[str, ...]) -> str:
    """Return the settings with our command under each event, once. Raises `UsageError` for what is no settings file."""
    text = uninstall(text)
    for event in events:
        text = _add(text, event, command)
    return text


def uninstall(text: str) -> str:
    """Return the settings without our command, and without what held nothing else. Raises as `install` does."""
    while (way := _find_ours(text)) is not None:
        text = _remove(text, way)
    return text


def _add(text: str, event: str, command: str) -> str:
    group = {HOOKS: [{"type": "command", "command": command, "timeout": TIMEOUT_SECONDS}]}
    root = _root(text) if text.strip() else None
    if root is None:
        return json.dumps({HOOKS: {event: [group]}}, indent=2, ensure_ascii=False) + "\n"
    hooks = _member(root, HOOKS)
    if hooks is None:
        return _insert(text, root, HOOKS, {event: [group]})
    inner = _scan_as(text, hooks, dict)
    known = _member(inner, event)
    if known is None:
        return _insert(text, inner, event, [group])
    return _insert(text, _scan_as(text, known, list), None, group)


def _find_ours(text: str) -> list[tuple[_Container, _Item]] | None:
    """Return the way down to the first handler that is ours: each container, and the item of it to go on with."""
    root = _root(text) if text.strip() else None
    hooks = _member(root, HOOKS) if root else None
    if root is None or hooks is None:
        return None
    events = _scan_as(text, hooks, dict)
    for event in events.items:
        groups = _scan_as(text, event, list)
        for group in groups.items:
            way = _find_in_group(text, group)
            if way is not None:
                return [(root, hooks), (events, event), (groups, group), *way]
    return None


def _find_in_group(text: str, group: _Item) -> list[tuple[_Container, _Item]] | None:
    fields = _scan_as(text, group, dict)
    handlers = _member(fields, HOOKS)
    if handlers is None:
        return None
    inner = _scan_as(text, handlers, list)
    for handler in inner.items:
        if isinstance(handler.value, dict) and _is_ours(handler.value.get("command")):
            return [(fields, handlers), (inner, handler)]
    return None


def _is_ours(command: object) -> bool:
    """Tell whether a command is one that we install, and nothing else: what a user has built around it is not."""
    try:
        words = shlex.split(command) if isinstance(command, str) else []
        place = words.index("hook")
    except ValueError:
        return False
    program, options = words[:place], words[place + 2 :]
    named = len(program) == 1 and _PROGRAM.fullmatch(program[0]) is not None
    return (
        words[place + 1 : place + 2] == ["claude-code"]
        and (named or program[1:] == _MODULE)
        and len(options) % 2 == 0
        and set(options[::2]) <= _OPTIONS
    )


def _remove(text: str, way: list[tuple[_Container, _Item]]) -> str:
    """Take out the handler, with everything on the way down to it that holds nothing else."""
    (root, hooks), (events, event), (groups, group), _, (handlers, handler) = way
    # A group that held only our handler goes as a whole, its matcher with it.
    for container, item in ((handlers, handler), (groups, group), (events, event), (root, hooks)):
        if len(container.items) > 1:
            return _cut(text, container, item)
    return text[: root.start] + "{}" + text[root.end :]


def _cut(text: str, container: _Container, item: _Item) -> str:
    """Take out one of several items, with the comma and the space that set it apart."""
    place = container.items.index(item)
    if place:
        return text[: container.items[place - 1].end] + text[item.end :]
    return text[: item.start] + text[container.items[1].start :]


def _insert(text: str, container: _Container, key: str | None, value: object) -> str:
    """Add an item behind the last one, set apart as that one is."""
    line_end = "\r\n" if "\r\n" in text else "\n"
    step = _step(text)
    if container.items:
        last = container.items[-1]
        space = text[last.gap : last.start]
        if "\n" not in space:
            return f"{text[: last.end]}, {_write(key, value, None, '')}{text[last.end :]}"
        item = _write(key, value, step, line_end + space.rpartition("\n")[2])
        return f"{text[: last.end]},{space}{item}{text[last.end :]}"
    outer = _SPACE.match(text, text.rfind("\n", 0, container.start) + 1)
    outer_indent = line_end + (outer.group() if outer else "")
    inner_indent = outer_indent + step
    item = _write(key, value, step, inner_indent)
    return f"{text[: container.start + 1]}{inner_indent}{item}{outer_indent}{text[container.end - 1 :]}"


def _write(key: str | None, value: object, step: str | None, line_start: str) -> str:
    """Return an item as text; with a step over several lines, each of which begins with `line_start`."""
    written = json.dumps(value, indent=step, ensure_ascii=False).replace("\n", line_start)
    return written if key is None else f"{json.dumps(key)}: {written}"


def _step(text: str) -> str:
    """Return how far the file indents its first level; two spaces where it does not."""
    items = _root(text).items
    space = text[items[0].gap : items[0].start] if items else ""
    return space.rpartition("\n")[2] if "\n" in space and not space.endswith("\n") else "  "


def _root(text: str) -> _Container:
    try:
        json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise UsageError("the settings are nested too deeply to be changed safely") from None
    except ValueError as error:
        raise UsageError(f"the settings are not valid JSON: {error}; repair them first, nothing was changed") from None
    start = _skip(text, 0)
    if text[start] != "{":
        raise UsageError("the settings are not a JSON object; nothing was changed")
    return _scan(text, start)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _member(container: _Container, key: str) -> _Item | None:
    """Return the member with a key. Raises `UsageError` where there are two: which one counts is the host's secret."""
    found = [item for item in container.items if item.key == key]
    if len(found) > 1:
        raise UsageError(f"the settings have the key {key!r} twice in one object; nothing was changed")
    return found[0] if found else None


def _scan_as(text: str, item: _Item, kind: type) -> _Container:
    if not isinstance(item.value, kind):
        wanted = "an object" if kind is dict else "an array"
        raise UsageError(f"the settings under {item.key or HOOKS!r} are not {wanted}; nothing was changed")
    return _scan(text, item.value_start)


def _scan(text: str, start: int) -> _Container:
    """Return where the items of the object or array stand whose bracket is at `start`. The text must be valid."""
    named = text[start] == "{"
    closing = "}" if named else "]"
    items: list[_Item] = []
    at = start + 1
    while True:
        gap, at = at, _skip(text, at)
        if text[at] == closing:
            return _Container(start, at + 1, items)
        first, key = at, ""
        if named:
            key, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
        value_start = at
        value, at = _DECODER.raw_decode(text, at)
        items.append(_Item(gap, first, value_start, at, key, value))
        at = _skip(text, at)
        if text[at] == ",":
            at += 1


def _skip(text: str, at: int) -> int:
    """Return where the space at a place ends."""
    found = _SPACE.match(text, at)
    return found.end() if found else at
