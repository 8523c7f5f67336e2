"""`proxy` in front of `serve`, two processes, with a provider behind them."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from memstrata.testing.upstream import FakeUpstream

from .shell import DEADLINE_SECONDS, Shell

PATH = "/claude-code/default/v1/messages"
BODY = {"model": "m", "max_tokens": 10, "messages": [{"role": "user", "content": "hello there"}]}


@pytest.fixture
async def upstream() -> AsyncIterator[FakeUpstream]:
    async with FakeUpstream() as running:
        yield running


async def test_it_runs_alone_in_front_of_a_core_and_ends_well(
    memstrata: Shell, serve: Callable[..., dict[str, Any]], upstream: FakeUpstream
) -> None:
    core = serve("data")["url"]
    environ = {"MEMSTRATA_PROXY_UPSTREAMS": f"anthropic={upstream.base_url}"}
    arguments = ("proxy", "--core", core, "--port", "0", "--data-dir", "own", "--json")
    with memstrata.start(*arguments, env=environ) as running:
        assert running.stdout is not None
        announced = json.loads(running.stdout.readline())
        async with httpx.AsyncClient(base_url=announced["url"], timeout=DEADLINE_SECONDS) as http:
            answer = await http.post(PATH, json=BODY, headers={"x-conversation-id": "s1"})
            unknown = await http.get("/v3/health")
            health, metrics = await http.get("/health"), await http.get("/metrics")
        running.send_signal(signal.SIGTERM)
        running.communicate(timeout=DEADLINE_SECONDS)
    assert running.returncode == 0
    assert (answer.status_code, unknown.status_code) == (200, 404)
    assert announced["core"] == core
    assert health.json()["components"]["proxy"]["details"]["requests"] == 1
    assert 'memstrata_component{component="proxy",name="turns_waiting_open"}' in metrics.text
    assert upstream.requests[0].json["messages"] == BODY["messages"]
    assert (memstrata.folder / "own" / "proxy").is_dir()


async def test_status_has_a_line_for_the_proxy(
    memstrata: Shell, serve: Callable[..., dict[str, Any]], upstream: FakeUpstream
) -> None:
    url = serve("data", env={"MEMSTRATA_PROXY_UPSTREAMS": f"anthropic={upstream.base_url}"})["url"]
    async with httpx.AsyncClient(timeout=DEADLINE_SECONDS) as http:
        assert (await http.post(url + PATH, json=BODY, headers={"x-conversation-id": "s1"})).status_code == 200
    done = await asyncio.to_thread(memstrata, "status", "--data-dir", "data")
    assert "ok · 1 requests, 1 without memory · 0 recalls · 0 turns wait, 0 put aside" in done.out
    assert "1 个请求" in (await asyncio.to_thread(memstrata, "status", "--url", url, env={"LC_ALL": "zh_CN.UTF-8"})).out


async def test_a_server_whose_proxy_is_switched_off_has_no_such_path(serve: Callable[..., dict[str, Any]]) -> None:
    url = serve("data", env={"MEMSTRATA_PROXY_ENABLED": "off"})["url"]
    async with httpx.AsyncClient(timeout=DEADLINE_SECONDS) as http:
        assert (await http.get(f"{url}/claude-code/default")).status_code == 404


def test_an_upstream_that_is_no_address_stops_the_start_with_one_line(memstrata: Shell) -> None:
    done = memstrata("serve", "--port", "0", env={"MEMSTRATA_PROXY_UPSTREAMS": "anthropic=nowhere"})
    assert done.code == 3
    assert "proxy.upstreams" in done.err
    assert done.err.count("\n") == 1
