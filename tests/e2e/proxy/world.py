"""A core with people in it and proxies in front of it, on real ports. The way to the core can be cut and can fail."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import httpx
from starlette.types import ASGIApp, Receive, Scope, Send

from memstrata.client import AsyncMemoryClient, AsyncMetadataClient
from memstrata.memory import Memory
from memstrata.proxy.memory_core import MemoryCore
from memstrata.proxy.service import Installation, running_proxy
from memstrata.server import bind, serve_until
from memstrata.server.app import create_app
from memstrata.settings import ProxySettings, ServerSettings
from memstrata.store.sqlite.store import SqliteStore
from memstrata.testing import FakeClock
from memstrata.testing.upstream import FakeUpstream

__all__ = ["ADD", "GATEWAY_KEY", "USER_KEY", "CoreLink", "People", "Proxies", "Reply", "World"]

GATEWAY_KEY = "the-gateway-key-of-tests"
USER_KEY = "sk-mem-lin-0123456789abcdef"
OTHER_KEY = "sk-mem-kai-fedcba9876543210"
ADD = "/v3/conversation/add"
DEADLINE_SECONDS = 20.0


class CoreLink(httpx.ASGITransport):
    """The way to the core. `fails` says how many more requests to a path get a 500; `down` cuts it."""

    def __init__(self, app: Any) -> None:
        super().__init__(app)
        self.asked: Counter[str] = Counter()
        self.fails: Counter[str] = Counter()
        self.down = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if self.down:
            raise httpx.ConnectError("cut")
        self.asked[path] += 1
        if self.fails[path] > 0:
            self.fails[path] -= 1
            return httpx.Response(500, json={"code": 50000, "message": "broken", "request_id": "r"})
        return await super().handle_async_request(request)

    async def aclose(self) -> None:
        """Stay open: a proxy that ends does not take the core along."""


@dataclass(frozen=True)
class People:
    """`lin` has two teams: `red` with eleven agents and two tasks, `blue` with one agent. `kai` has a team of one agent."""

    lin: str
    kai: str
    red: str
    blue: str
    agents: tuple[str, ...]
    tasks: tuple[str, ...]
    blue_agent: str


@dataclass(frozen=True)
class Reply:
    """An answer as the client has it."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def bypass(self) -> str:
        return self.headers.get("x-memstrata-bypass", "")


@dataclass
class Proxies:
    """Proxies on one store, by turns."""

    urls: tuple[str, ...]
    store: SqliteStore
    http: aiohttp.ClientSession
    sent: int = 0

    async def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> Reply:
        """Send a request to the next of them."""
        url = self.urls[self.sent % len(self.urls)]
        self.sent += 1
        async with self.http.post(url + path, data=body, headers=headers) as answer:
            return Reply(answer.status, {n.lower(): v for n, v in answer.headers.items()}, await answer.read())


