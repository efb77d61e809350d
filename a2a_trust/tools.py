"""What the MCP server answers, without the protocol: typed questions in, typed answers out, over one home.

Every call opens the home anew and sees one whole snapshot. Reading never writes; the one way to write is a `Recorder`
that the caller hands in. Names and other texts from logs are bounded and made safe: a model reads the answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta, Struct

from a2a_trust.advice import NAME_CHARS
from a2a_trust.comparison import Comparison, compare
from a2a_trust.errors import UsageError
from a2a_trust.lenses import Lens
from a2a_trust.model import DIMENSIONS, Dimension, Profile, Role
from a2a_trust.signals import Provenance, Signal, TrustSignals
from a2a_trust.text import safe

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from a2a_trust.model import HistoryEntry

TEXT_CHARS = 200
"""Characters of a description that are shown."""
LISTED = 50
EVIDENCE_SHOWN = 10
COMMENT_CHARS = 500

Agent = Annotated[str, Meta(min_length=1, description="A name, a fingerprint, or at least four of its characters.")]


class Query(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Ask for one agent."""

    agent: Agent
    evidence: Annotated[int, Meta(ge=0, le=64, description="How much of the newest evidence to show.")] = EVIDENCE_SHOWN


class Compare(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Ask which of several agents did better."""

    agents: Annotated[list[Agent], Meta(min_length=2, max_length=10)]
    dimension: Dimension | None = None


class Listing(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Ask for all agents, newest first."""

    role: Role | None = None
    lens: Annotated[
        Lens | None, Meta(description="The key to fold by; without it the one under which agents come back.")
    ] = None
    limit: Annotated[int, Meta(ge=1, le=1000)] = LISTED


class Feedback(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rate an agent on what it did in this session: 1 (useless) to 5 (excellent) by dimension."""

    agent: Agent
    ratings: Annotated[dict[Dimension, Annotated[int, Meta(ge=1, le=5)]], Meta(min_length=1)]
    comment: Annotated[str, Meta(max_length=COMMENT_CHARS)] = ""


class EvidenceShown(Struct, frozen=True, kw_only=True):
    """One piece of evidence."""

    time: int
    kind: str
    dimension: Dimension
    quality: float
    tool: str | None
    code: str | None


class QueryAnswer(Struct, frozen=True, kw_only=True, rename="camel"):
    """One agent."""

    agent: Signal
    evidence: list[EvidenceShown]
    """The newest first."""
    namesakes: list[str]
    """Fingerprints of other agent types of the same name."""
    provenance: Provenance


class CompareAnswer(Struct, frozen=True, kw_only=True):
    """Every pair of the agents asked for."""

    agents: list[Signal]
    comparisons: list[Comparison]
    provenance: Provenance


class ListAnswer(Struct, frozen=True, kw_only=True, rename="camel"):
    """The agents, newest first."""

    lens: Lens
    agents: list[Signal]
    left_out: int
    provenance: Provenance


class FeedbackAnswer(Struct, frozen=True, kw_only=True):
    """What was recorded."""

    agent: str
    recorded: int
    """Rows that the audit log got."""


class Tools:
    """The questions that can be asked of a home, or of a snapshot file."""

    def __init__(
        self, place: Path, clock: Callable[[], int], recorder: Callable[[str, Feedback], int] | None = None
    ) -> None:
        """`clock` gives the time in ms; `recorder` stores a rating of the agent with a fingerprint and counts rows."""
        self._place = place
        self._clock = clock
        self._recorder = recorder

    def _open(self) -> TrustSignals:
        return TrustSignals.at_a_glance(self._place, now=self._clock())

    def query(self, asked: Query) -> QueryAnswer:
        """Answer with one agent. Raises `UnknownAgentError` that lists the candidates."""
        signals = TrustSignals(self._place, now=self._clock(), catch_up=False)
        signal = signals.for_agent(asked.agent)
        newest = signal.history[::-1][: asked.evidence]
        return QueryAnswer(
            agent=shown(signal),
            evidence=[_evidence(entry) for entry in newest],
            namesakes=[other.key for other in signals.namesakes(signal)],
            provenance=signals.provenance,
        )

    def compare(self, asked: Compare) -> CompareAnswer:
        """Answer with every pair of the agents. Raises `UnknownAgentError`, or `UsageError` for one named twice."""
        signals = self._open()
        found = [signals.for_agent(agent) for agent in asked.agents]
        if len({signal.key for signal in found}) < len(found):
            raise UsageError("an agent is named twice; give agents that differ")
        return CompareAnswer(
            agents=[shown(signal) for signal in found],
            comparisons=compare(found, [asked.dimension] if asked.dimension else DIMENSIONS),
            provenance=signals.provenance,
        )

    def list(self, asked: Listing) -> ListAnswer:
        """Answer with the newest agents."""
        signals = self._open()
        lens = asked.lens or (Lens.FINGERPRINT if asked.role else signals.default_lens())
        if asked.role is not None and lens is not Lens.FINGERPRINT:
            raise UsageError(f"by {lens} there are no roles; leave out role, or ask by fingerprint")
        found = signals.agents(asked.role) if lens is Lens.FINGERPRINT else signals.by(lens)
        found.sort(key=lambda signal: (-signal.last_seen, signal.key))
        return ListAnswer(
            lens=lens,
            agents=[shown(signal) for signal in found[: asked.limit]],
            left_out=max(0, len(found) - asked.limit),
            provenance=signals.provenance,
        )

    def feedback(self, asked: Feedback) -> FeedbackAnswer:
        """Record a rating. Raises `UsageError` where nothing is recorded here, or a limit is reached."""
        if self._recorder is None:
            raise UsageError("ratings are not recorded here; start the server with --allow-feedback")
        key = self._open().for_agent(asked.agent).key
        return FeedbackAnswer(agent=key, recorded=self._recorder(key, asked))


def shown(signal: Signal) -> Signal:
    """Return a signal without its history, and with texts that a model can read without harm."""
    profile = signal.profile
    return msgspec.structs.replace(
        signal,
        key=safe(signal.key, TEXT_CHARS),
        name=safe(signal.name, NAME_CHARS),
        profile=Profile(
            name=safe(profile.name, NAME_CHARS),
            description=safe(profile.description, TEXT_CHARS),
            provider=safe(profile.provider, NAME_CHARS),
            context=safe(profile.context, NAME_CHARS),
            role=profile.role,
            model=safe(profile.model, NAME_CHARS),
        ),
        history=[],
    )


def _evidence(entry: HistoryEntry) -> EvidenceShown:
    detail = entry.detail
    return EvidenceShown(
        time=entry.time,
        kind=entry.kind,
        dimension=entry.dim,
        quality=entry.quality,
        tool=safe(detail.tool, NAME_CHARS) if detail.tool else None,
        code=safe(detail.code, NAME_CHARS) if detail.code else None,
    )
