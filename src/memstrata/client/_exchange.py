"""From a request to bytes, from a response to data or an error, and when to try again. No I/O here.

Source: wire contract §1.2 (status and code), §9.1 (how clients read envelopes).
"""

from __future__ import annotations

import json
import random
import ssl
from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx

from memstrata.client._calls import Call
from memstrata.client._errors import ServerFailed, Unavailable, Unreachable, error_for

__all__ = [
    "base_headers",
    "base_url",
    "checked_tls",
    "encode",
    "interpret",
    "pause_before_retry",
    "request_of",
    "unreachable",
]

T = TypeVar("T")

RETRIES = 3
FIRST_PAUSE_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 5.0
WAIT_MARGIN_SECONDS = 10.0


def base_url(endpoint: str) -> str:
    """Return the endpoint without a trailing slash. Raises ValueError for what is not an http(s) URL."""
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"endpoint must be http://HOST:PORT or https://HOST:PORT, got {endpoint!r}")
    return endpoint.rstrip("/")


def base_headers(api_key: str, instance: str, user_key: str | None = None) -> dict[bytes, bytes]:
    """Return the headers of every request. Raises ValueError when one would be empty."""
    if not api_key.strip() or not instance.strip():
        raise ValueError("api_key and instance must not be empty; a server without a key takes any")
    headers = {
        b"authorization": f"Bearer {api_key}".encode(),
        b"x-tdai-service-id": instance.encode(),
        b"content-type": b"application/json",
    }
    if user_key is not None:
        if not user_key.strip():
            raise ValueError("user_key must not be empty; leave it out to ask as nobody in particular")
        headers[b"x-tdai-user-key"] = user_key.encode()
    return headers


def checked_tls(tls: ssl.SSLContext | None) -> ssl.SSLContext | bool:
    """Return what httpx verifies servers with. Raises ValueError for a context that would trust anybody."""
    if tls is None:
        return True
    if tls.verify_mode != ssl.CERT_REQUIRED or not tls.check_hostname:
        raise ValueError(
            "tls must verify the server's certificate and name; for a CA of your own, load it into the context"
        )
    return tls


def request_of(call: Call[T], timeout_seconds: float, seconds_left: float | None = None) -> dict[str, Any]:
    """Return the arguments of `httpx.Client.request` for a call. A deadline takes the place of the usual timeout.

    Where that is the client's own it is left out: httpx takes longer to read a timeout than we do to build a body.
    """
    content = None if call.body is None else encode(call.body)
    request: dict[str, Any] = {
        "method": "GET" if content is None else "POST",
        "url": call.path,
        "content": content,
        "headers": call.headers,
    }
    if seconds_left is not None:
        request["timeout"] = seconds_left
    elif call.wait_seconds + WAIT_MARGIN_SECONDS > timeout_seconds and call.wait_seconds:
        request["timeout"] = call.wait_seconds + WAIT_MARGIN_SECONDS
    return request


def interpret(response: httpx.Response) -> Mapping[str, Any]:
    """Return the `data` of an envelope, or the whole object where the answer is none. Raises MemstrataClientError."""
    status = response.status_code
    try:
        answer = response.json()
    except ValueError:
        raise _failed(status, response, {"message": response.text[:200] or "empty answer"}) from None
    if not isinstance(answer, dict):
        raise _failed(status, response, {"message": "the answer is not a JSON object"})
    code = answer.get("code", 0)
    if status >= 400 or code != 0:
        raise _failed(code if isinstance(code, int) and code else status, response, answer)
    data = answer.get("data", {}) if "code" in answer else answer
    if not isinstance(data, dict):
        raise _failed(status, response, {"message": "the data of the answer is not a JSON object"})
    return data


def unreachable(error: httpx.HTTPError) -> Unreachable:
    """Return what an exception of the transport means for the caller."""
    before = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
    timed_out = isinstance(error, httpx.TimeoutException)
    what = "no answer in time" if timed_out else "no connection" if before else "connection lost"
    return Unreachable(f"{what}: {str(error) or type(error).__name__}", sent=not before, timed_out=timed_out)


def pause_before_retry(
    error: Unavailable, attempt: int, *, repeatable: bool, seconds_left: float | None = None
) -> float | None:
    """Return how many seconds to wait before the next try, None to give up. `attempt` is 0 for the first.

    A request that may have arrived is repeated only when that changes nothing; one that took too long never is, because
    the caller has waited as long as they were willing to.
    """
    if attempt >= RETRIES:
        return None
    if isinstance(error, Unreachable) and (error.timed_out or (error.sent and not repeatable)):
        return None
    pause = FIRST_PAUSE_SECONDS * (1 << attempt) * random.uniform(0.5, 1.0)  # noqa: S311 - jitter, not a secret
    pause = min(max(pause, error.retry_after or 0.0), LONGEST_PAUSE_SECONDS)
    return None if seconds_left is not None and pause >= seconds_left else pause


def encode(body: Mapping[str, Any]) -> bytes:
    """Return the JSON of a body."""
    # Half of a surrogate pair cannot be UTF-8, but as an escape it can be sent; it is no reason to lose a turn.
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "backslashreplace")


def _failed(code: int, response: httpx.Response, answer: Mapping[str, Any]) -> Exception:
    """The error of an answer; one that is no error by its status is still not what was asked for."""
    kind = error_for(code) if code >= 400 else ServerFailed
    details = {key: value for key, value in answer.items() if key not in ("code", "message", "request_id")}
    message = str(answer.get("message") or answer.get("error") or f"HTTP {response.status_code}")
    error = kind(code, message, str(answer.get("request_id", "")), details)
    if isinstance(error, Unavailable):
        seconds = response.headers.get("retry-after", "")
        error.retry_after = float(seconds) if seconds.isdigit() else None
    return error
