"""How often a client may present keys that are none. Pure: `now` is an argument; memory is bounded.

Counted are different keys, so a client that keeps sending one revoked key locks nobody out. Counted are addresses, never
instances, or anybody could lock an instance's users out by guessing.
"""

from __future__ import annotations

from collections import OrderedDict

from memstrata.clock import Instant

__all__ = ["GuessLimit"]

MOST_GUESSES = 10
WINDOW_MILLISECONDS = 60_000
MOST_SOURCES = 1_024


class GuessLimit:
    """The wrong keys of the last minute by the address they came from. The address `""`, our own process, is free."""

    def __init__(self) -> None:
        self._wrong: OrderedDict[str, dict[bytes, Instant]] = OrderedDict()

    def failed(self, source: str, digest: bytes, now: Instant) -> None:
        """Note a wrong key. The address that has been quiet the longest is forgotten when there are too many."""
        if not source:
            return
        recent = self._recent(source, now)
        recent.setdefault(digest[:8], now)
        self._wrong[source] = recent
        self._wrong.move_to_end(source)
        while len(self._wrong) > MOST_SOURCES:
            self._wrong.popitem(last=False)

    def refused_until(self, source: str, now: Instant) -> Instant | None:
        """Return when an address may try another key; None: now."""
        recent = self._recent(source, now)
        return min(recent.values()) + WINDOW_MILLISECONDS if len(recent) >= MOST_GUESSES else None

    def _recent(self, source: str, now: Instant) -> dict[bytes, Instant]:
        wrong = self._wrong.get(source, {})
        return {digest: at for digest, at in wrong.items() if now - WINDOW_MILLISECONDS < at <= now}
