"""User keys as text: how one is made, what is kept of it. The key itself leaves this house once and is nowhere in it.

A key of our own has 192 random bits, so one round of SHA-256 is enough; a key that an administrator chose must be long.
"""

from __future__ import annotations

import hashlib
import secrets

from memstrata.errors import InvalidRequest

__all__ = ["KEY_PREFIX", "MIN_CHOSEN_KEY", "check_chosen_key", "digest_of", "mask_of", "new_key"]

KEY_PREFIX = "sk-mem-"
MIN_CHOSEN_KEY = 16
MAX_CHOSEN_KEY = 512


def new_key() -> str:
    """Return `sk-mem-` and 32 characters of base64url."""
    return KEY_PREFIX + secrets.token_urlsafe(24)


def digest_of(key: str) -> bytes:
    """Return what is stored of a key. Any text has a digest."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def mask_of(key: str) -> str:
    """Return what is shown of a key: its last four characters."""
    return f"{KEY_PREFIX}****{key[-4:]}"


def check_chosen_key(key: str) -> str:
    """Return a key that somebody chose. It travels in a header, so it is printable ASCII. Raises InvalidRequest."""
    if not MIN_CHOSEN_KEY <= len(key) <= MAX_CHOSEN_KEY:
        raise InvalidRequest(f"{MIN_CHOSEN_KEY} to {MAX_CHOSEN_KEY} characters, got {len(key)}", field="user_key")
    if not all("!" <= character <= "~" for character in key):
        raise InvalidRequest("printable ASCII without spaces, because it travels in a header", field="user_key")
    return key
