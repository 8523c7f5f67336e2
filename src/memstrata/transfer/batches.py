"""From a file to requests that the store accepts, such that importing again stores nothing twice.

Two safeguards, because each covers what the other cannot. The key of a batch makes a repeated request cheap: the store
answers from its receipt. The ids of the messages cover the batch that has grown since: its key is new, its old messages
are known. Both depend on content alone (see `identity`), and batches fill from the front, so what was there before an
appended message is batched as before.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

from memstrata.clock import to_iso
from memstrata.text.split import split
from memstrata.transfer import identity
from memstrata.transfer.conversation import ImportedMessage, ImportedSession, ImportFile

__all__ = ["ImportBatch", "batches"]

_REQUEST_BYTES = 1024  # the request around its messages: braces, ids of the scope, key


@dataclass(frozen=True, slots=True)
class ImportBatch:
    """Messages of one session for one request. Every message has its `message_id`."""

    session_id: str
    messages: tuple[ImportedMessage, ...]
    idempotency_key: str


def batches(
    file: ImportFile, *, max_messages: int = 100, max_characters: int = 8192, max_bytes: int = 900_000
) -> Iterator[ImportBatch]:
    """Yield the batches of a file, session by session, in order.

    A message of more than `max_characters` code points becomes several with ids `<id>`, `<id>.2`, `<id>.3`. `max_bytes`
    bounds the request as JSON in its longest spelling, every character outside ASCII escaped; a batch holds at least
    one message, however large. The defaults are those of wire contract §3.1 and, with a margin, its 1 MiB of §1.1.
    """
    for session in file.sessions:
        empty = _REQUEST_BYTES + len(json.dumps(session.session_id))
        pending: list[ImportedMessage] = []
        size = empty
        for message in _storable(session, max_characters):
            message_size = _json_size(message)
            if pending and (len(pending) == max_messages or size + message_size > max_bytes):
                yield _batch(session, pending)
                pending, size = [], empty
            pending.append(message)
            size += message_size
        if pending:
            yield _batch(session, pending)


def _batch(session: ImportedSession, messages: list[ImportedMessage]) -> ImportBatch:
    key = identity.batch_key(session.session_id, messages)
    return ImportBatch(session.session_id, tuple(messages), key)


def _storable(session: ImportedSession, max_characters: int) -> Iterator[ImportedMessage]:
    """Yield the messages with ids that no other of the session has, each short enough to be stored.

    The store takes an id that it knows in a session for a message that it has. Where a file uses one id for two
    different messages of a session, the later one is therefore named by its content.
    """
    taken: set[str] = set()
    for ordinal, message in enumerate(session.messages):
        parts = list(split(message.content, max_characters))
        derived = identity.message_id(session.session_id, ordinal, message)
        ids = identity.part_ids(message.message_id or derived, len(parts))
        if not taken.isdisjoint(ids):
            ids = identity.part_ids(derived, len(parts))
        taken.update(ids)
        for part_id, part in zip(ids, parts, strict=True):
            yield replace(message, content=part, message_id=part_id)


def _json_size(message: ImportedMessage) -> int:
    said_at = None if message.said_at is None else to_iso(message.said_at)
    fields = {"id": message.message_id, "role": message.role, "content": message.content, "timestamp": said_at}
    return len(json.dumps(fields)) + 1
