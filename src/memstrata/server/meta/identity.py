"""Who makes a request about the directory: the instance, the user's key, and the caller's own name for the request.

Source: wire contract §1.2 and §1.4. What is missing here is told by other codes than on the data plane.
"""

from __future__ import annotations

from collections.abc import Mapping

from memstrata.errors import InvalidRequest, Unauthorized

__all__ = ["MAX_INSTANCE", "echoed_id", "instance_in", "peer_of", "user_key_in_bearer", "user_key_of"]

Headers = Mapping[bytes, bytes]

MAX_INSTANCE = 128
MAX_ECHOED = 128

_BEARER = b"Bearer "
_USER_KEY = b"sk-mem-"


def echoed_id(headers: Headers) -> str | None:
    """Return the caller's name for the request, cut at 128 characters; None where there is none."""
    for name in (b"x-qcloud-transaction-id", b"x-request-id"):
        value = headers.get(name, b"").decode("latin-1").strip()
        if value:
            return value[:MAX_ECHOED]
    return None


def instance_in(headers: Headers, body_value: str | None = None) -> str:
    """Return the instance that the header names, else the body where it may. Raises InvalidRequest."""
    given = headers.get(b"x-tdai-service-id", b"")
    try:
        instance = given.decode() or body_value or ""
        instance.encode()
    except UnicodeError:
        raise InvalidRequest("invalid_instance_id: x-tdai-service-id is no UTF-8 text") from None
    if not instance.strip():
        raise InvalidRequest("missing_instance_id: x-tdai-service-id header is required")
    if len(instance) > MAX_INSTANCE:
        raise InvalidRequest(f"invalid_instance_id: at most {MAX_INSTANCE} characters")
    return instance


def user_key_of(headers: Headers) -> str:
    """Return the user's key: of its own header, else the bearer where that is one. Raises Unauthorized without."""
    key = headers.get(b"x-tdai-user-key", b"").decode("latin-1").strip() or user_key_in_bearer(headers)
    if not key:
        raise Unauthorized("unauthorized: missing_user_key")
    return key


def user_key_in_bearer(headers: Headers) -> str:
    """Return the bearer where it has the form of a user's key, else nothing."""
    authorization = headers.get(b"authorization", b"")
    token = authorization[len(_BEARER) :].strip() if authorization.startswith(_BEARER) else b""
    return token.decode("latin-1") if token.startswith(_USER_KEY) else ""


def peer_of(client: tuple[str, int] | None) -> str:
    """Return the address at the other end of the connection; empty where there is no network between."""
    return client[0] if client else ""
