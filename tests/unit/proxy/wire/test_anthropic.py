import json
from typing import Any

import pytest

from memstrata.proxy.wire.anthropic import ANTHROPIC
from memstrata.proxy.wire.request import Unreadable
from memstrata.proxy.wire.splice import splice

MARK = {"cache_control": {"type": "ephemeral"}}
HOUR = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
BILLING = {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1"}
PROMPT = {"type": "text", "text": "You are a coding agent."}


def body_of(**members: Any) -> bytes:
    return json.dumps(
        {"model": "claude", "max_tokens": 10, "messages": [{"role": "user", "content": "hi"}], **members}
    ).encode()


def with_system(text: str, **members: Any) -> Any:
    body = body_of(**members)
    return json.loads(splice(body, ANTHROPIC.place_system(ANTHROPIC.read(body), text)))["system"]


def with_recalled(content: Any) -> Any:
    body = body_of(messages=[{"role": "user", "content": content}])
    edits = ANTHROPIC.place_recalled(ANTHROPIC.read(body), 0, ANTHROPIC.recalled_block("recalled"))
    return json.loads(splice(body, edits))["messages"][0]["content"]


def test_a_request_of_claude_code_is_read_whole() -> None:
    request = ANTHROPIC.read(
        body_of(
            stream=True,
            system=[BILLING, PROMPT | MARK],
            tools=[{"name": "Bash", "input_schema": {}}, {"name": "Read", **MARK}],
            thinking={"type": "adaptive"},
            metadata={"user_id": "user_1"},
            output_config={"format": {"type": "json_schema"}},
            messages=[
                {
                    "role": "user",
                    "content": [{"type": "text", "text": "看"}, {"type": "image", "source": {"data": "AA=="}}],
                },
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "hm", "signature": "s"},
                        {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"text": 1}},
                        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": {"type": "error"}},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "plain"},
                        {
                            "type": "tool_result",
                            "tool_use_id": "toolu_2",
                            "content": [
                                {"type": "text", "text": "a"},
                                {"type": "image"},
                                {"type": "text", "text": "b", **MARK},
                            ],
                        },
                        {"type": "text", "text": "next", **MARK},
                    ],
                },
            ],
        )
    )

    assert (request.model, request.stream, request.max_tokens, request.thinking) == ("claude", True, 10, "adaptive")
    assert (request.tools, request.metadata, request.structured) == (("Bash", "Read"), {"user_id": "user_1"}, True)
    assert [(block.text[:9], block.marked) for block in request.system] == [("x-anthrop", False), ("You are a", True)]
    assert request.marks == 4
    blocks = [[(block.kind, block.id, block.text, block.marked) for block in said.blocks] for said in request.messages]
    assert blocks == [
        [("text", "", "看", False), ("image", "", "", False)],
        [("thinking", "", "", False), ("tool_use", "toolu_1", "", False), ("web_search_tool_result", "", "", False)],
        [
            ("tool_result", "toolu_1", "plain", False),
            ("tool_result", "toolu_2", "a\nb", False),
            ("text", "", "next", True),
        ],
    ]
    assert request.messages[1].blocks[1].name == "Bash"
    assert len(request.messages[0].blocks[1].digest) == 64


def test_the_digest_of_tools_tells_one_set_from_another() -> None:
    one, same, other = (ANTHROPIC.read(body_of(tools=[{"name": name}])).tools_digest for name in "AAB")

    assert one == same != other
    assert ANTHROPIC.read(body_of(tools=[])).tools_digest == ANTHROPIC.read(body_of()).tools_digest == ""


def test_our_block_is_the_last_and_the_attribution_stays_the_first() -> None:
    assert with_system("memory", system=[BILLING, PROMPT]) == [BILLING, PROMPT, {"type": "text", "text": "memory"}]


@pytest.mark.parametrize("system", ["", [], None])
def test_an_empty_system_prompt_becomes_ours_alone(system: Any) -> None:
    assert with_system("memory", system=system) == [{"type": "text", "text": "memory"}]


