"""Some thousand rows of one matrix. Rows are appended in place, and a block is never moved when the next one comes.

Full blocks hold float32. Half blocks hold float16, which is what the store has, so nothing is lost by it: bfloat16, cut from
float32, gave one question in twenty another nearest row. NumPy takes five times as long to widen float16 as three operations on
its bits, which move exponent and mantissa to their places. The result is 2^-112 of the number, so the query is multiplied
by 2^112. Products are taken row by row on one thread: BLAS shares a matrix out among threads that wait for each other, which
on a busy machine took 16 ms for 8 192 rows instead of 0.9, and gained little on an idle one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memstrata.vectors.protocol import Matrix, Seqs

__all__ = ["Block"]

_SIGN_EXPONENT_MANTISSA = -0x70002000  # 0x8FFFE000: a shift also moves copies of the sign there
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
        self._rows: NDArray[Any] = np.zeros((capacity, dimensions), dtype=np.int16 if half else np.float32)

    @property
    def room(self) -> int:
        return len(self.seqs) - self.count

    @property
    def memory_bytes(self) -> int:
        return self.seqs.nbytes + self.live.nbytes + self._rows.nbytes

    def append(self, seqs: Seqs, rows: Matrix) -> None:
        """Take as many rows as there are; the caller has looked whether there is room."""
        import numpy as np

        end = self.count + len(seqs)
        self.seqs[self.count : end] = seqs
        self._rows[self.count : end] = rows.astype(np.float16).view(np.int16) if self.half else rows
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
        wide = np.empty((min(_CONVERTED_ROWS, len(rows)), rows.shape[1]), dtype=np.int32)
        scaled = query * np.float32(2.0**112)
        for start in range(0, len(rows), _CONVERTED_ROWS):
            part = rows[start : start + _CONVERTED_ROWS]
            into = wide[: len(part)]
            np.copyto(into, part)
            np.left_shift(into, 13, out=into)
            np.bitwise_and(into, _SIGN_EXPONENT_MANTISSA, out=into)
            scores[start : start + len(part)] = np.vecdot(into.view(np.float32), scaled)
        return scores
