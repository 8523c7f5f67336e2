"""`/v3/trace` and the histories: why something is remembered, and what was there before. Ours, beyond the contract."""

from __future__ import annotations

from memstrata.distill.scenes.meta import render_scene
from memstrata.distill.scenes.names import check_path
from memstrata.errors import InvalidRequest
from memstrata.server.call import Call
from memstrata.server.envelope import Data
from memstrata.server.requests import MemoryNamed, Request, ScenePath, TraceRequest
from memstrata.server.shapes import (
    derivation,
    document,
    document_version,
    memory,
    memory_version,
    message,
    scene_entry,
    support,
)

__all__ = ["core_history", "memory_history", "scene_history", "trace"]


async def trace(call: Call[TraceRequest]) -> Data:
    """Answer with the chain of evidence of a memory, a scene or the persona, down to the messages."""
    request = call.request
    memory_id = request.id if request.memory_id is None else request.memory_id
    named = [part for part in (memory_id, request.path, request.persona or None) if part is not None]
    if len(named) != 1 or (request.id is not None and request.memory_id is not None):
        raise InvalidRequest("expected exactly one of id, path, persona: true", field="(root)")
    if request.line is not None and not request.persona:
        raise InvalidRequest("only the persona is traced by line", field="line")
    if memory_id is not None:
        return await _of_memory(call, memory_id)
    if request.path is not None:
        return await _of_scene(call, check_path(request.path))
    return await _of_persona(call, request.line or "")


async def memory_history(call: Call[MemoryNamed]) -> Data:
    """List every version of a memory, newest first."""
    versions = await call.memory.history(call.scope, call.request.id)
    return {"items": [memory_version(call.scope, item) for item in versions], "total": len(versions)}


async def scene_history(call: Call[ScenePath]) -> Data:
    """List every version of a scene, newest first."""
    versions = await call.memory.scene_history(call.scope, check_path(call.request.path))
    items = [document_version(call.scope, item, render_scene(item.document)) for item in versions]
    return {"items": items, "total": len(items)}


async def core_history(call: Call[Request]) -> Data:
    """List every version of the persona, newest first."""
    versions = await call.memory.persona_history(call.scope)
    items = [document_version(call.scope, item, item.document.body) for item in versions]
    return {"items": items, "total": len(items)}


async def _of_memory(call: Call[TraceRequest], memory_id: str) -> Data:
    scope = call.scope
    evidence = await call.memory.trace(scope, memory_id)
    persona = evidence.persona
    return {
        "memory": memory(scope, evidence.memory),
        "messages": [message(scope, item) for item in evidence.messages],
        "replaced": [memory(scope, item) for item in evidence.replaced],
        "scenes": [scene_entry(scope, item) for item in evidence.scenes],
        "persona": None if persona is None else document(scope, persona, persona.body),
        "generation": [derivation(item) for item in evidence.derivations],
    }


async def _of_scene(call: Call[TraceRequest], path: str) -> Data:
    scope = call.scope
    evidence = await call.memory.trace_scene(scope, path)
    return {
        "scene": scene_entry(scope, evidence.scene),
        "memories": [support(scope, item) for item in evidence.supports],
        "generation": [derivation(item) for item in evidence.derivations],
    }


async def _of_persona(call: Call[TraceRequest], line: str) -> Data:
    scope = call.scope
    evidence = await call.memory.trace_persona(scope, line)
    return {
        "persona": document(scope, evidence.persona, evidence.persona.body),
        "line": evidence.line,
        "scenes": [scene_entry(scope, item) for item in evidence.scenes],
        "memories": [support(scope, item) for item in evidence.supports],
        "generation": [derivation(item) for item in evidence.derivations],
    }
