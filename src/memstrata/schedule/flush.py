"""Distilling now instead of when it is due: one look at what is left, lowest layer first."""

from __future__ import annotations

from memstrata.clock import Instant
from memstrata.records import Job, JobKind, Profile, Scope, SessionTarget, Target
from memstrata.store.protocol import Repositories

__all__ = ["flush_step"]


def flush_step(r: Repositories, scope: Scope, profile: Profile, session_id: str | None, now: Instant) -> bool:
    """Make the next waiting work of the scope due; return whether something is left to wait for.

    L1 comes before L2 and L2 before L3, because each makes input for the next. Jobs that failed are left to their
    backoff and are waited for; dead letters are left alone.
    """
    jobs = {(job.kind, job.target.key): job for job in r.jobs.of(scope, profile)}
    sessions = {session.key: session for session in r.conversations.pending_sessions(scope, session_id)}
    for job in jobs.values():
        if isinstance(job.target, SessionTarget) and session_id in (None, job.target.session_id):
            sessions[job.target.key] = job.target  # also a job whose messages were deleted: it has only to end
    waited = [_hasten(r, "l1", session, jobs.get(("l1", session.key)), now) for session in sessions.values()]
    target, state = r.profiles.target(profile), r.profiles.state(profile)
    if any(waited) or target is None or state is None:
        return any(waited)
    layers: tuple[tuple[JobKind, bool], ...] = (
        ("l2", state.unconsumed > 0),
        ("l3", state.scenes > 0 and state.changed_scenes > 0),
    )
    for kind, waits in layers:
        job_of_layer = jobs.get((kind, target.key))
        if (waits or job_of_layer is not None) and _hasten(r, kind, target, job_of_layer, now):
            return True
    return False


def _hasten(r: Repositories, kind: JobKind, target: Target, job: Job | None, now: Instant) -> bool:
    """Make a job due unless it runs or waits out a failure; return whether it is to be waited for."""
    if job is None or (job.state == "waiting" and not job.last_error):
        r.jobs.arm(kind, target, now, only_earlier=True)
    elif job.state == "running":
        r.jobs.hurry(kind, target)  # nobody may be waiting when it ends
    return job is None or job.state != "dead"
