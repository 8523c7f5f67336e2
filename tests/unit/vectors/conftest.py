"""Vectors in clusters, as texts about the same thing are, and stored rows that a registry loads."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

CHUNK = 100


class Rows:
    """Implements `protocol.VectorRows` in memory. `reading` is called before each chunk; `failing` is raised by reads."""

    def __init__(self) -> None:
        self.scopes: dict[str, dict[int, Any]] = {}
        self.loads: list[str] = []
        self.reading: Callable[[], object] = lambda: None
        self.failing: Exception | None = None

    def put(self, scope_key: str, seqs: Iterable[int], rows: Any) -> None:
        self.scopes.setdefault(scope_key, {}).update(zip(map(int, seqs), rows.astype(np.float16), strict=True))

    def delete(self, scope_key: str, seqs: Iterable[int]) -> None:
        for seq in seqs:
            self.scopes[scope_key].pop(int(seq), None)

    def count(self, scope_key: str) -> int:
        return len(self.scopes.get(scope_key, {}))

    def seqs(self, scope_key: str) -> Any:
        return np.array(sorted(self.scopes.get(scope_key, {})), dtype=np.int64)

    def chunks(self, scope_key: str, after_seq: int) -> Iterable[Any]:
        self.loads.append(scope_key)
        seqs = [int(seq) for seq in self.seqs(scope_key) if seq > after_seq]
        for start in range(0, len(seqs), CHUNK):
            self.reading()
            if self.failing is not None:
                raise self.failing
            part = [seq for seq in seqs[start : start + CHUNK] if seq in self.scopes[scope_key]]
            if part:
                yield np.array(part, dtype=np.int64), np.stack([self.scopes[scope_key][seq] for seq in part])


@pytest.fixture
def rows() -> Rows:
    return Rows()


@pytest.fixture
def gate() -> threading.Event:
    """An event that is set when the test ends, so that no thread waits for it for ever."""
    return threading.Event()


@pytest.fixture
def clustered() -> Callable[..., Any]:
    """Return a maker of unit vectors: `clustered(1000, dimensions=32, seed=1)`."""

    def make(count: int, dimensions: int = 32, seed: int = 1) -> Any:
        chance = np.random.default_rng(seed)
        centres = np.random.default_rng(7).standard_normal((20, dimensions))
        made = centres[chance.integers(0, 20, count)] + 0.5 * chance.standard_normal((count, dimensions))
        return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)

    return make


@pytest.fixture
def faiss_there() -> None:
    """Skip a test where the extra `faiss` is not installed."""
    if importlib.util.find_spec("faiss") is None:
        pytest.skip("faiss is not installed: pip install 'memstrata[faiss]'")
