"""What is left of Claude Code's teams on disk: `teams/<team>/config.json`, and the boards below `tasks/<team>`.

Both hold only the present state, and go with the team. They are asked where transcripts do not say: of which type a
member is, and who owned a task. A team's file is found by what it says, its board by its folder, which a name is only
compared with: no name from a log is ever made a path.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from a2a_trust import facts
from a2a_trust.sources import claude_lines as lines
from a2a_trust.sources import files, json_lines
from a2a_trust.sources.base import Skips

if TYPE_CHECKING:
    from collections.abc import Iterator

_FOLDER_LIMIT = 2_000
_COMPLETED = facts.STATUSES[2]


class _Task(NamedTuple):
    subject: str
    """Digest of its title: numbers begin anew when a team of the same name is made again."""
    owner: str


class Teams:
    """The teams of a configuration folder, as they are while one transcript is read."""

    def __init__(self, config: str) -> None:
        self._config = config
        self._boards: dict[str, dict[str, _Task]] = {}

    def type_of_member(self, member: str, team: str) -> str:
        """Return the type of a member of a team, where the team's own file still says so; else empty."""
        named = (
            one
            for found in self._teams()
            if found.get("name") == team
            for one in _members(found)
            if one["name"] == member
        )
        return next((str(one["agentType"]) for one in named), "")

    def type_of_prompt(self, digest: str) -> str:
        """Return the type of the member that was spawned with a prompt; empty where there is none, or several."""
        found = {
            str(one["agentType"])
            for team in self._teams()
            for one in _members(team)
            if isinstance(one.get("prompt"), str) and lines.digest(one["prompt"]) == digest
        }
        return found.pop() if len(found) == 1 else ""

    def owner_of(self, task: str, subject: str, team: str) -> str:
        """Return who owns a task that the team's board holds as completed; empty where it does not, or says nobody."""
        if team not in self._boards:
            self._boards[team] = self._board(team)
        found = self._boards[team].get(task)
        return found.owner if found is not None and found.subject == subject else ""

    def _teams(self) -> Iterator[dict[str, Any]]:
        for folder in self._folders("teams"):
            found = _read(Path(folder.path) / "config.json")
            if found is not None:
                yield found

    def _board(self, team: str) -> dict[str, _Task]:
        """Return the completed tasks of a team's board by their numbers."""
        names = {team.casefold(), re.sub("[^A-Za-z0-9_-]", "-", team).casefold()}
        board: dict[str, _Task] = {}
        for folder in self._folders("tasks"):
            if folder.name.casefold() not in names:
                continue
            tasks = [entry for entry in files.entries(folder.path, Skips()) if entry.name.endswith(".json")]
            for entry in tasks[:_FOLDER_LIMIT]:
                found = _read(Path(entry.path)) or {}
                subject, owner = found.get("subject"), lines.text(found.get("owner"))
                if isinstance(subject, str) and owner and found.get("status") == _COMPLETED:
                    board[lines.task_id(found.get("id"))] = _Task(lines.digest(subject), owner)
        return board

    def _folders(self, kind: str) -> list[os.DirEntry[str]]:
        root = os.path.join(self._config, kind) if self._config else ""  # noqa: PTH118 - a path as text
        if not root or not os.path.isdir(root):  # noqa: PTH112 - a path as text
            return []
        return [entry for entry in files.entries(root, Skips())[:_FOLDER_LIMIT] if files.is_folder(entry)]


def _members(team: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the members of a team that have a name and a type."""
    members = team.get("members")
    return [
        one
        for one in (members if isinstance(members, list) else ())
        if isinstance(one, dict) and isinstance(one.get("name"), str) and lines.text(one.get("agentType"))
    ]


def _read(path: Path) -> dict[str, Any] | None:
    """Return the object in a file; `None` where there is none, also while it is being written."""
    try:
        found = json_lines.clean(json.loads(files.content(path)))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
