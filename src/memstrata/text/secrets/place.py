"""Where a secret stands in a text, and what it is."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Place"]


class Place(NamedTuple):
    """Code points `start` to `end` of a text hold a secret of this kind, a name of lower-case letters and `_`."""

    start: int
    end: int
    kind: str
