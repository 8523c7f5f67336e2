"""Sessions are distilled in any order and at the same time; what was said last holds all the same."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from memstrata.clock import from_iso
from memstrata.distill.protocol import Decision, Decisions, ResolveRequest
from memstrata.distill.rules import RulesDistiller
from memstrata.memory import Memory, MessageInput
from memstrata.records import Scope
from memstrata.settings import MirrorSettings, Settings

Eventually = Callable[[Callable[[], bool | Awaitable[bool]]], Awaitable[None]]


def settings(folder: Path, **top: str) -> Settings:
    return Settings(data_dir=folder, mirror=MirrorSettings(enabled=False), **top)  # type: ignore[arg-type]


async def live(memory: Memory, scope: Scope) -> list[str]:
    return [one.content for one in (await memory.memories(scope)).items]


async def test_an_old_conversation_imported_late_does_not_take_the_place_of_a_newer_value(
    tmp_path: Path, scope: Scope
) -> None:
    async with Memory.open(settings=settings(tmp_path)) as memory:
        await memory.add(scope, "new", [MessageInput("user", "I live in Shanghai.", from_iso("2026-04-01T08:00:00Z"))])
        await memory.flush(scope)
        await memory.add(scope, "old", [MessageInput("user", "I live in Hangzhou.", from_iso("2025-11-01T08:00:00Z"))])
        await memory.flush(scope)

        assert await live(memory, scope) == ["The user lives in Shanghai"]
        (memory_id,) = [one.memory_id for one in (await memory.memories(scope)).items]
        replaced = (await memory.trace(scope, memory_id)).replaced
        assert [one.content for one in replaced] == ["The user lives in Hangzhou"]


class Hesitant(RulesDistiller):
    """Holds the decisions of one session until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.held = asyncio.Event()
        self.let_go = asyncio.Event()
        self.decided: list[str] = []

    async def resolve(self, request: ResolveRequest) -> Decisions:
        drafts = request.drafts
        self.decided += [draft.content for draft in drafts]
        if "Lisbon" in drafts[0].content and not self.let_go.is_set():
            self.held.set()
            await self.let_go.wait()
            return Decisions(tuple(Decision("store", draft) for draft in drafts))  # in view of an empty store
        return await super().resolve(request)


async def test_decisions_made_in_view_of_memories_that_changed_meanwhile_are_made_again(
    tmp_path: Path, scope: Scope, eventually: Eventually
) -> None:
    distiller = Hesitant()
    async with Memory.open(settings=settings(tmp_path), distiller=distiller) as memory:
        await memory.add(scope, "one", [MessageInput("user", "I live in Lisbon.", from_iso("2026-04-01T08:00:00Z"))])
        await distiller.held.wait()
        await memory.add(scope, "two", [MessageInput("user", "I live in Porto.", from_iso("2026-04-02T08:00:00Z"))])

        async def two_is_there() -> bool:
            return await live(memory, scope) == ["The user lives in Porto"]

        await eventually(two_is_there)
        distiller.let_go.set()
        await memory.flush(scope)

        assert await live(memory, scope) == ["The user lives in Porto"]
        assert distiller.decided.count("The user lives in Lisbon") == 2


async def test_yesterday_is_the_day_before_in_the_users_time_zone(tmp_path: Path, scope: Scope) -> None:
    said = from_iso("2026-01-18T20:00:00Z")  # already the 19th in Shanghai
    for zone, day in (("UTC", "2026-01-17"), ("Asia/Shanghai", "2026-01-18")):
        async with Memory.open(settings=settings(tmp_path / zone.replace("/", "-"), time_zone=zone)) as memory:
            await memory.add(scope, "s", [MessageInput("user", "我昨天跑完了湘湖半马", said)])
            await memory.flush(scope)
            assert [day in one for one in await live(memory, scope)] == [True]
