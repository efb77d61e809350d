"""From findings to evidence and observations: who did what one log says was done.

The second half of attribution: the roster of the team says who the actors are. Monotone like the first: what is not
known yet waits, and nothing that was said is taken back. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from a2a_trust.amendments import MEMBER_REGISTERED
from a2a_trust.model import ROW_VERSION, Profile, Role, Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from a2a_trust.facts import LogHeader
    from a2a_trust.log_state import Finding, LogState

RULES_VERSION = 1
"""Raised when the same facts would give other rows; logs are then read again from their start."""


class Identity(Struct, frozen=True):
    """Who an actor is: its profile, and the team in which it acted."""

    profile: Profile
    team: str


class Attribution:
    """Says who the actors of findings are, over the logs read so far."""

    def __init__(self, logs: Mapping[str, LogState]) -> None:
        self._logs = logs

    def identify(self, log: LogState) -> Identity | None:
        """Return who the agent of a log is, `None` while that cannot be known yet."""
        header = log.header
        if header.by_event:
            return self._named(header.profile, header.holder, header.parent)
        if not header.subagent:
            return Identity(Profile(name=header.preset or "main", context="root", role=Role.MAIN), header.session)
        descriptor = log.descriptor
        if not (descriptor and descriptor.one_shot):
            parent = self._logs.get(header.parent)
            if parent is None:
                return None
            if header.session in parent.roster:
                return Identity(parent.roster[header.session], header.parent)
            if not header.created or parent.reached <= header.created:
                return None
        provider = descriptor.provider if descriptor else ""
        context = "fork" if header.seeded or provider == "fork" else "fresh"
        profile = Profile(name=header.preset or "subagent", provider=provider, context=context, role=Role.SUBAGENT)
        return Identity(profile, header.parent or header.session)

    def rows(self, log: LogState, findings: Iterable[Finding]) -> tuple[list[Row], list[Finding]]:
        """Split findings of a log into rows and what must wait for another log."""
        rows: list[Row] = []
        waiting: list[Finding] = []
        own = self.identify(log) if log.started else None
        for finding in findings:
            if finding.subject is None and log.header.nobodys:
                rows.append(_row(log.header, finding, None))
                continue
            if finding.subject is not None or finding.holder:
                identity = self._named(finding.subject, finding.holder, finding.team)
            else:
                identity = self._actor(log, finding, own)
            if identity is None:
                waiting.append(finding)
            elif identity is not _NOBODY:
                rows.append(_row(log.header, finding, identity))
        return rows, waiting

    def _actor(self, log: LogState, finding: Finding, own: Identity | None) -> Identity | None:
        """Return whom a finding is about, `None` to wait, `_NOBODY` where it can never count."""
        if finding.waking or finding.peer:
            team = self._team_of_message(log, finding, own)
            if team is None:
                return None
            if finding.peer:
                return self._member(team, finding.actor)
            return own if team.queued[finding.waking] else _NOBODY
        if finding.team:
            return self._member(log, finding.actor)
        registered = finding.kind == MEMBER_REGISTERED and not log.header.by_event
        if own is not None and own.profile.role is Role.TEAMMATE and registered:
            return _NOBODY
        return own

    def _named(self, profile: Profile | None, holder: str, team: str) -> Identity | None:
        """Return an agent that its own log names, or else the log of its spawner under an id."""
        if profile is None and (spawner := self._logs.get(holder)) is not None:
            profile = spawner.roster.get(holder)
        return Identity(profile, team) if profile else None

    def _member(self, lead: LogState, actor: str) -> Identity | None:
        """Return the Lead, or a member of its roster, by session id."""
        team = lead.header.session
        if actor == team:
            identity = self.identify(lead)
            return Identity(identity.profile, team) if identity else None
        profile = lead.roster.get(actor)
        return Identity(profile, team) if profile else None

    def _team_of_message(self, log: LogState, finding: Finding, own: Identity | None) -> LogState | None:
        """Return the log of the Lead in whose team a received message was sent, `None` while unknown."""
        if own is None:
            return None
        leads = [log]
        if own.profile.role is Role.TEAMMATE:
            parent = self._logs.get(log.header.parent)
            leads += [parent] if parent is not None else []
        for lead in leads:
            session = lead.header.session
            if finding.waking and finding.team == session and finding.waking in lead.queued:
                return lead
            if finding.peer and (finding.peer in lead.roster or (finding.peer == session and lead is not log)):
                return lead
        return None


_NOBODY = Identity(Profile(name=""), "")


def _row(header: LogHeader, finding: Finding, identity: Identity | None) -> Row:
    """Make the row of a finding, about nobody where there is no identity."""
    details, profile = finding.details, identity.profile if identity else None
    team = identity.team if identity else header.parent
    details = msgspec.structs.replace(
        details,
        role=profile.role if profile else None,
        profile=profile if finding.kind == MEMBER_REGISTERED or (finding.subject and not finding.dim) else None,
        project=None if finding.event else header.cwd or None,
        source=header.source,
        rules=RULES_VERSION,
    )
    return Row(
        v=ROW_VERSION,
        id=finding.id or f"msg:{team}:{details.message}",
        time=finding.time,
        session=header.session,
        event=finding.event or None,
        project=(header.cwd or None) if finding.event else None,
        gen=finding.gen,
        seq=finding.seq,
        pos=finding.pos,
        team_id=team or None,
        kind=finding.kind,
        subject=profile.fingerprint if profile else None,
        subject_name=profile.name if profile else None,
        dim=finding.dim,
        evidence=details,
    )
