"""The vector leg: a question becomes a vector, and the nearest rows of the scope are read from the store.

The index is only a way to find row numbers. What counts is the row in the store: one that was deleted meanwhile is dropped
from the index and its place is given to the next. Filters are applied inside the search, never to its result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from memstrata.errors import Unavailable
from memstrata.records import MemoryRecord, Message, Scope
from memstrata.search.collection import Collection
from memstrata.search.fusion import CosineScale
from memstrata.search.gibberish import is_list
from memstrata.search.leg import LegHit
from memstrata.search.words import counted
from memstrata.store.protocol import Repositories
from memstrata.store.shapes import MemoryFilter, MessageFilter
from memstrata.vectors.protocol import Embedder
from memstrata.vectors.registry import IndexRegistry

if TYPE_CHECKING:
    from memstrata.vectors.protocol import Matrix

__all__ = ["Calibration", "VectorLeg", "calibration_of"]

T = TypeVar("T", MemoryRecord, Message)
W = TypeVar("W", MemoryFilter, MessageFilter)


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a model's cosines mean. Below `floor` a row is unrelated; `alike` is what a restatement reaches.

    `listed` is the floor for bare lists of words, which are near to more rows than sentences are.
    """

    scale: CosineScale
    floor: float
    alike: float
    listed: float


_USUAL: Final = Calibration(CosineScale(0.10, 0.80), 0.25, 0.75, listed=0.25)
_KNOWN: Final[Mapping[str, Calibration]] = {
    # multilingual-e5: everything is near everything. Measured on our own set, docs/retrieval.md.
    "builtin/multilingual-e5": Calibration(CosineScale(0.75, 0.95), 0.78, 0.91, listed=0.83),
}


def calibration_of(embedder: str) -> Calibration:
    """Return what is known about a model by its name; for others what suits most."""
    return next((known for start, known in _KNOWN.items() if embedder.startswith(start)), _USUAL)


class VectorLeg:
    """An embedder and the indexes of its vectors."""

    def __init__(self, embedder: Embedder, registry: IndexRegistry, calibration: Calibration) -> None:
        self._embedder = embedder
        self._registry = registry
        self.calibration = calibration

    async def vector_of(self, query: str) -> Matrix:
        """Return the vector of a question, (dimensions,). Raises a MemstrataError if there is none."""
        found = await self._embedder.embed([query], kind="query")
        if found.refused:
            raise Unavailable(f"the question has no vector: {found.refused[0]}")
        row: Matrix = found.matrix[0]
        return row

    def floor_for(self, query: str) -> float:
        """Return the least cosine of a row that answers a query."""
        return self.calibration.listed if is_list(query) else self.calibration.floor

    def hits(
        self,
        r: Repositories,
        collection: Collection[T, W],
        scope: Scope,
        vector: Matrix,
        where: W,
        pool: int,
        *,
        floor: float | None = None,
    ) -> tuple[list[LegHit[T]], str]:
        """Return at most `pool` live rows of the scope that pass the filter, nearest first, and why it may not be all.

        None has a cosine below `floor`, by default the model's. Runs in a thread of the store's readers.
        """
        least = self.calibration.floor if floor is None else floor
        key = r.vectors.scope_key(collection.kind, scope)
        if key is None:
            return [], ""
        source = collection.source(r)
        allowed = None if where == type(where)() else source.seqs(scope, where)
        if allowed is not None and not allowed:
            return [], ""
        asked = pool
        while True:
            found = self._registry.search(key, vector, asked, allowed)
            wanted = [(seq, cosine) for seq, cosine in found.hits if cosine >= least]
            rows = {row.seq: row for row in source.chosen(scope, [seq for seq, _ in wanted], where)}
            if len(rows) >= pool or len(wanted) < asked:
                break
            # Rows that are gone leave the index, and their places go to others. A row that came after this snapshot was
            # taken is not gone: it only needs a place of its own.
            absent, newest = [seq for seq, _ in wanted if seq not in rows], r.vectors.newest(collection.kind)
            self._registry.remove(key, [seq for seq in absent if seq <= newest])
            asked = pool + sum(seq > newest for seq in absent)
        return [
            LegHit(rows[seq], cosine, partial(_terms, collection.text(rows[seq])))
            for seq, cosine in wanted
            if seq in rows
        ][:pool], found.partial


def _terms(text: str) -> frozenset[str]:
    return counted(text).terms
