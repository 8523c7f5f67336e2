"""Turns on their way to the core: sent in order, again and again until they are there, however often anything stops.

A turn lies in the store before it is sent and stays there until the core has it. Its id goes along as the idempotency key, so
a turn whose receipt was lost is sent again and counts once. Turns of a session follow one another; sessions do not wait for
each other. What the core will never take is put aside with the reason, for the operator to see and to send again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeAlias

from memstrata.clock import Clock, Instant, milliseconds
from memstrata.errors import MemstrataError
from memstrata.records import ComponentHealth
from memstrata.records.proxy import Turn
from memstrata.store.protocol import Repositories, Store

__all__ = ["Deliver", "Outbox", "Refused", "wait_seconds"]

_LOG = logging.getLogger(__name__)
_FIRST_WAIT_SECONDS = 0.5
_LONGEST_WAIT_SECONDS = 600.0
_STORE_WAIT_SECONDS = 5.0
_AT_ONCE = 8


class Refused(Exception):
    """The core will not take a turn as it is, now or later. The message says why and holds nothing of the turn."""


Deliver: TypeAlias = Callable[[Turn], Awaitable[None]]
"""Writes a turn to the core, with `turn_id` as the idempotency key. Raises Refused; anything else means: later."""


def wait_seconds(attempts: int) -> float:
    """Return how long to wait after so many failed attempts: half a second, twice as long each time, ten minutes at most."""
    return min(_FIRST_WAIT_SECONDS * 2.0 ** min(attempts, 32), _LONGEST_WAIT_SECONDS)


class Outbox:
    """`run` sends until `stop`; `drain` then sends what is due. `idle_seconds` is when an open turn ends by itself."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        deliver: Deliver,
        *,
        idle_seconds: float = 600.0,
        timeout_seconds: float = 30.0,
    ) -> None:
        self._store = store
        self._clock = clock
        self._deliver = deliver
        self._idle = milliseconds(idle_seconds)
        self._timeout_seconds = timeout_seconds
        self._signal = asyncio.Event()
        self._stopped = False
        self._failure = ""
        self._store_failure = ""
        self.delivered = 0
        self.retried = 0
        self.parked = 0

    def wake(self) -> None:
        """Look again now: a turn is ready, or was opened."""
        self._signal.set()

    def stop(self) -> None:
        self._stopped = True
        self._signal.set()

    def health(self) -> ComponentHealth:
        counts = {"delivered": self.delivered, "retried": self.retried, "parked": self.parked}
        failure = self._store_failure or self._failure
        return ComponentHealth("reduced" if failure else "ok", failure, counts)

    async def run(self) -> None:
        """Send turns as they become due. A store that fails is asked again in a while."""
        while not self._stopped:
            self._signal.clear()
            try:
                until = await self._round()
                self._store_failure = ""
            except MemstrataError as error:
                self._store_failure = f"the store failed: {error}"
                _LOG.warning("the outbox could not be read: %s", error)
                until = self._clock.now() + milliseconds(_STORE_WAIT_SECONDS)
            if not self._stopped:
                await self._clock.wait(self._signal, until)

    async def drain(self, within_seconds: float) -> int:
        """Send what is due now, for as long as that; return how many turns still wait. They lie in the store."""
        try:
            async with asyncio.timeout(within_seconds):
                await self._send_due(to_the_end=True)
        except TimeoutError:
            _LOG.warning("the core took longer than %.1f s to take the last turns", within_seconds)
        counts = await self._store.read(lambda r: r.proxy.turns.counts())
        return counts.by_state.get("ready", 0)

    async def _round(self) -> Instant:
        """End idle turns, send what is due, and return when to look again."""
        now = self._clock.now()
        oldest = await self._store.read(lambda r: r.proxy.turns.oldest_open())
        if oldest is not None and oldest + self._idle <= now:
            await self._store.write(lambda r: r.proxy.turns.close_idle(now - self._idle + 1, now))
            oldest = await self._store.read(lambda r: r.proxy.turns.oldest_open())
        await self._send_due(to_the_end=False)
        due = await self._store.read(lambda r: r.proxy.turns.next_due())
        idle = (now if oldest is None else oldest) + self._idle  # none is idle sooner, whatever is opened meanwhile
        return idle if due is None else min(due, idle)

    async def _send_due(self, *, to_the_end: bool) -> None:
        while to_the_end or not self._stopped:
            turns = await self._store.read(partial(_due, self._clock.now()))
            if not turns:
                return
            done = await asyncio.gather(*(self._send(turn) for turn in turns), return_exceptions=True)
            for error in done:
                if error is not None:
                    raise error

    async def _send(self, turn: Turn) -> None:
        try:
            async with asyncio.timeout(self._timeout_seconds):
                await self._deliver(turn)
        except Refused as error:
            reason = str(error)
            _LOG.error("the core refuses turn %s: %s", turn.turn_id, reason)
            await self._store.write(lambda r: r.proxy.turns.park(turn.session, turn.turn_id, reason))
            self.parked += 1
            self._failure = f"the core refuses turns: {reason}"
        except Exception as error:  # noqa: BLE001 (whatever it is, the turn is still there; logged, counted and shown)
            wait = wait_seconds(turn.attempts)
            reason = type(error).__name__ if not isinstance(error, MemstrataError) else str(error)
            _LOG.warning("turn %s was not delivered (%s), again in %.1f s", turn.turn_id, reason, wait)
            due_at = self._clock.now() + milliseconds(wait)
            await self._store.write(lambda r: r.proxy.turns.retry(turn.session, turn.turn_id, due_at, reason))
            self.retried += 1
            self._failure = f"the core does not take turns: {reason}"
        else:
            await self._store.write(lambda r: r.proxy.turns.deliver(turn.session, turn.turn_id))
            self.delivered += 1
            self._failure = ""


def _due(now: Instant, r: Repositories) -> tuple[Turn, ...]:
    return r.proxy.turns.due(now, _AT_ONCE)
