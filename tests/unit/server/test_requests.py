from typing import Any

import msgspec
import pytest

from memstrata.errors import InvalidRequest
from memstrata.server.envelope import UnreadableBody
from memstrata.server.requests import ConversationAdd, ConversationSearch, RecallRequest, decode, decode_query
from memstrata.server.strict import GenerationList, PromptSet

ADD = msgspec.json.Decoder(ConversationAdd)
SEARCH = msgspec.json.Decoder(ConversationSearch)
RECALL = msgspec.json.Decoder(RecallRequest)
LIST = msgspec.json.Decoder(GenerationList)
SET = msgspec.json.Decoder(PromptSet)


def problem(decoder: "msgspec.json.Decoder[Any]", body: bytes) -> str:
    with pytest.raises(InvalidRequest) as caught:
        decode(decoder, body)
    return str(caught.value)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"query": "x"} trailing',
        b'{"query": NaN}',
        b'{"query": "\xff"}',
        b'{"query": "\xed\xa0\x80"}',
        b'{"query": "a\x00b"}',
        b"\xef\xbb\xbf{}",
        b'{"query": "\\x"}',
        b'{"team_id": ' + b"[" * 100_000,
        b'{"unknown": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
)
def test_what_is_not_json_is_refused_as_such(body: bytes) -> None:
    with pytest.raises(UnreadableBody, match="Invalid JSON body"):
        decode(SEARCH, body)


@pytest.mark.parametrize("body", [b"[]", b"null", b'"text"', b"5"])
def test_json_that_is_no_object_is_refused_at_the_root(body: bytes) -> None:
    assert problem(SEARCH, body).startswith("(root): expected object")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"{}", "query: required"),
        (b'{"query": ""}', "query: expected str of length >= 1"),
        (b'{"query": 5}', "query: expected str, got int"),
        (b'{"query": "x", "limit": 0}', "limit: expected int >= 1"),
        (b'{"query": "x", "limit": 101}', "limit: expected int <= 100"),
        (b'{"query": "x", "limit": "5"}', "limit: expected int | null, got str"),
        (b'{"query": "x", "limit": 99999999999999999999999}', "limit: expected int <= 100"),
        (b'{"query": "x", "limit": 1e400}', "limit: number out of range"),
    ],
)
def test_a_wrong_field_is_named_with_its_limit(body: bytes, text: str) -> None:
    assert problem(SEARCH, body) == text


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        (b"[]", "messages: expected array of length >= 1"),
        (b'[{"content": "x"}]', "messages.0.role: required"),
        (b'[{"role": "system", "content": "x"}]', "messages.0.role: expected one of user, assistant"),
        (b'[{"role": "user", "content": ""}]', "messages.0.content: expected str of length >= 1"),
        (b'[{"role": "user", "content": null}]', "messages.0.content: expected str, got null"),
        (b'[{"role": "user", "content": [{"type": "text"}]}]', "messages.0.content: expected str, got array"),
        (b'[{"role": "user", "content": "x", "id": 5}]', "messages.0.id: expected str | null, got int"),
        (b'[{"role": "user", "content": "x", "id": ""}]', "messages.0.id: expected str of length >= 1"),
    ],
)
def test_a_wrong_message_is_named_by_its_place(messages: bytes, text: str) -> None:
    assert problem(ADD, b'{"messages": ' + messages + b"}") == text


def test_lengths_count_code_points() -> None:
    body = '{"messages": [{"role": "user", "content": "%s"}]}'

    assert decode(ADD, (body % ("😀" * 8_192)).encode()).messages[0].content == "😀" * 8_192
    assert problem(ADD, (body % ("a" * 8_193)).encode()) == "messages.0.content: expected str of length <= 8192"


def test_unknown_keys_are_dropped_and_null_counts_as_absent() -> None:
    assert decode(SEARCH, b'{"query": "x", "limit": null, "shoe_size": 44}') == ConversationSearch(query="x")


@pytest.mark.parametrize(
    ("decoder", "field", "text"),
    [
        (SEARCH, b'"neighbours": -1', "neighbours: expected int >= 0"),
        (SEARCH, b'"neighbours": 6', "neighbours: expected int <= 5"),
        (RECALL, b'"budget_ms": 0', "budget_ms: expected int >= 1"),
        (RECALL, b'"budget_ms": 60001', "budget_ms: expected int <= 60000"),
        (RECALL, b'"max_tokens": 0', "max_tokens: expected int >= 1"),
        (RECALL, b'"max_tokens": 1000001', "max_tokens: expected int <= 1000000"),
    ],
)
def test_neighbours_and_budgets_have_bounds(decoder: Any, field: bytes, text: str) -> None:
    assert problem(decoder, b'{"query": "x", ' + field + b"}") == text


def test_an_unknown_part_of_recall_is_refused_with_the_known_ones() -> None:
    assert problem(RECALL, b'{"query": "x", "include": ["dreams"]}') == (
        "include.0: expected one of memories, persona, scenes"
    )


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (rb"cut \ud83d", "cut �"),
        (rb"\ude00 cut", "� cut"),
        (rb"\ud83d\ud83d\ude00", "�😀"),
        (rb"\ud83d\ude00", "😀"),
        (rb"\ud83d \\ud83d", "� \\ud83d"),
        (rb"\\\ud83d", "\\�"),
    ],
)
def test_half_of_a_surrogate_pair_is_read_as_a_replacement_character(written: bytes, read: str) -> None:
    assert decode(SEARCH, b'{"query": "' + written + b'"}').query == read


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b'{"layer": "l1", "action": "clear", "user_id": "u"}', 'request: unrecognized key: "user_id"'),
        (b'{"layer": "l1", "action": "replace"}', "action: expected one of apply, clear"),
        (b'{"layer": "l9", "action": "clear"}', "layer: expected one of l1, l2, l3"),
        (b'{"layer": "l1", "action": "clear", "agent_ids": ["a", ""]}', "agent_ids.1: expected str of length >= 1"),
        (b"[]", "request: expected object, got array"),
    ],
)
def test_a_strict_request_refuses_what_it_does_not_know(body: bytes, text: str) -> None:
    assert problem(SET, body) == text


def test_a_query_string_is_read_as_the_request_that_a_body_would_be() -> None:
    query = b"layer=l2&limit=5&cursor=%E8%AE%B0%E5%BF%86+x"

    assert decode_query(LIST, query) == GenerationList(layer="l2", limit=5, cursor="记忆 x")
    assert decode_query(LIST, b"") == GenerationList()


@pytest.mark.parametrize(
    ("query", "text"),
    [
        (b"offset=1", 'request: unrecognized key: "offset"'),
        (b"limit=", "limit: expected int"),
        (b"limit=5.5", "limit: expected int"),
        (b"limit=101", "limit: expected int <= 100"),
        (b"layer=", "layer: expected one of l1, l2, l3"),
        (b"limit=5&limit=6", "request: a key of the query string is given more than once"),
        (b"cursor=%ff", "request: the query string cannot be read"),
        (b"cursor=\xff", "request: the query string cannot be read"),
        (b"a=1&" * 40, "request: the query string cannot be read"),
    ],
)
def test_a_query_string_that_cannot_be_meant_is_refused(query: bytes, text: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        decode_query(LIST, query)
    assert str(caught.value).startswith(text)
