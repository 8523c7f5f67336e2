"""A store that tells when something was written: the directory writes through it, so no kept answer outlives a change."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from memstrata.records import ComponentHealth
from memstrata.store.protocol import Repositories, Store

__all__ = ["AnnouncingStore"]

T = TypeVar("T")


class AnnouncingStore:
    """See `store.protocol.Store`. `changed` is called after each write, also of one that failed or was given up."""

    def __init__(self, store: Store, changed: Callable[[], None]) -> None:
        self._store = store
        self._changed = changed

    async def write(self, work: Callable[[Repositories], T]) -> T:
        try:
            return await self._store.write(work)
        finally:
            self._changed()

    async def read(self, work: Callable[[Repositories], T], *, timeout_seconds: float = 10.0) -> T:
        return await self._store.read(work, timeout_seconds=timeout_seconds)

    def health(self) -> ComponentHealth:
        return self._store.health()

    async def close(self) -> None:
        await self._store.close()
