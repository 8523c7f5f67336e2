"""Durable work: what to distill, when it is due, and who holds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from memstrata.clock import Instant
from memstrata.records.scope import Profile, Scope

__all__ = [
    "Job",
    "JobKind",
    "JobState",
    "Lease",
    "Poison",
    "ProfileTarget",
    "Retry",
    "RunOutcome",
    "RunRecord",
    "SessionTarget",
    "Target",
]

JobKind = Literal["l1", "l2", "l3"]
JobState = Literal["waiting", "running", "dead"]
RunOutcome = Literal["items", "nothing", "retry", "poison"]


@dataclass(frozen=True, slots=True)
class SessionTarget:
    """L1 works on one session; sessions never wait for each other."""

    key: int
    scope: Scope
    session_id: str


@dataclass(frozen=True, slots=True)
class ProfileTarget:
    """L2 and L3 work on one profile, never both at once."""

    key: int
    profile: Profile


Target = SessionTarget | ProfileTarget


@dataclass(frozen=True, slots=True)
class Retry:
    """It did not work this time; nothing moves. `after_seconds` is the least wait, None for the usual backoff."""

    reason: str
    after_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Poison:
    """This input will never work. It goes to the dead letters, visible and re-runnable."""

    reason: str


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to do a job until `expires_at`. Every write that the job makes checks `fence`."""

    job_id: int
    kind: JobKind
    target: Target
    fence: int
    attempt: int  # 1 for the first try
    expires_at: Instant


@dataclass(frozen=True, slots=True)
class Job:
    """A job as status shows it."""

    kind: JobKind
    target: Target
    state: JobState
    due_at: Instant
    attempts: int
    last_error: str


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What one run of a step did: the line that status, trace and the mirror show."""

    kind: JobKind
    outcome: RunOutcome
    from_seq: int  # first and last input row that was shown to the distiller
    to_seq: int
    written: int
    retired: int
    origin: str
    started_at: Instant
    finished_at: Instant
    error: str = ""
