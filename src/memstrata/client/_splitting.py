"""How much a server takes at once: a text cut into messages, messages gathered into requests. Pure.

Limits: wire contract §3.1 (1 to 100 messages of 1 to 8,192 characters) and the server's body of one megabyte.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

__all__ = ["MAX_CHARACTERS", "MAX_MESSAGES", "groups", "shortened", "split"]

T = TypeVar("T")

MAX_MESSAGES = 100
MAX_CHARACTERS = 8_192
MAX_BYTES = 600_000
LOOK_BACK = 400


def split(text: str, limit: int = MAX_CHARACTERS) -> tuple[str, ...]:
    """Cut a text into parts of at most `limit` code points, at a line, a sentence or a blank if one is near the limit.

    No part starts within what a reader sees as one character, as far as the standard library can tell: combining marks,
    joined emoji, flags and variation selectors stay with what they belong to.
    """
    parts: list[str] = []
    start = 0
    while len(text) - start > limit:
        end = _end(text, start, start + limit)
        parts.append(text[start:end])
        start = end
    return tuple(part for part in (*parts, text[start:]) if part.strip())


def shortened(text: str, limit: int, note: str = "") -> str:
    """Return a text of at most `limit` code points, else its start and `note`, together that long. Cuts as `split` does."""
    if len(text) <= limit:
        return text
    room = max(1, limit - len(note))
    at = next((at for at in range(room, max(0, room - LOOK_BACK), -1) if not _joins(text, at)), room)
    return text[:at] + note


def groups(messages: Iterable[T], content: Callable[[T], str]) -> Iterator[tuple[T, ...]]:
    """Yield the messages in order, as many at a time as one request takes."""
    group: list[T] = []
    size = 0
    for message in messages:
        bytes_needed = len(json.dumps(content(message), ensure_ascii=False).encode("utf-8", "backslashreplace")) + 200
        if group and (len(group) == MAX_MESSAGES or size + bytes_needed > MAX_BYTES):
            yield tuple(group)
            group, size = [], 0
        group.append(message)
        size += bytes_needed
    if group:
        yield tuple(group)


def _end(text: str, start: int, limit: int) -> int:
    nearest = max(start + 1, limit - LOOK_BACK)
    for marks in ("\n", "。！？", " \t\u3000"):
        for at in range(limit, nearest, -1):
            if text[at - 1] in marks and not _joins(text, at):
                return at
    for at in range(limit, nearest, -1):
        if not _joins(text, at):
            return at
    return limit


def _joins(text: str, at: int) -> bool:
    """Whether a cut before `at` would tear a character apart."""
    before, after = text[at - 1], text[at]
    if before == "\u200d" or after in "\u200d\ufe0e\ufe0f" or (before == "\r" and after == "\n"):
        return True
    if "\U0001f3fb" <= after <= "\U0001f3ff" or "\U000e0020" <= after <= "\U000e007f":
        return True
    if unicodedata.category(after) in ("Mn", "Mc", "Me"):
        return True
    if "\u1160" <= after <= "\u11ff":  # a vowel or a final of a Hangul syllable
        return True
    return _is_flag_part(after) and _flag_parts_before(text, at) % 2 == 1


def _is_flag_part(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _flag_parts_before(text: str, at: int) -> int:
    count = 0
    while at - count > 0 and count < LOOK_BACK and _is_flag_part(text[at - count - 1]):
        count += 1
    return count
