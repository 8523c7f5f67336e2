"""One way out to all models: POST of JSON with a deadline, a size limit and no surprises.

Redirects are not followed, because the key would go along. Cookies are not kept, proxies and netrc of the environment
are not read. Errors carry no key, no header and no prompt.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from memstrata.endpoint.errors import BadReply, TimedOut, Unreachable
from memstrata.errors import Misconfigured

__all__ = ["Http", "HttpReply", "check_base_url", "check_key", "excerpt"]

_CONNECT_SECONDS = 10.0
# Below the five seconds after which common servers close an idle connection: a request on one that is being closed
# fails, and it cannot be told from one that was lost.
_KEEP_ALIVE_SECONDS = 4.0
_CHUNK_BYTES = 65_536
_EXCERPT_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class HttpReply:
    """A complete answer. Header names are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Http:
    """The connections of one process to its models. Opened at the first call, in the loop that makes it."""

    def __init__(self, *, max_reply_bytes: int = 8 * 1024 * 1024) -> None:
        self._max_reply_bytes = max_reply_bytes
        self._session: aiohttp.ClientSession | None = None

    async def post(
        self, url: str, headers: Mapping[str, str], body: Mapping[str, Any], *, timeout_seconds: float, secret: str = ""
    ) -> HttpReply:
        """Send `body` as JSON and return whatever status came. Raises TimedOut, Unreachable, BadReply (too long).

        `secret` is kept out of the errors' texts. Keys of `body` are sent in their order.
        """
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        host = urlsplit(url).hostname or url
        timeout = aiohttp.ClientTimeout(total=timeout_seconds, sock_connect=min(_CONNECT_SECONDS, timeout_seconds))
        sent = {"content-type": "application/json", **headers}
        try:
            async with self._opened().post(
                url, data=content, headers=sent, timeout=timeout, allow_redirects=False
            ) as response:
                received = bytearray()
                async for chunk in response.content.iter_chunked(_CHUNK_BYTES):
                    received += chunk
                    if len(received) > self._max_reply_bytes:
                        raise BadReply(f"{host} answered with more than {self._max_reply_bytes} bytes")
                found = {name.lower(): value for name, value in response.headers.items()}
                return HttpReply(response.status, found, bytes(received))
        except TimeoutError:
            raise TimedOut(f"{host} gave no complete answer within {timeout_seconds:g} s") from None
        except (aiohttp.ClientError, OSError) as error:
            # Not chained: the library's errors hold the request's headers, and with them the key.
            what = excerpt(str(error), secret) or "no reason given"
            raise Unreachable(f"{host}: {type(error).__name__}: {what}", retry_after=5.0) from None

    async def close(self) -> None:
        """Close all connections. Calls under way fail as Unreachable."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None or self._session.closed:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(keepalive_timeout=_KEEP_ALIVE_SECONDS),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
            )
        return self._session


def check_base_url(base_url: str) -> str:
    """Return `base_url` without a trailing slash. Raises Misconfigured if it is no plain http(s) address."""
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Misconfigured(
            "the model's base_url must begin with http:// or https://, for example http://127.0.0.1:11434/v1"
        )
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise Misconfigured(
            "the model's base_url must hold no credentials, query or fragment; the key has its own place"
        )
    return base_url.rstrip("/")


def check_key(api_key: str) -> str:
    """Return `api_key`. Raises Misconfigured, without repeating it, if no header can carry it."""
    if not api_key.isprintable():
        raise Misconfigured("the model's key holds a line break or another character that no header can carry")
    return api_key


def excerpt(text: str, secret: str = "") -> str:
    """Return the start of a text from outside on one line, for an error or a log, with `secret` blotted out.

    What cannot be shown, control characters and halves of emoji, is a space: no store and no terminal chokes on it.
    """
    if secret:
        text = text.replace(secret, "***")
    shown = "".join(one if one.isprintable() else " " for one in text)
    return " ".join(shown.split())[:_EXCERPT_CHARACTERS]
