"""The leg that reads the memory of other agents: it costs no other leg anything, and is named when it fails."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

from memstrata.errors import Unavailable
from memstrata.recall import Recaller
from memstrata.records import PERSONA_PATH, Document, Found, Hit, Lender, MemoryRecord, Scope
from memstrata.search import Finder
from memstrata.settings import RecallSettings
from memstrata.store.protocol import Store
from memstrata.text.tokens import count_tokens

WAITER = Lender("home", "waiter", "服务员")


class Profiles:
    """Every agent has a persona that names it, and no scenes."""

    def document(self, profile: Any, kind: str, path: str) -> Document:
        assert path == PERSONA_PATH
        return Document(1, "persona", path, 1, f"portrait by {profile.agent}", "", 1, "model", 0, 0)

    def documents(self, profile: Any, kind: str) -> tuple[Document, ...]:
        return ()


class Rows:
    """A store and a search in one: each agent remembers one thing, its name."""

    profiles = Profiles()

    def __init__(self, memory_of: Callable[..., MemoryRecord]) -> None:
        self._memory_of = memory_of

    async def read(self, work: Callable[[Any], Any], *, timeout_seconds: float = 10.0) -> Any:
        return work(self)

    async def find(self, _: object, scope: Scope, *__: object, **___: object) -> Found[MemoryRecord]:
        found = self._memory_of(1, f"noted by {scope.agent} for {scope.user}")
        return Found((Hit(found, 0.9, {}),), (f"vectors: none of {scope.agent}",))


def recaller(
    memory_of: Callable[..., MemoryRecord], lenders: Callable[[Scope], Awaitable[tuple[Lender, ...]]], **settings: Any
) -> Recaller:
    rows = Rows(memory_of)
    return Recaller(cast("Finder", rows), cast("Store", rows), RecallSettings(**settings), "agent", lenders)


async def lent(_: Scope) -> tuple[Lender, ...]:
    return (WAITER,)


async def test_what_is_borrowed_follows_what_is_the_agents_own(
    scope: Scope, memory_of: Callable[..., MemoryRecord]
) -> None:
    recall = await recaller(memory_of, lent).recall(scope, "tea")

    (borrowed,) = recall.borrowed
    assert borrowed.lender == WAITER
    own, theirs = (
        recall.prepend_context.index("noted by assistant for lin"),
        recall.prepend_context.index("noted by waiter"),
    )
    assert own < theirs
    assert "for lin" in recall.prepend_context[theirs:]
    assert recall.append_system_context.index("portrait by assistant") < recall.append_system_context.index("服务员")
    assert recall.append_system_context.count("memory_search(query)") == 1
    assert recall.degraded == ("vectors: none of assistant", "vectors: none of waiter")


async def test_a_failure_to_borrow_costs_nothing_else_and_is_named(
    scope: Scope, memory_of: Callable[..., MemoryRecord]
) -> None:
    async def failing(_: Scope) -> tuple[Lender, ...]:
        raise Unavailable("the disk is gone")

    broken = recaller(memory_of, failing)
    recall = await broken.recall(scope, "tea")
    assert "borrowed: the disk is gone" in recall.degraded
    assert broken.failures == {"borrowed": 1}
    assert (len(recall.hits), recall.borrowed) == (1, ())
    assert recall.persona is not None


async def test_borrowing_that_is_late_is_left_behind(scope: Scope, memory_of: Callable[..., MemoryRecord]) -> None:
    async def never(_: Scope) -> tuple[Lender, ...]:
        await asyncio.Event().wait()
        return ()

    async with asyncio.timeout(20):
        recall = await recaller(memory_of, never).recall(scope, "tea", budget_ms=50)
    assert recall.borrowed == ()
    assert any(one.startswith("borrowed: did not arrive") for one in recall.degraded)
    assert len(recall.hits) == 1


async def test_borrowed_texts_stay_within_the_tokens_of_a_recall(
    scope: Scope, memory_of: Callable[..., MemoryRecord]
) -> None:
    alone = await recaller(memory_of, lent, borrowed=False).recall(scope, "tea")
    room = count_tokens(alone.prepend_context) + count_tokens(alone.append_system_context) + 5  # for what joins them
    shown: list[bool] = []
    for tokens in range(room, room + 300, 7):
        recall = await recaller(memory_of, lent).recall(scope, "tea", max_tokens=tokens)
        assert count_tokens(recall.prepend_context) + count_tokens(recall.append_system_context) <= tokens
        assert recall.prepend_context.startswith(alone.prepend_context)
        assert recall.append_system_context.startswith(alone.append_system_context)
        assert len(recall.borrowed) == 1
        shown.append("noted by waiter" in recall.prepend_context)
    assert (shown[0], shown[-1]) == (False, True)


async def test_nobody_is_asked_for_where_borrowing_is_switched_off(
    scope: Scope, memory_of: Callable[..., MemoryRecord]
) -> None:
    async def asked(_: Scope) -> tuple[Lender, ...]:
        raise AssertionError("nobody may be asked for")

    recall = await recaller(memory_of, asked, borrowed=False).recall(scope, "tea")
    assert recall.degraded == ("vectors: none of assistant",)
