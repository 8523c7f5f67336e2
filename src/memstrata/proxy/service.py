"""The proxy put together: what it is made of, what runs beside its requests, and how it ends.

It ends in this order: no more requests, open turns to the core while that is there, the last numbers, connections.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from memstrata.clock import Clock
from memstrata.proxy.app import ProxyApp, ProxyRules
from memstrata.proxy.binding import Binder, BindingRules
from memstrata.proxy.bridge import PREFIX, Bridge, BridgeRules
from memstrata.proxy.choices import Choices
from memstrata.proxy.core_users import users_of
from memstrata.proxy.delivery import delivering
from memstrata.proxy.forwarding import Forwarding
from memstrata.proxy.keeping import Keeping
from memstrata.proxy.limits import Limits, RateLimits
from memstrata.proxy.memory_core import MemoryCore
from memstrata.proxy.memory_step import MemoryRules, MemoryStep
from memstrata.proxy.metered import Metered
from memstrata.proxy.outbox import Outbox
from memstrata.proxy.recalled import RecalledRules
from memstrata.proxy.replay import Replay
from memstrata.proxy.signing_key import signing_key
from memstrata.proxy.snapshot import Snapshots
from memstrata.proxy.status import ProxyStatus
from memstrata.proxy.targets import Targets
from memstrata.proxy.turns import Turns
from memstrata.proxy.upstream import Upstream, Waits
from memstrata.proxy.usage import UsageBook
from memstrata.proxy.verification import Verification
from memstrata.records import ComponentHealth
from memstrata.records.proxy import DefaultBinding
from memstrata.settings import ProxySettings
from memstrata.store.protocol import Store

__all__ = ["Installation", "ProxyService", "running_proxy"]

_log = logging.getLogger(__name__)
_DRAIN_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Installation:
    """Where a proxy runs. `url` is its own address; `gateway_key` the core's, empty for a core without one."""

    store: Store
    core: MemoryCore
    folder: Path
    url: str
    clock: Clock
    gateway_key: str = field(default="", repr=False)


class ProxyService:
    """A proxy that runs. `app` answers requests; what is here looks after the rest."""

    def __init__(self, settings: ProxySettings, at: Installation) -> None:
        store, clock, core = at.store, at.clock, at.core
        keyless = not at.gateway_key
        recalled = RecalledRules(
            settings.recall_memories, settings.recall_characters, settings.recall_budget_ms / 1_000
        )
        bridge_url = (settings.public_url or at.url).rstrip("/") + PREFIX.rstrip("/")
        secret = signing_key(at.folder)
        self._usage = UsageBook(store, clock)
        self._outbox = Outbox(store, clock, delivering(core), idle_seconds=settings.turn_idle_seconds)
        self._keeping = Keeping(store, clock, days=settings.session_days)
        self._replay = Replay(store, clock, recalled)
        binding = BindingRules(
            forms=settings.forms, fallback=DefaultBinding(settings.team, settings.agent) if keyless else None
        )
        self.memory = MemoryStep(
            store,
            core,
            Binder(store, Choices(core.metadata, clock), binding, clock),
            self._replay,
            Snapshots(store, clock, max_tokens=settings.snapshot_tokens),
            Turns(store, clock, self._outbox.wake),
            self._usage,
            secret,
            MemoryRules(
                settings.recall,
                settings.memory_write,
                bridge_url,
                recalled,
                frozenset(name.lower() for name in settings.recall_agents),
            ),
            clock,
        )
        self.bridge = Bridge(store, core, secret, BridgeRules(), clock)
        self._verification = Verification(users_of(core.metadata), clock)
        limits = Limits(store, RateLimits(settings.requests_per_minute, settings.input_tokens_per_minute), clock)
        counted = limits if limits.any else None
        self._upstream = Upstream(
            Waits(settings.connect_timeout_seconds, settings.first_byte_timeout_seconds, settings.idle_timeout_seconds)
        )
        self._forwarding = Forwarding(self._upstream, counted)
        self.app = ProxyApp(
            ProxyRules(
                instance=settings.instance,
                keyless_user=settings.user if keyless else "",
                gateway_key=at.gateway_key,
                system_users=frozenset(settings.system_users),
                max_body_bytes=settings.max_body_bytes,
            ),
            self._verification,
            Targets(settings.upstreams, settings.upstream_keys),
            self._forwarding,
            self.memory,
            Metered(self._usage),
            counted,
            self.bridge,
        )
        self._status = ProxyStatus(
            store, clock, self.memory, self._replay, self._outbox, self._keeping, self._usage, self.bridge
        )
        self._core = core
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin what runs beside requests."""
        for name, work in (("outbox", self._outbox.run), ("keeping", self._keeping.run), ("usage", self._usage.run)):
            self._tasks.append(asyncio.create_task(work(), name=f"proxy-{name}"))

    async def health(self) -> ComponentHealth:
        """Return how it is. `reduced` where turns wait for the core, or a part has stopped."""
        stopped = [f"{task.get_name()} has stopped" for task in self._tasks if task.done()]
        return await self._status.health(stopped, {"open": self._forwarding.open, **self.app.counts})

    async def close(self) -> None:
        """Deliver what is finished, write the last numbers, end the rest. What was not delivered lies in the store."""
        await self._replay.close()
        self._outbox.stop()
        self._keeping.stop()
        for task in self._tasks:
            task.cancel()
        for task, ended in zip(self._tasks, await asyncio.gather(*self._tasks, return_exceptions=True), strict=True):
            if isinstance(ended, Exception):
                _log.error("%s had stopped: %s", task.get_name(), type(ended).__name__)
        left = await self._outbox.drain(_DRAIN_SECONDS)
        if left:
            _log.warning("%d turns could not be delivered and wait in the store", left)
        await self._usage.flush()
        await self._verification.close()
        await self._upstream.close()
        await self._core.close()


@asynccontextmanager
async def running_proxy(settings: ProxySettings, at: Installation) -> AsyncIterator[ProxyService]:
    """Run a proxy for a block. Raises Misconfigured."""
    service = ProxyService(settings, at)
    service.start()
    try:
        yield service
    finally:
        await service.close()
