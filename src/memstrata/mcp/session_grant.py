"""What a session's token opens over MCP: the look-up tools for one scope, as often in a turn as its giver allows.

The proxy gives such tokens to models; this room knows neither the proxy nor the form of what is signed, and is handed a check.
Source: `reference/proxy.md` §7.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from memstrata.mcp.confirmation import Owner

__all__ = ["SESSION_TOKEN", "SessionCheck", "SessionGrant"]

SESSION_TOKEN = b"msb1."
"""How the bearer begins that is a session's token."""


@dataclass(frozen=True, slots=True)
class SessionGrant:
    """Whose memory may be looked up. `spend` takes one of the turn's `searches`; False: none is left."""

    owner: Owner
    searches: int
    spend: Callable[[], Awaitable[bool]]


SessionCheck: TypeAlias = Callable[[str], Awaitable[SessionGrant | None]]
"""From a token to what it opens; None for one that is forged, over, or of a session that may not look anything up."""
