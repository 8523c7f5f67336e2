"""Who asks, and about whose memory: the ids of a request, from its body and headers.

Source: wire contract §1.4 and §2. Everything past this module is handed a `Scope` and never sees a header.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping

from memstrata.capture import MAX_KEY
from memstrata.directory.access import not_allowed
from memstrata.errors import InvalidRequest, Unauthorized
from memstrata.records import Scope
from memstrata.server.envelope import IncompleteIds
from memstrata.server.requests import Request

__all__ = ["check_key", "idempotency_key", "instance_of", "operator_of", "scope_of", "session_of", "task_of"]

Headers = Mapping[bytes, bytes]

MAX_ID = 512
MAX_INSTANCE = 128

_BEARER = b"Bearer "
_SCOPE_IDS = (
    ("team_id", b"x-tdai-team-id"),
    ("agent_id", b"x-tdai-agent-id"),
    ("user_id", b"x-tdai-user-id"),
)


def check_key(headers: Headers, key: bytes) -> None:
    """Raise Unauthorized unless the bearer is the server's key, compared in constant time."""
    authorization = headers.get(b"authorization", b"")
    if not authorization.startswith(_BEARER):
        raise Unauthorized("Unauthorized: missing Bearer token")
    if not hmac.compare_digest(authorization[len(_BEARER) :], key):
        raise Unauthorized("Unauthorized: invalid token")


def instance_of(headers: Headers) -> str:
    """Return the memory space that is asked for.

    Some bearer must be there even where no key is configured, so that a client which forgets it fails on a laptop and
    not first in production. Raises Unauthorized, or InvalidRequest for a name past 128 characters.
    """
    authorization = headers.get(b"authorization", b"")
    if not authorization.startswith(_BEARER) or not authorization[len(_BEARER) :].strip():
        raise Unauthorized("Missing or invalid Authorization header. Expected: Bearer {api_key}")
    instance = _text(headers.get(b"x-tdai-service-id", b""))
    if not instance.strip():
        raise Unauthorized("Missing x-tdai-service-id header")
    if len(instance) > MAX_INSTANCE:
        raise InvalidRequest(f"at most {MAX_INSTANCE} characters", field="x-tdai-service-id")
    return instance


def scope_of(headers: Headers, request: Request, instance: str, user_id: str | None = None) -> Scope:
    """Return whose memory the request is about. Raises IncompleteIds naming what is missing, in order.

    A body value wins over its header, the empty one too: `""` is a mistake, not a wish for the header's. `user_id` is
    whose key came with it, and fills in for a user that neither names.
    """
    ids = [_id(getattr(request, name), headers.get(header)) for name, header in _SCOPE_IDS]
    if user_id is not None and request.user_id is None and b"x-tdai-user-id" not in headers:
        ids[-1] = user_id
    missing = [(name, header) for (name, header), value in zip(_SCOPE_IDS, ids, strict=True) if not value]
    if missing:
        raise IncompleteIds(
            f"missing {', '.join(name for name, _ in missing)}: give each as text in the body, or as header"
            f" {', '.join(header.decode() for _, header in missing)}"
        )
    for (name, _), value in zip(_SCOPE_IDS, ids, strict=True):
        _check_length(name, value)
    return Scope(instance, *ids)


def session_of(headers: Headers, request: Request) -> str | None:
    """Return the session that the body or the header names; None where neither does, `""` where the name is blank."""
    return _optional("session_id", request.session_id, headers.get(b"x-tdai-session-id"))


def task_of(headers: Headers, request: Request) -> str | None:
    """Return the task that the body or the header names, if any."""
    return _optional("task_id", request.task_id, headers.get(b"x-tdai-task-id")) or None


def operator_of(headers: Headers, user_id: str | None = None) -> str:
    """Return who makes a change to a whole instance: whose key it is, else the user of the header, else `default`.

    Raises Forbidden for the header of a user who is not the key's.
    """
    operator = _text(headers.get(b"x-tdai-user-id", b""))
    _check_length("x-tdai-user-id", operator)
    if user_id is not None:
        if operator.strip() and operator != user_id:
            raise not_allowed()
        return user_id
    return operator if operator.strip() else "default"


def idempotency_key(headers: Headers) -> str | None:
    """Return the key of the header. Raises InvalidRequest past 256 characters."""
    key = _text(headers.get(b"idempotency-key", b""))
    if len(key) > MAX_KEY:
        raise InvalidRequest(f"at most {MAX_KEY} characters", field="idempotency-key")
    return key or None


def _id(value: object, header: bytes | None) -> str:
    """One id of the scope; empty when it is missing, blank, or not text."""
    text = _text(header or b"") if value is None else value
    return text if isinstance(text, str) and text.strip() else ""


def _optional(name: str, value: object, header: bytes | None) -> str | None:
    if value is None:
        value = None if header is None else _text(header)
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidRequest("expected a string", field=name)
    _check_length(name, value)
    return value if value.strip() else ""


def _check_length(name: str, value: str) -> None:
    if len(value) > MAX_ID:
        raise InvalidRequest(f"at most {MAX_ID} characters", field=name)


def _text(value: bytes) -> str:
    """A header's text. Clients send UTF-8 more often than the Latin-1 of the standard."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
