"""What is kept for some days only: who it concerns, what goes, what stays, and what is told of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

from memstrata.clock import to_iso
from memstrata.forgetting import retention as retentions
from memstrata.memory import Memory, MessageInput
from memstrata.records import Scope
from memstrata.settings import MirrorSettings, PipelineSettings, RetentionSettings, Settings
from memstrata.testing import FakeClock

Open = Callable[..., AbstractAsyncContextManager[Memory]]
Eventually = Callable[..., Awaitable[None]]
DAY = 86_400


def settings(folder: Path, days: int = 0, *, mirror: bool = False) -> Settings:
    return Settings(
        data_dir=folder,
        pipeline=PipelineSettings(l2_delay_seconds=0, l2_min_interval_seconds=0),
        retention=RetentionSettings(l0_l1_days=days),
        mirror=MirrorSettings(enabled=mirror),
    )


async def known(memory: Memory, scope: Scope, text: str, session: str = "s1") -> None:
    await memory.add(scope, session, [MessageInput("user", text)])
    await memory.flush(scope)


async def contents(memory: Memory, scope: Scope) -> tuple[list[str], list[str]]:
    messages, memories = await memory.messages(scope), await memory.memories(scope)
    return [m.content for m in messages.items], [m.content for m in memories.items]


async def expired(memory: Memory) -> dict[str, Any]:
    details = (await memory.health()).components["housekeeping"].details
    return {name: value for name, value in details.items() if name.startswith(("expired", "retention"))}


async def test_messages_and_memories_go_after_their_days_and_scenes_and_portrait_stay(
    tmp_path: Path, open_memory: Open, scope: Scope, clock: FakeClock, eventually: Eventually
) -> None:
    async with open_memory(settings=settings(tmp_path, days=30)) as memory:
        await known(memory, scope, "I drink green tea")
        clock.advance(20 * DAY)
        await known(memory, scope, "I like walking", "s2")
        before = [scene.body for scene in await memory.scenes(scope)], await memory.persona(scope)

        clock.advance(11 * DAY)
        await eventually(_since(memory, clock))

        assert await contents(memory, scope) == (["I like walking"], ["I like walking"])
        assert ([scene.body for scene in await memory.scenes(scope)], await memory.persona(scope)) == before
        assert [one.memory.content for one in (await memory.trace_scene(scope, "notes.md")).supports] == [
            "I like walking"
        ]
        told = await expired(memory)
        assert to_iso(clock.now() - DAY * 1_000) < told.pop("retention_at") <= to_iso(clock.now())
        assert told == {
            "expired_scopes": 1,
            "expired_messages": 1,
            "expired_memories": 1,
        }


async def test_without_days_nothing_ever_goes(
    tmp_path: Path, open_memory: Open, scope: Scope, clock: FakeClock, eventually: Eventually
) -> None:
    async with open_memory(settings=settings(tmp_path)) as memory:
        await known(memory, scope, "I drink green tea")
        clock.advance(10_000 * DAY)
        await eventually(_since(memory, clock))

        assert await contents(memory, scope) == (["I drink green tea"], ["I drink green tea"])


async def test_days_are_those_of_the_scope_itself(
    tmp_path: Path, open_memory: Open, scope: Scope, clock: FakeClock, eventually: Eventually
) -> None:
    kept, max_, other = replace(scope, user="kept"), replace(scope, user="max"), replace(scope, instance="other")
    async with open_memory(settings=settings(tmp_path, days=90)) as memory:
        await memory.policies.set("default", team="home", retention_days=10)
        await memory.policies.set("default", user="kept", retention_days=0)
        for who in (scope, kept, max_, other):
            await known(memory, who, "I drink green tea")
        clock.advance(11 * DAY)
        await eventually(_since(memory, clock))
        assert [(await memory.messages(who)).total for who in (scope, kept, max_, other)] == [0, 1, 0, 1]

        clock.advance(90 * DAY)
        await eventually(_since(memory, clock))
        assert [(await memory.messages(who)).total for who in (scope, kept, max_, other)] == [0, 1, 0, 0]


async def test_a_large_backlog_goes_in_small_transactions_and_at_the_next_start(
    tmp_path: Path, open_memory: Open, scope: Scope, clock: FakeClock, monkeypatch: Any, eventually: Eventually
) -> None:
    monkeypatch.setattr(retentions, "_BATCH", 7)
    async with open_memory(settings=settings(tmp_path)) as memory:
        for session in ("s1", "s2"):
            await memory.add(scope, session, [MessageInput("user", f"text {n}") for n in range(20)])
        await memory.flush(scope)
    clock.advance(31 * DAY)

    async with open_memory(settings=settings(tmp_path, days=30)) as memory:
        await eventually(_since(memory, clock))

        assert await contents(memory, scope) == ([], [])
        assert (await expired(memory))["expired_messages"] == 40
        receipts = await memory._store.read(lambda r: r.forgettings.unfinished())
        assert len(receipts) in range(7)

        async def all_complete() -> bool:
            return await memory._store.read(lambda r: r.forgettings.unfinished()) == ()

        await eventually(all_complete)


async def test_imported_history_is_kept_as_long_as_what_is_said_today(
    tmp_path: Path, open_memory: Open, scope: Scope, clock: FakeClock, eventually: Eventually
) -> None:
    async with open_memory(settings=settings(tmp_path, days=30)) as memory:
        await memory.add(scope, "s1", [MessageInput("user", "I lived in Porto in 1999", said_at=0)])
        clock.advance(DAY)
        await eventually(_since(memory, clock))

        assert (await memory.messages(scope)).total == 1


async def test_a_memory_that_was_said_again_lately_stays(
    tmp_path: Path, open_memory: Open, scope: Scope, clock: FakeClock, eventually: Eventually
) -> None:
    async with open_memory(settings=settings(tmp_path, days=30)) as memory:
        await known(memory, scope, "I drink green tea")
        clock.advance(20 * DAY)
        await known(memory, scope, "I drink green tea", "s2")
        clock.advance(11 * DAY)
        await eventually(_since(memory, clock))

        assert await contents(memory, scope) == (["I drink green tea"], ["I drink green tea"])


async def test_what_expired_is_in_no_file_any_more(
    tmp_path: Path, open_memory: Open, scope: Scope, clock: FakeClock, eventually: Eventually
) -> None:
    """Where nobody told it to anyone: the scene that it is in stays, so the layers above are off here."""
    off = replace(settings(tmp_path, days=30, mirror=True), pipeline=PipelineSettings(enabled=False))
    async with open_memory(settings=off) as memory:
        await memory.add(scope, "s1", [MessageInput("user", "my number is QX7731190")])
        await memory._mirror.catch_up()
        clock.advance(31 * DAY)
        await eventually(_since(memory, clock))

        def in_files() -> bool:
            return any(b"7731190" in one.read_bytes() for one in tmp_path.rglob("*") if one.is_file())

        await eventually(lambda: not in_files())


def _since(memory: Memory, clock: FakeClock) -> Callable[[], bool]:
    """Return a condition: the daily run has come by since now. Hours pass meanwhile, for it may have been about to wait."""
    now = clock.now()

    def ran() -> bool:
        last = memory._housekeeping._daily.last  # type: ignore[union-attr]
        if last is not None and last.at >= now:
            return True
        clock.advance(300)
        return False

    return ran
