"""`/health` and `/metrics`: whether it works, and how much it does. Source: wire contract §7; DESIGN §4, invariant 11."""

from __future__ import annotations

from typing import Any

from memstrata import __version__
from memstrata.records import ComponentHealth, Health
from memstrata.server.envelope import Answer, json_answer

__all__ = ["health"]


def health(state: Health, *, with_details: bool) -> Answer:
    """Answer with the state of every component. Counts and sizes are for who may call the API."""
    components = {name: _component(part, with_details) for name, part in state.components.items()}
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
