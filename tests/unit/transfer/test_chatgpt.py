from __future__ import annotations

import json
from typing import Any

import pytest

from memstrata.errors import InvalidRequest
from memstrata.transfer import ImportFile, read_data


def node(role: str, text: str, parent: str | None, *children: str, **message: Any) -> dict[str, Any]:
    content = {"content_type": "text", "parts": [text]}
    return {
        "parent": parent,
        "children": list(children),
        "message": {"author": {"role": role}, "content": content, "create_time": 1_767_323_045.5} | message,
    }


def conversation(**fields: Any) -> dict[str, Any]:
    mapping = {
        "root": {"message": None, "parent": None, "children": ["q"]},
        "q": node("user", "question", "root", "a1", "a2"),
        "a1": node("assistant", "abandoned", "q"),
        "a2": node("assistant", "answer", "q"),
    }
    return {"id": "c1", "title": "T", "current_node": "a2", "mapping": mapping} | fields


def read(value: object) -> ImportFile:
    return read_data(json.dumps(value).encode(), "conversations.json")


def said(file: ImportFile) -> list[str]:
    return [message.content for session in file.sessions for message in session.messages]


def fault(value: object) -> str:
    with pytest.raises(InvalidRequest) as caught:
        read(value)
    return str(caught.value)


def test_the_path_to_the_current_node_is_the_conversation() -> None:
    file = read([conversation()])
    assert file.format == "chatgpt"
    assert said(file) == ["question", "answer"]
    session = file.sessions[0]
    assert (session.session_id, session.title) == ("c1", "T")
    assert session.messages[0].said_at == 1_767_323_045_500
    assert [message.message_id for message in session.messages] == ["q", "a2"]


def test_the_last_leaf_is_current_where_the_export_does_not_say() -> None:
    assert said(read([conversation(current_node=None)])) == ["question", "answer"]


def test_a_single_conversation_needs_no_list() -> None:
    assert said(read(conversation())) == ["question", "answer"]


def test_conversations_are_imported_oldest_first_although_exported_newest_first() -> None:
    later = conversation(id="later")
    earlier = conversation(id="earlier", mapping={"q": node("user", "before", None, create_time=1.0)}, current_node="q")
    assert [session.session_id for session in read([later, earlier]).sessions] == ["earlier", "later"]


def test_multimodal_parts_are_left_out_and_transcripts_are_kept() -> None:
    parts = [
        {"content_type": "image_asset_pointer", "asset_pointer": "x"},
        {"content_type": "audio_transcription", "text": "spoken"},
        {"content_type": "audio_asset_pointer"},
        {"content_type": "something_new"},
        "typed",
        None,
    ]
    mapping = {"q": node("user", "", None, content={"content_type": "multimodal_text", "parts": parts})}
    file = read([conversation(mapping=mapping, current_node="q")])
    assert said(file) == ["spoken\ntyped"]
    assert file.skipped == {"image": 1, "audio": 1, "attachment": 1}


def test_what_the_user_did_not_see_is_left_out_and_counted() -> None:
    mapping = {
        "s": node("system", "rules", None),
        "h": node("user", "about me", "s", metadata={"is_visually_hidden_from_conversation": True}),
        "c": node("assistant", "search()", "h", recipient="web"),
        "t": node("tool", "result", "c"),
        "r": node("assistant", "", "t", content={"content_type": "thoughts", "thoughts": []}),
        "u": node("user", "", "r", content={"content_type": "user_editable_context"}),
        "e": node("assistant", " ", "u"),
        "a": node("assistant", "", "e", content={"content_type": "code", "text": "print(1)"}, recipient="all"),
    }
    file = read([conversation(mapping=mapping, current_node="a")])
    assert said(file) == ["print(1)"]
    assert file.skipped == {
        "system message": 3,
        "tool call": 1,
        "tool message": 1,
        "reasoning": 1,
        "empty message": 1,
    }


def test_an_empty_conversation_is_no_session() -> None:
    assert read([conversation(mapping={}, current_node=None)]).sessions == ()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (
            [conversation(), conversation(current_node="zz")],
            'conversations.json [1].current_node: names the node "zz", which is not in "mapping"',
        ),
        (
            [conversation(mapping={"q": node("user", "x", "gone")}, current_node="q")],
            'conversations.json [0].mapping.q.parent: names the node "gone", which is not in "mapping"',
        ),
        (
            [conversation(mapping={"4-2": node("user", "x", "4-2")}, current_node="4-2")],
            'conversations.json [0].mapping["4-2"].parent: leads back to the node "4-2": '
            "the conversation has no beginning",
        ),
        ([conversation(), {"title": "x"}], 'conversations.json [1]: no "mapping"'),
        (
            [conversation(mapping={"q": {"message": {"author": {"role": "user"}}}}, current_node="q")],
            'conversations.json [0].mapping.q.message: no "content"',
        ),
        (
            [conversation(mapping={"q": {"message": {"author": {}}}}, current_node="q")],
            'conversations.json [0].mapping.q.message.author: no "role"',
        ),
        (
            [conversation(mapping={"q": node("oracle", "x", None)}, current_node="q")],
            'conversations.json [0].mapping.q.message.author.role: unknown role "oracle"',
        ),
    ],
)
def test_an_error_names_the_place(value: object, expected: str) -> None:
    assert fault(value).startswith(expected)
