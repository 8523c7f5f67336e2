"""Where turns in progress and turns not yet delivered are written down: a few keys with short texts.

The texts hold what users said, so a store deserves the care of a mailbox. It may be slow, away or wiped; a hook waits
one second in all and goes on without it. What it answers is read as data that anybody may have written.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

__all__ = ["BlockingWatermarkStore", "InThread", "MemoryWatermarkStore", "WatermarkStore", "in_daemon_thread"]

T = TypeVar("T")

_log = logging.getLogger(__name__)

MAX_ENTRIES = 20_000


class WatermarkStore(Protocol):
    """Texts by key. Keys are ASCII of at most 200 characters, with `/` between their parts. Any exception means: not now."""

    async def get(self, key: str) -> str | None: ...
    async def put(self, key: str, value: str, ttl_seconds: int | None) -> None:
        """Write a text, which may go after `ttl_seconds`; None keeps it until it is deleted."""

    async def delete(self, key: str) -> None: ...
    async def keys(self, prefix: str) -> Sequence[str]:
        """Return the keys that start with `prefix`, sorted."""


class BlockingWatermarkStore(Protocol):
    """`WatermarkStore` for a library that blocks; `InThread` makes one of the other."""

    def get(self, key: str) -> str | None: ...
    def put(self, key: str, value: str, ttl_seconds: int | None) -> None: ...
    def delete(self, key: str) -> None: ...
    def keys(self, prefix: str) -> Sequence[str]: ...


class MemoryWatermarkStore:
    """A store of this process. Past 20,000 the oldest entries that may go do go; where none may, `put` fails."""

    def __init__(self) -> None:
        self._passing: dict[str, str] = {}
        self._kept: dict[str, str] = {}

    async def get(self, key: str) -> str | None:
        return self._passing.get(key) or self._kept.get(key)

    async def put(self, key: str, value: str, ttl_seconds: int | None) -> None:
        """Raises OverflowError when the store is full of entries that must be kept."""
        await self.delete(key)
        if len(self._passing) + len(self._kept) >= MAX_ENTRIES:
            if not self._passing:
                raise OverflowError("the store is full of entries that must be kept")
            del self._passing[next(iter(self._passing))]
        (self._kept if ttl_seconds is None else self._passing)[key] = value

    async def delete(self, key: str) -> None:
        self._passing.pop(key, None)
        self._kept.pop(key, None)

    async def keys(self, prefix: str) -> Sequence[str]:
        return sorted(key for key in (*self._passing, *self._kept) if key.startswith(prefix))


class InThread:
    """A blocking store, each call in a thread of its own, so that a call that hangs holds up nothing but itself."""

    def __init__(self, store: BlockingWatermarkStore) -> None:
        self._store = store

    async def get(self, key: str) -> str | None:
        return await in_daemon_thread(lambda: self._store.get(key))

    async def put(self, key: str, value: str, ttl_seconds: int | None) -> None:
        await in_daemon_thread(lambda: self._store.put(key, value, ttl_seconds))

    async def delete(self, key: str) -> None:
        await in_daemon_thread(lambda: self._store.delete(key))

    async def keys(self, prefix: str) -> Sequence[str]:
        return await in_daemon_thread(lambda: self._store.keys(prefix))


async def in_daemon_thread(work: Callable[[], T]) -> T:
    """Run blocking work in a thread that does not keep the process alive. Raises what the work raises."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def finish(result: T | None, error: Exception | None) -> None:
        if done.cancelled():
            return
        if error is None:
            done.set_result(result)  # type: ignore[arg-type]
        else:
            done.set_exception(error)

    def run() -> None:
        result: T | None = None
        failure: Exception | None = None
        try:
            result = work()
        except Exception as error:  # noqa: BLE001 - handed to the caller
            failure = error
        try:
            loop.call_soon_threadsafe(finish, result, failure)
        except RuntimeError:
            _log.info("a call in a thread outlived its event loop; nobody waits for its result")

    threading.Thread(target=run, name="memstrata-turn", daemon=True).start()
    return await done
