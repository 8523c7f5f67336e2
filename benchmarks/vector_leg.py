"""The vector leg of one scope as search uses it, on the store and without a server: time, completeness, inserting.

What is exact is found by comparing all stored vectors in float32, which is also the cost to hold the leg against; rows too
far from the question to be an answer do not count. Inserting is the product's work for a memory: terms, row, source,
counters, vector, and the loaded index; one commit each, or a thousand a commit.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.dataset import gold
from benchmarks.meanings import MadeUpEmbedder
from benchmarks.vectorised import Filler
from memstrata.clock import SystemClock
from memstrata.records import Scope
from memstrata.search.collection import MEMORIES
from memstrata.search.meaning import INDEX_FOLDER
from memstrata.search.vector import VectorLeg, calibration_of
from memstrata.store.protocol import Repositories
from memstrata.store.shapes import MemoryFilter
from memstrata.store.sqlite.store import SqliteStore
from memstrata.vectors.registry import IndexRegistry

if TYPE_CHECKING:
    from memstrata.vectors.protocol import Matrix, Seqs, VectorRows

__all__ = ["INSERTED", "Inserted", "LegOfScope", "Nearest", "shared", "vector_leg"]

_LIMIT = 10
_POOL = 50  # what a search asks the leg for
_WARM_UP = 20
_BULK, _BULKS = 1_000, 3
_SINGLES = 200
INSERTED = _SINGLES + _BULK * _BULKS
"""How many memories `LegOfScope.insert` writes."""
_BUILD_SECONDS = 600.0
_LOOK_AGAIN_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Nearest:
    """What asking the 200 questions took, milliseconds each, and the share of the exact ten nearest that was found."""

    leg_ms: Sequence[float]
    brute_force_ms: Sequence[float]
    recall: float


@dataclass(frozen=True, slots=True)
class Inserted:
    """Memories a second, into an index that is loaded."""

    single: float
    bulk: float


@asynccontextmanager
async def vector_leg(folder: Path, scope: Scope) -> AsyncIterator[LegOfScope]:
    """Open a data folder for the leg alone. What it builds is in the folder afterwards."""
    clock, embedder = SystemClock(), MadeUpEmbedder()
    store = await SqliteStore.open(folder)
    try:
        filler = await Filler.of(store, embedder)
        rows = store.vector_rows(filler.model)
        registry = IndexRegistry(rows, embedder.name, embedder.dimensions, clock, folder=folder / INDEX_FOLDER)
        try:
            yield LegOfScope(filler, scope, rows, registry)
        finally:
            await asyncio.to_thread(registry.close)
            rows.close()
    finally:
        await store.close()


def shared(found: Sequence[Sequence[int]], right: Sequence[Sequence[int]]) -> float:
    """Return the share of all seqs in `right` that the answer to the same question holds."""
    hits = sum(len(set(one) & set(other)) for one, other in zip(found, right, strict=True))
    return hits / sum(map(len, right))


class LegOfScope:
    """The leg over one scope of an open store."""

    def __init__(self, filler: Filler, scope: Scope, rows: VectorRows, registry: IndexRegistry) -> None:
        self._filler = filler
        self._scope = scope
        self._rows = rows
        self._registry = registry
        self._leg = VectorLeg(filler.embedder, registry, calibration_of(filler.embedder.name))

    async def complete(self) -> float:
        """Search until no answer is partial any more and return the seconds. Raises TimeoutError."""
        question = self._filler.embedder.rows([gold()[0].question])[0]
        started = time.perf_counter()
        async with asyncio.timeout(_BUILD_SECONDS):
            while (await self._hits(question))[1]:
                await asyncio.sleep(_LOOK_AGAIN_SECONDS)
        return time.perf_counter() - started

    async def nearest(self) -> Nearest:
        """Ask all questions of the complete index, and all stored vectors one by one."""
        questions = self._filler.embedder.rows([one.question for one in gold()])
        for question in questions[:_WARM_UP]:
            await self._hits(question)
        found, leg_ms = [], []
        for question in questions:
            started = time.perf_counter()
            hits, _ = await self._hits(question)
            leg_ms.append(1000 * (time.perf_counter() - started))
            found.append(hits[:_LIMIT])
        key = await self._filler.store.read(self._key)
        right, brute_force_ms = await asyncio.to_thread(self._brute_force, key, questions)
        return Nearest(leg_ms, brute_force_ms, shared(found, right))

    async def insert(self, texts: Sequence[str]) -> Inserted:
        """Write further memories. Needs `INSERTED` texts. Raises ValueError for less."""
        if len(texts) < INSERTED:
            raise ValueError(f"expected {INSERTED} texts, got {len(texts)}")
        started = time.perf_counter()
        for place in range(_SINGLES):
            await self._insert(place, texts[place : place + 1])
        single = _SINGLES / (time.perf_counter() - started)
        started = time.perf_counter()
        for place in range(_SINGLES, INSERTED, _BULK):
            await self._insert(place, texts[place : place + _BULK])
        return Inserted(single, _BULK * _BULKS / (time.perf_counter() - started))

    async def _insert(self, place: int, texts: Sequence[str]) -> None:
        seqs, vectors = await self._filler.write(self._scope, 10_000_000 + place, texts)
        key = await self._filler.store.read(self._key)
        await asyncio.to_thread(self._registry.add, key, np.asarray(seqs, dtype=np.int64), vectors)

    async def _hits(self, question: Matrix) -> tuple[list[int], str]:
        """Return the seqs of the nearest rows, and why they may not be all."""

        def work(r: Repositories) -> tuple[list[int], str]:
            hits, partial = self._leg.hits(r, MEMORIES, self._scope, question, MemoryFilter(), _POOL)
            return [hit.item.seq for hit in hits], partial

        return await self._filler.store.read(work)

    def _key(self, r: Repositories) -> str:
        key = r.vectors.scope_key("memories", self._scope)
        if key is None:
            raise LookupError("the scope holds nothing")
        return key

    def _brute_force(self, key: str, questions: Matrix) -> tuple[list[list[int]], list[float]]:
        (seqs, matrix), floor = self._all(key), self._leg.calibration.floor
        right: list[list[int]] = []
        waits: list[float] = []
        for question in questions:
            started = time.perf_counter()
            scores = matrix @ question
            best = np.argpartition(-scores, _LIMIT)[:_LIMIT]
            waits.append(1000 * (time.perf_counter() - started))
            right.append(seqs[best[scores[best] >= floor]].tolist())
        return right, waits

    def _all(self, key: str) -> tuple[Seqs, Matrix]:
        chunks = list(self._rows.chunks(key, -1))
        return np.concatenate([seqs for seqs, _ in chunks]), np.concatenate([rows for _, rows in chunks]).astype("f4")
