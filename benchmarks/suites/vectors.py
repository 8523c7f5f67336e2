"""How long the nearest vectors of one scope take to find, from a thousand to ten times the large scope's rows.

The vectors are made up: 3,000 clusters in 64 directions, spread over 384 with noise, as texts about the same things are. No
server and no embedder is asked, so what is measured is the index alone; recall is against comparing every row in float32.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.bench import Bench
from benchmarks.figures import percentile
from memstrata.vectors.approximate import ApproximateIndex
from memstrata.vectors.exact import ExactIndex
from memstrata.vectors.index_file import Stored, read_index, write_index
from memstrata.vectors.quantized import Quantized, faiss_installed
from memstrata.vectors.registry import LARGE_ROWS

if TYPE_CHECKING:
    from memstrata.vectors.protocol import Chunk, Matrix, VectorIndex

__all__ = ["measure"]

_DIMENSIONS = 384
_SIZES = (1_000, 10_000, 100_000, 1_000_000)
_EXACT_UP_TO = 100_000  # beyond, comparing every row takes so long that no figure is needed
_BEYOND = 10  # times the rows of the large scope are measured too: vectors load faster than memories
_QUERIES = 200
_WARM_UP = 20
_CHUNK = 20_000
_LIMIT = 10


async def measure(bench: Bench) -> None:
    """Build and search each size that the run asks for; with faiss those above the threshold also by it."""
    for rows in _SIZES:
        if rows <= _BEYOND * bench.rows:
            await asyncio.to_thread(_measure, bench, rows)


def _measure(bench: Bench, rows: int) -> None:
    queries, right = _queries(), _right(rows)
    if rows <= _EXACT_UP_TO:
        _report(bench, f"vectors.{rows}.exact", *_exact(rows), rows, queries, right)
    if rows <= LARGE_ROWS or not faiss_installed():
        return
    index, seconds = _approximate(bench, rows)
    name = f"vectors.{rows}.approximate"
    _report(bench, name, index, seconds, rows, queries, right)
    few = set(range(0, rows, 100))
    waits = [_timed(index, query, few) for query in queries]
    bench.record.figure(f"{name}.one_in_100_allowed.p95_ms", percentile(waits, 95))


def _exact(rows: int) -> tuple[ExactIndex, float]:
    index, seconds = ExactIndex(_DIMENSIONS), 0.0
    for seqs, vectors in _chunks(rows):
        started = time.perf_counter()
        index.add(seqs, vectors)
        seconds += time.perf_counter() - started
    return index, seconds


def _approximate(bench: Bench, rows: int) -> tuple[ApproximateIndex, float]:
    import numpy as np

    stored = list(_chunks(rows))
    started = time.perf_counter()
    base, seqs = Quantized.build(lambda: iter(stored), rows, _DIMENSIONS)
    seconds = time.perf_counter() - started
    with tempfile.TemporaryDirectory(dir=bench.work) as folder:
        file = Path(folder) / "one.vectors"
        started = time.perf_counter()
        write_index(file, "made up", Stored(base, seqs, np.ones(rows, dtype=bool)))
        bench.record.figure(f"vectors.{rows}.approximate.write_seconds", time.perf_counter() - started)
        started = time.perf_counter()
        read = read_index(file, "made up", _DIMENSIONS)
        bench.record.figure(f"vectors.{rows}.approximate.read_seconds", time.perf_counter() - started)
    if not isinstance(read, Stored):
        raise RuntimeError(f"the index file that was just written is not used: {read.reason}")
    return ApproximateIndex(read), seconds


def _report(
    bench: Bench, name: str, index: VectorIndex, seconds: float, rows: int, queries: Matrix, right: list[set[int]]
) -> None:
    for query in queries[:_WARM_UP]:
        index.search(query, _LIMIT)
    waits = [_timed(index, query) for query in queries]
    found = [{seq for seq, _ in index.search(query, _LIMIT)} for query in queries]
    shared = sum(len(one & other) for one, other in zip(found, right, strict=True))
    bench.record.figure(f"{name}.p50_ms", percentile(waits, 50))
    bench.record.figure(f"{name}.p95_ms", percentile(waits, 95))
    bench.record.figure(f"{name}.recall_at_10", shared / (_LIMIT * len(right)))
    bench.record.figure(f"{name}.mb_per_100k", index.memory_bytes / rows / 10)
    bench.record.figure(f"{name}.rows_per_second", rows / seconds)


def _timed(index: VectorIndex, query: Matrix, allowed: set[int] | None = None) -> float:
    started = time.perf_counter()
    index.search(query, _LIMIT, allowed)
    return (time.perf_counter() - started) * 1000


def _chunks(rows: int) -> Iterator[Chunk]:
    import numpy as np

    for number, start in enumerate(range(0, rows, _CHUNK)):
        count = min(_CHUNK, rows - start)
        yield np.arange(start, start + count), _vectors(count, seed=number).astype(np.float16)


def _queries() -> Matrix:
    return _vectors(_QUERIES, seed=1_000_003)


def _vectors(count: int, seed: int) -> Matrix:
    import numpy as np

    fixed, chance = np.random.default_rng(1), np.random.default_rng((2, seed))
    centres = fixed.standard_normal((3_000, 64), dtype=np.float32)
    spread = fixed.standard_normal((64, _DIMENSIONS), dtype=np.float32) / 8
    latent = centres[chance.integers(0, 3_000, count)] + 0.6 * chance.standard_normal((count, 64), dtype=np.float32)
    made = latent @ spread + 0.3 * chance.standard_normal((count, _DIMENSIONS), dtype=np.float32)
    unit: Matrix = made / np.linalg.norm(made, axis=1, keepdims=True)
    return unit


def _right(rows: int) -> list[set[int]]:
    """Return the seqs of the nearest rows of each query, by float32 products with all of them."""
    import numpy as np

    queries = _queries()
    scores = np.full((_QUERIES, _LIMIT), -2.0, dtype=np.float32)
    best = np.zeros((_QUERIES, _LIMIT), dtype=np.int64)
    for seqs, vectors in _chunks(rows):
        scores = np.concatenate([scores, queries @ vectors.astype(np.float32).T], axis=1)
        best = np.concatenate([best, np.tile(seqs, (_QUERIES, 1))], axis=1)
        kept = np.argpartition(-scores, _LIMIT, axis=1)[:, :_LIMIT]
        scores, best = np.take_along_axis(scores, kept, axis=1), np.take_along_axis(best, kept, axis=1)
    return [set(row) for row in best.tolist()]
