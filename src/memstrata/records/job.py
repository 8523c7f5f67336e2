"""Durable work: what to distill, when it is due, and who holds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from memstrata.clock import Instant
from memstrata.records.generation import NO_PROVENANCE, Provenance, RunOutput
from memstrata.records.scope import Profile, Scope

__all__ = [
    "Deferred",
    "Divisible",
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
    provenance: Provenance = NO_PROVENANCE


@dataclass(frozen=True, slots=True)
class Deferred(Retry):
    """A retry for which the input is not to blame (key, budget, rate limit, network): it never leads to burial."""


@dataclass(frozen=True, slots=True)
class Poison:
    """This input will never work. It goes to the dead letters, visible and re-runnable."""

    reason: str
    provenance: Provenance = NO_PROVENANCE


@dataclass(frozen=True, slots=True)
class Divisible(Poison):
    """This input never works whole; halves of it may. Who cannot divide it treats it as the poison it is."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to do a job until `expires_at`. Every write that the job makes checks `fence`."""

    job_id: int
    kind: JobKind
    target: Target
    fence: int
    attempt: int  # 1 for the first try; tries that were put off for no fault of the input do not count
    expires_at: Instant
    deferrals: int = 0  # how often it was put off in a row


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
    error: str = ""  # "code: what happened" of a failed one
    provenance: Provenance = NO_PROVENANCE
    outputs: tuple[RunOutput, ...] = ()
