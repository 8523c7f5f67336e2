"""After something was forgotten: taking its last bytes out of the files of the data folder, and saying when they are out.

The rows are gone with the commit. Their terms lie in the keyword index until its parts are merged, the log holds old pages,
readable files are rewritten after the rows. A receipt is complete when all of that is done. What is still to be done
stands in the receipts, so a process that is killed meanwhile goes on at its next start.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from memstrata.clock import Clock, milliseconds
from memstrata.errors import MemstrataError
from memstrata.records import ComponentHealth
from memstrata.store.protocol import ForgetfulStore

__all__ = ["Scrubbing"]

_LOG = logging.getLogger(__name__)
_AGAIN_SECONDS = 1.0


class Scrubbing:
    """Runs until stopped. `clean_files` rewrites what lies outside of the store, and returns whether all of it is done."""

    def __init__(self, store: ForgetfulStore, clock: Clock, clean_files: Callable[[], Awaitable[bool]]) -> None:
        self._store = store
        self._clock = clock
        self._clean_files = clean_files
        self._wanted = asyncio.Event()
        self._wanted.set()  # a process before this one may have been killed
        self._changed = asyncio.Condition()
        self._stopping = False
        self._failure = ""
        self._failures = 0
        self._completed = 0

    def health(self) -> ComponentHealth:
        counts = {"completed": self._completed, "failures": self._failures}
        if self._failure:
            return ComponentHealth("reduced", f"what was forgotten still lies in files: {self._failure}", counts)
        return ComponentHealth("ok", details=counts)

    def wake(self) -> None:
        """Say that something was forgotten."""
        self._wanted.set()

    def stop(self) -> None:
        """End after the round under way."""
        self._stopping = True
        self._wanted.set()

    async def run(self) -> None:
        """Work off all receipts that are not complete, and new ones as they come."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            try:
                is_done, self._failure = await self._round(), ""
            except (MemstrataError, OSError) as error:
                is_done, self._failure = False, str(error)
                self._failures += 1
                _LOG.warning("scrubbing failed and will be tried again: %s", error)
            async with self._changed:
                self._changed.notify_all()
            if self._stopping:
                return
            if not is_done:
                await self._clock.wait(self._wanted, self._clock.now() + milliseconds(_AGAIN_SECONDS))
                self._wanted.set()

    async def complete(self, instance: str, forgetting_id: str, within_seconds: float) -> bool:
        """Wait until a receipt is complete, or the time is over, or nobody works on it any more; return whether it is."""

        async def look() -> bool:
            found = await self._store.read(lambda r: r.forgettings.one(instance, forgetting_id))
            return found is not None and found.complete

        try:
            async with asyncio.timeout(within_seconds), self._changed:
                while not (is_complete := await look()) and not self._stopping:
                    await self._changed.wait()
        except TimeoutError:
            return await look()
        return is_complete

    async def _round(self) -> bool:
        """Do all that is to be done for the receipts that are open now; return whether they are complete."""
        open_now = await self._store.read(lambda r: r.forgettings.unfinished())
        if not open_now:
            return True
        files_are_clean = await self._clean_files()
        is_left = await self._store.write(lambda r: r.erasure.merge_terms(begins=True))
        while is_left:
            is_left = await self._store.write(lambda r: r.erasure.merge_terms(begins=False))
        if not (files_are_clean and await self._store.drop_copies()):
            return False
        await self._store.write(lambda r: r.forgettings.complete(open_now))
        self._completed += len(open_now)
        return True
