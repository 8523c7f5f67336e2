import json
from typing import Any

from memstrata.proxy.wire.responses import RESPONSES
from memstrata.proxy.wire.splice import Edit, splice

PART = {"type": "input_text", "text": "memory"}
USER = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
CALL = {"type": "function_call", "call_id": "call_1", "name": "shell", "arguments": "{}"}


def body_of(given: Any, **members: Any) -> bytes:
    return json.dumps({"model": "gpt", "instructions": "be brief", "input": given, **members}).encode()


def with_system(given: Any, **members: Any) -> Any:
    body = body_of(given, **members)
    after = json.loads(splice(body, RESPONSES.place_system(RESPONSES.read(body), "memory")))
    assert after["instructions"] == "be brief"
    return after["input"]


def test_a_request_of_codex_is_read_item_by_item() -> None:
    request = RESPONSES.read(
        body_of(
            [
                {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "rules"}]},
                {"role": "user", "content": "look"},
                {"type": "reasoning", "encrypted_content": "x", "summary": []},
                CALL,
                {
                    "type": "function_call_output",
                    "call_id": "call_1",
                    "output": [{"type": "input_text", "text": "done"}],
                },
                {"type": "custom_tool_call", "call_id": "call_2", "name": "patch", "input": "*"},
                {"type": "custom_tool_call_output", "call_id": "call_2", "output": "ok"},
                {"type": "computer_call_output", "call_id": "call_3", "output": {"type": "computer_screenshot"}},
                {"type": "web_search_call", "id": "ws_1"},
            ],
            tools=[
                {"type": "function", "name": "shell"},
                {"type": "web_search"},
                {"type": "namespace", "name": "n", "tools": [{"name": "m"}]},
            ],
            metadata={"a": "1"},
            client_metadata={"session_id": "s"},
            max_output_tokens=9,
            reasoning={"effort": "none"},
            text={"format": {"type": "json_schema"}},
        )
    )

    assert [block.text for block in request.system] == ["be brief"]
    assert [(said.role, block.kind, block.id, block.text) for said in request.messages for block in said.blocks] == [
        ("developer", "text", "", "rules"),
        ("user", "text", "", "look"),
        ("assistant", "thinking", "", ""),
        ("assistant", "tool_use", "call_1", ""),
        ("tool", "tool_result", "call_1", "done"),
        ("assistant", "tool_use", "call_2", ""),
        ("tool", "tool_result", "call_2", "ok"),
        ("tool", "tool_result", "call_3", ""),
        ("assistant", "web_search_call", "", ""),
    ]
    assert request.tools == ("shell", "web_search", "n", "m")
    assert request.metadata == {"a": "1", "session_id": "s"}
    assert (request.max_tokens, request.thinking, request.structured) == (9, "disabled", True)


def test_our_part_is_the_last_of_the_developer_message_in_front() -> None:
    first = {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "rules"}]}

    assert with_system([first, USER]) == [first | {"content": [*first["content"], PART]}, USER]
    assert with_system([{"role": "system", "content": "rules"}, USER]) == [
        {"role": "system", "content": [{"type": "input_text", "text": "rules"}, PART]},
        USER,
    ]


def test_our_text_stays_in_front_when_a_developer_message_comes_later() -> None:
    later = {"type": "message", "role": "developer", "content": "model switched"}
    ours = {"type": "message", "role": "developer", "content": [PART]}

    assert with_system([USER]) == [ours, USER]
    assert with_system([USER, later]) == [ours, USER, later]


def test_a_request_that_goes_on_from_a_kept_answer_is_not_told_again() -> None:
    assert with_system([USER], previous_response_id="resp_1") == [USER]
    assert with_system([USER], conversation={"id": "conv_1"}) == [USER]


def test_a_body_without_input_gets_our_item_alone() -> None:
    body = b'{"prompt":{"id":"p"}}'

    after = json.loads(splice(body, RESPONSES.place_system(RESPONSES.read(body), "memory")))
    assert after == {"input": [{"type": "message", "role": "developer", "content": [PART]}], "prompt": {"id": "p"}}


def test_an_input_that_is_one_string_takes_both_texts_in_any_order() -> None:
    body = body_of("hi 你好")
    request = RESPONSES.read(body)
    system = RESPONSES.place_system(request, "memory")
    recalled = RESPONSES.place_recalled(request, 0, RESPONSES.recalled_block("recalled"))

    def given(*edits: Edit) -> Any:
        return json.loads(splice(body, edits))["input"]

    ours = {"type": "message", "role": "developer", "content": [PART]}
    about = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "recalled"}]}
    theirs = {"type": "message", "role": "user", "content": "hi 你好"}
    assert given(*system) == [ours, theirs]
    assert given(*recalled) == [about, theirs]
    assert given(*system, *recalled) == [ours, about, theirs]
    assert given(*recalled, *system) == [about, ours, theirs]


def test_recalled_text_stands_before_the_first_text_of_a_message() -> None:
    body = body_of([CALL, USER])
    request = RESPONSES.read(body)
    after = json.loads(splice(body, RESPONSES.place_recalled(request, 1, RESPONSES.recalled_block("memory"))))

    assert after["input"] == [CALL, USER | {"content": [PART, *USER["content"]]}]
