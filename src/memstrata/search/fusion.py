"""Several legs' findings as one ranking, on a scale from 0 to 1. Pure.

Two fusions. `rrf` looks at ranks alone (the articles': k = 60). `calibrated` adds the scores up after each has been put on
a scale of its own model; docs/retrieval.md says how the two were compared. Each leg's hits come best first and have
passed the leg's floor already.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from memstrata.records import MemoryRecord, Message
from memstrata.search.leg import Leg, LegHit

__all__ = ["KEYWORD_WEIGHT", "RRF_K", "CosineScale", "Fused", "Fusion", "calibrated", "rrf"]

T = TypeVar("T", MemoryRecord, Message)

RRF_K = 60
KEYWORD_WEIGHT = 0.45


@dataclass(frozen=True, slots=True)
class CosineScale:
    """What a model's cosines mean: `low` is unrelated, `high` says the same. A model has its own; e5's lie close together.

    Raises ValueError if `low` is not below `high`.
    """

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ValueError(f"low must be below high, got {self.low} and {self.high}")

    def share(self, cosine: float) -> float:
        """Return a cosine as a score, 0 to 1."""
        return min(1.0, max(0.0, (cosine - self.low) / (self.high - self.low)))


@dataclass(frozen=True, slots=True)
class Fused(Generic[T]):
    """A row with its common score and the score of each leg that found it, in the leg's unit.

    The common score is 0 to 1; what a strong keyword hit has beyond 1 counts for the order alone.
    """

    item: T
    score: float
    legs: Mapping[Leg, float]
    hit: LegHit[T]

    @property
    def words(self) -> frozenset[str]:
        """The different index terms of the row."""
        return self.hit.words


Fusion: TypeAlias = Callable[[Mapping[Leg, Sequence[LegHit[T]]]], list[Fused[T]]]


def rrf(legs: Mapping[Leg, Sequence[LegHit[T]]], k: int = RRF_K) -> list[Fused[T]]:
    """Fuse by rank: 1 is what a row gets that is the first of every leg. Best first, ties newest first.

    Source: Cormack, Clarke and Büttcher 2009. A leg that took part and found nothing counts; one that did not take part is
    not in `legs`.
    """
    most = len(legs) / (k + 1)
    ranks = {name: {hit.item.seq: rank for rank, hit in enumerate(hits, 1)} for name, hits in legs.items()}
    return _fused(legs, lambda seq: sum(1 / (k + of[seq]) for of in ranks.values() if seq in of) / most)


def calibrated(
    legs: Mapping[Leg, Sequence[LegHit[T]]],
    scale: CosineScale = CosineScale(),
    keyword_weight: float = KEYWORD_WEIGHT,
) -> list[Fused[T]]:
    """Fuse by score: `keyword_weight` of the keyword score, the rest of the cosine on its scale.

    A leg that took part alone has all the weight, so that its score is the row's. Best first, ties newest first.
    """
    weights: dict[Leg, float] = {"keyword": keyword_weight, "vector": 1 - keyword_weight}
    whole = sum(weights[name] for name in legs)
    shares: dict[int, float] = {}
    for name, hits in legs.items():
        for hit in hits:
            score = scale.share(hit.score) if name == "vector" else hit.score
            shares[hit.item.seq] = shares.get(hit.item.seq, 0.0) + score * (weights[name] / whole)
    return _fused(legs, shares.__getitem__)


def _fused(legs: Mapping[Leg, Sequence[LegHit[T]]], score: Callable[[int], float]) -> list[Fused[T]]:
    found: dict[int, tuple[LegHit[T], dict[Leg, float]]] = {}
    for name, hits in legs.items():
        for hit in hits:
            found.setdefault(hit.item.seq, (hit, {}))[1][name] = hit.score
    rows = [Fused(hit.item, score(seq), scores, hit) for seq, (hit, scores) in found.items()]
    return sorted(rows, key=lambda row: (-row.score, -row.item.seq))
