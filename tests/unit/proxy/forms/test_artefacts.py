import json
from typing import Any

import pytest

from memstrata.proxy.forms.artefacts import answers_form, form_answer, strip_forms
from memstrata.proxy.wire.splice import splice
from memstrata.proxy.wire.wires import WIRES

CALL = "toolu_memstrata_form_team_0_ab12"
OPENAI = "call_memstrata_form_team_0_ab12"


def stripped(wire: str, body: dict[str, Any]) -> Any:
    raw = json.dumps(body, ensure_ascii=False).encode()
    read = WIRES[wire].read(raw)  # type: ignore[index]
    return json.loads(splice(raw, strip_forms(read)))


def form(call: str = CALL) -> list[dict[str, Any]]:
    return [
        {"role": "assistant", "content": [{"type": "tool_use", "id": call, "name": "AskUserQuestion", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": '"Q"="A"'}]},
    ]


QUESTION = {"role": "user", "content": [{"type": "text", "text": "add a login page"}]}
ANSWER = {"role": "assistant", "content": [{"type": "text", "text": "done"}]}


@pytest.mark.parametrize(
    ("messages", "left"),
    [
        ([QUESTION, *form(), *form("toolu_memstrata_form_agent_0_cd"), ANSWER], [QUESTION, ANSWER]),
        ([QUESTION, *form()], [QUESTION]),
        ([*form(), QUESTION, *form(), QUESTION], [QUESTION, QUESTION]),
        ([QUESTION, ANSWER], [QUESTION, ANSWER]),
        (form(), []),
    ],
)
def test_forms_go_and_everything_else_stays(messages: list[Any], left: list[Any]) -> None:
    body = {"model": "m", "messages": messages, "max_tokens": 1.0}

    assert stripped("anthropic", body) == {**body, "messages": left}


def test_words_beside_a_receipt_stay() -> None:
    receipt = form()[1]["content"][0]
    mixed = {"role": "user", "content": [receipt, {"type": "text", "text": "and use tabs"}]}

    left = stripped("anthropic", {"model": "m", "messages": [QUESTION, form()[0], mixed]})

    assert left["messages"] == [QUESTION, {"role": "user", "content": [{"type": "text", "text": "and use tabs"}]}]


def test_a_chat_form_goes_whole() -> None:
    call = {"id": OPENAI, "type": "function", "function": {"name": "ask_followup_question", "arguments": "{}"}}
    other = {"id": "call_7", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    question = {"role": "user", "content": "你好"}
    loop = [
        {"role": "assistant", "content": None, "tool_calls": [other]},
        {"role": "tool", "tool_call_id": "call_7", "content": "x"},
    ]
    messages = [
        question,
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": OPENAI, "content": "yes"},
        *loop,
    ]

    assert stripped("chat", {"model": "m", "messages": messages})["messages"] == [question, *loop]


def test_a_responses_form_goes_whole() -> None:
    question = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]}
    items = [
        question,
        {"type": "function_call", "call_id": OPENAI, "name": "request_user_input", "arguments": "{}"},
        {"type": "function_call_output", "call_id": OPENAI, "output": "{}"},
    ]

    assert stripped("responses", {"model": "m", "input": items})["input"] == [question]


def test_an_answer_is_found_by_the_call_of_its_form_alone() -> None:
    read = WIRES["anthropic"].read(json.dumps({"model": "m", "messages": [QUESTION, *form()]}).encode())
    later = WIRES["anthropic"].read(
        json.dumps({"model": "m", "messages": [QUESTION, *form(), ANSWER, QUESTION]}).encode()
    )

    assert form_answer(read, CALL) == '"Q"="A"'
    assert form_answer(read, "toolu_memstrata_form_other") is None
    assert form_answer(later, CALL) is None
    assert answers_form(read)
    assert not answers_form(later)
