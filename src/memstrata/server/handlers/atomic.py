"""`/atomic/*` and `/chat-memory/clear`: L1, what still holds. Source: wire contract §3.2, §4.1."""

from __future__ import annotations

from memstrata.clock import to_iso
from memstrata.server.call import Call, InstanceCall, some, window
from memstrata.server.envelope import Data
from memstrata.server.requests import (
    ClearRequest,
    MemoryCount,
    MemoryDelete,
    MemoryNamed,
    MemoryQuery,
    MemorySearch,
    MemoryUpdate,
)
from memstrata.server.shapes import found_memory, memory, redacted, restored_memory

__all__ = ["clear", "count", "delete", "query", "search", "undo", "update"]


async def query(call: Call[MemoryQuery]) -> Data:
    """Page through memories, last changed first."""
    since, until = window(call.request.time_start, call.request.time_end)
    page = await call.memory.memories(
        call.scope,
        type=call.request.type,
        task_id=call.task_id,
        since=since,
        until=until,
        limit=call.request.limit or 20,
        offset=call.request.offset or 0,
    )
    return {"items": [memory(call.scope, item) for item in page.items], "total": page.total}


async def search(call: Call[MemorySearch]) -> Data:
    """Find memories, best first."""
    since, until = window(call.request.time_start, call.request.time_end)
    found = await call.memory.search(
        call.scope,
        call.request.query,
        limit=call.request.limit or 5,
        type=call.request.type,
        task_id=call.task_id,
        since=since,
        until=until,
    )
    data = {"items": [found_memory(call.scope, hit) for hit in found.hits]}
    return data | {"degraded": found.degraded} if found.degraded else data


async def update(call: Call[MemoryUpdate]) -> Data:
    """Write a new version of a memory in a person's own words."""
    request = call.request
    changed = await call.memory.update_memory(call.scope, request.id, request.content, scene_name=request.background)
    data = {"id": changed.memory_id, "version": f"v{changed.version}", "updated_at": to_iso(changed.updated_at)}
    return data | redacted(request.content, changed.content)


async def undo(call: Call[MemoryNamed]) -> Data:
    """Take back the last change of a memory; answer with what holds again."""
    restored = await call.memory.undo(call.scope, call.request.id)
    return {"items": [restored_memory(call.scope, item) for item in restored], "total": len(restored)}


async def delete(call: Call[MemoryDelete]) -> Data:
    """Delete memories. Unknown and foreign ids are not an error; the count says what went."""
    ids = some(call.request.ids, "ids")
    deletion = await call.memory.delete_memories(call.scope, ids, task_id=call.task_id)
    return {"deleted_count": deletion.memories}


async def count(call: Call[MemoryCount]) -> Data:
    """Count what `query` would list."""
    since, until = window(call.request.time_start, call.request.time_end)
    total = await call.memory.count_memories(
        call.scope, type=call.request.type, task_id=call.task_id, since=since, until=until
    )
    return {"total": total}


async def clear(call: InstanceCall[ClearRequest]) -> Data:
    """Empty the whole memory of agents. All ids are checked before anything goes."""
    memory_ids = some(call.request.memory_ids, "memory_ids")
    if call.user_id is not None:
        await call.memory.directory.access.require_memories(call.instance, call.user_id, memory_ids)
    cleared = await call.memory.clear(call.instance, memory_ids)
    items = [
        {
            "memory_id": item.memory_id,
            "cleared": True,
            "l0_deleted": item.deletion.messages,
            "l1_deleted": item.deletion.memories,
            "profile_deleted": item.deletion.documents,
        }
        for item in cleared
    ]
    return {"items": items, "all_cleared": True}
