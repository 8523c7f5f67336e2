"""The way of a request through memory, in front of a real core in this process; what goes upstream is looked at, not sent."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from memstrata.client import AsyncMetadataClient
from memstrata.memory import Memory
from memstrata.proxy.binding import Binder, BindingRules
from memstrata.proxy.bridge import Bridge, BridgeRules
from memstrata.proxy.choices import Choices
from memstrata.proxy.clients.table import client_named
from memstrata.proxy.exchange import Incoming, Prepared
from memstrata.proxy.memory_core import MemoryCore
from memstrata.proxy.memory_step import MemoryRules, MemoryStep
from memstrata.proxy.recalled import RecalledRules
from memstrata.proxy.replay import Replay
from memstrata.proxy.snapshot import Snapshots
from memstrata.proxy.turns import Turns
from memstrata.proxy.usage import UsageBook
from memstrata.proxy.wire.request import Reply, ToolCall, Usage
from memstrata.proxy.wire.wires import WIRES
from memstrata.records.proxy import DefaultBinding, ProxySession
from memstrata.server.app import create_app
from memstrata.settings import ServerSettings
from memstrata.testing import FakeClock

SECRET = b"a secret of the tests"


class CountedTransport(httpx.ASGITransport):
    """Counts what the core is asked, and can be cut off."""

    def __init__(self, app: Any) -> None:
        super().__init__(app)
        self.asked: list[str] = []
        self.down = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self.down:
            raise httpx.ConnectError("cut off")
        self.asked.append(request.url.path)
        return await super().handle_async_request(request)


@dataclass
class Proxy:
    """One proxy in front of one core."""

    memory: Memory
    transport: CountedTransport
    core: MemoryCore
    step: MemoryStep
    usage: UsageBook
    bridge: Bridge
    clock: FakeClock
    ready: list[str] = field(default_factory=list)

    def session(self, name: str, user: str, client: str = "claude-code", instance: str = "default") -> ProxySession:
        return ProxySession(instance, user, client, name)

    async def send(
        self,
        body: dict[str, Any],
        *,
        session: str | None = "s1",
        user: str = "local",
        key: str = "",
        client: str = "claude-code",
        wire: str = "anthropic",
        suffix: str = "/v1/messages",
        counting: bool = False,
        headers: dict[str, str] | None = None,
    ) -> Prepared:
        named = {} if session is None else {"x-conversation-id": session}
        raw = json.dumps(body, ensure_ascii=False).encode()
        incoming = Incoming(
            WIRES[wire],  # type: ignore[index]
            client_named(client),
            "default",
            user,
            key,
            {**named, **(headers or {})},
            suffix,
            raw,
            counting,
        )
        return await self.step.prepare(incoming)


OpenProxy = Callable[..., AbstractAsyncContextManager[Proxy]]


@pytest.fixture
def said() -> Callable[..., Reply]:
    """Return a way to make what an upstream said: `said("done")`, `said("", "Bash")` for a tool call."""

    def make(text: str, tool: str = "", stop: str = "") -> Reply:
        calls = (ToolCall("toolu_1", tool, "{}"),) if tool else ()
        return Reply(
            text, stop or ("tool_use" if tool else "end_turn"), calls, Usage(10, 5, 3, 1), True, "msg_1", False
        )

    return make


@pytest.fixture
async def proxy(
    open_memory: Callable[..., AbstractAsyncContextManager[Memory]], clock: FakeClock, request: pytest.FixtureRequest
) -> AsyncIterator[Proxy]:
    """A proxy whose core has no keys: everything belongs to one scope."""
    key = getattr(request, "param", "")
    async with open_memory(l2_delay_seconds=0.0, l2_min_interval_seconds=0.0) as memory:
        transport = CountedTransport(create_app(memory, ServerSettings(api_key=key)))
        core = MemoryCore("http://core", key, transport)
        fallback = None if key else DefaultBinding("home", "helper")
        binder = Binder(memory.store, Choices(core.metadata, clock), BindingRules(fallback=fallback), clock)
        replay = Replay(memory.store, clock, RecalledRules(budget_seconds=5.0))
        usage = UsageBook(memory.store, clock)
        made: list[str] = []
        step = MemoryStep(
            memory.store,
            core,
            binder,
            replay,
            Snapshots(memory.store, clock),
            Turns(memory.store, clock, lambda: made.append("ready")),
            usage,
            SECRET,
            MemoryRules(bridge_url="http://127.0.0.1:8420/memory-bridge/v3"),
            clock,
        )
        bridge = Bridge(memory.store, core, SECRET, BridgeRules(), clock)
        yield Proxy(memory, transport, core, step, usage, bridge, clock, made)
        await replay.close()


@dataclass(frozen=True)
class People:
    """A directory: `user_id` has `key`, owns two teams; `red` has eleven agents, `blue` one."""

    user_id: str
    key: str
    red: str
    blue: str
    agents: tuple[str, ...]
    tasks: tuple[str, ...]
    blue_agent: str


@pytest.fixture
async def people(proxy: Proxy) -> People:
    """A user with choices to make, in the core of a proxy that has a gateway key."""
    root = await AsyncMetadataClient("http://core", api_key=proxy.core._api_key, transport=proxy.transport).init_admin(
        {"username": "root"}
    )
    admin = AsyncMetadataClient(
        "http://core", api_key=proxy.core._api_key, user_key=root["user_key"], transport=proxy.transport
    )
    key = "a-key-of-her-own-1"
    made = await admin.create_user_with_key({"username": "lin", "user_key": key})
    user = made["user_id"]
    lin = AsyncMetadataClient("http://core", api_key=proxy.core._api_key, user_key=key, transport=proxy.transport)
    red = (await lin.create_team({"name": "Red", "owner_user_id": user}))["team_id"]
    blue = (await lin.create_team({"name": "Blue", "owner_user_id": user}))["team_id"]
    agents = [
        (await lin.create_agent({"team_id": red, "owner_user_id": user, "name": f"agent {at:02}"}))["agent_id"]
        for at in range(11)
    ]
    alone = (await lin.create_agent({"team_id": blue, "owner_user_id": user, "name": "alone"}))["agent_id"]
    tasks = [
        (await lin.create_task({"team_id": red, "creator_user_id": user, "title": title, "source_type": "manual"}))[
            "task_id"
        ]
        for title in ("Ship", "Mend")
    ]
    return People(user, key, red, blue, tuple(agents), tuple(tasks), alone)
