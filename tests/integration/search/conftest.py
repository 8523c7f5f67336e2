"""A memory that searches by meaning, and what is found in it as plain texts."""

from __future__ import annotations

import importlib.util
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memstrata.memory import Memory, MessageInput
from memstrata.records import Scope
from memstrata.settings import EmbeddingSettings, RecallSettings, Settings
from memstrata.testing import HashEmbedder
from memstrata.testing.embeddings import ScriptedEmbeddings

WIDE = 512  # dimensions in which texts without a common word are far from each other


@pytest.fixture
def embedder() -> HashEmbedder:
    return HashEmbedder(WIDE)


@pytest.fixture
def searching(
    tmp_path: Path, embedder: HashEmbedder, open_memory: Callable[..., AbstractAsyncContextManager[Memory]]
) -> Callable[..., AbstractAsyncContextManager[Memory]]:
    """Return a way to open the test's folder with vectors: `async with searching(strategy="embedding") as memory`.

    Keywords are of RecallSettings; `embedder` takes the place of the test's own, `embedding` are EmbeddingSettings. Where
    nothing `distills`, only the messages are embedded, and nobody but the test searches.
    """

    @asynccontextmanager
    async def opened(**given: Any) -> AsyncIterator[Memory]:
        own = given.pop("embedder", embedder)
        embedding = given.pop("embedding", EmbeddingSettings())
        distills = given.pop("distills", True)
        settings = Settings(data_dir=tmp_path, recall=RecallSettings(**given), embedding=embedding)
        pipeline = replace(settings.pipeline, enabled=distills)
        settings = replace(settings, pipeline=pipeline, mirror=replace(settings.mirror, enabled=False))
        async with open_memory(settings=settings, embedder=own) as memory:
            yield memory

    return opened


@pytest.fixture
def say(scope: Scope) -> Callable[..., Awaitable[None]]:
    """Return a way to store messages in one session: `await say(memory, "one", "two", session="s1")`."""

    async def told(memory: Memory, *texts: str, session: str = "s1", of: Scope = scope, task_id: str = "") -> None:
        await memory.add(of, session, [MessageInput("user", text) for text in texts], task_id=task_id)

    return told


@pytest.fixture
def messages_found(scope: Scope) -> Callable[..., Awaitable[list[str]]]:
    """Return a way to search the messages, which gives their texts, best first."""

    async def found(memory: Memory, query: str, of: Scope = scope, **where: Any) -> list[str]:
        return [hit.item.content for hit in (await memory.search_messages(of, query, **where)).hits]

    return found


@pytest.fixture
async def endpoint() -> AsyncIterator[ScriptedEmbeddings]:
    async with ScriptedEmbeddings(WIDE) as server:
        yield server


@pytest.fixture
def at_endpoint(endpoint: ScriptedEmbeddings) -> Callable[..., EmbeddingSettings]:
    """Return a builder of the settings of an embedder at the scripted endpoint."""

    def build(**given: Any) -> EmbeddingSettings:
        return EmbeddingSettings(provider="openai", base_url=endpoint.base_url, model="small", **given)

    return build


@pytest.fixture
def embedded_texts(endpoint: ScriptedEmbeddings) -> Callable[[], Sequence[str]]:
    """Return a way to see all texts that the endpoint was sent."""
    return lambda: [text for request in endpoint.requests for text in request.texts]


@pytest.fixture
def faiss_there() -> None:
    """Skip a test where the extra `faiss` is not installed."""
    if importlib.util.find_spec("faiss") is None:
        pytest.skip("faiss is not installed: pip install 'memstrata[faiss]'")
