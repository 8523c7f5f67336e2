"""From what the API tells to the records that the export format is written from.

A record has fields that the API keeps to itself. They get a neutral value here, and `UNTOLD` names their keys by kind of
line, so that the export leaves them out instead of stating what nobody said.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import cast

from memstrata.client import Evidence, Message, Persona, Scene, SceneText
from memstrata.clock import Instant
from memstrata.distill.scenes.meta import parse_scene
from memstrata.distill.scenes.navigation import strip_navigation
from memstrata.records import PERSONA_PATH, AppliesTo, Document, MemoryRecord, MemoryType, Origin, Role
from memstrata.records import Message as StoredMessage

__all__ = ["UNTOLD", "memory_record", "message_record", "persona_document", "scene_document"]

UNTOLD: Mapping[str, frozenset[str]] = {
    "message": frozenset({"seq"}),
    "memory": frozenset({"seq", "slot", "metadata"}),
    "scene": frozenset({"seq", "origin"}),
    "persona": frozenset({"seq", "origin"}),
}
_NO_SEQ = 0
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def message_record(message: Message) -> StoredMessage:
    """Return the record of an L0 message."""
    return StoredMessage(
        seq=_NO_SEQ,
        message_id=message.id,
        session_id=message.session_id,
        task_id=message.task_id,
        role=cast("Role", message.role),
        content=message.content,
        said_at=_instant(message.said_at),
        recorded_at=_instant(message.recorded_at),
    )


def memory_record(evidence: Evidence) -> MemoryRecord:
    """Return the record of a live L1 memory. Its session is that of its first source."""
    memory = evidence.memory
    return MemoryRecord(
        seq=_NO_SEQ,
        memory_id=memory.id,
        version=memory.version,
        content=memory.content,
        type=cast("MemoryType", memory.type),
        priority=memory.priority,
        scene_name=memory.scene_name,
        applies_to=cast("AppliesTo", memory.applies_to),
        slot="",
        session_id=evidence.messages[0].session_id if evidence.messages else "",
        task_id=memory.task_id,
        origin=cast("Origin", memory.origin),
        happened_from=_instant(memory.activity_start) if memory.activity_start else None,
        happened_to=_instant(memory.activity_end) if memory.activity_end else None,
        metadata={},
        created_at=_instant(memory.created_at),
        updated_at=_instant(memory.updated_at),
        valid_to=None,
        superseded_by=None,
    )


def scene_document(scene: Scene, text: SceneText) -> Document:
    """Return the record of an L2 scene, without the META block that clients read it with."""
    return Document(
        seq=_NO_SEQ,
        kind="scene",
        path=scene.path,
        version=text.version,
        body=parse_scene(text.content).body,
        summary=scene.summary,
        heat=scene.heat,
        origin="rules",
        created_at=_instant(text.created_at),
        updated_at=_instant(text.updated_at),
    )


def persona_document(persona: Persona) -> Document:
    """Return the record of the L3 persona, without the scene index that clients read it with."""
    return Document(
        seq=_NO_SEQ,
        kind="persona",
        path=PERSONA_PATH,
        version=persona.version,
        body=strip_navigation(persona.content),
        summary="",
        heat=0,
        origin="rules",
        created_at=_instant(persona.created_at),
        updated_at=_instant(persona.updated_at),
    )


def _instant(time: datetime | None) -> Instant:
    return 0 if time is None else round((time - _EPOCH).total_seconds() * 1000)
