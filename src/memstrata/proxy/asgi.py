"""The few things that the proxy says and hears as an ASGI application."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.types import Receive, Send

from memstrata.proxy.credentials import Header

__all__ = ["ClientGone", "TooLarge", "hung_up", "read_body", "respond"]

_DRAINED = 32 << 20  # of a body that is too large: a client that is still sending reads no answer


class ClientGone(Exception):
    """The connection ended before the body did. There is nobody left to answer."""


class TooLarge(Exception):
    """The body is longer than the limit; it was taken in and thrown away."""


async def read_body(receive: Receive, limit: int) -> bytes:
    """Return the body as it was sent. Raises TooLarge past `limit` bytes, ClientGone."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ClientGone
        part = message.get("body", b"")
        size += len(part)
        if size <= limit:
            parts.append(part)
        elif size > limit + _DRAINED:
            raise TooLarge
        if not message.get("more_body", False):
            break
    if size > limit:
        raise TooLarge
    return parts[0] if len(parts) == 1 else b"".join(parts)


async def hung_up(receive: Receive) -> None:
    """Return when the client is gone. The body must have been read."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def respond(send: Send, status: int, body: bytes, content_type: str, headers: Sequence[Header] = ()) -> None:
    """Send a whole answer."""
    own: list[Header] = [
        (b"content-type", content_type.encode()),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-cache"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": [*own, *headers]})
    await send({"type": "http.response.body", "body": body, "more_body": False})
