"""Signed names of sessions: what the model's recipes carry instead of any credential, and what the bridge believes.

A token says whose memory may be read and until when; it can be checked without looking anything up, and gives no right
to write. Source: `reference/proxy.md` §7.4.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

import msgspec

from memstrata.clock import Instant

__all__ = ["BridgeToken", "read_token", "sign_token"]

_PREFIX = "msb1"
_MOST_CHARACTERS = 2_048
_MAC_BYTES = 18


class BridgeToken(msgspec.Struct, frozen=True, array_like=True):
    """The session that a token is for, and when it ends (milliseconds)."""

    instance: str
    user: str
    client: str
    session: str
    until: Instant


def sign_token(token: BridgeToken, secret: bytes) -> str:
    """Return the token as text of letters, digits, `-`, `_` and dots. The same token always gives the same text."""
    payload = _encoded(msgspec.json.encode(token))
    return f"{_PREFIX}.{payload}.{_encoded(_mac(payload, secret))}"


def read_token(text: str, secret: bytes, now: Instant) -> BridgeToken | None:
    """Return what a token says, None for one that is forged, broken or over. All of them look alike to who asks."""
    prefix, _, rest = text.strip().partition(".")
    payload, _, mac = rest.partition(".")
    if prefix != _PREFIX or len(text) > _MOST_CHARACTERS:
        return None
    if not hmac.compare_digest(mac.encode(errors="replace"), _encoded(_mac(payload, secret)).encode()):
        return None
    try:
        token = msgspec.json.decode(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)), type=BridgeToken)
    except (binascii.Error, msgspec.MsgspecError, ValueError):
        return None
    return token if token.until > now else None


def _mac(payload: str, secret: bytes) -> bytes:
    return hmac.new(secret, f"{_PREFIX}.{payload}".encode(errors="replace"), hashlib.sha256).digest()[:_MAC_BYTES]


def _encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
