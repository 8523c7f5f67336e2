"""When an endpoint that keeps failing is left alone: a state machine without clock and I/O.

closed → (`threshold` failures in a row) → open → (after `cooldown_ms`) → half-open: one probe → closed, or open again
for twice as long. A rate limit is no failure: it says exactly when to come back (user needs A35).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from memstrata.clock import Instant

__all__ = ["Breaker", "BreakerState"]

BreakerState = Literal["closed", "open", "half_open"]


@dataclass(frozen=True, slots=True)
class Breaker:
    """One endpoint's record. Every transition returns a new value."""

    threshold: int = 5
    first_cooldown_ms: int = 15_000
    longest_cooldown_ms: int = 600_000
    failures: int = 0  # in a row
    cooldown_ms: int = 0
    open_until: Instant | None = None
    probing: bool = False

    def state(self, now: Instant) -> BreakerState:
        if self.open_until is None:
            return "closed"
        return "half_open" if now >= self.open_until else "open"

    def wait_ms(self, now: Instant) -> int | None:
        """Return None if a call may be sent, else after how many milliseconds to ask again."""
        if self.open_until is None:
            return None
        if now < self.open_until:
            return self.open_until - now
        return self.first_cooldown_ms if self.probing else None

    def sent(self, now: Instant) -> Breaker:
        """A call that `wait_ms` admitted goes out; in half-open it is the probe."""
        return self if self.state(now) == "closed" else replace(self, probing=True)

    def answered(self) -> Breaker:
        """The endpoint works, whatever it said."""
        return replace(self, failures=0, cooldown_ms=0, open_until=None, probing=False)

    def failed(self, now: Instant) -> Breaker:
        """A call failed. Calls that were under way when it opened do not make it stay open longer."""
        failures = self.failures + 1
        if self.open_until is not None and not self.probing:
            return replace(self, failures=failures)
        if failures < self.threshold and not self.probing:
            return replace(self, failures=failures)
        cooldown = min(max(self.first_cooldown_ms, 2 * self.cooldown_ms), self.longest_cooldown_ms)
        return replace(self, failures=failures, cooldown_ms=cooldown, open_until=now + cooldown, probing=False)

    def abandoned(self) -> Breaker:
        """A call was cancelled, so it says nothing; the next one is the probe."""
        return replace(self, probing=False)
