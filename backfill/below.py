"""A source that is asked about single files: what a run over changed paths reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from a2a_trust.sources.base import LogFile, Skips, Source, around
from a2a_trust.sources.files import DEPTH_LIMIT

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    from a2a_trust import facts
    from a2a_trust.sources.base import Reading


class Below:
    """A source that finds, of what lies below its own roots, only the sessions to which a given path belongs."""

    def __init__(self, source: Source, roots: Sequence[Path]) -> None:
        self.name = source.name
        self._source = source
        self._roots = [root.absolute() for root in roots]

    def default_roots(self, environ: Mapping[str, str]) -> list[Path]:
        """Return the source's own."""
        return self._source.default_roots(environ)

    def discover(self, root: Path, skips: Skips) -> Iterator[list[LogFile]]:
        """Yield the candidates for a file, or for all that a folder holds; none where no root is above it."""
        above = next((one for one in self._roots if root.is_relative_to(one)), None)
        if above is None:
            return
        whole = root == above or root.is_dir()
        for candidates in self._source.discover(root, skips) if whole else around(self._source, root, skips):
            # What is too deep for a walk from the root is not read, however it is found.
            if len(Path(candidates[0].path).parts) - len(above.parts) <= DEPTH_LIMIT + 1:
                yield candidates

    def header(self, log: LogFile) -> facts.LogHeader:
        """Return the source's own."""
        return self._source.header(log)

    def read(self, log: LogFile, cursor: bytes | None) -> Reading:
        """Return the source's own."""
        return self._source.read(log, cursor)

    def locate(self, log: LogFile, seqs: Container[int]) -> dict[int, tuple[int | None, int]]:
        """Return the source's own."""
        return self._source.locate(log, seqs)

    def classify(self, tool: str, failure: facts.Failure, refused: bool) -> str | None:  # noqa: FBT001 - see Classifier
        """Return the source's own."""
        return self._source.classify(tool, failure, refused)
