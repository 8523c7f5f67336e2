"""The index that compares a query with every row of its scope: no structure to build, none to be wrong.

1 000 rows of 384 take 0.1 ms, 20 000 a few. Few rows are kept in half the width (`blocks`), so that a thousand scopes of a
thousand fit into the memory that indexes may have; widening them costs a search 0.1 ms, where loading a scope anew costs several.
Beyond, the full width is twice as fast, until memory decides. A row's cosine is the same in either.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from memstrata.errors import InvalidRequest
from memstrata.vectors.blocks import Block
from memstrata.vectors.hits import best, seq_array

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memstrata.vectors.protocol import Allowed, Hit, Matrix, Seqs

__all__ = ["ExactIndex", "fit_query", "fit_rows"]

_SMALLEST_BLOCK = 64
_LARGEST_BLOCK = 8_192
_FULL_WIDTH = range(2_049, 20_000)  # rows of a scope
_SPARSE = 4  # with less than one row in four allowed, picking rows is faster than computing all


class ExactIndex:
    """Implements `protocol.VectorIndex`. Searches run beside each other and beside changes."""

    def __init__(self, dimensions: int, *, full_width: range = _FULL_WIDTH) -> None:
        self.dimensions = dimensions
        self._full_width = full_width
        self._blocks: list[Block] = []
        self._newest = -1
        self._lock = threading.Lock()

    def __len__(self) -> int:
        with self._lock:
            return sum(block.count - block.dead for block in self._blocks)

    @property
    def memory_bytes(self) -> int:
        with self._lock:
            return sum(block.memory_bytes for block in self._blocks)

    def add(self, seqs: Seqs, rows: NDArray[np.float16] | Matrix) -> None:
        seqs, wide = fit_rows(seqs, rows, self.dimensions)
        if not len(seqs):
            return
        with self._lock:
            if int(seqs.min()) <= self._newest:
                self._forget(seqs)
            self._newest = max(self._newest, int(seqs.max()))
            start = 0
            while start < len(seqs):
                block = self._with_room(len(seqs) - start)
                end = min(len(seqs), start + block.room)
                block.append(seqs[start:end], wide[start:end])
                start = end

    def remove(self, seqs: Allowed) -> int:
        with self._lock:
            return self._forget(seq_array(seqs))

    def keep_only(self, seqs: Seqs) -> int:
        import numpy as np

        with self._lock:
            empty = np.empty(0, dtype=np.int64)
            there = np.concatenate(
                [empty, *(block.seqs[: block.count][block.live[: block.count]] for block in self._blocks)]
            )
            return self._forget(np.setdiff1d(there, seqs))

    def search(self, query: Matrix, limit: int, allowed: Allowed | None = None) -> list[Hit]:
        import numpy as np

        query = fit_query(query, self.dimensions)
        wanted = None if allowed is None else seq_array(allowed)
        with self._lock:
            blocks = [(block, block.count) for block in self._blocks]
        found: list[tuple[Block, NDArray[np.intp], Matrix]] = []
        for block, count in blocks:
            if wanted is None:
                found.append((block, np.arange(count), block.scores(query, count)))
                continue
            chosen = np.flatnonzero(np.isin(block.seqs[:count], wanted))
            sparse = len(chosen) * _SPARSE < count
            found.append((block, chosen, block.scores(query, chosen) if sparse else block.scores(query, count)[chosen]))
        with self._lock:
            alive = [(block.seqs[chosen], scores, self._alive(block)[chosen]) for block, chosen, scores in found]
        if not alive:
            return []
        live = np.concatenate([mask for _, _, mask in alive])
        seqs = np.concatenate([part for part, _, _ in alive])[live]
        return best(seqs, np.concatenate([scores for _, scores, _ in alive])[live], limit)

    def _alive(self, block: Block) -> NDArray[np.bool_]:
        """Return which rows of a block are alive now. One that was compacted meanwhile does not know it itself."""
        import numpy as np

        if any(one is block for one in self._blocks):
            return block.live
        parts = [one.seqs[: one.count][one.live[: one.count]] for one in self._blocks]
        return block.live & np.isin(block.seqs, np.concatenate([np.empty(0, dtype=np.int64), *parts]))

    def _forget(self, seqs: Seqs) -> int:
        gone, kept = 0, []
        for block in self._blocks:
            gone += block.forget(seqs)
            if block.dead == block.count:
                continue
            kept.append(block.compacted(self.dimensions) if 2 * block.dead > block.count else block)
        self._blocks = kept
        return gone

    def _with_room(self, rows: int) -> Block:
        if self._blocks and self._blocks[-1].room:
            return self._blocks[-1]
        there = sum(block.count for block in self._blocks)
        capacity = min(max(_SMALLEST_BLOCK, there // 4, rows), _LARGEST_BLOCK)
        self._blocks.append(Block(capacity, self.dimensions, half=there + rows not in self._full_width))
        return self._blocks[-1]


def fit_rows(seqs: Seqs, rows: NDArray[np.float16] | Matrix, dimensions: int) -> tuple[Seqs, Matrix]:
    """Return seqs and rows as int64 and float32, of a repeated seq the last. Raises InvalidRequest for what cannot be."""
    import numpy as np

    seqs = np.asarray(seqs, dtype=np.int64)
    wide = np.asarray(rows, dtype=np.float32)
    if seqs.ndim != 1 or wide.shape != (len(seqs), dimensions):
        raise InvalidRequest(
            f"expected rows of {dimensions} numbers, one for each seq, got {seqs.shape} and {wide.shape}"
        )
    if not np.isfinite(wide).all():
        raise InvalidRequest("vectors must be finite numbers")
    if len(seqs) > 1 and not (np.diff(seqs) > 0).all():
        _, last = np.unique(seqs[::-1], return_index=True)
        kept = len(seqs) - 1 - last
        seqs, wide = seqs[kept], wide[kept]
    return seqs, wide


def fit_query(query: Matrix, dimensions: int) -> Matrix:
    """Return a query as float32. Raises InvalidRequest for another length, and for numbers that are not finite."""
    import numpy as np

    query = np.ascontiguousarray(query, dtype=np.float32)
    if query.shape != (dimensions,):
        raise InvalidRequest(f"expected a query of {dimensions} numbers, got {query.shape}")
    if not np.isfinite(query).all():
        raise InvalidRequest("a query must be finite numbers")
    return query
