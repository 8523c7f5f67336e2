"""What must be done now and then: set lost jobs again, let idempotency keys and records of failed runs expire."""

from __future__ import annotations

import asyncio
import logging

from memstrata.clock import Clock, milliseconds
from memstrata.errors import MemstrataError
from memstrata.records import ComponentHealth
from memstrata.schedule.arming import Arming
from memstrata.store.protocol import Store

__all__ = ["Housekeeping"]

_LOG = logging.getLogger(__name__)
_EVERY_SECONDS = 3_600
_FAILED_RUNS_DAYS = 90  # as far back as the generation log can be asked for


class Housekeeping:
    """Runs until stopped; a failure is logged, shown in health, and tried again at the next round."""

    def __init__(self, store: Store, clock: Clock, arming: Arming, receipt_days: int) -> None:
        self._store = store
        self._clock = clock
        self._arming = arming
        self._receipt_days = receipt_days
        self._stop = asyncio.Event()
        self._failure = ""

    def health(self) -> ComponentHealth:
        return ComponentHealth("reduced", self._failure) if self._failure else ComponentHealth("ok")

    async def run(self) -> None:
        """Do everything every hour; the first time an hour from now."""
        while True:
            await self._clock.wait(self._stop, self._clock.now() + milliseconds(_EVERY_SECONDS))
            if self._stop.is_set():
                return
            await self._tidy()

    async def sweep(self) -> None:
        """Set every job that is missing. At the start: a store that cannot do this cannot work, so it raises."""
        await self._store.write(self._arming.forgotten)

    async def _tidy(self) -> None:
        now = self._clock.now()
        oldest_receipt = now - milliseconds(self._receipt_days * 86_400)
        oldest_failure = now - milliseconds(_FAILED_RUNS_DAYS * 86_400)
        try:
            await self.sweep()
            await self._store.write(lambda r: r.erasure.old_receipts(oldest_receipt))
            await self._store.write(lambda r: r.generations.prune(oldest_failure))
            self._failure = ""
        except MemstrataError as error:
            self._failure = str(error)
            _LOG.warning("housekeeping failed and will be tried again: %s", error)

    def stop(self) -> None:
        self._stop.set()
