"""What the clients of the contract's SDK have in common: the arguments of a connection, and verbs over a stub."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, Self, TypeAlias, TypeVar

from memstrata.client._calls import Call
from memstrata.client._results import Data
from memstrata.client.compat._stub import AsyncHttpStub, HttpStub, Verify

__all__ = ["Answer", "AsyncStubSender", "Query", "StubSender", "post", "query"]

T = TypeVar("T")
Answer: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Query(Call[T], Generic[T]):
    """A call that goes as a GET where the stub has one, else as a POST."""


def post(path: str, body: Data) -> Call[Answer]:
    """Return the call of a path without what is None; the answer is read as it is."""
    return Call(path, {name: value for name, value in body.items() if value is not None}, dict)


def query(path: str, fields: Data) -> Call[Answer]:
    """Return the same as a query."""
    return Query(path, {name: value for name, value in fields.items() if value is not None}, dict)


class StubSender:
    """Sends over a stub: ours, or one that has its methods."""

    _stub: Any

    def _connect(
        self,
        endpoint: str,
        api_key: str,
        service_id: Any,
        timeout: float,
        verify: Verify,
        user_key: str | None,
        stub: Any,
    ) -> None:
        self._stub = stub or HttpStub(endpoint, api_key, service_id, timeout, verify, user_key)

    def _send(self, call: Call[T]) -> T:
        return call.read(_method(self._stub, call)(call.path, call.body))

    def close(self) -> None:
        """Close the connection, also for the clients that share it."""
        self._stub.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncStubSender:
    """`StubSender` with coroutines."""

    _stub: Any

    def _connect(
        self,
        endpoint: str,
        api_key: str,
        service_id: Any,
        timeout: float,
        verify: Verify,
        user_key: str | None,
        stub: Any,
    ) -> None:
        self._stub = stub or AsyncHttpStub(endpoint, api_key, service_id, timeout, verify, user_key)

    async def _send(self, call: Call[T]) -> T:
        return call.read(await _method(self._stub, call)(call.path, call.body))

    async def close(self) -> None:
        """Close the connection, also for the clients that share it."""
        await self._stub.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _method(stub: Any, call: Call[T]) -> Any:
    return stub.get if isinstance(call, Query) and hasattr(stub, "get") else stub.post
