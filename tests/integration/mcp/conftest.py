"""A real server over HTTP, and the official SDK's client to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from memstrata.memory import Memory
from memstrata.server import bind, serve_until
from memstrata.settings import PipelineSettings, ServerSettings, Settings

Connect = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., AbstractAsyncContextManager[str]]:
    """Return a way to run a server: `async with start(api_key="k") as url`. Keywords are of ServerSettings."""

    @asynccontextmanager
    async def running(**server: object) -> AsyncIterator[str]:
        settings = Settings(
            data_dir=tmp_path,
            server=ServerSettings(port=0, shutdown_seconds=1.0, **server),  # type: ignore[arg-type]
            pipeline=PipelineSettings(l2_delay_seconds=0.0, l2_min_interval_seconds=0.0),
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


@pytest.fixture
def headers() -> Callable[..., dict[str, str]]:
    """Return a way to make the headers of a scope."""

    def made(key: str = "sesame", user: str = "mia", **more: str) -> dict[str, str]:
        return {
            "authorization": f"Bearer {key}",
            "x-tdai-service-id": "default",
            "x-tdai-team-id": "acme",
            "x-tdai-agent-id": "helpdesk",
            "x-tdai-user-id": user,
            **{name.replace("_", "-"): value for name, value in more.items()},
        }

    return made


@pytest.fixture
def connect() -> Connect:
    """Return a way to connect the SDK's client: `async with connect(url, headers) as client`."""

    @asynccontextmanager
    async def connected(
        url: str, headers: Mapping[str, str], mode: Literal["auto", "legacy"] = "auto"
    ) -> AsyncIterator[Client]:
        async with httpx2.AsyncClient(headers=dict(headers), timeout=30.0) as http:
            transport = streamable_http_client(f"{url}/mcp", http_client=http)
            async with Client(transport, mode=mode) as client:
                yield client

    return connected
