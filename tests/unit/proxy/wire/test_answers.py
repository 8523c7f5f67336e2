"""The shapes that the official libraries read; they were tried with `anthropic` 2.14 and `openai` 3.57."""

import json
from typing import Any

import pytest

from memstrata.proxy.wire.request import Wire
from memstrata.proxy.wire.sse import EventParser
from memstrata.proxy.wire.wires import ANTHROPIC, CHAT, RESPONSES, WIRES


def events_of(body: bytes) -> list[tuple[str, Any]]:
    return [(event.name, json.loads(event.data)) for event in EventParser().feed(body) if event.data != b"[DONE]"]


def ask(wire: Wire, *, stream: bool, reasoning: str = "") -> bytes:
    return wire.ask("Ask", {"q": "哪个"}, stream=stream, model="m", ident="call_1", reasoning=reasoning).body


def test_every_wire_goes_by_its_own_name() -> None:
    assert {name: wire.name for name, wire in WIRES.items()} == {name: name for name in WIRES}


def test_a_call_in_an_anthropic_stream_comes_in_the_usual_events() -> None:
    events = events_of(ask(ANTHROPIC, stream=True))

    assert [name for name, _ in events] == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert all(data["type"] == name for name, data in events)
    assert events[0][1]["message"]["content"] == []
    assert events[1][1]["content_block"] == {"type": "tool_use", "id": "call_1", "name": "Ask", "input": {}}
    assert json.loads(events[2][1]["delta"]["partial_json"]) == {"q": "哪个"}
    assert events[4][1]["delta"]["stop_reason"] == "tool_use"


def test_a_call_in_anthropic_json_has_no_thinking() -> None:
    message = json.loads(ask(ANTHROPIC, stream=False, reasoning="not for this protocol"))

    assert message["content"] == [{"type": "tool_use", "id": "call_1", "name": "Ask", "input": {"q": "哪个"}}]
    assert (message["stop_reason"], set(message["usage"].values())) == ("tool_use", {0})


def test_a_call_in_a_chat_stream_declares_itself_and_ends_with_usage_and_done() -> None:
    body = ask(CHAT, stream=True, reasoning="one moment")
    chunks = [data for _, data in events_of(body)]

    assert body.endswith(b"data: [DONE]\n\n")
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": None, "reasoning_content": "one moment"}
    assert chunks[1]["choices"][0]["delta"]["tool_calls"][0]["function"] == {"name": "Ask", "arguments": ""}
    assert chunks[-2]["choices"][0]["finish_reason"] == "tool_calls"
    assert (chunks[-1]["choices"], chunks[-1]["usage"]["total_tokens"]) == ([], 0)
    assert all(chunk["object"] == "chat.completion.chunk" for chunk in chunks)


def test_reasoning_is_made_up_only_where_it_is_asked_for() -> None:
    with_it, without = (json.loads(ask(CHAT, stream=False, reasoning=text))["choices"][0] for text in ("r", ""))

    assert with_it["message"]["reasoning_content"] == "r"
    assert "reasoning_content" not in without["message"]


def test_a_call_in_a_responses_stream_is_numbered_and_named_twice() -> None:
    events = events_of(ask(RESPONSES, stream=True))

    assert [name for name, _ in events] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [data["sequence_number"] for _, data in events] == list(range(7))
    assert all(data["type"] == name for name, data in events)
    assert events[3][1]["item_id"] == events[2][1]["item"]["id"] == "fc_call_1"
    assert events[-1][1]["response"]["output"][0]["call_id"] == "call_1"


@pytest.mark.parametrize("wire", [ANTHROPIC, CHAT, RESPONSES])
@pytest.mark.parametrize(("stream", "kind"), [(True, "text/event-stream"), (False, "application/json")])
def test_an_answer_comes_in_the_form_that_the_client_asked_for(wire: Wire, stream: bool, kind: str) -> None:
    fabricated = wire.answer("好", stream=stream, model="m", ident="1")

    assert fabricated.content_type == kind
    assert fabricated.body.startswith(b"{") != stream


@pytest.mark.parametrize(
    ("status", "kind", "read"),
    [
        (401, "", "authentication_error"),
        (429, "qpm_exceeded", "rate_limit_error"),
        (503, "", "overloaded_error"),
        (502, "", "api_error"),
        (418, "", "invalid_request_error"),
        (403, "rate_limit_error", "rate_limit_error"),
    ],
)
def test_anthropic_errors_are_of_a_kind_that_the_protocol_knows(status: int, kind: str, read: str) -> None:
    expected = {"type": "error", "error": {"type": read, "message": "why"}}

    assert json.loads(ANTHROPIC.error(status, kind, "why")) == expected


@pytest.mark.parametrize("wire", [CHAT, RESPONSES])
def test_openai_errors_are_objects_with_a_code(wire: Wire) -> None:
    errors = [
        json.loads(wire.error(status, kind, "why"))["error"] for status, kind in ((401, ""), (429, "qpm_exceeded"))
    ]

    assert errors == [
        {"message": "why", "type": "invalid_request_error", "param": None, "code": "invalid_api_key"},
        {"message": "why", "type": "rate_limit_error", "param": None, "code": "qpm_exceeded"},
    ]


@pytest.mark.parametrize("wire", [ANTHROPIC, CHAT, RESPONSES])
def test_a_stream_that_breaks_off_ends_in_an_error_that_our_own_reader_sees(wire: Wire) -> None:
    reader = wire.replies()
    begun = wire.answer("half of it", stream=True, model="m", ident="1").body
    reader.feed(begun[: len(begun) // 3].rpartition(b"\n\n")[0] + b"\n\n")
    reader.feed(wire.cut_short("gone"))

    assert (reader.reply().stop, reader.reply().complete, reader.faults) == ("error", False, 0)
