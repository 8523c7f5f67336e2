"""The blocks that recall puts into prompts, as a client finds them again.

The server writes and strips the same blocks (`memstrata.text.markers`). The client stands alone and may not import that
module; a test holds both to one behaviour.
"""

from __future__ import annotations

import re

__all__ = ["TAGS", "escape", "without_own_blocks"]

TAGS = ("relevant-memories", "user-persona", "scene-navigation", "memory-tools-guide")
_OPENING = re.compile(rf'<({"|".join(TAGS)}) source="memstrata">')

_BLANK = r"\s\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff"
_GUARDED_NAMES = "|".join((*TAGS, "system", "assistant", "user"))
_GUARDED = re.compile(rf"<(?=[{_BLANK}/]*(?:{_GUARDED_NAMES})(?![\w.:-]))", re.IGNORECASE)


def escape(text: str) -> str:
    """Return `text` with the `<` of every tag of ours, and of system, assistant and user tags, written as `&lt;`."""
    return _GUARDED.sub("&lt;", text)


def without_own_blocks(text: str) -> str:
    """Return `text` without blocks that carry our mark, and without the line ends around them. Linear time.

    An unclosed block runs to the end of the text if it starts a line; elsewhere it is a mention and stays.
    """
    kept: list[str] = []
    rest = 0
    never_closed: set[str] = set()
    for opening in _OPENING.finditer(text):
        start, tag = opening.start(), opening[1]
        if start < rest:
            continue
        end = -1 if tag in never_closed else text.find(f"</{tag}>", opening.end())
        if end >= 0:
            kept.append(text[rest:start])
            rest = end + len(tag) + 3
        elif start == 0 or text[start - 1] in "\r\n":
            kept.append(text[rest:start])
            rest = len(text)
            break
        else:
            never_closed.add(tag)
    if not kept:
        return text
    kept.append(text[rest:])
    return "\n\n".join(piece for piece in (piece.strip("\r\n") for piece in kept) if piece)
