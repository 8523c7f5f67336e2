"""One HTTP connection to a server and how a call goes over it, blocking and asynchronous: what all clients are built on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self, TypeVar

import httpx

from memstrata.client._calls import Call
from memstrata.client._errors import Unavailable
from memstrata.client._exchange import (
    base_headers,
    base_url,
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
        self, endpoint: str, api_key: str, instance: str, timeout: float, transport: httpx.BaseTransport | None
    ) -> None:
        """Nothing is sent yet. `timeout` is in seconds and for one try. Raises ValueError for an empty argument."""
        self._timeout = timeout
        self._pause: Callable[[float], None] = time.sleep
        self._http = httpx.Client(
            base_url=base_url(endpoint), headers=base_headers(api_key, instance), transport=transport
        )

    def close(self) -> None:
        """Close the connection, also for the clients that share it."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _send(self, call: Call[T]) -> T:
        attempt = 0
        while True:
            try:
                return call.read(interpret(self._exchange(call)))
            except Unavailable as error:
                pause = pause_before_retry(error, attempt, repeatable=call.repeatable)
                if pause is None:
                    raise
            self._pause(pause)
            attempt += 1

    def _exchange(self, call: Call[T]) -> httpx.Response:
        try:
            return self._http.request(**request_of(call, self._timeout))
        except httpx.HTTPError as error:
            raise unreachable(error) from error


class AsyncConnection:
    """`Connection` with coroutines."""

    def __init__(
        self, endpoint: str, api_key: str, instance: str, timeout: float, transport: httpx.AsyncBaseTransport | None
    ) -> None:
        """Nothing is sent yet. `timeout` is in seconds and for one try. Raises ValueError for an empty argument."""
        self._timeout = timeout
        self._pause: Callable[[float], Awaitable[None]] = asyncio.sleep
        self._http = httpx.AsyncClient(
            base_url=base_url(endpoint), headers=base_headers(api_key, instance), transport=transport
        )

    async def aclose(self) -> None:
        """Close the connection, also for the clients that share it."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _send(self, call: Call[T]) -> T:
        attempt = 0
        while True:
            try:
                return call.read(interpret(await self._exchange(call)))
            except Unavailable as error:
                pause = pause_before_retry(error, attempt, repeatable=call.repeatable)
                if pause is None:
                    raise
            await self._pause(pause)
            attempt += 1

    async def _exchange(self, call: Call[T]) -> httpx.Response:
        try:
            return await self._http.request(**request_of(call, self._timeout))
        except httpx.HTTPError as error:
            raise unreachable(error) from error
