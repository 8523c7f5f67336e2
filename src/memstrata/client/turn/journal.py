"""The recorder's notes in a watermark store: the pointer and the mark of each thread's turn, and what waits to be sent.

A pointer says which turn a thread began last; it is never deleted, because a late task of an older turn would take the
pointer that a newer one has just written. A mark is one turn's own, so that deleting it touches no other.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from memstrata.client.turn.parcel import Parcel, decode_parcel, decode_turn, encode_parcel, encode_turn
from memstrata.client.turn.status import Counts
from memstrata.client.turn.store import WatermarkStore
from memstrata.client.turn.watermark import Turn

__all__ = ["Journal", "Wait"]

T = TypeVar("T")

_log = logging.getLogger(__name__)

WAIT_SECONDS = 1.0
REST_SECONDS = 5.0
MAX_PARKED = 200
KEEP_SECONDS = 30 * 24 * 3600


class Wait:
    """What is left, in seconds, of the time that one hook may spend on the store. The first failure uses it up."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def spend(self, seconds: float) -> None:
        self.seconds -= seconds

    def give_up(self) -> None:
        self.seconds = 0.0


class Journal:
    """Reads and writes notes within a wait. What fails is counted and logged, and answers as if nothing were written."""

    def __init__(
        self,
        store: WatermarkStore,
        counts: Counts,
        wait_seconds: float = WAIT_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clock` gives seconds that never go back. A store that let a wait run out is left alone for 5 seconds."""
        self._store = store
        self._counts = counts
        self._wait_seconds = wait_seconds
        self._clock = clock
        self._resting_until = clock()

    def wait(self) -> Wait:
        """Return the time that one hook may spend: a second in all, none while the store rests."""
        resting = self._clock() < self._resting_until
        return Wait(0.0 if resting else self._wait_seconds)

    async def begin(self, thread: str, turn: Turn, wait: Wait) -> None:
        """Write the mark, then the pointer that leads to it."""
        await self._call("mark", wait, lambda: self._store.put(_mark(thread, turn.id), encode_turn(turn), KEEP_SECONDS))
        await self._call("pointer", wait, lambda: self._store.put(f"pointer/{thread}", turn.id, KEEP_SECONDS))

    async def unfinished(self, thread: str, wait: Wait) -> Turn | None:
        """Return the turn that a thread began last if its mark is still there."""
        turn_id = await self._call("pointer", wait, lambda: self._store.get(f"pointer/{thread}"))
        if not turn_id:
            return None
        text = await self._call("mark", wait, lambda: self._store.get(_mark(thread, turn_id)))
        return None if text is None else self._read("mark", text, decode_turn)

    async def finish(self, thread: str, turn_id: str, wait: Wait) -> None:
        """Delete the mark of this turn alone."""
        await self._call("mark", wait, lambda: self._store.delete(_mark(thread, turn_id)))

    async def park(self, parcel: Parcel, wait: Wait) -> bool:
        """Write a parcel down until it is delivered; return whether that worked."""
        text = encode_parcel(parcel)

        async def written() -> bool:
            await self._store.put(f"outbox/{parcel.name}", text, None)
            return True

        return await self._call("outbox", wait, written) or False

    async def unpark(self, parcel: Parcel, wait: Wait) -> None:
        """Forget a parcel that was delivered."""
        await self._call("outbox", wait, lambda: self._store.delete(f"outbox/{parcel.name}"))

    async def reject(self, parcel: Parcel) -> None:
        """Put a parcel that the server will never take where people can look at it."""
        await self._set_aside(parcel.name, encode_parcel(parcel))

    async def parked(self) -> tuple[list[Parcel], bool]:
        """Return the oldest parcels that wait, at most 200, and whether there are more.

        Each call to the store has its own wait. A text that is no parcel is counted and set aside.
        """
        keys = await self._call("outbox", self.wait(), lambda: self._store.keys("outbox/")) or ()
        found: list[Parcel] = []
        for key in keys[:MAX_PARKED]:
            text = await self._call("outbox", self.wait(), partial(self._store.get, key))
            if text is None:
                continue
            parcel = self._read("outbox", text, decode_parcel)
            if parcel is None:
                await self._set_aside(key.removeprefix("outbox/"), text)
            else:
                found.append(parcel)
        return found, len(keys) > MAX_PARKED

    async def _set_aside(self, name: str, text: str) -> None:
        wait = self.wait()
        await self._call("outbox", wait, lambda: self._store.put(f"rejected/{name}", text, KEEP_SECONDS))
        await self._call("outbox", wait, lambda: self._store.delete(f"outbox/{name}"))

    async def _call(self, what: str, wait: Wait, work: Callable[[], Awaitable[T]]) -> T | None:
        if wait.seconds <= 0:
            self._failed(what, "no time left")
            return None
        begun = self._clock()
        try:
            async with asyncio.timeout(wait.seconds):
                return await work()
        except TimeoutError:
            self._resting_until = self._clock() + REST_SECONDS
            wait.give_up()
            self._failed(what, "timed out")
        except Exception as error:  # noqa: BLE001 - a store that fails must not stop an agent
            wait.give_up()
            self._failed(what, type(error).__name__)
        finally:
            wait.spend(self._clock() - begun)
        return None

    def _read(self, what: str, text: str, decode: Callable[[str], T]) -> T | None:
        try:
            return decode(text)
        except ValueError:
            self._failed(what, "not readable")
            return None

    def _failed(self, what: str, how: str) -> None:
        self._counts.failed_store_calls += 1
        self._counts.last_error = f"store, {what}: {how}"
        _log.warning("turn capture goes on without its store: %s %s", what, how)


def _mark(thread: str, turn_id: str) -> str:
    return f"mark/{thread}/{turn_id}"
