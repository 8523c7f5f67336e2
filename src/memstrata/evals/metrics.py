"""How good a ranking is: pure functions of ranked ids, best first and each once, and the ids that should be found.

`gold` is never empty. The gain is one or nothing; what is not in the ranking was not found.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial

__all__ = ["CUTS", "METRICS", "all_at", "any_at", "ndcg_at", "recall_at", "reciprocal_rank"]

CUTS = (1, 5, 10, 20, 50)
"""Where a ranking is cut."""

Metric = Callable[[Sequence[str], AbstractSet[str]], float]


def recall_at(k: int, ranked: Sequence[str], gold: AbstractSet[str]) -> float:
    """Return the share of what should be found that is among the first `k`."""
    return len(gold & set(ranked[:k])) / len(gold)


def any_at(k: int, ranked: Sequence[str], gold: AbstractSet[str]) -> float:
    """Return 1.0 if some of it is among the first `k`."""
    return float(not gold.isdisjoint(ranked[:k]))


def all_at(k: int, ranked: Sequence[str], gold: AbstractSet[str]) -> float:
    """Return 1.0 if all of it is among the first `k`."""
    return float(gold <= set(ranked[:k]))


def reciprocal_rank(ranked: Sequence[str], gold: AbstractSet[str]) -> float:
    """Return one over the place of the first that should be found, 0.0 if there is none."""
    return next((1 / place for place, one in enumerate(ranked, start=1) if one in gold), 0.0)


def ndcg_at(k: int, ranked: Sequence[str], gold: AbstractSet[str]) -> float:
    """Return the discounted gain of the first `k` as a share of the best that was possible."""
    gain = sum(_discount(place) for place, one in enumerate(ranked[:k], start=1) if one in gold)
    return gain / sum(_discount(place) for place in range(1, min(k, len(gold)) + 1))


def _discount(place: int) -> float:
    return 1 / math.log2(place + 1)


METRICS: Mapping[str, Metric] = {
    **{f"recall@{k}": partial(recall_at, k) for k in CUTS},
    **{f"any@{k}": partial(any_at, k) for k in CUTS},
    **{f"all@{k}": partial(all_at, k) for k in CUTS},
    "mrr": reciprocal_rank,
    "ndcg@10": partial(ndcg_at, 10),
}
"""Every metric of every data set, by the name it is reported under."""
