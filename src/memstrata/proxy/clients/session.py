"""Which conversation a request belongs to, and where that was read. Source: `reference/proxy.md` §3.1.

A client that sends no id gets one that is derived from how its conversation begins, which every later request repeats.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from memstrata.proxy.clients.client import Client
from memstrata.proxy.clients.spoken import first_spoken
from memstrata.proxy.wire.request import ProxyRequest

__all__ = ["SessionName", "session_of"]

_HEADERS = (
    "x-conversation-id",
    "x-session-id",
    "x-claude-code-session-id",
    "x-deepseek-harness-session-id",
    "x-chat-id",
    "x-thread-id",
)
_IN_USER_ID = re.compile(r"user_[^_]*_account_[^_]*_session_([A-Za-z0-9-]{8,64})\Z")
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}\Z")


@dataclass(frozen=True, slots=True)
class SessionName:
    """`value` is a plain name of at most 128 characters; `source` says who gave it."""

    value: str
    source: Literal["header", "body", "derived"]


def session_of(client: Client, headers: Mapping[str, str], request: ProxyRequest) -> SessionName | None:
    """Return the session of a request, None where nobody has said anything that an id could be derived from.

    `headers` have lower-case names.
    """
    for name in (*client.session_headers, *_HEADERS):
        if given := headers.get(name, "").strip():
            return SessionName(_plain(given), "header")
    if given := _in_body(request.metadata):
        return SessionName(_plain(given), "body")
    first = first_spoken(request, client)
    if not first:
        return None
    seed = "\0".join((client.name, *(block.text for block in request.system[:1]), first))
    return SessionName(f"derived-{hashlib.sha256(seed.encode(errors='surrogatepass')).hexdigest()[:32]}", "derived")


def _in_body(metadata: Mapping[str, object]) -> str:
    given = metadata.get("session_id")
    if isinstance(given, str) and given.strip():
        return given.strip()
    user = metadata.get("user_id")
    return _in_user_id(user) if isinstance(user, str) else ""


def _in_user_id(user: str) -> str:
    """Return the session that older Claude Code writes into `metadata.user_id`: an object as text, or one long name."""
    if user.startswith("{"):
        try:
            read = json.loads(user)
        except ValueError:
            return ""
        given = read.get("session_id") if isinstance(read, dict) else None
        return given.strip() if isinstance(given, str) else ""
    found = _IN_USER_ID.match(user)
    return found[1] if found else ""


def _plain(given: str) -> str:
    """Return a name as it is, or a digest where it is too long or holds what does not belong in a name."""
    if _PLAIN.match(given):
        return given
    return f"hashed-{hashlib.sha256(given.encode(errors='surrogatepass')).hexdigest()[:32]}"
