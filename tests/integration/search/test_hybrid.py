"""Words and meaning together: each finds what the other cannot, and an answer says what did not take part."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

import pytest

from memstrata.errors import Unavailable
from memstrata.memory import Memory
from memstrata.records import Scope
from memstrata.testing import EchoDistiller, FakeClock, HashEmbedder

Searching = Callable[..., AbstractAsyncContextManager[Memory]]
Say = Callable[..., Awaitable[None]]
MessagesFound = Callable[..., Awaitable[list[str]]]

# The keyword leg leaves function words out of a question; HashEmbedder does not. So such a question is one of meaning alone.
FUNCTION_WORDS = "what is it that they were"
TALK = ("the ferry to Naxos leaves at nine", "my sister breeds alpacas", FUNCTION_WORDS, "我家的猫叫豆豆")


@pytest.mark.parametrize("fusion", ["calibrated", "rrf"])
async def test_a_row_that_both_legs_find_comes_first_and_tells_both_scores(
    searching: Searching, say: Say, scope: Scope, fusion: str
) -> None:
    async with searching(fusion=fusion) as memory:
        await say(memory, *TALK)
        await memory.vectors_settled()
        for asked, right in (("ferry Naxos", TALK[0]), ("猫叫豆豆", TALK[3])):
            found = await memory.search_messages(scope, asked)
            assert found.hits[0].item.content == right
            assert set(found.hits[0].legs) == {"keyword", "vector"}
            assert found.degraded == ()


async def test_meaning_finds_what_shares_no_indexed_word(
    searching: Searching, say: Say, messages_found: MessagesFound
) -> None:
    async with searching() as memory:
        await say(memory, *TALK)
        await memory.vectors_settled()
        assert await messages_found(memory, FUNCTION_WORDS) == [FUNCTION_WORDS]
    async with searching(strategy="keyword") as memory:
        assert await messages_found(memory, "alpacas") == [TALK[1]]


async def test_by_keyword_the_embedder_is_asked_about_no_question(
    searching: Searching, say: Say, messages_found: MessagesFound, embedder: HashEmbedder
) -> None:
    async with searching(strategy="keyword") as memory:
        await say(memory, *TALK)
        await memory.vectors_settled()
        assert await messages_found(memory, "alpacas") == [TALK[1]]
    assert [kind for kind, _ in embedder.calls if kind == "query"] == []


async def test_by_meaning_alone_the_words_take_no_part(searching: Searching, say: Say, scope: Scope) -> None:
    async with searching(strategy="embedding") as memory:
        await say(memory, *TALK)
        await memory.vectors_settled()
        found = await memory.search_messages(scope, "my sister breeds")
        assert [hit.item.content for hit in found.hits] == [TALK[1]]
        assert [set(hit.legs) for hit in found.hits] == [{"vector"}]
        assert found.degraded == ()


async def test_by_meaning_alone_without_an_embedder_words_are_searched_and_it_is_said(
    searching: Searching, say: Say, scope: Scope
) -> None:
    async with searching(strategy="embedding", embedder=None) as memory:
        await say(memory, *TALK)
        found = await memory.search_messages(scope, "alpacas")
        assert [hit.item.content for hit in found.hits] == [TALK[1]]
        assert found.degraded == ("embedding: no embedder configured",)


async def test_hybrid_without_an_embedder_is_keyword_and_lacks_nothing(
    searching: Searching, say: Say, scope: Scope
) -> None:
    async with searching(embedder=None) as memory:
        await say(memory, *TALK)
        await memory.vectors_settled()
        found = await memory.search_messages(scope, "alpacas")
        assert ([hit.item.content for hit in found.hits], found.degraded) == ([TALK[1]], ())
        assert await memory.vector_coverage() == {}


@pytest.mark.parametrize("strategy", ["hybrid", "embedding", "keyword"])
@pytest.mark.parametrize(
    "nonsense", ["xqzkv wjpfq bxzqk", "zzkqx", "鼗罅謇髹齉", "quantum chromodynamics", "", "?!", "🦙🦙"]
)
async def test_nonsense_an_absent_topic_and_no_words_at_all_find_nothing(
    searching: Searching, say: Say, scope: Scope, strategy: str, nonsense: str
) -> None:
    """User need B44, in every strategy and at both endpoints."""
    async with searching(strategy=strategy) as memory:
        await say(memory, *(f"{text}, note {number}" for number in range(5) for text in TALK))
        await memory.flush(scope)
        await memory.vectors_settled()
        found = await memory.search(scope, nonsense)
        assert (found.hits, found.degraded) == ((), ())
        assert (await memory.recall(scope, nonsense)).hits == ()


@pytest.mark.parametrize("strategy", ["hybrid", "embedding", "keyword"])
async def test_a_rare_name_is_found_among_many_by_a_broad_question_and_recall_agrees_with_search(
    searching: Searching, say: Say, scope: Scope, strategy: str
) -> None:
    """User need B44: neither a threshold nor the size of the pool hides the one row that names it."""
    async with searching(strategy=strategy) as memory:
        for part in range(4):
            notes = [f"weekly meeting note {part * 50 + n} about the project plan" for n in range(50)]
            await say(memory, *notes, session=f"s{part}")
        await say(memory, "Zarathustra joined the project", session="last")
        await memory.flush(scope)
        await memory.vectors_settled()
        broad = "who is Zarathustra that joined the project of the weekly meeting"
        searched = await memory.search(scope, broad)
        recalled = await memory.recall(scope, broad)
        assert searched.hits[0].item.content == "Zarathustra joined the project"
        assert [hit.item.memory_id for hit in recalled.hits] == [hit.item.memory_id for hit in searched.hits]


async def test_memories_get_vectors_when_they_are_distilled_and_when_they_are_corrected(
    searching: Searching, say: Say, scope: Scope, distiller: EchoDistiller, eventually: Callable[..., Awaitable[None]]
) -> None:
    """Nobody waits for the clock: it stands still, so only the writing itself can have told of the rows."""
    async with searching() as memory:
        with distiller.paused("extract"):
            await say(memory, "my sister breeds alpacas")
            await memory.vectors_settled()
        await memory.flush(scope)

        async def complete() -> bool:
            coverage = await memory.vector_coverage()
            return bool(coverage) and coverage["memories"].rows == 1 and coverage["memories"].missing == 0

        await eventually(complete)
        [one] = (await memory.memories(scope)).items
        changed = await memory.update_memory(scope, one.memory_id, "my sister breeds llamas")
        await eventually(complete)

        async def found_by_both() -> bool:
            # The row has its vector a moment before the index that is loaded hears of it.
            [hit] = (await memory.search(scope, "sister breeds")).hits
            return hit.item.seq == changed.seq and set(hit.legs) == {"keyword", "vector"}

        await eventually(found_by_both)


async def test_text_is_found_by_its_words_before_it_has_a_vector(
    searching: Searching, say: Say, scope: Scope, embedder: HashEmbedder
) -> None:
    embedder.failing = Unavailable("the model is loading")
    async with searching() as memory:
        await say(memory, *TALK)
        await memory.vectors_settled()
        found = await memory.search_messages(scope, "alpacas")
        assert [hit.item.content for hit in found.hits] == [TALK[1]]
        assert found.degraded == ("embedding: the model is loading",)
        embedder.failing = None
        await memory.vectors_settled()
        found = await memory.search_messages(scope, "alpacas")
        assert set(found.hits[0].legs) == {"keyword", "vector"}
        assert found.degraded == ()


async def test_health_tells_how_many_rows_lack_a_vector(
    searching: Searching, say: Say, embedder: HashEmbedder, clock: FakeClock
) -> None:
    async with searching(distills=False) as memory:
        await memory.vectors_settled()
        embedder.failing = Unavailable("down for an hour")
        await say(memory, *TALK)
        await memory.vectors_settled()
        clock.advance(5)
        down = (await memory.health()).components["embedding"]
        assert (down.state, down.details["rows"], down.details["missing"]) == ("reduced", 4, 4)
        assert "down for an hour" in down.reason
        embedder.failing = None
        await memory.vectors_settled()
        clock.advance(5)
        well = (await memory.health()).components["embedding"]
        assert (well.state, well.details["rows"], well.details["missing"]) == ("ok", 4, 0)
