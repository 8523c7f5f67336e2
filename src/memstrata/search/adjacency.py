"""What stands around a found message, because a sentence on its own is seldom understood.

Neighbours are of the hit's own session, in the order of commits; filters of a search choose hits and not what stands around
them. One that is a hit itself stays in both places: each hit can be read alone, and its rank is not lost.
"""

from __future__ import annotations

from dataclasses import replace

from memstrata.records import Found, Message, Scope
from memstrata.store.protocol import Repositories

__all__ = ["MAX_NEIGHBOURS", "with_neighbours"]

MAX_NEIGHBOURS = 5  # on each side


def with_neighbours(r: Repositories, scope: Scope, found: Found[Message], count: int) -> Found[Message]:
    """Return the same hits, each with up to `count` messages before and after it."""
    hits = (replace(hit, neighbours=r.conversations.around(scope, hit.item.seq, count, count)) for hit in found.hits)
    return replace(found, hits=tuple(hits))
