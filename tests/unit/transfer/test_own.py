from __future__ import annotations

import json
from dataclasses import replace

import pytest

from memstrata.clock import LATEST, from_iso
from memstrata.errors import InvalidRequest
from memstrata.records import Document, MemoryRecord, Message, Scope
from memstrata.transfer import (
    ImportFile,
    batches,
    document_line,
    export_lines,
    header_line,
    memory_line,
    read_data,
)

NOW = from_iso("2026-01-02T03:04:05.678Z")
SCOPE = Scope("local", "team", "agent", "lin")
QUESTION = Message(1, "msg-1", "s1", "", "user", "我不吃花生", NOW, NOW + 1)
ANSWER = Message(2, "msg-2", "s1", "task", "assistant", "记住了", NOW + 5, NOW + 6)
OTHER = Message(3, "msg-1", "s2", "", "user", "hello", NOW + 9, NOW + 9)
MEMORY = MemoryRecord(
    seq=1,
    memory_id="m_1",
    version=2,
    content="用户不吃花生",
    type="persona",
    priority=80,
    scene_name="饮食",
    applies_to="always",
    slot="allergy",
    session_id="s1",
    task_id="",
    origin="rules",
    happened_from=None,
    happened_to=NOW,
    metadata={"confidence": 1},
    created_at=NOW,
    updated_at=NOW,
    valid_to=None,
    superseded_by=None,
)
SCENE = Document(4, "scene", "饮食.md", 1, "# 饮食", "吃什么", 2, "rules", NOW, NOW)


def exported(*extra: object) -> bytes:
    lines = [
        *export_lines(SCOPE, NOW, messages=[QUESTION, ANSWER, OTHER], memories=[MEMORY], documents=[SCENE]),
        *extra,
    ]
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def read(*extra: object) -> ImportFile:
    return read_data(exported(*extra), "backup.jsonl")


def fault(*lines: object) -> str:
    with pytest.raises(InvalidRequest) as caught:
        read_data("\n".join(json.dumps(line) for line in lines).encode(), "backup.jsonl", "memstrata")
    return str(caught.value)


def test_the_first_line_names_the_version_and_the_scope() -> None:
    assert json.loads(exported().split(b"\n")[0]) == {
        "memstrata_export": 1,
        "exported_at": "2026-01-02T03:04:05.678Z",
        "scope": {"instance": "local", "team": "team", "agent": "agent", "user": "lin"},
    }


def test_messages_come_back_with_their_sessions_ids_and_times() -> None:
    file = read()
    assert file.format == "memstrata"
    back = [(s.session_id, m.message_id, m.role, m.content, m.said_at) for s in file.sessions for m in s.messages]
    assert back == [(m.session_id, m.message_id, m.role, m.content, m.said_at) for m in (QUESTION, ANSWER, OTHER)]


def test_an_exported_id_is_the_id_of_the_import() -> None:
    ids = [message.message_id for batch in batches(read()) for message in batch.messages]
    assert ids == ["msg-1", "msg-2", "msg-1"]


def test_what_was_distilled_is_counted_and_not_imported() -> None:
    persona = document_line(replace(SCENE, kind="persona", path="persona.md"), ["m_1"])
    assert read(persona).skipped == {"distilled again from the messages": 3}


def test_two_exports_in_one_file_give_each_message_once() -> None:
    lines = exported().split(b"\n")
    file = read_data(b"\n".join([*lines, *lines[1:]]), "backup.jsonl")
    assert [len(session.messages) for session in file.sessions] == [2, 1]
    assert file.skipped["repeated message"] == 3


def test_a_memory_line_tells_everything_with_readable_times() -> None:
    assert memory_line(MEMORY, ["msg-1"]) == {
        "kind": "memory",
        "seq": 1,
        "id": "m_1",
        "version": 2,
        "type": "persona",
        "content": "用户不吃花生",
        "priority": 80,
        "scene_name": "饮食",
        "applies_to": "always",
        "slot": "allergy",
        "session_id": "s1",
        "task_id": "",
        "origin": "rules",
        "happened_from": None,
        "happened_to": "2026-01-02T03:04:05.678Z",
        "metadata": {"confidence": 1},
        "created_at": "2026-01-02T03:04:05.678Z",
        "updated_at": "2026-01-02T03:04:05.678Z",
        "valid_to": None,
        "superseded_by": None,
        "source_ids": ["msg-1"],
    }


def test_a_document_line_names_its_kind_its_version_and_its_sources() -> None:
    line = document_line(SCENE, ["m_1"])
    assert (line["kind"], line["path"], line["version"], line["body"]) == ("scene", "饮食.md", 1, "# 饮食")
    assert line["memory_ids"] == ["m_1"]


def test_a_time_past_the_last_year_is_exported_as_the_last_instant_and_read_back() -> None:
    far = replace(QUESTION, said_at=LATEST + 1)
    lines = export_lines(SCOPE, NOW, messages=[far])
    file = read_data("\n".join(json.dumps(line) for line in lines).encode(), "backup.jsonl")
    assert file.sessions[0].messages[0].said_at == LATEST


def test_an_export_of_nothing_is_a_file_without_sessions() -> None:
    assert read_data(json.dumps(header_line(SCOPE, NOW)).encode(), "backup.jsonl").sessions == ()


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
    assert fault(header_line(SCOPE, NOW), line) == expected


def test_a_newer_version_is_refused() -> None:
    assert fault({"memstrata_export": 2}, {"kind": "message"}) == (
        "backup.jsonl line 1 memstrata_export: export version 2, this program reads version 1"
    )


def test_a_file_without_our_header_is_refused_as_ours() -> None:
    assert fault({"kind": "message"}, {"kind": "message"}) == 'backup.jsonl line 1: no "memstrata_export"'
