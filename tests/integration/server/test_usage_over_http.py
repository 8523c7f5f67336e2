"""`/v3/proxy/usage` over a real store: an instance's own lines, of the days and the user that were asked for."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from memstrata.clock import day_of
from memstrata.memory import Memory
from memstrata.records.proxy import ProxyTokens
from memstrata.server import create_app
from memstrata.settings import PipelineSettings, ServerSettings, Settings
from memstrata.store.protocol import Repositories
from memstrata.testing import FakeClock

NOW = 1_767_323_045_000  # 2026-01-02T03:04:05Z
DAY = 86_400_000


@pytest.fixture
async def http(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    """The API over a store with usage of two instances, two users and three days."""
    settings = Settings(data_dir=tmp_path, pipeline=PipelineSettings(enabled=False))

    def work(r: Repositories) -> None:
        for days_ago in (0, 1, 40):
            day = day_of(NOW - days_ago * DAY)
            r.proxy.usage.add("default", "mia", "m", day, ProxyTokens(1, 10, 2, 30, 4))
            r.proxy.usage.add("default", "lin", "m", day, ProxyTokens(1, 5, 1))
            r.proxy.usage.add("other", "mia", "m", day, ProxyTokens(1, 99, 9))

    async with Memory.open(settings=settings, clock=FakeClock(NOW)) as memory:
        await memory.store.write(work)
        transport = httpx.ASGITransport(create_app(memory, ServerSettings(api_key="sesame")))
        headers = {"authorization": "Bearer sesame", "x-tdai-service-id": "default"}
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers) as opened:
            yield opened


async def usage(http: httpx.AsyncClient, query: str = "") -> Any:
    response = await http.get(f"/v3/proxy/usage{query}")
    assert response.status_code == 200, response.text
    return response.json()["data"]


async def test_the_last_week_of_this_instance_is_what_is_told_unasked(http: httpx.AsyncClient) -> None:
    answer = await usage(http)

    assert [(line["day"], line["user_id"]) for line in answer["items"]] == [
        ("2026-01-01", "lin"),
        ("2026-01-01", "mia"),
        ("2026-01-02", "lin"),
        ("2026-01-02", "mia"),
    ]
    assert (answer["total"]["requests"], answer["total"]["input_tokens"]) == (4, 30)


async def test_days_and_a_user_narrow_or_widen_it(http: httpx.AsyncClient) -> None:
    today = await usage(http, "?days=1&user_id=mia")
    long = await usage(http, "?days=60&user_id=mia")

    assert [line["day"] for line in today["items"]] == ["2026-01-02"]
    assert long["total"]["cache_read_tokens"] == 90


@pytest.mark.parametrize("query", ["?days=0", "?days=367", "?days=x", "?day=1", "?user_id="])
async def test_what_cannot_be_meant_is_refused(http: httpx.AsyncClient, query: str) -> None:
    assert (await http.get(f"/v3/proxy/usage{query}")).status_code in (400, 422)
