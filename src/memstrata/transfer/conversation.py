"""What a conversation file holds, whatever its format: sessions of user and assistant messages, and what was left out.

Readers end here and importers start here, so that neither knows the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from memstrata.clock import Instant
from memstrata.records import Role

__all__ = ["ImportFile", "ImportedMessage", "ImportedSession", "SkipReason"]

SkipReason = Literal[
    "system message",
    "tool message",
    "tool call",
    "reasoning",
    "empty message",
    "repeated message",
    "image",
    "audio",
    "attachment",
    "distilled again from the messages",
]
"""Why a part of a file is not imported. A closed set, so that a command line can say it in the reader's language."""


@dataclass(frozen=True, slots=True)
class ImportedMessage:
    """One message as the file has it. `said_at` and `message_id` are None where the file does not say."""

    role: Role
    content: str
    said_at: Instant | None = None
    message_id: str | None = None


@dataclass(frozen=True, slots=True)
class ImportedSession:
    """One conversation in the order in which it was held. It has at least one message, and always an id."""

    session_id: str
    title: str
    messages: tuple[ImportedMessage, ...]


@dataclass(frozen=True, slots=True)
class ImportFile:
    """A whole file, the oldest session first. `skipped` counts what was left out by `SkipReason`."""

    format: str
    sessions: tuple[ImportedSession, ...]
    skipped: Mapping[str, int]
