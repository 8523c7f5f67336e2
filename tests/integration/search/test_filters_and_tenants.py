"""Invariants 4 and 10 for vectors: filters work inside the search, scopes see only themselves, what is deleted is gone."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from memstrata.errors import Unavailable
from memstrata.memory import Memory, MessageInput
from memstrata.records import MemoryRecord, NewMemory, Scope
from memstrata.search import MEMORIES, Finder, Meaning, words
from memstrata.search.backfill import Backfill
from memstrata.search.vector import VectorLeg, calibration_of
from memstrata.settings import EmbeddingSettings, RecallSettings
from memstrata.store.protocol import Repositories
from memstrata.store.shapes import MemoryFilter
from memstrata.store.sqlite.store import SqliteStore
from memstrata.store.sqlite.vectors import SqliteVectorRows
from memstrata.testing import FakeClock, HashEmbedder
from memstrata.vectors.cache import CachedEmbedder, VectorCache
from memstrata.vectors.index_folder import IndexFolder
from memstrata.vectors.protocol import Kind, Vectors
from memstrata.vectors.registry import IndexRegistry

Searching = Callable[..., AbstractAsyncContextManager[Memory]]
Say = Callable[..., Awaitable[None]]
MessagesFound = Callable[..., Awaitable[list[str]]]
Build = Callable[..., NewMemory]

WORDS = ["tea", "rain", "moon", "city", "honey", "mint", "river", "cloud", "train", "music"]
QUERIES = ["honey tea", "rain over the city", "music in the train along the river", "moon cloud mint", "tea"]


async def keep(store: SqliteStore, scope: Scope, memories: Sequence[NewMemory]) -> list[MemoryRecord]:
    profile = scope.profile("agent")
    return await store.write(lambda r: [r.memories.add(scope, profile, memory) for memory in memories])


@dataclass(frozen=True, slots=True)
class ByMeaning:
    """A search by meaning alone, and its parts."""

    finder: Finder
    registry: IndexRegistry
    backfill: Backfill

    async def texts(self, scope: Scope, query: str, where: MemoryFilter | None = None, limit: int = 20) -> list[str]:
        found = await self.finder.find(MEMORIES, scope, query, where or MemoryFilter(), limit, weighted=False)
        assert found.degraded == ()
        return [hit.item.content for hit in found.hits]


@asynccontextmanager
async def by_meaning(store: SqliteStore, clock: FakeClock, large_rows: int = 20_000) -> AsyncIterator[ByMeaning]:
    """Open a search in which every row has its vector; scopes above `large_rows` have an index with a file."""
    embedder = HashEmbedder(64)
    model = await store.write(lambda r: r.vectors.model(embedder.name, 64))
    rows = store.vector_rows(model)
    folder = store.folder / "vectors"
    registry = IndexRegistry(
        rows, embedder.name, 64, clock, folder=folder, large_rows=large_rows, partial_rows=large_rows
    )
    backfill = Backfill(store, embedder, registry, model, clock, 2_048)
    meaning = Meaning(embedder, store, store.vector_rows, EmbeddingSettings(), clock, store.folder)
    meaning.leg = VectorLeg(embedder, registry, calibration_of(embedder.name))
    finder = Finder(store, clock, UTC, RecallSettings(strategy="embedding"), meaning)
    running = asyncio.create_task(backfill.run())
    try:
        await backfill.settled()
        yield ByMeaning(finder, registry, backfill)
    finally:
        backfill.stop()
        await running
        await asyncio.to_thread(registry.close)
        rows.close()


def tales(count: int, step: int = 1) -> list[str]:
    return [" ".join(WORDS[(n * k * step) % 10] for k in range(1, 3 + n % 7)) + f" {n}" for n in range(count)]


@pytest.mark.parametrize("neighbours", [30_000, pytest.param(300_000, marks=pytest.mark.slow)])
async def test_a_small_tenant_beside_a_huge_one_finds_the_same_as_alone(
    store: SqliteStore, scope: Scope, clock: FakeClock, new_memory: Build, neighbours: int
) -> None:
    async def answers(search: ByMeaning) -> list[tuple[tuple[str, float], ...]]:
        found = []
        for query in QUERIES:
            for where in (MemoryFilter(), MemoryFilter(type="persona"), MemoryFilter(task_id="t1")):
                hits = (await search.finder.find(MEMORIES, scope, query, where, 20, weighted=False)).hits
                found.append(tuple((hit.item.content, hit.score) for hit in hits))
        return found

    own = [
        new_memory(text, type=("episodic", "persona")[n % 2], task_id=("t1", "t2")[n % 3 == 0])
        for n, text in enumerate(tales(300, 3))
    ]
    await keep(store, scope, own)
    async with by_meaning(store, clock) as search:
        alone = await answers(search)
    assert all(alone)

    huge = replace(scope, user="huge")
    for start in range(0, neighbours, 10_000):
        await keep(store, huge, [new_memory(text) for text in tales(10_000, 1 + start // 10_000)])
    async with by_meaning(store, clock) as search:
        await search.finder.find(MEMORIES, huge, "honey tea", MemoryFilter(), 5)
        assert await answers(search) == alone


async def test_filters_choose_before_the_cut(
    searching: Searching, scope: Scope, messages_found: MessagesFound, clock: FakeClock
) -> None:
    """Each filter leaves one row, the farthest of a hundred: whoever filters the nearest rows afterwards finds none."""
    async with searching(strategy="embedding", distills=False) as memory:
        near = [MessageInput("user", f"honey tea number {n}", said_at=clock.now()) for n in range(100)]
        await memory.add(scope, "many", near, task_id="t1")
        far = "honey tea and a long walk along the river to the city"
        await memory.add(scope, "one", [MessageInput("user", far, said_at=clock.now() - 86_400_000)], task_id="t2")
        await memory.vectors_settled()
        assert far not in await messages_found(memory, "honey tea number")
        yesterday = clock.now() - 3_600_000
        for where in ({"session_id": "one"}, {"task_id": "t2"}, {"until": yesterday}):
            assert await messages_found(memory, "honey tea number", **where) == [far]
        assert await messages_found(memory, "honey tea number", session_id="nowhere") == []
        assert far not in await messages_found(memory, "honey tea number", since=yesterday)


async def test_a_type_chooses_before_the_cut(
    store: SqliteStore, scope: Scope, clock: FakeClock, new_memory: Build
) -> None:
    far = "honey tea along the river"
    near = [new_memory(f"honey tea number {n}") for n in range(100)]
    await keep(store, scope, [*near, new_memory(far, type="instruction")])
    async with by_meaning(store, clock) as search:
        assert far not in await search.texts(scope, "honey tea number")
        assert await search.texts(scope, "honey tea number", MemoryFilter(type="instruction")) == [far]


async def test_two_users_never_see_each_other_by_meaning(
    searching: Searching, say: Say, scope: Scope, messages_found: MessagesFound
) -> None:
    other = replace(scope, user="max")
    async with searching(strategy="embedding", distills=False) as memory:
        await say(memory, "my sister breeds alpacas")
        await say(memory, "my sister breeds llamas", of=other)
        await memory.vectors_settled()
        assert await messages_found(memory, "sister breeds") == ["my sister breeds alpacas"]
        assert await messages_found(memory, "sister breeds", of=other) == ["my sister breeds llamas"]
        assert await messages_found(memory, "sister breeds", of=replace(scope, user="nobody")) == []


@pytest.mark.parametrize("restarted", [False, True])
async def test_what_is_deleted_is_found_no_more_at_once_and_after_a_restart(
    searching: Searching, say: Say, scope: Scope, messages_found: MessagesFound, restarted: bool
) -> None:
    async with searching(strategy="embedding") as memory:
        await say(memory, "my sister breeds alpacas", session="secret")
        await say(memory, "my sister breeds rabbits", session="kept")
        await memory.flush(scope)
        await memory.vectors_settled()
        assert len(await messages_found(memory, "sister breeds")) == 2
        gone = await memory.delete_messages(scope, session_ids=["secret"])
        assert (gone.messages, gone.memories) == (1, 1)
        if not restarted:
            assert await messages_found(memory, "sister breeds") == ["my sister breeds rabbits"]
            found = await memory.search(scope, "sister breeds")
            assert [hit.item.content for hit in found.hits] == ["my sister breeds rabbits"]
    if restarted:
        async with searching(strategy="embedding") as memory:
            await memory.vectors_settled()
            assert await messages_found(memory, "sister breeds") == ["my sister breeds rabbits"]


async def test_a_memory_that_another_took_the_place_of_is_found_no_more(
    searching: Searching, say: Say, scope: Scope
) -> None:
    async with searching(strategy="embedding") as memory:
        await say(memory, "my sister breeds alpacas")
        await memory.flush(scope)
        await memory.vectors_settled()
        [one] = (await memory.search(scope, "sister breeds")).hits
        await memory.update_memory(scope, one.item.memory_id, "my sister breeds rabbits")
        await memory.vectors_settled()
        found = await memory.search(scope, "sister breeds alpacas")
        assert [hit.item.content for hit in found.hits] == ["my sister breeds rabbits"]


async def test_an_emptied_agent_is_in_no_index(
    searching: Searching, say: Say, scope: Scope, messages_found: MessagesFound
) -> None:
    async with searching(strategy="embedding") as memory:
        await say(memory, "my sister breeds alpacas")
        await memory.vectors_settled()
        assert await messages_found(memory, "sister breeds")
        await memory.clear(scope.instance, [f"chat_memory-{scope.team}-{scope.agent}"])
        assert await messages_found(memory, "sister breeds") == []
        await say(memory, "my brother breeds llamas", session="s2")
        await memory.vectors_settled()
        assert await messages_found(memory, "breeds") == ["my brother breeds llamas"]


async def test_places_of_deleted_rows_go_to_others(
    store: SqliteStore, scope: Scope, clock: FakeClock, new_memory: Build
) -> None:
    """Two hundred of the nearest rows went behind the index's back; the rest is found all the same."""
    rows = await keep(store, scope, [new_memory(f"honey tea {n}") for n in range(220)])
    await keep(store, scope, [new_memory("honey tea with a friend from the city")])
    async with by_meaning(store, clock) as search:
        await search.texts(scope, "honey tea")
        gone = [row.memory_id for row in rows[20:]]
        await store.write(lambda r: r.erasure.memories(scope, gone, None))
        found = await search.texts(scope, "honey tea", limit=50)
        assert sorted(found) == sorted([*(row.content for row in rows[:20]), "honey tea with a friend from the city"])


