"""How far a mean would move with other questions of the same kind: the percentile bootstrap, seeded.

Questions are drawn one by one, although those of one conversation resemble each other: the interval is the least doubt
that there is, not the most.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["RESAMPLES", "Interval", "interval_of_mean"]

RESAMPLES = 1_000


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and the bounds that 95 of 100 resampled means lie within."""

    mean: float
    low: float
    high: float


def interval_of_mean(values: Sequence[float], seed: int, resamples: int = RESAMPLES) -> Interval:
    """Return the mean of at least one value with its interval. The same values and seed give the same bounds."""
    count = len(values)
    mean = sum(values) / count
    if min(values) == max(values):
        return Interval(mean, mean, mean)
    chance = random.Random(seed)  # noqa: S311 (a resample is no secret)
    means = sorted(sum(chance.choices(values, k=count)) / count for _ in range(resamples))
    return Interval(mean, means[int(0.025 * resamples)], means[min(int(0.975 * resamples), resamples - 1)])
