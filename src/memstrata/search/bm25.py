"""BM25 over a scope's own statistics, on a scale from 0 to 1. Pure.

FTS5 finds candidates; the score is computed here, because FTS5 counts all tenants' rows in its weights. How the constants
were chosen is in docs/retrieval.md.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from memstrata.text.irregular import base_form

__all__ = ["Counted", "Scored", "attainable", "is_strange", "selective", "weigh"]

T = TypeVar("T")

K1 = 1.2
B = 0.75
# Terms of a usual row, and how many times that still counts as longer. Constants, so that a score does not change when
# other rows do. Without the cap, long answers could not win against one-line messages.
USUAL_LENGTH = 25
LONGEST = 4
# The words that a statement of usual length could share with a question, however long the question is. Measured
# against all its words, no statement reached the floor when someone wrote four sentences.
EXPECTED_TERMS = 16
POSTINGS_BUDGET = 10_000
KNOWN_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Scored(Generic[T]):
    """A row and its score: the share of the question's information that the row holds, 0 to 1."""

    item: T
    score: float
    strength: float  # the same without the upper bound: what goes beyond 1 counts for the order alone
    terms: frozenset[str]  # of the query, that the row holds
    words: frozenset[str]  # all different terms of the row


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


def is_strange(query: Sequence[str], frequencies: Mapping[str, int], *, by_pairs: bool = False) -> bool:
    """Return whether the scope has hardly a word of the question. A young scope has few words of any question.

    Pairs of neighbouring characters do not count, they are new in most questions; `by_pairs` they alone do.
    """
    words = [term for term in query if (len(term) == 2 and not term.isascii()) == by_pairs] or list(query)
    return sum(term in frequencies for term in words) < KNOWN_SHARE * len(words)


@dataclass(frozen=True, slots=True)
class Counted:
    """The words of a row: how often each base form stands there, how many there are, and the different index terms."""

    forms: Mapping[str, int]
    total: int
    terms: frozenset[str]

    @classmethod
    def of(cls, terms: Sequence[str]) -> Counted:
        return cls(Counter(map(base_form, terms)), len(terms), frozenset(terms))


def weigh(
    rows: Sequence[T],
    query: Sequence[str],
    frequencies: Mapping[str, int],
    size: int,
    counted: Callable[[T], Counted],
) -> list[Scored[T]]:
    """Score rows against a query of base forms, best first; rows that hold none of it are left out.

    Equal rows stay in their order. `frequencies` are document frequencies in the scope, `size` its number of rows. 1.0 is
    about what a row of usual length reaches that holds every term of the query once, or `EXPECTED_TERMS` of a longer
    one.
    """
    weights, most = _weights(query, frequencies, size)
    scored: list[Scored[T]] = []
    for row in rows:
        words = counted(row)
        counts = words.forms
        held = frozenset(term for term in weights if term in counts)
        if held:
            norm = K1 * (1 - B + B * min(LONGEST, words.total / USUAL_LENGTH))
            total = sum(weights[term] * counts[term] * (K1 + 1) / (counts[term] + norm) for term in held)
            scored.append(Scored(row, min(1.0, total / most), total / most, held, words.terms))
    return sorted(scored, key=lambda one: -one.strength)


def attainable(terms: Collection[str], query: Sequence[str], frequencies: Mapping[str, int], size: int) -> float:
    """Return a score that no row reaches which holds only `terms` of the query, however often it repeats them."""
    weights, most = _weights(query, frequencies, size)
    return sum(weights[term] for term in terms) * (K1 + 1) / most


def _weights(query: Sequence[str], frequencies: Mapping[str, int], size: int) -> tuple[dict[str, float], float]:
    """Return how much each term of a query tells, and what makes a score of 1.0."""
    weights = {term: _information(frequencies.get(term, 0), size) for term in query}
    return weights, 1.2 * sum(heapq.nlargest(EXPECTED_TERMS, weights.values()))


def _information(frequency: int, size: int) -> float:
    """Return how much a term tells: BM25's idf, always positive."""
    return math.log(1 + (size - min(frequency, size) + 0.5) / (frequency + 0.5))
