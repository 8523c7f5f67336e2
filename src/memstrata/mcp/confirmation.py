"""What waits for a second word: a deletion that was shown, under a token that only its own scope can use, once.

A model may make up a token or repeat an old one, and another user's client may have seen one; none of these deletes.
Kept in memory alone: after a restart the first step is asked for again. No I/O; `now` is an argument.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from dataclasses import dataclass

__all__ = ["LIFETIME_SECONDS", "Confirmations", "Owner", "Selection"]

LIFETIME_SECONDS = 600.0
MAX_WAITING = 1_000  # of all scopes; past it the oldest goes, which costs its owner one more call

_TOKEN_BYTES = 18


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose deletion it is: instance and scope, as the server resolved them."""

    instance: str
    team: str
    agent: str
    user: str


@dataclass(frozen=True, slots=True)
class Selection:
    """What would go, by ids."""

    memory_ids: tuple[str, ...] = ()
    session_ids: tuple[str, ...] = ()


class Confirmations:
    """Deletions that wait. One for each server; used by one event loop."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, tuple[Owner, Selection, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._waiting)

    def issue(self, owner: Owner, selection: Selection, now: float) -> str:
        """Return a token for a selection. `now` is in seconds of a monotonic clock."""
        while self._waiting and (len(self._waiting) >= MAX_WAITING or next(iter(self._waiting.values()))[2] <= now):
            self._waiting.popitem(last=False)
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        self._waiting[token] = (owner, selection, now + LIFETIME_SECONDS)
        return token

    def redeem(self, token: str, owner: Owner, now: float) -> Selection | None:
        """Return what a token stands for, and void it; None for one that is not this owner's or no longer holds."""
        found = self._waiting.get(token)
        if found is None or found[0] != owner:
            return None
        del self._waiting[token]
        return found[1] if now < found[2] else None
