"""The proxy as an ASGI application: the order of the steps that a request takes.

Route · whose key · body · memory · limit · provider · back to the client, with a copy read on the side. A step that ends a
request says so in the client's own protocol. Memory can fail in any way: the request then goes on as it came, and a header
says why. Source: `reference/proxy.md` §0.2.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memstrata.errors import InvalidRequest, MemstrataError
from memstrata.proxy.asgi import ClientGone, TooLarge, read_body, respond
from memstrata.proxy.bridge import PREFIX, Bridge
from memstrata.proxy.clients.table import client_named
from memstrata.proxy.credentials import Credentials, Header, credentials_of, without_keys
from memstrata.proxy.exchange import Incoming, Prepared, Rewriter
from memstrata.proxy.forwarding import Forwarding, Outgoing
from memstrata.proxy.headers import BYPASS_HEADER, REFUSED_HEADER, upstream_headers
from memstrata.proxy.limits import Limits
from memstrata.proxy.routes import Route, route_of
from memstrata.proxy.targets import Targets, url_at
from memstrata.proxy.verification import CoreSilent, Verification
from memstrata.proxy.wire.wires import WIRES
from memstrata.records.proxy import RateKey
from memstrata.records.scope import check_id

__all__ = ["ProxyApp", "ProxyRules", "mounted"]

_log = logging.getLogger(__name__)

_BRIDGE_BODY = 1 << 16
_JSON = "application/json"
_MOST_REASON = 160
_RETRY: Header = (b"retry-after", b"5")


@dataclass(frozen=True, slots=True)
class ProxyRules:
    """`keyless_user` is who calls where the core has no keys; empty: a key is needed. `instance` is for paths without one.

    `memory_seconds` is how long memory may take before a request goes on without it.
    """

    instance: str = "default"
    keyless_user: str = ""
    gateway_key: str = field(default="", repr=False)
    system_users: frozenset[str] = frozenset()
    max_body_bytes: int = 64 << 20
    memory_seconds: float = 15.0


class _Refused(Exception):
    """The request ends here, with a status and in the client's protocol."""

    def __init__(self, status: int, message: str, *headers: Header) -> None:
        self.status = status
        self.headers = headers
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class _Arrived:
    """A request before its caller is known."""

    route: Route
    method: str
    query: bytes
    headers: list[Header] = field(repr=False)
    credentials: Credentials

    def named(self) -> Mapping[str, str]:
        return {name.decode("latin-1"): value.decode("latin-1") for name, value in self.headers}


