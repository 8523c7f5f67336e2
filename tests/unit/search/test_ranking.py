"""Gate, fuse, prior and boost, diversity, cut."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memstrata.records import Hit, Message
from memstrata.search.fusion import rrf
from memstrata.search.leg import LegHit
from memstrata.search.ranking import rank

Build = Callable[..., LegHit[Message]]


def order(hits: tuple[Hit[Message], ...]) -> list[int]:
    return [hit.item.seq for hit in hits]


def test_each_leg_is_gated_by_its_own_floor_before_they_are_fused(hit: Build) -> None:
    found = rank(
        {"keyword": [hit(1, 0.5), hit(2, 0.02)], "vector": [hit(3, 0.9), hit(2, 0.72)]},
        5,
        floors={"keyword": 0.05, "vector": 0.75},
    )
    assert sorted(order(found)) == [1, 3]


def test_what_no_leg_lets_through_is_not_found(hit: Build) -> None:
    legs = {"keyword": [hit(1, 0.01)], "vector": [hit(2, 0.6)]}
    assert rank(legs, 5, floors={"keyword": 0.05, "vector": 0.75}) == ()  # type: ignore[arg-type]


def test_a_leg_without_a_floor_lets_everything_through(hit: Build) -> None:
    assert order(rank({"vector": [hit(1, -0.2)]}, 5, floors={})) == [1]


def test_factors_change_the_order_and_not_what_the_legs_said(hit: Build) -> None:
    found = rank(
        {"keyword": [hit(1, 0.50), hit(2, 0.45)]}, 5, floors={}, factors=[lambda item: 1.2 if item.seq == 2 else 1.0]
    )
    assert order(found) == [2, 1]
    assert found[0].score == pytest.approx(0.54)
    assert found[0].legs == {"keyword": 0.45}


def test_no_score_passes_one_and_the_stronger_still_comes_first(hit: Build) -> None:
    found = rank({"keyword": [hit(1, 1.7), hit(2, 1.3)]}, 5, floors={}, factors=[lambda _: 1.1])
    assert [(hit.item.seq, hit.score, hit.legs["keyword"]) for hit in found] == [(1, 1.0, 1.0), (2, 1.0, 1.0)]


def test_a_row_that_repeats_a_better_one_makes_room_for_the_next(hit: Build) -> None:
    legs = [hit(1, 0.9, "green tea every morning"), hit(2, 0.8, "every morning green tea"), hit(3, 0.2, "coffee")]
    assert order(rank({"keyword": legs}, 2, floors={})) == [1, 3]


def test_with_less_weight_on_relevance_what_resembles_a_better_row_gives_way(hit: Build) -> None:
    legs = {
        "keyword": [
            hit(1, 0.9, "tea in the morning"),
            hit(2, 0.8, "tea in the evening"),
            hit(3, 0.7, "rides a bicycle"),
        ]
    }
    assert order(rank(legs, 2, floors={})) == [1, 2]  # type: ignore[arg-type]
    assert order(rank(legs, 2, floors={}, relevance=0.5)) == [1, 3]  # type: ignore[arg-type]


def test_the_fusion_can_be_chosen(hit: Build) -> None:
    found = rank({"keyword": [hit(1, 0.2)]}, 5, floors={}, fuse=rrf)
    assert found[0].score == pytest.approx(1)
    assert found[0].legs == {"keyword": 0.2}


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_the_limit_holds(hit: Build, limit: int) -> None:
    assert len(rank({"keyword": [hit(n, 0.5) for n in range(5)]}, limit, floors={})) == limit
