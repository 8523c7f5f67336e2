"""A real server over a real store on a free port, in the test's own event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from memstrata.memory import Memory
from memstrata.server import bind, serve_until
from memstrata.settings import EmbeddingSettings, PipelineSettings, RecallSettings, ServerSettings, Settings

Start = Callable[..., AbstractAsyncContextManager[str]]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Return a way to run a server on the test's own data: `async with start(api_key="k") as url`.

    Keywords are of ServerSettings; `embedding`, `recall` and `pipeline` take the place of the usual sections.
    """

    @asynccontextmanager
    async def running(
        *,
        embedding: EmbeddingSettings | None = None,
        recall: RecallSettings | None = None,
        pipeline: PipelineSettings | None = None,
        **server: object,
    ) -> AsyncIterator[str]:
        settings = Settings(
            data_dir=tmp_path,
            embedding=embedding or EmbeddingSettings(),
            recall=recall or RecallSettings(),
            server=ServerSettings(port=0, shutdown_seconds=1.0, **server),  # type: ignore[arg-type]
            pipeline=pipeline or PipelineSettings(l2_delay_seconds=0.0, l2_min_interval_seconds=0.0),
        )
        stop = asyncio.Event()
        ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        serving = asyncio.create_task(
            serve_until(
                stop, bind(settings.server), lambda: Memory.open(settings=settings), settings.server, ready.set_result
            )
        )
        waits: list[asyncio.Future[Any]] = [serving, ready]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            serving.result()
        try:
            yield ready.result()
        finally:
            stop.set()
            await serving

    return running
