"""What an embedder and an index are to this house, whichever provider and library stand behind them.

A vector is worth nothing beside vectors of another model, so an embedder's name tells provider, model, version and
dimensions, is stored with every vector, and decides whether a stored index may be used (user needs B41).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from memstrata.records import ComponentHealth

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]
    Seqs = NDArray[np.int64]
    Chunk = tuple[Seqs, NDArray[np.float16] | Matrix]

__all__ = ["Allowed", "Embedder", "Hit", "Kind", "VectorIndex", "VectorRows", "Vectors"]

Kind = Literal["query", "passage"]
"""Questions and stored texts: some models embed them differently."""

Hit = tuple[int, float]
"""The seq of a row and its cosine with the query."""

Allowed = Collection[int]
"""The seqs that a search may return: a set, or an int64 array. None, where it may be given, allows all."""


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """The vectors of n texts: `matrix` is float32, (n, dimensions), each row of length 1.

    `refused` gives by position why a text has no usable vector; its row is zero and must not be stored.
    `shortened` are the positions of texts of which only the start was embedded.
    """

    matrix: Matrix
    refused: Mapping[int, str] = field(default_factory=dict)
    shortened: frozenset[int] = frozenset()


class Embedder(Protocol):
    """Makes vectors. Raises `endpoint.errors.CallFailed` or another MemstrataError if there are none at all."""

    @property
    def name(self) -> str:
        """Identity of the vectors: equal names mean comparable vectors."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of the vectors; 0 as long as an endpoint has not told it."""
        ...

    async def embed(self, texts: Sequence[str], *, kind: Kind) -> Vectors:
        """Return one row for each text, in order. No texts give a matrix without rows."""
        ...

    def forget(self) -> None:
        """Drop what is kept of texts, also of a call under way: some of them were deleted."""
        ...

    def resume(self) -> None:
        """Ask again after key or account were refused: the operator says that it is mended."""
        ...

    def health(self) -> ComponentHealth: ...

    async def close(self) -> None: ...


class VectorIndex(Protocol):
    """The vectors of one scope. Safe for threads; what is removed is found no more by any search that ends later."""

    def add(self, seqs: Seqs, rows: NDArray[np.float16] | Matrix) -> None:
        """Take rows (n, dimensions); a seq that is there already is replaced. Raises InvalidRequest for unfit rows."""
        ...

    def remove(self, seqs: Allowed) -> int:
        """Forget rows and return how many there were."""
        ...

    def keep_only(self, seqs: Seqs) -> int:
        """Forget all rows but these and return how many."""
        ...

    def search(self, query: Matrix, limit: int, allowed: Allowed | None = None) -> list[Hit]:
        """Return the nearest rows, best first; of equal ones the newest (the highest seq) first."""
        ...

    def __len__(self) -> int: ...

    @property
    def memory_bytes(self) -> int: ...


class VectorRows(Protocol):
    """Where the vectors of scopes are stored. Called in threads; all in ascending order of seq, without duplicates."""

    def count(self, scope_key: str) -> int: ...

    def seqs(self, scope_key: str) -> Seqs: ...

    def chunks(self, scope_key: str, after_seq: int) -> Iterable[Chunk]:
        """Yield (seqs, rows) with seqs above `after_seq`, some thousand rows at a time."""
        ...
