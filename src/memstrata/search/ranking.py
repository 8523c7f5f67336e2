"""From what the legs found to the answer: gate, fuse, prior and boost, diversity, cut. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from memstrata.records import Hit, MemoryRecord, Message
from memstrata.search.diversity import likeness, mmr
from memstrata.search.fusion import Fusion, calibrated
from memstrata.search.leg import Leg, LegHit

__all__ = ["rank"]

T = TypeVar("T", MemoryRecord, Message)


def rank(
    legs: Mapping[Leg, Sequence[LegHit[T]]],
    limit: int,
    *,
    floors: Mapping[Leg, float],
    fuse: Fusion[T] = calibrated,
    factors: Sequence[Callable[[T], float]] = (),
    relevance: float = 1.0,
) -> tuple[Hit[T], ...]:
    """Return at most `limit` rows, best first, each with the score of every leg that found it.

    `legs` holds what each leg that took part found, best first. `floors` are in each leg's unit; a leg without one lets
    everything through. `factors` multiply the fused score (prior, time window); a score stays within 0 to 1. `relevance`
    below 1 trades score for difference (see `diversity.mmr`); what repeats a better row is always left out.
    """
    passed = {name: [hit for hit in hits if hit.score >= floors.get(name, -1.0)] for name, hits in legs.items()}
    ranked = fuse(passed)
    scores = {row.item.seq: row.score for row in ranked}
    if factors:
        for row in ranked:
            scores[row.item.seq] *= math.prod(factor(row.item) for factor in factors)
        ranked.sort(key=lambda row: (-scores[row.item.seq], -row.item.seq))
    best = mmr(ranked, limit, lambda row: scores[row.item.seq], likeness, relevance=relevance)
    return tuple(
        Hit(row.item, min(1.0, scores[row.item.seq]), {name: min(1.0, score) for name, score in row.legs.items()})
        for row in best
    )
