"""What must be done now and then: set lost jobs again, let idempotency keys and records of failed runs expire."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from memstrata.clock import Clock, Instant, milliseconds
from memstrata.errors import MemstrataError
from memstrata.records import ComponentHealth
from memstrata.schedule.arming import Arming
from memstrata.store.protocol import Store

__all__ = ["Daily", "Housekeeping"]

_LOG = logging.getLogger(__name__)
_EVERY_SECONDS = 3_600
_DAY_SECONDS = 86_400
_FAILED_RUNS_DAYS = 90  # as far back as the generation log can be asked for


class Daily(Protocol):
    """Work of another room that is done once a day. `details` are for health."""

    async def run(self, now: Instant) -> object: ...
    def details(self) -> Mapping[str, int | str]: ...
    def stop(self) -> None:
        """End soon; what is left is done another time."""
        ...


class Housekeeping:
    """Runs until stopped; a failure is logged, shown in health, and tried again at the next round."""

    def __init__(
        self, store: Store, clock: Clock, arming: Arming, receipt_days: int, daily: Daily | None = None
    ) -> None:
        self._store = store
        self._clock = clock
        self._arming = arming
        self._receipt_days = receipt_days
        self._daily = daily
        self._daily_at: Instant | None = None
        self._due = clock.now() + milliseconds(_EVERY_SECONDS)
        self._stop = asyncio.Event()
        self._failure = ""

    def health(self) -> ComponentHealth:
        details = self._daily.details() if self._daily is not None else {}
        return ComponentHealth("reduced" if self._failure else "ok", self._failure, details)

    async def run(self) -> None:
        """Do everything every hour, the first time an hour after the start; the daily work at once.

        An hour counts from when work begins, so that work which takes long puts off nothing.
        """
        await self._attempt(self._today)
        while True:
            await self._clock.wait(self._stop, self._due)
            if self._stop.is_set():
                return
            self._due = self._clock.now() + milliseconds(_EVERY_SECONDS)
            await self._attempt(self._tidy)

    async def sweep(self) -> None:
        """Set every job that is missing. At the start: a store that cannot do this cannot work, so it raises."""
        await self._store.write(self._arming.forgotten)

    async def _tidy(self) -> None:
        now = self._clock.now()
        oldest_receipt = now - milliseconds(self._receipt_days * 86_400)
        oldest_failure = now - milliseconds(_FAILED_RUNS_DAYS * 86_400)
        await self.sweep()
        await self._store.write(lambda r: r.erasure.old_receipts(oldest_receipt))
        await self._store.write(lambda r: r.generations.prune(oldest_failure))
        await self._today()

    async def _today(self) -> None:
        """Do the daily work if a day is over since it was done."""
        now = self._clock.now()
        if self._daily is None or (self._daily_at is not None and now < self._daily_at + milliseconds(_DAY_SECONDS)):
            return
        await self._daily.run(now)
        self._daily_at = now

    async def _attempt(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
            self._failure = ""
        except MemstrataError as error:
            self._failure = str(error)
            _LOG.warning("housekeeping failed and will be tried again: %s", error)

    def stop(self) -> None:
        self._stop.set()
        if self._daily is not None:
            self._daily.stop()
