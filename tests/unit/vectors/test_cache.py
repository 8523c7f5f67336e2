import asyncio
from collections.abc import Sequence

import numpy as np
import pytest

from memstrata.errors import Unavailable
from memstrata.testing import HashEmbedder
from memstrata.vectors.cache import CachedEmbedder, VectorCache
from memstrata.vectors.protocol import Kind, Vectors


async def test_a_text_is_embedded_once_however_often_it_is_asked_for() -> None:
    inner = HashEmbedder()
    embedder = CachedEmbedder(inner, VectorCache())
    first = await embedder.embed(["tea", "coffee", "tea"], kind="passage")
    second = await embedder.embed(["coffee", "water"], kind="passage")
    assert inner.calls == [("passage", ("tea", "coffee")), ("passage", ("water",))]
    assert (first.matrix[0] == first.matrix[2]).all()
    assert (second.matrix[0] == first.matrix[1]).all()


async def test_questions_and_passages_are_told_apart() -> None:
    inner = HashEmbedder()
    embedder = CachedEmbedder(inner, VectorCache())
    await embedder.embed(["tea"], kind="query")
    await embedder.embed(["tea"], kind="passage")
    assert [kind for kind, texts in inner.calls if texts] == ["query", "passage"]


async def test_a_vector_does_not_outlive_its_model() -> None:
    cache = VectorCache()
    await CachedEmbedder(HashEmbedder(name="old"), cache).embed(["tea"], kind="query")
    other = HashEmbedder(name="new")
    await CachedEmbedder(other, cache).embed(["tea"], kind="query")
    assert other.calls == [("query", ("tea",))]


async def test_what_was_refused_is_asked_for_again_and_named_at_each_of_its_places() -> None:
    inner = HashEmbedder(refuses=["bad"])
    embedder = CachedEmbedder(inner, VectorCache())
    await embedder.embed(["good"], kind="passage")
    for _ in range(2):
        vectors = await embedder.embed(["bad", "good", "bad"], kind="passage")
        assert set(vectors.refused) == {0, 2}
        assert inner.calls[-1] == ("passage", ("bad",))


async def test_the_least_recently_used_vector_leaves_when_the_bytes_are_used_up() -> None:
    cache = VectorCache(3 * (4 * 64 + 200))
    for text in ("a", "b", "c"):
        cache.put("m", "query", text, np.ones(64, dtype=np.float32))
    assert cache.get("m", "query", "a") is not None
    cache.put("m", "query", "d", np.ones(64, dtype=np.float32))
    kept = [text for text in "abcd" if cache.get("m", "query", text) is not None]
    assert kept == ["a", "c", "d"]
    assert cache.memory_bytes == 3 * (4 * 64 + 200)


def test_a_vector_larger_than_the_cache_is_not_kept() -> None:
    cache = VectorCache(100)
    cache.put("m", "query", "a", np.ones(64, dtype=np.float32))
    assert cache.get("m", "query", "a") is None
    assert cache.memory_bytes == 0


async def test_what_was_forgotten_is_embedded_again() -> None:
    inner, cache = HashEmbedder(), VectorCache()
    embedder = CachedEmbedder(inner, cache)
    await embedder.embed(["secret"], kind="passage")
    embedder.forget()
    assert cache.memory_bytes == 0
    await embedder.embed(["secret"], kind="passage")
    assert inner.calls == [("passage", ("secret",)), ("passage", ("secret",))]


async def test_a_failure_of_the_embedder_is_passed_on_and_nothing_is_kept() -> None:
    inner, cache = HashEmbedder(), VectorCache()
    inner.failing = Unavailable("down")
    with pytest.raises(Unavailable):
        await CachedEmbedder(inner, cache).embed(["tea"], kind="query")
    assert cache.memory_bytes == 0


def test_half_of_a_surrogate_pair_is_a_key_like_any_other() -> None:
    cache = VectorCache()
    cache.put("m", "query", "\ud83d", np.ones(4, dtype=np.float32))
    assert cache.get("m", "query", "\ud83d") is not None


async def test_a_call_under_way_keeps_nothing_once_texts_were_deleted() -> None:
    class Gated(HashEmbedder):
        def __init__(self) -> None:
            super().__init__(8)
            self.begun, self.gate = asyncio.Event(), asyncio.Event()

        async def embed(self, texts: Sequence[str], *, kind: Kind) -> Vectors:
            self.begun.set()
            await self.gate.wait()
            return await super().embed(texts, kind=kind)

    inner, cache = Gated(), VectorCache()
    embedder = CachedEmbedder(inner, cache)
    call = asyncio.create_task(embedder.embed(["a secret"], kind="passage"))
    await inner.begun.wait()
    embedder.forget()
    inner.gate.set()

    assert (await call).matrix.any()
    assert cache.memory_bytes == 0
    await embedder.embed(["a secret"], kind="passage")
    assert cache.memory_bytes > 0


def test_who_asks_again_is_told_to_the_embedder_behind() -> None:
    inner = HashEmbedder(8)
    CachedEmbedder(inner, VectorCache()).resume()
    assert inner.resumed == 1
