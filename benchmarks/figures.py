"""The arithmetic of a report: percentiles, medians of rounds, shares, and whether a target was reached.

Pure functions over numbers that were measured elsewhere, because an error here would be believed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal

__all__ = ["Figure", "Target", "better_by", "flattened", "kept", "lost_and_doubled", "percentile", "targets"]

# A figure is better when it is higher only if it counts what was achieved; all others are costs.
_GAINS = (
    *("requests_per_second", "rows_per_second", "kept", "hit_at_1", "hit_at_5"),
    *("cached_share", "told_share", "memories"),
)


@dataclass(frozen=True, slots=True)
class Target:
    """A bound that a figure should keep."""

    relation: Literal["at_least", "at_most"]
    bound: float

    def reached(self, value: float) -> bool:
        return value >= self.bound if self.relation == "at_least" else value <= self.bound


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of the report. Its name is a dotted path; the last part names the quantity with its unit."""

    name: str
    value: float
    target: Target | None = None
    reference: float | None = None

    @property
    def reached(self) -> bool | None:
        """Whether the target was reached; None without one."""
        return None if self.target is None else self.target.reached(self.value)

    @property
    def compared(self) -> bool:
        """Whether there is anything to hold it against."""
        return self.target is not None or self.reference is not None

    @property
    def better(self) -> float | None:
        """How many times better than the reference; None without one."""
        return None if self.reference is None else better_by(self.name, self.value, self.reference)


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the smallest value that at least `percent` of all values do not exceed (nearest rank). Raises ValueError."""
    if not values:
        raise ValueError("there is no percentile of nothing")
    rank = math.ceil(percent / 100 * len(values))
    return sorted(values)[max(rank, 1) - 1]


def kept(before: Sequence[float], after: Sequence[float]) -> float:
    """Return the share of a rate that is left, as the median over rounds that were run in pairs."""
    return median(second / first for first, second in zip(before, after, strict=True))


def better_by(name: str, value: float, reference: float) -> float | None:
    """Return the ratio in which more is better, whatever the figure; None where one of the two is zero."""
    if not value or not reference:
        return None
    return value / reference if name.rpartition(".")[2] in _GAINS else reference / value


def lost_and_doubled(expected: Iterable[str], texts: Iterable[str]) -> tuple[int, int]:
    """Return how many of the expected codes stand in no text, and how often one stands in a further text."""
    found = Counter(dict.fromkeys(expected, 0))
    for text in texts:
        for word in set(text.replace(".", " ").split()):
            if word in found:
                found[word] += 1
    return sum(times == 0 for times in found.values()), sum(max(0, times - 1) for times in found.values())


def flattened(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the leaves of nested tables by their dotted paths. A table of a bound alone is a leaf."""
    leaves: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, Mapping) and not value.keys() & {"at_least", "at_most"}:
            leaves.update({f"{key}.{name}": leaf for name, leaf in flattened(value).items()})
        else:
            leaves[key] = value
    return leaves


def targets(table: Mapping[str, Any]) -> dict[str, Target]:
    """Read targets by figure from a table with leaves such as `{ at_most = 10 }`. Raises ValueError for other leaves."""
    read: dict[str, Target] = {}
    for name, leaf in flattened(table).items():
        match leaf:
            case {"at_least": bound, **rest} if not rest:
                read[name] = Target("at_least", float(bound))
            case {"at_most": bound, **rest} if not rest:
                read[name] = Target("at_most", float(bound))
            case _:
                raise ValueError(f"{name}: expected one of at_least and at_most, got {leaf!r}")
    return read
