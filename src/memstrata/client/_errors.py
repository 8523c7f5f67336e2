"""What can go wrong, by what the caller can do about it. Every failure of a call is one of these.

MemstrataClientError
├── InvalidRequest    400, 413, 415, 422: change the request
├── Unauthorized      401: present a key, or another one
├── Forbidden         403: not yours; asking again changes nothing
├── NotFound          404: no such thing in this scope
├── Conflict          409: contradicts what is stored
├── Unavailable       503: retry after `retry_after` seconds
│   └── Unreachable   no answer at all: connection refused, broken, or too slow
└── ServerFailed      anything else, also an answer that is not this API's
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = [
    "Conflict",
    "Forbidden",
    "InvalidRequest",
    "MemstrataClientError",
    "NotFound",
    "ParamError",
    "ServerFailed",
    "Unauthorized",
    "Unavailable",
    "Unreachable",
    "error_for",
]


class MemstrataClientError(Exception):
    """Root of all errors of this client. `code` is the envelope's, else the HTTP status, 0 where nothing answered.

    `idempotency_key` is set by an `add` that failed: the same call with that key completes it and stores nothing twice.
    """

    idempotency_key: str = ""

    def __init__(self, code: int, message: str, request_id: str = "", details: Mapping[str, Any] | None = None) -> None:
        self.code = code
        self.message = message
        self.request_id = request_id
        self.details = dict(details or {})
        super().__init__(f"{message} (code {code}{f', request {request_id}' if request_id else ''})")


class InvalidRequest(MemstrataClientError):
    """The request cannot be meant as it stands."""


class Unauthorized(MemstrataClientError):
    """No key, or one that is not valid."""


class Forbidden(MemstrataClientError):
    """The caller is known and may not do this."""


class NotFound(MemstrataClientError):
    """Nothing of that name exists in this scope."""


class Conflict(MemstrataClientError):
    """The request contradicts what is already stored."""


class Unavailable(MemstrataClientError):
    """Not now; nothing was stored. `retry_after` is in seconds, None where the server did not say."""

    retry_after: float | None = None


class Unreachable(Unavailable):
    """No answer. `sent` says whether the request may have arrived all the same, `timed_out` that it took too long."""

    def __init__(self, message: str, *, sent: bool, timed_out: bool) -> None:
        self.sent = sent
        self.timed_out = timed_out
        super().__init__(0, message)


class ServerFailed(MemstrataClientError):
    """The server failed, or what answered is no Memstrata server."""


class ParamError(ValueError):
    """An argument that cannot be meant; nothing was sent. It is none of the tree, as no call was made."""


_BY_CODE: Mapping[int, type[MemstrataClientError]] = {
    400: InvalidRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    413: InvalidRequest,
    415: InvalidRequest,
    422: InvalidRequest,
    503: Unavailable,
}


def error_for(code: int) -> type[MemstrataClientError]:
    """Return the class of an envelope's code or an HTTP status."""
    return _BY_CODE.get(code, ServerFailed)
