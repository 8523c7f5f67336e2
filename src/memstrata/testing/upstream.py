"""A model provider as a real HTTP server, for what stands between a client and it. It speaks the three protocols.

    async with FakeUpstream() as upstream:
        upstream.script(Says("hello"), Fails(529, b'{"type":"error"}'))
        ...  # point a proxy at upstream.base_url
        assert upstream.requests[0].body == sent

An answer is what is said (`Says`, `Fails`, `Sends`) and the manner in which its bytes come (`Manner`): one at a time, with
CRLF, compressed, with a silence or a broken connection after so many of them. Every request is kept as it came. What no
script answers gets the last answer of `always`, at the beginning `Says()`.
"""

from __future__ import annotations

import asyncio
import json
import zlib
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from aiohttp import web

from memstrata.testing.provider_answers import Call, Protocol, Says, Tokens, events_of, whole_of

__all__ = ["Answer", "Call", "Fails", "FakeUpstream", "Manner", "Says", "Seen", "Sends", "Tokens"]


@dataclass(frozen=True, slots=True)
class Seen:
    """A request as it came. `target` is the path with its query, as on the wire; header names are in lower case."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def named(self) -> Mapping[str, str]:
        """The headers by name."""
        return dict(self.headers)

    @property
    def json(self) -> dict[str, Any]:
        """The body, read."""
        read: dict[str, Any] = json.loads(self.body)
        return read


@dataclass(frozen=True, slots=True)
class Fails:
    """A status with a body of the test's own."""

    status: int
    body: bytes = b'{"type":"error","error":{"type":"overloaded_error","message":"busy"}}'
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sends:
    """200 with these bytes, whatever they are."""

    body: bytes
    content_type: str = "text/event-stream"


@dataclass(frozen=True, slots=True)
class Manner:
    """How the bytes come. `piece_bytes` 0: an event at a time. None for `stalls_after` and `dies_after`: it does not.

    `stalls_after` and `dies_after` count bytes on the wire; a stall ends with the server. `waits` is before the head.
    """

    piece_bytes: int = 0
    line_end: Literal["\n", "\r\n", "\r"] = "\n"
    encoding: Literal["", "gzip", "deflate"] = ""
    stalls_after: int | None = None
    dies_after: int | None = None
    waits: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)


Content = Says | Fails | Sends
Answer = Content | tuple[Content, Manner]
"""What is said, and how; the usual manner if nothing is said of that."""

_USUAL = Manner()


