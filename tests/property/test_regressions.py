"""Sequences that random runs and kills brought up, kept as small as they can be told."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from memstrata.memory import Memory, MessageInput, Scope
from memstrata.settings import MirrorSettings, PipelineSettings, Settings

OpenMemory = Callable[..., AbstractAsyncContextManager[Memory]]


async def test_a_flush_ends_a_job_whose_messages_were_deleted(open_memory: OpenMemory, scope: Scope) -> None:
    async with open_memory(every_n=100, warmup=False) as memory:
        await memory.add(scope, "s", [MessageInput("user", "I live in Lisbon")])
        await memory.flush(scope)
        await memory.add(scope, "s", [MessageInput("user", "never mind", message_id="m1")])
        await memory.delete_messages(scope, message_ids=["m1"])

        state = await memory.flush(scope)

        assert state.idle
        assert state.jobs == ()


async def test_a_flush_ends_a_job_whose_memories_were_deleted(open_memory: OpenMemory, scope: Scope) -> None:
    async with open_memory(every_n=100, warmup=False) as memory:
        await memory.add(scope, "s", [MessageInput("user", "I live in Lisbon")])
        await memory.flush(scope, session_id="s")
        (live,) = (await memory.memories(scope)).items
        await memory.update_memory(scope, live.memory_id, "Lives in Porto")
        await memory.delete_memories(scope, [live.memory_id])

        state = await memory.flush(scope)

        assert state.idle
        assert state.jobs == ()


async def test_a_lost_progress_file_is_written_anew(open_memory: OpenMemory, scope: Scope, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, mirror=MirrorSettings(), pipeline=PipelineSettings())
    progress = tmp_path / ".metadata" / "progress.jsonl"
    async with open_memory(settings=settings) as memory:
        await memory.add(scope, "first", [MessageInput("user", "I live in Lisbon")])
    before = progress.read_text(encoding="utf-8")
    progress.unlink()

    async with open_memory(settings=settings) as memory:
        await memory.add(scope, "second", [MessageInput("user", "oolong is my favourite tea")])

    lines = progress.read_text(encoding="utf-8").splitlines()
    assert before.strip() in lines
    assert ['"second"' in line for line in lines].count(True) == 1


async def test_statements_that_are_worded_alike_become_a_scene(open_memory: OpenMemory, scope: Scope) -> None:
    async with open_memory() as memory:
        for number in range(12):
            await memory.add(scope, "s", [MessageInput("user", f"locker {number} opens with code {4_000 + number}")])

        state = await memory.flush(scope)

        assert state.idle
        assert len(await memory.scenes(scope)) == 1
