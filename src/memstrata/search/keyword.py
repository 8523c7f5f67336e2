"""The keyword leg: BM25 over a scope's own statistics.

FTS5 finds and orders candidates; the score is computed here, because FTS5 counts all tenants' rows in its weights. Terms
are tried from the rarest on, until their postings reach a budget: a question's common words cost most and say least.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from memstrata.records import Scope

__all__ = ["KeywordHit", "KeywordSource", "attainable", "selective", "weigh"]

T = TypeVar("T")
W = TypeVar("W", contravariant=True)
R = TypeVar("R", covariant=True)

# BM25 as usual, but for a gentle length normalisation: memories and messages are short, and long ones are not padding.
K1 = 1.2
B = 0.3
USUAL_LENGTH = 40  # terms of a row; a constant, so that a score does not change when other rows do
POSTINGS_BUDGET = 10_000


class KeywordSource(Protocol[R, W]):
    """Rows with terms: `Memories` or `Conversations` of the store."""

    def size(self, scope: Scope) -> int: ...
    def frequencies(self, scope: Scope, terms: Sequence[str]) -> Mapping[str, int]: ...
    def match(self, scope: Scope, terms: Sequence[str], where: W, limit: int) -> Sequence[tuple[R, float]]: ...


@dataclass(frozen=True, slots=True)
class KeywordHit(Generic[T]):
    """A row and its score: the share of the question's information that the row holds, 0 to 1."""

    item: T
    score: float
    terms: frozenset[str]  # of the query, that the row holds
    words: Sequence[str]  # all terms of the row


def selective(frequencies: Mapping[str, int], budget: int = POSTINGS_BUDGET) -> list[str]:
    """Return the terms to look for, rarest first, whose postings together stay within the budget; at least one."""
    chosen: list[str] = []
    spent = 0
    for term, frequency in sorted(frequencies.items(), key=lambda pair: pair[1]):
        spent += frequency
        if chosen and spent > budget:
            break
        chosen.append(term)
    return chosen


def weigh(
    rows: Sequence[T],
    query: Sequence[str],
    frequencies: Mapping[str, int],
    size: int,
    terms_of: Callable[[T], Sequence[str]],
) -> list[KeywordHit[T]]:
    """Score rows against a query, best first; rows that hold none of it are left out, equal ones stay in their order.

    `frequencies` are document frequencies in the scope, `size` its number of rows. 1.0 is about what a row of usual
    length reaches that holds every term of the query once; what goes beyond it counts for the order alone.
    """
    weights, most = _weights(query, frequencies, size)
    hits: list[tuple[float, KeywordHit[T]]] = []
    for row in rows:
        words = terms_of(row)
        counts = Counter(words)
        held = frozenset(weights) & counts.keys()
        if held:
            norm = K1 * (1 - B + B * counts.total() / USUAL_LENGTH)
            total = sum(weights[term] * counts[term] * (K1 + 1) / (counts[term] + norm) for term in held)
            hits.append((total, KeywordHit(row, min(1.0, total / most), held, words)))
    return [hit for _, hit in sorted(hits, key=lambda pair: -pair[0])]


def attainable(terms: Collection[str], query: Sequence[str], frequencies: Mapping[str, int], size: int) -> float:
    """Return a score that no row reaches which holds only `terms` of the query, however often it repeats them."""
    weights, most = _weights(query, frequencies, size)
    return sum(weights[term] for term in terms) * (K1 + 1) / most


def _weights(query: Sequence[str], frequencies: Mapping[str, int], size: int) -> tuple[dict[str, float], float]:
    """Return how much each term of a query tells, and what makes a score of 1.0."""
    weights = {term: _information(frequencies.get(term, 0), size) for term in query}
    return weights, 1.2 * sum(weights.values())


def _information(frequency: int, size: int) -> float:
    """Return how much a term tells: BM25's idf, always positive."""
    return math.log(1 + (size - min(frequency, size) + 0.5) / (frequency + 0.5))
