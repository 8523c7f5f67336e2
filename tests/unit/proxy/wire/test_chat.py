import json
from typing import Any

import pytest

from memstrata.proxy.wire.chat import CHAT
from memstrata.proxy.wire.splice import splice

USER = {"role": "user", "content": "hi"}


def body_of(messages: list[Any], **members: Any) -> bytes:
    return json.dumps({"model": "gpt", "messages": messages, **members}).encode()


def with_system(messages: list[Any]) -> Any:
    body = body_of(messages)
    return json.loads(splice(body, CHAT.place_system(CHAT.read(body), "memory")))["messages"]


def test_a_tool_loop_is_read_with_the_ids_of_its_calls() -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "Read", "arguments": "{}"}}
    request = CHAT.read(
        body_of(
            [
                {"role": "system", "content": "be brief"},
                {"role": "developer", "content": [{"type": "text", "text": "rules"}]},
                {
                    "role": "user",
                    "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "u"}}],
                },
                {"role": "assistant", "content": None, "tool_calls": [call], "reasoning_content": "hm"},
                {"role": "tool", "tool_call_id": "call_1", "content": "done"},
                {"role": "system", "content": "later"},
            ],
            tools=[{"type": "function", "function": {"name": "Read"}}, {"type": "custom", "custom": {"name": "patch"}}],
            functions=[{"name": "old"}],
            max_completion_tokens=7,
            response_format={"type": "json_schema"},
        )
    )

    assert [block.text for block in request.system] == ["be brief", "rules"]
    assert [said.role for said in request.messages] == ["user", "assistant", "tool", "system"]
    assert [(block.kind, block.id, block.text) for said in request.messages for block in said.blocks] == [
        ("text", "", "look"),
        ("image", "", ""),
        ("tool_use", "call_1", ""),
        ("tool_result", "call_1", "done"),
        ("text", "", "later"),
    ]
    assert (request.tools, request.max_tokens, request.structured) == (("Read", "patch", "old"), 7, True)


def test_our_message_is_the_last_of_those_that_lead_and_has_their_role() -> None:
    system, developer = {"role": "system", "content": "a"}, {"role": "developer", "content": "b"}
    later = {"role": "system", "content": "c"}

    assert with_system([system, USER, later]) == [system, {"role": "system", "content": "memory"}, USER, later]
    assert with_system([system, developer, USER]) == [
        system,
        developer,
        {"role": "developer", "content": "memory"},
        USER,
    ]
    assert with_system([system]) == [system, {"role": "system", "content": "memory"}]


def test_a_conversation_without_system_gets_one_in_front() -> None:
    assert with_system([USER]) == [{"role": "system", "content": "memory"}, USER]
    assert with_system([]) == [{"role": "system", "content": "memory"}]


def test_recalled_text_makes_an_array_of_a_string() -> None:
    body = body_of([{"role": "system", "content": "s"}, USER])
    after = json.loads(splice(body, CHAT.place_recalled(CHAT.read(body), 0, CHAT.recalled_block("recalled"))))

    assert after["messages"][1]["content"] == [{"type": "text", "text": "recalled"}, {"type": "text", "text": "hi"}]


@pytest.mark.parametrize(
    ("members", "thinking"),
    [
        ({}, ""),
        ({"thinking": {"type": "disabled"}}, "disabled"),
        ({"enable_thinking": True}, "enabled"),
        ({"reasoning_effort": "none"}, "disabled"),
        ({"reasoning_effort": "low"}, "enabled"),
    ],
)
def test_thinking_is_read_in_the_words_of_each_server(members: dict[str, Any], thinking: str) -> None:
    assert CHAT.read(body_of([USER], **members)).thinking == thinking
