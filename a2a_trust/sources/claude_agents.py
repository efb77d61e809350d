"""Who the agents of Claude Code are: profiles, and the descriptions in the files that define agent types.

A description is read as it stands when a log is first read. Without a definition it is empty. Files that define
agents are written by people and by models, and are often no valid YAML: only the one value is looked for.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TypeAlias

from a2a_trust.model import Profile, Role
from a2a_trust.sources import files
from a2a_trust.sources.base import Skips

NAME = "claude-code"
MAIN = Profile(name="main", provider=NAME, context="root", role=Role.MAIN)
DEFAULT_TYPE = "general-purpose"
_FOLDER_LIMIT = 2_000
_KEY = re.compile(r"(name|description)[ \t]*:[ \t]*(.*)", re.DOTALL)
_ESCAPES = {"\\n": " ", "\\t": " ", "\\r": " ", '\\"': '"', "\\\\": "\\"}
_ESCAPE = re.compile(r"\\[ntr\"\\]")


def subagent(kind: str, description: str) -> Profile:
    """Return the profile of a subagent's type."""
    return Profile(name=kind, description=description, provider=NAME, context="subagent", role=Role.SUBAGENT)


def teammate(kind: str, description: str) -> Profile:
    """Return the profile of the type of a member of a team."""
    return Profile(name=kind, description=description, provider=NAME, context="team", role=Role.TEAMMATE)


def config_dir(path: str) -> str:
    """Return the configuration folder that a transcript lies in: the one above `projects`; empty for none."""
    above = Path(path).parts
    if "projects" not in above:
        return ""
    return str(Path(*above[: len(above) - 1 - above[::-1].index("projects")]))


class Definitions:
    """Descriptions of agent types by name: a project's own first, then the user's, then those of plugins."""

    def __init__(self) -> None:
        self._folders: dict[str, tuple[_Signature, dict[str, str]]] = {}
        self._plugins: dict[str, tuple[_Signature, list[tuple[str, str]]]] = {}

    def description(self, kind: str, cwd: str, config: str) -> str:
        """Return the description of an agent type, whitespace normalised; empty where nothing defines it."""
        plugin, colon, name = kind.rpartition(":")
        if colon:
            found = (self._of_folder(folder) for owner, folder in self._plugin_folders(config) if owner == plugin)
            return next((folder[name] for folder in found if name in folder), "")
        places = [os.path.join(cwd, ".claude", "agents")] if os.path.isabs(cwd) else []  # noqa: PTH117, PTH118 - text
        places += [os.path.join(config, "agents")] if config else []  # noqa: PTH118 - a path as text
        return next((folder[kind] for folder in map(self._of_folder, places) if kind in folder), "")

    def _of_folder(self, folder: str) -> dict[str, str]:
        """Return what the files of a folder define, read again only when one of them changed."""
        signature = _signature(folder)
        known = self._folders.get(folder)
        if known is None or known[0] != signature:
            known = self._folders[folder] = (signature, _definitions([path for path, *_ in signature]))
        return known[1]

    def _plugin_folders(self, config: str) -> list[tuple[str, str]]:
        """Return the plugins of a configuration folder by name, each with its folder of agents, newest first."""
        root = os.path.join(config, "plugins") if config else ""  # noqa: PTH118 - a path as text
        signature = _signature(root)
        known = self._plugins.get(root)
        if known is None or known[0] != signature:
            folders = {str(Path(path).parent) for path, *_ in signature}
            agents = [folder for folder in sorted(folders, reverse=True) if Path(folder).name == "agents"]
            plugins = [(_plugin_name(Path(folder).parent), folder) for folder in agents]
            known = self._plugins[root] = (signature, plugins)
        return known[1]


_Signature: TypeAlias = list[tuple[str, int, int]]


def _signature(folder: str) -> _Signature:
    """Return the Markdown files below a folder, each with its time and size."""
    found: _Signature = []
    if not folder or not os.path.isdir(folder):  # noqa: PTH112 - a path as text
        return found
    for path in files.walk(folder, ".md", Skips()):
        state = files.stat_of(path, Skips())
        if state is not None:
            found.append((path, state.st_mtime_ns, state.st_size))
    return sorted(found)[:_FOLDER_LIMIT]


def _plugin_name(plugin: Path) -> str:
    """Return what a plugin calls itself, else the name of its folder."""
    try:
        manifest = json.loads(files.content(plugin / ".claude-plugin" / "plugin.json"))
    except (ValueError, RecursionError):
        return plugin.name
    name = manifest.get("name") if isinstance(manifest, dict) else None
    return name if isinstance(name, str) and name else plugin.name


def _definitions(paths: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in paths:
        values = front_matter(files.content(Path(path)))
        found.setdefault(values.get("name") or Path(path).stem, values.get("description", ""))
    return found


def front_matter(content: str) -> dict[str, str]:
    """Return name and description from the front matter of a definition, whitespace normalised.

    A value goes on over the indented lines below it. Quotes around it and the usual escapes are taken away, in plain
    values too: models write them there.
    """
    lines = content.split("\n")
    if not lines or lines[0].strip() != "---":
        return {}
    values: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in lines[1:]:
        if line.rstrip() == "---":
            return {key: _value(parts) for key, parts in values.items()}
        if line[:1].isspace() or not line.strip():
            if current is not None:
                current.append(line)
            continue
        match = _KEY.match(line)
        current = values.setdefault(match[1], [match[2]]) if match else None
    return {}


def _value(parts: list[str]) -> str:
    first = parts[0].strip()
    if first[:1] in ("|", ">") and len(first) <= 3:  # noqa: PLR2004 - an indicator and its modifiers
        parts = parts[1:]
    value = " ".join(" ".join(parts).split())
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1].replace("''", "'") if value[0] == "'" else value[1:-1]
    return " ".join(_ESCAPE.sub(lambda match: _ESCAPES[match[0]], value).split())
