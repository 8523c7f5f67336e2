"""Found messages with what stood around them: of their own session, whatever else the search leaves out."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

import pytest

from memstrata.errors import InvalidRequest
from memstrata.memory import Memory, MessageInput
from memstrata.records import Hit, Message, Neighbours, Scope

Open = Callable[..., AbstractAsyncContextManager[Memory]]
TALK = ["Where did you go?", "I flew to Lisbon", "How was it?", "Sunny, and the trams are steep", "Lovely"]


async def said(memory: Memory, scope: Scope, session: str, *texts: str, task: str = "") -> None:
    await memory.add(scope, session, [MessageInput("user", text) for text in texts], task_id=task)


def around(hit: Hit[Message]) -> tuple[list[str], list[str]]:
    assert hit.neighbours is not None
    return [m.content for m in hit.neighbours.before], [m.content for m in hit.neighbours.after]


async def test_a_hit_brings_its_neighbours_on_request(open_memory: Open, scope: Scope) -> None:
    async with open_memory() as memory:
        await said(memory, scope, "s1", *TALK)
        await said(memory, scope, "s2", "Nothing to do with it")

        (hit,) = (await memory.search_messages(scope, "Lisbon", neighbours=2)).hits
        assert around(hit) == (TALK[:1], TALK[2:4])
        (plain,) = (await memory.search_messages(scope, "Lisbon")).hits
        assert plain.neighbours is None
        assert plain == replace(hit, neighbours=None)


async def test_a_neighbour_that_is_a_hit_itself_is_in_both_places(open_memory: Open, scope: Scope) -> None:
    async with open_memory() as memory:
        await said(memory, scope, "s1", "Lisbon is sunny", "Lisbon has steep trams", "I see")

        hits = (await memory.search_messages(scope, "Lisbon", neighbours=1)).hits
        assert {hit.item.content: around(hit) for hit in hits} == {
            "Lisbon is sunny": ([], ["Lisbon has steep trams"]),
            "Lisbon has steep trams": (["Lisbon is sunny"], ["I see"]),
        }


async def test_a_filter_chooses_hits_and_not_their_neighbours(open_memory: Open, scope: Scope) -> None:
    async with open_memory() as memory:
        await said(memory, scope, "s1", "before it", task="other")
        await said(memory, scope, "s1", "Lisbon", task="travel")
        await said(memory, scope, "s1", "after it", task="other")

        (hit,) = (await memory.search_messages(scope, "Lisbon", task_id="travel", neighbours=5)).hits
        assert around(hit) == (["before it"], ["after it"])
        assert (await memory.search_messages(scope, "before", task_id="travel", neighbours=5)).hits == ()


async def test_neighbours_stay_in_their_scope(open_memory: Open, scope: Scope) -> None:
    """Invariant 4: another user's turns in a session of the same name."""
    stranger = replace(scope, user="max")
    async with open_memory() as memory:
        for text in ("one", "Lisbon", "two"):
            await said(memory, scope, "s1", f"{text} of mine")
            await said(memory, stranger, "s1", f"{text} of theirs")

        (hit,) = (await memory.search_messages(scope, "Lisbon", neighbours=5)).hits
        assert around(hit) == (["one of mine"], ["two of mine"])


async def test_a_message_that_stands_alone_has_no_neighbours_and_says_so(open_memory: Open, scope: Scope) -> None:
    async with open_memory() as memory:
        await said(memory, scope, "s1", "Lisbon")

        (hit,) = (await memory.search_messages(scope, "Lisbon", neighbours=5)).hits
        assert hit.neighbours == Neighbours()


@pytest.mark.parametrize("count", [-1, 6])
async def test_more_neighbours_than_five_are_refused(open_memory: Open, scope: Scope, count: int) -> None:
    async with open_memory() as memory:
        with pytest.raises(InvalidRequest, match="expected 0 to 5"):
            await memory.search_messages(scope, "Lisbon", neighbours=count)
