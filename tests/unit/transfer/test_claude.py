from __future__ import annotations

import json
from typing import Any

import pytest

from memstrata.clock import from_iso
from memstrata.errors import InvalidRequest
from memstrata.transfer import ImportFile, read_data


def message(sender: str, text: str, **fields: Any) -> dict[str, Any]:
    return {"uuid": f"u-{text}", "sender": sender, "text": text, "created_at": "2026-01-02T03:04:05.123456Z"} | fields


def conversation(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"uuid": "c1", "name": "N", "chat_messages": list(messages)} | fields


def read(value: object) -> ImportFile:
    return read_data(json.dumps(value).encode(), "conversations.json")


def said(file: ImportFile) -> list[str]:
    return [message.content for session in file.sessions for message in session.messages]


def test_humans_are_users_and_times_and_ids_are_kept() -> None:
    file = read([conversation(message("human", "hello"), message("assistant", "hi"))])
    assert file.format == "claude"
    session = file.sessions[0]
    assert (session.session_id, session.title) == ("c1", "N")
    assert [(m.role, m.content, m.message_id) for m in session.messages] == [
        ("user", "hello", "u-hello"),
        ("assistant", "hi", "u-hi"),
    ]
    assert session.messages[0].said_at == from_iso("2026-01-02T03:04:05.123Z")


def test_a_single_conversation_needs_no_list() -> None:
    assert said(read(conversation(message("human", "hello")))) == ["hello"]


def test_text_blocks_are_preferred_to_the_flat_text() -> None:
    blocks = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "one"},
        {"type": "tool_use"},
        {"type": "tool_result"},
        {"type": "token_budget"},
        {"type": "text", "text": "two"},
    ]
    file = read([conversation(message("assistant", "one [not shown] two", content=blocks))])
    assert said(file) == ["one\ntwo"]
    assert file.skipped == {"reasoning": 1, "tool call": 1, "tool message": 1}


def test_the_flat_text_is_used_where_the_blocks_are_empty() -> None:
    assert said(read([conversation(message("human", "hello", content=[]))])) == ["hello"]


def test_a_message_of_tool_blocks_alone_is_left_out() -> None:
    file = read([conversation(message("assistant", "placeholder", content=[{"type": "tool_use"}]))])
    assert file.sessions == ()
    assert file.skipped == {"tool call": 1}


def test_files_are_counted_and_the_message_is_kept() -> None:
    file = read([conversation(message("human", "see this", attachments=[{}, {}], files=[{}]))])
    assert said(file) == ["see this"]
    assert file.skipped == {"attachment": 3}


def test_files_that_are_not_there_are_not_counted() -> None:
    assert read([conversation(message("human", "x", attachments=[], files=[]))]).skipped == {}


def test_an_empty_message_is_left_out_and_counted() -> None:
    file = read([conversation(message("human", ""), message("assistant", "hi"))])
    assert said(file) == ["hi"]
    assert file.skipped == {"empty message": 1}


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        ({"text": "x"}, 'conversations.json [1].chat_messages[1]: no "sender"'),
        ({"sender": "human"}, 'conversations.json [1].chat_messages[1]: no "text" and no "content"'),
        (message("user", "x"), 'conversations.json [1].chat_messages[1].sender: unknown role "user"'),
        (message("human", "x", created_at="later"), "conversations.json [1].chat_messages[1].created_at: not a time"),
        (message("human", "x", content=[{}]), 'conversations.json [1].chat_messages[1].content[0]: no "type"'),
    ],
)
def test_an_error_names_the_place(broken: dict[str, Any], expected: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read([conversation(message("human", "a")), conversation(message("human", "b"), broken)])
    assert str(caught.value).startswith(expected)


def test_a_conversation_without_messages_is_an_error_that_names_it() -> None:
    with pytest.raises(InvalidRequest) as caught:
        read([conversation(message("human", "a")), {"uuid": "c2"}])
    assert str(caught.value) == 'conversations.json [1]: no "chat_messages"'
