"""How long a call may take with all its tries and pauses, as a moment that it is over."""

from __future__ import annotations

import time
from dataclasses import dataclass

__all__ = ["Deadline"]

_LEAST_SECONDS = 0.001  # 0 would mean no timeout to some


@dataclass(frozen=True, slots=True)
class Deadline:
    """`ends_at` is of the monotonic clock; None where each try has the client's own timeout and no more is said."""

    ends_at: float | None

    @classmethod
    def after(cls, seconds: float | Deadline | None) -> Deadline:
        """Return when so many seconds from now are over; of a deadline itself. Raises ValueError unless above 0."""
        if isinstance(seconds, Deadline):
            return seconds
        if seconds is None:
            return cls(None)
        if not seconds > 0:
            raise ValueError(f"timeout is a number of seconds above 0, got {seconds!r}")
        return cls(time.monotonic() + seconds)

    def left(self) -> float | None:
        """Return how many seconds are left, next to nothing when it is over, None without a deadline."""
        return None if self.ends_at is None else max(_LEAST_SECONDS, self.ends_at - time.monotonic())
