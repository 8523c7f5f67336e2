"""The proxy's transport on a real port between a real client and a provider that is scripted; memory is the test's own."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from starlette.types import ASGIApp

from memstrata.memory import Memory
from memstrata.proxy.app import ProxyApp, ProxyRules, mounted
from memstrata.proxy.exchange import Incoming, Prepared, Rewriter
from memstrata.proxy.forwarding import Forwarding
from memstrata.proxy.limits import Limits, RateLimits
from memstrata.proxy.targets import Targets
from memstrata.proxy.upstream import Upstream, Waits
from memstrata.proxy.verification import UserOf, Verification
from memstrata.proxy.wire.request import Reply
from memstrata.server import bind, serve_until
from memstrata.server.run import MakeApi
from memstrata.settings import ServerSettings, Settings
from memstrata.testing import FakeClock
from memstrata.testing.upstream import FakeUpstream


@dataclass
class Watched:
    """A rewriter that changes what the test says, and keeps what it was shown and told."""

    seen: list[Incoming] = field(default_factory=list)
    ends: list[tuple[int, Reply | None]] = field(default_factory=list)
    become: Callable[[Incoming], Prepared] | None = None

    async def prepare(self, incoming: Incoming) -> Prepared:
        self.seen.append(incoming)
        if self.become is not None:
            return self.become(incoming)
        return Prepared(incoming.body, "main", "", None, self, "model-1")

    async def finished(self, status: int, reply: Reply | None) -> None:
        self.ends.append((status, reply))


@dataclass
class Running:
    """A proxy on a port, and what it counted."""

    url: str
    app: ProxyApp
    forwarding: Forwarding

    @property
    def counts(self) -> Counter[str]:
        return self.app.counts


Serve = Callable[..., AbstractAsyncContextManager[Running]]


@pytest.fixture
async def upstream() -> AsyncIterator[FakeUpstream]:
    async with FakeUpstream() as running:
        yield running


@pytest.fixture
def watched() -> Watched:
    return Watched()


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    """A client that changes nothing: no decompression, no redirects of its own."""
    async with aiohttp.ClientSession(auto_decompress=False, timeout=aiohttp.ClientTimeout(total=15)) as session:
        yield session


@pytest.fixture
def serve(tmp_path: Path, upstream: FakeUpstream, watched: Watched, clock: FakeClock) -> Serve:
    """Return a way to run the proxy beside the API: `async with serve(keyless_user="") as proxy`.

    Keywords are of ProxyRules; `waits`, `user_of`, `rewriter`, `upstreams`, `upstream_keys` and `limits` are the parts.
    """

    async def nobody(instance: str, user_key: str) -> str:
        return ""

    @asynccontextmanager
    async def running(
        *,
        waits: Waits | None = None,
        user_of: UserOf = nobody,
        rewriter: Rewriter = watched,
        upstreams: list[str] | None = None,
        upstream_keys: list[str] | None = None,
        limits: RateLimits | None = None,
        api_key: str = "",
        **rules: Any,
    ) -> AsyncIterator[Running]:
        settings = Settings(data_dir=tmp_path, server=ServerSettings(port=0, shutdown_seconds=1.0, api_key=api_key))
        made: list[tuple[ProxyApp, Forwarding]] = []

        @asynccontextmanager
        async def beside(memory: Memory, make_api: MakeApi, url: str) -> AsyncIterator[ASGIApp]:
            verification = Verification(user_of, clock)
            counted = None if limits is None else Limits(memory.store, limits, clock)
            pool = Upstream(waits or Waits())
            forwarding = Forwarding(pool, counted)
            there = upstreams or [f"anthropic={upstream.base_url}", f"openai={upstream.base_url}/v1"]
            app = ProxyApp(
                ProxyRules(**{"keyless_user": "lin", **rules}),
                verification,
                Targets(there, upstream_keys or []),
                forwarding,
                rewriter,
                watched,
                counted,
            )
            made.append((app, forwarding))
            try:
                yield mounted(make_api(None), app)
            finally:
                await verification.close()
                await pool.close()

        stop = asyncio.Event()
        ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        serving = asyncio.create_task(
            serve_until(
                stop,
                bind(settings.server),
                lambda: Memory.open(settings=settings),
                settings.server,
                ready.set_result,
                beside,
            )
        )
        waiting: list[asyncio.Future[Any]] = [serving, ready]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            serving.result()
        try:
            yield Running(ready.result(), *made[0])
        finally:
            stop.set()
            await serving

    return running
