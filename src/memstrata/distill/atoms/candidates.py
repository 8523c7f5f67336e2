"""Which memories a draft is compared with, and which drafts of a batch with each other. Reads, decides nothing.

Two measures, because neither does alone: the share of a draft's information that a memory holds misses contradictions
in a young scope, where every word is rare; the share of common words misses paraphrases of different length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

from memstrata.records import Hit, MemoryDraft, MemoryRecord, Scope
from memstrata.search import MEMORIES, Finder
from memstrata.search.bm25 import POSTINGS_BUDGET
from memstrata.search.keyword import FLOOR
from memstrata.store.protocol import Repositories, Store
from memstrata.store.shapes import MemoryFilter

__all__ = ["Likeness", "Near", "near_to"]

_CANDIDATES = 5
_VALUE_COPIES = 50  # one that is not asked about keeps the old value for good; more would not fit one answer
_SIMILAR = 0.35  # share of a draft's information that a memory must hold to be worth comparing
_ALIKE = 0.6  # share of the shorter text's words that the other must hold
_LEAST_SHARED = 2
_POOL = 15  # rows that are looked at for a draft: it is the nearest that matter, and there are five drafts a batch
_POSTINGS = 150  # in a grown scope, words of more rows than this tell nothing about likeness
_YOUNG = 200  # memories of a scope up to which every word is rare
_SUBJECTS = "user assistant 用户 助手"  # how nearly every memory begins


@dataclass(frozen=True, slots=True)
class Near:
    """What was found for one draft: the live memory with the same words, if any, and others that may concern it."""

    same: MemoryRecord | None
    rows: tuple[MemoryRecord, ...]


class Likeness:
    """Whether two statements are worded alike, whoever they are about. `terms` is the house's analyser."""

    def __init__(self, terms: Callable[[str], Sequence[str]], user_name: str) -> None:
        self._terms = terms
        self._common = frozenset(terms(f"{_SUBJECTS} {user_name}"))

    def alike(self, one: str, other: str) -> bool:
        words, others = self._words(one), self._words(other)
        shared = len(words & others)
        return shared >= _LEAST_SHARED and shared >= _ALIKE * min(len(words), len(others))

    def pairs(self, drafts: Sequence[MemoryDraft]) -> tuple[tuple[int, int], ...]:
        """Return the pairs of places of drafts that share a slot or are worded alike."""
        return tuple(
            (one, other)
            for one, other in combinations(range(len(drafts)), 2)
            if (drafts[one].slot and drafts[one].slot == drafts[other].slot)
            or self.alike(drafts[one].content, drafts[other].content)
        )

    def _words(self, text: str) -> frozenset[str]:
        return frozenset(self._terms(text)) - self._common


async def near_to(store: Store, finder: Finder, scope: Scope, draft: MemoryDraft, likeness: Likeness) -> Near:
    """Return live memories of the scope, of any session, that may say or contradict what the draft says.

    When the draft gives a slot another value, every memory that speaks the old one is among them, whatever else it is
    about: a value lives in more places than the one that names it (user needs A11).
    """

    def named(r: Repositories) -> tuple[MemoryRecord | None, tuple[MemoryRecord, ...], tuple[MemoryRecord, ...], int]:
        rivals = r.memories.by_slot(scope, draft.slot)
        ended = r.memories.by_slot(scope, str(draft.metadata.get("ends", "")))  # "left Orion" concerns who employs
        return r.memories.by_content(scope, draft.content), rivals, ended, r.memories.size(scope)

    same, rivals, ended, size = await store.read(named)
    if same is not None:
        return Near(same, ())
    # In a large scope a row that shares only common words is no candidate, and not looking for them saves most of the time.
    is_grown = size > _YOUNG
    found = await finder.find(
        MEMORIES,
        scope,
        draft.content,
        MemoryFilter(),
        _CANDIDATES,
        floor=_SIMILAR if is_grown else FLOOR,
        weighted=False,
        postings=_POSTINGS if is_grown else POSTINGS_BUDGET,
        pool=_POOL,
    )
    similar = [hit.item for hit in found.hits if _concerns(hit, draft, likeness, finder.alike)]
    copies = await _copies_of_old_values(finder, scope, draft, rivals)
    rows = [*rivals, *ended, *similar, *copies]
    return Near(None, tuple({row.seq: row for row in rows}.values()))


def _concerns(hit: Hit[MemoryRecord], draft: MemoryDraft, likeness: Likeness, near: float) -> bool:
    return (
        hit.legs.get("keyword", 0.0) >= _SIMILAR
        or hit.legs.get("vector", 0.0) >= near
        or likeness.alike(hit.item.content, draft.content)
    )


async def _copies_of_old_values(
    finder: Finder, scope: Scope, draft: MemoryDraft, rivals: Sequence[MemoryRecord]
) -> list[MemoryRecord]:
    new = str(draft.metadata.get("value", "")).casefold()
    old = {str(row.metadata.get("value", "")) for row in rivals}
    copies: list[MemoryRecord] = []
    for value in sorted(one for one in old if one and one.casefold() != new):
        found = await finder.find(MEMORIES, scope, value, MemoryFilter(), _VALUE_COPIES, weighted=False)
        copies += [hit.item for hit in found.hits if value.casefold() in hit.item.content.casefold()]
    return copies
