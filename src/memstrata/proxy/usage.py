"""What requests cost, by user, model and day: kept in memory for a second and then written in one go.

The provider's own numbers, read beside the way to the client. A kill loses at most that second of numbers, never a turn.
"""

from __future__ import annotations

import asyncio
import logging

from memstrata.clock import Clock, day_of, milliseconds
from memstrata.errors import MemstrataError
from memstrata.proxy.wire.request import Usage
from memstrata.records.proxy import ProxyTokens
from memstrata.store.protocol import Repositories, Store

__all__ = ["UsageBook"]

_log = logging.getLogger(__name__)

_PAUSE_SECONDS = 1.0
_MOST_MODEL_CHARACTERS = 200

Line = tuple[str, str, str, str]


class UsageBook:
    """Sums of tokens on their way to the store. `run` writes them until it is cancelled; `flush` writes what is left."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._waiting: dict[Line, ProxyTokens] = {}
        self._noted = asyncio.Event()
        self.totals = ProxyTokens()
        self.failures = 0

    def note(self, instance: str, user: str, model: str, usage: Usage) -> None:
        """Add one answered request."""
        one = ProxyTokens(1, usage.input, usage.output, usage.cache_read, usage.cache_write)
        line = (instance, user, model[:_MOST_MODEL_CHARACTERS], day_of(self._clock.now()))
        self._waiting[line] = self._waiting.get(line, ProxyTokens()) + one
        self.totals += one
        self._noted.set()

    async def run(self) -> None:
        """Write what was noted, once a second at most."""
        never = asyncio.Event()
        while True:
            await self._noted.wait()
            await self._clock.wait(never, self._clock.now() + milliseconds(_PAUSE_SECONDS))
            await self.flush()

    async def flush(self) -> None:
        """Write what waits. Where the store fails it goes on waiting, and the failure is counted."""
        self._noted.clear()
        lines, self._waiting = self._waiting, {}
        if not lines:
            return

        def work(r: Repositories) -> None:
            for (instance, user, model, day), tokens in lines.items():
                r.proxy.usage.add(instance, user, model, day, tokens)

        try:
            await self._store.write(work)
        except MemstrataError as error:
            self.failures += 1
            _log.warning("usage could not be written, it waits: %s", error)
            for line, tokens in lines.items():
                self._waiting[line] = self._waiting.get(line, ProxyTokens()) + tokens
