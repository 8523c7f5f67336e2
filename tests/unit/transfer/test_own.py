"""The first version of our export is still read, for the messages in it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memstrata.clock import to_iso
from memstrata.errors import InvalidRequest
from memstrata.transfer import ImportFile, batches, read_data

NOW = 1_767_323_045_678
HEADER = {
    "memstrata_export": 1,
    "exported_at": "2026-01-02T03:04:05.678Z",
    "scope": {"instance": "local", "team": "team", "agent": "agent", "user": "lin"},
}


def said(session: str, message_id: str, role: str, content: str, at: int) -> dict[str, Any]:
    fields = {"session_id": session, "id": message_id, "role": role, "content": content, "said_at": to_iso(at)}
    return {"kind": "message", "seq": 1, "task_id": "", "recorded_at": to_iso(NOW), **fields}


MESSAGES = [
    said("s1", "msg-1", "user", "我不吃花生", NOW),
    said("s1", "msg-2", "assistant", "记住了", NOW + 5),
    said("s2", "msg-1", "user", "hello", NOW + 9),
]
MEMORY = {"kind": "memory", "id": "m_1", "version": 2, "content": "用户不吃花生", "source_ids": ["msg-1"]}
SCENE = {"kind": "scene", "path": "饮食.md", "version": 1, "body": "# 饮食", "memory_ids": ["m_1"]}


def exported(*extra: object) -> bytes:
    return "".join(json.dumps(line) + "\n" for line in (HEADER, *MESSAGES, MEMORY, SCENE, *extra)).encode()


def read(*extra: object) -> ImportFile:
    return read_data(exported(*extra), "backup.jsonl")


def fault(*lines: object) -> str:
    with pytest.raises(InvalidRequest) as caught:
        read_data("\n".join(json.dumps(line) for line in lines).encode(), "backup.jsonl", "memstrata")
    return str(caught.value)


def test_messages_come_back_with_their_sessions_ids_and_times() -> None:
    file = read()
    assert file.format == "memstrata"
    back = [(s.session_id, m.message_id, m.role, m.content, m.said_at) for s in file.sessions for m in s.messages]
    assert [(*one[:4], to_iso(one[4] or 0)) for one in back] == [
        tuple(line[key] for key in ("session_id", "id", "role", "content", "said_at")) for line in MESSAGES
    ]


def test_an_exported_id_is_the_id_of_the_import() -> None:
    ids = [message.message_id for batch in batches(read()) for message in batch.messages]
    assert ids == ["msg-1", "msg-2", "msg-1"]


def test_what_was_distilled_is_counted_and_not_imported() -> None:
    assert read({**SCENE, "kind": "persona"}).skipped == {"distilled again from the messages": 3}


def test_two_exports_in_one_file_give_each_message_once() -> None:
    lines = exported().split(b"\n")
    file = read_data(b"\n".join([*lines, *lines[1:]]), "backup.jsonl")
    assert [len(session.messages) for session in file.sessions] == [2, 1]
    assert file.skipped["repeated message"] == 3


def test_an_export_of_nothing_is_a_file_without_sessions() -> None:
    assert read_data(json.dumps(HEADER).encode(), "backup.jsonl").sessions == ()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ({"kind": "dream"}, 'backup.jsonl line 2 kind: unknown kind "dream"'),
        ({"text": "x"}, 'backup.jsonl line 2: no "kind"'),
        ({"kind": "message", "role": "user", "content": "x", "id": "1"}, 'backup.jsonl line 2: no "session_id"'),
        ({"kind": "message", "role": "user", "session_id": "s"}, 'backup.jsonl line 2: no "content"'),
        ([1], "backup.jsonl line 2: expected an object, found a list"),
    ],
)
def test_an_error_names_the_line(line: object, expected: str) -> None:
    assert fault(HEADER, line) == expected


def test_a_newer_version_is_refused() -> None:
    assert fault({"memstrata_export": 2}, {"kind": "message"}) == (
        "backup.jsonl line 1 memstrata_export: export version 2, this program reads version 1"
    )


def test_a_file_without_our_header_is_refused_as_ours() -> None:
    assert fault({"kind": "message"}, {"kind": "message"}) == 'backup.jsonl line 1: no "memstrata_export"'
