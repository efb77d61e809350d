"""Reading case files and data sets, so that an error says where it stands.

A case file is JSON, a data set JSON lines; both are strict: nothing unknown, nothing left out, nothing coerced. A data
set is never held: it is checked as a whole before a run begins, and read again, trace by trace, while it is judged.
"""

from __future__ import annotations

import hashlib
import json
import re
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, Struct

from a2a_trust.errors import CaseError
from a2a_trust.jury.case_types import MAX_TEXT, Agent, Judge, PanelCase, Person, Trajectory, TribunalCase
from a2a_trust.sources.jury_events import Preset, sha256

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

CASE_BYTES = 4_000_000
LINE_BYTES = 2_000_000
"""Longer than any line within the limits of its fields can be."""
DIGEST_BYTES = 16
ALL_AGENTS = "*"
"""Names, in a map of judged agents, the one of every trace that is not named."""

SHIPPED: dict[str, tuple[Preset, str]] = {
    "cold-store": ("tribunal", "cold-store.json"),
    "night-desk": ("panel", "night-desk.json"),
    "trajectories": ("judges", "trajectories.jsonl"),
}
"""Cases that come with the package, by name."""
_EXPECTED = f"a case file, or one of the cases that come with the package: {', '.join(SHIPPED)}"


class CaseFile(Struct, frozen=True):
    """A case as it was read."""

    path: str
    sha256: str
    case: TribunalCase | PanelCase


class Dataset(Struct, frozen=True):
    """A data set that was checked, not one that is held."""

    path: Path
    sha256: str
    count: int
    digests: bytes
    """The first bytes of the SHA-256 of each line, so that a change between two readings is seen."""

    def traces(self) -> Iterator[Trajectory]:
        """Read it again.

        Raises:
            CaseError: It is another one by now.
        """
        count = 0
        for number, line in _lines(self.path):
            place = slice(count * DIGEST_BYTES, (count + 1) * DIGEST_BYTES)
            count += 1
            if hashlib.sha256(line).digest()[:DIGEST_BYTES] != self.digests[place]:
                raise self._changed(count)
            yield _decoded(line, _TRAJECTORY, f"{self.path}, line {number}", check_keys=False)
        if count != self.count:
            raise self._changed(count + 1)

    def _changed(self, count: int) -> CaseError:
        return CaseError(
            f"{self.path} changed while it was judged, at its trace {count}: put it back and resume the run, or judge"
            " it anew in another folder."
        )


Case: TypeAlias = CaseFile | Dataset

_CASE = msgspec.json.Decoder(TribunalCase | PanelCase)
_TRAJECTORY = msgspec.json.Decoder(Trajectory)
_AGENTS = msgspec.json.Decoder(dict[str, Agent])
_JUDGES = msgspec.json.Decoder(Annotated[tuple[Judge, ...], Meta(min_length=2, max_length=12)])
_T = TypeVar("_T")


def load(source: str | Path, preset: Preset, *, max_traces: int = 100_000) -> Case:
    """Return the case of a preset: a file, or one that comes with the package, by its name.

    Raises:
        CaseError: It cannot be read, or is not one; the message says where and what was expected.
    """
    path = Path(source)
    if str(source) in SHIPPED and not path.exists():
        shipped, name = SHIPPED[str(source)]
        _expect_preset(preset, shipped, str(source))
        path = Path(str(resources.files(__package__) / "cases" / name))
    if preset == "judges":
        return _dataset(path, max_traces)
    raw = _read(path)
    case = _decoded(raw, _CASE, str(path))
    _expect_preset(preset, "tribunal" if isinstance(case, TribunalCase) else "panel", str(path))
    for where, problem in _problems(case):
        raise CaseError(f"{path}, at `$.{where}`: {problem}.")
    return CaseFile(str(path), sha256(raw), case)


def load_agents(path: Path) -> dict[str, Agent]:
    """Read whose work each trace is: a JSON object of profiles by trace id, `*` for all that it does not name."""
    return _decoded(_read(path, "a JSON object of profiles by trace id"), _AGENTS, str(path))


def load_judges(path: Path) -> tuple[Judge, ...]:
    """Read the judges of a run: a JSON list of at least two."""
    return _decoded(_read(path, "a JSON list of judges"), _JUDGES, str(path))


def varied(case: PanelCase) -> Iterator[tuple[str, str, str]]:
    """Yield item, title and text of the case as it is, then of each variant."""
    yield case.id, case.title, case.text
    for variant in case.variants:
        text = case.text
        for edit in variant.edits:
            text = text.replace(edit.find, edit.replace, 1)
        yield f"{case.id}.{variant.id}", variant.title, text


def _dataset(path: Path, max_traces: int) -> Dataset:
    whole = hashlib.sha256()
    digests = bytearray()
    seen: dict[bytes, int] = {}
    for number, line in _lines(path, whole):
        where = f"{path}, line {number}"
        trace = _decoded(line, _TRAJECTORY, where)
        named = hashlib.sha256(trace.trace_id.encode()).digest()[:DIGEST_BYTES]
        if named in seen:
            raise CaseError(
                f"{where}, at `$.trace_id`: {trace.trace_id!r} is the trace of line {seen[named]} too; each trace needs"
                " an id of its own. Rename one of the two."
            )
        seen[named] = number
        if len(seen) > max_traces:
            raise CaseError(
                f"{where}: this is trace {len(seen)}, and the run may judge {max_traces}. Allow more with --max-traces,"
                " or judge a part of the data set."
            )
        digests += hashlib.sha256(line).digest()[:DIGEST_BYTES]
    if not seen:
        raise CaseError(f"{path} holds no trace; expected one JSON object a line. Name another file.")
    return Dataset(path, whole.hexdigest(), len(seen), bytes(digests))


