"""The policy as the distilling steps see it: one object that holds the settings."""

from __future__ import annotations

from dataclasses import dataclass

from memstrata.clock import Instant
from memstrata.schedule.policy import l1_due, l2_due, l3_reason, next_warmup
from memstrata.settings import PipelineSettings
from memstrata.store.shapes import ProfileState, SessionProgress

__all__ = ["PolicyPlanner"]


@dataclass(frozen=True, slots=True)
class PolicyPlanner:
    """Answers when the next job is due, by `schedule.policy`."""

    settings: PipelineSettings

    def next_l1(self, progress: SessionProgress, now: Instant) -> Instant | None:
        due = l1_due(progress, self.settings, now)
        return due.at if due else None

    def next_l2(self, state: ProfileState, now: Instant) -> Instant | None:
        due = l2_due(state, self.settings, now)
        return due.at if due else None

    def l3_reason(self, state: ProfileState) -> str | None:
        return l3_reason(state, self.settings)

    def warmed_up(self, warmup: int) -> int:
        return next_warmup(warmup, self.settings)
