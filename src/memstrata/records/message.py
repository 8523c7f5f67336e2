"""L0: what was said, as it was said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from memstrata.clock import Instant

__all__ = ["Message", "NewMessage", "Role"]

Role = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message accepted by capture, not yet stored."""

    message_id: str
    role: Role
    content: str
    said_at: Instant  # event time, the client's word: data, never a cursor
    recorded_at: Instant
    terms: tuple[str, ...]  # analysed content, repeats kept: what the keyword index holds


@dataclass(frozen=True, slots=True)
class Message:
    """A stored message. `seq` is assigned at commit and is the only thing that cursors compare."""

    seq: int
    message_id: str
    session_id: str
    task_id: str
    role: Role
    content: str
    said_at: Instant
    recorded_at: Instant
