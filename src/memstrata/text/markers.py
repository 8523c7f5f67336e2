"""The blocks that recall puts into prompts: how they are marked as ours, and how they are found again.

Recall renders them and capture strips them, so that what was injected is never stored as if it had been said. The mark
is an attribute, because users write about such tags too: only a block that carries it is ours to remove. What stands
inside is escaped, so that no stored text can close the block or pose as another speaker.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, get_args

__all__ = ["TAGS", "Tag", "escape", "strip_injected", "wrap"]

Tag = Literal["relevant-memories", "user-persona", "scene-navigation", "memory-tools-guide"]
TAGS: tuple[Tag, ...] = get_args(Tag)

_MARK = 'source="memstrata"'
_OPENING = re.compile(rf"<({'|'.join(TAGS)}) {_MARK}>")
_LINE_ENDS = "\r\n"

# Blank and invisible characters between `<` and the name would not stop a model from reading the tag.
_BLANK = r"\s\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff"
_GUARDED_NAMES = "|".join((*TAGS, "system", "assistant", "user"))
_GUARDED = re.compile(rf"<(?=[{_BLANK}/]*(?:{_GUARDED_NAMES})(?![\w.:-]))", re.IGNORECASE)


def wrap(tag: Tag, body: str) -> str:
    """Return `body` as a block of ours. Whatever in it comes from memory must have gone through `escape` before."""
    return f"<{tag} {_MARK}>\n{body}\n</{tag}>"


def escape(text: str) -> str:
    """Return `text` with the `<` of every tag of ours, and of system, assistant and user tags, written as `&lt;`.

    Opening and closing tags in any case, with any blanks and attributes; all else stays as it is.
    """
    return _GUARDED.sub("&lt;", text)


def strip_injected(text: str) -> str:
    """Return `text` without the blocks that `wrap` made, and without the blank lines that they leave. Linear time.

    A block that is never closed is removed up to the end of the text if it starts a line; elsewhere it is a mention.
    Text without a block is returned as it is.
    """
    pieces: list[str] = []
    position = 0
    for start, end in _blocks(text):
        pieces.append(text[position:start])
        position = end
    return _joined([*pieces, text[position:]]) if pieces else text


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    unclosed: set[str] = set()  # a closing tag that was not found once is not there later either
    position = 0
    for opening in _OPENING.finditer(text):
        start, tag = opening.start(), opening[1]
        if start < position:
            continue
        closing = f"</{tag}>"
        found = -1 if tag in unclosed else text.find(closing, opening.end())
        if found >= 0:
            position = found + len(closing)
            yield start, position
        elif start == 0 or text[start - 1] in _LINE_ENDS:
            yield start, len(text)
            return
        else:
            unclosed.add(tag)


def _joined(pieces: list[str]) -> str:
    """Join what stood around the blocks: of the line ends on both sides of a block the longer run, none at the edges."""
    parts: list[str] = []
    gap = ""
    for index, piece in enumerate(pieces):
        body = piece.strip(_LINE_ENDS)
        if not body:
            gap = max(gap, piece, key=len)
            continue
        before = piece[: len(piece) - len(piece.lstrip(_LINE_ENDS))]
        if index == 0:
            parts.append(before)
        elif parts:
            parts.append(max(gap, before, key=len))
        parts.append(body)
        gap = piece[len(piece.rstrip(_LINE_ENDS)) :]
    if pieces[-1].strip(_LINE_ENDS):
        parts.append(gap)
    return "".join(parts)
