"""Vectors of texts that were embedded lately: a question asked twice, or a text that two layers share, costs one call.

Texts are kept only as hashes. Entries hold the embedder's name, so that no vector outlives its model.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memstrata.records import ComponentHealth
from memstrata.vectors.protocol import Embedder, Kind, Vectors

if TYPE_CHECKING:
    from memstrata.vectors.protocol import Matrix

__all__ = ["CachedEmbedder", "VectorCache"]

_OVERHEAD_BYTES = 200  # of a key and its place in the order
_Key = tuple[str, bytes]


class VectorCache:
    """Vectors by embedder and text, the least recently used leaving first. Safe for threads."""

    def __init__(self, capacity_bytes: int = 16 * 1024 * 1024) -> None:
        self._capacity_bytes = capacity_bytes
        self._entries: OrderedDict[_Key, Matrix] = OrderedDict()
        self._bytes = 0
        self._clearings = 0
        self._lock = threading.Lock()

    @property
    def memory_bytes(self) -> int:
        return self._bytes

    @property
    def clearings(self) -> int:
        """How often all was dropped: what was embedded before the last time may be of a deleted text."""
        return self._clearings

    def get(self, embedder: str, kind: Kind, text: str) -> Matrix | None:
        """Return the vector (dimensions,), or None."""
        key = _key(embedder, kind, text)
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key]

    def put(self, embedder: str, kind: Kind, text: str, vector: Matrix, *, clearings: int | None = None) -> None:
        """Keep a copy of a vector, unless it alone would not fit, or all was dropped since the count was `clearings`."""
        size = vector.nbytes + _OVERHEAD_BYTES
        if size > self._capacity_bytes:
            return
        key = _key(embedder, kind, text)
        with self._lock:
            if clearings not in (None, self._clearings):
                return
            self._drop(key)
            self._entries[key] = vector.copy()
            self._bytes += size
            while self._bytes > self._capacity_bytes:
                self._drop(next(iter(self._entries)))

    def clear(self) -> None:
        """Drop all vectors."""
        with self._lock:
            self._entries.clear()
            self._bytes = 0
            self._clearings += 1

    def _drop(self, key: _Key) -> None:
        vector = self._entries.pop(key, None)
        if vector is not None:
            self._bytes -= vector.nbytes + _OVERHEAD_BYTES


class CachedEmbedder:
    """Implements `protocol.Embedder` before another one: equal texts of a call and known texts are not sent."""

    def __init__(self, embedder: Embedder, cache: VectorCache) -> None:
        self._embedder = embedder
        self._cache = cache

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    async def embed(self, texts: Sequence[str], *, kind: Kind) -> Vectors:
        """Return the vectors. What was refused or shortened is not kept, so the next call says it again."""
        import numpy as np

        clearings = self._cache.clearings
        known = {text: self._cache.get(self.name, kind, text) for text in dict.fromkeys(texts)}
        asked = [text for text, vector in known.items() if vector is None]
        made = await self._embedder.embed(asked, kind=kind)
        place = {text: position for position, text in enumerate(asked)}
        for text, position in place.items():
            if position not in made.refused and position not in made.shortened:
                self._cache.put(self.name, kind, text, made.matrix[position], clearings=clearings)
        matrix = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        refused: dict[int, str] = {}
        shortened = set()
        for position, text in enumerate(texts):
            vector = known[text]
            if vector is not None:
                matrix[position] = vector
                continue
            source = place[text]
            matrix[position] = made.matrix[source]
            if source in made.refused:
                refused[position] = made.refused[source]
            if source in made.shortened:
                shortened.add(position)
        return Vectors(matrix, refused, frozenset(shortened))

    def forget(self) -> None:
        """Drop all vectors that are kept: which of them are of deleted texts cannot be told. A call under way keeps none."""
        self._cache.clear()
        self._embedder.forget()

    def resume(self) -> None:
        self._embedder.resume()

    def health(self) -> ComponentHealth:
        return self._embedder.health()

    async def close(self) -> None:
        await self._embedder.close()


def _key(embedder: str, kind: Kind, text: str) -> _Key:
    digest = hashlib.blake2b(f"{kind}\0{text}".encode("utf-8", "surrogatepass"), digest_size=20)
    return embedder, digest.digest()
