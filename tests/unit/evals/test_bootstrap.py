from __future__ import annotations

import pytest

from memstrata.evals.bootstrap import Interval, interval_of_mean

VALUES = [0.0, 1.0] * 50


def test_the_same_seed_gives_the_same_interval_and_another_seed_another() -> None:
    values = [number / 97 for number in range(97)]
    assert interval_of_mean(values, seed=1) == interval_of_mean(values, seed=1)
    assert interval_of_mean(values, seed=1) != interval_of_mean(values, seed=2)


def test_the_interval_is_about_two_standard_errors_around_the_mean() -> None:
    found = interval_of_mean(VALUES, seed=0)
    assert found.mean == 0.5
    # The standard error of a hundred coin flips is 0.05.
    assert found.low == pytest.approx(0.4, abs=0.02)
    assert found.high == pytest.approx(0.6, abs=0.02)


def test_more_questions_leave_less_doubt() -> None:
    few, many = interval_of_mean(VALUES[:20], seed=0), interval_of_mean(VALUES * 5, seed=0)
    assert many.high - many.low < few.high - few.low


def test_equal_values_leave_no_doubt() -> None:
    assert interval_of_mean([0.25], seed=0) == Interval(0.25, 0.25, 0.25)
