from __future__ import annotations

import json

import pytest

from memstrata.clock import from_iso
from memstrata.errors import InvalidRequest
from memstrata.transfer import ImportedMessage, ImportFile, read_data

HELLO = {"role": "user", "content": "hello"}
HI = {"role": "assistant", "content": "hi"}


def read(value: object, name: str = "chat.json") -> ImportFile:
    return read_data(json.dumps(value).encode(), name)


def read_lines(*values: object) -> ImportFile:
    return read_data("\n".join(json.dumps(value) for value in values).encode(), "chat.jsonl")


def said(file: ImportFile) -> list[list[str]]:
    return [[message.content for message in session.messages] for session in file.sessions]


def fault(value: object) -> str:
    with pytest.raises(InvalidRequest) as caught:
        read(value)
    return str(caught.value)


def test_a_list_of_messages_is_one_session() -> None:
    file = read([HELLO, HI])
    assert file.format == "openai"
    assert [s.messages for s in file.sessions] == [
        (ImportedMessage("user", "hello"), ImportedMessage("assistant", "hi")),
    ]


def test_an_object_with_messages_is_a_session_with_its_id_and_title() -> None:
    file = read({"session_id": "s1", "title": "Greetings", "messages": [HELLO, HI]})
    assert (file.sessions[0].session_id, file.sessions[0].title) == ("s1", "Greetings")
    assert said(file) == [["hello", "hi"]]


def test_a_list_of_objects_with_messages_is_a_list_of_sessions() -> None:
    file = read([{"conversation_id": "a", "messages": [HELLO]}, {"id": 7, "messages": [HI]}])
    assert [session.session_id for session in file.sessions] == ["a", "7"]


def test_a_list_of_lists_is_a_list_of_sessions() -> None:
    assert said(read([[HELLO, HI], [HI]])) == [["hello", "hi"], ["hi"]]


def test_lines_of_messages_are_one_session_unless_they_name_theirs() -> None:
    file = read_lines(HELLO | {"session_id": "a"}, HELLO, HI | {"session_id": "a"}, HI | {"session_id": "  "})
    assert said(file) == [["hello", "hi"], ["hello", "hi"]]
    assert "a" in {session.session_id for session in file.sessions}


def test_lines_of_conversations_are_a_session_each() -> None:
    assert said(read_lines({"messages": [HELLO, HI]}, {"messages": [HI]}, [HELLO])) == [
        ["hello", "hi"],
        ["hi"],
        ["hello"],
    ]


def test_one_message_alone_is_a_conversation() -> None:
    assert said(read(HELLO)) == [["hello"]]


def test_text_parts_are_joined_and_images_are_counted() -> None:
    parts = [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "x"}},
        {"type": "input_text", "text": "here"},
        "and here",
        {"type": "output_text", "text": {"value": "and there"}},
    ]
    file = read([{"role": "user", "content": parts}])
    assert said(file) == [["look\nhere\nand here\nand there"]]
    assert file.skipped == {"image": 1}


def test_a_message_of_images_alone_is_counted_once_per_image_and_not_as_empty() -> None:
    file = read([{"role": "user", "content": [{"type": "image"}, {"type": "input_audio"}, {"type": "file"}]}, HI])
    assert said(file) == [["hi"]]
    assert file.skipped == {"image": 1, "audio": 1, "attachment": 1}


def test_roles_that_nobody_spoke_are_left_out_and_counted() -> None:
    others = [{"role": role, "content": "x"} for role in ("system", "developer", "tool", "function")]
    file = read([*others, HELLO, {"role": "assistant", "content": None, "tool_calls": [{}]}])
    assert said(file) == [["hello"]]
    assert file.skipped == {"system message": 2, "tool message": 2, "tool call": 1}


@pytest.mark.parametrize("content", ["", "  \n", None, []])
def test_an_empty_message_is_left_out_and_counted(content: object) -> None:
    file = read([HELLO, {"role": "assistant", "content": content}])
    assert said(file) == [["hello"]]
    assert file.skipped == {"empty message": 1}


@pytest.mark.parametrize("key", ["timestamp", "created_at", "created", "time"])
def test_the_time_of_a_message_is_kept_under_each_usual_name(key: str) -> None:
    file = read([HELLO | {key: "2026-01-02T11:04:05+08:00"}])
    assert file.sessions[0].messages[0].said_at == from_iso("2026-01-02T03:04:05Z")


def test_ids_of_messages_are_kept_as_text() -> None:
    file = read([HELLO | {"id": "m-1"}, HI | {"id": 2}, HI | {"id": ""}])
    assert [message.message_id for message in file.sessions[0].messages] == ["m-1", "2", None]


def test_roles_are_read_in_any_case() -> None:
    assert read([{"role": "User", "content": "x"}]).sessions[0].messages[0].role == "user"


def test_half_of_a_surrogate_pair_becomes_the_replacement_character() -> None:
    file = read_data(rb'[{"role": "user", "content": "a\ud83d b\ud83d\ude00"}]', "chat.json")
    assert said(file) == [["a\ufffd b😀"]]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([HELLO, {"content": "x"}], 'chat.json [1]: no "role"'),
        ([HELLO, {"role": "user"}], 'chat.json [1]: no "content"'),
        ([HELLO, "x"], "chat.json [1]: expected an object, found a string"),
        ({}, 'chat.json: no "role"'),
        ({"messages": None}, 'chat.json: no "messages"'),
        ({"messages": {"a": 1}}, "chat.json messages: expected a list, found an object"),
        ([{"messages": [HELLO, HI, 3]}], "chat.json [0].messages[2]: expected an object, found a number"),
        ([{"role": 1, "content": "x"}], "chat.json [0].role: expected a string, found a number"),
        ([{"role": "user", "content": 5}], "chat.json [0].content: expected a list, found a number"),
        ([{"role": "user", "content": [{"a": 1}]}], 'chat.json [0].content[0]: no "type"'),
        ([{"role": "user", "content": [{"type": "text"}]}], 'chat.json [0].content[0]: no "text"'),
        ([HELLO | {"time": "soon"}], "chat.json [0].time: not a time: 'soon'"),
        ([HELLO | {"id": True}], "chat.json [0].id: expected a string, found true or false"),
    ],
)
def test_an_error_names_the_place(value: object, expected: str) -> None:
    assert fault(value).startswith(expected)


def test_an_unknown_role_is_an_error_that_names_it() -> None:
    assert fault([HELLO, {"role": "narrator", "content": "x"}]) == (
        'chat.json [1].role: unknown role "narrator" (expected "user", "assistant"; system and tool roles are left out)'
    )


def test_an_error_in_a_line_names_the_line_and_the_path_in_it() -> None:
    with pytest.raises(InvalidRequest) as caught:
        read_lines({"messages": [HELLO]}, {"messages": [HELLO, {"role": "user"}]})
    assert str(caught.value) == 'chat.jsonl line 2 messages[1]: no "content"'
