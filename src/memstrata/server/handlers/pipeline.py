"""`/pipeline/*`: what waits to be distilled, and making it happen now. Source: wire contract §7; the /v3 ones are ours."""

from __future__ import annotations

from typing import Any

from memstrata.clock import Instant, to_iso
from memstrata.records import BudgetState, Job, LayerStatus, PipelineStatus, SessionTarget
from memstrata.server.call import Call, InstanceCall
from memstrata.server.envelope import Data
from memstrata.server.requests import FlushRequest, Request, SpendingRequest

__all__ = ["flush", "load", "retry", "spending", "status"]

FLUSH_SECONDS = 30.0


async def status(call: Call[Request]) -> Data:
    """Answer with what waits in this scope, layer by layer, and how the last runs ended."""
    return _status(await call.memory.status(call.scope, session_id=call.session_id))


async def flush(call: Call[FlushRequest]) -> Data:
    """Distill what waits now; answer when it is done or the wait is over, with the state it left."""
    wait = FLUSH_SECONDS if call.request.wait_seconds is None else call.request.wait_seconds
    return _status(await call.memory.flush(call.scope, session_id=call.session_id, wait_seconds=wait))


async def retry(call: Call[Request]) -> Data:
    """Put this scope's dead letters back into the queue."""
    return {"retried": await call.memory.retry(call.scope)}


async def spending(call: Call[SpendingRequest]) -> Data:
    """Answer with what models cost this scope, by day and role."""
    days = call.request.days or 7
    lines = await call.memory.spending(call.scope, days=days)
    return {
        "items": [
            {
                "day": line.key.day,
                "role": line.key.role,
                "calls": line.usage.calls,
                "prompt_tokens": line.usage.prompt_tokens,
                "completion_tokens": line.usage.completion_tokens,
                "cached_tokens": line.usage.cached_tokens,
                "estimated": line.usage.estimated,
            }
            for line in lines
        ]
    }


async def load(call: InstanceCall[Request]) -> Data:
    """Answer with the load of an instance. Its lists stay empty: session ids are their own tenants' business."""
    layers = await call.memory.load(call.instance)
    return {
        kind: {
            "queued": layer.queued,
            "running": layer.running,
            "queued_sessions": (),
            "running_sessions": (),
            "idle": layer.queued == 0 and layer.running == 0,
            "dead": layer.dead,
        }
        for kind, layer in layers.items()
    }


def _status(state: PipelineStatus) -> Data:
    return {
        "layers": {kind: _layer(layer) for kind, layer in state.layers.items()},
        "jobs": [_job(job) for job in state.jobs],
        "idle": state.idle,
        "distiller": state.distiller,
        "budget": _budget(state.budget),
    }


def _budget(budget: BudgetState | None) -> dict[str, Any] | None:
    if budget is None:
        return None
    return {
        "used_tokens": budget.used_tokens,
        "limit_tokens": budget.limit_tokens,
        "spent": budget.spent,
        "resets_at": to_iso(budget.resets_at),
    }


def _layer(layer: LayerStatus) -> dict[str, Any]:
    return {
        "pending": layer.pending,
        "state": layer.state,
        "next_due_at": _time(layer.next_due_at),
        "last_run_at": _time(layer.last_run_at),
        "last_outcome": layer.last_outcome,
        "last_error": layer.last_error,
        "parked": layer.parked,
    }


def _job(job: Job) -> dict[str, Any]:
    shape: dict[str, Any] = {
        "kind": job.kind,
        "state": job.state,
        "due_at": to_iso(job.due_at),
        "attempts": job.attempts,
        "last_error": job.last_error,
    }
    if isinstance(job.target, SessionTarget):
        shape["session_id"] = job.target.session_id
    return shape


def _time(instant: Instant | None) -> str | None:
    return None if instant is None else to_iso(instant)
