"""The one retrieval function: the API, recall, the tools and conflict detection all search through here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from memstrata.records import Found, Hit, MemoryRecord, Message, Scope
from memstrata.search.keyword import KeywordHit, KeywordSource, attainable, selective, weigh
from memstrata.store.protocol import MemoryFilter, MessageFilter, Repositories
from memstrata.text.analyser import index_terms, query_terms

__all__ = ["MEMORIES", "MESSAGES", "Collection", "retrieve"]

T = TypeVar("T", MemoryRecord, Message)
W = TypeVar("W", MemoryFilter, MessageFilter)

_POOL = 50
_POOL_FACTOR = 10
_SAME = 0.9  # share of common terms from which on two results say the same
_FLOOR = 0.05  # below it a row shares only accidental words with the query; measured in docs/retrieval.md


@dataclass(frozen=True, slots=True)
class Collection(Generic[T, W]):
    """What can be searched: where its rows are and what is read in them."""

    source: Callable[[Repositories], KeywordSource[T, W]]
    text: Callable[[T], str]


MEMORIES: Collection[MemoryRecord, MemoryFilter] = Collection(lambda r: r.memories, lambda m: m.content)
MESSAGES: Collection[Message, MessageFilter] = Collection(lambda r: r.conversations, lambda m: m.content)


def retrieve(
    repositories: Repositories,
    collection: Collection[T, W],
    scope: Scope,
    query: str,
    where: W,
    limit: int,
    *,
    floor: float = _FLOOR,
) -> Found[T]:
    """Return the rows of the scope that answer the query, best first, at most `limit`.

    Filters work inside the index query. Rows below `floor` are left out, and so are rows that repeat a better one; a
    query without a known term finds nothing.
    """
    source = collection.source(repositories)
    terms = query_terms(query)
    frequencies = source.frequencies(scope, terms)
    if not frequencies:
        return Found(())
    size = source.size(scope)
    pool = max(_POOL, _POOL_FACTOR * limit)

    def best_of(chosen: Sequence[str]) -> list[KeywordHit[T]]:
        # Of equal rows the newer comes first; the index's own order would let rows of other scopes decide.
        rows = sorted((row for row, _ in source.match(scope, chosen, where, pool)), key=lambda row: -row.seq)
        weighed = weigh(rows, terms, frequencies, size, lambda row: index_terms(collection.text(row)))
        return _distinct([hit for hit in weighed if hit.score >= floor], limit)

    chosen, rare = selective(frequencies), selective(frequencies, pool)
    # Ordering costs a microsecond a posting. Rows with a rare term are so few that all of them are read, and often no
    # other row can come near them. On 100,000 rows this took the slowest twentieth of searches from 8.5 ms to 2.4 ms.
    if len(rare) < len(chosen) and sum(frequencies[term] for term in rare) <= pool:
        best = best_of(rare)
        others = attainable(frequencies.keys() - set(rare), terms, frequencies, size)
        if others > floor and not (len(best) == limit and best[-1].score >= others):
            best = best_of(chosen)
    else:
        best = best_of(chosen)
    return Found(tuple(Hit(hit.item, hit.score, {"keyword": hit.score}) for hit in best))


def _distinct(hits: Sequence[KeywordHit[T]], limit: int) -> list[KeywordHit[T]]:
    """Return the first `limit` hits that do not say what a better one says."""
    kept: list[tuple[KeywordHit[T], frozenset[str]]] = []
    for hit in hits:
        if len(kept) == limit:
            break
        words = frozenset(hit.words)
        if all(_overlap(words, other) < _SAME for _, other in kept):
            kept.append((hit, words))
    return [hit for hit, _ in kept]


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(len(one | other), 1)
