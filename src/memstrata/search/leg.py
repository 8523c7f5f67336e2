"""What a leg brings: rows with a score of the leg's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, Literal, TypeVar

from memstrata.records import MemoryRecord, Message

__all__ = ["Leg", "LegHit"]

T = TypeVar("T", MemoryRecord, Message)

Leg = Literal["keyword", "vector"]


@dataclass(frozen=True)
class LegHit(Generic[T]):
    """A row and its score in the leg's unit: keyword the share of the question's information (see `bm25`; what goes
    beyond 1 counts for the order alone), vector the cosine.

    `terms` gives the index terms of the row when they are needed: of fifty rows a search compares a few, and to analyse
    them all took a third of it.
    """

    item: T
    score: float
    terms: Callable[[], Iterable[str]]

    @cached_property
    def words(self) -> frozenset[str]:
        """The different index terms; by them two rows are seen to say the same."""
        return frozenset(self.terms())
