"""Edits of a body by byte position: what no edit names stays as it came, byte for byte.

The proxy never parses a body and writes it again: that would reorder keys, change numbers and drop what it does not
know. It finds the place (`spans`) and puts bytes there. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Edit", "splice"]


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the bytes from `start` up to `end` of a body; where they are equal, insert."""

    start: int
    end: int
    replacement: bytes


def splice(body: bytes, edits: Iterable[Edit]) -> bytes:
    """Return `body` with all `edits` made; positions are those of the body as it came.

    Insertions at one position keep the order given, and stand before a replacement that starts there. An edit given
    twice is made once. Raises ValueError where edits overlap or lie outside the body.
    """
    ordered = sorted(dict.fromkeys(edits), key=lambda edit: (edit.start, edit.end))
    parts: list[bytes] = []
    at = 0
    for edit in ordered:
        if edit.start < at or edit.end < edit.start or edit.end > len(body):
            raise ValueError(f"an edit of bytes {edit.start} to {edit.end} overlaps another or lies outside the body")
        parts += (body[at : edit.start], edit.replacement)
        at = edit.end
    parts.append(body[at:])
    return b"".join(parts)
