"""`/v3/recall` and `/v3/trace`: all layers at once, and why a memory exists. Ours, beyond the contract."""

from __future__ import annotations

from typing import Any, get_args

from memstrata.recall import Leg
from memstrata.server.call import Call
from memstrata.server.envelope import Data
from memstrata.server.requests import RecallRequest, TraceRequest
from memstrata.server.shapes import document, found_memory, memory, message, scene_entry

__all__ = ["recall", "trace"]


async def recall(call: Call[RecallRequest]) -> Data:
    """Answer with what belongs into the next prompt. What `include` does not name is neither looked up nor sent."""
    request, scope = call.request, call.scope
    wanted = frozenset(get_args(Leg) if request.include is None else request.include)
    found = await call.memory.recall(
        scope, request.query, limit=request.limit, budget_ms=request.budget_ms, task_id=call.task_id, include=wanted
    )
    data: dict[str, Any] = {
        "prepend_context": found.prepend_context,
        "append_system_context": found.append_system_context,
        "degraded": found.degraded,
        "elapsed_ms": found.elapsed_ms,
    }
    if "memories" in wanted:
        data["items"] = [found_memory(scope, hit) for hit in found.hits]
    if "persona" in wanted:
        data["persona"] = None if found.persona is None else document(scope, found.persona, found.persona.body)
    if "scenes" in wanted:
        data["scenes"] = [scene_entry(scope, item) for item in found.scenes]
    return data


async def trace(call: Call[TraceRequest]) -> Data:
    """Answer with the chain of evidence of one memory: cited messages, replaced versions, and what was built on it."""
    scope = call.scope
    evidence = await call.memory.trace(scope, call.request.id)
    persona = evidence.persona
    return {
        "memory": memory(scope, evidence.memory),
        "messages": [message(scope, item) for item in evidence.messages],
        "replaced": [memory(scope, item) for item in evidence.replaced],
        "scenes": [scene_entry(scope, item) for item in evidence.scenes],
        "persona": None if persona is None else document(scope, persona, persona.body),
    }