@pytest.mark.parametrize("harm", ["missing", "damaged", "cut short", "of another model"])
async def test_an_index_file_that_cannot_be_used_is_built_again_with_the_same_answers(
    store: SqliteStore, scope: Scope, clock: FakeClock, new_memory: Build, faiss_there: None, harm: str
) -> None:
    await keep(store, scope, [new_memory(text) for text in tales(600)])
    answers = []
    for _ in range(2):
        async with by_meaning(store, clock, large_rows=100) as search:
            await search.finder.find(MEMORIES, scope, "honey", MemoryFilter(), 5)
            await asyncio.to_thread(search.registry.settle)
            answers.append([await search.texts(scope, query) for query in QUERIES])
            assert search.registry.status().last_failure == ""
        [file] = (store.folder / "vectors").glob("*.vectors")
        whole = file.read_bytes()
        match harm:
            case "missing":
                file.unlink()
            case "damaged":
                file.write_bytes(whole[:-100] + bytes(100))
            case "cut short":
                file.write_bytes(whole[: len(whole) // 2])
            case _:
                file.write_bytes(whole.replace(b"hash/64", b"hash/65", 1))
    assert answers[0] == answers[1]
    assert all(answers[0])


@pytest.mark.parametrize("loaded", [True, False])
async def test_a_deletion_takes_the_index_file_that_held_the_row(
    searching: Searching, say: Say, scope: Scope, tmp_path: Path, loaded: bool
) -> None:
    """Also where no embedder is configured any more: the file lies there from before."""
    async with searching(distills=False, **({} if loaded else {"embedder": None})) as memory:
        await say(memory, "my sister breeds alpacas", session="secret")
        await memory.vectors_settled()
        folder = IndexFolder(tmp_path / "vectors", "any", 1)
        key = await memory._store.read(lambda r: r.vectors.scope_key("messages", scope))
        assert key is not None
        file = folder._file(tmp_path / "vectors", key)
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(b"of large scopes only, so this stands for one")
        await memory.delete_messages(scope, session_ids=["secret"])
        assert not file.exists()


async def test_an_index_that_cannot_be_compared_with_the_store_after_a_deletion_is_dropped(
    store: SqliteStore, scope: Scope, clock: FakeClock, new_memory: Build
) -> None:
    """The deletion itself has been committed, so it is no failure; the index is loaded anew by the next search."""

    class Unreadable(SqliteVectorRows):
        def seqs(self, scope_key: str) -> Any:
            raise Unavailable("reading took too long")

    rows = await keep(store, scope, [new_memory("honey tea"), new_memory("honey with mint")])
    settings = EmbeddingSettings()
    meaning = Meaning(
        HashEmbedder(64), store, lambda model: Unreadable(store.file, model), settings, clock, store.folder
    )
    running = asyncio.create_task(meaning.run())
    try:
        await meaning.settled()
        finder = Finder(store, clock, UTC, RecallSettings(strategy="embedding"), meaning)
        assert len((await finder.find(MEMORIES, scope, "honey", MemoryFilter(), 5)).hits) == 2
        await store.write(lambda r: r.erasure.memories(scope, [rows[0].memory_id], None))
        await meaning.forget(scope)
        assert (await meaning.health()).details["indexes"] == 0
        found = await finder.find(MEMORIES, scope, "honey", MemoryFilter(), 5)
        assert [hit.item.content for hit in found.hits] == ["honey with mint"]
    finally:
        meaning.stop()
        await running
        await meaning.close()


async def test_a_deletion_takes_the_vectors_that_the_embedder_keeps(
    store: SqliteStore, scope: Scope, clock: FakeClock, new_memory: Build
) -> None:
    rows = await keep(store, scope, [new_memory("honey tea")])
    cache = VectorCache()
    embedder = CachedEmbedder(HashEmbedder(64), cache)
    meaning = Meaning(embedder, store, store.vector_rows, EmbeddingSettings(), clock, store.folder)
    running = asyncio.create_task(meaning.run())
    try:
        await meaning.settled()
        assert cache.memory_bytes > 0
        await store.write(lambda r: r.erasure.memories(scope, [rows[0].memory_id], None))
        await meaning.forget(scope)
        assert cache.memory_bytes == 0
    finally:
        meaning.stop()
        await running
        await meaning.close()


async def test_a_deletion_takes_the_texts_that_a_search_keeps(searching: Searching, say: Say, scope: Scope) -> None:
    async with searching(embedder=None, distills=False) as memory:
        await say(memory, "my sister breeds alpacas", session="secret")
        assert (await memory.search_messages(scope, "alpacas")).hits
        assert words._kept.cache_info().currsize > 0
        await memory.delete_messages(scope, session_ids=["secret"])
        assert words._kept.cache_info().currsize == 0


async def test_a_text_that_is_deleted_just_before_it_is_embedded_is_not_kept_by_the_embedder(
    store: SqliteStore, scope: Scope, clock: FakeClock, new_memory: Build
) -> None:
    """The rows to embed were read before the deletion, and the embedder is asked when it has forgotten."""

    class DeletingFirst(CachedEmbedder):
        async def embed(self, texts: Sequence[str], *, kind: Kind) -> Vectors:
            await store.write(lambda r: r.erasure.memories(scope, [rows[0].memory_id], None))
            await meaning.forget(scope)
            return await super().embed(texts, kind=kind)

    rows = await keep(store, scope, [new_memory("honey tea")])
    inner, cache = HashEmbedder(64), VectorCache()
    meaning = Meaning(DeletingFirst(inner, cache), store, store.vector_rows, EmbeddingSettings(), clock, store.folder)
    running = asyncio.create_task(meaning.run())
    try:
        await meaning.settled()
        assert inner.calls == [("passage", ("honey tea",))]
        assert cache.memory_bytes == 0
    finally:
        meaning.stop()
        await running
        await meaning.close()


async def test_settled_vectors_are_in_an_index_that_is_whole(
    store: SqliteStore, scope: Scope, clock: FakeClock, new_memory: Build
) -> None:
    await keep(store, scope, [new_memory(text) for text in tales(300)])
    meaning = Meaning(HashEmbedder(64), store, store.vector_rows, EmbeddingSettings(), clock, store.folder)
    finder = Finder(store, clock, UTC, RecallSettings(strategy="embedding"), meaning)
    running = asyncio.create_task(meaning.run())
    try:
        await meaning.settled()
        registry = meaning._registry
        assert registry is not None
        registry._large_rows = registry._partial_rows = 100
        degraded = []
        for _ in range(2):
            degraded.append((await finder.find(MEMORIES, scope, "honey", MemoryFilter(), 5)).degraded)
            await meaning.settled()
        assert degraded == [
            ("embedding: the index of 300 vectors is being built, the newest 100 were searched",),
            (),
        ]
    finally:
        meaning.stop()
        await running
        await meaning.close()


async def test_a_row_that_came_after_the_snapshot_is_not_taken_for_a_deleted_one(
    store: SqliteStore, scope: Scope, clock: FakeClock, new_memory: Build
) -> None:
    """A search reads a snapshot while rows are indexed: what the snapshot does not know may be newer, not gone."""
    await keep(store, scope, [new_memory(f"honey tea {n}") for n in range(3)])
    async with by_meaning(store, clock) as search:
        leg = search.finder._meaning.leg
        assert leg is not None
        vector = await leg.vector_of("honey tea")
        reading, written = threading.Event(), threading.Event()

        def search_late(r: Repositories) -> list[str]:
            r.memories.size(scope)  # the snapshot begins
            reading.set()
            assert written.wait(20)
            hits, _ = leg.hits(r, MEMORIES, scope, vector, MemoryFilter(), 3)
            return [hit.item.content for hit in hits]

        await search.texts(scope, "honey tea")
        late = asyncio.create_task(store.read(search_late))
        await asyncio.to_thread(reading.wait, 20)
        await keep(store, scope, [new_memory("honey tea"), new_memory("honey tea honey tea")])
        await search.backfill.settled()
        written.set()
        assert sorted(await late) == ["honey tea 0", "honey tea 1", "honey tea 2"]
        hits, _ = await store.read(lambda r: leg.hits(r, MEMORIES, scope, vector, MemoryFilter(), 10))
        assert len(hits) == 5
