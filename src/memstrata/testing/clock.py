"""A clock that stands still until it is moved."""

from __future__ import annotations

import asyncio

from memstrata.clock import Instant, milliseconds

__all__ = ["FakeClock"]

MONDAY: Instant = 1_767_603_600_000  # 2026-01-05T09:00:00Z


class FakeClock:
    """Implements `memstrata.clock.Clock`; `advance` moves time and wakes whoever waited for it."""

    def __init__(self, now: Instant = MONDAY) -> None:
        self._now = now
        self._moved = asyncio.Event()

    def now(self) -> Instant:
        return self._now

    async def wait(self, signal: asyncio.Event, until: Instant | None) -> None:
        while not signal.is_set() and (until is None or self._now < until):
            moved = self._moved
            waits = [asyncio.ensure_future(signal.wait()), asyncio.ensure_future(moved.wait())]
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for one in waits:
                    one.cancel()

    def advance(self, seconds: float) -> None:
        """Let that much time pass at once."""
        self._now += milliseconds(seconds)
        self._moved.set()
        self._moved = asyncio.Event()
