"""What waits in a scope, read from its rows and jobs."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

from memstrata.records import Job, JobKind, LayerStatus, PipelineStatus, Profile, Scope, SessionTarget
from memstrata.store.protocol import Repositories

__all__ = ["layer_statuses"]


def layer_statuses(
    r: Repositories, scope: Scope, profile: Profile, session_id: str | None, distiller: str
) -> PipelineStatus:
    """Return the state of each layer; `session_id` narrows L1 to one session."""
    jobs = tuple(job for job in r.jobs.of(scope, profile) if _concerns(job, session_id))
    state = r.profiles.state(profile)
    pending: dict[JobKind, int] = {
        "l1": r.conversations.pending_count(scope, session_id),
        "l2": state.unconsumed if state else 0,
        "l3": state.memories_since_portrait if state else 0,
    }
    layers = {kind: _layer(r, scope, profile, kind, pending[kind], jobs) for kind in get_args(JobKind)}
    layers["l1"] = _with_parked(r, scope, session_id, layers["l1"])
    # New memories alone do not make L3 busy: it waits for its triggers, and may wait for ever.
    idle = not jobs and pending["l1"] == 0 and pending["l2"] == 0
    return PipelineStatus(layers, jobs, idle, distiller)


def _concerns(job: Job, session_id: str | None) -> bool:
    return session_id is None or not isinstance(job.target, SessionTarget) or job.target.session_id == session_id


def _layer(
    r: Repositories, scope: Scope, profile: Profile, kind: JobKind, pending: int, jobs: tuple[Job, ...]
) -> LayerStatus:
    its = [job for job in jobs if job.kind == kind]
    states = {job.state for job in its}
    waiting = [job.due_at for job in its if job.state == "waiting"]
    run = r.jobs.last_run(kind, scope, profile)
    errors = [job.last_error for job in its if job.last_error]
    return LayerStatus(
        pending=pending,
        state="running" if "running" in states else "waiting" if waiting else "dead" if states else "idle",
        next_due_at=min(waiting, default=None),
        last_run_at=run.finished_at if run else None,
        last_outcome=run.outcome if run else "",
        last_error=errors[0] if errors else "",
    )


def _with_parked(r: Repositories, scope: Scope, session_id: str | None, layer: LayerStatus) -> LayerStatus:
    """Return the layer with what was put aside; why, if nothing else is wrong."""
    parked = r.conversations.parked_count(scope, session_id)
    if not parked or layer.last_error:
        return replace(layer, parked=parked)
    return replace(layer, parked=parked, last_error=f"parked: {r.conversations.parked_reason(scope, session_id)}")
