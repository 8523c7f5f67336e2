"""`/health` and `/metrics` in front of something that runs without the API: the same checks, and nothing else is touched."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import httpx
import pytest
from starlette.responses import PlainTextResponse

from memstrata.records import ComponentHealth, Health
from memstrata.server.operations import with_operations
from memstrata.settings import ServerSettings

Open = Callable[[str], AbstractAsyncContextManager[httpx.AsyncClient]]


async def state() -> Health:
    return Health("degraded", 3.5, {"proxy": ComponentHealth("reduced", "turns wait", {"requests": 7})})


@pytest.fixture
def alone() -> Open:
    """Return a way to ask an application with a key, or without one: `async with alone("sesame") as http`."""

    def opened(key: str) -> httpx.AsyncClient:
        application = with_operations(PlainTextResponse("theirs"), state, ServerSettings(api_key=key))
        return httpx.AsyncClient(transport=httpx.ASGITransport(application), base_url="http://127.0.0.1")

    return opened


async def test_without_a_key_both_tell_numbers(alone: Open) -> None:
    async with alone("") as http:
        health, metrics = await http.get("/health"), await http.get("/metrics", headers={"authorization": "Bearer x"})

    assert (health.json()["status"], health.json()["components"]["proxy"]["details"]) == ("degraded", {"requests": 7})
    assert 'memstrata_component{component="proxy",name="requests"} 7.0' in metrics.text


async def test_with_a_key_numbers_are_for_who_has_it(alone: Open) -> None:
    bearer = {"authorization": "Bearer sesame"}
    async with alone("sesame") as http:
        bare, full = await http.get("/health"), await http.get("/health", headers=bearer)
        refused, metrics = await http.get("/metrics"), await http.get("/metrics", headers=bearer)

    assert (bare.status_code, bare.json()["components"]["proxy"]) == (200, {"state": "reduced", "reason": "turns wait"})
    assert full.json()["components"]["proxy"]["details"] == {"requests": 7}
    assert (refused.status_code, metrics.status_code) == (401, 200)


async def test_every_other_path_is_the_applications_and_wants_no_key(alone: Open) -> None:
    async with alone("sesame") as http:
        assert (await http.get("/v1/models")).text == "theirs"
        assert (await http.post("/health/more")).text == "theirs"
        assert (await http.post("/health", headers={"authorization": "Bearer sesame"})).status_code == 404
