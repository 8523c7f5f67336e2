"""One request to its provider and its answer back, until either side ends it; and then whoever waits for that is told.

A client that hangs up takes its request with it: the provider's connection is closed at once, whatever it was doing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from starlette.types import Receive, Send

from memstrata.errors import MemstrataError
from memstrata.proxy.asgi import hung_up, respond
from memstrata.proxy.credentials import Header
from memstrata.proxy.exchange import Watch
from memstrata.proxy.limits import Limits
from memstrata.proxy.relay import relay
from memstrata.proxy.tap import Tap
from memstrata.proxy.upstream import Upstream, UpstreamFailed
from memstrata.proxy.wire.request import Wire
from memstrata.records.proxy import RateKey

__all__ = ["Forwarded", "Forwarding", "Outgoing"]

_log = logging.getLogger(__name__)

Forwarded = Literal["whole", "broken", "silent", "not answered", "hung up"]
"""How it ended: all came; the provider broke off, fell silent, or never began; the client left."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request as it leaves. `extra` goes into the answer's head; `limited` is what its tokens count for, if anything."""

    method: str
    url: str = field(repr=False)
    headers: Sequence[tuple[str, str]] = field(repr=False)
    body: bytes = field(repr=False)
    wire: Wire
    extra: tuple[Header, ...]
    watch: Watch | None
    limited: RateKey | None


@dataclass(slots=True)
class _Course:
    """How far a request has come."""

    status: int = 0
    tap: Tap | None = None


class Forwarding:
    """Sends requests on. `open` is how many are under way."""

    def __init__(self, upstream: Upstream, limits: Limits | None = None) -> None:
        self._upstream = upstream
        self._limits = limits
        self.open = 0

    async def forward(self, outgoing: Outgoing, receive: Receive, send: Send) -> Forwarded:
        """Send a request on, its answer back, and return how it ended. The body must have been read from `receive`."""
        course = _Course()
        exchange = asyncio.create_task(self._exchanged(outgoing, send, course), name="proxy-exchange")
        leaving = asyncio.create_task(hung_up(receive), name="proxy-client")
        self.open += 1
        try:
            await asyncio.wait((exchange, leaving), return_when=asyncio.FIRST_COMPLETED)
            return exchange.result() if exchange.done() else "hung up"
        finally:
            self.open -= 1
            exchange.cancel()
            leaving.cancel()
            await asyncio.gather(exchange, leaving, return_exceptions=True)
            await self._ended(outgoing, course)

    async def _exchanged(self, outgoing: Outgoing, send: Send, course: _Course) -> Forwarded:
        try:
            answer = await self._upstream.send(outgoing.method, outgoing.url, outgoing.headers, outgoing.body)
        except UpstreamFailed as error:
            _log.warning("%s", error)
            body = outgoing.wire.error(error.status, "", str(error))
            await respond(send, error.status, body, "application/json", outgoing.extra)
            return "not answered"
        try:
            course.status = answer.status
            if outgoing.watch is not None or outgoing.limited is not None:
                course.tap = Tap(outgoing.wire, answer.headers)
            copy = None if course.tap is None else course.tap.feed
            return await relay(answer, send, outgoing.wire, outgoing.extra, self._upstream.waits.idle_seconds, copy)
        finally:
            answer.close()  # gives the connection back where all was read, ends it where not

    async def _ended(self, outgoing: Outgoing, course: _Course) -> None:
        reply = None if course.tap is None else course.tap.reply()
        if outgoing.limited is not None and self._limits is not None and reply is not None:
            read = reply.usage.input + reply.usage.cache_read + reply.usage.cache_write
            try:
                await self._limits.spend(outgoing.limited, read)
            except MemstrataError as error:
                _log.warning("tokens could not be counted against a limit: %s", error)
        if outgoing.watch is not None:
            await outgoing.watch.finished(course.status, reply)
