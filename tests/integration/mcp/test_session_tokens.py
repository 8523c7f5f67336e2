"""`/mcp` with the token of a session: three tools that look up, for a scope that the token alone decides."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import httpx2
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from memstrata.client import AsyncMemoryClient
from memstrata.mcp.confirmation import Owner
from memstrata.mcp.session_grant import SessionCheck, SessionGrant
from memstrata.memory import Memory
from memstrata.server import create_app
from memstrata.settings import PipelineSettings, ServerSettings, Settings

TOKEN = "msb1.mia.signed"


def check(searches: int) -> SessionCheck:
    """A session of mia's that may search so many times."""
    left = searches

    async def spend() -> bool:
        nonlocal left
        left -= 1
        return left >= 0

    async def checked(token: str) -> SessionGrant | None:
        owner = Owner("default", "acme", "helpdesk", "mia")
        return SessionGrant(owner, searches, spend) if token == TOKEN else None

    return checked


async def status(api: Any, headers: dict[str, str]) -> int:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(api), base_url="http://127.0.0.1") as http:
        accept = {"accept": "application/json, text/event-stream"}
        return (await http.post("/mcp", json=ping, headers=accept | headers)).status_code


def text(result: types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Memory]:
    async with Memory.open(settings=Settings(data_dir=tmp_path, pipeline=PipelineSettings(enabled=False))) as opened:
        yield opened


@asynccontextmanager
async def session(api: Any, **headers: str) -> AsyncIterator[Client]:
    given = {"authorization": f"Bearer {TOKEN}", **{name.replace("_", "-"): value for name, value in headers.items()}}
    transport = httpx2.ASGITransport(api)
    async with (
        httpx2.AsyncClient(transport=transport, headers=given, base_url="http://127.0.0.1") as http,
        Client(streamable_http_client("http://127.0.0.1/mcp", http_client=http)) as client,
    ):
        yield client


async def said(api: Any, user: str, what: str) -> None:
    transport = httpx.ASGITransport(api)
    async with AsyncMemoryClient(
        "http://127.0.0.1", api_key="sesame", team="acme", agent="helpdesk", user=user, transport=transport
    ) as client:
        await client.add([("user", what)], session="s")


async def test_a_token_opens_the_three_look_ups_and_nothing_else(memory: Memory) -> None:
    api = create_app(memory, ServerSettings(api_key="sesame"), check(3))
    await said(api, "mia", "peanuts make me ill")
    async with session(api) as client:
        shown = [one.name for one in (await client.list_tools()).tools]
        resources = (await client.list_resources()).resources
        found = text(await client.call_tool("conversation_search", {"query": "peanuts"}))
        writes = [
            await client.call_tool("remember", {"text": "I am rich."}),
            await client.call_tool("forget", {"session_ids": ["s"]}),
            await client.call_tool("recall", {"query": "peanuts"}),
        ]
        with pytest.raises(MCPError):
            await client.read_resource("memstrata://persona")

    assert shown == ["memory_search", "conversation_search", "read_scene"]
    assert resources == []
    assert "peanuts make me ill" in found
    assert all(one.is_error for one in writes)


async def test_the_token_alone_decides_whose_memory_it_is(memory: Memory) -> None:
    api = create_app(memory, ServerSettings(api_key="sesame"), check(3))
    await said(api, "eve", "peanuts are mine")
    async with session(api, x_tdai_user_id="eve", x_tdai_team_id="acme", x_tdai_agent_id="helpdesk") as client:
        found = text(await client.call_tool("conversation_search", {"query": "peanuts"}))

    assert "peanuts are mine" not in found


async def test_searches_are_counted_and_reading_a_scene_is_not(memory: Memory) -> None:
    api = create_app(memory, ServerSettings(api_key="sesame"), check(2))
    async with session(api) as client:
        first = await client.call_tool("memory_search", {"query": "a"})
        await client.call_tool("read_scene", {"path": "none.md"})
        second = await client.call_tool("conversation_search", {"query": "a"})
        third = await client.call_tool("memory_search", {"query": "a"})
        read = await client.call_tool("read_scene", {"path": "none.md"})

    assert [first.is_error, second.is_error, third.is_error, read.is_error] == [False, False, True, False]
    assert "The 2 memory calls" in text(third)


@pytest.mark.parametrize("key", ["", "sesame"])
async def test_a_token_that_opens_nothing_is_refused_with_a_check_and_without(memory: Memory, key: str) -> None:
    scope = {
        "x-tdai-service-id": "default",
        "x-tdai-team-id": "acme",
        "x-tdai-agent-id": "helpdesk",
        "x-tdai-user-id": "mia",
    }
    with_check = create_app(memory, ServerSettings(api_key=key), check(3))
    without = create_app(memory, ServerSettings(api_key=key))

    assert await status(with_check, scope | {"authorization": "Bearer msb1.forged"}) == 401
    assert await status(without, scope | {"authorization": f"Bearer {TOKEN}"}) == 401


async def test_a_token_opens_no_other_route(memory: Memory) -> None:
    api = create_app(memory, ServerSettings(api_key="sesame"), check(3))
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(api), base_url="http://127.0.0.1") as http:
        answer = await http.post(
            "/v3/conversation/query",
            json={"team_id": "acme", "agent_id": "helpdesk", "user_id": "mia"},
            headers={"authorization": f"Bearer {TOKEN}", "x-tdai-service-id": "default"},
        )

    assert answer.status_code == 401
