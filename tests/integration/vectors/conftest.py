"""A scripted embeddings endpoint behind a real socket, and embedders that talk to it under a clock that is moved."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from memstrata.testing import FakeClock
from memstrata.testing.embeddings import ScriptedEmbeddings
from memstrata.vectors.openai import EmbeddingChoice, OpenAIEmbedder


@pytest.fixture
async def endpoint() -> AsyncIterator[ScriptedEmbeddings]:
    async with ScriptedEmbeddings(dimensions=16) as server:
        yield server


@pytest.fixture
async def embedder(endpoint: ScriptedEmbeddings, clock: FakeClock) -> AsyncIterator[Callable[..., OpenAIEmbedder]]:
    """Return a builder: `embedder(dimensions=16)`; keywords are fields of the choice, and `breaker`."""
    made: list[OpenAIEmbedder] = []

    def build(**given: Any) -> OpenAIEmbedder:
        own = {"breaker": given.pop("breaker")} if "breaker" in given else {}
        usual: dict[str, Any] = {"base_url": endpoint.base_url, "model": "small", "api_key": "sk-secret-1"}
        usual |= {"query_timeout_seconds": 20.0, "timeout_seconds": 20.0}
        made.append(OpenAIEmbedder(EmbeddingChoice(**{**usual, **given}), clock, **own))
        return made[-1]

    yield build
    for one in made:
        await one.close()
