import json
from typing import Any

import pytest

from memstrata.proxy.wire.chat import CHAT
from memstrata.proxy.wire.request import Reply, ToolCall, Usage
from memstrata.proxy.wire.responses import RESPONSES
from memstrata.proxy.wire.sse import event_bytes


def chat_stream(*choices: dict[str, Any] | None, usage: dict[str, Any] | None = None, done: bool = True) -> Reply:
    reader = CHAT.replies()
    for choice in choices:
        reader.feed(event_bytes({"id": "chatcmpl-1", "choices": [choice] if choice else [], "usage": None}))
    if usage is not None:
        reader.feed(event_bytes({"id": "chatcmpl-1", "choices": [], "usage": usage}))
    if done:
        reader.feed(event_bytes("[DONE]"))
    assert reader.faults == 0
    return reader.reply()


def delta(finish: str | None = None, index: int = 0, **members: Any) -> dict[str, Any]:
    return {"index": index, "delta": members, "finish_reason": finish}


def test_a_chat_stream_says_its_text_and_tokens_without_its_reasoning() -> None:
    reply = chat_stream(
        delta(role="assistant", content="", reasoning_content="hm"),
        delta(content="你"),
        delta(content="好"),
        delta(content="another choice", index=1),
        delta("stop"),
        usage={"prompt_tokens": 100, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 60}},
    )

    assert reply == Reply("你好", "stop", (), Usage(40, 3, 60, 0), True, "chatcmpl-1", True)


def test_calls_in_a_chat_stream_are_put_together_by_their_index() -> None:
    first = {"index": 0, "id": "call_1", "function": {"name": "Read", "arguments": ""}}
    second = {"index": 1, "id": "call_2", "custom": {"name": "patch", "input": "*** Begin"}}
    reply = chat_stream(
        delta(tool_calls=[first]),
        delta(tool_calls=[{"index": 0, "function": {"arguments": '{"a"'}}]),
        delta(tool_calls=[second, {"index": 0, "function": {"arguments": ":1}"}}]),
        delta("tool_calls"),
    )

    assert reply.tool_calls == (ToolCall("call_1", "Read", '{"a":1}'), ToolCall("call_2", "patch", "*** Begin"))


def test_a_server_that_never_says_done_has_finished_with_its_reason() -> None:
    assert chat_stream(delta(content="a"), delta("length"), done=False).complete
    assert not chat_stream(delta(content="a"), done=False).complete


def test_a_refusal_is_what_was_said() -> None:
    reply = chat_stream(delta(refusal="I can"), delta(refusal="not"), delta("stop"))

    assert (reply.text, reply.stop) == ("I cannot", "refusal")


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 9, "completion_tokens": 2, "prompt_cache_hit_tokens": 4},
        {"prompt_tokens": 9, "completion_tokens": 2, "cached_tokens": 4},
        {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}},
    ],
)
def test_tokens_from_the_cache_are_read_in_the_words_of_each_server(usage: dict[str, Any]) -> None:
    reader = CHAT.replies()
    choice = {"index": 0, "message": {"content": [{"type": "text", "text": "a"}]}, "finish_reason": "stop"}
    reader.whole(json.dumps({"id": "c", "choices": [choice], "usage": usage}).encode())

    assert reader.reply() == Reply("a", "stop", (), Usage(5, 2, 4, 0), True, "c", False)


MESSAGE = {"type": "message", "content": [{"type": "output_text", "text": "done"}]}
CALL = {"type": "function_call", "call_id": "call_1", "name": "shell", "arguments": '{"a":1}'}
USAGE = {"input_tokens": 50, "output_tokens": 4, "input_tokens_details": {"cached_tokens": 30}}


def responses_stream(*events: dict[str, Any]) -> Reply:
    reader = RESPONSES.replies()
    for event in events:
        reader.feed(event_bytes(event, event["type"]))
    assert reader.faults == 0
    return reader.reply()


def ended(kind: str = "completed", **members: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", "response": {"id": "resp_1", "status": kind, "usage": USAGE, **members}}


def test_a_responses_stream_says_its_texts_and_the_calls_of_the_client() -> None:
    items = [
        {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "hm"}]},
        MESSAGE,
        CALL,
        {"type": "mcp_call"},
    ]
    reply = responses_stream(
        {"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": "do"},
        *({"type": "response.output_item.done", "output_index": at, "item": item} for at, item in enumerate(items)),
        ended(output=[]),
    )

    assert reply == Reply(
        "done", "completed", (ToolCall("call_1", "shell", '{"a":1}'),), Usage(20, 4, 30), True, "resp_1", True
    )


def test_a_responses_stream_that_breaks_off_says_what_had_come() -> None:
    reply = responses_stream(
        {"type": "response.created", "response": {"id": "resp_2"}},
        {"type": "response.output_item.done", "output_index": 0, "item": MESSAGE},
        {"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": "and "},
        {"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": "then"},
    )

    assert reply == Reply("done\n\nand then", "", (), Usage(), False, "resp_2", False)


def test_the_reason_of_an_incomplete_response_is_its_stop() -> None:
    cut = responses_stream(ended("incomplete", incomplete_details={"reason": "max_output_tokens"}, output=[MESSAGE]))
    refused = responses_stream(ended(output=[{"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}]))

    assert (cut.stop, cut.text) == ("max_output_tokens", "done")
    assert (refused.stop, refused.text) == ("refusal", "no")
    assert responses_stream(ended("failed", error={"code": "x"})).stop == "failed"


def test_a_response_in_json_is_read_like_a_stream() -> None:
    reader = RESPONSES.replies()
    answer = {"id": "resp_1", "status": "completed", "output": [MESSAGE, CALL], "usage": USAGE}
    reader.whole(json.dumps(answer).encode())

    assert reader.reply() == responses_stream(ended(output=[MESSAGE, CALL]))
