"""Identifiers in the forms that the wire contract fixes (§1.6), and names that are safe on any file system."""

from __future__ import annotations

import hashlib
import os
import random
import string
import uuid
from typing import Literal

from memstrata.clock import Instant

__all__ = [
    "directory_id",
    "document_id",
    "file_name",
    "forgetting_id",
    "memory_id",
    "message_id",
    "prompt_id",
    "relation_id",
    "request_id",
    "setting_id",
    "setting_log_id",
]

# Ids are names, not secrets. A generator of our own, seeded once, because each call to the system's gives up the
# interpreter lock in the middle of a request.
_RANDOM = random.Random(os.urandom(32))  # noqa: S311
_DIGITS = string.digits + string.ascii_lowercase


def message_id() -> str:
    """Return `msg-` and 16 hex digits. The contract shows 12; longer ids are allowed and collide less."""
    return f"msg-{_RANDOM.getrandbits(64):016x}"


def memory_id(now: Instant) -> str:
    """Return `m_<epoch ms>_<8 hex>`."""
    return f"m_{max(now, 10**12)}_{_RANDOM.getrandbits(32):08x}"


def prompt_id() -> str:
    """Return `mp-<uuid>`."""
    return f"mp-{uuid.UUID(int=_RANDOM.getrandbits(128), version=4)}"


def setting_id(team: str, agent: str, layer: str) -> str:
    """Return the id of a prompt's binding: `mps:i:<layer>`, or `t` or `a` with a hash of whom it is bound to."""
    if not team:
        return f"mps:i:{layer}"
    return f"mps:a:{_hash(team, agent)[:32]}:{layer}" if agent else f"mps:t:{_hash(team)[:32]}:{layer}"


def setting_log_id(instance: str, seq: int) -> str:
    """Return `mpsl-<uuid>`, always the same for one line of the bindings' history."""
    return f"mpsl-{uuid.UUID(hex=_hash(instance, str(seq))[:32], version=5)}"


def document_id(instance: str, team: str, agent: str, user: str, kind: str, path: str) -> str:
    """Return `profile:v1:<sha256>` of a scene or a persona, the same for all its versions."""
    return f"profile:v1:{_hash(instance, team, agent, user, kind, path)}"


def forgetting_id() -> str:
    """Return the id of a receipt for what was forgotten: `fgt-` and 24 hex digits."""
    return f"fgt-{_RANDOM.getrandbits(96):024x}"


def request_id() -> str:
    """Return `req-` and 16 hex digits."""
    return f"req-{_RANDOM.getrandbits(64):016x}"


def directory_id(kind: Literal["usr", "team", "agt", "task", "ast", "uky"], now: Instant) -> str:
    """Return `<kind>-` and 10 of `[a-z0-9]`: 4 for the second modulo 36⁴, 6 at random."""
    second = now // 1000 % len(_DIGITS) ** 4
    digits = [_DIGITS[second // len(_DIGITS) ** place % len(_DIGITS)] for place in (3, 2, 1, 0)]
    return f"{kind}-{''.join(digits + _RANDOM.choices(_DIGITS, k=6))}"


def relation_id() -> str:
    """Return the id of what ties two things of the directory together: a version 4 UUID."""
    return str(uuid.UUID(int=_RANDOM.getrandbits(128), version=4))


def file_name(text: str) -> str:
    """Return a name for an arbitrary id that is one safe path component, different for different ids.

    Letters and digits of any script, `-` and `_` stay readable; the rest is percent-encoded. A name that a
    case-insensitive file system could confuse with another, or that is too long, ends in a hash of the original.
    """
    safe = "".join(c if c.isalnum() or c in "-_" else "".join(f"%{b:02x}" for b in _bytes(c)) for c in text)
    if safe == text and safe == safe.casefold() and 0 < len(_bytes(safe)) <= 100:
        return safe
    digest = hashlib.sha256(_bytes(text)).hexdigest()[:12]
    return f"{_cut(safe, 100)}~{digest}"


def _hash(*parts: str) -> str:
    return hashlib.sha256(_bytes("\0".join(parts))).hexdigest()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _cut(text: str, limit: int) -> str:
    return _bytes(text)[:limit].decode("utf-8", "ignore")
