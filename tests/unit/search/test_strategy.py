"""Which legs a search asks, how long it waits, and what an answer says about one that took no part."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC
from functools import partial
from typing import Any

import pytest

from memstrata.distill.atoms.candidates import Likeness, near_to
from memstrata.errors import Unavailable
from memstrata.records import MemoryDraft, NewMemory, Scope
from memstrata.search import MEMORIES, Finder, Meaning
from memstrata.search.vector import calibration_of
from memstrata.settings import EmbeddingSettings, RecallSettings
from memstrata.store.protocol import Repositories
from memstrata.store.shapes import MemoryFilter
from memstrata.store.sqlite.store import SqliteStore
from memstrata.testing import FakeClock, HashEmbedder
from memstrata.vectors.protocol import Kind, Vectors

Opened = Callable[..., AbstractAsyncContextManager[Finder]]


class Silent(HashEmbedder):
    """Embeds passages, and answers no question."""

    async def embed(self, texts: Sequence[str], *, kind: Kind) -> Vectors:
        if kind == "query":
            self.calls.append((kind, tuple(texts)))
            await asyncio.Event().wait()
        return await super().embed(texts, kind=kind)


@pytest.fixture
def opened(store: SqliteStore, scope: Scope, clock: FakeClock, new_memory: Callable[..., NewMemory]) -> Opened:
    """Return a way to open a search over two memories that have their vectors: `async with opened(embedder, …)`."""

    def kept(memory: NewMemory, r: Repositories) -> None:
        r.memories.add(scope, scope.profile("agent"), memory)

    @asynccontextmanager
    async def build(embedder: HashEmbedder | None, patience: float = 20.0, **recall: Any) -> AsyncIterator[Finder]:
        for text in ("my sister breeds alpacas", "the ferry leaves at nine"):
            await store.write(partial(kept, new_memory(text)))
        settings = EmbeddingSettings(query_timeout_seconds=patience)
        meaning = Meaning(embedder, store, store.vector_rows, settings, clock, store.folder)
        running = asyncio.create_task(meaning.run())
        try:
            await meaning.settled()
            yield Finder(store, clock, UTC, RecallSettings(**recall), meaning)
        finally:
            meaning.stop()
            await running
            await meaning.close()

    return build


def defective() -> HashEmbedder:
    embedder = HashEmbedder(256)
    embedder.failing = ZeroDivisionError("sister alpacas")
    return embedder


def failing() -> HashEmbedder:
    embedder = HashEmbedder(256)
    embedder.failing = Unavailable("the endpoint is down")
    return embedder


@pytest.mark.parametrize(
    ("strategy", "build", "legs", "degraded"),
    [
        ("keyword", lambda: None, {"keyword"}, ()),
        ("keyword", lambda: HashEmbedder(256), {"keyword"}, ()),
        ("keyword", failing, {"keyword"}, ()),
        ("hybrid", lambda: None, {"keyword"}, ()),
        ("hybrid", lambda: HashEmbedder(256), {"keyword", "vector"}, ()),
        ("hybrid", failing, {"keyword"}, ("embedding: the endpoint is down",)),
        ("hybrid", defective, {"keyword"}, ("embedding: failed: ZeroDivisionError",)),
        ("embedding", defective, {"keyword"}, ("embedding: failed: ZeroDivisionError",)),
        ("embedding", lambda: None, {"keyword"}, ("embedding: no embedder configured",)),
        ("embedding", lambda: HashEmbedder(256), {"vector"}, ()),
        ("embedding", failing, {"keyword"}, ("embedding: the endpoint is down",)),
    ],
)
@pytest.mark.parametrize("fusion", ["calibrated", "rrf"])
async def test_the_strategy_and_what_is_there_decide_which_legs_answer(
    opened: Opened,
    scope: Scope,
    strategy: str,
    build: Callable[[], HashEmbedder | None],
    legs: set[str],
    degraded: tuple[str, ...],
    fusion: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with opened(build(), strategy=strategy, fusion=fusion) as finder:
        found = await finder.find(MEMORIES, scope, "sister alpacas", MemoryFilter(), 5)
        assert [hit.item.content for hit in found.hits] == ["my sister breeds alpacas"]
        assert set(found.hits[0].legs) == legs
        assert found.degraded == degraded
    assert "alpacas" not in caplog.text


@pytest.mark.parametrize(("patience", "within"), [(0.02, None), (20.0, 0.02)])
async def test_neither_the_embedders_time_nor_a_part_of_the_callers_is_exceeded(
    opened: Opened, scope: Scope, patience: float, within: float | None
) -> None:
    async with opened(Silent(256), patience=patience) as finder:
        found = await finder.find(MEMORIES, scope, "sister alpacas", MemoryFilter(), 5, within_seconds=within)
        assert [hit.item.content for hit in found.hits] == ["my sister breeds alpacas"]
        assert found.degraded == ("embedding: the embedder did not answer in time",)
        assert finder.failures["embedding"] == 1


async def test_where_one_leg_took_part_its_score_stands_whatever_the_fusion(opened: Opened, scope: Scope) -> None:
    """A rank says 1.0 of the best of bad rows; a floor on the score would mean nothing."""
    async with opened(failing(), fusion="rrf") as finder:
        broad = "does my sister know the timetable of that wonderful opera house"
        ranked = await finder.find(MEMORIES, scope, broad, MemoryFilter(), 5, weighted=False)
    assert ranked.hits[0].score == ranked.hits[0].legs["keyword"] < 1.0


@pytest.mark.parametrize("query", ["", "  ", "?!…", "🦙🦙", "——"])
async def test_a_query_without_a_letter_or_a_figure_is_sent_to_no_model(
    opened: Opened, scope: Scope, query: str
) -> None:
    embedder = HashEmbedder(256)
    async with opened(embedder, strategy="embedding") as finder:
        found = await finder.find(MEMORIES, scope, query, MemoryFilter(), 5)
        assert (found.hits, found.degraded) == ((), ())
    assert [kind for kind, _ in embedder.calls if kind == "query"] == []


async def test_nonsense_passes_no_leg_but_a_strange_word_of_the_scope_does(
    opened: Opened, store: SqliteStore, scope: Scope, new_memory: Callable[..., NewMemory]
) -> None:
    """The model has a vector for both, and it is near to itself; only the words of the scope tell them apart."""
    nonsense = "xqzkvwjpfq bxzqk"
    async with opened(HashEmbedder(256), strategy="embedding") as finder:
        assert (await finder.find(MEMORIES, scope, nonsense, MemoryFilter(), 5)).hits == ()
    await store.write(lambda r: r.memories.add(scope, scope.profile("agent"), new_memory(nonsense)))
    async with opened(HashEmbedder(256), strategy="embedding") as finder:
        found = await finder.find(MEMORIES, scope, nonsense, MemoryFilter(), 5)
        assert [hit.item.content for hit in found.hits] == [nonsense]


def test_what_counts_as_alike_is_the_models_own() -> None:
    builtin = calibration_of("builtin/multilingual-e5-small-q4/1571fc982750/384/symmetric")
    usual = calibration_of("openai/api.example.com/v1/any/own")
    assert builtin.scale.low < builtin.floor < builtin.alike < 1
    assert usual.floor < usual.alike < builtin.alike
    assert builtin.floor < builtin.listed < builtin.alike
    assert usual.listed == usual.floor


async def test_a_draft_is_compared_with_what_its_models_calibration_calls_alike(opened: Opened, scope: Scope) -> None:
    """By meaning alone, and without shared words counted: a cosine of .89 is alike to this model, not to the built-in."""
    draft = MemoryDraft("my sister breeds alpacas too", "episodic", 80, (1,))
    likeness = Likeness(lambda _: (), "")
    async with opened(HashEmbedder(2_048), strategy="embedding") as finder:
        store = finder._store
        assert finder.alike == calibration_of("hash").alike
        near = await near_to(store, finder, scope, draft, likeness)
        assert [row.content for row in near.rows] == ["my sister breeds alpacas"]
        far = await near_to(store, finder, scope, MemoryDraft("my ferry", "episodic", 80, (1,)), likeness)
        assert far.rows == ()


@pytest.mark.parametrize(("embedder", "most"), [(None, 10_000), (HashEmbedder(64), 3_000)])
async def test_beside_the_vector_leg_common_words_are_looked_for_less(
    opened: Opened, scope: Scope, monkeypatch: pytest.MonkeyPatch, embedder: HashEmbedder | None, most: int
) -> None:
    asked: list[int] = []

    def noted(*args: Any, postings: int, **given: Any) -> list[Any]:
        asked.append(postings)
        return []

    monkeypatch.setattr("memstrata.search.finder.keyword_leg", noted)
    async with opened(embedder) as finder:
        await finder.find(MEMORIES, scope, "when does the ferry leave", MemoryFilter(), 5)

    assert asked == [most]
