"""What may enter L0: limits, ids and times of a message, and nothing that we injected ourselves.

Limits: wire contract §3.1. A message is stored as it was said, but for blocks that carry our own mark: what recall put
into a prompt and a client sent back is not evidence of anything. Secrets are found here; whether they go, `append` is told.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from memstrata.clock import Instant
from memstrata.errors import InvalidRequest
from memstrata.ids import message_id
from memstrata.records import NewMessage, Role, check_id
from memstrata.text.analyser import index_terms
from memstrata.text.markers import strip_injected
from memstrata.text.secrets import redact
from memstrata.text.wellformed import well_formed

__all__ = [
    "MAX_CHARACTERS",
    "MAX_KEY",
    "MAX_MESSAGES",
    "MAX_MESSAGE_ID",
    "Accepted",
    "MessageInput",
    "accepted",
    "fingerprint",
]

MAX_MESSAGES = 100
MAX_CHARACTERS = 8_192  # code points
MAX_MESSAGE_ID = 256
MAX_KEY = 256


@dataclass(frozen=True, slots=True)
class MessageInput:
    """A message as a caller gives it. Without `said_at` it was said now; without `message_id` it gets one."""

    role: str
    content: str
    said_at: Instant | None = None
    recorded_at: Instant | None = None
    message_id: str | None = None


@dataclass(frozen=True, slots=True)
class Accepted:
    """A message ready to store without its secrets, the kinds of these, and its text with them."""

    message: NewMessage
    kinds: tuple[str, ...]
    said: str

    def as_said(self) -> NewMessage:
        """Return the message with its secrets, for an owner who keeps them."""
        return replace(self.message, content=self.said, terms=index_terms(self.said)) if self.kinds else self.message


def accepted(messages: Sequence[MessageInput], now: Instant) -> tuple[Accepted, ...]:
    """Return the messages ready to store. Raises InvalidRequest naming the message and the limit."""
    if not 1 <= len(messages) <= MAX_MESSAGES:
        raise InvalidRequest(f"expected 1 to {MAX_MESSAGES} messages, got {len(messages)}", field="messages")
    return tuple(_accepted(message, index, now) for index, message in enumerate(messages))


def fingerprint(messages: Sequence[MessageInput], task_id: str) -> bytes:
    """Return a hash of what was sent, as it was sent: times that the caller left open stay open."""
    sent: list[Any] = [task_id]
    sent += [(m.role, m.content, m.said_at, m.recorded_at, m.message_id) for m in messages]
    return hashlib.sha256(json.dumps(sent).encode()).digest()


def _accepted(message: MessageInput, index: int, now: Instant) -> Accepted:
    place = f"messages.{index}"
    if message.role not in get_args(Role):
        raise InvalidRequest(f"expected user or assistant, got {message.role[:40]!r}", field=f"{place}.role")
    if not 1 <= len(message.content) <= MAX_CHARACTERS:
        problem = f"expected 1 to {MAX_CHARACTERS} characters, got {len(message.content)}"
        raise InvalidRequest(problem, field=f"{place}.content")
    if message.message_id is not None:
        check_id(message.message_id, f"{place}.id", MAX_MESSAGE_ID)
    said = strip_injected(well_formed(message.content))
    clean = redact(said)
    # The index keeps the order of a batch for readers that sort by time.
    recorded_at = now + index if message.recorded_at is None else message.recorded_at
    new = NewMessage(
        message_id=message_id() if message.message_id is None else message.message_id,
        role=message.role,  # type: ignore[arg-type]
        content=clean.text,
        said_at=recorded_at if message.said_at is None else message.said_at,
        recorded_at=recorded_at,
        terms=index_terms(clean.text),
    )
    return Accepted(new, clean.kinds, said)
