"""Ids for what a file leaves unnamed, and the key of a batch: the same content always gets the same name.

That is what makes an import repeatable. A second import, a resume after a crash, or an import of the same file with
more at its end sends the same ids again, and the store recognises them. Nothing here depends on where the file lies, on
the clock, or on what comes later in the file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from memstrata.transfer.conversation import ImportedMessage

__all__ = ["batch_key", "message_id", "part_ids", "session_id"]


def session_id(title: str, opening: ImportedMessage, occurrence: int) -> str:
    """Return the id of a session that the file does not name: its title and first message tell it from others.

    `occurrence` (from 0) tells sessions of one file apart that open with the same words. More of the session than its
    opening must not count, or a conversation that went on would be imported again under another id.
    """
    said = "" if opening.said_at is None else str(opening.said_at)
    return f"import-{_digest('session', title, opening.role, opening.content, said, str(occurrence))}"


def message_id(session: str, ordinal: int, message: ImportedMessage) -> str:
    """Return the id of a message that the file does not name: `ordinal` (from 0) is its place in the session."""
    return f"msg-{_digest('message', session, str(ordinal), message.role, message.content)}"


def part_ids(whole: str, count: int) -> list[str]:
    """Return the ids of the parts of a message: its own for the first, then `<id>.2`, `<id>.3` and so on."""
    return [whole, *(f"{whole}.{number}" for number in range(2, count + 1))]


def batch_key(session: str, messages: Sequence[ImportedMessage]) -> str:
    """Return the idempotency key of a batch: it changes when and only when something in the batch does."""
    parts = [part for m in messages for part in (m.message_id or "", m.role, m.content, str(m.said_at))]
    return f"import-{_digest('batch', session, *parts)}"


def _digest(*parts: str) -> str:
    # As JSON, because joined strings could make two different lists of parts equal.
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]
