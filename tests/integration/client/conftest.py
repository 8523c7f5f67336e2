"""A real server over a real store that can go away and come back at the same address, in the test's own event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from memstrata.memory import Memory
from memstrata.server import bind, serve_until
from memstrata.settings import PipelineSettings, ServerSettings, Settings

Serve = Callable[[], AbstractAsyncContextManager[str]]


@pytest.fixture
def serve(tmp_path: Path) -> Serve:
    """Return a way to run the server: `async with serve() as url`. The second time it has the first one's port."""
    pipeline = PipelineSettings(l2_delay_seconds=0.0, l2_min_interval_seconds=0.0)
    port = 0

    @asynccontextmanager
    async def serving() -> AsyncIterator[str]:
        nonlocal port
        own = Settings(
            data_dir=tmp_path / "data", server=ServerSettings(port=port, shutdown_seconds=1.0), pipeline=pipeline
        )
        stop, listening = asyncio.Event(), asyncio.get_running_loop().create_future()
        async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
            socket = bind(own.server)
            tasks.create_task(
                serve_until(stop, socket, lambda: Memory.open(settings=own), own.server, listening.set_result)
            )
            url = await listening
            port = int(url.rsplit(":", 1)[1].strip("/"))
            try:
                yield url
            finally:
                stop.set()

    return serving
