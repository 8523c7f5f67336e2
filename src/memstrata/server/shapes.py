"""Records as the wire spells them: `atomic` items, `messages`, scenario `entries`, the core document.

Source: wire contract §3. Keys that the contract does not have are additions; none is missing. Every row names the scope
that asked, because no other scope's rows ever get here.
"""

from __future__ import annotations

from typing import Any

from memstrata.clock import to_iso
from memstrata.records import Document, Hit, MemoryRecord, Message, Scope

__all__ = ["document", "found_memory", "found_message", "memory", "message", "no_document", "scene_entry"]


def message(scope: Scope, item: Message) -> dict[str, Any]:
    """An L0 row. `timestamp` is the event time: what is filtered and sorted on."""
    return {
        "id": item.message_id,
        "session_id": item.session_id,
        "team_id": scope.team,
        "user_id": scope.user,
        "agent_id": scope.agent,
        "task_id": item.task_id,
        "role": item.role,
        "content": item.content,
        "timestamp": to_iso(item.said_at),
        "recorded_at": to_iso(item.recorded_at),
    }


def found_message(scope: Scope, hit: Hit[Message]) -> dict[str, Any]:
    """An L0 row with its rank."""
    return message(scope, hit.item) | _rank(hit)


def memory(scope: Scope, item: MemoryRecord) -> dict[str, Any]:
    """An L1 row. `background` (the scene's name) and the event interval are left out where they are unknown."""
    shape: dict[str, Any] = {
        "id": item.memory_id,
        "type": item.type,
        "content": item.content,
        "version": item.version,
        "team_id": scope.team,
        "user_id": scope.user,
        "agent_id": scope.agent,
        "task_id": item.task_id,
        "created_at": to_iso(item.created_at),
        "updated_at": to_iso(item.updated_at),
        "priority": item.priority,
        "applies_to": item.applies_to,
        "origin": item.origin,
    }
    if item.scene_name:
        shape["background"] = item.scene_name
    if item.happened_from is not None:
        shape["activity_start"] = to_iso(item.happened_from)
    if item.happened_to is not None:
        shape["activity_end"] = to_iso(item.happened_to)
    return shape


def found_memory(scope: Scope, hit: Hit[MemoryRecord]) -> dict[str, Any]:
    """An L1 row with its rank."""
    return memory(scope, hit.item) | _rank(hit)


def scene_entry(scope: Scope, item: Document) -> dict[str, Any]:
    """An L2 scene without its text."""
    entry: dict[str, Any] = {"path": item.path, "heat": item.heat, **_dated(scope, item)}
    if item.summary:
        entry["summary"] = item.summary
    return entry


def document(scope: Scope, item: Document, content: str) -> dict[str, Any]:
    """An L2 or L3 document with the text that it is read as."""
    return {"content": content, "exists": True, **_dated(scope, item)}


def no_document() -> dict[str, Any]:
    """The same where there is none: an answer, not an error (wire contract §3.3, §3.4)."""
    return {"content": None, "exists": False, "created_at": None, "updated_at": None}


def _dated(scope: Scope, item: Document) -> dict[str, Any]:
    return {
        "version": item.version,
        "team_id": scope.team,
        "agent_id": scope.agent,
        "created_at": to_iso(item.created_at),
        "updated_at": to_iso(item.updated_at),
    }


def _rank(hit: Hit[Any]) -> dict[str, Any]:
    return {"score": hit.score, "legs": dict(hit.legs)}
