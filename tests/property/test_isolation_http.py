"""Ten tenants on one server at the same time, with ids and words in common: no answer holds a word of another."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from memstrata.memory import Memory
from memstrata.records import Scope
from memstrata.server import bind, serve_until
from memstrata.settings import PipelineSettings, ServerSettings, Settings
from memstrata.testing import EchoDistiller

from .tenants import canaries_of, new_canary

ROUNDS = 20
SESSIONS = ("s", "s|1")
SAME_WORDS = "green tea, as always"
TENANTS = [
    Scope(instance, team, agent, user)
    for instance, team, agent, user in itertools.product(
        ("default", "other"), ("team", "team|a"), ("agent",), ("user", "a")
    )
] + [Scope("default", "team", "a|agent", "user"), Scope("default", "team", "agent", "User")]


@pytest.fixture
async def url(tmp_path: Path) -> AsyncIterator[str]:
    """A server whose scenes and personas belong to one user each, so that no word at all may be shared."""
    settings = Settings(
        data_dir=tmp_path,
        server=ServerSettings(port=0, shutdown_seconds=2.0),
        pipeline=PipelineSettings(profile_scope="agent_user", l2_delay_seconds=0.0, l2_min_interval_seconds=0.0),
    )
    stop = asyncio.Event()
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    opened = partial(Memory.open, settings=settings, distiller=EchoDistiller())
    serving = asyncio.create_task(
        serve_until(stop, bind(settings.server), opened, settings.server, ready.set_result), name="server"
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


class Tenant:
    """One scope's client: it says and asks at random, and looks in every answer for words that are not its own."""

    def __init__(self, scope: Scope, http: httpx.AsyncClient, number: int) -> None:
        self.scope = scope
        self.own: set[str] = set()
        self.foreign: list[str] = []
        self.found = 0
        self._http = http
        self._number = number
        self._choices = random.Random(number)

    async def live(self) -> None:
        verbs = (self.say, self.say, self.say, self.ask, self.list, self.edit, self.flush, self.delete)
        for _ in range(ROUNDS):
            await self._choices.choice(verbs)()
        for verb in (self.say, self.flush, self.ask, self.list):
            await verb()

    async def call(self, path: str, /, **fields: Any) -> dict[str, Any]:
        body = {"team_id": self.scope.team, "agent_id": self.scope.agent, "user_id": self.scope.user, **fields}
        headers = {"authorization": "Bearer local", "x-tdai-service-id": self.scope.instance}
        response = await self._http.post(f"/v3/{path}", json=body, headers=headers)
        assert response.status_code in (200, 404), response.text
        words = canaries_of(response.text)
        self.found += len(words & self.own)
        if strangers := words - self.own:
            self.foreign.append(f"{self.scope} {path}: {sorted(strangers)}")
        data: dict[str, Any] = response.json().get("data") or {}
        return data

    def word(self) -> str:
        canary = new_canary(f"{self._number} {len(self.own)}")
        self.own.add(canary)
        return canary

    def session(self) -> str:
        return self._choices.choice(SESSIONS)

    async def say(self) -> None:
        messages = [
            {"role": "user", "content": f"green tea {self.word()}"},
            {"role": "user", "content": SAME_WORDS},
            {"role": "assistant", "content": f"noted {self.word()}"},
        ]
        key = f"key-{len(self.own)}"  # the same keys everywhere
        await self.call("conversation/add", session_id=self.session(), messages=messages, idempotency_key=key)

    async def ask(self) -> None:
        for query in (SAME_WORDS, "noted", "corrected"):
            await self.call("conversation/search", query=query, limit=100, neighbours=5)
            await self.call("atomic/search", query=query, limit=100)
            await self.call("recall", query=query, limit=100)

    async def list(self) -> None:
        await self.call("conversation/query", limit=100, session_id=self.session())
        for item in (await self.call("atomic/query", limit=100))["items"][:3]:
            await self.call("trace", id=item["id"])
            await self.call("atomic/history", id=item["id"])
        for entry in (await self.call("scenario/ls"))["entries"]:
            await self.call("scenario/read", path=entry["path"])
            await self.call("scenario/history", path=entry["path"])
            await self.call("trace", path=entry["path"])
        await self.call("core/read")
        await self.call("core/history")
        await self.call("pipeline/status")

    async def edit(self) -> None:
        items = (await self.call("atomic/query", limit=100))["items"]
        if items:
            memory_id = self._choices.choice(items)["id"]
            await self.call("atomic/update", id=memory_id, content=f"corrected {self.word()}")

    async def flush(self) -> None:
        state = await self.call("pipeline/flush", wait_seconds=60)
        assert state["idle"], state

    async def delete(self) -> None:
        items = (await self.call("atomic/query", limit=100))["items"]
        if self._choices.random() < 0.5 and items:
            await self.call("atomic/delete", ids=[self._choices.choice(items)["id"]])
        else:
            await self.call("conversation/delete", session_ids=[self.session()])


async def test_ten_tenants_at_once_never_meet(url: str) -> None:
    async with httpx.AsyncClient(base_url=url, timeout=90.0) as http:
        tenants = [Tenant(scope, http, number) for number, scope in enumerate(TENANTS)]
        async with asyncio.TaskGroup() as group:
            for tenant in tenants:
                group.create_task(tenant.live(), name=str(tenant.scope))

    assert [line for tenant in tenants for line in tenant.foreign] == []
    assert all(tenant.found > 0 for tenant in tenants)
