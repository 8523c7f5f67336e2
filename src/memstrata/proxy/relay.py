"""An answer on its way to the client: bytes go out as they come in, and no faster than the client takes them.

The provider is read one piece at a time, the next when the client has this one; so nothing piles up here. Where the
provider breaks off in the middle of an event stream, the client is told in its own protocol; of any other answer the
connection ends where the bytes did, so that nobody takes a part for the whole.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Literal

import aiohttp
from starlette.types import Send

from memstrata.proxy.credentials import Header
from memstrata.proxy.headers import answer_headers
from memstrata.proxy.tap import is_stream
from memstrata.proxy.wire.request import Wire

__all__ = ["End", "relay"]

_log = logging.getLogger(__name__)

End = Literal["whole", "broken", "silent"]
"""All of it came; the provider broke off; it said nothing for too long."""

_NO_BODY = frozenset({204, 304})


async def relay(
    answer: aiohttp.ClientResponse,
    send: Send,
    wire: Wire,
    extra: Sequence[Header],
    idle_seconds: float,
    copy: Callable[[bytes], None] | None,
) -> End:
    """Send an answer on and return how it ended. `copy` sees every piece after the client; 0 seconds: wait for ever."""
    headers = [*answer_headers(answer.raw_headers), *extra]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    if answer.method == "HEAD" or answer.status in _NO_BODY:
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        return "whole"
    content, last = answer.content, b""
    wait = idle_seconds or None
    try:
        while True:
            async with asyncio.timeout(wait):
                piece = await content.readany()
            if not piece:
                break
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            last = piece[-4:]
            if copy is not None:
                copy(piece)
    except TimeoutError:
        return await _broken_off("silent", answer, send, wire, last)
    except (aiohttp.ClientError, OSError) as error:
        _log.warning("a provider broke off its answer: %s", type(error).__name__)
        return await _broken_off("broken", answer, send, wire, last)
    await send({"type": "http.response.body", "body": b"", "more_body": False})
    return "whole"


async def _broken_off(end: End, answer: aiohttp.ClientResponse, send: Send, wire: Wire, last: bytes) -> End:
    """Tell the client where its protocol has a word for it; else leave the answer unfinished, which ends the connection."""
    encoded = answer.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity")
    if is_stream(answer.headers) and not encoded and answer.content_length is None:
        said = "said nothing for too long" if end == "silent" else "broke off the answer"
        # An event that was under way must end first, or ours would be part of it.
        between = b"" if not last or last.endswith((b"\n\n", b"\r\r", b"\r\n\r\n")) else b"\n\n"
        ended = between + wire.cut_short(f"the provider {said}")
        await send({"type": "http.response.body", "body": ended, "more_body": False})
    return end
