"""Errors of OpenAI's two protocols, which share one shape: `type` goes by the status, `code` says what exactly."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

__all__ = ["error", "error_value"]

_KINDS: Mapping[int, tuple[str, str | None]] = {
    401: ("invalid_request_error", "invalid_api_key"),
    404: ("invalid_request_error", "not_found"),
    429: ("rate_limit_error", "rate_limit_exceeded"),
    503: ("server_error", "server_overloaded"),
    529: ("server_error", "server_overloaded"),
}


def error(status: int, kind: str, message: str) -> bytes:
    """Return an error body with `kind` as its code."""
    return msgspec.json.encode({"error": error_value(status, kind, message)})


def error_value(status: int, kind: str, message: str) -> dict[str, object]:
    """Return what stands under `error`."""
    usual = _KINDS.get(status, ("invalid_request_error" if status < 500 else "server_error", None))
    return {"message": message, "type": usual[0], "param": None, "code": kind or usual[1]}
