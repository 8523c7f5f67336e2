"""Which of a request's credentials is the user's key with us, and which is the provider's and goes on. Pure.

The user's key is taken from `x-tdai-user-key`, else from a bearer or an `x-api-key` that begins like one of ours; what is
left is the provider's. Whatever holds a key of ours stays here. Source: `reference/proxy.md` §2.1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import unquote_plus

__all__ = ["KEY_PREFIX", "Credentials", "Header", "credentials_of", "holds_key", "without_keys"]

Header = tuple[bytes, bytes]

KEY_PREFIX = b"sk-mem-"
_CARRIERS = (b"authorization", b"x-api-key")


@dataclass(frozen=True, slots=True)
class Credentials:
    """`user_key` is empty where none came. `ours` are byte strings that must not leave this program."""

    user_key: str = field(repr=False)
    ours: tuple[bytes, ...] = field(default=(), repr=False)


def credentials_of(headers: Iterable[Header], gateway_key: str = "") -> Credentials:
    """Return the user's key among headers with lower-case names. `gateway_key` is the core's own, which is ours as well."""
    named = b""
    prefixed: dict[bytes, bytes] = {}
    for name, value in headers:
        if name == b"x-tdai-user-key":
            named = named or value.strip()
        elif name in _CARRIERS:
            bare = _bare(name, value)
            if bare.startswith(KEY_PREFIX):
                prefixed.setdefault(name, bare)
    key = named or next((prefixed[name] for name in _CARRIERS if name in prefixed), b"")
    ours = tuple({one for one in (key, *prefixed.values(), gateway_key.encode()) if one})
    return Credentials(key.decode("latin-1"), ours)


def holds_key(value: bytes, ours: Iterable[bytes]) -> bool:
    """Whether a header's value has a key of ours in it, as such or as part of something."""
    return KEY_PREFIX in value or any(one in value for one in ours)


def without_keys(query: bytes, ours: tuple[bytes, ...]) -> bytes:
    """Return a query string without the parameters that hold a key of ours; every other byte stays."""
    if not query or not any(_hidden(part, ours) for part in query.split(b"&")):
        return query
    return b"&".join(part for part in query.split(b"&") if not _hidden(part, ours))


def _hidden(part: bytes, ours: tuple[bytes, ...]) -> bool:
    return holds_key(unquote_plus(part.decode("latin-1")).encode("utf-8", "surrogateescape"), ours) or holds_key(
        part, ours
    )


def _bare(name: bytes, value: bytes) -> bytes:
    if name != b"authorization":
        return value.strip()
    scheme, _, token = value.strip().partition(b" ")
    return token.strip() if scheme.lower() == b"bearer" else b""
