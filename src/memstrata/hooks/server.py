"""The two requests of a hook, over `http.client`: loading `httpx` alone takes longer than a hook may.

Paths, bodies and the envelope are those of `memstrata.client`, whose results are not needed here. Certificates are
verified, proxies of the environment are not used.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from memstrata.hooks.place import Place

__all__ = ["NoServer", "Refused", "Server"]

_MAX_ANSWER = 4_000_000  # bytes


class NoServer(Exception):
    """Nothing answered in time, or something that is no Memstrata server, or one that cannot now."""


class Refused(Exception):
    """The server does not take this. `is_final`: sending the same again changes nothing."""

    def __init__(self, code: int) -> None:
        self.code = code
        self.is_final = code in (400, 409, 413, 422)
        super().__init__(f"the server answered {code}")


class Server:
    """The server of a place. Every request has what is left until `deadline`, in seconds of `clock`."""

    def __init__(self, place: Place, deadline: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Raises ValueError for a URL that cannot be one."""
        parts = urlsplit(place.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("--url is no http(s) URL")
        self._place = place
        self._host, self._port, self._path = parts.hostname, parts.port, parts.path.rstrip("/")
        self._kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._deadline = deadline
        self._clock = clock

    def left(self) -> float:
        """Return how many seconds are left."""
        return self._deadline - self._clock()

    def recall(self, query: str, include: Sequence[str], limit: int, tokens: int) -> Mapping[str, Any]:
        """Return what belongs into the next prompt. Raises NoServer, Refused."""
        budget = max(1, int(1_000 * 0.85 * self.left()))  # the rest is for the way there and back
        return self._post(
            "/v3/recall",
            {"query": query, "include": list(include), "limit": limit, "max_tokens": tokens, "budget_ms": budget},
        )

    def add(self, session: str, key: str, messages: Sequence[Mapping[str, str]]) -> None:
        """Hand over messages; the same `key` stores nothing twice. Raises NoServer, Refused."""
        body = {"session_id": session, "messages": list(messages), "idempotency_key": key}
        self._post("/v3/conversation/add", body)

    def _post(self, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        place = self._place
        given = {"team_id": place.team, "agent_id": place.agent, "user_id": place.user, **body}
        sent = json.dumps(given, ensure_ascii=False).encode("utf-8", "backslashreplace")
        headers = {
            "content-type": "application/json",
            "authorization": f"Bearer {place.api_key}",
            "x-tdai-service-id": place.instance,
        }
        left = self.left()
        if left <= 0:
            raise NoServer("no time is left")
        connection = self._kind(self._host, self._port, timeout=left)
        try:
            connection.request("POST", f"{self._path}{path}", sent, headers)
            response = connection.getresponse()
            return _data(response.status, response.read(_MAX_ANSWER))
        except (OSError, http.client.HTTPException) as error:
            raise NoServer(f"{place.url}: {type(error).__name__}") from error
        finally:
            connection.close()


def _data(status: int, text: bytes) -> Mapping[str, Any]:
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        answer = None
    code = answer.get("code") if isinstance(answer, dict) else None
    if status >= 500 or not isinstance(answer, dict) or not isinstance(code, int):
        raise NoServer(f"HTTP {status}")
    if code != 0 or status >= 400:
        raise Refused(code or status)
    data = answer.get("data")
    return data if isinstance(data, dict) else {}
