"""What a leg brings: rows with a score of the leg's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from memstrata.records import MemoryRecord, Message

__all__ = ["Leg", "LegHit"]

T = TypeVar("T", MemoryRecord, Message)

Leg = Literal["keyword", "vector"]


@dataclass(frozen=True, slots=True)
class LegHit(Generic[T]):
    """A row and its score in the leg's unit: keyword the share of the question's information (see `bm25`; what goes
    beyond 1 counts for the order alone), vector the cosine.

    `words` are the different index terms of the row; by them two rows are seen to say the same.
    """

    item: T
    score: float
    words: frozenset[str]
