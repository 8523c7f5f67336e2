"""Jobs are set from rows: whatever timer is lost can be set again (invariant 3)."""

from __future__ import annotations

from dataclasses import dataclass

from memstrata.clock import Clock, Instant
from memstrata.records import Profile, ProfileTarget, SessionTarget
from memstrata.schedule.policy import l1_due, l2_due, l3_reason
from memstrata.settings import PipelineSettings
from memstrata.store.protocol import Repositories

__all__ = ["Arming"]


@dataclass(frozen=True, slots=True)
class Arming:
    """Works for the store that put jobs in place."""

    settings: PipelineSettings
    clock: Clock

    def session(self, r: Repositories, target: SessionTarget) -> Instant | None:
        """Set L1 of a session for its waiting messages, and return when it is due. Runs in the write that stores them."""
        now = self.clock.now()
        due = l1_due(r.conversations.progress(target, self.settings.every_n), self.settings, now)
        if due is None:
            return None
        r.jobs.arm("l1", target, due.at)
        return due.at

    def profile(self, r: Repositories, profile: Profile) -> None:
        """Set L2 of a profile for its waiting memories; without any, L3 if it has a reason."""
        state = r.profiles.state(profile)
        if state is None:
            return
        now, target = self.clock.now(), r.profiles.ensure(profile)
        due = l2_due(state, self.settings, now)
        if due is not None:
            r.jobs.arm("l2", target, due.at, only_earlier=True)
        elif l3_reason(state, self.settings) is not None:
            r.jobs.arm("l3", target, now, only_earlier=True)

    def gap(self, r: Repositories, profile: Profile) -> None:
        """Set L2, or else L3, at once: what a deletion took along must not be missing for the usual interval."""
        state = r.profiles.state(profile)
        if state is None:
            return
        now, target = self.clock.now(), r.profiles.ensure(profile)
        if state.unconsumed:
            r.jobs.arm("l2", target, now, only_earlier=True)
        elif l3_reason(state, self.settings) is not None:
            r.jobs.arm("l3", target, now, only_earlier=True)

    def forgotten(self, r: Repositories) -> None:
        """Set every job that rows call for and that is missing: at the start, and now and then."""
        for target in r.jobs.forgotten():
            match target:
                case SessionTarget():
                    self.session(r, target)
                case ProfileTarget():
                    self.profile(r, target.profile)
