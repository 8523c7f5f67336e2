"""The best of many scores, in an order that does not depend on where a row happens to lie."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memstrata.vectors.protocol import Allowed, Hit, Matrix, Seqs

__all__ = ["best", "seq_array"]


def best(seqs: Seqs, scores: Matrix, limit: int) -> list[Hit]:
    """Return at most `limit` (seq, score), highest score first, of equal scores the newest first."""
    import numpy as np

    if limit <= 0 or not len(scores):
        return []
    if limit < len(scores):
        worst = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        chosen = np.flatnonzero(scores >= worst)
        seqs, scores = seqs[chosen], scores[chosen]
    order = np.lexsort((-seqs, -scores))[:limit]
    return list(zip(seqs[order].tolist(), scores[order].tolist(), strict=True))


def seq_array(seqs: Allowed) -> Seqs:
    """Return seqs of any collection as an int64 array."""
    import numpy as np

    return np.fromiter(seqs, dtype=np.int64, count=len(seqs))
