"""The ASGI application: the gate, the table of routes, and the order of checks between them.

Order on the data plane (wire contract §2.3, without opening anything for a caller who turns out to be wrong): gateway
key · bearer and instance · user's key 401 and 403 · body · scope 422 and 403 · session 422 · schema 400 · handler.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.routing import Route as StarletteRoute
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from memstrata.errors import InvalidRequest, NotFound
from memstrata.mcp import is_available
from memstrata.mcp.session_grant import SessionCheck
from memstrata.records import Health
from memstrata.records.people import User
from memstrata.server.archives import ARCHIVE_PATHS, ArchiveEndpoint
from memstrata.server.authority import Authority, actor_of
from memstrata.server.body import read_body
from memstrata.server.call import Call, InstanceCall, InstanceWide, Scoped, SessionUse
from memstrata.server.caller import (
    idempotency_key,
    instance_of,
    operator_of,
    scope_of,
    session_of,
    task_of,
)
from memstrata.server.envelope import Data, IncompleteIds, not_found, send_answer, success
from memstrata.server.gate import Gate
from memstrata.server.mcp_endpoint import MCP_PATH, McpEndpoint, mcp_health
from memstrata.server.meta.endpoint import MetaEndpoint
from memstrata.server.meta.identity import peer_of
from memstrata.server.metrics import Metrics
from memstrata.server.operations import OperationEndpoint, State
from memstrata.server.policy import POLICY
from memstrata.server.requests import Request, decode, decode_query
from memstrata.server.routes import META_ROUTES, ROUTES, Route
from memstrata.settings import ServerSettings
from memstrata.store.audit import acting

if TYPE_CHECKING:
    from memstrata.memory import Memory

__all__ = ["create_app"]

Headers = dict[bytes, bytes]

# Reads the ids of any JSON object, whatever else is in it.
_IDS = msgspec.json.Decoder(Request)


def create_app(memory: Memory, settings: ServerSettings, check_session: SessionCheck | None = None) -> ASGIApp:
    """Return the HTTP API over an open `Memory`. The caller opens and closes it; the application has no lifespan.

    `check_session` says what a session's token opens at `/mcp`; without it none does.
    """
    metrics = Metrics()
    endpoints = [StarletteRoute(route.path, _endpoint(route, memory, settings, metrics)) for route in ROUTES]
    endpoints += [
        StarletteRoute(route.path, MetaEndpoint(route, POLICY[route.path], memory, settings, _unknown))
        for route in META_ROUTES
    ]
    endpoints += [StarletteRoute(path, ArchiveEndpoint(path, memory, settings, _unknown)) for path in ARCHIVE_PATHS]
    if is_available():
        # Its tools call the same routes through a gate of their own: they are checked and counted like any request.
        api = Gate(Router(list(endpoints), redirect_slashes=False, default=_unknown), settings, metrics)
        endpoints.append(StarletteRoute(MCP_PATH, McpEndpoint(api, memory, settings, _unknown, check_session)))
    return Gate(Router(endpoints, redirect_slashes=False, default=_unknown), settings, metrics)


def _endpoint(route: Route, memory: Memory, settings: ServerSettings, metrics: Metrics) -> ASGIApp:
    if isinstance(route.handler, str):
        return OperationEndpoint(route.handler, _state_of(memory), settings.api_key.encode(), metrics)
    return _DataEndpoint(route, route.handler, memory, settings)


class _DataEndpoint:
    """A route of the data plane: everything between the gate and the handler."""

    def __init__(self, route: Route, handler: Scoped | InstanceWide, memory: Memory, settings: ServerSettings) -> None:
        self._decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(route.request)
        self._authority = Authority(POLICY[route.path], memory, settings.api_key.encode())
        self._takes_get = route.takes_get
        self._handler = handler
        self._memory = memory
        self._limit = settings.max_body_bytes
        self._always_session = settings.require_session == "always"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        by_query = scope["method"] == "GET" and self._takes_get
        if scope["method"] != "POST" and not by_query:
            await _unknown(scope, receive, send)
            return
        headers: Headers = dict(scope["headers"])
        instance = instance_of(headers)
        user = await self._authority.user_behind(headers, instance, peer_of(scope.get("client")))
        with acting(actor_of(user)):
            data = await self._answer(scope, receive, headers, instance, user, by_query=by_query)
        await send_answer(success(data), send)

    async def _answer(
        self, scope: Scope, receive: Receive, headers: Headers, instance: str, user: User | None, *, by_query: bool
    ) -> Data | None:
        handler = self._handler
        if isinstance(handler, Scoped):
            body = await read_body(headers, receive, self._limit)
            return await handler.handle(await self._call(headers, instance, user, body, handler.session))
        operator = operator_of(headers, None if user is None else user.user_id)
        request = (
            decode_query(self._decoder, scope["query_string"])
            if by_query
            else decode(self._decoder, await read_body(headers, receive, self._limit))
        )
        narrowed = self._authority.narrowed_to(user)
        return await handler.handle(InstanceCall(self._memory, instance, request, operator, narrowed))

    async def _call(
        self, headers: Headers, instance: str, user: User | None, body: bytes, session_use: SessionUse
    ) -> Call[Any]:
        narrowed = self._authority.narrowed_to(user)
        own = None if user is None else user.user_id
        try:
            request = decode(self._decoder, body)
        except InvalidRequest:
            # The ids are checked before the rest, so that a client which sends neither hears of the ids first.
            ids = decode(_IDS, body)
            await self._authority.admit(scope_of(headers, ids, instance, own), narrowed)
            self._session(headers, ids, session_use)
            raise
        about = scope_of(headers, request, instance, own)
        await self._authority.admit(about, narrowed)
        return Call(
            self._memory,
            about,
            request,
            self._session(headers, request, session_use),
            task_of(headers, request),
            idempotency_key(headers),
            narrowed,
        )

    def _session(self, headers: Headers, request: Request, use: SessionUse) -> str | None:
        if use is SessionUse.IGNORED:
            return None
        session_id = session_of(headers, request)
        if not session_id and (use is SessionUse.REQUIRED or self._always_session):
            raise IncompleteIds("missing session_id: give it as text in the body, or as header x-tdai-session-id")
        if session_id == "" and use is SessionUse.FILTER:
            raise InvalidRequest("must not be blank; leave it out to read all sessions", field="session_id")
        return session_id


def _state_of(memory: Memory) -> State:
    """Return what tells the state of the memory's parts and of the server's own."""

    async def state() -> Health:
        found = await memory.health()
        return replace(found, components={**found.components, "mcp": mcp_health()})

    return state


async def _unknown(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["method"] == "POST" and scope["path"].startswith("/v3/internal/meta/"):
        raise NotFound("not_found: there is no such route")
    await send_answer(not_found(scope["method"], scope["path"]), send)
