"""Search by meaning as it is seen over HTTP: a real server, whose embedder is a real endpoint that a test holds up."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from memstrata.client import AsyncMemoryClient
from memstrata.settings import EmbeddingSettings, RecallSettings
from memstrata.testing.embeddings import HANG, EmbeddingStatus, ScriptedEmbeddings

Start = Callable[..., AbstractAsyncContextManager[str]]
Eventually = Callable[..., Awaitable[None]]

TURN = [
    ("user", "Remember: I live in Lisbon and I love oolong tea.."),
    ("assistant", "I will keep that in mind."),
]


@pytest.fixture
async def endpoint() -> AsyncIterator[ScriptedEmbeddings]:
    async with ScriptedEmbeddings(512) as server:
        yield server


@pytest.fixture
def connected(
    start: Start, endpoint: ScriptedEmbeddings
) -> Callable[..., AbstractAsyncContextManager[AsyncMemoryClient]]:
    """Return a way to run a server with the endpoint's model: `async with connected("small", strategy=…) as client`."""

    @asynccontextmanager
    async def opened(
        model: str = "small", query_timeout_seconds: float = 20.0, dimensions: int = 512, **recall: object
    ) -> AsyncIterator[AsyncMemoryClient]:
        embedding = EmbeddingSettings(
            "openai",
            endpoint.base_url,
            model=model,
            dimensions=dimensions,
            query_timeout_seconds=query_timeout_seconds,
        )
        settings = RecallSettings(**recall)  # type: ignore[arg-type]
        async with (
            start(embedding=embedding, recall=settings) as url,
            AsyncMemoryClient(url, team="acme", agent="helper", user="maya", session="s1") as client,
        ):
            yield client

    return opened


Connected = Callable[..., AbstractAsyncContextManager[AsyncMemoryClient]]


async def embedded(client: AsyncMemoryClient) -> bool:
    about = (await client.health()).components["embedding"]
    return bool(about["state"] == "ok" and about["details"]["missing"] == 0)


async def test_every_item_says_which_leg_found_it_with_which_score(
    connected: Connected, eventually: Eventually
) -> None:
    async with connected() as client:
        await client.add(TURN)
        await client.flush()
        await eventually(lambda: embedded(client))
        for found in (
            await client.search("who loves oolong tea"),
            await client.search_messages("who loves oolong tea"),
            await client.recall("who loves oolong tea", budget_ms=60_000),
        ):
            assert found.degraded == ()
            first = found.hits[0]
            assert "oolong" in first.item.content
            assert set(first.legs) == {"keyword", "vector"}
            assert all(0 < score <= 1 for score in first.legs.values())


async def test_no_write_waits_for_the_embedder_and_its_text_is_found_by_words(
    connected: Connected, endpoint: ScriptedEmbeddings
) -> None:
    endpoint.always(lambda _: HANG)
    async with connected(query_timeout_seconds=0.05) as client:
        await client.add(TURN)
        await client.flush()
        await endpoint.received(1)
        found = await client.search("who loves oolong tea")
        assert set(found.hits[0].legs) == {"keyword"}
        assert found.degraded[0].startswith("embedding: ")
        assert not await embedded(client)


async def test_a_slow_embedder_costs_a_recall_its_leg_and_not_the_answer(
    connected: Connected, endpoint: ScriptedEmbeddings, eventually: Eventually
) -> None:
    async with connected(query_timeout_seconds=60.0) as client:
        await client.add(TURN)
        await client.flush()
        await eventually(lambda: embedded(client))
        endpoint.script(HANG)
        late = await client.recall("who loves oolong tea", budget_ms=2_000)
        assert late.degraded == ("embedding: the embedder did not answer in time",)
        assert set(late.hits[0].legs) == {"keyword"}
        assert "oolong" in late.prepend_context
        again = await client.recall("who loves oolong tea", budget_ms=60_000)
        assert (set(again.hits[0].legs), again.degraded) == ({"keyword", "vector"}, ())


@pytest.mark.parametrize("strategy", ["hybrid", "embedding"])
async def test_another_model_leaves_the_service_up_by_words_and_says_so_until_it_has_caught_up(
    connected: Connected, endpoint: ScriptedEmbeddings, eventually: Eventually, strategy: str
) -> None:
    async with connected("small") as client:
        await client.add(TURN)
        await client.flush()
        await eventually(lambda: embedded(client))

    held: list[bool] = [True]
    question = "who loves oolong tea"
    endpoint.always(lambda request: HANG if held and question not in request.texts else None)
    async with connected("large", strategy=strategy) as client:
        await endpoint.received(len(endpoint.requests) + 1)
        found = await client.search(question)
        assert {leg for hit in found.hits for leg in hit.legs} == {"keyword"}
        assert found.degraded == ("embedding: vectors are being made; what has none is found by keyword",)
        recalled = await client.recall(question, budget_ms=60_000)
        assert "oolong" in recalled.prepend_context
        assert recalled.degraded == found.degraded
    held.clear()
    async with connected("large", strategy=strategy) as client:
        await eventually(lambda: embedded(client))
        found = await client.search(question)
        assert "vector" in found.hits[0].legs
        assert found.degraded == ()


@pytest.mark.parametrize("dimensions", [512, 0], ids=["of the first batch", "of the first call at all"])
async def test_a_refused_key_is_tried_again_when_the_operator_says_that_it_is_mended(
    connected: Connected, endpoint: ScriptedEmbeddings, eventually: Eventually, dimensions: int
) -> None:
    refused: list[bool] = [True]
    endpoint.always(lambda _: EmbeddingStatus(401, "no such key") if refused else None)
    async with connected(dimensions=dimensions) as client:
        await client.add(TURN)

        async def stopped() -> bool:
            return bool((await client.health()).components["embedding"]["state"] == "failed")

        await eventually(stopped)
        asked = len(endpoint.requests)
        refused.clear()
        found = await client.search_messages("who loves oolong tea")
        assert set(found.hits[0].legs) == {"keyword"}
        assert "no such key" in found.degraded[0]
        assert len(endpoint.requests) == asked
        await client.retry()
        await eventually(lambda: embedded(client))
        assert "vector" in (await client.search_messages("who loves oolong tea")).hits[0].legs
