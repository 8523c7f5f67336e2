"""One HTTP connection to a server and how a call goes over it, blocking and asynchronous: what all clients are built on."""

from __future__ import annotations

import asyncio
import copy
import ssl
import time
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self, TypeVar

import httpx

from memstrata.client._calls import Call
from memstrata.client._deadline import Deadline
from memstrata.client._errors import Unavailable, Unreachable
from memstrata.client._exchange import (
    base_headers,
    base_url,
    checked_tls,
    interpret,
    pause_before_retry,
    request_of,
    unreachable,
)

__all__ = ["AsyncConnection", "Connection"]

T = TypeVar("T")


class Connection:
    """Sends calls, and again where that can do no harm."""

    def __init__(
        self,
        endpoint: str,
        api_key: str,
        instance: str,
        timeout: float,
        transport: httpx.BaseTransport | None,
        user_key: str | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Nothing is sent yet. `timeout` is in seconds and for one try; a call's own is for all of its tries.

        A client that blocks can hold to it only between two waits for the network, each of which it bounds too.
        Certificates are always verified, with `tls` where a CA of your own is wanted. Raises ValueError for an argument
        that is empty and for a `tls` that verifies nothing.
        """
        self._timeout = timeout
        self._seconds: float | None = None
        self._pause: Callable[[float], None] = time.sleep
        self._http = httpx.Client(
            base_url=base_url(endpoint),
            headers=base_headers(api_key, instance, user_key),
            transport=transport,
            timeout=timeout,
            verify=checked_tls(tls),
        )

    def with_timeout(self, seconds: float) -> Self:
        """Return the same client over the same connection, whose calls have so many seconds each for all of their tries.

        Raises ValueError unless above 0.
        """
        Deadline.after(seconds)
        other = copy.copy(self)
        other._seconds = seconds
        return other

    def close(self) -> None:
        """Close the connection, also for the clients that share it."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _send(self, call: Call[T], timeout: float | Deadline | None = None) -> T:
        deadline = Deadline.after(self._seconds if timeout is None else timeout)
        attempt = 0
        while True:
            try:
                return call.read(interpret(self._exchange(call, deadline.left())))
            except Unavailable as error:
                pause = pause_before_retry(error, attempt, repeatable=call.repeatable, seconds_left=deadline.left())
                if pause is None:
                    raise
            self._pause(pause)
            attempt += 1

    def _exchange(self, call: Call[T], seconds_left: float | None) -> httpx.Response:
        try:
            return self._http.request(**request_of(call, self._timeout, seconds_left))
        except httpx.HTTPError as error:
            raise unreachable(error) from error


class AsyncConnection:
    """`Connection` with coroutines."""

    def __init__(
        self,
        endpoint: str,
        api_key: str,
        instance: str,
        timeout: float,
        transport: httpx.AsyncBaseTransport | None,
        user_key: str | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Nothing is sent yet. `timeout` is in seconds and for one try; a call's own is for all of its tries.

        Certificates are always verified, with `tls` where a CA of your own is wanted. Raises ValueError for an argument
        that is empty and for a `tls` that verifies nothing.
        """
        self._timeout = timeout
        self._seconds: float | None = None
        self._pause: Callable[[float], Awaitable[None]] = asyncio.sleep
        self._http = httpx.AsyncClient(
            base_url=base_url(endpoint),
            headers=base_headers(api_key, instance, user_key),
            transport=transport,
            timeout=timeout,
            verify=checked_tls(tls),
        )

    def with_timeout(self, seconds: float) -> Self:
        """Return the same client over the same connection, whose calls have so many seconds each for all of their tries.

        Raises ValueError unless above 0.
        """
        Deadline.after(seconds)
        other = copy.copy(self)
        other._seconds = seconds
        return other

    async def aclose(self) -> None:
        """Close the connection, also for the clients that share it."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _send(self, call: Call[T], timeout: float | Deadline | None = None) -> T:
        deadline = Deadline.after(self._seconds if timeout is None else timeout)
        attempt = 0
        while True:
            try:
                return call.read(interpret(await self._exchange(call, deadline.left())))
            except Unavailable as error:
                pause = pause_before_retry(error, attempt, repeatable=call.repeatable, seconds_left=deadline.left())
                if pause is None:
                    raise
            await self._pause(pause)
            attempt += 1

    async def _exchange(self, call: Call[T], seconds_left: float | None) -> httpx.Response:
        try:
            async with asyncio.timeout(seconds_left):
                return await self._http.request(**request_of(call, self._timeout, seconds_left))
        except TimeoutError as error:
            raise Unreachable("no answer in time", sent=True, timed_out=True) from error
        except httpx.HTTPError as error:
            raise unreachable(error) from error
