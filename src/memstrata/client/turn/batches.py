"""From what was said to requests that a server takes: split, numbered, and the same whenever they are made again.

Every message has an id made of its source and its text, and every batch a key made of its messages, so that sending
again stores nothing twice. How much a request takes is in `_splitting`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from memstrata.client._splitting import groups, split
from memstrata.client.turn.fingerprints import digest
from memstrata.client.turn.slicing import Said

__all__ = ["Batch", "Outgoing", "batches"]


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message as the server gets it."""

    id: str
    role: str
    content: str
    timestamp: str


@dataclass(frozen=True, slots=True)
class Batch:
    """One request. `key` is its idempotency key."""

    key: str
    messages: tuple[Outgoing, ...]


def batches(said: Iterable[Said]) -> tuple[Batch, ...]:
    """Return the requests that carry these messages, in order. A long message becomes several, one after another."""
    return tuple(_batch(group) for group in groups(_outgoing(said), lambda one: one.content))


def _outgoing(said: Iterable[Said]) -> Iterator[Outgoing]:
    given: set[str] = set()
    for one in said:
        for number, part in enumerate(split(one.text)):
            message_id = f"turn-{digest(one.source, one.role, one.text, str(number))}"
            if message_id not in given:
                given.add(message_id)
                yield Outgoing(message_id, one.role, part, one.said_at)


def _batch(messages: tuple[Outgoing, ...]) -> Batch:
    fields = [field for one in messages for field in (one.id, one.role, one.content, one.timestamp)]
    return Batch(f"turn-{digest(*fields)}", messages)