class ProxyApp:
    """`rewriter` is memory; `metered` takes its place for system users. `counts` says what became of requests."""

    def __init__(
        self,
        rules: ProxyRules,
        verification: Verification,
        targets: Targets,
        forwarding: Forwarding,
        rewriter: Rewriter,
        metered: Rewriter,
        limits: Limits | None = None,
        bridge: Bridge | None = None,
    ) -> None:
        self._rules = rules
        self._verification = verification
        self._targets = targets
        self._forwarding = forwarding
        self._rewriter = rewriter
        self._metered = metered
        self._limits = limits
        self._bridge = bridge
        self.counts: Counter[str] = Counter()

    def takes(self, scope: Scope) -> bool:
        """Whether a request is the proxy's, where it shares a port with something else."""
        return scope["type"] == "http" and (_own(scope) or _route(scope) is not None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if _own(scope):
            await self._answer_own(scope, receive, send)
            return
        route = _route(scope)
        if route is None:
            await self._unknown(scope, send)
            return
        self.counts["requests"] += 1
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._taken(_arrived(scope, route, self._rules.gateway_key), receive, watched)
        except ClientGone:
            self.counts["left early"] += 1
        except _Refused as refused:
            self.counts[f"refused {refused.status}"] += 1
            body = WIRES[route.wire].error(refused.status, "", str(refused))
            named = _named(REFUSED_HEADER, str(refused))
            await respond(send, refused.status, body, _JSON, (*refused.headers, *named))
        except Exception:
            # The edge: a client that has nothing yet gets an answer of its protocol, one that has a part sees it end.
            self.counts["failed"] += 1
            if begun:
                raise
            _log.exception("a request could not be forwarded")
            await respond(send, 500, WIRES[route.wire].error(500, "", "the proxy failed"), _JSON)

    async def _taken(self, arrived: _Arrived, receive: Receive, send: Send) -> None:
        route, wire = arrived.route, WIRES[arrived.route.wire]
        if route.endpoint == "probe":
            await respond(send, 200, b'{"status":"ok"}', _JSON)
            return
        instance = self._instance(arrived)
        user = await self._user(arrived, instance)
        try:
            body = await read_body(receive, self._rules.max_body_bytes)
        except TooLarge:
            raise _Refused(413, f"the body is longer than {self._rules.max_body_bytes} bytes") from None
        prepared = Prepared(body, route.endpoint)
        if route.endpoint in ("generate", "count"):
            prepared = await self._prepared(arrived, instance, user, body)
        extra = _named(BYPASS_HEADER, prepared.bypass)
        if prepared.answer is not None:
            self.counts["answered here"] += 1
            await respond(send, 200, prepared.answer.body, prepared.answer.content_type, extra)
            return
        key = RateKey(instance, user, prepared.model) if prepared.model and route.endpoint == "generate" else None
        try:
            await self._admit(key)
        except _Refused:
            if prepared.watch is not None:
                await prepared.watch.finished(429, None)
            raise
        target = self._targets.of(route)
        if target.key and any(name == b"origin" for name, _ in arrived.headers):
            # A page in a browser may send here what it likes; it must not spend the installation's own key.
            raise _Refused(403, "a page in a browser may not use this installation's key")
        outgoing = Outgoing(
            arrived.method,
            url_at(target, route.suffix, without_keys(arrived.query, arrived.credentials.ours)),
            upstream_headers(arrived.headers, arrived.credentials, target, route.wire),
            prepared.body,
            wire,
            extra,
            prepared.watch,
            key,
        )
        self.counts[await self._forwarding.forward(outgoing, receive, send)] += 1

    def _instance(self, arrived: _Arrived) -> str:
        named = next((value for name, value in arrived.headers if name == b"x-tdai-service-id"), b"")
        try:
            return check_id(arrived.route.instance or named.decode() or self._rules.instance, "instance")
        except (InvalidRequest, UnicodeDecodeError):
            raise _Refused(400, "the instance in x-tdai-service-id is no name") from None

    async def _user(self, arrived: _Arrived, instance: str) -> str:
        key = arrived.credentials.user_key
        if not key:
            if self._rules.keyless_user:
                return self._rules.keyless_user
            raise _Refused(
                401, "no user key: send x-tdai-user-key, or a key that begins with sk-mem- as bearer or x-api-key"
            )
        try:
            user = await self._verification.user(instance, key)
        except CoreSilent as error:
            _log.warning("nobody new can be let in, the core does not say whose a key is: %s", error)
            raise _Refused(503, "memory's core cannot say now whose key this is; try again", _RETRY) from None
        if not user:
            raise _Refused(401, "this user key opens nothing here")
        return user

    async def _prepared(self, arrived: _Arrived, instance: str, user: str, body: bytes) -> Prepared:
        """Return what memory makes of a request. Whatever happens in there, there is something to forward."""
        route = arrived.route
        rewriter = self._metered if user in self._rules.system_users else self._rewriter
        incoming = Incoming(
            WIRES[route.wire],
            client_named(route.agent),
            instance,
            user,
            arrived.credentials.user_key,
            arrived.named(),
            route.suffix,
            body,
            route.endpoint == "count",
        )
        try:
            async with asyncio.timeout(self._rules.memory_seconds):
                return await rewriter.prepare(incoming)
        except TimeoutError:
            _log.warning("memory took too long, the request goes on as it came")
            reason = "memory took too long"
        except Exception as error:  # noqa: BLE001 - invariant 12: the request goes on
            _log.exception("memory failed, the request goes on as it came")
            reason = f"memory failed ({type(error).__name__})"
        self.counts["went on without memory"] += 1
        return Prepared(body, route.endpoint, reason)

    async def _admit(self, key: RateKey | None) -> None:
        if self._limits is None or key is None:
            return
        try:
            allowed = await self._limits.admit(key)
        except MemstrataError as error:
            self.counts["not counted against a limit"] += 1
            _log.warning("limits cannot be counted, the request goes on: %s", error)
            return
        if allowed.exceeded:
            left = str(allowed.requests_left).encode(), str(allowed.tokens_left).encode()
            raise _Refused(
                429,
                f"over the limit of {allowed.exceeded} per minute; try again in {allowed.retry_after} s",
                (b"retry-after", str(allowed.retry_after).encode()),
                (b"x-ratelimit-remaining-requests", left[0]),
                (b"x-ratelimit-remaining-input-tokens", left[1]),
            )

    async def _answer_own(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = _headers(scope)
        if scope["path"] == "/whoami":
            await _whoami(scope, headers, send)
            return
        if self._bridge is None:
            await self._unknown(scope, send)
            return
        try:
            body = await read_body(receive, _BRIDGE_BODY)
        except TooLarge:
            body = b"{"  # whatever else it was, the bridge does not take it
        except ClientGone:
            return
        named = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}
        answer = await self._bridge.answer(scope["method"], scope["path"], scope["query_string"], named, body)
        await respond(send, answer.status, answer.body, _JSON)

    async def _unknown(self, scope: Scope, send: Send) -> None:
        self.counts["refused 404"] += 1
        anthropic = "/messages" in scope["path"] or _speaks_anthropic(_headers(scope))
        wire = WIRES["anthropic" if anthropic else "chat"]
        await respond(send, 404, wire.error(404, "", "the proxy has no such path"), _JSON)


def mounted(api: ASGIApp, proxy: ProxyApp) -> ASGIApp:
    """Return an application in which the proxy takes its own paths and `api` everything else."""

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        await (proxy if proxy.takes(scope) else api)(scope, receive, send)

    return application


def _own(scope: Scope) -> bool:
    path: str = scope["path"]
    return path == "/whoami" or path.startswith(PREFIX)


def _headers(scope: Scope) -> list[Header]:
    return list(scope["headers"])


def _speaks_anthropic(headers: list[Header]) -> bool:
    return any(name in (b"anthropic-version", b"anthropic-beta") for name, _ in headers)


def _route(scope: Scope) -> Route | None:
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    path = raw.partition(b"?")[0].decode("latin-1")
    return route_of(scope["method"], path, anthropic=_speaks_anthropic(scope["headers"]))


def _arrived(scope: Scope, route: Route, gateway_key: str) -> _Arrived:
    headers = _headers(scope)
    credentials = credentials_of(headers, gateway_key)
    return _Arrived(route, scope["method"], scope["query_string"], headers, credentials)


def _named(header: str, reason: str) -> tuple[Header, ...]:
    """Return the header that gives a reason, in characters that a header may have; none without one."""
    plain = "".join(one if " " <= one <= "~" else "?" for one in reason)[:_MOST_REASON]
    return ((header.encode(), plain.encode()),) if plain else ()


async def _whoami(scope: Scope, headers: list[Header], send: Send) -> None:
    """Answer with the beginning of the digest of the caller's key, by which an operator finds it in numbers."""
    key = credentials_of(headers).user_key
    given = dict(headers)
    bearer = given.get(b"authorization", b"").partition(b" ")[2].strip()
    shown = key.encode("latin-1") or bearer or given.get(b"x-api-key", b"").strip()
    if not shown:
        await respond(send, 400, b"no key was sent\n", "text/plain; charset=utf-8")
        return
    await respond(send, 200, hashlib.sha256(shown).hexdigest()[:8].encode(), "text/plain; charset=utf-8")
