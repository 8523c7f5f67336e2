"""The endpoints of `/health` and `/metrics`, of the API and of what runs alone without one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.routing import Route as StarletteRoute
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from memstrata.errors import Forbidden, Unauthorized
from memstrata.records import Health
from memstrata.server.authority import claimed_key
from memstrata.server.caller import check_key
from memstrata.server.envelope import not_found, send_answer
from memstrata.server.gate import Gate
from memstrata.server.handlers import operations
from memstrata.server.metrics import Metrics
from memstrata.server.routes import Operation
from memstrata.settings import ServerSettings

__all__ = ["OperationEndpoint", "State", "with_operations"]

State = Callable[[], Awaitable[Health]]

_OPERATIONS: tuple[Operation, ...] = ("health", "metrics")


class OperationEndpoint:
    """`/health` and `/metrics`. `key` is the gateway's, empty where there is none."""

    def __init__(self, operation: Operation, state: State, key: bytes, metrics: Metrics) -> None:
        self._operation = operation
        self._state = state
        self._key = key
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "GET":
            await send_answer(not_found(scope["method"], scope["path"]), send)
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        if self._operation == "health":
            await send_answer(operations.health(await self._state(), with_details=self._may_call(headers)), send)
            return
        if claimed_key(headers, self._key) is not None:
            raise Forbidden("permission_denied: numbers of all instances are for the gateway alone")
        await send_answer(await self._metrics.render(await self._state()), send)

    def _may_call(self, headers: dict[bytes, bytes]) -> bool:
        try:
            if claimed_key(headers, self._key) is not None:
                return False
            if self._key:
                check_key(headers, self._key)
        except Unauthorized:
            return False
        return True


def with_operations(application: ASGIApp, state: State, settings: ServerSettings) -> ASGIApp:
    """Return an application that answers the two paths as the API does, and leaves everything else to `application`."""
    metrics, key = Metrics(), settings.api_key.encode()
    endpoints = [StarletteRoute(f"/{name}", OperationEndpoint(name, state, key, metrics)) for name in _OPERATIONS]
    own = Gate(Router(endpoints, redirect_slashes=False), settings, metrics)
    paths = frozenset(endpoint.path for endpoint in endpoints)

    async def answering(scope: Scope, receive: Receive, send: Send) -> None:
        is_own = scope["type"] == "http" and scope["path"] in paths
        await (own if is_own else application)(scope, receive, send)

    return answering
