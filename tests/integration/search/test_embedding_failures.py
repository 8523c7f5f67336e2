"""User need B42: an endpoint that fails in every way costs the vector leg and nothing else, and is recovered from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from memstrata.memory import Memory
from memstrata.records import Scope
from memstrata.settings import EmbeddingSettings
from memstrata.testing import FakeClock, HashEmbedder
from memstrata.testing.embeddings import HANG, EmbeddingAnswer, EmbeddingRequest, EmbeddingStatus, ScriptedEmbeddings
from memstrata.vectors.protocol import Kind, Vectors

Searching = Callable[..., AbstractAsyncContextManager[Memory]]
Say = Callable[..., Awaitable[None]]
AtEndpoint = Callable[..., EmbeddingSettings]

TEXTS = ("the ferry leaves at nine", "my sister breeds alpacas", "void is the name of the boat", "honey from the hills")
VOID = TEXTS[2]


def changed(change: Callable[[list[float]], list[float]]) -> Callable[[EmbeddingRequest], EmbeddingAnswer | None]:
    """Return a rule that spoils the vector of the text with the word `void` in every answer."""

    def rule(request: EmbeddingRequest) -> EmbeddingAnswer | None:
        def spoiled(payload: dict[str, Any]) -> dict[str, Any]:
            for place, text in enumerate(request.texts):
                if "void" in text:
                    row = payload["data"][place]
                    row["embedding"] = change(row["embedding"])
            return payload

        return spoiled

    return rule


async def message_counts(memory: Memory) -> tuple[int, int, int]:
    coverage = (await memory.vector_coverage())["messages"]
    return coverage.rows, coverage.missing, coverage.refused


@pytest.mark.parametrize(
    "change",
    [lambda row: [0.0] * len(row), lambda row: row[:100], lambda row: [*row, 1.0], lambda row: [1e999] * len(row)],
    ids=["zeros", "too short", "too long", "infinite"],
)
async def test_a_vector_that_cannot_be_used_is_refused_and_its_text_found_by_words(
    searching: Searching,
    say: Say,
    scope: Scope,
    endpoint: ScriptedEmbeddings,
    at_endpoint: AtEndpoint,
    change: Callable[[list[float]], list[float]],
) -> None:
    endpoint.always(changed(change))
    async with searching(distills=False, embedder=None, embedding=at_endpoint(dimensions=512)) as memory:
        await say(memory, *TEXTS)
        await memory.vectors_settled()
        assert await message_counts(memory) == (4, 0, 1)
        found = await memory.search_messages(scope, "name of the boat")
        assert (found.hits[0].item.content, set(found.hits[0].legs)) == (VOID, {"keyword"})
        assert all("vector" in hit.legs for hit in (await memory.search_messages(scope, "honey hills")).hits)


async def test_a_refused_text_is_not_sent_again_at_once_but_after_an_hour_and_after_a_restart(
    searching: Searching,
    say: Say,
    endpoint: ScriptedEmbeddings,
    at_endpoint: AtEndpoint,
    embedded_texts: Callable[[], Sequence[str]],
    clock: FakeClock,
) -> None:
    mended: list[bool] = []
    spoil = changed(lambda row: [0.0] * len(row))
    endpoint.always(lambda request: None if mended else spoil(request))
    async with searching(distills=False, embedder=None, embedding=at_endpoint()) as memory:
        await say(memory, *TEXTS)
        for _ in range(3):
            await memory.vectors_settled()
        assert list(embedded_texts()).count(VOID) == 1
        clock.advance(3_601)
        await memory.vectors_settled()
        assert list(embedded_texts()).count(VOID) == 2
        assert await message_counts(memory) == (4, 0, 1)
    mended.append(True)
    async with searching(distills=False, embedder=None, embedding=at_endpoint()) as memory:
        await memory.vectors_settled()
        assert await message_counts(memory) == (4, 0, 0)
    assert [list(embedded_texts()).count(text) for text in TEXTS[:2]] == [1, 1]


@pytest.mark.parametrize(
    "refusal", [EmbeddingStatus(400, "this input is not acceptable"), EmbeddingStatus(422, "bad characters")]
)
async def test_one_text_that_an_endpoint_refuses_does_not_keep_back_the_others(
    searching: Searching,
    say: Say,
    endpoint: ScriptedEmbeddings,
    at_endpoint: AtEndpoint,
    refusal: EmbeddingStatus,
) -> None:
    endpoint.always(lambda request: refusal if any("void" in text for text in request.texts) else None)
    async with searching(distills=False, embedder=None, embedding=at_endpoint()) as memory:
        await say(memory, *TEXTS)
        await memory.vectors_settled()
        assert await message_counts(memory) == (4, 0, 1)


async def test_an_endpoint_that_refuses_everything_leaves_no_text_refused(
    searching: Searching,
    say: Say,
    scope: Scope,
    endpoint: ScriptedEmbeddings,
    at_endpoint: AtEndpoint,
    clock: FakeClock,
) -> None:
    mended: list[bool] = []
    endpoint.always(lambda _: None if mended else EmbeddingStatus(404, "no such model"))
    async with searching(embedder=None, embedding=at_endpoint(dimensions=512)) as memory:
        await say(memory, *TEXTS)
        await memory.flush(scope)
        await memory.vectors_settled()
        assert await message_counts(memory) == (4, 4, 0)
        clock.advance(5)
        about = (await memory.health()).components["embedding"]
        assert about.state == "reduced"
        assert "no such model" in about.reason
        found = await memory.search(scope, "alpacas")
        assert [hit.item.content for hit in found.hits] == [TEXTS[1]]
        assert "no such model" in found.degraded[0]
        mended.append(True)
        await memory.vectors_settled()
        assert await message_counts(memory) == (4, 0, 0)


async def test_an_endpoint_that_hangs_costs_a_question_its_vector_leg_and_no_more(
    searching: Searching, say: Say, scope: Scope, endpoint: ScriptedEmbeddings, at_endpoint: AtEndpoint
) -> None:
    async with searching(distills=False, embedder=None, embedding=at_endpoint(query_timeout_seconds=0.05)) as memory:
        await say(memory, *TEXTS)
        await memory.vectors_settled()
        endpoint.script(HANG)
        found = await memory.search_messages(scope, "who breeds alpacas")
        assert [hit.item.content for hit in found.hits] == [TEXTS[1]]
        [why] = found.degraded
        assert why.startswith("embedding: ")
        again = await memory.search_messages(scope, "who breeds alpacas")
        assert (set(again.hits[0].legs), again.degraded) == ({"keyword", "vector"}, ())


async def test_recall_gives_the_embedder_only_a_part_of_its_own_time(
    searching: Searching, say: Say, scope: Scope, endpoint: ScriptedEmbeddings, at_endpoint: AtEndpoint
) -> None:
    """The memories that words find must arrive within the caller's deadline, whatever the embedder does."""
    async with searching(embedder=None, embedding=at_endpoint(query_timeout_seconds=60.0)) as memory:
        await say(memory, *TEXTS)
        await memory.flush(scope)
        await memory.vectors_settled()
        endpoint.script(HANG)
        recalled = await memory.recall(scope, "who breeds alpacas", budget_ms=2_000)
        assert [hit.item.content for hit in recalled.hits] == [TEXTS[1]]
        assert recalled.degraded == ("embedding: the embedder did not answer in time",)


