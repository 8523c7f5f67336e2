"""Connections to providers, and one request over them.

No time limit holds for a whole answer: one for connecting, one for its first byte, and the relay's for a silence within it.
Answers are not decompressed, redirects not followed, cookies not kept: what comes is what the client gets.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import aiohttp
from yarl import URL

__all__ = ["Upstream", "UpstreamFailed", "Waits"]

# Shorter than any provider keeps an idle connection: one that they close at the moment of a request would lose it.
_KEEP_ALIVE_SECONDS = 15.0
_BUFFER_BYTES = 1 << 16
_NOT_ADDED = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")
_LONGEST_HEADER = 1 << 16


class UpstreamFailed(Exception):
    """No answer began. `status` is what to say to the client: 502, or 504 after waiting in vain."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Waits:
    """Seconds; 0: without end. `idle_seconds` is the longest silence within an answer."""

    connect_seconds: float = 10.0
    first_byte_seconds: float = 600.0
    idle_seconds: float = 300.0


class Upstream:
    """One pool of connections for all providers. It opens with the first request."""

    def __init__(self, waits: Waits) -> None:
        self.waits = waits
        self._session: aiohttp.ClientSession | None = None

    async def send(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes
    ) -> aiohttp.ClientResponse:
        """Return the answer with its body still to come; the caller closes it. Raises UpstreamFailed."""
        try:
            async with asyncio.timeout(self.waits.first_byte_seconds or None):
                return await self._opened().request(
                    method,
                    URL(url, encoded=True),
                    headers=headers,
                    data=body if body or method not in ("GET", "HEAD") else None,
                    allow_redirects=False,
                    skip_auto_headers=_NOT_ADDED,
                )
        except aiohttp.ConnectionTimeoutError as error:
            raise UpstreamFailed(504, "the provider could not be reached in time") from error
        except TimeoutError as error:
            raise UpstreamFailed(504, "the provider did not answer in time") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise UpstreamFailed(502, f"the provider could not be reached ({type(error).__name__})") from error

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_ALIVE_SECONDS),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=self.waits.connect_seconds or None),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                read_bufsize=_BUFFER_BYTES,
                max_line_size=_LONGEST_HEADER,
                max_field_size=_LONGEST_HEADER,
            )
        return self._session
