"""Results that say different things: near-duplicates are dropped, and what resembles a better result gives way (MMR)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from memstrata.records import MemoryRecord, Message

__all__ = ["SAME", "Row", "distinct", "likeness", "mmr", "overlap"]

T = TypeVar("T")

SAME = 0.9
"""Share of common terms from which on two results say the same."""


class Row(Protocol):
    """A result with the different terms of its text."""

    @property
    def item(self) -> MemoryRecord | Message: ...
    @property
    def words(self) -> frozenset[str]: ...


def likeness(one: Row, other: Row) -> float:
    """Return how much two results say the same, 0 to 1.

    Messages of different sessions never do: each is evidence of its own, said at another time.
    """
    first, second = one.item, other.item
    if isinstance(first, Message) and isinstance(second, Message) and first.session_id != second.session_id:
        return 0.0
    return overlap(one.words, other.words)


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of the terms of both that they have in common, 0 to 1."""
    return len(one & other) / max(len(one | other), 1)


def distinct(ranked: Sequence[T], limit: int, alike: Callable[[T, T], float], same: float = SAME) -> list[T]:
    """Return the first `limit` results that do not say what a better one says."""
    kept: list[T] = []
    for result in ranked:
        if len(kept) >= limit:
            break
        if all(alike(result, other) < same for other in kept):
            kept.append(result)
    return kept


def mmr(
    ranked: Sequence[T],
    limit: int,
    score: Callable[[T], float],
    alike: Callable[[T, T], float],
    *,
    relevance: float = 1.0,
    same: float = SAME,
) -> list[T]:
    """Return at most `limit` results, each the best by `relevance · score - (1 - relevance) · likeness to those before`.

    Near-duplicates are never taken. At `relevance` 1 the order stays; ties keep the given order. Source: Carbonell and
    Goldstein 1998.
    """
    if relevance >= 1:
        return distinct(ranked, limit, alike, same)
    left = list(ranked)
    nearest = [0.0] * len(left)  # likeness to the most alike one that was taken
    taken: list[T] = []
    while left and len(taken) < limit:
        value = [relevance * score(one) - (1 - relevance) * near for one, near in zip(left, nearest, strict=True)]
        best = left.pop(at := max(range(len(left)), key=value.__getitem__))
        del nearest[at]
        taken.append(best)
        nearest = [max(near, alike(one, best)) for one, near in zip(left, nearest, strict=True)]
        different = [index for index, near in enumerate(nearest) if near < same]
        left, nearest = [left[index] for index in different], [nearest[index] for index in different]
    return taken
