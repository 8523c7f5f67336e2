"""What is asked of a row beyond the floor of its leg, because of what the query is. Pure.

Random characters share some with every store, and so does any question with a store of five rows: there no frequency tells
that "now" says nothing. So more of the query has to be in a row where what it shares may be an accident. All figures are
measured in docs/retrieval.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from memstrata.search.bm25 import is_strange
from memstrata.search.gibberish import is_disjointed, is_gibberish, is_list
from memstrata.text.analyser import everyday_terms

__all__ = ["ACCIDENT_FLOOR", "NONSENSE_FLOOR", "Gate", "gate_of", "is_unknown", "may_be_nonsense"]

NONSENSE_FLOOR = 0.15
"""The least keyword score for letters or characters at random."""

ACCIDENT_FLOOR = 0.25
"""The least keyword score of a row that shares only everyday words with the question, and for a bare list of words."""


@dataclass(frozen=True, slots=True)
class Gate:
    """The least keyword score of a row, and of one with nothing but everyday words of the query."""

    floor: float
    accident_floor: float

    def admits(self, score: float, shared: AbstractSet[str]) -> bool:
        """Return whether a row with this score and these terms of the query is an answer."""
        if score >= self.accident_floor:
            return True
        return score >= self.floor and not _is_everyday(shared)


def _is_everyday(shared: AbstractSet[str]) -> bool:
    """Return whether terms are everyday words alone; characters count as such inside a pair that is one."""
    if everyday_terms().isdisjoint(shared):
        return False
    common = shared & everyday_terms()
    return all(len(term) == 1 and any(term in word for word in common) for term in shared - common)


def gate_of(query: str, terms: Sequence[str], frequencies: Mapping[str, int], floor: float) -> Gate:
    """Return the gate for a query; `terms` and `frequencies` are its base forms and their counts in the scope."""
    if is_unknown(query, terms, frequencies):
        floor = max(floor, NONSENSE_FLOOR)
    elif is_list(query):
        floor = max(floor, ACCIDENT_FLOOR)
    return Gate(floor, max(floor, ACCIDENT_FLOOR))


def may_be_nonsense(query: str) -> bool:
    """Return whether a query looks like no language; what the scope knows decides (`is_unknown`)."""
    return is_gibberish(query) or is_disjointed(query)


def is_unknown(query: str, terms: Sequence[str], frequencies: Mapping[str, int]) -> bool:
    """Return whether a query is letters or characters at random that the scope does not know either."""
    # What the scope knows is asked first: it costs nearly nothing, and it knows most questions.
    if is_strange(terms, frequencies) and is_gibberish(query):
        return True
    return is_strange(terms, frequencies, by_pairs=True) and is_disjointed(query)
