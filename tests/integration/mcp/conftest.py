"""A real server over HTTP, and the official SDK's client to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Literal

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

Connect = Callable[..., AbstractAsyncContextManager[Client]]


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
