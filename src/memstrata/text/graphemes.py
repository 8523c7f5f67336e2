"""Cutting text to a length without tearing what a reader sees as one character."""

from __future__ import annotations

import regex  # type: ignore[import-untyped]

__all__ = ["cut"]

_CLUSTER = regex.compile(r"\X")  # extended grapheme cluster, UAX #29


def cut(text: str, limit: int, note: str = "") -> str:
    """Return `text` if it has at most `limit` code points, else its start and `note`, together at most `limit`.

    The cut is at a grapheme cluster boundary: no half of a ZWJ emoji, a flag or a letter with its marks. A note that
    would not fit is left out; a first cluster that would not fit leaves the note alone.
    """
    if len(text) <= limit:
        return text
    if len(note) > limit:
        note = ""
    room = max(0, limit - len(note))
    # A line feed ends a cluster always, so only the line that is cut needs to be read.
    end = text.rfind("\n", 0, room) + 1
    for cluster in _CLUSTER.finditer(text, end):
        if cluster.end() > room:
            break
        end = cluster.end()
    return text[:end] + note
