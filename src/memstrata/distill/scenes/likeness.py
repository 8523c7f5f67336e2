"""Which texts speak of the same thing, judged by the words that they share.

Used where a model was not asked or did not say: which scenes it is shown in full, which memories a text rests on, and
where the content of a removed scene goes on. Words are the analyser's terms without function words; single characters
say too little to count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from memstrata.records import MemoryRecord
from memstrata.text.analyser import index_terms, query_terms

__all__ = ["nearest", "related", "told_in"]

_TOLD_SHARE = 0.5  # of a memory's words, in a text that is taken to tell it
_COMMON_FROM = 4  # scenes; with fewer of them no word counts as common to all


def related(texts: Mapping[str, str], memories: Iterable[MemoryRecord]) -> tuple[str, ...]:
    """Return the names of the texts that share words with the memories, most related first, then in their order.

    A word weighs less the more texts have it; one that most of them have is no sign of anything.
    """
    asked = {term for memory in memories for term in _asked(memory.content)}
    shared = {name: asked.intersection(index_terms(text)) for name, text in texts.items()}
    spread = Counter(term for terms in shared.values() for term in terms)
    common = len(texts) // 2 if len(texts) >= _COMMON_FROM else len(texts)
    weights = {
        name: sum(1 / spread[term] for term in terms if spread[term] <= common) for name, terms in shared.items()
    }
    return tuple(sorted((name for name in texts if weights[name] > 0), key=lambda name: -weights[name]))


def told_in(text: str, memories: Sequence[MemoryRecord]) -> tuple[int, ...]:
    """Return the `seq` of each memory at least half of whose words stand in `text`."""
    words = frozenset(index_terms(text))
    told: list[int] = []
    for memory in memories:
        asked = _asked(memory.content)
        if asked and len(asked & words) >= _TOLD_SHARE * len(asked):
            told.append(memory.seq)
    return tuple(told)


def nearest(text: str, others: Mapping[str, str]) -> str:
    """Return the name of the text that shares most words with `text`, the first of equals. Needs at least one."""
    words = _words(index_terms(text))
    return max(others, key=lambda name: len(words & _words(index_terms(others[name]))))


def _asked(text: str) -> frozenset[str]:
    return _words(query_terms(text))


def _words(terms: Iterable[str]) -> frozenset[str]:
    return frozenset(term for term in terms if len(term) > 1)
