"""What the views make of the message lists of the frameworks, and of what should not be in one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from memstrata.client.turn import (
    Seen,
    Views,
    view_anthropic,
    view_langchain,
    view_openai_chat,
    view_openai_responses,
    view_plain,
)

ALL = (view_anthropic, view_langchain, view_openai_chat, view_openai_responses, view_plain)


def shape(seen: tuple[Seen, ...]) -> list[tuple[str, str, bool]]:
    return [(one.role, one.text, one.calls_tools) for one in seen]


def test_chat_completions_are_read_as_mappings_and_as_objects() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:…"}}
    messages: list[Any] = [
        {"role": "developer", "content": "be kind"},
        {"role": "user", "content": [{"type": "text", "text": "what is it?"}, image]},
        SimpleNamespace(role="assistant", content=None, tool_calls=[SimpleNamespace(id="c")]),
        {"role": "tool", "tool_call_id": "c", "content": "a cat"},
        SimpleNamespace(role="assistant", content="A cat.", tool_calls=None, refusal=None),
        {"role": "assistant", "content": None, "refusal": "I would rather not."},
    ]
    assert shape(view_openai_chat(messages)) == [
        ("system", "be kind", False),
        ("user", "what is it?\n[image]", False),
        ("assistant", "", True),
        ("tool", "a cat", False),
        ("assistant", "A cat.", False),
        ("assistant", "I would rather not.", False),
    ]


def test_an_answer_to_a_tool_is_no_users_message_in_the_anthropic_form() -> None:
    result = {"type": "tool_result", "tool_use_id": "t", "content": "secret"}
    messages = [
        {"role": "user", "content": "look it up"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "text", "text": "Looking."},
                {"type": "tool_use", "id": "t", "name": "f", "input": {}},
            ],
        },
        {"role": "user", "content": [result]},
        {"role": "user", "content": [result, {"type": "text", "text": "and hurry"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Found."}]},
    ]
    assert shape(view_anthropic(messages)) == [
        ("user", "look it up", False),
        ("assistant", "Looking.", True),
        ("tool", "", False),
        ("user", "and hurry", False),
        ("assistant", "Found.", False),
    ]


def test_a_reply_that_a_call_follows_is_not_final_in_the_responses_form() -> None:
    items = [
        {"role": "user", "content": "weather?"},
        {"type": "message", "id": "1", "role": "assistant", "content": [{"type": "output_text", "text": "Looking."}]},
        {"type": "reasoning", "id": "2", "summary": []},
        {"type": "function_call", "id": "3", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "sun"},
        {"type": "message", "id": "4", "role": "assistant", "content": [{"type": "output_text", "text": "Sun."}]},
        {"type": "compaction", "id": "5", "encrypted_content": "…"},
    ]
    seen = view_openai_responses(items)
    assert shape(seen) == [
        ("user", "weather?", False),
        ("assistant", "Looking.", True),
        ("other", "", False),
        ("assistant", "", True),
        ("tool", "", False),
        ("assistant", "Sun.", False),
        ("other", "", False),
    ]
    assert [one.id for one in seen if not (one.id or "").startswith("fp-")] == ["1", "2", "3", "4", "5"]
    assert seen[0].id, "an input carries no id of its own"
    assert seen[-1].is_synthetic


def test_langchain_messages_keep_their_ids_and_a_summary_is_synthetic() -> None:
    def message(kind: str, **more: Any) -> SimpleNamespace:
        return SimpleNamespace(type=kind, **{"id": None, "content": "x", "additional_kwargs": {}, **more})

    seen = view_langchain(
        [
            message("human", id="1", additional_kwargs={"lc_source": "summarization"}),
            message("human", id="2", content=["a", {"type": "text", "text": "b"}]),
            message("ai", id="3", tool_calls=[{"name": "f"}]),
            message("tool", id="4"),
            message("AIMessageChunk", id="5"),
            message("chat", role="human", id="6"),
            message("remove"),
        ]
    )
    assert [(one.id, one.role, one.calls_tools, one.is_synthetic) for one in seen] == [
        ("1", "user", False, True),
        ("2", "user", False, False),
        ("3", "assistant", True, False),
        ("4", "tool", False, False),
        ("5", "assistant", False, False),
        ("6", "user", False, False),
        (None, "other", False, False),
    ]
    assert seen[1].text == "a\nb"


def test_plain_messages_keep_a_time_that_is_an_instant_and_no_other() -> None:
    def said_at(time: object) -> str | None:
        return view_plain([{"role": "user", "content": "x", "timestamp": time}])[0].said_at

    assert said_at("2026-01-02T04:04:05+01:00") == "2026-01-02T03:04:05.000Z"
    assert [said_at(time) for time in ("2026-01-02T03:04:05", "yesterday", 7, None)] == [None] * 4


def test_messages_without_ids_get_one_that_a_compaction_does_not_change() -> None:
    messages = [("user", "hi"), ("assistant", "ok"), ("user", "go on"), ("assistant", "ok"), ("user", "go on")]
    whole = view_plain(messages)
    kept = view_plain([("user", "summary"), *messages[1:]])

    assert len({one.id for one in whole}) == len(messages)
    assert [one.id for one in kept[2:]] == [one.id for one in whole[2:]]


def test_what_recall_puts_in_front_of_a_text_does_not_change_its_id() -> None:
    block = '<relevant-memories source="memstrata">\n- likes tea\n</relevant-memories>\n\n'
    plain = view_openai_chat([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}])
    injected = view_openai_chat([{"role": "user", "content": block + "hi"}, {"role": "assistant", "content": "hello"}])
    assert [one.id for one in injected] == [one.id for one in plain]


@pytest.mark.parametrize("view", ALL)
def test_what_is_no_message_is_seen_as_nothing(view: Views) -> None:
    odd: list[Any] = [None, 7, "text", b"x", [], {}, (1, 2, 3), {"role": 5, "content": 9}, {"role": "user", "id": 3}]
    odd += [{"role": "user", "content": [None, 3, {"type": 8}, {"type": "text", "text": 4}, {"type": ["text"]}]}]
    odd += [{"role": ["user"], "type": {"a": 1}, "content": {"type": "text", "text": "x"}}]

    seen = view(odd)

    assert len(seen) == len(odd)
    assert {one.text for one in seen} <= {"", "x"}
