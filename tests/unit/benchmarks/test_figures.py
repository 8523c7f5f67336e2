from __future__ import annotations

import pytest
from benchmarks.figures import Figure, Target, better_by, flattened, kept, lost_and_doubled, percentile, targets


@pytest.mark.parametrize(("percent", "expected"), [(50, 5.0), (95, 10.0), (90, 9.0), (99, 10.0), (0, 1.0), (100, 10.0)])
def test_a_percentile_is_a_value_that_was_measured(percent: float, expected: float) -> None:
    assert percentile([10.0, 1.0, 9.0, 2.0, 8.0, 3.0, 7.0, 4.0, 6.0, 5.0], percent) == expected


def test_the_95th_percentile_of_a_hundred_values_leaves_out_five() -> None:
    values = [float(number) for number in range(1, 101)]
    assert sum(value > percentile(values, 95) for value in values) == 5


def test_nothing_has_no_percentile() -> None:
    with pytest.raises(ValueError, match="nothing"):
        percentile([], 50)


def test_what_is_kept_of_a_rate_is_told_by_pairs_of_rounds() -> None:
    # The machine slowed down for the last pair; that is no property of either store.
    assert kept([1000.0, 1000.0, 200.0], [950.0, 900.0, 180.0]) == 0.9


def test_rounds_without_a_partner_are_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        kept([1.0, 2.0], [1.0])


@pytest.mark.parametrize(
    ("target", "value", "reached"),
    [
        (Target("at_least", 1500), 1500.0, True),
        (Target("at_least", 1500), 1499.9, False),
        (Target("at_most", 10), 10.0, True),
        (Target("at_most", 10), 10.1, False),
    ],
)
def test_a_target_is_reached_on_its_bound(target: Target, value: float, reached: bool) -> None:
    assert Figure("any", value, target).reached is reached


def test_a_figure_without_target_or_reference_is_compared_with_nothing() -> None:
    figure = Figure("add.empty.1.p50_ms", 1.0)
    assert (figure.reached, figure.better, figure.compared) == (None, None, False)


def test_more_requests_and_fewer_milliseconds_are_both_better() -> None:
    assert better_by("add.empty.32.requests_per_second", 1500.0, 150.0) == 10
    assert better_by("add.empty.32.p95_ms", 20.0, 200.0) == 10
    assert better_by("gold.100k.memories.hit_at_1", 0.9, 0.18) == pytest.approx(5)


def test_there_is_no_ratio_to_nothing() -> None:
    assert better_by("sessions.doubled", 0.0, 67.0) is None
    assert better_by("sessions.lost", 2.0, 0.0) is None


def test_a_code_that_stands_nowhere_is_lost_and_one_that_stands_thrice_is_doubled_twice() -> None:
    texts = ["remember: locker 1 opens with code ka.", "code kb", "code kb and kb again", "the code kb.", "foreign kx"]
    assert lost_and_doubled(["ka", "kb", "kc"], texts) == (1, 2)


def test_a_code_inside_a_longer_one_is_not_found() -> None:
    assert lost_and_doubled(["k1"], ["code k12"]) == (1, 0)


def test_nested_tables_become_dotted_names() -> None:
    table = {"add": {"empty": {"32": {"p50_ms": 1.5}}}, "start": {"empty": {"seconds": {"at_most": 1}}}}
    assert flattened(table) == {"add.empty.32.p50_ms": 1.5, "start.empty.seconds": {"at_most": 1}}


def test_targets_are_bounds_by_figure() -> None:
    read = targets({"add": {"requests_per_second": {"at_least": 1500}}, "start": {"seconds": {"at_most": 1}}})
    assert read == {"add.requests_per_second": Target("at_least", 1500.0), "start.seconds": Target("at_most", 1.0)}


@pytest.mark.parametrize("leaf", [3, {"at_most": 1, "at_least": 0}, {"at_most": 1, "unit": "s"}])
def test_a_target_that_is_not_one_bound_is_refused(leaf: object) -> None:
    with pytest.raises(ValueError, match="seconds"):
        targets({"start": {"seconds": leaf}})