@dataclass
class World:
    """Everything but the client. `folder` is what outlives a proxy."""

    memory: Memory
    link: CoreLink
    upstream: FakeUpstream
    clock: FakeClock
    folder: Path
    gateway_key: str
    open: int = 0
    """Requests that a proxy has not done with; the client may have its answer already."""

    @asynccontextmanager
    async def proxies(self, count: int = 1, **settings: Any) -> AsyncIterator[Proxies]:
        """Run proxies on one store that lies in the folder; keywords are of ProxySettings."""
        there = (f"anthropic={self.upstream.base_url}", f"openai={self.upstream.base_url}/v1")
        usual = {"upstreams": there, "team": "home", "agent": "helper", "user": "lin", "recall_budget_ms": 10_000}
        async with AsyncExitStack() as stack:
            store = await SqliteStore.open(self.folder)
            stack.push_async_callback(store.close)
            http = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=DEADLINE_SECONDS))
            found = [await stack.enter_async_context(self._one(store, **{**usual, **settings})) for _ in range(count)]
            await stack.enter_async_context(http)
            yield Proxies(tuple(found), store, http)

    @asynccontextmanager
    async def _one(self, store: SqliteStore, **settings: Any) -> AsyncIterator[str]:
        own, stop = ServerSettings(port=0, shutdown_seconds=1.0, api_key=self.gateway_key), asyncio.Event()
        ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        @asynccontextmanager
        async def beside(_: Memory, __: Any, url: str) -> AsyncIterator[Any]:
            core = MemoryCore("http://core", self.gateway_key, self.link)
            at = Installation(store, core, self.folder, url, self.clock, self.gateway_key)
            async with running_proxy(ProxySettings(**settings), at) as service:
                yield self._counted(service.app)

        serving = asyncio.create_task(
            serve_until(stop, bind(own), lambda: nullcontext(self.memory), own, ready.set_result, beside)
        )
        waiting: list[asyncio.Future[Any]] = [serving, ready]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            serving.result()
        try:
            yield await ready
        finally:
            stop.set()
            await serving

    def _counted(self, app: ASGIApp) -> ASGIApp:
        async def counted(scope: Scope, receive: Receive, send: Send) -> None:
            self.open += 1
            try:
                await app(scope, receive, send)
            finally:
                self.open -= 1

        return counted

    def core(self, **scope: Any) -> AsyncMemoryClient:
        """Return a client of the core itself, past every cut."""
        transport = httpx.ASGITransport(self.link.app)
        where = {"team": "home", "agent": "helper", "user": "lin", **scope}
        return AsyncMemoryClient("http://core", api_key=self.gateway_key or "any", transport=transport, **where)

    async def said(self, session: str, **scope: Any) -> list[tuple[str, str]]:
        """Return what the core keeps of a session, as role and text, in order."""
        async with self.core(**scope) as client:
            page = await client.messages(session=session, limit=100)
        return [(one.role, one.content) for one in reversed(page.items)]

    async def settled(self, proxies: Proxies) -> None:
        """Wait until every request is done with, and no finished turn waits for delivery."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            while self.open:
                await asyncio.sleep(0.001)
            while await proxies.store.read(lambda r: r.proxy.turns.next_due()) is not None:
                self.clock.advance(1.0)
                await asyncio.sleep(0.001)

    async def remember(self, text: str, **scope: Any) -> None:
        """Let the core know something from an earlier conversation."""
        async with self.core(session="earlier", **scope) as client:
            await client.add([("user", text), ("assistant", "Noted.")])
            await client.flush()
            async with asyncio.timeout(DEADLINE_SECONDS):
                while text not in (await client.recall(text)).prepend_context:
                    await asyncio.sleep(0.005)

    async def populate(self) -> People:
        """Put people into a core that has keys."""
        transport = httpx.ASGITransport(self.link.app)

        def as_user(key: str | None = None) -> AsyncMetadataClient:
            return AsyncMetadataClient("http://core", api_key=self.gateway_key, user_key=key, transport=transport)

        root = await as_user().init_admin({"username": "root"})
        admin = as_user(root["user_key"])
        users = [
            (await admin.create_user_with_key({"username": name, "user_key": key}))["user_id"]
            for name, key in (("lin", USER_KEY), ("kai", OTHER_KEY))
        ]
        lin, kai = as_user(USER_KEY), as_user(OTHER_KEY)
        red, blue = [
            (await lin.create_team({"name": name, "owner_user_id": users[0]}))["team_id"] for name in ("Red", "Blue")
        ]
        hers = (await kai.create_team({"name": "Kai", "owner_user_id": users[1]}))["team_id"]

        async def agent(client: AsyncMetadataClient, team: str, owner: str, name: str) -> str:
            made = await client.create_agent({"team_id": team, "owner_user_id": owner, "name": name})
            return made["agent_id"]

        agents = [await agent(lin, red, users[0], f"agent {at:02}") for at in range(11)]
        alone = await agent(lin, blue, users[0], "alone")
        await agent(kai, hers, users[1], "hers")
        tasks = [
            (
                await lin.create_task(
                    {"team_id": red, "creator_user_id": users[0], "title": title, "source_type": "manual"}
                )
            )["task_id"]
            for title in ("Ship", "Mend")
        ]
        return People(users[0], users[1], red, blue, tuple(agents), tuple(tasks), alone)


class LogLines(logging.Handler):
    """Keeps every line that any logger writes, whatever its level."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(logging.Formatter("%(name)s %(message)s").format(record))


def app_of(memory: Memory, gateway_key: str) -> Any:
    """Return the core's application."""
    return create_app(memory, ServerSettings(api_key=gateway_key))
