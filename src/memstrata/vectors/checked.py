"""What a model hands back as vectors, brought to length 1 or refused.

A zero vector is equally far from everything, a NaN makes every ranking arbitrary, and a vector of another length belongs
to another model. Each was seen in the wild (user needs B42), and once stored it spoils search for good.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from memstrata.vectors.protocol import Vectors

if TYPE_CHECKING:
    from memstrata.vectors.protocol import Matrix

__all__ = ["checked"]

_SHORTEST = 1e-6


def checked(rows: Matrix | Sequence[Any], dimensions: int, shortened: frozenset[int] = frozenset()) -> Vectors:
    """Return rows of any origin as vectors of length 1; those that cannot be are refused, each with its reason."""
    import numpy as np

    matrix = np.zeros((len(rows), dimensions), dtype=np.float32)
    refused: dict[int, str] = {}
    for position, row in enumerate(rows):
        if row is None:
            refused[position] = "no vector came back"
            continue
        try:
            vector = np.asarray(row, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            refused[position] = "not a list of numbers"
            continue
        if vector.shape != (dimensions,):
            refused[position] = f"{vector.size} numbers instead of {dimensions}"
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            length = float(np.sqrt(vector @ vector))
        if not np.isfinite(length):
            refused[position] = "numbers that are not finite"
        elif length < _SHORTEST:
            refused[position] = "a vector of zeros"
        else:
            matrix[position] = vector / length
    return Vectors(matrix, refused, shortened)
