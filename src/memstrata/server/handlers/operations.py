"""`/health` and `/metrics`: whether it works, and how much it does. Source: wire contract §7; DESIGN §4, invariant 11."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memstrata import __version__
from memstrata.records import ComponentHealth
from memstrata.server.envelope import Answer, json_answer

if TYPE_CHECKING:
    from memstrata.memory import Memory

__all__ = ["health"]


async def health(memory: Memory, own: Mapping[str, ComponentHealth], *, with_details: bool) -> Answer:
    """Answer with the state of every component, the server's `own` too. Counts and sizes are for who may call the API."""
    state = await memory.health()
    components = {name: _component(part, with_details) for name, part in {**state.components, **own}.items()}
    return json_answer(
        200,
        {
            "status": state.status,
            "version": __version__,
            "uptime": int(state.uptime_seconds),
            "components": components,
        },
    )


def _component(part: ComponentHealth, with_details: bool) -> dict[str, Any]:
    shape: dict[str, Any] = {"state": part.state}
    if part.reason:
        shape["reason"] = part.reason
    if with_details and part.details:
        shape["details"] = dict(part.details)
    return shape