async def test_the_breaker_spares_an_endpoint_that_fails_and_lets_one_call_try_it_later(
    searching: Searching,
    say: Say,
    scope: Scope,
    endpoint: ScriptedEmbeddings,
    at_endpoint: AtEndpoint,
    clock: FakeClock,
) -> None:
    mended: list[bool] = []
    endpoint.always(lambda _: None if mended else EmbeddingStatus(500, "out of memory"))
    async with searching(distills=False, embedder=None, embedding=at_endpoint(dimensions=512)) as memory:
        await say(memory, *TEXTS)
        for _ in range(5):
            await memory.vectors_settled()
        asked = len(endpoint.requests)
        await memory.vectors_settled()
        found = await memory.search_messages(scope, "alpacas")
        assert len(endpoint.requests) == asked
        assert [hit.item.content for hit in found.hits] == [TEXTS[1]]
        assert found.degraded[0].startswith("embedding: not asked")
        assert (await memory.health()).components["embedding"].state == "reduced"

        clock.advance(16)
        for _ in range(2):  # the probe, which fails as well; then none
            await memory.vectors_settled()
        assert len(endpoint.requests) == asked + 1
        mended.append(True)
        clock.advance(31)
        await memory.vectors_settled()
        assert await message_counts(memory) == (4, 0, 0)


