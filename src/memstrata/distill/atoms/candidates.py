"""Which memories a draft is compared with, and which drafts of a batch with each other. Reads, decides nothing.

Two measures, because neither does alone: the share of a draft's information that a memory holds misses contradictions
in a young scope, where every word is rare; the share of common words misses paraphrases of different length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

from memstrata.records import MemoryDraft, MemoryRecord, Scope
from memstrata.search import MEMORIES, retrieve
from memstrata.store.protocol import MemoryFilter, Repositories

__all__ = ["Likeness", "Near", "near_to"]

_CANDIDATES = 5
_VALUE_COPIES = 10
_SIMILAR = 0.35  # share of a draft's information that a memory must hold to be worth comparing
_ALIKE = 0.6  # share of the shorter text's words that the other must hold
_LEAST_SHARED = 2
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


def near_to(r: Repositories, scope: Scope, draft: MemoryDraft, likeness: Likeness) -> Near:
    """Return live memories of the scope, of any session, that may say or contradict what the draft says.

    When the draft gives a slot another value, every memory that speaks the old one is among them, whatever else it is
    about: a value lives in more places than the one that names it (user needs A11).
    """
    rivals = r.memories.by_slot(scope, draft.slot)
    ended = r.memories.by_slot(scope, str(draft.metadata.get("ends", "")))  # "left Orion" concerns who employs
    if r.memories.size(scope) > _YOUNG:
        found = retrieve(r, MEMORIES, scope, draft.content, MemoryFilter(), _CANDIDATES, floor=_SIMILAR)
        similar = [hit.item for hit in found.hits]
    else:
        found = retrieve(r, MEMORIES, scope, draft.content, MemoryFilter(), _CANDIDATES)
        similar = [h.item for h in found.hits if h.score >= _SIMILAR or likeness.alike(h.item.content, draft.content)]
    rows = [*rivals, *ended, *similar, *_copies_of_old_values(r, scope, draft, rivals)]
    return Near(r.memories.by_content(scope, draft.content), tuple({row.seq: row for row in rows}.values()))


def _copies_of_old_values(
    r: Repositories, scope: Scope, draft: MemoryDraft, rivals: Sequence[MemoryRecord]
) -> list[MemoryRecord]:
    new = str(draft.metadata.get("value", "")).casefold()
    old = {str(row.metadata.get("value", "")) for row in rivals}
    copies: list[MemoryRecord] = []
    for value in sorted(one for one in old if one and one.casefold() != new):
        found = retrieve(r, MEMORIES, scope, value, MemoryFilter(), _VALUE_COPIES)
        copies += [hit.item for hit in found.hits if value.casefold() in hit.item.content.casefold()]
    return copies
