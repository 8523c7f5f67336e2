"""What every distilling step is given, and the shape it has.

A step reads a snapshot, asks the distiller, checks the proposal, and commits output, progress, next job and its own end
in one transaction that first proves it still owns the job. When to run next is not its business: the planner is handed
in, because the scheduler and the distiller do not know each other.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from memstrata.clock import Clock, Instant
from memstrata.distill.protocol import Distiller
from memstrata.distill.validate import Rejected
from memstrata.records import JobKind, Layer, Lease, ProfileScope, RunRecord, Scope, SessionTarget, Target
from memstrata.records.audit import PIPELINE, Change
from memstrata.search import Finder
from memstrata.settings import PipelineSettings
from memstrata.store.protocol import Repositories, Store
from memstrata.store.shapes import ProfileState, SessionProgress

__all__ = ["Planner", "StepContext", "log_rejected", "name_of_user", "record_run"]

_LOG = logging.getLogger(__name__)


class Planner(Protocol):
    """Says when the next job is due. Pure; implemented by the scheduling policy."""

    def next_l1(self, progress: SessionProgress, now: Instant) -> Instant | None: ...
    def next_l2(self, state: ProfileState, now: Instant) -> Instant | None: ...
    def l3_reason(self, state: ProfileState) -> str | None: ...
    def warmed_up(self, warmup: int) -> int: ...


_NOUNS: Mapping[Layer, str] = {"l1": "memory", "l2": "scene", "l3": "persona"}
_NAME = re.compile(r"[^\W\d_]+(?:[ '’·.-][^\W\d_]+){0,4}")


def name_of_user(scope: Scope) -> str:
    """Return how the user is called: the id where it is a name, empty where it is a key or nobody's in particular."""
    return scope.user if scope.user != "default" and len(scope.user) <= 60 and _NAME.fullmatch(scope.user) else ""


@dataclass(frozen=True, slots=True)
class StepContext:
    """The surroundings of a step."""

    store: Store
    finder: Finder
    distiller: Distiller
    planner: Planner
    clock: Clock
    settings: PipelineSettings
    terms: Callable[[str], tuple[str, ...]]
    user_name: Callable[[Scope], str] = name_of_user

    @property
    def profile_scope(self) -> ProfileScope:
        return self.settings.profile_scope


def record_run(r: Repositories, target: Target, run: RunRecord) -> None:
    """Keep a run that committed, with a line of the audit trail for each row that it wrote or touched."""
    r.jobs.record(target, run)
    owner = target.scope if isinstance(target, SessionTarget) else target.profile
    for layer, noun in _NOUNS.items():
        outputs = [one for one in run.outputs if one.layer == layer]
        seqs = {seq for one in outputs for seq in (one.seq, *one.replaced)}
        names = r.generations.names(owner.instance, layer, seqs)
        called = {seq: (name.record_id, name.version) for seq, name in names.items()}
        for one in outputs:
            ids = {noun: [called[one.seq]], "replaced": [called[seq] for seq in one.replaced]}
            change = Change.of(owner, f"{noun}.{one.action}", ids, {"inputs": len(one.inputs)})
            r.audit.append(change.entry(PIPELINE, run.finished_at))


def log_rejected(kind: JobKind, lease: Lease, rejected: Sequence[Rejected]) -> None:
    """Report proposals that did not pass. Reasons and places only: contents never go to logs."""
    for one in rejected:
        _LOG.info("%s job %d: %s not stored: %s", kind, lease.job_id, one.subject or "proposal", one.reason)
