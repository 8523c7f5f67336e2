"""The index of a large scope: a built base that is only read, and an exact one of what came since.

The base is never changed but for rows that are forgotten, so searches run beside each other; when much has come or
gone it is time to build again (`worn`). Results are exact below `quantized.INVERTED_FROM` rows but for the rounding to float16.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from memstrata.vectors.exact import ExactIndex, fit_query, fit_rows
from memstrata.vectors.hits import best, seq_array
from memstrata.vectors.index_file import Stored

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memstrata.vectors.protocol import Allowed, Hit, Matrix, Seqs

__all__ = ["ApproximateIndex"]

_WORN_ROWS = 20_000
_WORN_SHARE = 0.1


class ApproximateIndex:
    """Implements `protocol.VectorIndex` over a base that was built or read from a file."""

    def __init__(self, base: Stored) -> None:
        self._base = base
        self._since = ExactIndex(base.rows.dimensions)
        self._live = base.live.copy()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return self._base_count() + len(self._since)

    @property
    def memory_bytes(self) -> int:
        own = self._base.seqs.nbytes + 2 * self._live.nbytes
        return self._base.rows.memory_bytes + own + self._since.memory_bytes

    @property
    def worn(self) -> bool:
        """Whether so much has come or gone since the base was built that it should be built again."""
        changed = len(self._since) + len(self._base.seqs) - self._base_count()
        return changed > max(_WORN_ROWS, _WORN_SHARE * len(self._base.seqs))

    def snapshot(self) -> Stored:
        """Return the base as it is now, to be written to a file."""
        with self._lock:
            return Stored(self._base.rows, self._base.seqs, self._live.copy())

    def add(self, seqs: Seqs, rows: NDArray[np.float16] | Matrix) -> None:
        seqs, wide = fit_rows(seqs, rows, self._base.rows.dimensions)
        with self._lock:
            self._forget(seqs)
            self._since.add(seqs, wide)

    def remove(self, seqs: Allowed) -> int:
        gone = seq_array(seqs)
        with self._lock:
            return self._forget(gone) + self._since.remove(gone)

    def keep_only(self, seqs: Seqs) -> int:
        """Forget all rows but these, and return how many: what was deleted, also while the base lay in a file."""
        import numpy as np

        with self._lock:
            stray = np.flatnonzero(self._live & ~np.isin(self._base.seqs, seqs))
            return self._forget(self._base.seqs[stray]) + self._since.keep_only(seqs)

    def live_seqs(self) -> Seqs:
        """Return the seqs of the base that are alive, in ascending order."""
        with self._lock:
            return self._base.seqs[self._live]

    def search(self, query: Matrix, limit: int, allowed: Allowed | None = None) -> list[Hit]:
        import numpy as np

        query = fit_query(query, self._base.rows.dimensions)
        with self._lock:
            mask = None if self._live.all() and allowed is None else self._live.copy()
        if allowed is not None and mask is not None:
            chosen = np.zeros_like(mask)
            chosen[self._positions(seq_array(allowed))] = True
            mask &= chosen
        positions, cosines = self._base.rows.nearest(query, limit, mask)
        newer = self._since.search(query, limit, allowed)
        with self._lock:
            alive = self._live[positions]
        seqs = np.concatenate([self._base.seqs[positions][alive], np.array([seq for seq, _ in newer], dtype=np.int64)])
        scores = np.concatenate([cosines[alive], np.array([score for _, score in newer], dtype=np.float32)])
        return best(seqs, scores, limit)

    def _base_count(self) -> int:
        with self._lock:
            return int(self._live.sum())

    def _positions(self, seqs: Seqs) -> NDArray[np.intp]:
        import numpy as np

        if not len(self._base.seqs):
            return np.empty(0, dtype=np.intp)
        places = np.minimum(np.searchsorted(self._base.seqs, seqs), len(self._base.seqs) - 1)
        return np.asarray(places[self._base.seqs[places] == seqs], dtype=np.intp)

    def _forget(self, seqs: Seqs) -> int:
        import numpy as np

        positions = self._positions(np.unique(seqs))
        positions = positions[self._live[positions]]
        self._live[positions] = False
        self._base.rows.zero(positions)
        return len(positions)
