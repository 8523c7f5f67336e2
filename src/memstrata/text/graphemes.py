"""Cutting text to a length, in characters and in tokens, without tearing what a reader sees as one character."""

from __future__ import annotations

from bisect import bisect_right

import regex  # type: ignore[import-untyped]

from memstrata.text.tokens import count_tokens

__all__ = ["cut"]

_CLUSTER = regex.compile(r"\X")  # extended grapheme cluster, UAX #29


def cut(text: str, limit: int, note: str = "", *, tokens: int | None = None) -> str:
    """Return `text` if it has at most `limit` code points, else its start and `note`, together at most `limit`.

    With `tokens`, both hold: neither more code points than `limit` nor more tokens than that, by `count_tokens`.

    The cut is at a grapheme cluster boundary: no half of a ZWJ emoji, a flag or a letter with its marks. A note that
    would not fit is left out; a first cluster that would not fit leaves the note alone.
    """
    if tokens is not None and tokens >= min(len(text), limit):
        tokens = None  # a text never has more tokens than characters
    if len(text) <= limit and (tokens is None or count_tokens(text) <= tokens):
        return text
    if len(note) > limit or (tokens is not None and count_tokens(note) > tokens):
        note = ""
    room = max(0, min(len(text), limit - len(note)))
    if tokens is not None:
        fitting = range(1, room + 1)
        room = bisect_right(fitting, tokens, key=lambda length: count_tokens(text[:length] + note))
    # A line feed ends a cluster always, so only the line that is cut needs to be read.
    end = text.rfind("\n", 0, room) + 1
    for cluster in _CLUSTER.finditer(text, end):
        if cluster.end() > room:
            break
        end = cluster.end()
    return text[:end] + note
