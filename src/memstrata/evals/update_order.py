"""Whether search knows new from old: of two statements about the same thing, is the newer one ranked above the older?

Source: BEAM's knowledge updates and contradictions, whose evidence names both statements. Pure. A statement that is not
in the ranking stands below every one that is; where neither is, nothing was ordered, and that counts as not newer first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from memstrata.evals.dataset import PairKind
from memstrata.evals.ranker import Ranking

__all__ = ["PairOrder", "pair_orders"]


@dataclass(frozen=True, slots=True)
class PairOrder:
    """The pairs of one kind, as counts. `newer_first`, `older_first` and `neither` are all of them."""

    pairs: int
    newer_first: int
    older_first: int
    neither: int
    both_at_10: int
    both_at_20: int

    def as_json(self) -> Mapping[str, int | float]:
        """Return the counts, and the headline as a share."""
        return {
            "pairs": self.pairs,
            "newer_first": self.newer_first,
            "older_first": self.older_first,
            "neither": self.neither,
            "newer_first_share": self.newer_first / self.pairs,
            "both@10_share": self.both_at_10 / self.pairs,
            "both@20_share": self.both_at_20 / self.pairs,
        }


def pair_orders(rankings: Sequence[Ranking]) -> Mapping[PairKind, PairOrder]:
    """Return how the pairs of each kind are ordered; empty where no question has one."""
    places: dict[PairKind, list[tuple[float, float]]] = {}
    for ranking in rankings:
        pair = ranking.question.pair
        if pair is not None:
            both = (_place(ranking.ids, pair.older), _place(ranking.ids, pair.newer))
            places.setdefault(pair.kind, []).append(both)
    return {kind: _order(found) for kind, found in places.items()}


def _order(places: Sequence[tuple[float, float]]) -> PairOrder:
    newer_first = sum(newer < older for older, newer in places)
    older_first = sum(older < newer for older, newer in places)
    return PairOrder(
        pairs=len(places),
        newer_first=newer_first,
        older_first=older_first,
        neither=len(places) - newer_first - older_first,
        both_at_10=sum(max(pair) <= 10 for pair in places),
        both_at_20=sum(max(pair) <= 20 for pair in places),
    )


def _place(ranked: Sequence[str], statement: AbstractSet[str]) -> float:
    """Return the best place that a statement has, from 1; beyond all places where it has none."""
    return next((float(place) for place, one in enumerate(ranked, start=1) if one in statement), float("inf"))
