"""The whole proxy beside its core, as `serve` and `proxy` put it together: what is asked is remembered, and it ends well."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from pathlib import Path

import aiohttp
import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from memstrata.cli.proxying import proxy_beside
from memstrata.client import AsyncMemoryClient
from memstrata.clock import SystemClock
from memstrata.memory import Memory
from memstrata.proxy.memory_core import MemoryCore
from memstrata.proxy.service import Installation, ProxyService, running_proxy
from memstrata.server import bind, serve_until
from memstrata.server.app import create_app
from memstrata.settings import ProxySettings, ServerSettings, Settings
from memstrata.store.sqlite.store import SqliteStore
from memstrata.testing.upstream import FakeUpstream, Says

Eventually = Callable[[Callable[[], bool | Awaitable[bool]]], Awaitable[None]]
Serve = Callable[[ProxySettings], AbstractAsyncContextManager[str]]
HEADERS = {"x-conversation-id": "session-1", "x-api-key": "sk-real"}
OPERATOR = {"authorization": "Bearer local", "x-tdai-service-id": "default"}
PATH = "/claude-code/default/v1/messages"


def asking(text: str) -> dict[str, object]:
    tools = [{"name": "Bash", "input_schema": {"type": "object"}}]
    said = [{"role": "user", "content": text}]
    return {"model": "m", "max_tokens": 100, "stream": True, "tools": tools, "messages": said}


@pytest.fixture
async def upstream() -> AsyncIterator[FakeUpstream]:
    async with FakeUpstream() as running:
        yield running


@pytest.fixture
def serve(tmp_path: Path) -> Serve:
    """Return a way to run what `memstrata serve` runs: `async with serve(ProxySettings()) as url`."""

    @asynccontextmanager
    async def running(proxy: ProxySettings) -> AsyncIterator[str]:
        settings = Settings(data_dir=tmp_path, server=ServerSettings(port=0, shutdown_seconds=1.0), proxy=proxy)
        stop = asyncio.Event()
        ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        serving = asyncio.create_task(
            serve_until(
                stop,
                bind(settings.server),
                lambda: Memory.open(settings=settings),
                settings.server,
                ready.set_result,
                proxy_beside(settings),
            )
        )
        try:
            yield await ready
        finally:
            stop.set()
            await serving

    return running


def upstreams_at(upstream: FakeUpstream) -> tuple[str, ...]:
    return (f"anthropic={upstream.base_url}", f"openai={upstream.base_url}/v1")


async def test_a_question_and_its_answer_are_one_turn_of_the_core_beside_it(
    serve: Serve, upstream: FakeUpstream, eventually: Eventually
) -> None:
    upstream.always(Says("The deploy runs on Fridays."))
    async with serve(ProxySettings(upstreams=upstreams_at(upstream))) as url, aiohttp.ClientSession() as http:
        async with http.post(url + PATH, json=asking("When does the deploy run?"), headers=HEADERS) as answer:
            assert answer.status == 200
            assert "x-memstrata-bypass" not in answer.headers
            await answer.read()
        async with AsyncMemoryClient(url, team="personal", agent="assistant", user="me") as memory:
            await eventually(lambda: _counted(memory, 2))
            said = [(one.role, one.content) for one in (await memory.messages()).items]
        async with http.get(f"{url}/health") as answer:
            assert (await answer.json())["components"]["proxy"]["state"] == "ok"
    assert sorted(said) == [("assistant", "The deploy runs on Fridays."), ("user", "When does the deploy run?")]
    assert b"memory-bridge" in upstream.requests[0].body


async def test_a_turn_that_ended_as_the_server_stopped_is_in_the_core_after_it(
    serve: Serve, upstream: FakeUpstream
) -> None:
    proxy = ProxySettings(upstreams=upstreams_at(upstream))
    async with (
        serve(proxy) as url,
        aiohttp.ClientSession(headers=HEADERS) as http,
        http.post(url + PATH, json=asking("One last thing")) as answer,
    ):
        await answer.read()
    async with (
        serve(proxy) as url,
        AsyncMemoryClient(url, team="personal", agent="assistant", user="me") as memory,
    ):
        assert len((await memory.messages()).items) == 2


async def test_the_tokens_of_bridges_hold_after_a_restart(serve: Serve, upstream: FakeUpstream) -> None:
    proxy = ProxySettings(upstreams=upstreams_at(upstream))
    async with (
        serve(proxy) as url,
        aiohttp.ClientSession(headers=HEADERS) as http,
        http.post(url + PATH, json=asking("Hello")) as answer,
    ):
        await answer.read()
    token = _token(upstream)
    async with serve(proxy) as url, aiohttp.ClientSession() as http:
        bearer = {"authorization": f"Bearer {token}"}
        async with http.get(f"{url}/memory-bridge/v3/atomic/search?q=deploy", headers=bearer) as answer:
            assert answer.status == 200
        async with http.get(f"{url}/memory-bridge/v3/atomic/search?q=deploy") as answer:
            assert answer.status == 401


async def test_the_same_token_looks_up_over_mcp_as_often_and_no_more(serve: Serve, upstream: FakeUpstream) -> None:
    async with serve(ProxySettings(upstreams=upstreams_at(upstream))) as url, aiohttp.ClientSession() as http:
        async with http.post(url + PATH, json=asking("My deploys run on Fridays"), headers=HEADERS) as answer:
            await answer.read()
        token = _token(upstream)
        async with _mcp(url, token) as client:
            assert {one.name for one in (await client.list_tools()).tools} == {
                "memory_search",
                "conversation_search",
                "read_scene",
            }
            found = [await client.call_tool("memory_search", {"query": "deploys"}) for _ in range(4)]
        assert [bool(one.is_error) for one in found] == [False, False, False, True]
        async with http.get(f"{url}/memory-bridge/v3/atomic/search?q=x", headers=_bearer(token)) as answer:
            assert answer.status == 429  # one budget for both ways
        async with http.post(f"{url}/mcp", json={}, headers=_bearer(token[:-1])) as answer:
            assert answer.status == 401


async def test_a_session_that_is_switched_off_opens_nothing_over_mcp_and_says_what_a_forged_token_hears(
    serve: Serve, upstream: FakeUpstream
) -> None:
    async with serve(ProxySettings(upstreams=upstreams_at(upstream))) as url, aiohttp.ClientSession() as http:
        async with http.post(url + PATH, json=asking("Hello"), headers=HEADERS) as answer:
            await answer.read()
        token = _token(upstream)
        async with http.post(url + PATH, json=asking("mem:off"), headers=HEADERS) as answer:
            await answer.read()
        heard = []
        for bearer in (token, token[:-1], f"{token}x", "msb1."):
            async with http.post(f"{url}/mcp", json={}, headers=_bearer(bearer)) as answer:
                heard.append((answer.status, await answer.text()))
    assert heard[0][0] == 401
    assert len(set(heard)) == 1


async def test_health_metrics_and_usage_tell_what_went_through(
    serve: Serve, upstream: FakeUpstream, eventually: Eventually
) -> None:
    async with serve(ProxySettings(upstreams=upstreams_at(upstream))) as url, aiohttp.ClientSession() as http:
        async with http.post(url + PATH, json=asking("When does the deploy run?"), headers=HEADERS) as answer:
            await answer.read()
        async with http.post(url + PATH, data=b"no json", headers=HEADERS) as answer:
            await answer.read()
        async with http.get(f"{url}/memory-bridge/v3/atomic/search?q=x", headers=_bearer("msb1.forged")) as answer:
            assert answer.status == 401

        async def line() -> bool:
            async with http.get(f"{url}/v3/proxy/usage", headers=OPERATOR) as answer:
                items = (await answer.json())["data"]["items"]
                return [(one["user_id"], one["model"], one["requests"]) for one in items] == [("me", "m", 1)]

        await eventually(line)
        async with http.get(f"{url}/health") as answer:
            found = (await answer.json())["components"]["proxy"]["details"]
        async with http.get(f"{url}/metrics", headers=OPERATOR) as answer:
            metrics = await answer.text()
    assert (found["requests"], found["kind_main"], found["without_memory"]) == (2, 1, 1)
    assert found["without_memory_the_body_could_not_be_read"] == 1
    assert (found["bridge_refused"], found["turns_waiting_parked"]) == (1, 0)
    for name in ("kind_main", "turns_waiting_ready", "turns_oldest_seconds", "cache_read_ratio", "blocks_put_back"):
        assert f'memstrata_component{{component="proxy",name="{name}"}}' in metrics


async def test_a_proxy_alone_remembers_in_a_core_that_is_elsewhere(
    open_memory: Callable[..., AbstractAsyncContextManager[Memory]],
    upstream: FakeUpstream,
    eventually: Eventually,
    tmp_path: Path,
) -> None:
    folder = tmp_path / "proxy"
    async with open_memory(clock=SystemClock()) as memory:
        transport = httpx.ASGITransport(create_app(memory, ServerSettings()))
        store = await SqliteStore.open(folder)
        core = MemoryCore("http://core", "", transport)
        at = Installation(store, core, folder, "http://127.0.0.1:1", SystemClock())
        async with running_proxy(ProxySettings(upstreams=upstreams_at(upstream)), at) as service:
            async with httpx.AsyncClient(transport=httpx.ASGITransport(service.app), base_url="http://proxy") as http:
                answer = await http.post(PATH, json=asking("Where is it kept?"), headers=HEADERS)
                assert answer.status_code == 200
            async with AsyncMemoryClient(
                "http://core", team="personal", agent="assistant", user="me", transport=transport
            ) as client:
                await eventually(lambda: _counted(client, 2))
            assert (await service.health()).state == "ok"
        await store.close()


async def _counted(memory: AsyncMemoryClient, messages: int) -> bool:
    return len((await memory.messages()).items) == messages


def _token(upstream: FakeUpstream) -> str:
    """Return the token in the system block of the first request."""
    block: str = upstream.requests[0].json["system"][-1]["text"]
    return block.partition("Bearer ")[2].partition("'")[0]


def _bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


@asynccontextmanager
async def _mcp(url: str, token: str) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers=_bearer(token)) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
    ):
        yield client


async def test_a_store_that_cannot_be_asked_leaves_the_rest_of_the_numbers(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    core = MemoryCore("http://127.0.0.1:9", "")
    service = ProxyService(ProxySettings(), Installation(store, core, tmp_path, "http://127.0.0.1:8096", SystemClock()))
    with closing(sqlite3.connect(next(tmp_path.glob("*.db")))) as other:
        other.execute("DROP TABLE proxy_turns")
    found = await service.health()
    assert (found.state, found.reason) == ("reduced", "turns that wait could not be counted")
    assert found.details["without_memory"] == 0
    await core.close()
    await store.close()
