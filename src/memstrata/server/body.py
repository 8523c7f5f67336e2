"""Request bodies as bytes: decompressed, and never larger than the limit, at no moment.

Source: wire contract §1.1 (encodings, limit after decompression); §11-9 (an oversized request is answered, not cut off).
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Mapping

from starlette.types import Receive

from memstrata.server.envelope import UnreadableBody

__all__ = ["ClientGone", "drain", "inflate", "read_body"]

# A client that is still sending reads no answer, so the rest of a refused body is taken in first: this much of it,
# for this long, and held nowhere.
DRAIN_BYTES = 32 << 20
DRAIN_SECONDS = 5.0

_GZIP = 16 + zlib.MAX_WBITS


class ClientGone(Exception):
    """The connection ended before the body did. There is nobody left to answer."""


async def read_body(headers: Mapping[bytes, bytes], receive: Receive, limit: int) -> bytes:
    """Return the whole decompressed body.

    Raises UnreadableBody: 415 for an unknown encoding, 413 past `limit` bytes before or after decompression, 400 for
    what does not decompress; ClientGone when the client hangs up.
    """
    encoding = headers.get(b"content-encoding", b"identity").strip().lower()
    if encoding not in (b"identity", b"", b"gzip", b"x-gzip", b"deflate"):
        raise UnreadableBody(415, f"Unsupported Content-Encoding: {encoding[:40].decode('latin-1')}")
    declared = headers.get(b"content-length", b"")
    if declared.isdigit() and int(declared) > limit:
        if headers.get(b"expect", b"").lower() != b"100-continue":
            await drain(receive)
        raise _too_large(limit)
    raw = await _receive(receive, limit)
    return raw if encoding in (b"identity", b"") else inflate(raw, limit, gzip=encoding != b"deflate")


def inflate(data: bytes, limit: int, *, gzip: bool) -> bytes:
    """Decompress one gzip member, or a deflate stream with or without its zlib header.

    Stops at `limit` bytes, so that a small body cannot become a large one. Raises UnreadableBody, 400 or 413.
    """
    if gzip:
        stream = zlib.decompressobj(_GZIP)
    else:
        zlib_header = len(data) > 1 and data[0] & 0x0F == 8 and (data[0] << 8 | data[1]) % 31 == 0
        stream = zlib.decompressobj(zlib.MAX_WBITS if zlib_header else -zlib.MAX_WBITS)
    try:
        whole = stream.decompress(data, limit + 1)
    except zlib.error:
        raise UnreadableBody(400, "The body does not decompress") from None
    if len(whole) > limit:
        raise _too_large(limit)
    if not stream.eof or stream.unused_data:
        raise UnreadableBody(400, "The compressed body is cut short, or something follows it")
    return whole


async def _receive(receive: Receive, limit: int) -> bytes:
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientGone
    body: bytes = message.get("body", b"")
    if not message.get("more_body", False):
        if len(body) > limit:
            raise _too_large(limit)
        return body
    parts = [body]
    size = len(body)
    while message.get("more_body", False):
        if size > limit:
            await drain(receive)
            raise _too_large(limit)
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        parts.append(message.get("body", b""))
        size += len(parts[-1])
    if size > limit:
        raise _too_large(limit)
    return b"".join(parts)


async def drain(receive: Receive) -> None:
    """Take in what is left of a body that was not read to its end, within bounds. Raises ClientGone."""
    taken = 0
    try:
        async with asyncio.timeout(DRAIN_SECONDS):
            while taken < DRAIN_BYTES:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientGone
                taken += len(message.get("body", b""))
                if not message.get("more_body", False):
                    return
    except TimeoutError:
        return


def _too_large(limit: int) -> UnreadableBody:
    return UnreadableBody(413, f"Request body is larger than {limit} bytes", closes=True)
