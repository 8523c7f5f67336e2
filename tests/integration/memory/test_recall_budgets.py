"""A recall within its time and its tokens: one deadline for all of it, and an embedder that costs its own leg."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

import pytest

from memstrata.memory import Memory, MessageInput
from memstrata.recall import Leg
from memstrata.records import Scope
from memstrata.settings import EmbeddingSettings, RecallSettings, Settings
from memstrata.store.protocol import Repositories, Store
from memstrata.testing import EchoDistiller, FakeClock, HashEmbedder
from memstrata.text.tokens import count_tokens
from memstrata.vectors.protocol import Kind, Vectors

T = TypeVar("T")
LATE = "embedding: the embedder did not answer in time"


class GatedEmbedder(HashEmbedder):
    """Answers for stored texts at once, for questions when the gate is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()

    async def embed(self, texts: Sequence[str], *, kind: Kind) -> Vectors:
        if kind == "query":
            self.calls.append((kind, tuple(texts)))
            await self.gate.wait()
        return await super().embed(texts, kind=kind)

    @property
    def was_asked(self) -> bool:
        return any(kind == "query" for kind, _ in self.calls)


@pytest.fixture
async def embedder() -> GatedEmbedder:
    return GatedEmbedder()


@pytest.fixture
async def memory(tmp_path: Path, scope: Scope, clock: FakeClock, embedder: GatedEmbedder) -> AsyncIterator[Memory]:
    """A memory that knows something on every layer, and whose embedder is waited for as long as the call allows."""
    settings = Settings(data_dir=tmp_path, embedding=EmbeddingSettings(query_timeout_seconds=600.0))
    opening = Memory.open(settings=settings, distiller=EchoDistiller(), clock=clock, embedder=embedder)
    async with asyncio.timeout(60), opening as opened:
        embedder.gate.set()  # distillation asks it too
        said = [MessageInput("user", text) for text in ("I drink green tea", "My bicycle is red")]
        await opened.add(scope, "s1", said)
        await opened.flush(scope)
        await opened._meaning.settled()
        embedder.gate.clear()
        embedder.calls.clear()
        yield opened


async def test_a_slow_embedder_costs_its_leg_and_nothing_else(
    memory: Memory, scope: Scope, embedder: GatedEmbedder
) -> None:
    recall = await memory.recall(scope, "green tea", budget_ms=1_000)

    assert embedder.was_asked
    assert recall.degraded == (LATE,)
    assert [hit.item.content for hit in recall.hits] == ["I drink green tea"]
    assert set(recall.hits[0].legs) == {"keyword"}
    assert recall.persona is not None
    assert [scene.path for scene in recall.scenes] == ["notes.md"]


async def test_an_embedder_that_answers_in_time_takes_part(
    memory: Memory, scope: Scope, embedder: GatedEmbedder
) -> None:
    embedder.gate.set()
    recall = await memory.recall(scope, "green tea", budget_ms=30_000)

    assert recall.degraded == ()
    assert set(recall.hits[0].legs) == {"keyword", "vector"}


class SlowWords:
    """A store whose reads take seconds, by a loop whose time jumps."""

    def __init__(self, store: Store, jump: Callable[[], None]) -> None:
        self._store = store
        self._jump = jump

    async def read(self, work: Callable[[Repositories], T]) -> T:
        found = await self._store.read(work)
        self._jump()
        return found


async def test_words_that_take_long_leave_the_embedder_the_rest_of_the_time_and_no_more(
    memory: Memory, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Time given to the embedder anew, after the words, would be past the deadline of the whole."""
    loop = asyncio.get_running_loop()
    real, passed = loop.time, [0.0]
    monkeypatch.setattr(loop, "time", lambda: real() + passed[0])

    def jump() -> None:
        passed[0] = 9.0

    monkeypatch.setattr(memory._finder, "_store", SlowWords(memory._store, jump))
    recall = await memory.recall(scope, "green tea", budget_ms=10_000)

    assert recall.degraded == (LATE,)
    assert [hit.item.content for hit in recall.hits] == ["I drink green tea"]


@pytest.mark.parametrize("include", [["persona"], ["scenes"], ["persona", "scenes"], []])
async def test_what_is_not_included_is_not_looked_for(
    memory: Memory, scope: Scope, embedder: GatedEmbedder, include: list[Leg]
) -> None:
    recall = await memory.recall(scope, "green tea", include=include)

    assert not embedder.was_asked
    assert (recall.hits, recall.degraded, recall.prepend_context) == ((), (), "")
    assert (recall.persona is not None, bool(recall.scenes)) == ("persona" in include, "scenes" in include)


async def test_both_blocks_keep_to_the_tokens_of_the_call(
    memory: Memory, scope: Scope, embedder: GatedEmbedder
) -> None:
    embedder.gate.set()
    whole = await memory.recall(scope, "green tea and bicycle")
    for tokens in (1, 60, 90, 120, 180, 260):
        recall = await memory.recall(scope, "green tea and bicycle", max_tokens=tokens)
        blocks = (recall.prepend_context, recall.append_system_context)
        assert sum(map(count_tokens, blocks)) <= tokens
        assert (recall.hits, recall.persona, recall.scenes) == (whole.hits, whole.persona, whole.scenes)
        assert recall.degraded == ()
    alone = await memory.recall(scope, "green tea", max_tokens=120, include=["persona"])
    assert "A person with 2 notes." in alone.append_system_context


async def test_the_tokens_of_the_settings_hold_unless_the_call_names_its_own(
    tmp_path: Path, scope: Scope, clock: FakeClock
) -> None:
    settings: Any = Settings(data_dir=tmp_path, recall=RecallSettings(max_tokens=70))
    async with Memory.open(settings=settings, distiller=EchoDistiller(), clock=clock) as memory:
        await memory.add(scope, "s1", [MessageInput("user", "I drink green tea")])
        await memory.flush(scope)

        narrow = await memory.recall(scope, "tea")
        assert 0 < count_tokens(narrow.prepend_context) <= 70
        assert narrow.append_system_context == ""
        wide = await memory.recall(scope, "tea", max_tokens=2_000, include=get_args(Leg))
        assert "memory-tools-guide" in wide.append_system_context
