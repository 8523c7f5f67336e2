"""A time that a question names lifts what happened then, in both languages, and hides nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import pytest

from memstrata.memory import Memory, MessageInput
from memstrata.records import Scope
from memstrata.testing import FakeClock

Open = Callable[..., AbstractAsyncContextManager[Memory]]
DAY = 86_400_000


@pytest.mark.parametrize(
    ("texts", "question", "when", "days_ago"),
    [
        (("I had lunch with Ana", "I had lunch with Bruno"), "who did I have lunch with", " yesterday", 1),
        (("I had lunch with Ana", "I had lunch with Bruno"), "who did I have lunch with", " last week", 6),
        (("我和安娜吃了午饭", "我和小林吃了午饭"), "我和谁吃了午饭", "，昨天", 1),
        (("我和安娜吃了午饭", "我和小林吃了午饭"), "我和谁吃了午饭", "，上周", 6),
    ],
)
async def test_what_happened_at_the_named_time_comes_first_and_the_rest_is_still_found(
    open_memory: Open,
    clock: FakeClock,
    scope: Scope,
    texts: tuple[str, str],
    question: str,
    when: str,
    days_ago: int,
) -> None:
    async with open_memory(enabled=False) as memory:
        for text, said_at in zip(texts, (clock.now() - days_ago * DAY, clock.now() - 40 * DAY), strict=True):
            await memory.add(scope, f"session {said_at}", [MessageInput("user", text, said_at=said_at)])

        async def order(asked: str) -> list[str]:
            return [hit.item.content for hit in (await memory.search_messages(scope, asked)).hits]

        assert await order(question) == [texts[1], texts[0]]  # equal, so what was stored last comes first
        assert await order(f"{question}{when}") == [texts[0], texts[1]]
