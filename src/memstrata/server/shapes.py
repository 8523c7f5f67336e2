"""Records as the wire spells them: `atomic` items, `messages`, scenario `entries`, the core document.

Source: wire contract §3. Keys that the contract does not have are additions; none is missing. Every row names the scope
that asked, because no other scope's rows ever get here.
"""

from __future__ import annotations

from typing import Any

from memstrata.clock import to_iso
from memstrata.records import (
    Derivation,
    Document,
    DocumentVersion,
    Hit,
    MemoryRecord,
    MemoryVersion,
    Message,
    Scope,
    Support,
    VersionRef,
)
from memstrata.text.secrets import placeholders

__all__ = [
    "derivation",
    "document",
    "document_version",
    "found_memory",
    "found_message",
    "memory",
    "memory_version",
    "message",
    "no_document",
    "redacted",
    "restored_memory",
    "scene_entry",
    "support",
    "written_version",
]


def redacted(sent: str, stored: str) -> dict[str, int]:
    """How many secrets were taken out of what a caller sent; no key where none was."""
    taken = placeholders(stored) - placeholders(sent)
    return {"redacted": taken} if taken > 0 else {}


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
    """An L0 row with its rank, and with its neighbours where they were asked for."""
    found = message(scope, hit.item) | _rank(hit)
    beside = hit.neighbours
    if beside is None:
        return found
    sides = {"before": beside.before, "after": beside.after}
    return found | {"neighbours": {side: [message(scope, item) for item in items] for side, items in sides.items()}}


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


def derivation(item: Derivation) -> dict[str, Any]:
    """What a run did to a version. `model` and `prompt` are null where rules did it."""
    prompt = item.prompt
    return {
        **_version(item.subject),
        "action": item.action,
        "at": to_iso(item.at),
        "run_id": item.run_id,
        "model": item.model or None,
        "mode": item.mode,
        "prompt": None
        if prompt is None
        else {"id": prompt.prompt_id, "version": f"v{prompt.version}", "source": prompt.source},
        "note": item.note,
        "notes": item.notes,
    }


def support(scope: Scope, item: Support) -> dict[str, Any]:
    """An L1 row that a document rests on, with the messages that it cites."""
    return memory(scope, item.memory) | {"messages": [message(scope, one) for one in item.messages]}


def restored_memory(scope: Scope, item: MemoryRecord) -> dict[str, Any]:
    """An L1 row that holds again."""
    return memory(scope, item) | {"version": f"v{item.version}"}


def memory_version(scope: Scope, item: MemoryVersion) -> dict[str, Any]:
    """An L1 row in its history."""
    row = item.memory
    return memory(scope, row) | {
        "version": f"v{row.version}",
        "live": row.valid_to is None,
        "proposal": item.proposal,
        "valid_from": to_iso(row.updated_at),
        "valid_to": None if row.valid_to is None else to_iso(row.valid_to),
        "superseded_by": None if item.superseded_by is None else _version(item.superseded_by),
        "message_ids": item.message_ids,
        "generation": [derivation(one) for one in item.derivations],
    }


def document_version(scope: Scope, item: DocumentVersion, content: str) -> dict[str, Any]:
    """An L2 or L3 document in its history."""
    row = item.document
    return {
        "path": row.path,
        "content": content,
        "summary": row.summary,
        "heat": row.heat,
        "origin": row.origin,
        **_dated(scope, row),
        "version": f"v{row.version}",
        "live": item.valid_to is None,
        "proposal": item.proposal,
        "valid_from": to_iso(row.updated_at),
        "valid_to": None if item.valid_to is None else to_iso(item.valid_to),
        "generation": [derivation(one) for one in item.derivations],
    }


def written_version(scope: Scope, item: Document) -> dict[str, Any]:
    """A version of a document that was just written."""
    return _dated(scope, item) | {"version": f"v{item.version}"}


def _version(item: VersionRef) -> dict[str, Any]:
    return {"id": item.name, "version": f"v{item.version}"}


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
