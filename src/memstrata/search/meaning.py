"""Search by meaning as one thing that is there or not: embedder, indexes, and the work that gives rows their vectors.

Text is stored and found without any of it. An endpoint that is down at the start is asked again until it tells how long its
vectors are; until then, and while the model of an older database is being replaced, search goes by words and says so.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

from memstrata.clock import Clock, Instant, milliseconds
from memstrata.errors import MemstrataError
from memstrata.records import ComponentHealth, Scope
from memstrata.search import words
from memstrata.search.backfill import Backfill
from memstrata.search.interruptible import Interruptible
from memstrata.search.vector import VectorLeg, calibration_of
from memstrata.settings import EmbeddingSettings
from memstrata.store.protocol import Repositories, Store
from memstrata.store.shapes import Coverage, VectorKind
from memstrata.vectors.index_folder import IndexFolder
from memstrata.vectors.protocol import Embedder, VectorRows
from memstrata.vectors.registry import IndexRegistry

__all__ = ["Meaning"]

_LOG = logging.getLogger(__name__)
_AGAIN_SECONDS = 30.0
_COUNTED_SECONDS = 2.0  # how long a count of rows is good enough for health
_NONE = "no embedder configured"
_KINDS: Final[tuple[VectorKind, ...]] = ("memories", "messages")
INDEX_FOLDER = "vectors"


class _Rows(VectorRows, Protocol):
    def close(self) -> None: ...


class Meaning:
    """`rows_of` gives the stored vectors of a model; without an embedder nothing here ever runs."""

    def __init__(
        self,
        embedder: Embedder | None,
        store: Store,
        rows_of: Callable[[int], _Rows],
        settings: EmbeddingSettings,
        clock: Clock,
        folder: Path,
    ) -> None:
        self._embedder = embedder
        self._store = store
        self._rows_of = rows_of
        self._settings = settings
        self._clock = clock
        self._folder = folder / INDEX_FOLDER
        self._rows: _Rows | None = None
        self._registry: IndexRegistry | None = None
        self._backfill: Backfill | None = None
        self._counted: tuple[Instant, Mapping[VectorKind, Coverage]] | None = None
        self._failures = 0  # of the first call, which tells how long the vectors are
        self._stop = asyncio.Event()
        self._tried = asyncio.Event()
        self._wanted = asyncio.Event()  # by a search, where nothing runs in the background
        self._again = asyncio.Event()  # the first call need not wait for its next time
        self._calls = Interruptible()
        self.leg: VectorLeg | None = None
        self.absent = _NONE if embedder is None else "the embedder has not answered yet"
        self.patience_seconds = settings.query_timeout_seconds

    @property
    def is_configured(self) -> bool:
        return self._embedder is not None

    @property
    def is_behind(self) -> bool:
        """Whether many rows may have no vector: after a change of the model, after an import, while the embedder fails."""
        return self._backfill is not None and self._backfill.is_behind

    def wake(self) -> None:
        """Say that rows were written."""
        if self._backfill is not None:
            self._backfill.wake()

    def start_over(self) -> None:
        """Say that texts were written over, and have no vector now."""
        if self._backfill is not None:
            self._backfill.start_over()

    async def run(self) -> None:
        """Give rows their vectors until stopped."""
        if self._embedder is None:
            return
        if not self._settings.enabled:
            await self._wanted.wait()
        try:
            backfill = await self._begun(self._embedder)
        finally:
            self._tried.set()
        if backfill is not None and self._settings.enabled:
            await backfill.run()

    async def wanted(self, within_seconds: float) -> None:
        """Say that a search is coming. Where nothing runs in the background, it is the first to need the embedder.

        Then wait until that has been asked, or the time is over.
        """
        if self._embedder is None or self._settings.enabled or self._tried.is_set():
            return
        self._wanted.set()
        try:
            async with asyncio.timeout(within_seconds):
                await self._tried.wait()
        except TimeoutError:
            return  # there is no leg yet, and the search says so

    def resume(self) -> None:
        """Ask an embedder again that had refused key or account, without its pause."""
        if self._embedder is None:
            return
        self._embedder.resume()
        self._again.set()
        if self._backfill is not None:
            self._backfill.hurry()

    def stop(self) -> None:
        self._stop.set()
        self._wanted.set()
        self._again.set()
        self._calls.stop()
        if self._backfill is not None:
            self._backfill.stop()

    async def close(self) -> None:
        """Write indexes that are not on disk and let go of everything. Called when `run` has ended."""
        if self._registry is not None:
            await asyncio.to_thread(self._registry.close)
        if self._rows is not None:
            self._rows.close()
        if self._embedder is not None:
            await self._embedder.close()

    async def forget(self, scope: Scope) -> None:
        """Take out of indexes, their files and the cache what was deleted in a scope."""
        found = await self._store.read(lambda r: [r.vectors.scope_key(kind, scope) for kind in _KINDS])
        await self.reconcile([key for key in found if key is not None])

    async def forget_agents(self, instance: str, chat_memory_ids: Collection[str]) -> None:
        """Take out of all these what was deleted in all scopes of agents, named as `Erasure.agent` does."""

        def keys(r: Repositories) -> list[str]:
            return [
                key for kind in _KINDS for one in chat_memory_ids for key in r.vectors.agent_keys(kind, instance, one)
            ]

        await self.reconcile(await self._store.read(keys))

    async def reconcile(self, keys: Sequence[str]) -> None:
        """Take out of the indexes of these keys, their files and the cache what is no longer stored."""
        words.forget()
        if self._embedder is not None:
            self._embedder.forget()
        # Without an embedder too: files of one that was configured before may lie there.
        registry = self._registry
        if registry is None or self._backfill is None:
            files = IndexFolder(self._folder, "", 0)
            for key in keys:
                await asyncio.to_thread(files.delete, key)
            return
        async with self._backfill.changing:
            for key in keys:
                try:
                    await asyncio.to_thread(registry.reconcile, key)
                except MemstrataError as error:  # the deletion is done; an index that cannot be mended must not stay
                    _LOG.warning("an index was dropped after a deletion: %s", type(error).__name__)
                    await asyncio.to_thread(registry.drop, key)

    async def drop_files(self) -> None:
        """Delete all index files: they may hold what was deleted when nobody could tell them, and can be made again."""
        await asyncio.to_thread(IndexFolder(self._folder, "", 0).clear)

    async def settled(self) -> None:
        """Wait until every row that is there has its vector, or the embedder fails, and no index is being built."""
        if self._embedder is None or not self._settings.enabled:
            return
        await self._tried.wait()
        if self._backfill is not None and self._registry is not None:
            await self._backfill.settled()
            await asyncio.to_thread(self._registry.settle)

    async def coverage(self) -> Mapping[VectorKind, Coverage]:
        """Return how many rows have a vector of the present model; nothing where there is none."""
        return await self._backfill.coverage() if self._backfill is not None else {}

    async def health(self) -> ComponentHealth:
        """Return the state, with the numbers of rows that have a vector and that lack one, a few seconds old at most."""
        if self._embedder is None:
            return ComponentHealth("reduced", f"{_NONE}: searching by keyword")
        asked = self._embedder.health()
        if not self._settings.enabled:
            counted = await self._rows_counted(self._backfill) if self._backfill is not None else {}
            reason = asked.reason or "switched off: only questions get a vector"
            return ComponentHealth("reduced", reason, {**asked.details, **counted})
        if self._backfill is None or self._registry is None:
            details = {**asked.details, "failures": self._failures}
            state = "reduced" if asked.state == "ok" else asked.state
            return ComponentHealth(state, asked.reason or self.absent, details)
        indexes = self._registry.status()
        filling = self._backfill.health()
        details = {
            **asked.details,
            **filling.details,
            **await self._rows_counted(self._backfill),
            "indexes": indexes.scopes,
            "index_bytes": indexes.memory_bytes,
            "building": indexes.building,
        }
        if asked.state != "ok":
            return ComponentHealth(asked.state, asked.reason, details)
        if filling.state == "ok" and indexes.last_failure:
            return ComponentHealth("reduced", indexes.last_failure, details)
        return ComponentHealth(filling.state, filling.reason, details)

    async def _begun(self, embedder: Embedder) -> Backfill | None:
        """Try until the embedder answers or the end has come; the first try is told to whoever waits."""
        while not self._stop.is_set():
            self._again.clear()
            try:
                return await self._begin(embedder)
            except Exception as error:  # noqa: BLE001 (as in `Backfill.run`: an embedder may be anybody's)
                self._failures += 1
                self.absent = str(error) if isinstance(error, MemstrataError) else f"failed: {type(error).__name__}"
                _LOG.warning("searching by words alone: %s", type(error).__name__)
            self._tried.set()
            await self._clock.wait(self._again, self._clock.now() + milliseconds(_AGAIN_SECONDS))
        return None

    async def _begin(self, embedder: Embedder) -> Backfill | None:
        """Learn how long the vectors are, and be ready. Raises a MemstrataError while that cannot be told.

        None where the stop came first.
        """
        if embedder.dimensions == 0:
            await self._calls.perform(embedder.embed(["."], kind="passage"))
            if self._stop.is_set():
                return None
        name, dimensions = embedder.name, embedder.dimensions
        model = await self._store.write(lambda r: r.vectors.model(name, dimensions))
        rows = self._rows_of(model)
        budget = self._settings.memory_megabytes * 1024 * 1024
        registry = IndexRegistry(rows, name, dimensions, self._clock, budget_bytes=budget, folder=self._folder)
        backfill = Backfill(self._store, embedder, registry, model, self._clock, self._settings.batch)
        if not self._settings.enabled:
            await backfill.look()
        self._rows, self._registry, self._backfill = rows, registry, backfill
        self.leg = VectorLeg(embedder, registry, calibration_of(name))
        if self._stop.is_set():
            backfill.stop()
        return backfill

    async def _rows_counted(self, backfill: Backfill) -> dict[str, int]:
        now = self._clock.now()
        if self._counted is None or not 0 <= now - self._counted[0] < milliseconds(_COUNTED_SECONDS):
            try:
                self._counted = now, await backfill.coverage()
            except MemstrataError as error:  # health answers all the same, and the store tells its own state
                _LOG.warning("vectors could not be counted: %s", error)
                return {}
        counts = self._counted[1].values()
        return {
            "rows": sum(one.rows for one in counts),
            "missing": sum(one.missing for one in counts),
            "refused": sum(one.refused for one in counts),
        }
