"""Rows get their vectors in the background: which lack one is a query, so nothing is lost by a stop or a failure.

Text is durable long before, and is found by its words meanwhile. Batches are small, so that a question slips in between.
A text that the model refused is stored as refused, so that it is not sent for ever; at every start, and once an hour, it is
asked about again, because what refused it may have been mended.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from memstrata.clock import Clock, Instant, milliseconds
from memstrata.errors import MemstrataError
from memstrata.records import ComponentHealth
from memstrata.search.interruptible import Interruptible
from memstrata.search.passages import passage_vectors
from memstrata.store.protocol import Store
from memstrata.store.shapes import Coverage, VectorKind, VectorText
from memstrata.vectors.protocol import Embedder
from memstrata.vectors.registry import IndexRegistry

if TYPE_CHECKING:
    from memstrata.vectors.protocol import Matrix

__all__ = ["Backfill"]

_LOG = logging.getLogger(__name__)
_KINDS: Final[tuple[VectorKind, ...]] = ("memories", "messages")
_LOOK_SECONDS = 1.0
_PAUSE_SECONDS = 5.0
_LONGEST_PAUSE_SECONDS = 300.0
_REFUSED_AGAIN_SECONDS = 3_600.0


class Backfill:
    """Runs until stopped. `batch` texts at a time. Who deletes rows from an index holds `changing` meanwhile."""

    def __init__(
        self, store: Store, embedder: Embedder, registry: IndexRegistry, model: int, clock: Clock, batch: int
    ) -> None:
        self.changing = asyncio.Lock()
        self._store = store
        self._embedder = embedder
        self._registry = registry
        self._model = model
        self._clock = clock
        self._batch = batch
        self._positions: dict[VectorKind, int] = dict.fromkeys(_KINDS, 0)
        self._refused_again_at: Instant = clock.now()
        self._calls = Interruptible()
        self._wake = asyncio.Event()
        self._hurry = asyncio.Event()
        self._changed = asyncio.Condition()
        self._stopping = False
        self._asked = 0  # how often new rows were told of
        self._caught_up = -1  # what was asked when no row lacked a vector
        self._failed = -1  # what was asked when the embedder failed last
        self._failure = ""
        self._failures = 0
        self._stored = 0

    def wake(self) -> None:
        """Say that rows were written. An embedder that fails is left its pause all the same."""
        self._asked += 1
        self._wake.set()

    def hurry(self) -> None:
        """Ask at once, also an embedder that fails."""
        self.wake()
        self._hurry.set()

    def start_over(self) -> None:
        """Look at all rows again: texts were written over, and lost their vectors."""
        self._positions = dict.fromkeys(_KINDS, 0)
        self.wake()

    def stop(self) -> None:
        self._stopping = True
        self._calls.stop()
        self._wake.set()
        self._hurry.set()

    async def run(self) -> None:
        """Give vectors to all rows that lack one, and to new ones as they come."""
        while not self._stopping:
            self._wake.clear()
            self._hurry.clear()
            asked = self._asked
            try:
                found = await self._pass()
                self._failure, self._failures = "", 0
                if not (found or self._stopping):
                    self._caught_up = asked
                pause = 0.0 if found else _LOOK_SECONDS
            except Exception as error:  # noqa: BLE001 (an embedder may be anybody's: whatever it raises, rows wait for the next)
                self._failures += 1
                known = isinstance(error, MemstrataError)
                self._failure, self._failed = str(error) if known else type(error).__name__, asked
                pause = self._pause_after(error)
                # An endpoint may quote the text in what it says, so that stays out of the log; health tells it.
                _LOG.warning("vectors are missing and will be made later: %s", type(error).__name__)
            async with self._changed:
                self._changed.notify_all()
            if pause and not self._stopping:
                signal = self._hurry if self._failure else self._wake
                await self._clock.wait(signal, self._clock.now() + milliseconds(pause))

    async def settled(self) -> None:
        """Wait until every row that was there at the call has a vector, or the embedder fails; it is asked at once."""
        self.hurry()
        asked = self._asked
        async with self._changed:
            await self._changed.wait_for(lambda: max(self._caught_up, self._failed) >= asked or self._stopping)

    async def look(self) -> None:
        """Learn whether any row lacks a vector, without making one."""
        counts = await self.coverage()
        if not any(one.missing for one in counts.values()):
            self._caught_up = self._asked

    @property
    def is_behind(self) -> bool:
        """Whether rows may lack a vector for longer than a moment: none was without since the start, or making one fails."""
        return self._caught_up < 0 or bool(self._failure)

    async def coverage(self) -> dict[VectorKind, Coverage]:
        return await self._store.read(lambda r: {kind: r.vectors.coverage(kind, self._model) for kind in _KINDS})

    def health(self) -> ComponentHealth:
        about: dict[str, int | float | str | bool] = {
            "embedder": self._embedder.name,
            "stored": self._stored,
            "caught_up": self._caught_up >= self._asked,
            "failures": self._failures,
        }
        if self._failure:
            return ComponentHealth("reduced", f"vectors are missing: {self._failure}", about)
        if self._caught_up < self._asked:
            return ComponentHealth("reduced", "vectors are being made; what has none is found by keyword", about)
        return ComponentHealth("ok", details=about)

    async def _pass(self) -> bool:
        """Give a batch of each kind its vectors, and return whether there was any row without."""
        if self._clock.now() >= self._refused_again_at:
            await self._ask_refused_again()
            self._refused_again_at = self._clock.now() + milliseconds(_REFUSED_AGAIN_SECONDS)
        found = [await self._next(kind) for kind in _KINDS]
        return any(found)

    async def _ask_refused_again(self) -> None:
        refused = await self._store.write(lambda r: {kind: r.vectors.ask_again(kind, self._model) for kind in _KINDS})
        for kind, seqs in refused.items():
            if seqs:
                self._positions[kind] = min(self._positions[kind], seqs[0] - 1)

    async def _next(self, kind: VectorKind) -> bool:
        after = self._positions[kind]
        texts = await self._store.read(lambda r: r.vectors.missing(kind, self._model, after, self._batch))
        if not texts:
            return False
        found = await self._calls.perform(passage_vectors(self._embedder, [one.content for one in texts]))
        if found is None:
            return False
        rows = {
            one.seq: b"" if place in found.refused else found.matrix[place].astype("<f2").tobytes()
            for place, one in enumerate(texts)
        }
        contents = {one.seq: one.content for one in texts}
        async with self.changing:
            stored = await self._store.write(lambda r: r.vectors.put(kind, self._model, contents, rows))
            usable = [bool(vector) and seq in stored for seq, vector in rows.items()]
            await asyncio.to_thread(self._index, texts, found.matrix, usable)
        if len(stored) < len(rows):  # some went after they were read: the embedder may have kept them after it forgot
            self._embedder.forget()
        if self._positions[kind] == after:  # nobody started over meanwhile
            self._positions[kind] = texts[-1].seq
        self._stored += sum(usable)
        if found.refused:
            reasons = sorted(set(found.refused.values()))
            _LOG.warning("%d of %d texts have no vector: %s", len(found.refused), len(texts), reasons[0])
        return True

    def _index(self, texts: tuple[VectorText, ...], matrix: Matrix, usable: list[bool]) -> None:
        """Tell the indexes that are loaded of what was stored."""
        import numpy as np

        places: dict[str, list[int]] = {}
        for place, one in enumerate(texts):
            if usable[place]:
                places.setdefault(one.scope_key, []).append(place)
        for key, chosen in places.items():
            seqs = np.fromiter((texts[place].seq for place in chosen), dtype=np.int64, count=len(chosen))
            self._registry.add(key, seqs, matrix[chosen])

    def _pause_after(self, error: Exception) -> float:
        asked = getattr(error, "retry_after", None) or 0.0
        return max(float(asked), min(_PAUSE_SECONDS * 2.0 ** (self._failures - 1), _LONGEST_PAUSE_SECONDS))
