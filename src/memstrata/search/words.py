"""The words of rows that were found lately: the same few rows answer question after question, in either leg."""

from __future__ import annotations

from functools import lru_cache

from memstrata.search.bm25 import Counted
from memstrata.text.analyser import index_terms

__all__ = ["counted", "forget"]

_SHORT = 400  # code points of texts whose words are kept for a while
_MOST = 2_048  # of them, in up to 10 MB


def counted(text: str) -> Counted:
    """Return the words of a text."""
    return _kept(text) if len(text) <= _SHORT else Counted.of(index_terms(text))


def forget() -> None:
    """Drop all texts that are kept, because some were deleted."""
    _kept.cache_clear()


@lru_cache(maxsize=_MOST)
def _kept(text: str) -> Counted:
    return Counted.of(index_terms(text))
