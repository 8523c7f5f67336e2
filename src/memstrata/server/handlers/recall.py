"""`/v3/recall`: what belongs into the next prompt, of all layers at once. Ours, beyond the contract."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

from memstrata.recall import Leg
from memstrata.records import BorrowedMemory, Scope
from memstrata.server.call import Call
from memstrata.server.envelope import Data
from memstrata.server.requests import RecallRequest
from memstrata.server.shapes import document, found_memory, scene_entry

__all__ = ["recall"]


async def recall(call: Call[RecallRequest]) -> Data:
    """Answer with what belongs into the next prompt. What `include` does not name is neither looked up nor sent."""
    request, scope = call.request, call.scope
    wanted = frozenset(get_args(Leg) if request.include is None else request.include)
    found = await call.memory.recall(
        scope,
        request.query,
        limit=request.limit,
        budget_ms=request.budget_ms,
        max_tokens=request.max_tokens,
        task_id=call.task_id,
        include=wanted,
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
    if found.borrowed:
        data["borrowed"] = [_borrowed(scope, one) for one in found.borrowed]
    return data


def _borrowed(scope: Scope, item: BorrowedMemory) -> dict[str, Any]:
    """What came of another agent's memory; every row names that agent."""
    theirs = replace(scope, team=item.lender.team, agent=item.lender.agent)
    persona = item.persona
    return {
        "team_id": theirs.team,
        "agent_id": theirs.agent,
        "agent_name": item.lender.name,
        "items": [found_memory(theirs, hit) for hit in item.hits],
        "persona": None if persona is None else document(theirs, persona, persona.body),
        "scenes": [scene_entry(theirs, one) for one in item.scenes],
    }
