"""Calls that a stop ends at once: an endpoint may take a minute to answer, and nobody waits for that at the end.

Nothing is lost by it. What was being embedded still lacks its vector at the next start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["Interruptible"]

T = TypeVar("T")


class Interruptible:
    """Performs one call at a time, until it is stopped."""

    def __init__(self) -> None:
        self._call: asyncio.Task[Any] | None = None
        self._stopped = False

    async def perform(self, call: Coroutine[Any, Any, T]) -> T | None:
        """Return what the call returns or raise what it raises; None where the stop came first."""
        task = asyncio.create_task(call, name="embedder call")
        self._call = task
        if self._stopped:
            task.cancel()
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
        return None if task.cancelled() else task.result()

    def stop(self) -> None:
        self._stopped = True
        if self._call is not None:
            self._call.cancel()
