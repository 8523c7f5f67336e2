"""Sends what was captured, in the background, until the server has it.

Parcels go out in the order in which they were captured. A server that is away is tried again, after pauses that double;
a parcel that it refuses for good steps aside, so that it does not hold up what comes behind it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from memstrata.client._errors import Conflict, Forbidden, InvalidRequest, NotFound, Unauthorized, Unavailable
from memstrata.client.turn.batches import Batch
from memstrata.client.turn.journal import Journal
from memstrata.client.turn.parcel import Address, Parcel
from memstrata.client.turn.status import Counts

__all__ = ["Delivery", "Send"]

_log = logging.getLogger(__name__)

FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 60.0
MAX_WAITING = 1_000

Send: TypeAlias = Callable[[Address, Batch], Awaitable[object]]


class Delivery:
    """The queue of one recorder and the task that empties it. Lives in one event loop at a time."""

    def __init__(self, send: Send, journal: Journal, counts: Counts) -> None:
        self._send = send
        self._journal = journal
        self._counts = counts
        self._waiting: dict[str, Parcel] = {}
        self._durable: set[str] = set()
        self._settled: OrderedDict[str, None] = OrderedDict()  # what the store may still hold because it failed
        self._worker: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wake = asyncio.Event()
        self._swept = False

    @property
    def waiting(self) -> int:
        """How many parcels of this process the server does not have yet."""
        return len(self._waiting)

    def hand_over(self, parcel: Parcel, *, durable: bool) -> None:
        """Queue a parcel. `durable`: the store has it too. Past 1,000 the oldest goes, to the store or for good."""
        self._waiting[parcel.name] = parcel
        if durable:
            self._durable.add(parcel.name)
        if len(self._waiting) > MAX_WAITING:
            oldest = next(iter(self._waiting))
            self._forget(oldest, lost=oldest not in self._durable)
            self._swept = False
        self.start()

    def start(self) -> None:
        """See to it that the task runs, and tries at once."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._worker, self._wake = loop, None, asyncio.Event()
        self._wake.set()
        if self._worker is None or self._worker.done():
            self._worker = loop.create_task(self._work(), name="memstrata-turn-delivery")

    async def drain(self, seconds: float) -> int:
        """Wait until the server has everything or the time is over; return how many parcels still wait."""
        self.start()
        if self._worker is not None:
            await asyncio.wait({self._worker}, timeout=seconds)
        return self.waiting

    async def stop(self) -> None:
        """End the task. What waits stays in the store."""
        worker, self._worker = self._worker, None
        if worker is not None and self._loop is asyncio.get_running_loop():
            worker.cancel()
            await asyncio.gather(worker, return_exceptions=True)

    async def _work(self) -> None:
        pause = FIRST_PAUSE_SECONDS
        while True:
            self._wake.clear()
            await self._sweep()
            if await self._deliver_all():
                if self._swept:
                    return
                continue
            try:
                async with asyncio.timeout(pause):
                    await self._wake.wait()
            except TimeoutError:
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    async def _sweep(self) -> None:
        """Take up what an earlier process left, once, and again after parcels had to go to the store alone."""
        if self._swept:
            return
        found, more = await self._journal.parked()
        new = {one.name: one for one in found if one.name not in self._waiting and one.name not in self._settled}
        self._swept = not (more and new)
        self._durable.update(new)
        self._waiting = {**new, **self._waiting}

    async def _deliver_all(self) -> bool:
        """Try each parcel once, those too that come meanwhile; return whether nothing waits any more."""
        tried: set[str] = set()
        while True:
            parcel = next((one for name, one in self._waiting.items() if name not in tried), None)
            if parcel is None:
                return not self._waiting
            tried.add(parcel.name)
            if not await self._deliver(parcel):
                return False

    async def _deliver(self, parcel: Parcel) -> bool:
        """Send one parcel; return whether it makes sense to go on with the next."""
        try:
            for batch in parcel.batches:
                await self._send(parcel.address, batch)
        except (InvalidRequest, Conflict, NotFound) as error:
            self._failed(error)
            _log.error("the server refused turn %s for good: %s", parcel.turn_id, type(error).__name__)
            self._counts.rejected += 1
            await self._journal.reject(parcel)
            self._forget(parcel.name, settled=True)
            return True
        except (Unavailable, Unauthorized, Forbidden) as error:
            self._failed(error)
            return False
        except Exception as error:  # noqa: BLE001 - the parcel stays, and what went wrong is in the status
            self._failed(error)
            return True
        self._counts.delivered += 1
        wait = self._journal.wait()
        if parcel.name in self._durable:
            await self._journal.unpark(parcel, wait)
        else:
            await self._journal.finish(parcel.thread, parcel.turn_id, wait)
        self._forget(parcel.name, settled=True)
        return True

    def _forget(self, name: str, *, settled: bool = False, lost: bool = False) -> None:
        self._waiting.pop(name, None)
        self._durable.discard(name)
        if settled:
            self._settled[name] = None
            if len(self._settled) > MAX_WAITING:
                self._settled.popitem(last=False)
        if lost:
            self._counts.lost += 1
            _log.error("a captured turn is lost: too many wait for the server and no store took it")

    def _failed(self, error: Exception) -> None:
        self._counts.failed_deliveries += 1
        self._counts.last_error = f"delivery: {type(error).__name__}"
        _log.warning("a captured turn was not delivered: %s", type(error).__name__)
