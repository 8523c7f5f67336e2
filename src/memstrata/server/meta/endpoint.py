"""Everything between the gate and a handler of the directory.

Order: verb · instance 400 · user key 401 and 403 · body 400 · handler. Source: wire contract §1.4 and §5.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.types import ASGIApp, Receive, Scope, Send

from memstrata.errors import Forbidden, InvalidRequest
from memstrata.records.people import User
from memstrata.server.authority import actor_of, bearer_key, claimed_key
from memstrata.server.body import read_body
from memstrata.server.envelope import Data, UnreadableBody, send_answer, success
from memstrata.server.meta.call import MetaCall, MetaRequest, MetaRoute
from memstrata.server.meta.identity import echoed_id, instance_in, peer_of, user_key_of
from memstrata.server.policy import Identity
from memstrata.server.requests import decode
from memstrata.settings import ServerSettings
from memstrata.store.audit import acting

if TYPE_CHECKING:
    from memstrata.memory import Memory

__all__ = ["MetaEndpoint"]

NOBODY = User("", "normal", "", "inactive", 0, 0)
"""The caller of a request that carries no user's key. Nothing may be decided by it."""


class MetaEndpoint:
    """One route of `/v3/meta` or `/v3/internal/meta`. `unknown` answers the wrong verb."""

    def __init__(
        self, route: MetaRoute, identity: Identity, memory: Memory, settings: ServerSettings, unknown: ASGIApp
    ) -> None:
        # Not strict: a client may send numbers as text here (wire contract §1.6).
        self._decoder: msgspec.json.Decoder[MetaRequest] = msgspec.json.Decoder(route.request, strict=False)
        self._route = route
        self._identity = identity
        self._memory = memory
        self._limit = settings.max_body_bytes
        self._gateway_key = settings.api_key.encode()
        self._unknown = unknown

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            await self._unknown(scope, receive, send)
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        try:
            data = await self._answer(headers, receive, peer_of(scope.get("client")))
        except UnreadableBody as error:
            raise UnreadableBody(error.status, f"invalid_request: {error}", closes=error.closes) from error
        except InvalidRequest as error:
            if not error.field:
                raise
            # An error about a field names the field first; here the contract's code comes before that.
            raise InvalidRequest(f"invalid_request: {error}") from error
        await send_answer(success(data, echoed_id=echoed_id(headers)), send)

    async def _answer(self, headers: Mapping[bytes, bytes], receive: Receive, source: str) -> Data:
        if self._identity == "internal":
            request = await self._request(headers, receive)
            instance = instance_in(headers, getattr(request, "instance_id", None))
            if claimed_key(headers, self._gateway_key) is not None:
                raise Forbidden("permission_denied: no user's key opens this")
            with acting(actor_of(NOBODY)):
                return await self._route.handle(MetaCall(self._memory, instance, NOBODY, request, source))
        instance = instance_in(headers)
        caller = await self._caller(headers, instance, source)
        request = await self._request(headers, receive)
        with acting(actor_of(caller)):
            return await self._route.handle(MetaCall(self._memory, instance, caller, request, source))

    async def _caller(self, headers: Mapping[bytes, bytes], instance: str, source: str) -> User:
        people = self._memory.directory.people
        if self._identity == "user_key":
            return (await people.caller(instance, user_key_of(headers), source=source))[0]
        # The gate lets a user's key pass in the place of its own, so it must be one.
        key = bearer_key(headers, self._gateway_key)
        if self._gateway_key and key is not None:
            await people.caller(instance, key, source=source)
        return NOBODY

    async def _request(self, headers: Mapping[bytes, bytes], receive: Receive) -> Any:
        return decode(self._decoder, await read_body(headers, receive, self._limit))
