"""What is more worth knowing, all else equal: a mild factor for a memory's priority, and for its age by its type. Pure.

An event is soon less worth knowing, while what a person is or wants holds for long. Unmeasured, and so within bounds: the
factor stays within ±10 %, so that it orders rows that answer alike and never brings up one that does not answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from memstrata.clock import Instant
from memstrata.records import MemoryRecord

__all__ = ["MAX_CHANGE", "memory_prior"]

MAX_CHANGE = 0.10

_PRIORITY_SHARE = 0.06
_RECENCY_SHARE = MAX_CHANGE - _PRIORITY_SHARE
_USUAL_PRIORITY = 75  # between the discard lines (50 to 70) and the top: an ordinary memory is moved neither way
_HALF_LIFE_DAYS = 365
_HALF_LIFE_DAYS_OF: Final[Mapping[str, float]] = {"episodic": 90, "work_task": 90, "work_artifact": 90}
_DAY = 86_400_000


def memory_prior(memory: MemoryRecord, now: Instant) -> float:
    """Return the factor for a memory's score, 0.9 to 1.1. An absolute order (priority -1) counts as the highest."""
    priority = 100 if memory.priority < 0 else min(memory.priority, 100)
    weight = max(-1.0, (priority - _USUAL_PRIORITY) / (100 - _USUAL_PRIORITY))
    return 1 + _PRIORITY_SHARE * weight + _RECENCY_SHARE * (2 * _freshness(memory, now) - 1)


def _freshness(memory: MemoryRecord, now: Instant) -> float:
    """Return 1 for what was written just now or bears a later date, half of it after each half-life."""
    age_days = max(0, now - memory.updated_at) / _DAY
    half_life = _HALF_LIFE_DAYS_OF.get(memory.type, _HALF_LIFE_DAYS)
    return float(0.5 ** min(age_days / half_life, 60))
