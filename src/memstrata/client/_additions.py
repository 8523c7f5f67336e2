"""One `add` as the requests that carry it: cut to what a server takes, under keys that a repetition has again. Pure.

However many requests they are, they are one batch: its key is the caller's, and the same messages under the same key are
cut the same way, so an `add` that failed half way is completed by repeating it and stores nothing twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memstrata.client._errors import InvalidRequest
from memstrata.client._splitting import MAX_CHARACTERS, groups, split

__all__ = ["Part", "parts_of"]

MAX_MESSAGE_ID = 256


@dataclass(frozen=True, slots=True)
class Part:
    """The messages of one request and its idempotency key.

    `settle_seconds` is how long to wait before the next part: a server dates messages that bring no time one millisecond
    apart, and by time is how they are listed.
    """

    key: str
    messages: tuple[Mapping[str, Any], ...]
    settle_seconds: float = 0.0


def parts_of(messages: Sequence[Mapping[str, Any]], key: str) -> tuple[Part, ...]:
    """Return what to send, in order. What fits into one request is sent as it is, under the key itself.

    A message of more than 8,192 characters becomes several, whose ids come from its own. Raises InvalidRequest before
    anything is sent, where a later request could not be accepted.
    """
    cut = [piece for message in messages for piece in _pieces(message)]
    gathered = tuple(groups(cut, _content))
    if len(gathered) <= 1:
        return (Part(key, tuple(cut)),)
    _check(messages)
    stem = hashlib.sha256(key.encode("utf-8", "backslashreplace")).hexdigest()
    return tuple(
        Part(f"{stem}-{number}-{len(gathered)}", group, 0.0 if number == len(gathered) else _settle_seconds(group))
        for number, group in enumerate(gathered, start=1)
    )


def _settle_seconds(group: Sequence[Mapping[str, Any]]) -> float:
    return 0.0 if all(message.get("timestamp") for message in group) else len(group) / 1_000


def _pieces(message: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    content = _content(message)
    if len(content) <= MAX_CHARACTERS:
        return (message,)
    pieces = split(content) or (content,)
    return [
        {**message, "content": piece} | ({"id": _piece_id(message["id"], number)} if message.get("id") else {})
        for number, piece in enumerate(pieces)
    ]


def _piece_id(message_id: Any, number: int) -> str:
    """Return the message's own id for its first piece, and ids of the others that are the same each time."""
    whole = f"{message_id}~{number}" if number else str(message_id)
    return whole if len(whole) <= MAX_MESSAGE_ID else hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()


def _content(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else ""


def _check(messages: Sequence[Mapping[str, Any]]) -> None:
    for number, message in enumerate(messages):
        if message.get("role") not in ("user", "assistant"):
            raise InvalidRequest(400, f"messages.{number}.role: expected user or assistant; nothing was sent")
        if not _content(message):
            raise InvalidRequest(400, f"messages.{number}.content: expected text; nothing was sent")