class FakeUpstream:
    """The server. `port` 0 takes a free one. `left` counts clients that hung up before their answer's end."""

    def __init__(self, port: int = 0) -> None:
        self.port = port
        self.requests: list[Seen] = []
        self.left = 0
        self.sent_bytes = 0
        self._script: deque[Answer] = deque()
        self._always: Answer = Says()
        self._changed = asyncio.Condition()
        self._closing = asyncio.Event()
        self._runner: web.AppRunner | None = None

    @property
    def base_url(self) -> str:
        """The address, without a version."""
        return f"http://127.0.0.1:{self.port}"

    def script(self, *answers: Answer) -> None:
        """Queue answers, one for each request."""
        self._script.extend(answers)

    def always(self, answer: Answer) -> None:
        """Answer what no script answers."""
        self._always = answer

    async def received(self, count: int) -> None:
        """Wait until that many requests have come in all."""
        async with self._changed:
            await self._changed.wait_for(lambda: len(self.requests) >= count)

    async def hung_up(self, count: int) -> None:
        """Wait until that many clients have left before their answer's end."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.left >= count)

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=256 * 1024 * 1024)
        app.router.add_route("*", "/{path:.*}", self._answered)
        self._runner = web.AppRunner(
            app, handler_cancellation=True, access_log=None, shutdown_timeout=1.0, auto_decompress=False
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True).start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closing.set()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _answered(self, request: web.Request) -> web.StreamResponse:
        raw = tuple((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in request.raw_headers)
        seen = Seen(request.method, request.raw_path, raw, await request.read())
        self.requests.append(seen)
        await self._notify()
        answer = self._script.popleft() if self._script else self._always
        content, manner = answer if isinstance(answer, tuple) else (answer, _USUAL)
        try:
            if manner.waits:
                await self._closing.wait()
            return await self._sent(request, *_pieces(seen, content, manner), manner)
        except (asyncio.CancelledError, ConnectionError):
            if not self._closing.is_set():
                self.left += 1
                await asyncio.shield(self._notify())
            raise

    async def _sent(
        self, request: web.Request, status: int, headers: Mapping[str, str], pieces: list[bytes], manner: Manner
    ) -> web.StreamResponse:
        response = web.StreamResponse(status=status, headers={**headers, **manner.headers})
        if "content-length" not in response.headers:
            response.enable_chunked_encoding()
        await response.prepare(request)
        sent = 0
        for piece in pieces:
            if manner.dies_after is not None and sent >= manner.dies_after:
                if request.transport is not None:
                    request.transport.close()
                return response
            if manner.stalls_after is not None and sent >= manner.stalls_after:
                await self._closing.wait()
                return response
            if request.method != "HEAD":
                await response.write(piece)
            sent += len(piece)
            self.sent_bytes += len(piece)
        await response.write_eof()
        return response

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()


def _pieces(seen: Seen, content: Content, manner: Manner) -> tuple[int, Mapping[str, str], list[bytes]]:
    if isinstance(content, Fails):
        length = {"content-length": str(len(content.body))}
        return content.status, {"content-type": "application/json", **length, **content.headers}, [content.body]
    if isinstance(content, Sends):
        whole, streams, kind = [content.body], True, content.content_type
    else:
        whole, streams = _said(seen, content, manner)
        kind = "text/event-stream; charset=utf-8" if streams else "application/json"
    headers = {"content-type": kind}
    if manner.encoding:
        headers["content-encoding"] = manner.encoding
        whole = _compressed(whole, manner.encoding)
    if manner.piece_bytes:
        joined = b"".join(whole)
        whole = [joined[at : at + manner.piece_bytes] for at in range(0, len(joined), manner.piece_bytes)]
    if not streams:
        headers["content-length"] = str(sum(map(len, whole)))
    return 200, headers, whole


def _said(seen: Seen, said: Says, manner: Manner) -> tuple[list[bytes], bool]:
    """Return the bytes of an answer, by events where it streams, and whether it does."""
    path = seen.target.partition("?")[0]
    if path.endswith(("/count_tokens", "/input_tokens")):
        return [json.dumps({"input_tokens": len(seen.body) // 4}).encode()], False
    if path.endswith("/models"):
        model = {"id": "model-1", "type": "model", "object": "model", "display_name": "Model 1"}
        return [json.dumps({"object": "list", "data": [model], "has_more": False}).encode()], False
    protocol: Protocol = "chat"
    if path.endswith(("/messages", "/responses")):
        protocol = "anthropic" if path.endswith("/messages") else "responses"
    asked = seen.json if seen.body.startswith(b"{") else {}
    model_name = str(asked.get("model", ""))
    if asked.get("stream") is not True:
        return [json.dumps(whole_of(protocol, said, model_name), ensure_ascii=False).encode()], False
    end = manner.line_end
    events = []
    for name, data in events_of(protocol, said, model_name):
        written = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
        head = f"event: {name}{end}" if name else ""
        events.append(f"{head}data: {written}{end}{end}".encode())
    return events, True


def _compressed(pieces: list[bytes], encoding: str) -> list[bytes]:
    """Return the pieces compressed as one stream, flushed after each as providers do."""
    compress = zlib.compressobj(wbits=16 + zlib.MAX_WBITS if encoding == "gzip" else zlib.MAX_WBITS)
    return [compress.compress(piece) + compress.flush(zlib.Z_SYNC_FLUSH) for piece in pieces] + [compress.flush()]
