"""An embedder without a model: texts that share words, or Chinese characters, are near each other, on every machine."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any

from memstrata.records import ComponentHealth
from memstrata.vectors.checked import checked
from memstrata.vectors.protocol import Kind, Vectors

__all__ = ["HashEmbedder"]

_TOKEN = re.compile(r"[a-z0-9]+|[^\W\d_]", re.IGNORECASE)


class HashEmbedder:
    """Implements `memstrata.vectors.protocol.Embedder`: each word has a direction made of its hash, a text is their sum.

    `calls` are the texts of each call with their kind. Texts named in `refuses` get no vector. While `failing` is set to an
    error, every call raises it. `resumed` is how often it was told to ask again.
    """

    def __init__(self, dimensions: int = 64, *, name: str = "", refuses: Sequence[str] = ()) -> None:
        self._dimensions = dimensions
        self._name = name or f"hash/{dimensions}"
        self._refuses = frozenset(refuses)
        self.calls: list[tuple[Kind, tuple[str, ...]]] = []
        self.failing: Exception | None = None
        self.closed = False
        self.resumed = 0

    @property
    def name(self) -> str:
        return self._name

    @property
    def dimensions(self) -> int:
        return self._dimensions

    async def embed(self, texts: Sequence[str], *, kind: Kind) -> Vectors:
        """Return the vectors; a text without any word has one of zeros, and is refused for it."""
        self.calls.append((kind, tuple(texts)))
        if self.failing is not None:
            raise self.failing
        return checked([None if text in self._refuses else self._row(text) for text in texts], self._dimensions)

    def health(self) -> ComponentHealth:
        about = {"embedder": self._name}
        return (
            ComponentHealth("reduced", str(self.failing), about)
            if self.failing
            else ComponentHealth("ok", details=about)
        )

    def forget(self) -> None:
        """Nothing is kept but `calls`."""

    def resume(self) -> None:
        self.resumed += 1

    async def close(self) -> None:
        self.closed = True

    def _row(self, text: str) -> Any:
        import numpy as np

        row = np.zeros(self._dimensions)
        for word in _TOKEN.findall(text.lower()):
            spread = hashlib.shake_256(f"{self._name}\0{word}".encode()).digest(self._dimensions)
            row += np.frombuffer(spread, dtype=np.uint8) - 127.5
        return row
