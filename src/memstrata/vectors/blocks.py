"""Some thousand rows of one matrix. Rows are appended in place, and a block is never moved when the next one comes.

Full blocks hold float32. Half blocks hold the upper 16 bits of it (bfloat16): half the memory, and a shift makes float32
again, where NumPy's conversion from float16 takes 20 times as long. What the rounding costs is about 0.00004 of a
cosine. Products are taken row by row on one thread: BLAS shares a matrix out among threads that wait for each other, which on
a busy machine took 16 ms for 8 192 rows instead of 0.9, and gained little on an idle one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memstrata.vectors.protocol import Matrix, Seqs

__all__ = ["Block"]

_CONVERTED_ROWS = 256  # of a half block at a time: what is converted stays in the cache until it is multiplied


class Block:
    """Rows with their seqs. `count` rows are in use, of which `dead` are forgotten: zeroed, and never found."""

    def __init__(self, capacity: int, dimensions: int, *, half: bool) -> None:
        import numpy as np

        self.half = half
        self.count = 0
        self.dead = 0
        self.seqs = np.zeros(capacity, dtype=np.int64)
        self.live = np.zeros(capacity, dtype=bool)
        self._rows: NDArray[Any] = np.zeros((capacity, dimensions), dtype=np.uint16 if half else np.float32)

    @property
    def room(self) -> int:
        return len(self.seqs) - self.count

    @property
    def memory_bytes(self) -> int:
        return self.seqs.nbytes + self.live.nbytes + self._rows.nbytes

    def append(self, seqs: Seqs, rows: Matrix) -> None:
        """Take as many rows as there are; the caller has looked whether there is room."""
        end = self.count + len(seqs)
        self.seqs[self.count : end] = seqs
        self._rows[self.count : end] = _upper_half(rows) if self.half else rows
        self.live[self.count : end] = True
        self.count = end

    def forget(self, seqs: Seqs) -> int:
        """Forget rows and return how many there were."""
        import numpy as np

        gone = np.flatnonzero(self.live[: self.count] & np.isin(self.seqs[: self.count], seqs))
        self.live[gone] = False
        self._rows[gone] = 0
        self.dead += len(gone)
        return len(gone)

    def compacted(self, dimensions: int) -> Block:
        """Return a block of the live rows alone."""
        import numpy as np

        kept = np.flatnonzero(self.live[: self.count])
        block = Block(len(kept), dimensions, half=self.half)
        block.seqs[:] = self.seqs[kept]
        block._rows[:] = self._rows[kept]
        block.live[:] = True
        block.count = len(kept)
        return block

    def scores(self, query: Matrix, chosen: NDArray[np.intp] | int) -> Matrix:
        """Return the products of rows with a query: of the first so many, or of those at the given positions."""
        import numpy as np

        rows = self._rows[:chosen] if isinstance(chosen, int) else self._rows[chosen]
        if not self.half:
            return np.asarray(np.vecdot(rows, query), dtype=np.float32)
        scores = np.empty(len(rows), dtype=np.float32)
        wide = np.empty((min(_CONVERTED_ROWS, len(rows)), rows.shape[1]), dtype=np.uint32)
        for start in range(0, len(rows), _CONVERTED_ROWS):
            part = rows[start : start + _CONVERTED_ROWS]
            into = wide[: len(part)]
            np.copyto(into, part)
            np.left_shift(into, 16, out=into)
            scores[start : start + len(part)] = np.vecdot(into.view(np.float32), query)
        return scores


def _upper_half(rows: Matrix) -> NDArray[np.uint16]:
    """Return float32 as bfloat16, rounded to the nearest."""
    import numpy as np

    bits = np.ascontiguousarray(rows).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
