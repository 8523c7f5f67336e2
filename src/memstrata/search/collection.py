"""What can be searched: messages and memories, and where the rows of each are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from memstrata.records import MemoryRecord, Message, Scope
from memstrata.store.protocol import Repositories
from memstrata.store.shapes import MemoryFilter, MessageFilter, VectorKind

__all__ = ["MEMORIES", "MESSAGES", "Collection", "KeywordSource"]

R = TypeVar("R", covariant=True)
T = TypeVar("T", MemoryRecord, Message)
V = TypeVar("V", contravariant=True)
W = TypeVar("W", MemoryFilter, MessageFilter)


class KeywordSource(Protocol[R, V]):
    """Rows with terms, and perhaps vectors: `Memories` or `Conversations` of the store."""

    def size(self, scope: Scope) -> int: ...
    def frequencies(self, scope: Scope, terms: Sequence[str]) -> Mapping[str, int]: ...
    def match(self, scope: Scope, terms: Sequence[str], where: V, limit: int) -> Sequence[tuple[R, float]]: ...
    def chosen(self, scope: Scope, seqs: Sequence[int], where: V) -> Sequence[R]: ...
    def seqs(self, scope: Scope, where: V) -> Sequence[int]: ...


@dataclass(frozen=True, slots=True)
class Collection(Generic[T, W]):
    """One kind of row: where its rows are and what is read in them."""

    kind: VectorKind
    source: Callable[[Repositories], KeywordSource[T, W]]
    text: Callable[[T], str]


MEMORIES: Collection[MemoryRecord, MemoryFilter] = Collection("memories", lambda r: r.memories, lambda m: m.content)
MESSAGES: Collection[Message, MessageFilter] = Collection("messages", lambda r: r.conversations, lambda m: m.content)
