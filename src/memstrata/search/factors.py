"""What counts beside words and meaning: a memory's priority and age, and the time that the query names. Pure."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, tzinfo
from functools import partial

from memstrata.clock import Instant
from memstrata.records import MemoryRecord, Message
from memstrata.search.prior import MAX_CHANGE, memory_prior
from memstrata.search.time_words import INSIDE, lift, window_of

__all__ = ["SPREAD", "factors_for"]

SPREAD = INSIDE * (1 + MAX_CHANGE) / (1 - MAX_CHANGE)
"""How many times the factor of one row can be that of another."""


def factors_for(query: str, now: Instant, zone: tzinfo = UTC) -> tuple[Callable[[MemoryRecord | Message], float], ...]:
    """Return what multiplies a row's score: the prior of a memory, and the lift of what happened at the named time."""
    window = window_of(query, now, zone)
    prior = partial(_prior, now=now)
    return (prior,) if window is None else (prior, partial(lift, window=window))


def _prior(item: MemoryRecord | Message, now: Instant) -> float:
    return memory_prior(item, now) if isinstance(item, MemoryRecord) else 1.0
