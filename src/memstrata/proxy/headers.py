"""Which headers go on, in each direction, and which are for this hop or for us alone. Pure.

Names are compared in lower case; values, order and repetitions of what goes on stay. Encodings that we could not read are
not asked for, because the answer is read beside its way to the client.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memstrata.proxy.credentials import Credentials, Header, holds_key
from memstrata.proxy.targets import Target
from memstrata.proxy.wire.request import WireName

__all__ = ["BYPASS_HEADER", "READABLE", "REFUSED_HEADER", "answer_headers", "upstream_headers"]

BYPASS_HEADER = "x-memstrata-bypass"
"""Why a request went on without memory."""

REFUSED_HEADER = "x-memstrata-refused"
"""Why a request ended here; the provider's own refusals have no such header."""

_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
_REQUEST_ONLY = _HOP | {b"host", b"content-length", b"expect"}
# The server writes its own date, which differs by the time that this hop takes.
_ANSWER_ONLY = _HOP | {b"date"}
_IDENTITY = frozenset({b"x-team-id", b"x-agent-id", b"x-task-id"})
_OURS = (b"x-tdai-", b"x-memstrata-")
_CREDENTIALS = frozenset({b"authorization", b"x-api-key"})

READABLE = frozenset({b"identity", b"gzip", b"x-gzip", b"deflate"})
"""Content encodings that the copy of an answer can be read in."""


def upstream_headers(
    headers: Sequence[Header], credentials: Credentials, target: Target, wire: WireName
) -> list[tuple[str, str]]:
    """Return what a request is sent on with, credentials settled; lengths are the sender's business."""
    named = _named_by_connection(headers)
    going: list[tuple[str, str]] = []
    for name, value in headers:
        if name in _REQUEST_ONLY or name in named or name in _IDENTITY or name.startswith(_OURS):
            continue
        if holds_key(value, credentials.ours) or (target.key and name in _CREDENTIALS):
            continue
        if name == b"accept-encoding":
            value = _readable(value)
        going.append((name.decode("latin-1"), value.decode("latin-1")))
    if target.key:
        going.append(("x-api-key", target.key) if wire == "anthropic" else ("authorization", f"Bearer {target.key}"))
    return going


def answer_headers(headers: Iterable[Header]) -> list[Header]:
    """Return what an answer is sent on with, names in lower case."""
    lowered = [(name.lower(), value) for name, value in headers]
    named = _named_by_connection(lowered)
    return [(name, value) for name, value in lowered if name not in _ANSWER_ONLY and name not in named]


def _named_by_connection(headers: Iterable[Header]) -> frozenset[bytes]:
    return frozenset(
        one.strip().lower() for name, value in headers if name == b"connection" for one in value.split(b",")
    )


def _readable(accepted: bytes) -> bytes:
    parts = [part.strip() for part in accepted.split(b",")]
    kept = [part for part in parts if part.partition(b";")[0].strip().lower() in READABLE]
    return accepted if len(kept) == len(parts) else b", ".join(kept) or b"identity"
