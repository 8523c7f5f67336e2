"""User need B41: another embedding model. The service stays up by words, says what is missing, and converges by itself."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import apsw
import numpy as np
import pytest

from memstrata.errors import Unavailable
from memstrata.memory import Memory
from memstrata.records import Scope
from memstrata.settings import EmbeddingSettings
from memstrata.store.shapes import VectorKind
from memstrata.testing import EchoDistiller, FakeClock, HashEmbedder
from memstrata.vectors.protocol import Kind, Vectors

Searching = Callable[..., AbstractAsyncContextManager[Memory]]
Say = Callable[..., Awaitable[None]]

TEXTS = tuple(f"note {number} on {topic}" for number, topic in enumerate(["ferries", "alpacas", "honey"] * 4))


class Stepwise(HashEmbedder):
    """Embeds the first `permits` batches of passages, and fails until it is given more."""

    permits = 10_000

    async def embed(self, texts: Sequence[str], *, kind: Kind) -> Vectors:
        if kind == "passage":
            if self.permits == 0:
                raise Unavailable("stopped in the middle")
            self.permits -= 1
        return await super().embed(texts, kind=kind)


def rows_of(folder: Path, *tables: str) -> list[tuple[object, ...]]:
    connection = apsw.Connection(str(folder / "memstrata.db"), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return [row for table in tables for row in connection.execute(f"SELECT * FROM {table} ORDER BY seq")]
    finally:
        connection.close()


def models_of(folder: Path) -> list[tuple[object, ...]]:
    connection = apsw.Connection(str(folder / "memstrata.db"), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return list(connection.execute("SELECT id, name, dimensions FROM vector_models"))
    finally:
        connection.close()


async def counts(memory: Memory) -> dict[VectorKind, tuple[int, int]]:
    return {kind: (one.rows, one.missing) for kind, one in (await memory.vector_coverage()).items()}


async def legs_of(memory: Memory, scope: Scope, query: str) -> set[str]:
    return {leg for hit in (await memory.search(scope, query)).hits for leg in hit.legs}


async def test_each_change_of_the_model_keeps_keyword_search_up_and_converges_without_the_chat_model(
    searching: Searching, say: Say, scope: Scope, distiller: EchoDistiller, tmp_path: Path
) -> None:
    async with searching(embedder=HashEmbedder(768)) as memory:
        await say(memory, *TEXTS)
        await memory.flush(scope)
        await memory.vectors_settled()
        assert await counts(memory) == {"memories": (12, 0), "messages": (12, 0)}
    texts, calls = rows_of(tmp_path, "messages", "memories"), dict(distiller.calls)

    for changed in (HashEmbedder(1_024), HashEmbedder(768), HashEmbedder(768, name="hash/other")):
        changed.failing = Unavailable("not yet")
        async with searching(embedder=changed) as memory:
            await memory.vectors_settled()
            assert await counts(memory) == {"memories": (12, 12), "messages": (12, 12)}
            about = (await memory.health()).components["embedding"]
            assert (about.state, about.details["missing"]) == ("reduced", 24)
            assert await legs_of(memory, scope, "alpacas") == {"keyword"}
            changed.failing = None
            await memory.vectors_settled()
            assert await counts(memory) == {"memories": (12, 0), "messages": (12, 0)}
            assert await legs_of(memory, scope, "alpacas") == {"keyword", "vector"}
        assert rows_of(tmp_path, "messages", "memories") == texts
    assert distiller.calls == calls


async def test_vectors_of_the_old_model_are_never_compared_with_a_question_of_the_new_one(
    searching: Searching, say: Say, scope: Scope
) -> None:
    async with searching(embedder=HashEmbedder(512)) as memory:
        await say(memory, *TEXTS)
        await memory.vectors_settled()
    other = HashEmbedder(512, name="hash/other")
    other.failing = Unavailable("no passages")
    async with searching(embedder=other, strategy="embedding") as memory:
        await memory.vectors_settled()
        other.failing = None
        found = await memory.search_messages(scope, TEXTS[0])  # the question has a vector, no row has one
        assert {leg for hit in found.hits for leg in hit.legs} == {"keyword"}
        assert found.degraded == ("embedding: vectors are being made; what has none is found by keyword",)
        await memory.vectors_settled()
        found = await memory.search_messages(scope, TEXTS[0])
        assert {leg for hit in found.hits for leg in hit.legs} == {"vector"}
        assert found.degraded == ()


async def test_an_embedder_whose_first_answer_is_a_defect_is_asked_again(
    searching: Searching, say: Say, scope: Scope, clock: FakeClock, eventually: Callable[..., Awaitable[None]]
) -> None:
    class Defective(HashEmbedder):
        mended = False

        @property
        def dimensions(self) -> int:
            return super().dimensions if self.mended else 0

        async def embed(self, texts: Sequence[str], *, kind: Kind) -> Vectors:
            if not self.mended:
                raise ZeroDivisionError(texts[0])
            return await super().embed(texts, kind=kind)

    embedder = Defective(512)
    async with searching(embedder=embedder, distills=False) as memory:
        await say(memory, *TEXTS)
        await memory.vectors_settled()
        about = (await memory.health()).components["embedding"]
        assert (about.state, about.reason) == ("reduced", "failed: ZeroDivisionError")
        found = await memory.search_messages(scope, "honey")
        assert (len(found.hits), found.degraded) == (4, ("embedding: failed: ZeroDivisionError",))
        embedder.mended = True

        async def embedded() -> bool:
            clock.advance(31)
            return (await counts(memory)).get("messages") == (12, 0)

        await eventually(embedded)


async def test_what_was_stopped_in_the_middle_goes_on_where_it_was(
    searching: Searching, say: Say, scope: Scope
) -> None:
    async with searching() as memory:
        await say(memory, *TEXTS)
        await memory.flush(scope)
        await memory.vectors_settled()
    stopped, again = Stepwise(1_024), Stepwise(1_024)
    stopped.permits = 2
    small = EmbeddingSettings(batch=5)
    async with searching(embedder=stopped, embedding=small) as memory:
        await memory.vectors_settled()
        assert await counts(memory) == {"memories": (12, 7), "messages": (12, 7)}
    async with searching(embedder=again, embedding=small) as memory:
        await memory.vectors_settled()
        assert await counts(memory) == {"memories": (12, 0), "messages": (12, 0)}
    sent = [text for kind, texts in again.calls if kind == "passage" for text in texts]
    assert sorted(sent) == sorted(TEXTS[5:] * 2)


async def test_another_length_behind_the_same_name_is_another_model(
    searching: Searching, say: Say, scope: Scope
) -> None:
    """An endpoint that takes `dimensions` from its own configuration has one name for both."""
    for dimensions in (512, 640):
        async with searching(embedder=HashEmbedder(dimensions, name="own")) as memory:
            if dimensions == 512:
                await say(memory, *TEXTS)
            await memory.vectors_settled()
            assert (await counts(memory))["messages"] == (12, 0)
            found = await memory.search_messages(scope, "honey")
            assert "vector" in found.hits[0].legs
            assert found.degraded == ()


async def test_an_embedder_that_is_not_there_at_the_start_is_taken_when_it_answers(
    searching: Searching, say: Say, scope: Scope, clock: FakeClock, eventually: Callable[..., Awaitable[None]]
) -> None:
    class Late(HashEmbedder):
        answered = False

        @property
        def dimensions(self) -> int:
            return 512 if self.answered else 0

        async def embed(self, texts: Sequence[str], *, kind: Kind) -> Vectors:
            if self.failing is not None:
                raise self.failing
            self.answered = True
            return await super().embed(texts, kind=kind)

    late = Late(512)
    late.failing = Unavailable("connection refused")
    async with searching(embedder=late) as memory:
        await say(memory, *TEXTS)
        await memory.vectors_settled()
        found = await memory.search_messages(scope, "alpacas")
        assert found.hits
        assert found.degraded == ("embedding: connection refused",)
        assert (await memory.health()).components["embedding"].state == "reduced"
        late.failing = None
        clock.advance(31)

        async def begun() -> bool:
            return bool(await memory.vector_coverage())

        await eventually(begun)
        await memory.vectors_settled()
        found = await memory.search_messages(scope, "alpacas")
        assert "vector" in found.hits[0].legs
        assert found.degraded == ()


async def test_a_stored_vector_is_that_of_its_text_at_half_width_and_tells_model_and_text(
    searching: Searching, say: Say, embedder: HashEmbedder, tmp_path: Path
) -> None:
    async with searching() as memory:
        await say(memory, TEXTS[0])
        await memory.vectors_settled()
    [row] = rows_of(tmp_path, "message_vectors")
    right = (await embedder.embed([TEXTS[0]], kind="passage")).matrix[0]
    _, _, model, content_hash, blob = row
    assert isinstance(blob, bytes)
    assert content_hash == hashlib.blake2b(TEXTS[0].encode(), digest_size=16).digest()
    assert (model, embedder.name, embedder.dimensions) in models_of(tmp_path)
    assert np.allclose(np.frombuffer(blob, dtype="<f2"), right, atol=1e-3)


@pytest.mark.parametrize("dimensions", [0, 512])
async def test_closing_waits_for_no_embedder_that_never_answers(
    searching: Searching, say: Say, embedder: HashEmbedder, dimensions: int
) -> None:
    """Neither in the middle of a batch, nor at the start, when it has not told the length of its vectors."""
    reached = asyncio.Event()

    class Hanging(HashEmbedder):
        @property
        def dimensions(self) -> int:
            return dimensions

        async def embed(self, texts: Sequence[str], *, kind: Kind) -> Vectors:
            if kind == "query":
                raise Unavailable("no questions today")
            reached.set()
            await asyncio.Event().wait()
            raise AssertionError("waited for nothing")

    async with searching(embedder=Hanging()) as memory:
        await say(memory, *TEXTS)
        await reached.wait()
    async with searching() as memory:
        await memory.vectors_settled()
        assert (await counts(memory))["messages"] == (12, 0)
