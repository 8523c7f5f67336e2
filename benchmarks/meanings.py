"""Vectors without a model: texts of one topic are near each other, as those of a real model are, and cost almost nothing.

Search is to be measured without the time of an embedder. 3,000 topics lie in 64 directions of 384 numbers; a text has the
topic that its hash says, a question that of the fact which answers it, and noise of its own. Texts of one topic have a
cosine of about 0.7, others mostly less than 0.3.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.dataset import gold
from memstrata.records import ComponentHealth
from memstrata.vectors.protocol import Kind, Vectors

if TYPE_CHECKING:
    from memstrata.vectors.protocol import Matrix

__all__ = ["MadeUpEmbedder"]

_DIMENSIONS: Final = 384
_TOPICS: Final = 3_000
_LATENT: Final = 64
_OWN = 0.6  # how far a text is from its topic, in the directions of topics
_NOISE = 0.3  # and in all others


class MadeUpEmbedder:
    """Implements `memstrata.vectors.protocol.Embedder`: the same vector for the same text, on every machine."""

    def __init__(self) -> None:
        fixed = np.random.default_rng(1)
        self._topics = fixed.standard_normal((_TOPICS, _LATENT), dtype=np.float32)
        self._spread = fixed.standard_normal((_LATENT, _DIMENSIONS), dtype=np.float32) / np.float32(_LATENT**0.5)
        self._known = {text: number for number, one in enumerate(gold()) for text in (one.fact, one.question)}
        questions = [one.question for one in gold()]
        self._asked = dict(zip(questions, self.rows(questions), strict=True))  # made once: a search is timed without it

    @property
    def name(self) -> str:
        return f"made-up/{_DIMENSIONS}"

    @property
    def dimensions(self) -> int:
        return _DIMENSIONS

    async def embed(self, texts: Sequence[str], *, kind: Kind) -> Vectors:
        asked = self._asked.get(texts[0]) if len(texts) == 1 else None
        return Vectors(self.rows(texts) if asked is None else asked[None])

    def rows(self, texts: Sequence[str]) -> Matrix:
        """Return the vectors, float32, (texts, 384), each of length 1."""
        keys = [int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) for text in texts]
        topics = [self._known.get(text, key % _TOPICS) for text, key in zip(texts, keys, strict=True)]
        drawn = np.zeros((len(texts), _LATENT + _DIMENSIONS), dtype=np.float32)
        for row, key in zip(drawn, keys, strict=True):
            np.random.Generator(np.random.Philox(key=key)).standard_normal(dtype=np.float32, out=row)
        latent = self._topics[topics] + _OWN * drawn[:, :_LATENT]
        made = latent @ self._spread + _NOISE * drawn[:, _LATENT:]
        unit: Matrix = made / np.linalg.norm(made, axis=1, keepdims=True)
        return unit

    def forget(self) -> None:
        """Nothing is kept."""

    def resume(self) -> None:
        """Nobody refuses anything."""

    def health(self) -> ComponentHealth:
        return ComponentHealth("ok", details={"embedder": self.name})

    async def close(self) -> None:
        """There is nothing to close."""