async def test_new_messages_do_not_hurry_an_embedder_that_fails(
    searching: Searching,
    say: Say,
    endpoint: ScriptedEmbeddings,
    at_endpoint: AtEndpoint,
    clock: FakeClock,
    eventually: Callable[..., Awaitable[None]],
) -> None:
    endpoint.always(lambda _: EmbeddingStatus(500, "out of memory"))
    async with searching(distills=False, embedder=None, embedding=at_endpoint(dimensions=512)) as memory:
        await say(memory, "one")
        await memory.vectors_settled()
        asked = len(endpoint.requests)
        for number in range(3):
            await say(memory, f"another {number}")
        assert len(endpoint.requests) == asked

        def tried_again() -> bool:
            clock.advance(6)
            return len(endpoint.requests) > asked

        await eventually(tried_again)


async def test_a_rate_limit_is_waited_out(
    searching: Searching, say: Say, endpoint: ScriptedEmbeddings, at_endpoint: AtEndpoint, clock: FakeClock
) -> None:
    endpoint.script(EmbeddingStatus(429, "slow down", retry_after="120"))
    async with searching(distills=False, embedder=None, embedding=at_endpoint(dimensions=512)) as memory:
        await say(memory, *TEXTS)
        await memory.vectors_settled()
        await memory.vectors_settled()
        assert len(endpoint.requests) == 1
        clock.advance(121)
        await memory.vectors_settled()
        assert await message_counts(memory) == (4, 0, 0)


async def test_contents_of_refused_texts_are_in_no_log(
    searching: Searching,
    say: Say,
    endpoint: ScriptedEmbeddings,
    at_endpoint: AtEndpoint,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def refusal(request: EmbeddingRequest) -> EmbeddingAnswer | None:
        guilty = [text for text in request.texts if "void" in text]
        return EmbeddingStatus(400, f"cannot embed {guilty[0]}") if guilty else None

    endpoint.always(refusal)
    with caplog.at_level("DEBUG"):
        async with searching(distills=False, embedder=None, embedding=at_endpoint()) as memory:
            await say(memory, *TEXTS)
            await memory.vectors_settled()
            assert await message_counts(memory) == (4, 0, 1)
    logged = " ".join(record.getMessage() for record in caplog.records if record.name.startswith("memstrata.search"))
    assert "1 of 4 texts have no vector" in logged
    assert "void" not in logged


async def test_an_embedder_that_raises_what_is_no_error_of_the_house_is_asked_again(
    searching: Searching, say: Say, clock: FakeClock
) -> None:
    class Faulty(HashEmbedder):
        mended = False

        async def embed(self, texts: Sequence[str], *, kind: Kind) -> Vectors:
            if kind == "passage" and "alpacas" in texts[0] and not self.mended:
                raise ZeroDivisionError(texts[0])
            return await super().embed(texts, kind=kind)

    embedder = Faulty()
    async with searching(distills=False, embedder=embedder) as memory:
        await say(memory, "my sister breeds alpacas")
        await memory.vectors_settled()
        told = (await memory.health()).components["embedding"]
        assert (told.state, told.reason) == ("reduced", "vectors are missing: ZeroDivisionError")
        embedder.mended = True
        clock.advance(3_600)
        await memory.vectors_settled()
        assert await message_counts(memory) == (1, 0, 0)
