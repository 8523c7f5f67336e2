"""An export says what the API told, and nothing that it did not."""

from typing import Any

from memstrata.cli.told import UNTOLD, memory_record, message_record, persona_document, scene_document
from memstrata.client import Evidence, Memory, Message, Persona, Scene, SceneText
from memstrata.transfer import document_line, memory_line, message_line

TIMES = {"created_at": "2026-01-02T03:04:05.678Z", "updated_at": "2026-02-11T12:14:00.000Z"}
MESSAGE: dict[str, Any] = {
    "id": "msg-1",
    "session_id": "s",
    "role": "user",
    "content": "上周开始我不吃肉了",
    "timestamp": "2026-02-11T12:14:00.000Z",
    "recorded_at": "2026-02-11T12:14:01.500Z",
}


def told(line: dict[str, object], kind: str) -> dict[str, object]:
    return {key: value for key, value in line.items() if key not in UNTOLD[kind]}


def test_a_message_keeps_its_times_to_the_millisecond() -> None:
    line = told(message_line(message_record(Message.read(MESSAGE))), "message")
    assert (line["said_at"], line["recorded_at"]) == (MESSAGE["timestamp"], MESSAGE["recorded_at"])
    assert "seq" not in line


def test_a_memory_is_of_the_session_of_its_first_source() -> None:
    memory = Memory.read({"id": "m_1", "type": "persona", "content": "用户吃素", "origin": "human", **TIMES})
    evidence = Evidence(memory, (Message.read(MESSAGE),), (), (), None)
    line = told(memory_line(memory_record(evidence), ["msg-1"]), "memory")
    assert (line["session_id"], line["source_ids"], line["origin"]) == ("s", ["msg-1"], "human")
    assert not {"seq", "slot", "metadata"} & set(line)


def test_documents_are_without_the_meta_block_and_the_scene_index() -> None:
    block = "-----META-START-----\nsummary: 吃素\nheat: 2\n-----META-END-----\n\n# 饮食"
    index = "\n\n---\n## 🗺️ Scene Navigation (Scene Index)\n\n- `饮食.md`"
    scene = Scene.read({"path": "饮食.md", "summary": "吃素", "heat": 2, **TIMES})
    text = SceneText.read_if_any({"path": "饮食.md", "content": block, "version": 3, **TIMES})
    persona = Persona.read_if_any({"content": f"# 画像\n用户吃素{index}", "version": 1, **TIMES})
    assert text is not None
    assert persona is not None
    line = told(document_line(scene_document(scene, text), ["m_1"]), "scene")
    assert (line["body"], line["heat"], line["version"], line["memory_ids"]) == ("# 饮食", 2, 3, ["m_1"])
    assert told(document_line(persona_document(persona)), "persona")["body"] == "# 画像\n用户吃素"
