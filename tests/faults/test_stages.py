"""A kill in the middle of each stage of distillation: the stage is done again, once, and nothing is half written."""

from __future__ import annotations

from pathlib import Path

import pytest

from memstrata.client import AsyncMemoryClient

from .evidence import database_problems
from .process import running

pytestmark = pytest.mark.slow

SPOKEN = ("holdfast, said first", "a second thing about tea", "a third one about walking home")


def client(url: str) -> AsyncMemoryClient:
    return AsyncMemoryClient(url, team="team", agent="agent", user="user", session="s")


@pytest.mark.parametrize("stage", ["extract", "resolve", "consolidate", "portray"])
async def test_a_stage_that_was_killed_is_done_again_once(tmp_path: Path, stage: str) -> None:
    folder = tmp_path / "data"
    async with running(folder, "--hold", stage) as server, client(server.url) as memory:
        for text in SPOKEN:
            await memory.add([("user", text), ("assistant", f"noted: {text}")])
        await memory.flush(wait_seconds=0)
        await server.said(f"held {stage}")
        await server.kill()

    async with running(folder) as server, client(server.url) as memory:
        state = await memory.flush()
        assert state.idle
        assert (state.layers["l1"].pending, state.layers["l2"].pending) == (0, 0)
        memories = await memory.memories(limit=100)
        assert sorted(item.content for item in memories.items) == sorted(SPOKEN)
        scenes = await memory.scenes()
        assert [scene.path for scene in scenes] == ["notes.md"]
        scene = await memory.read_scene("notes.md")
        assert scene is not None
        assert all(f"- {text}" in scene.content.splitlines() for text in SPOKEN)
        persona = await memory.persona()
        assert persona is not None
        assert persona.content.startswith(f"A person with {len(SPOKEN)} notes.")
        for item in memories.items:
            evidence = await memory.trace(item.id)
            assert [message.content for message in evidence.messages] == [item.content]
            assert [one.path for one in evidence.scenes] == ["notes.md"]
    assert database_problems(folder) == []


async def test_a_stage_that_is_killed_again_and_again_is_not_given_up(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    for life in range(6):  # more than the tries that a failing job has
        async with running(folder, "--hold", "extract") as server, client(server.url) as memory:
            if life == 0:
                await memory.add([("user", SPOKEN[0])])
            await server.said("held extract")
            await server.kill()

    async with running(folder) as server, client(server.url) as memory:
        assert (await memory.flush()).idle
        assert await memory.count_memories() == 1
