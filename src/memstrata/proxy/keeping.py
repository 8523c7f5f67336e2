"""How long sessions are kept: thirty days after they were last used, then they go whole, never in part.

A session that lost a part of what it holds would send another prefix than before. One that is used again after that begins
anew.
"""

from __future__ import annotations

import asyncio
import logging

from memstrata.clock import Clock, milliseconds
from memstrata.errors import MemstrataError
from memstrata.records import ComponentHealth
from memstrata.store.protocol import Store

__all__ = ["Keeping"]

_LOG = logging.getLogger(__name__)
_EVERY_SECONDS = 3_600
_AT_ONCE = 200


class Keeping:
    """Removes idle sessions every hour until stopped; a failure is logged, shown in health, and tried again."""

    def __init__(self, store: Store, clock: Clock, *, days: int = 30) -> None:
        self._store = store
        self._clock = clock
        self._kept = milliseconds(days * 86_400)
        self._stop = asyncio.Event()
        self._failure = ""
        self.removed = 0

    def health(self) -> ComponentHealth:
        return ComponentHealth("reduced" if self._failure else "ok", self._failure, {"removed": self.removed})

    def stop(self) -> None:
        self._stop.set()

    async def run(self) -> None:
        while not self._stop.is_set():
            try:
                await self.sweep()
                self._failure = ""
            except MemstrataError as error:
                self._failure = str(error)
                _LOG.warning("idle sessions were not removed and will be later: %s", error)
            await self._clock.wait(self._stop, self._clock.now() + milliseconds(_EVERY_SECONDS))

    async def sweep(self) -> int:
        """Remove what nobody has used for so long; return how many sessions that was."""
        before = self._clock.now() - self._kept
        gone = 0
        while removed := await self._store.write(lambda r: r.proxy.sessions.sweep(before, _AT_ONCE)):
            gone += removed
        self.removed += gone
        return gone
