"""The form of every answer under `/v2` and `/v3`, and what each error of the house is in HTTP.

Source: wire contract §1.2 and §1.3. Clients branch on `code`; texts are for people and may change.
"""

from __future__ import annotations

import logging
import math
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.types import Send

from memstrata.errors import (
    Conflict,
    Forbidden,
    InvalidRequest,
    LeaseLost,
    MemstrataError,
    Misconfigured,
    NotFound,
    Unauthorized,
    Unavailable,
)
from memstrata.ids import request_id

__all__ = [
    "Answer",
    "Data",
    "Header",
    "IncompleteIds",
    "UnreadableBody",
    "failure",
    "json_answer",
    "not_found",
    "send_answer",
    "success",
]

Data = Mapping[str, Any]
Header = tuple[bytes, bytes]

JSON = b"application/json"
_encode = msgspec.json.Encoder().encode
_log = logging.getLogger(__name__)


class UnreadableBody(InvalidRequest):
    """The body cannot be taken in: 400, 413 or 415. Nothing of it was looked at."""

    def __init__(self, status: int, message: str, *, closes: bool = False) -> None:
        self.status = status
        self.closes = closes  # the rest of the body is not wanted: the connection ends with the answer
        super().__init__(message)


class IncompleteIds(InvalidRequest):
    """The request does not say whose memory it is about: 422 (wire contract §2.2)."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One complete HTTP answer."""

    status: int
    body: bytes = b""
    headers: tuple[Header, ...] = ()
    content_type: bytes = JSON


def success(data: Data | None, *, echoed_id: str | None = None) -> Answer:
    """Return the envelope of a good answer. `data` is left out when there is nothing to say.

    `echoed_id` is the caller's own name for the request; without one it gets one here.
    """
    body: dict[str, Any] = {"code": 0, "message": "ok", "request_id": echoed_id or request_id()}
    if data is not None:
        body["data"] = data
    return json_answer(200, body)


def failure(error: Exception, *, enveloped: bool, echoed_id: str | None = None) -> Answer:
    """Return what the caller may know of an error. One that nobody foresaw is logged here, under its trace id.

    `enveloped` is false outside `/v2` and `/v3`, where the form is `{"error": text}`; `echoed_id` as with `success`.
    """
    status, message, thrown = _describe(error)
    body: dict[str, Any] = {"code": status, "message": message, "request_id": echoed_id or request_id()}
    if not enveloped:
        body = {"error": message}
    if thrown:
        body["trace_id"] = str(uuid.uuid4())
        body["retryable"] = _retryable(error)
    if status >= 500:
        _log_failure(error, status, body["trace_id"])
    return json_answer(status, body, _headers(error))


def not_found(method: str, path: str) -> Answer:
    """Return the answer to an unknown path or a wrong verb, which is no envelope."""
    return json_answer(404, {"error": f"Not found: {method} {path}"})


def json_answer(status: int, body: Data, headers: tuple[Header, ...] = ()) -> Answer:
    """Return a JSON object as an answer."""
    return Answer(status, _encode(body), headers)


async def send_answer(answer: Answer, send: Send) -> None:
    """Write an answer to the connection."""
    headers = [*answer.headers]
    if answer.status != 204:
        headers += [(b"content-type", answer.content_type), (b"content-length", b"%d" % len(answer.body))]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})


def _describe(error: Exception) -> tuple[int, str, bool]:
    """HTTP status, text for the caller, and whether trace id and retryability are said."""
    match error:
        case UnreadableBody():
            return error.status, str(error), True
        case IncompleteIds():
            return 422, str(error), False
        case InvalidRequest():
            return 400, str(error), False
        case Unauthorized():
            return 401, str(error), False
        case Forbidden():
            return 403, str(error), False
        case NotFound():
            return 404, str(error), False
        case Conflict():
            return 409, str(error), True
        case Unavailable():
            return 503, str(error), True
        case Misconfigured():
            return 500, "The server is misconfigured; its log says how", True
        case _:
            return 500, "Internal server error", True


def _retryable(error: Exception) -> bool:
    """Whether the same call may succeed later: not when the caller or the operator has to change something first."""
    return isinstance(error, Unavailable | LeaseLost) or not isinstance(error, MemstrataError)


def _headers(error: Exception) -> tuple[Header, ...]:
    if isinstance(error, Unavailable | Unauthorized) and error.retry_after is not None:
        return ((b"retry-after", b"%d" % max(1, math.ceil(error.retry_after))),)
    if isinstance(error, UnreadableBody) and error.closes:
        return ((b"connection", b"close"),)
    return ()


def _log_failure(error: Exception, status: int, trace_id: str) -> None:
    """An error that the house raises on purpose says enough by its text; any other comes with where it happened."""
    if isinstance(error, MemstrataError):
        _log.warning("answered %d, trace_id=%s: %s", status, trace_id, error)
    else:
        _log.error("answered %d, trace_id=%s: %s", status, trace_id, error, exc_info=error)
