"""Messages whose stream is cut out before they are parsed: they say what the whole line says."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_trust.sources import dsh_lines
from a2a_trust.sources.json_lines import LineError

STREAM = ',"stream":['
LONG = "x" * 3_000
texts = st.sampled_from(["", "plain", STREAM, f'"{STREAM}', ']},"surfaceOp":"append"}', "}\\"])
values = st.recursive(
    texts | st.integers(0, 9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts | st.just("stream"), inner, max_size=3),
    max_leaves=8,
)


def line_of(record: object) -> bytes:
    """A record as the harness writes it."""
    return json.dumps(record, separators=(",", ":")).encode()


@given(
    data=st.dictionaries(st.sampled_from(["turn", "usage", "stream", "more"]), values, max_size=4),
    stream=st.lists(values, max_size=3),
    before=st.booleans(),
    model=texts,
)
def test_a_message_says_the_same_with_its_stream_cut_out(
    data: dict[str, object], stream: list[object], *, before: bool, model: str
) -> None:
    """Wherever a stream, or what looks like one, stands, the events are those of the whole line."""
    message = {"content": [{"text": LONG, "stream": data}], "source": {"model": model}}
    fields = {**data, "message": message} if before else {"message": message, **data}
    fields.pop("stream", None)
    record = {"type": "assistant/message", "seq": 7, "time": 8, "data": {**fields, "stream": [*stream, LONG]}}
    line = line_of({**record, "surfaceOp": "append"})
    assert dsh_lines.parse(line) == [msgspec.json.decode(line, type=dsh_lines.AnyLine)]


def test_a_stream_outside_the_data_hides_nothing() -> None:
    """What stands where the stream's end would be is read."""
    line = line_of({"type": "turn/end", "seq": 1, "stream": [LONG], "data": {"stream": [LONG]}, "surfaceOp": "append"})
    assert dsh_lines.parse(line) == [msgspec.json.decode(line, type=dsh_lines.AnyLine)]
    behind = {"type": "assistant/message", "seq": 1, "data": {"stream": [LONG], "message": {}, "end": []}}
    line = line_of({**behind, "surfaceOp": "append"})
    assert dsh_lines.parse(line) == [msgspec.json.decode(line, type=dsh_lines.AnyLine)]


def test_a_message_that_is_broken_before_its_stream_is_counted() -> None:
    """Only the stream is not looked into."""
    record = {"type": "assistant/message", "seq": 1, "data": {"message": {}, "stream": [LONG]}, "surfaceOp": "append"}
    whole = line_of(record)
    assert dsh_lines.parse(whole.replace(LONG.encode(), LONG.encode() + b'"oops'))
    with pytest.raises(LineError):
        dsh_lines.parse(whole.replace(b'"message":{}', b'"message":{'))


def test_two_messages_on_a_line_are_two() -> None:
    """Nothing is taken for a part of the stream before it."""
    first, second = (
        line_of(
            {"type": "assistant/message", "seq": seq, "data": {"message": {}, "stream": [LONG]}, "surfaceOp": "append"}
        )
        for seq in (1, 2)
    )
    assert dsh_lines.parse(first + second) == [*dsh_lines.parse(first), *dsh_lines.parse(second)]
