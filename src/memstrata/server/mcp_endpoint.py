"""`/mcp`: the memory of a scope for MCP clients, over the same headers and keys as the data plane. Extra `mcp`.

Who asks and about whose memory is settled before the protocol is read: a wrong key learns nothing of it. The tools then
call the data plane with the same headers, so `memstrata.server.policy` has the last word on each call too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Receive, Scope, Send

from memstrata import __version__
from memstrata.errors import Unauthorized
from memstrata.mcp import is_available
from memstrata.mcp.confirmation import Owner
from memstrata.mcp.session_grant import SESSION_TOKEN, SessionCheck
from memstrata.records import ComponentHealth
from memstrata.server.authority import Authority
from memstrata.server.caller import instance_of, scope_of
from memstrata.server.envelope import Answer, send_answer
from memstrata.server.meta.identity import peer_of
from memstrata.server.policy import POLICY
from memstrata.server.requests import Request
from memstrata.settings import ServerSettings

if TYPE_CHECKING:
    from memstrata.mcp.http import McpOverHttp
    from memstrata.memory import Memory

__all__ = ["MCP_PATH", "McpEndpoint", "mcp_health", "session_token"]

MCP_PATH = "/mcp"

_IN_HEADERS = Request()


class McpEndpoint:
    """The route. The SDK is loaded with the first request, because it takes a second."""

    def __init__(
        self,
        api: ASGIApp,
        memory: Memory,
        settings: ServerSettings,
        unknown: ASGIApp,
        check_session: SessionCheck | None = None,
    ) -> None:
        """Without `check_session` no session's token opens anything."""
        self._check_session = check_session
        self._api = api
        self._authority = Authority(POLICY[MCP_PATH], memory, settings.api_key.encode())
        self._settings = settings
        self._unknown = unknown
        self._answering: McpOverHttp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] in ("GET", "DELETE"):
            # Nothing is pushed and no session is kept, which the protocol has this status for.
            await send_answer(Answer(405, headers=((b"allow", b"POST"),)), send)
            return
        if scope["method"] != "POST":
            await self._unknown(scope, receive, send)
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        if token := session_token(headers):
            grant = None if self._check_session is None else await self._check_session(token)
            if grant is None:
                raise Unauthorized("Unauthorized: this token opens no session")
            await self._loaded().answer_session(grant, scope, receive, send)
            return
        instance = instance_of(headers)
        user = await self._authority.user_behind(headers, instance, peer_of(scope.get("client")))
        about = scope_of(headers, _IN_HEADERS, instance, None if user is None else user.user_id)
        await self._authority.admit(about, self._authority.narrowed_to(user))
        owner = Owner(about.instance, about.team, about.agent, about.user)
        await self._loaded().answer(owner, scope, receive, send)

    def _loaded(self) -> McpOverHttp:
        if self._answering is None:
            from memstrata.mcp.http import McpOverHttp

            settings = self._settings
            self._answering = McpOverHttp(
                self._api, settings.mcp_language, __version__, settings.max_body_bytes, settings.api_key
            )
        return self._answering


def session_token(headers: Mapping[bytes, bytes]) -> str:
    """Return the bearer where it has the form of a session's token, else nothing."""
    scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
    return token.strip().decode("latin-1") if scheme == b"Bearer" and token.strip().startswith(SESSION_TOKEN) else ""


def mcp_health() -> ComponentHealth:
    """Return whether `/mcp` is served."""
    if is_available():
        return ComponentHealth("ok")
    return ComponentHealth("reduced", 'off: the extra is not installed (pip install "memstrata[mcp]")')
