"""MCP over HTTP ("streamable HTTP"), without sessions: every request says whose memory it is about, in its headers.

Nothing is kept between requests but the deletions that wait for a confirmation, so there is no session to steal and any
number of clients costs nothing while they are idle. Calls go through the HTTP API with the headers they came with: what
a key may not do there it may not do here.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

import httpx
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from memstrata.client import AsyncMemoryClient
from memstrata.mcp.calls import Caller
from memstrata.mcp.confirmation import Owner
from memstrata.mcp.server import Context, mcp_server
from memstrata.mcp.session_grant import SessionGrant
from memstrata.mcp.words import ToolLanguage, mcp_words

__all__ = ["McpOverHttp"]

_ENDPOINT = "http://in-process"
_CALLER = "memstrata.mcp.caller"

# It tells at info of each of its starts and stops, of which there is one for each request here.
logging.getLogger("mcp.server.streamable_http_manager").setLevel(logging.WARNING)


class McpOverHttp:
    """Answers POSTs that have been authorised. `api` is the HTTP API that the tools call."""

    def __init__(
        self, api: ASGIApp, language: ToolLanguage, version: str, max_body_bytes: int, gateway_key: str
    ) -> None:
        """`gateway_key` speaks for sessions, whose tokens the API does not know."""
        self._gateway_key = gateway_key or "local"
        self._transport = httpx.ASGITransport(api)
        self._limit = max_body_bytes
        self._server = mcp_server(_caller, mcp_words(language), version)

    async def answer(self, owner: Owner, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request about the memory of `owner`, whose key is in the headers of `scope`."""
        headers: Mapping[bytes, bytes] = dict(scope["headers"])
        user_key = headers.get(b"x-tdai-user-key")
        key = headers[b"authorization"].decode(errors="replace").partition(" ")[2]
        async with self._client(owner, key, None if user_key is None else user_key.decode(errors="replace")) as client:
            await self._answered(Caller(client, owner), scope, receive, send)

    async def answer_session(self, grant: SessionGrant, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request of a session. Whatever else its headers say is not looked at."""
        async with self._client(grant.owner, self._gateway_key, None) as client:
            await self._answered(Caller(client, grant.owner, grant), scope, receive, send)

    async def _answered(self, caller: Caller, scope: Scope, receive: Receive, send: Send) -> None:
        scope = {**scope, "state": {**scope.get("state", {}), _CALLER: caller}}
        manager = StreamableHTTPSessionManager(
            self._server, json_response=True, stateless=True, max_request_body_size=self._limit
        )
        async with manager.run():
            await manager.handle_request(scope, receive, send)

    def _client(self, owner: Owner, key: str, user_key: str | None) -> AsyncMemoryClient:
        return AsyncMemoryClient(
            _ENDPOINT,
            api_key=key,
            instance=owner.instance,
            team=owner.team,
            agent=owner.agent,
            user=owner.user,
            user_key=user_key,
            transport=self._transport,
        )


def _caller(context: Context) -> Caller:
    """Return the caller that `McpOverHttp.answer` put into the request."""
    request = context.request
    if not isinstance(request, Request):
        raise TypeError("a request over HTTP comes with its scope")
    caller: Caller = request.scope["state"][_CALLER]
    return caller
