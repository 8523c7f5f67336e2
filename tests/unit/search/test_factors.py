from collections.abc import Callable

from memstrata.records import MemoryRecord
from memstrata.search.factors import SPREAD, factors_for
from memstrata.search.prior import MAX_CHANGE

NOON = 1_767_614_400_000  # 2026-01-05T12:00:00Z
DAY = 86_400_000


def test_a_question_that_names_no_time_costs_a_row_one_factor(memory_of: Callable[..., MemoryRecord]) -> None:
    (prior,) = factors_for("where does Lin live", NOON)
    assert 1 - MAX_CHANGE <= prior(memory_of(1, "lives in Lisbon", updated_at=NOON)) <= 1 + MAX_CHANGE


def test_a_question_that_names_a_time_lifts_what_happened_then(memory_of: Callable[..., MemoryRecord]) -> None:
    prior, lift = factors_for("what happened yesterday", NOON)
    inside, outside = (memory_of(days, "moved", updated_at=NOON, happened_from=NOON - days * DAY) for days in (1, 9))
    assert lift(inside) > lift(outside) == 1.0
    assert prior(inside) * lift(inside) <= SPREAD * prior(outside) * lift(outside)
