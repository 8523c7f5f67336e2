import json
from typing import Any

import pytest

from memstrata.proxy.wire.anthropic import ANTHROPIC
from memstrata.proxy.wire.request import Reply, ToolCall, Usage
from memstrata.proxy.wire.sse import event_bytes


def streamed(*events: dict[str, Any]) -> Reply:
    reader = ANTHROPIC.replies()
    for event in events:
        reader.feed(event_bytes(event, event["type"]))
    assert reader.faults == 0
    return reader.reply()


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def words(text: str) -> dict[str, Any]:
    return {"type": "text_delta", "text": text}


TEXT = {"type": "text", "text": ""}
START = {
    "type": "message_start",
    "message": {
        "id": "msg_1",
        "usage": {"input_tokens": 5, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 7},
    },
}


def ended(stop: str) -> list[dict[str, Any]]:
    return [
        {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 12}},
        {"type": "message_stop"},
    ]


def test_texts_are_joined_by_a_blank_line_and_thinking_is_left_out() -> None:
    reply = streamed(
        START,
        *block(0, {"type": "thinking", "thinking": ""}, {"type": "thinking_delta", "thinking": "secret"}),
        *block(1, TEXT, words("I will "), words("look.")),
        *block(
            2,
            {"type": "server_tool_use", "id": "s", "name": "web_search"},
            {"type": "input_json_delta", "partial_json": "{}"},
        ),
        *block(3, TEXT, words("找到了。")),
        *ended("end_turn"),
    )

    assert reply == Reply("I will look.\n\n找到了。", "end_turn", (), Usage(5, 12, 90, 7), True, "msg_1", True)


def test_a_sentence_with_citations_is_not_torn_apart() -> None:
    cited = {"type": "citations_delta", "citation": {"url": "u"}}
    reply = streamed(
        *block(0, TEXT, words("The sky ")), *block(1, TEXT, words("is blue"), cited), *block(2, TEXT, words("."))
    )

    assert reply.text == "The sky is blue."


def test_only_the_tools_of_the_client_are_calls() -> None:
    reply = streamed(
        *block(
            0,
            {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}},
            {"type": "input_json_delta", "partial_json": '{"command":'},
            {"type": "input_json_delta", "partial_json": '"ls"}'},
        ),
        *block(1, {"type": "mcp_tool_use", "id": "m", "name": "x", "input": {}}),
        *block(2, {"type": "tool_use", "id": "toolu_2", "name": "Now", "input": {}}),
        *ended("tool_use"),
    )

    assert reply.tool_calls == (ToolCall("toolu_1", "Bash", '{"command":"ls"}'), ToolCall("toolu_2", "Now", "{}"))


@pytest.mark.parametrize("stop", ["pause_turn", "refusal", "max_tokens", "stop_sequence"])
def test_the_reason_to_stop_is_told_in_the_words_of_the_protocol(stop: str) -> None:
    assert streamed(START, *ended(stop)).stop == stop


def test_a_stream_that_breaks_off_is_not_complete() -> None:
    reply = streamed(START, *block(0, TEXT, words("half"))[:2])

    assert (reply.text, reply.complete, reply.stop) == ("half", False, "")


def test_a_json_answer_is_read_like_a_stream() -> None:
    reader = ANTHROPIC.replies()
    content = [
        {"type": "text", "text": "a"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "tool_use", "id": "t", "name": "Bash", "input": {"n": 1}},
    ]
    usage = {"input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": None}
    answer = {"type": "message", "id": "msg_2", "content": content, "stop_reason": "tool_use", "usage": usage}
    reader.whole(json.dumps(answer).encode())

    assert reader.reply() == Reply(
        "a", "tool_use", (ToolCall("t", "Bash", '{"n":1}'),), Usage(1, 2), True, "msg_2", True
    )


def test_an_error_is_no_answer() -> None:
    reader = ANTHROPIC.replies()
    reader.whole(ANTHROPIC.error(529, "", "busy"))

    assert (reader.reply().stop, reader.reply().complete, reader.reply().text) == ("error", False, "")


def test_what_cannot_be_read_is_counted_and_the_rest_is_read() -> None:
    reader = ANTHROPIC.replies()
    reader.feed(b"data: {broken\n\ndata: [1]\n\n")
    reader.feed(rb'data: {"type":"message_start","message":{"id":"msg_\ud83d"}}' + b"\n\n")

    assert (reader.faults, reader.reply().message_id) == (2, "msg_�")


def test_an_event_that_only_its_name_tells_is_read_too() -> None:
    reader = ANTHROPIC.replies()
    reader.feed(
        b'event: message_delta\ndata: {"delta":{"stop_reason":"end_turn"}}\n\nevent: message_stop\ndata: {}\n\n'
    )

    assert (reader.reply().stop, reader.reply().complete) == ("end_turn", True)
