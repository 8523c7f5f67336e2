"""The keyword leg: which rows the index is asked for, and which of them it brings.

Terms are tried from the rarest on, until their postings reach a budget: a question's common words cost most and say
least.
"""

from __future__ import annotations

from collections.abc import Collection as Terms
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TypeVar

from memstrata.records import MemoryRecord, Message, Scope
from memstrata.search.bm25 import POSTINGS_BUDGET, Scored, attainable, selective, weigh
from memstrata.search.collection import Collection, KeywordSource
from memstrata.search.diversity import distinct, likeness
from memstrata.search.gate import Gate, gate_of, is_unknown, may_be_nonsense
from memstrata.search.leg import LegHit
from memstrata.search.words import counted
from memstrata.store.protocol import Repositories
from memstrata.store.shapes import MemoryFilter, MessageFilter
from memstrata.text.analyser import query_terms
from memstrata.text.irregular import base_form, forms

__all__ = ["FLOOR", "is_nonsense", "keyword_leg"]

T = TypeVar("T", MemoryRecord, Message)
W = TypeVar("W", MemoryFilter, MessageFilter)

FLOOR = 0.01
"""Below it a row shares with the question only words that nearly every row holds. Measured in docs/retrieval.md."""


def keyword_leg(
    r: Repositories,
    collection: Collection[T, W],
    scope: Scope,
    query: str,
    where: W,
    pool: int,
    *,
    floor: float = FLOOR,
    enough: int | None = None,
    spread: float = 1.0,
    postings: int = POSTINGS_BUDGET,
    gated: bool = True,
) -> list[LegHit[T]]:
    """Return at most `pool` rows of the scope with words of the query, best first, none below the floor.

    Filters work inside the index query. With `enough`, only so many of the best different rows are wanted, and the
    common words of the query are not looked for where they cannot change them, even if a row's score is afterwards
    multiplied by up to `spread` times the factor of another. Equal rows come newest first. Words are
    looked for from the rarest on as long as their rows do not exceed `postings`. Not `gated`, the floor is all that is
    asked of a row, whatever the query is (see `gate`).
    """
    source = collection.source(r)
    terms = _terms(query)
    frequencies = _frequencies(source, scope, terms)
    if not frequencies:
        return []
    gate = gate_of(query, terms, frequencies, floor) if gated else Gate(floor, floor)
    size = source.size(scope)

    def best_of(chosen: Sequence[str]) -> list[Scored[T]]:
        # Of equal rows the newer comes first; the index's own order would let rows of other scopes decide.
        asked = [form for term in chosen for form in forms(term)]
        rows = sorted((row for row, _ in source.match(scope, asked, where, pool)), key=lambda row: -row.seq)
        weighed = weigh(rows, terms, frequencies, size, lambda row: counted(collection.text(row)))
        return [hit for hit in weighed if gate.admits(hit.score, hit.terms)]

    chosen, rare = selective(frequencies, postings), selective(frequencies, pool)
    # Ordering costs a microsecond a posting. Rows with a rare term are so few that all of them are read, and often no
    # other row can come near them. On 100,000 rows this took the slowest twentieth of searches from 8.5 ms to 2.4 ms.
    if len(rare) < len(chosen) and sum(frequencies[term] for term in rare) <= pool:
        best = best_of(rare)
        others = attainable(frequencies.keys() - set(rare), terms, frequencies, size)
        if others > gate.floor and not _beyond(best, enough, others * spread):
            best = best_of(chosen)
    else:
        best = best_of(chosen)
    return [LegHit(hit.item, hit.strength, partial(frozenset, hit.words)) for hit in best[:pool]]


def is_nonsense(r: Repositories, collection: Collection[T, W], scope: Scope, query: str) -> bool:
    """Return whether a query is letters or characters at random that the scope does not know either.

    For legs to which everything is near something: no floor on a cosine keeps nonsense out.
    """
    if not may_be_nonsense(query):
        return False
    terms = _terms(query)
    return is_unknown(query, terms, _frequencies(collection.source(r), scope, terms))


def _terms(query: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(base_form, query_terms(query))))


def _frequencies(source: KeywordSource[T, W], scope: Scope, terms: Terms[str]) -> Mapping[str, int]:
    """Return in how many rows each base form stands, in any form; a row with two forms counts twice."""
    asked = {form: term for term in terms for form in forms(term)}
    counts: dict[str, int] = {}
    for form, count in source.frequencies(scope, tuple(asked)).items():
        counts[asked[form]] = counts.get(asked[form], 0) + count
    return counts


def _beyond(best: Sequence[Scored[T]], enough: int | None, others: float) -> bool:
    """Return whether `enough` different rows are out of reach of all that score less than `others`."""
    if enough is None or len(best) < enough:
        return False
    wanted = distinct(best, enough, likeness)
    return len(wanted) == enough and wanted[-1].score >= others
