"""The proxy: beside the API on its port, and `proxy`, which runs it alone in front of a core elsewhere.

What it needs is loaded when it runs; a server whose proxy is switched off loads none of it.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from memstrata.cli.logs import LogFormat, write_logs
from memstrata.cli.place import Place, read_settings
from memstrata.cli.screen import Screen
from memstrata.cli.words import say
from memstrata.clock import SystemClock
from memstrata.records import Health
from memstrata.settings import Settings

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from memstrata.memory import Memory
    from memstrata.server.run import Beside, MakeApi

__all__ = ["proxy", "proxy_beside"]

FOLDER = "proxy"
"""Inside the data folder: a proxy that runs alone has a store of its own, whatever else lies there."""


def proxy_beside(settings: Settings) -> Beside:
    """Return what puts the proxy in front of the API: the API is its core, the memory's store is its own."""

    @asynccontextmanager
    async def beside(memory: Memory, make_api: MakeApi, url: str) -> AsyncIterator[ASGIApp]:
        import httpx

        from memstrata.mcp.confirmation import Owner
        from memstrata.mcp.session_grant import SessionGrant
        from memstrata.proxy.app import mounted
        from memstrata.proxy.memory_core import MemoryCore
        from memstrata.proxy.service import Installation, running_proxy

        async def check_session(token: str) -> SessionGrant | None:
            place = await service.bridge.opened(token)
            if place is None:
                return None
            owner = Owner(place.instance, place.team, place.agent, place.user)
            return SessionGrant(owner, service.bridge.searches, lambda: service.bridge.spend(token))

        api = make_api(check_session)
        transport = httpx.ASGITransport(api, raise_app_exceptions=False)
        key = settings.server.api_key
        core = MemoryCore(url, key, transport)
        at = Installation(memory.store, core, settings.data_dir, url, SystemClock(), key)
        async with running_proxy(settings.proxy, at) as service:
            memory.show("proxy", service.health)
            yield mounted(api, service.app)

    return beside


def proxy(
    screen: Screen,
    place: Place,
    *,
    core: str | None,
    host: str | None,
    port: int | None,
    quiet: bool,
    log_format: LogFormat,
) -> None:
    """Run the proxy alone until a signal says stop. Raises Misconfigured if the address or the folder cannot be used."""
    from memstrata.proxy.memory_core import MemoryCore
    from memstrata.proxy.service import Installation, running_proxy
    from memstrata.server.operations import with_operations
    from memstrata.server.run import serve_alone
    from memstrata.store.sqlite.store import SqliteStore

    flags = {"proxy.host": host, "proxy.port": port, "proxy.core_url": core, "proxy.core_api_key": place.api_key}
    settings, _ = read_settings(place.data_dir, place.config, flags)
    write_logs("warning" if quiet and settings.log_level == "info" else settings.log_level, log_format)
    own = settings.proxy
    folder = settings.data_dir / FOLDER

    where = replace(settings.server, host=own.host, port=own.port, api_key=own.core_api_key)

    @asynccontextmanager
    async def open_application(url: str) -> AsyncIterator[ASGIApp]:
        store, clock = await SqliteStore.open(folder), SystemClock()
        started_at = clock.now()
        try:
            at = Installation(store, MemoryCore(own.core_url, own.core_api_key), folder, url, clock, own.core_api_key)
            async with running_proxy(own, at) as service:

                async def state() -> Health:
                    parts = {"proxy": await service.health(), "store": store.health()}
                    well = all(part.state == "ok" for part in parts.values())
                    return Health("ok" if well else "degraded", (clock.now() - started_at) / 1_000, parts)

                yield with_operations(service.app, state, where)
        finally:
            await store.close()

    def announce(url: str) -> None:
        if not quiet:
            screen.bullet(say("proxy.ready", url=url, core=own.core_url, folder=folder))
        screen.json({"url": url, "core": own.core_url, "data_dir": str(folder)})
        sys.stdout.flush()

    serve_alone(open_application, where, on_ready=announce)
