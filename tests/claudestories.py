"""Made-up stories of teams in Claude Code: what happens is drawn, and written as transcripts in all layouts.

Far from what anybody would do, but nothing in them is more than the harness can write.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from claudelog import Transcript, main_file, message, protocol
from make_claude_fixtures import T, notice, queued

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

TEAM: Final = "alpha"
MEMBERS: Final = ("cody", "tess")
TASKS: Final = ("1", "2", "3")
FOLDER: Final = "projects/p"


class Story:
    """A lead, perhaps members of its team and subagents, and copies of their transcripts."""

    def __init__(self, chance: random.Random) -> None:
        self.files: dict[str, bytes | str] = {}
        self._chance = chance
        self._spawned = 0
        self._running: list[tuple[Transcript, str]] = []
        lead = Transcript(1, T, team=TEAM if self._may(0.5) else None)
        lead.later().user("Please do it.")
        self._mains = [lead, *self._recruited(lead)]
        for _ in range(chance.randint(3, 14)):
            self._step(chance.choice([lead, *self._mains]))
        for log in self._mains:
            self.files[main_file(log)] = log.data
        for number in range(chance.randint(0, 2)):
            self._fork(number)
        if self._may(0.5):
            board = {"id": "1", "subject": "A task", "status": "completed", "owner": "cody"}
            self.files[f"tasks/{TEAM}/1.json"] = json.dumps(board)

    def _may(self, share: float) -> bool:
        return self._chance.random() < share

    def _recruited(self, lead: Transcript) -> list[Transcript]:
        mates = []
        for number, name in enumerate(MEMBERS):
            if self._may(0.4):
                continue
            lead.recruit(self._chance.choice(["coder", "tester"]), name, TEAM, f"You are {name}.")
            named = {"team": TEAM, "member": name} if self._may(0.5) else {}
            mate = Transcript(10 + number, T + 2_000 * number, **named)  # type: ignore[arg-type]
            mate.user(message("team-lead", f"You are {name}."))
            mates.append(mate)
        return mates

    def _step(self, log: Transcript) -> None:
        step: Callable[[Transcript], object] = self._chance.choice(
            [self._work, self._work, self._change, self._change, self._change, self._look, self._talk, self._spawn]
        )
        step(log)

    def _work(self, log: Transcript) -> None:
        if self._may(0.8):
            log.work(self._chance.choice(["Read", "Bash", "Edit"]), good=self._may(0.6))
        elif self._may(0.5):
            log.later().call("Bash")
        else:
            log.later().add("system", subtype=self._chance.choice(["api_error", "turn_duration"]))

    def _change(self, log: Transcript) -> None:
        task = self._chance.choice(TASKS)
        owner = {"owner": self._chance.choice([*MEMBERS, "team-lead", ""])} if self._may(0.5) else {}
        if self._may(0.25):
            log.create_task(task)
        elif self._may(0.2):
            log.update_task(task, **{"owner": "cody", **owner})
        else:
            before = self._chance.choice(["pending", "in_progress", "completed"])
            after = self._chance.choice(["completed", "completed", "in_progress", "pending", "deleted"])
            log.update_task(task, before, after, **owner)

    def _look(self, log: Transcript) -> None:
        status, owner = self._chance.choice(["pending", "completed"]), self._chance.choice([*MEMBERS, ""])
        board = [{"id": self._chance.choice(TASKS), "subject": "A task", "status": status, "owner": owner}]
        log.later().result(log.later().call("TaskList"), outcome={"tasks": board})

    def _talk(self, log: Transcript) -> None:
        if self._may(0.3):
            log.send(self._chance.choice(MEMBERS))
        elif self._may(0.3):
            log.later().user(self._chance.choice(["Go on.", "[Request interrupted by user]"]))
        else:
            said = self._chance.choice(["Ready?", "And now?", protocol("idle_notification")])
            log.later().user(message(self._chance.choice(MEMBERS), said))
        if self._may(0.6):
            log.later(self._chance.choice([5, 61_000, -300])).say()

    def _spawn(self, log: Transcript) -> None:
        for of, agent in self._running[:1]:
            status = self._chance.choice(["completed", "failed", "running"])
            if of is log and self._may(0.5):
                log.later().user(notice(agent, status))
            elif of is log:
                log.later().add("attachment", attachment=queued(notice(agent, status)))
        kind, agent = self._chance.choice(["scout", "coder", None]), f"a{self._spawned}"
        self._spawned += 1
        call = log.spawn(kind, f"Job {agent}.", tool=self._chance.choice(["Task", "Agent"]))
        self._write_subagent(log, kind, agent)
        if self._may(0.5):
            log.later().add("progress", data={"type": "agent_progress", "agentId": agent}, parentToolUseID=call)
        how = self._chance.choice(["ended", "ended", "launched", "broke", "interrupted", "open"])
        if how == "ended":
            log.spawned(call, agent, **({"agentType": kind} if kind and self._may(0.5) else {}))
        elif how == "launched":
            log.later().result(call, outcome={"status": "async_launched", "agentId": agent})
            self._running.insert(0, (log, agent))
        elif how != "open":
            log.later().result(call, "It broke." if how == "broke" else "[Request interrupted by user]", error=True)

    def _write_subagent(self, log: Transcript, kind: str | None, agent: str) -> None:
        child = Transcript(100 + self._spawned, log.now, session=log.session, agent=agent)
        child.user(f"Job {agent}.")
        for _ in range(self._chance.randint(0, 2)):
            child.work(good=self._may(0.5))
        name = f"{FOLDER}/{log.session}/subagents/agent-{agent}"
        if self._may(0.7):
            self.files[f"{name}.jsonl"] = child.data
        if self._may(0.4):
            self.files[f"{name}.meta.json"] = json.dumps({"agentType": kind or "general-purpose"})

    def _fork(self, number: int) -> None:
        """Copy a history up to somewhere, under a new session; the lead's perhaps without its beginning."""
        of = self._chance.choice(self._mains)
        upto = self._chance.randint(1, len(of.events))
        since = self._chance.randint(0, upto) if of is self._mains[0] and self._may(0.3) else 0
        fork = Transcript(30 + number, T + 1_000_000 * (number + 1), parent=str(of.events[upto - 1]["uuid"]))
        fork.fields = {**of.fields, "sessionId": fork.session}
        for _ in range(self._chance.randint(0, 4)):
            self._step(fork)
        self.files[main_file(fork)] = of.copied(fork.session, upto=upto, since=since) + fork.data
        if self._may(0.3):
            self.files[f"projects/backup{number}/{of.session}.jsonl"] = of.copied(upto=upto)
