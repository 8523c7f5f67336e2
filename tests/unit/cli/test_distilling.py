"""Waiting for the pipeline: until all is distilled, and no longer than it makes sense."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import httpx
import pytest

from memstrata.cli.distilling import distill
from memstrata.cli.screen import Screen
from memstrata.client import AsyncMemoryClient
from memstrata.memory import Memory
from memstrata.server import create_app
from memstrata.settings import PipelineSettings, Settings

Connect = Callable[[PipelineSettings], AbstractAsyncContextManager[AsyncMemoryClient]]


@pytest.fixture
def connect(tmp_path: Path) -> Connect:
    @asynccontextmanager
    async def connected(pipeline: PipelineSettings) -> AsyncIterator[AsyncMemoryClient]:
        settings = Settings(data_dir=tmp_path, pipeline=pipeline)
        async with Memory.open(settings=settings) as memory:
            transport = httpx.ASGITransport(create_app(memory, settings.server))
            async with AsyncMemoryClient(team="t", agent="a", user="u", session="s", transport=transport) as client:
                await client.add([("user", "Remember that I live in Lisbon.")])
                yield client

    return connected


async def test_it_ends_with_what_was_made(connect: Connect, capsys: pytest.CaptureFixture[str]) -> None:
    async with connect(PipelineSettings()) as client:
        distilled = await distill(client, Screen())
    assert (distilled.memories, distilled.scenes, distilled.personas, distilled.unfinished) == (1, 1, 1, "")
    assert "L1 1 · L2 1 · L3 1" in capsys.readouterr().out


async def test_where_the_pipeline_is_off_it_says_what_waits_at_once(
    connect: Connect, capsys: pytest.CaptureFixture[str]
) -> None:
    async with connect(PipelineSettings(enabled=False)) as client:
        distilled = await distill(client, Screen())
    assert (distilled.memories, distilled.unfinished) == (0, "1 waiting in L1")
    assert "1 waiting in L1" in capsys.readouterr().out
