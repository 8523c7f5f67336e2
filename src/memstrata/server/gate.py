"""The outermost layer: preflights, the gateway key, counting, and the last word on every error.

Pure ASGI, because a middleware that wraps requests and responses costs more than the rest of this package together.
"""

from __future__ import annotations

import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memstrata.server.body import ClientGone
from memstrata.server.caller import check_key
from memstrata.server.envelope import Answer, Header, failure, send_answer
from memstrata.server.mcp_endpoint import MCP_PATH, session_token
from memstrata.server.meta.identity import echoed_id, user_key_in_bearer
from memstrata.server.metrics import Metrics
from memstrata.server.policy import POLICY
from memstrata.settings import ServerSettings

__all__ = ["Gate"]

CLIENT_GONE = 499  # counted, never sent

_ALLOWED_HEADERS = (
    "authorization, content-type, content-encoding, idempotency-key, x-request-id, x-tdai-service-id, x-tdai-team-id,"
    " x-tdai-agent-id, x-tdai-user-id, x-tdai-session-id, x-tdai-task-id, x-tdai-user-key"
)
_PREFLIGHT: tuple[Header, ...] = (
    (b"access-control-allow-methods", b"GET, POST, OPTIONS"),
    (b"access-control-allow-headers", _ALLOWED_HEADERS.encode()),
    (b"access-control-max-age", b"600"),
)
_DIRECTORY_PATHS = ("/v3/meta/", "/v3/internal/")

_EXPOSED: Header = (b"access-control-expose-headers", b"Retry-After")


class Gate:
    """Everything that happens to a request wherever it goes."""

    def __init__(self, app: ASGIApp, settings: ServerSettings, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics
        self._key = settings.api_key.encode()
        self._origins = frozenset(origin.encode() for origin in settings.cors_origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        status: int | None = None  # of the answer, once it has begun
        headers = dict(scope["headers"])
        cors = self._cors(headers)

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] += cors
            await send(message)

        try:
            await self._admit(scope, receive, watched, headers)
        except ClientGone:
            return
        except Exception as error:
            # The edge, where catching everything is right: whatever went wrong becomes an answer, logged and counted.
            if status is not None:
                raise
            path = scope["path"]
            echoed = echoed_id(headers) if path.startswith(_DIRECTORY_PATHS) else None
            await send_answer(failure(error, enveloped=path.startswith(("/v2/", "/v3/")), echoed_id=echoed), watched)
        finally:
            route = scope.get("route")
            self._metrics.observe(
                route.path if route else "other", status or CLIENT_GONE, time.perf_counter() - started
            )

    async def _admit(self, scope: Scope, receive: Receive, send: Send, headers: dict[bytes, bytes]) -> None:
        if scope["method"] == "OPTIONS":
            await send_answer(Answer(204, headers=_PREFLIGHT if self._allowed(headers) else ()), send)
            return
        if self._key and not self._is_open(scope, headers):
            check_key(headers, self._key)
        await self._app(scope, receive, send)

    def _is_open(self, scope: Scope, headers: dict[bytes, bytes]) -> bool:
        """Whether the server's key is not asked for: by a probe, or because the endpoint asks whose key it is instead."""
        path: str = scope["path"]
        if path == "/health":
            return bool(scope["method"] == "GET")
        if path == MCP_PATH and session_token(headers):
            return True
        takes_users = POLICY.get(path, "internal") != "internal" or path.startswith("/v3/meta/")
        return takes_users and user_key_in_bearer(headers) != ""

    def _allowed(self, headers: dict[bytes, bytes]) -> bool:
        return b"*" in self._origins or headers.get(b"origin") in self._origins

    def _cors(self, headers: dict[bytes, bytes]) -> tuple[Header, ...]:
        origin = headers.get(b"origin")
        if not self._origins or origin is None:
            return ()
        if b"*" in self._origins:
            return (b"access-control-allow-origin", b"*"), _EXPOSED
        vary = (b"vary", b"Origin")
        return ((b"access-control-allow-origin", origin), vary, _EXPOSED) if origin in self._origins else (vary,)
