"""Distilling now instead of when it is due: one look at what is left, lowest layer first."""

from __future__ import annotations

from memstrata.clock import Instant
from memstrata.records import JobKind, Profile, Scope
from memstrata.store.protocol import Repositories

__all__ = ["flush_step"]


def flush_step(r: Repositories, scope: Scope, profile: Profile, session_id: str | None, now: Instant) -> bool:
    """Make the next waiting work of the scope due; return whether something is left to wait for.

    L1 comes before L2 and L2 before L3, because each makes input for the next. Jobs that failed are left to their
    backoff and are waited for; dead letters are left alone.
    """
    jobs = {(job.kind, job.target.key): job for job in r.jobs.of(scope, profile)}
    left = False
    for session in r.conversations.pending_sessions(scope, session_id):
        job = jobs.get(("l1", session.key))
        if job is None or (job.state == "waiting" and not job.last_error):
            r.jobs.arm("l1", session, now, only_earlier=True)
        left = left or job is None or job.state != "dead"
    target, state = r.profiles.target(profile), r.profiles.state(profile)
    if left or target is None or state is None:
        return left
    layers: tuple[tuple[JobKind, bool], ...] = (
        ("l2", state.unconsumed > 0),
        ("l3", state.scenes > 0 and state.changed_scenes > 0),
    )
    for kind, waits in layers:
        job = jobs.get((kind, target.key))
        if job is not None and (job.state == "running" or (job.state == "waiting" and job.last_error)):
            return True
        if waits and (job is None or job.state != "dead"):
            r.jobs.arm(kind, target, now, only_earlier=True)
            return True
    return False