def _lines(path: Path, whole: Any = None) -> Iterator[tuple[int, bytes]]:  # noqa: ANN401 - a hash, of a type that hashlib keeps to itself
    """Yield number and bytes of each line that is not blank."""
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(LINE_BYTES + 1):
                number += 1
                if len(line) > LINE_BYTES:
                    raise CaseError(
                        f"{path}, line {number}: longer than {LINE_BYTES:,} bytes; expected one trace a line. Split it."
                    )
                if whole is not None:
                    whole.update(line)
                if line.strip():
                    yield number, line.strip()
    except OSError as error:
        raise _unreadable(path, error) from error


def _read(path: Path, expected: str = _EXPECTED) -> bytes:
    try:
        with path.open("rb") as file:
            raw = file.read(CASE_BYTES + 1)
    except OSError as error:
        raise _unreadable(path, error, expected) from error
    if len(raw) > CASE_BYTES:
        raise CaseError(f"{path} is longer than {CASE_BYTES:,} bytes, which no case needs. Shorten it.")
    return raw


def _unreadable(path: Path, error: OSError, expected: str = _EXPECTED) -> CaseError:
    return CaseError(f"{path} cannot be read ({error.strerror or error}); expected {expected}.")


def _decoded(raw: bytes, decoder: msgspec.json.Decoder[_T], where: str, *, check_keys: bool = True) -> _T:
    try:
        found = decoder.decode(raw)
        if check_keys:
            json.loads(raw, object_pairs_hook=_unique)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        found_at = re.search(r" - at `(.*)`$", str(error))
        words = str(error)[: found_at.start()] if found_at else str(error)
        place = f", at `{found_at[1]}`" if found_at and found_at[1] != "$" else ""
        raise CaseError(f"{where}{place}: {words[:300]}. Correct it; docs/juries.md states the format.") from error
    return found


def _unique(pairs: list[tuple[str, Any]]) -> None:
    """Refuse a key that stands twice: of the two values, a reader could only guess which one counts."""
    seen = set()
    for key, _value in pairs:
        if key in seen:
            raise ValueError(f"The key {key!r} stands twice in one object")
        seen.add(key)


def _expect_preset(asked: Preset, found: Preset, where: str) -> None:
    if asked != found:
        raise CaseError(f"{where} is a case for the preset {found}, not {asked}. Run it with --preset {found}.")


def _problems(case: TribunalCase | PanelCase) -> Iterator[tuple[str, str]]:
    """Yield place and words of what no type can say."""
    yield from _doubles(case.options, "options", "option")
    if case.truth is not None and case.truth.outcome not in case.options:
        yield "truth.outcome", f"found {case.truth.outcome!r}, expected one of {_listed(case.options)}"
    if isinstance(case, PanelCase):
        yield from _variant_problems(case)
    else:
        yield from _tribunal_problems(case)


def _variant_problems(case: PanelCase) -> Iterator[tuple[str, str]]:
    yield from _doubles([variant.id for variant in case.variants], "variants", "id")
    for index, variant in enumerate(case.variants):
        text = case.text
        for number, edit in enumerate(variant.edits):
            if (count := text.count(edit.find)) != 1:
                yield (
                    f"variants[{index}].edits[{number}].find",
                    f"these words stand {count} times in the text, expected once",
                )
            text = text.replace(edit.find, edit.replace, 1)
        if not text.strip() or len(text) > MAX_TEXT:
            yield f"variants[{index}]", f"the text becomes {len(text)} characters, expected 1 to {MAX_TEXT}"


def _tribunal_problems(case: TribunalCase) -> Iterator[tuple[str, str]]:
    everybody: list[Person] = [case.judge, *case.parties, *case.witnesses, *case.jurors, case.solo]
    yield from _doubles([person.id for person in everybody], "jurors", "id")
    expected = [f"E{number}" for number in range(1, len(case.evidence) + 1)]
    if list(case.evidence) != expected:
        yield "evidence", f"found {_listed(case.evidence)}, expected E1 to {expected[-1]} in this order"
    if case.foreperson not in {juror.id for juror in case.jurors}:
        yield "foreperson", f"{case.foreperson!r} is no juror; expected one of {_listed(j.id for j in case.jurors)}"
    yield from _doubles([party.side for party in case.parties], "parties", "side")
    for index, party in enumerate(case.parties):
        if party.side not in case.options:
            yield f"parties[{index}].side", f"found {party.side!r}, expected one of {_listed(case.options)}"
        yield from _unknown(party.relies_on, case.evidence, f"parties[{index}].relies_on")
    sides = {party.id for party in case.parties}
    for index, witness in enumerate(case.witnesses):
        yield from _unknown(witness.relies_on, case.evidence, f"witnesses[{index}].relies_on")
        if set(witness.questions) != sides:
            yield f"witnesses[{index}].questions", f"expected one question of each of {_listed(sorted(sides))}"


def _doubles(values: Collection[str], where: str, what: str) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for value in values:
        if value in seen:
            yield where, f"the {what} {value!r} stands twice, expected each once"
        seen.add(value)


def _unknown(found: Iterable[str], known: Collection[str], where: str) -> Iterator[tuple[str, str]]:
    for name in found:
        if name not in known:
            yield where, f"{name!r} is no evidence of this case; expected some of {_listed(known)}"


def _listed(values: Iterable[str]) -> str:
    return ", ".join(values)
