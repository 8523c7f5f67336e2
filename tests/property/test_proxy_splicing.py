"""A body as any client may write it: our text goes in, and nothing else about it changes, to the byte."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memstrata.proxy.wire.request import Unreadable, Wire
from memstrata.proxy.wire.spans import Document
from memstrata.proxy.wire.splice import Edit, splice
from memstrata.proxy.wire.wires import ANTHROPIC, CHAT, RESPONSES

OURS = 'memory "of"\nthe user 记忆'
SPACES = ("", "", "", " ", "\n  ", "\t", "\r\n")
NUMBERS = (
    "0",
    "-0",
    "1.0",
    "1e400",
    "-12.5E+7",
    "123456789012345678901234567890",
    "0.1000000000000000055511151231257827",
)

Draw = Callable[..., Any]


class Spelled(str):
    """JSON that stands for itself: a number whose digits, or a string whose escapes, are part of the test."""

    __slots__ = ()


def spelled(value: Any, draw: Draw) -> str:
    """Return JSON with whitespace wherever it may stand and strings escaped one way or the other."""

    def gap() -> str:
        return str(draw(st.sampled_from(SPACES)))

    match value:
        case Spelled():
            return str(value)
        case dict():
            members = (
                f"{gap()}{spelled(key, draw)}{gap()}:{gap()}{spelled(one, draw)}{gap()}" for key, one in value.items()
            )
            return "{" + (",".join(members) or gap()) + "}"
        case list():
            return "[" + (",".join(f"{gap()}{spelled(one, draw)}{gap()}" for one in value) or gap()) + "]"
        case str():
            if draw(st.integers(0, 9)) == 0:
                return '"' + "".join(f"\\u{unit:04x}" for unit in _utf16(value)) + '"'
            return json.dumps(value, ensure_ascii=draw(st.booleans()))
        case _:
            return json.dumps(value)


def _utf16(text: str) -> list[int]:
    units = text.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(units[at : at + 2]) for at in range(0, len(units), 2)]


texts = st.text(st.characters(codec="utf-8"), max_size=12)
words = st.one_of(texts, st.sampled_from(["", '"', "\\", '\\"}],', '","messages":[', "cache_control", "\u2028", "😀"]))
strings = st.one_of(
    words, st.sampled_from([Spelled(r'"\ud83d"'), Spelled(r'"\\ud800 \ude00\ud800"'), Spelled(r'"\/\b"')])
)
anything = st.recursive(
    st.one_of(st.none(), st.booleans(), strings, st.sampled_from([Spelled(number) for number in NUMBERS])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(words, inner, max_size=3)),
    max_leaves=8,
)
unknown = st.dictionaries(st.sampled_from(["x", "metadata2", "top_k", "\u4e2d", 'a"b']), anything, max_size=2)


@st.composite
def objects(draw: st.DrawFn, /, **members: st.SearchStrategy[Any]) -> dict[str, Any]:
    """Return an object with these members and some that nobody knows, in any order."""
    drawn = {key: draw(one) for key, one in members.items()} | draw(unknown)
    return dict(draw(st.permutations(list(drawn.items()))))


def text_parts(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    return objects(type=st.just(kind), text=strings)


anthropic_blocks = st.one_of(
    text_parts("text"),
    objects(type=st.just("tool_use"), id=words, name=words, input=anything),
    objects(
        type=st.just("tool_result"),
        tool_use_id=words,
        content=st.one_of(strings, st.lists(text_parts("text"), max_size=2)),
    ),
    objects(type=st.just("image"), source=anything),
    objects(type=st.just("from_next_year"), data=anything),
)
anthropic_bodies = objects(
    messages=st.lists(
        objects(
            role=st.sampled_from(["user", "assistant"]),
            content=st.one_of(strings, st.lists(anthropic_blocks, max_size=4)),
        ),
        min_size=1,
        max_size=4,
    ),
    system=st.one_of(st.none(), strings, st.lists(text_parts("text"), max_size=3)),
    max_tokens=st.just(5),
)
chat_bodies = objects(
    messages=st.lists(
        objects(
            role=st.sampled_from(["system", "developer", "user", "assistant", "tool"]),
            content=st.one_of(
                strings, st.lists(st.one_of(text_parts("text"), objects(type=st.just("file"), file=anything)))
            ),
        ),
        min_size=1,
        max_size=4,
    ),
)
responses_items = st.one_of(
    objects(
        type=st.just("message"),
        role=st.sampled_from(["developer", "user", "assistant"]),
        content=st.one_of(strings, st.lists(text_parts("input_text"), max_size=3)),
    ),
    objects(type=st.just("function_call"), call_id=words, name=words, arguments=words),
    objects(type=st.just("function_call_output"), call_id=words, output=strings),
    objects(type=st.just("reasoning"), encrypted_content=words),
)
responses_bodies = objects(
    input=st.one_of(strings, st.lists(responses_items, min_size=1, max_size=4)),
    instructions=st.one_of(st.none(), strings),
)


@st.composite
def written(draw: st.DrawFn, bodies: st.SearchStrategy[dict[str, Any]]) -> bytes:
    edge = st.sampled_from(SPACES)
    return (draw(edge) + spelled(draw(bodies), draw) + draw(edge)).encode("utf-8")


def parsed(body: bytes) -> Any:
    """Return a body with its numbers as they are written and its members in order."""
    return json.loads(body, parse_int=Spelled, parse_float=Spelled)


def without_ours(value: Any, ours: Any) -> Any:
    """Return a value without our block, and without the array that was made to hold it beside a string."""
    if isinstance(value, dict):
        return {key: without_ours(one, ours) for key, one in value.items()}
    if isinstance(value, list):
        left = [without_ours(one, ours) for one in value if one != ours]
        if len(left) < len(value) and len(left) == 1 and set(left[0]) == {"type", "text"}:
            return ("one text", left[0]["text"])
        return ("nothing else",) if len(left) < len(value) and not left else left
    return value


def check_only_insertions(body: bytes, edits: tuple[Edit, ...]) -> bytes:
    """Return the edited body, after a look at what is between the edits; only an empty string or null may be replaced."""
    after = splice(body, edits)
    assert all(body[edit.start : edit.end] in (b"", b'""', b"null", b'"') for edit in edits)
    at = kept = 0
    for edit in sorted(edits, key=lambda one: (one.start, one.end)):
        assert after[at : at + edit.start - kept] == body[kept : edit.start]
        at += edit.start - kept + len(edit.replacement)
        kept = edit.end
    assert after[at:] == body[kept:]
    return after


def spoken(value: Any) -> Any:
    """Return what is expected of `without_ours`, given the value that our block went into."""
    match value:
        case None | "" | []:
            return ("nothing else",)
        case str():
            return ("one text", value)
        case [{"type": _, "text": text, **others}] if not others:
            return ("one text", text)
        case _:
            return value


@settings(max_examples=60)
@given(body=written(anthropic_bodies))
def test_anthropic_bodies_gain_one_system_block_and_nothing_else(body: bytes) -> None:
    request = ANTHROPIC.read(body)
    after = parsed(check_only_insertions(body, ANTHROPIC.place_system(request, OURS)))
    before = parsed(body)

    system = after.pop("system")
    assert {key: value for key, value in before.items() if key != "system"} == after
    assert system[-1] == {"type": "text", "text": OURS}
    assert without_ours(system, system[-1]) == spoken(before.get("system"))


@settings(max_examples=60)
@given(body=written(anthropic_bodies), at=st.integers(0, 3))
def test_anthropic_messages_gain_one_block_and_nothing_else(body: bytes, at: int) -> None:
    check_recalled(ANTHROPIC, body, at, lambda value: value["messages"])


@settings(max_examples=60)
@given(body=written(chat_bodies), at=st.integers(0, 3))
def test_chat_bodies_gain_one_message_and_one_block_and_nothing_else(body: bytes, at: int) -> None:
    request = CHAT.read(body)
    after = parsed(check_only_insertions(body, CHAT.place_system(request, OURS)))
    before = parsed(body)

    leading = len(before["messages"]) - len(request.messages)
    ours = after["messages"].pop(leading)
    assert ours["content"] == OURS
    assert ours["role"] == (before["messages"][leading - 1]["role"] if leading else "system")
    assert after == before
    check_recalled(CHAT, body, at, lambda value: value["messages"][leading:])


@settings(max_examples=60)
@given(body=written(responses_bodies), at=st.integers(0, 3))
def test_responses_bodies_gain_one_part_and_nothing_else(body: bytes, at: int) -> None:
    request = RESPONSES.read(body)
    after = parsed(check_only_insertions(body, RESPONSES.place_system(request, OURS)))
    before = parsed(body)
    part = {"type": "input_text", "text": OURS}

    if isinstance(before["input"], str):
        assert after["input"][0] == {"type": "message", "role": "developer", "content": [part]}
        assert after["input"][1:] == [{"type": "message", "role": "user", "content": before["input"]}]
    elif before["input"][0].get("role") == "developer":
        ours, theirs = after["input"][0].pop("content"), before["input"][0].pop("content")
        assert ours[-1] == part
        assert without_ours(ours, part) == spoken(theirs)
        assert after["input"] == before["input"]
        check_recalled(RESPONSES, body, at, lambda value: value["input"])
    else:
        assert after["input"] == [{"type": "message", "role": "developer", "content": [part]}, *before["input"]]
        check_recalled(RESPONSES, body, at, lambda value: value["input"])
    assert {key: value for key, value in after.items() if key != "input"} == {
        key: value for key, value in before.items() if key != "input"
    }


def check_recalled(wire: Wire, body: bytes, at: int, messages: Callable[[Any], Any]) -> None:
    request = wire.read(body)
    at %= max(len(request.messages), 1)
    if not request.messages:
        return
    block = wire.recalled_block(OURS)
    if request.messages[at].role != "user" or request.messages[at].content is None:
        with pytest.raises(Unreadable):
            wire.place_recalled(request, at, block)
        return
    after = messages(parsed(check_only_insertions(body, wire.place_recalled(request, at, block))))
    before = messages(parsed(body))

    new, old = after[at].pop("content"), before[at].pop("content")
    assert new.count(parsed(block)) == 1
    assert without_ours(new, parsed(block)) == spoken(old)
    assert after == before


@settings(max_examples=60)
@given(body=written(st.one_of(anthropic_bodies, chat_bodies)))
def test_every_position_is_that_of_a_whole_json_value(body: bytes) -> None:
    request = CHAT.read(body) if b'"developer"' in body else ANTHROPIC.read(body)
    for said in request.messages:
        message = parsed(body[said.span.start : said.span.end])
        assert message.get("role", "") == said.role
        if said.content is not None:
            assert parsed(body[said.content.start : said.content.end]) == message["content"]
        for block in said.blocks:
            value = body[block.span.start : block.span.end]
            assert parsed(value) is not None
            assert value == value.strip()


@settings(max_examples=60)
@given(value=objects(messages=st.just([]), system=anything), data=st.data())
def test_a_key_that_stands_twice_is_unreadable_wherever_we_look(value: dict[str, Any], data: st.DataObject) -> None:
    draw = data.draw
    members = [f"{spelled(key, draw)}:{spelled(one, draw)}" for key, one in value.items()]
    again = f"{spelled(draw(st.sampled_from(list(value))), draw)}:{spelled(draw(anything), draw)}"
    members.insert(draw(st.integers(0, len(members))), again)
    document = Document(("{" + ",".join(members) + "}").encode())

    with pytest.raises(Unreadable):
        document.members(document.root)


@settings(max_examples=60)
@given(
    inserted=st.lists(st.tuples(st.integers(0, 20), st.binary(max_size=3)), max_size=5, unique=True),
    body=st.binary(max_size=20),
)
def test_insertions_are_those_of_one_after_the_other(inserted: list[tuple[int, bytes]], body: bytes) -> None:
    edits = [Edit(min(at, len(body)), min(at, len(body)), new) for at, new in inserted]
    expected, shift = body, 0
    for edit in sorted(dict.fromkeys(edits), key=lambda one: one.start):
        expected = expected[: edit.start + shift] + edit.replacement + expected[edit.start + shift :]
        shift += len(edit.replacement)

    assert splice(body, edits) == expected


any_bodies = st.one_of(
    st.binary(max_size=60),
    written(anthropic_bodies),
    written(responses_bodies),
    written(anything.map(lambda one: {"messages": one, "input": one})),
)


@settings(max_examples=100)
@given(body=any_bodies, wire=st.sampled_from((ANTHROPIC, CHAT, RESPONSES)))
def test_any_bytes_are_read_or_unreadable(body: bytes, wire: Wire) -> None:
    try:
        request = wire.read(body)
    except Unreadable:
        return
    assert request.body == body
    assert splice(body, wire.place_system(request, OURS)) != body
