"""An answer's bytes may be cut anywhere and may be anything: the same is read, and nothing is raised."""

from __future__ import annotations

import json
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from memstrata.proxy.wire.request import Wire
from memstrata.proxy.wire.sse import Event, EventParser
from memstrata.proxy.wire.wires import ANTHROPIC, CHAT, RESPONSES

WIRES = st.sampled_from((ANTHROPIC, CHAT, RESPONSES))
ENDS = (b"\n", b"\r", b"\r\n")
lines = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=8)
events = st.tuples(st.text("abc.", max_size=5), st.lists(lines, min_size=1, max_size=3))


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[start:end] for start, end in pairwise(edges)]


def read(data: bytes, places: list[int]) -> list[Event]:
    parser = EventParser()
    return [event for piece in cut(data, places) for event in parser.feed(piece)]


@settings(max_examples=100)
@given(
    sent=st.lists(events, max_size=4),
    end=st.sampled_from(ENDS),
    mark=st.booleans(),
    space=st.sampled_from(("", " ")),
    places=st.lists(st.integers(0, 500), max_size=9),
)
def test_events_are_those_that_were_sent_wherever_the_bytes_are_cut(
    sent: list[tuple[str, list[str]]], end: bytes, mark: bool, space: str, places: list[int]
) -> None:
    stream = b"\xef\xbb\xbf" if mark else b""
    for name, data in sent:
        stream += b": a comment" + end + b"retry: 5" + end
        stream += f"event:{space}{name}".encode() + end if name else b""
        stream += b"".join(b"data: " + line.encode() + end for line in data) + end

    assert read(stream, places) == [Event(name, "\n".join(data).encode()) for name, data in sent]
    assert read(stream, list(range(len(stream)))) == read(stream, [])


@settings(max_examples=100)
@given(
    pieces=st.lists(
        st.sampled_from((b"\r", b"\n", b"\r\n", b"data", b":", b" x", b"data: {}", b"\xef\xbb\xbf", b"\xe4\xbd"))
    ),
    places=st.lists(st.integers(0, 500), max_size=9),
)
def test_any_stream_has_the_same_events_wherever_it_is_cut(pieces: list[bytes], places: list[int]) -> None:
    stream = b"".join(pieces)

    assert read(stream, places) == read(stream, [])


@settings(max_examples=60)
@given(wire=WIRES, text=st.text(max_size=20), asks=st.booleans(), places=st.lists(st.integers(0, 4000), max_size=9))
def test_an_answer_of_ours_is_read_back_in_any_pieces(wire: Wire, text: str, asks: bool, places: list[int]) -> None:
    said = {"question": text}
    given_text = text if text.strip() else "x"
    ours = [
        wire.ask("tool", said, stream=stream, model="m", ident="call_1")
        if asks
        else wire.answer(given_text, stream=stream, model="m", ident="1")
        for stream in (True, False)
    ]
    streamed, whole = wire.replies(), wire.replies()
    for piece in cut(ours[0].body, places):
        streamed.feed(piece)
    whole.whole(ours[1].body)

    assert streamed.reply() == whole.reply()
    assert streamed.reply().complete
    assert streamed.faults == whole.faults == 0
    if asks:
        assert [(call.id, call.name) for call in whole.reply().tool_calls] == [("call_1", "tool")]
        assert json.loads(whole.reply().tool_calls[0].arguments) == said
    else:
        assert whole.reply().text == given_text.strip("\n")


values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=3)),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.sampled_from(
        ("type", "index", "delta", "content_block", "message", "usage", "choices", "tool_calls", "function", "content", "item", "response", "output")  # noqa: E501
    ), inner, max_size=3)),
    max_leaves=10,
)  # fmt: skip
KINDS = ("message_start", "content_block_start", "content_block_delta", "message_delta", "error", "response.created",
         "response.output_item.done", "response.output_text.delta", "response.completed")  # fmt: skip


@settings(max_examples=150)
@given(wire=WIRES, members=st.lists(st.tuples(st.sampled_from(KINDS), values), max_size=4), noise=st.binary(max_size=9))
def test_no_answer_of_any_shape_stops_a_reader(wire: Wire, members: list[tuple[str, object]], noise: bytes) -> None:
    reader = wire.replies()
    for kind, value in members:
        event = {"type": kind} | (value if isinstance(value, dict) else {"delta": value})
        reader.feed(b"data: " + json.dumps(event).encode() + b"\n\n")
        reader.whole(json.dumps(value).encode())
        reader.feed(b"data: " + noise + b"\n\n")

    assert isinstance(reader.reply().text, str)
