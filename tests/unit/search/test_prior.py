"""What is more worth knowing, all else equal."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrata.clock import EARLIEST, LATEST
from memstrata.records import MemoryRecord
from memstrata.search.prior import MAX_CHANGE, memory_prior

Build = Callable[..., MemoryRecord]
DAY = 86_400_000
NOW = 20_000 * DAY


def test_a_higher_priority_weighs_more(remembered: Build) -> None:
    factors = [memory_prior(remembered(priority=priority), NOW) for priority in (50, 60, 75, 90, 100)]
    assert factors == sorted(set(factors))


def test_an_absolute_order_weighs_as_the_highest_priority(remembered: Build) -> None:
    assert memory_prior(remembered(priority=-1), NOW) == memory_prior(remembered(priority=100), NOW)


def test_a_newer_memory_weighs_more(remembered: Build) -> None:
    factors = [memory_prior(remembered(updated_at=NOW - age * DAY), NOW) for age in (2_000, 90, 7, 0)]
    assert factors == sorted(set(factors))


def test_an_old_event_weighs_less_than_a_preference_as_old_and_a_new_one_the_same(remembered: Build) -> None:
    def weights(age_days: int) -> list[float]:
        kinds = ("episodic", "work_task", "work_artifact", "persona", "instruction", "work_fact", "work_method")
        return [memory_prior(remembered(type=kind, updated_at=NOW - age_days * DAY), NOW) for kind in kinds]

    old = weights(120)
    assert len(set(weights(0))) == 1
    assert max(old[:3]) < min(old[3:])


def test_a_memory_from_a_clock_that_is_ahead_is_no_newer_than_now(remembered: Build) -> None:
    assert memory_prior(remembered(updated_at=NOW + DAY), NOW) == memory_prior(remembered(updated_at=NOW), NOW)


@given(priority=st.integers(-5, 1_000), updated_at=st.integers(EARLIEST, LATEST), now=st.integers(EARLIEST, LATEST))
def test_the_factor_stays_within_a_tenth(priority: int, updated_at: int, now: int) -> None:
    memory = MemoryRecord(
        1, "m", 0, "", "persona", priority, "", "always", "", "", "", "model", None, None, {}, 0, updated_at, None, None
    )
    assert memory_prior(memory, now) == pytest.approx(1, abs=MAX_CHANGE + 1e-9)