def test_a_system_prompt_that_is_a_string_stays_a_block_of_its_own() -> None:
    assert with_system("memory", system="be brief\n") == [
        {"type": "text", "text": "be brief\n"},
        {"type": "text", "text": "memory"},
    ]


def test_a_body_without_system_gets_one() -> None:
    assert with_system("memory") == [{"type": "text", "text": "memory"}]


@pytest.mark.parametrize("mark", [MARK, HOUR])
def test_our_block_repeats_the_mark_of_the_block_before_it(mark: dict[str, Any]) -> None:
    assert with_system("memory", system=[PROMPT | mark])[-1] == {"type": "text", "text": "memory", **mark}


def test_a_fifth_mark_is_never_set() -> None:
    marked = [{"type": "text", "text": "a", **MARK}]
    messages = [{"role": "user", "content": marked}, {"role": "assistant", "content": marked}]
    tools = [{"name": "t", **MARK}]

    assert "cache_control" in with_system("memory", system=[PROMPT | MARK], messages=messages)[-1]
    assert "cache_control" not in with_system("memory", system=[PROMPT | MARK], messages=messages, tools=tools)[-1]
    assert "cache_control" not in with_system("m", system=[PROMPT | MARK], messages=messages, **MARK)[-1]


def test_a_wish_for_a_mark_is_granted_only_where_no_order_of_lives_can_break() -> None:
    plain, marked = body_of(system=[PROMPT]), body_of(system=[PROMPT], tools=[{"name": "t", **MARK}])
    granted, refused = (
        json.loads(splice(body, ANTHROPIC.place_system(ANTHROPIC.read(body), "memory", mark_ttl="1h")))["system"][-1]
        for body in (plain, marked)
    )

    assert granted == {"type": "text", "text": "memory", **HOUR}
    assert refused == {"type": "text", "text": "memory"}


def test_recalled_text_stands_after_tool_results_and_before_the_first_text() -> None:
    result = {"type": "tool_result", "tool_use_id": "t", "content": "r"}
    image, text = {"type": "image", "source": {}}, {"type": "text", "text": "q", **MARK}
    ours = {"type": "text", "text": "recalled"}

    assert with_recalled([result, image, text]) == [result, image, ours, text]
    assert with_recalled([result, image]) == [result, ours, image]
    assert with_recalled([result]) == [result, ours]
    assert with_recalled([]) == [ours]
    assert with_recalled("q") == [ours, {"type": "text", "text": "q"}]
    assert with_recalled("") == [ours]


def test_nothing_is_recalled_for_a_message_of_the_assistant() -> None:
    request = ANTHROPIC.read(body_of(messages=[{"role": "assistant", "content": "I"}]))

    with pytest.raises(Unreadable):
        ANTHROPIC.place_recalled(request, 0, b"{}")


def test_a_block_of_the_ledger_is_placed_byte_for_byte() -> None:
    body = body_of()
    block = b'{"type":"text",  "text":"\\u4e2d"}'

    assert block in splice(body, ANTHROPIC.place_recalled(ANTHROPIC.read(body), 0, block))


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b'{"messages":{}}',
        b'{"messages":[1]}',
        b'{"messages":[{"role":"user","role":"user"}]}',
        b'{"messages":[{"role":1}]}',
        b'{"messages":[],"stream":"yes"}',
        b'{"messages":[],"max_tokens":1.5}',
        b'{"messages":[],"model":5}',
        b'{"messages":[{"role":"user","content":7}]}',
        b'{"messages":[{"role":"user","content":"\xff"}]}',
    ],
)
def test_a_body_of_another_shape_is_unreadable(body: bytes) -> None:
    with pytest.raises(Unreadable):
        ANTHROPIC.read(body)


def test_what_was_said_is_not_in_the_words_of_an_unreadable_body() -> None:
    with pytest.raises(Unreadable) as unreadable:
        ANTHROPIC.read(b'{"messages":[{"role":"user","content":"my secret"},{"role":"my secret","role":""}]}')

    assert "secret" not in str(unreadable.value)
