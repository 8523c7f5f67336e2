"""Splitting a text that is longer than what takes it: a store, or one look of a model. Joined, the parts are the text.

The cut is made at the best place in the second half of what fits: between paragraphs, else lines, else sentences, else
words, else between two characters as a reader sees them (grapheme clusters): no flag, accent or family emoji is torn.
"""

from __future__ import annotations

from collections.abc import Iterator

import regex  # type: ignore[import-untyped]

__all__ = ["split"]

# Best first; each matches what ends a part.
_BREAKS = (
    regex.compile(r"\n[ \t]*\n+"),
    regex.compile(r"\n"),
    regex.compile(r"[.!?…]+[\"'”’)\]]*\s+|[。！？…]+[”’」』）]*"),
    regex.compile(r"\s+"),
)
_GRAPHEME = regex.compile(r"\X")


def split(text: str, limit: int) -> Iterator[str]:
    """Yield parts of at most `limit` (≥ 1) code points, none of them empty."""
    start = 0
    while len(text) - start > limit:
        end = _cut(text, start, limit)
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]


def _cut(text: str, start: int, limit: int) -> int:
    boundaries = _boundaries(text, start, start + limit)
    if not boundaries:
        # One cluster longer than a whole part (hundreds of stacked accents): there is no better place inside it.
        return start + limit
    for pattern in _BREAKS:
        matches = pattern.finditer(text, start + limit // 2, start + limit)
        ends = boundaries.intersection(match.end() for match in matches)
        if ends:
            return max(ends)
    return max(boundaries)


def _boundaries(text: str, start: int, stop: int) -> set[int]:
    """Return the ends of the grapheme clusters from `start` that are not past `stop`."""
    ends: set[int] = set()
    for match in _GRAPHEME.finditer(text, start):
        if match.end() > stop:
            break
        ends.add(match.end())
    return ends
