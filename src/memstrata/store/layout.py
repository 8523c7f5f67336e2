"""Where the readable mirror keeps what: names of files and folders, and the fields of their lines.

The field names of conversations and records are the article's; what we add has names of its own beside them. Instances
other than `default` have a folder each, because nothing is shared between instances.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from memstrata.clock import from_iso, to_iso
from memstrata.ids import file_name
from memstrata.records import Document, MemoryRecord, Message, Profile, Scope
from memstrata.store.shapes import MirroredMemory, MirroredProgress

__all__ = [
    "DEFAULT_INSTANCE",
    "PROGRESS_FILE",
    "conversation_line",
    "conversations_file",
    "instance_folder",
    "message_from_line",
    "profile_folder",
    "progress_line",
    "record_from_line",
    "record_line",
    "records_file",
    "scene_entry",
    "scene_file",
]

DEFAULT_INSTANCE = "default"
PROGRESS_FILE = PurePosixPath(".metadata/progress.jsonl")
_LONGEST_NAME = 240  # bytes; file systems take 255, and a file that is being written has a longer name


def instance_folder(instance: str) -> PurePosixPath:
    """Return the folder of an instance, relative to the data folder."""
    return PurePosixPath() if instance == DEFAULT_INSTANCE else PurePosixPath("instances") / file_name(instance)


def conversations_file(day: str) -> PurePosixPath:
    """Return the file of the messages recorded on a UTC day."""
    return PurePosixPath("conversations") / f"{day}.jsonl"


def records_file(day: str) -> PurePosixPath:
    """Return the file of the memory versions written on a UTC day."""
    return PurePosixPath("records") / f"{day}.jsonl"


def profile_folder(profile: Profile) -> PurePosixPath:
    """Return `profiles/<team>/<agent>`, with the user below it where profiles are kept per user."""
    folder = PurePosixPath("profiles") / file_name(profile.team) / file_name(profile.agent)
    return folder / "users" / file_name(profile.user) if profile.user else folder


def scene_file(path: str) -> str:
    """Return the file name of a scene inside `scene_blocks`; one with folders, or too long, becomes one safe name."""
    stem = path.removesuffix(".md")
    is_name = "/" not in path and stem == stem.strip(".") and stem and len(path.encode()) <= _LONGEST_NAME
    return path if is_name else f"{file_name(path)}.md"


def conversation_line(scope: Scope, message: Message) -> dict[str, Any]:
    """Return the line of a message."""
    return {
        "seq": message.seq,
        "instanceId": scope.instance,
        "teamId": scope.team,
        "agentId": scope.agent,
        "userId": scope.user,
        "sessionKey": message.session_id,
        "sessionId": message.session_id,
        "taskId": message.task_id,
        "id": message.message_id,
        "role": message.role,
        "content": message.content,
        "timestamp": to_iso(message.said_at),
        "recordedAt": to_iso(message.recorded_at),
    }


def message_from_line(line: Mapping[str, Any]) -> tuple[Scope, Message]:
    """Read a conversation line back. Raises KeyError or InvalidRequest if it is not one."""
    scope = Scope(line["instanceId"], line["teamId"], line["agentId"], line["userId"])
    return scope, Message(
        seq=line["seq"],
        message_id=line["id"],
        session_id=line["sessionId"],
        task_id=line["taskId"],
        role=line["role"],
        content=line["content"],
        said_at=from_iso(line["timestamp"]),
        recorded_at=from_iso(line["recordedAt"]),
    )


def record_line(mirrored: MirroredMemory) -> dict[str, Any]:
    """Return the line of a memory version."""
    m, scope = mirrored.memory, mirrored.scope
    times = {"activity_start_time": m.happened_from, "activity_end_time": m.happened_to}
    return {
        "seq": m.seq,
        "instanceId": scope.instance,
        "teamId": scope.team,
        "agentId": scope.agent,
        "userId": scope.user,
        "sessionKey": m.session_id,
        "sessionId": m.session_id,
        "taskId": m.task_id,
        "id": m.memory_id,
        "version": m.version,
        "type": m.type,
        "content": m.content,
        "priority": m.priority,
        "scene_name": m.scene_name,
        "source_message_ids": [one for _, one in mirrored.sources],
        "sourceSeqs": [seq for seq, _ in mirrored.sources],
        "metadata": {**m.metadata, **{name: to_iso(at) for name, at in times.items() if at is not None}},
        "timestamps": [to_iso(at) for at in (m.happened_from, m.happened_to) if at is not None]
        or [to_iso(m.created_at)],
        "createdAt": to_iso(m.created_at),
        "updatedAt": to_iso(m.updated_at),
        "appliesTo": m.applies_to,
        "slot": m.slot,
        "origin": m.origin,
        "supersedes": [{"id": one, "version": version} for one, version in mirrored.supersedes],
        **_end(m),
    }


def _end(memory: MemoryRecord) -> dict[str, Any]:
    """Return how a version ended that no later line tells of; one that a later version replaced is named there."""
    if memory.valid_to is None or (memory.superseded_by is not None and memory.superseded_by > memory.seq):
        return {}
    return {"retiredAt": to_iso(memory.valid_to), "supersededBy": memory.superseded_by}


def progress_line(progress: MirroredProgress) -> dict[str, Any]:
    """Return the line that says how far L1 is in a session; the last one of a session holds."""
    scope = progress.scope
    return {
        "instanceId": scope.instance,
        "teamId": scope.team,
        "agentId": scope.agent,
        "userId": scope.user,
        "sessionId": progress.session_id,
        "cursor": progress.cursor,
        "warmup": progress.warmup,
        "sceneName": progress.scene_name,
    }


def scene_entry(document: Document, memory_ids: tuple[str, ...]) -> dict[str, Any]:
    """Return the entry of a document in `.metadata/scene_index.json`."""
    return {
        "filename": document.path,
        "file": scene_file(document.path),
        "summary": document.summary,
        "heat": document.heat,
        "created": to_iso(document.created_at),
        "updated": to_iso(document.updated_at),
        "version": document.version,
        "origin": document.origin,
        "memory_ids": list(memory_ids),
    }


def record_from_line(line: Mapping[str, Any]) -> tuple[Scope, MemoryRecord]:
    """Read a record line back, live unless the line itself says otherwise. Raises KeyError or InvalidRequest if it is none."""
    metadata = dict(line["metadata"])
    start, end = metadata.pop("activity_start_time", None), metadata.pop("activity_end_time", None)
    scope = Scope(line["instanceId"], line["teamId"], line["agentId"], line["userId"])
    return scope, MemoryRecord(
        seq=line["seq"],
        memory_id=line["id"],
        version=line["version"],
        content=line["content"],
        type=line["type"],
        priority=line["priority"],
        scene_name=line["scene_name"],
        applies_to=line["appliesTo"],
        slot=line["slot"],
        session_id=line["sessionId"],
        task_id=line["taskId"],
        origin=line["origin"],
        happened_from=None if start is None else from_iso(start),
        happened_to=None if end is None else from_iso(end),
        metadata=metadata,
        created_at=from_iso(line["createdAt"]),
        updated_at=from_iso(line["updatedAt"]),
        valid_to=from_iso(line["retiredAt"]) if "retiredAt" in line else None,
        superseded_by=line.get("supersededBy"),
    )
