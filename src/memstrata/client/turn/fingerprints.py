"""Ids for messages that carry none, and the ids under which messages reach the server.

A fingerprint is made of role, text, the message before it and how often that pair has come up. It survives a compaction
that leaves the message before it in place. An exchange that repeats word for word after its first copy was compacted away
gets the same fingerprint and is stored once: a repetition is the cheaper thing to lose. For the same reason messages of a
framework that hands over the newest ones alone, without what came before, should be given ids.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from memstrata.client.turn.markers import without_own_blocks
from memstrata.client.turn.messages import Seen

__all__ = ["digest", "is_fingerprint", "with_fingerprints"]

_PREFIX = "fp-"


def with_fingerprints(messages: Iterable[Seen]) -> tuple[Seen, ...]:
    """Return the messages, those without an id with a fingerprint. What recall puts in front of a text does not count."""
    named: list[Seen] = []
    before: tuple[str, str] = ("", "")
    seen: Counter[str] = Counter()
    for message in messages:
        said = without_own_blocks(message.text)
        pair = digest(*before, message.role, said)
        seen[pair] += 1
        named.append(message if message.id else replace(message, id=f"{_PREFIX}{digest(pair, str(seen[pair]))}"))
        before = (message.role, said)
    return tuple(named)


def is_fingerprint(message_id: str) -> bool:
    """Whether an id was made here, so that the text may be compared where the id has changed."""
    return message_id.startswith(_PREFIX)


def digest(*parts: str) -> str:
    """Return 32 hex digits, different for different parts. Lone surrogates are parts like any other."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
