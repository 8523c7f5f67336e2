"""Running the API: one process, one port, until a signal says stop.

The address is taken before the database is opened, so that a second server on the same port ends with one clear line and
touches nothing. On SIGTERM or SIGINT no new request is accepted, those under way are finished, `Memory` closes, and the
call returns: a stop that was asked for is not a failure.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import ipaddress
import logging
import math
import os
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

import uvicorn
from starlette.types import ASGIApp

from memstrata.errors import Misconfigured
from memstrata.server.app import create_app
from memstrata.settings import ServerSettings

if TYPE_CHECKING:
    from memstrata.mcp.session_grant import SessionCheck
    from memstrata.memory import Memory

__all__ = ["Beside", "MakeApi", "bind", "serve", "serve_alone", "serve_until"]

OpenMemory = Callable[[], "AbstractAsyncContextManager[Memory]"]
MakeApi = Callable[["SessionCheck | None"], ASGIApp]
Beside = Callable[["Memory", MakeApi, str], AbstractAsyncContextManager[ASGIApp]]
"""Puts another application in front of the API on the same port; is told the memory, how to make the API with what it knows
of sessions' tokens, and the base URL."""
OpenApplication = Callable[[str], AbstractAsyncContextManager[ASGIApp]]
"""Opens an application for the base URL that it will be served at."""

# Longer than the clients keep an idle connection, so that it is the client who closes it: a server that does it first
# makes the next request fail.
KEEP_ALIVE_SECONDS = 30

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_log = logging.getLogger(__name__)


def serve(
    open_memory: OpenMemory,
    settings: ServerSettings,
    *,
    on_ready: Callable[[str], None] | None = None,
    beside: Beside | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT, then return. `on_ready` is told the base URL once requests are accepted.

    Raises Misconfigured when the address cannot be used, or is open to others without an API key; also whatever opening
    the memory raises.
    """
    with bind(settings) as listener, asyncio.Runner(loop_factory=_loop_factory()) as runner:
        ready = _settled(on_ready)
        runner.run(_until_signalled(lambda stop: serve_until(stop, listener, open_memory, settings, ready, beside)))


def serve_alone(
    open_application: OpenApplication, settings: ServerSettings, *, on_ready: Callable[[str], None] | None = None
) -> None:
    """The same for an application without a memory in this process. Raises Misconfigured, and what opening it raises."""
    with bind(settings) as listener, asyncio.Runner(loop_factory=_loop_factory()) as runner:
        url = _url(listener)

        async def until(stop: asyncio.Event) -> None:
            async with open_application(url) as application:
                ready = _settled(on_ready)
                await _served(stop, listener, application, settings, lambda: ready(url))

        runner.run(_until_signalled(until))


def _settled(on_ready: Callable[[str], None] | None) -> Callable[[str], None]:
    """Return what happens when the process is ready: all that was loaded is left out of every later garbage collection.

    It lives as long as the process, and looking through it would hold up requests for tens of milliseconds.
    """

    def ready(url: str) -> None:
        gc.collect()
        gc.freeze()
        if on_ready is not None:
            on_ready(url)

    return ready


async def serve_until(
    stop: asyncio.Event,
    listener: socket.socket,
    open_memory: OpenMemory,
    settings: ServerSettings,
    on_ready: Callable[[str], None] | None = None,
    beside: Beside | None = None,
) -> None:
    """Serve on a bound socket, which is closed at the end, in the running loop until `stop` is set.

    What tests and embedding programs use.
    """
    url = _url(listener)
    with listener:
        async with open_memory() as memory:

            def ready() -> None:
                memory.announce(url)
                if on_ready is not None:
                    on_ready(url)

            def api(check_session: SessionCheck | None = None) -> ASGIApp:
                return create_app(memory, settings, check_session)

            async with nullcontext(api()) if beside is None else beside(memory, api, url) as application:
                await _served(stop, listener, application, settings, ready)


async def _served(
    stop: asyncio.Event,
    listener: socket.socket,
    application: ASGIApp,
    settings: ServerSettings,
    ready: Callable[[], None],
) -> None:
    server = _Server(_config(application, settings), ready)
    stopping = asyncio.create_task(server.stop_when(stop), name="stop-server")
    try:
        await server.serve([listener])
    finally:
        stopping.cancel()


def bind(settings: ServerSettings) -> socket.socket:
    """Return a socket bound to the configured address; port 0 takes a free one. Raises Misconfigured."""
    where = f"{settings.host}:{settings.port}"
    try:
        found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise Misconfigured(f"server.host: cannot listen on {where}: {error}") from error
    family, kind, protocol, _, address = found[0]
    if not settings.api_key and not ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback:
        raise Misconfigured(
            f"server.api_key: {where} can be reached from other machines, so a key is needed; set MEMSTRATA_API_KEY,"
            " or listen on 127.0.0.1"
        )
    listener = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(2_048)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise Misconfigured(f"server.port: {where} is in use by another program") from error
        raise Misconfigured(f"server.host: cannot listen on {where}: {error.strerror}") from error
    return listener


class _Server(uvicorn.Server):
    """Uvicorn without its signal handling, which ends the process before the memory could close."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def stop_when(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self.should_exit = True


def _config(app: ASGIApp, settings: ServerSettings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http="httptools",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=max(1, math.ceil(settings.shutdown_seconds)),
    )


async def _until_signalled(run: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    stop = asyncio.Event()
    with _stopping_on_signals(stop):
        await run(stop)


@contextmanager
def _stopping_on_signals(stop: asyncio.Event) -> Iterator[None]:
    """Set `stop` on the first signal; a second one takes the default way out."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in _SIGNALS}

    def handle(number: int, _: object) -> None:
        _log.info("received %s, stopping", signal.Signals(number).name)
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_DFL)
        loop.call_soon_threadsafe(stop.set)

    for number in _SIGNALS:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
