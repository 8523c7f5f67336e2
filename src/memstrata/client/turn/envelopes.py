"""Blocks that other runtimes put around what a user wrote. They stand at the edges of a message and nowhere else.

A block is taken for an envelope only where a runtime writes one: its opening tag starts a line at the very start of the
text, or its closing tag ends the text, and nothing else stands on the lines that it opens and closes with. A user who
writes about such a tag in a sentence keeps the sentence.
"""

from __future__ import annotations

import re

__all__ = ["HEADINGS", "TAGS", "without_edge_envelopes"]

TAGS = (
    "relevant-memories",
    "user-persona",
    "user-core",
    "relevant-scenes",
    "scene-navigation",
    "memory-tools-guide",
    "current_task_context",
    "history_task_context",
    "system-reminder",
)
HEADINGS = (
    "Conversation info",
    "Sender",
    "Thread starter",
    "Replied message",
    "Forwarded message context",
    "Chat history since last reply",
)
_OPENING = re.compile(rf"<({'|'.join(TAGS)})(?: [^<>\n]{{0,200}})?>")
_CLOSING = re.compile(rf"</({'|'.join(TAGS)})>\Z")
_METADATA = re.compile(rf"(?:{'|'.join(HEADINGS)}) \(untrusted[^)\n]{{0,80}}\):?[ \t]*\r?\n```json[ \t]*\r?\n")
_FENCE_END = re.compile(r"^```[ \t]*$", re.MULTILINE)


def without_edge_envelopes(text: str) -> str:
    """Return `text` without the envelopes at its start and its end; text without one as it is. Linear time."""
    start = _end_of_leading(text)
    end = _start_of_trailing(text, start)
    return text if start == 0 and end == len(text) else text[start:end].strip("\r\n")


def _end_of_leading(text: str) -> int:
    position = 0
    while True:
        at = _after_blank(text, position)
        metadata = _METADATA.match(text, at)
        opening = _OPENING.match(text, at)
        if metadata:
            closing = _FENCE_END.search(text, metadata.end())
            end = closing.end() if closing else -1
        elif opening:
            end = _end_of_block(text, opening)
        else:
            end = -1
        if end < 0:
            return position
        position = end


def _end_of_block(text: str, opening: re.Match[str]) -> int:
    closing = f"</{opening[1]}>"
    found = text.find(closing, opening.end())
    end = found + len(closing)
    return end if found >= 0 and (end == len(text) or text[end] in "\r\n") else -1


def _start_of_trailing(text: str, floor: int) -> int:
    position = len(text)
    while True:
        at = position
        while at > floor and text[at - 1].isspace():
            at -= 1
        closing = _CLOSING.search(text, max(floor, at - 40), at)
        if closing is None:
            return position
        start = text.rfind(f"<{closing[1]}", floor, closing.start())
        opening = _OPENING.match(text, start) if start >= 0 else None
        if opening is None or not (start == 0 or text[start - 1] in "\r\n"):
            return position
        position = start


def _after_blank(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position
