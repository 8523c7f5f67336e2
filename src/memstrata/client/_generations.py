"""The clients of the generation log: `MemoryGenerationLogClient` and its twin. What is sent and read is in `_operator_calls`."""

from __future__ import annotations

import ssl

import httpx

from memstrata.client._calls import Time
from memstrata.client._connection import AsyncConnection, Connection
from memstrata.client._operator_calls import GenerationCalls
from memstrata.client._operator_results import Generation, GenerationPage

__all__ = ["AsyncMemoryGenerationLogClient", "MemoryGenerationLogClient"]


class MemoryGenerationLogClient(Connection):
    """How the memories of an instance came about."""

    def __init__(
        self,
        endpoint: str = "http://127.0.0.1:8420",
        *,
        api_key: str = "local",
        instance: str = "default",
        user_key: str | None = None,
        timeout: float = 30.0,
        tls: ssl.SSLContext | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """Nothing is sent yet. `timeout` is in seconds and for one try; a call's own is for all of its tries.

        `user_key` is that of a person in the directory. `tls` is for a CA of your own; certificates are always verified.
        Raises ValueError for an argument that is empty.
        """
        self._calls = GenerationCalls()
        super().__init__(endpoint, api_key, instance, timeout, transport, user_key, tls)

    def list(
        self,
        *,
        layer: str | None = None,
        status: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        timeout: float | None = None,
    ) -> GenerationPage:
        """Page through the log, newest first: the last 7 days, or up to 90 days between two times."""
        return self._send(self._calls.list(layer, status, since, until, limit, cursor), timeout)

    def get(self, log_id: str, *, timeout: float | None = None) -> Generation:
        """Read how one run went, with all that it rests on and wrote."""
        return self._send(self._calls.get(log_id), timeout)

    def get_by_memory_id(self, memory_id: str, layer: str, *, timeout: float | None = None) -> Generation:
        """Read how a memory or a document came to be what it is, with the references of that one alone."""
        return self._send(self._calls.get_by_memory_id(memory_id, layer), timeout)


class AsyncMemoryGenerationLogClient(AsyncConnection):
    """`MemoryGenerationLogClient` with coroutines."""

    def __init__(
        self,
        endpoint: str = "http://127.0.0.1:8420",
        *,
        api_key: str = "local",
        instance: str = "default",
        user_key: str | None = None,
        timeout: float = 30.0,
        tls: ssl.SSLContext | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """Nothing is sent yet. `timeout` is in seconds and for one try; a call's own is for all of its tries.

        `user_key` is that of a person in the directory. `tls` is for a CA of your own; certificates are always verified.
        Raises ValueError for an argument that is empty.
        """
        self._calls = GenerationCalls()
        super().__init__(endpoint, api_key, instance, timeout, transport, user_key, tls)

    async def list(
        self,
        *,
        layer: str | None = None,
        status: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        timeout: float | None = None,
    ) -> GenerationPage:
        """Page through the log, newest first: the last 7 days, or up to 90 days between two times."""
        return await self._send(self._calls.list(layer, status, since, until, limit, cursor), timeout)

    async def get(self, log_id: str, *, timeout: float | None = None) -> Generation:
        """Read how one run went, with all that it rests on and wrote."""
        return await self._send(self._calls.get(log_id), timeout)

    async def get_by_memory_id(self, memory_id: str, layer: str, *, timeout: float | None = None) -> Generation:
        """Read how a memory or a document came to be what it is, with the references of that one alone."""
        return await self._send(self._calls.get_by_memory_id(memory_id, layer), timeout)
