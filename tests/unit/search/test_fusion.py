"""Two legs, one ranking."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from memstrata.records import Message
from memstrata.search.fusion import CosineScale, Fused, calibrated, rrf
from memstrata.search.leg import Leg, LegHit

Build = Callable[..., LegHit[Message]]
Legs = Mapping[Leg, Sequence[LegHit[Message]]]
E5 = CosineScale(0.7, 0.95)


def order(rows: list[Fused[Message]]) -> list[int]:
    return [row.item.seq for row in rows]


def test_the_first_of_every_leg_scores_one_by_rank(hit: Build) -> None:
    legs: Legs = {"keyword": [hit(1, 0.4), hit(2, 0.3)], "vector": [hit(1, 0.8), hit(3, 0.7)]}
    best, *others = rrf(legs)
    assert best.item.seq == 1
    assert best.score == pytest.approx(1)
    assert all(0 < row.score < 0.5 for row in others)


def test_a_row_that_both_legs_find_comes_before_the_first_of_one_leg(hit: Build) -> None:
    legs: Legs = {"keyword": [hit(1, 0.9), hit(2, 0.1)], "vector": [hit(3, 0.9), hit(2, 0.8)]}
    assert order(rrf(legs))[0] == 2


def test_a_leg_that_took_part_and_found_nothing_halves_what_rank_can_reach(hit: Build) -> None:
    alone = rrf({"keyword": [hit(1, 0.9)]})
    beside_nothing = rrf({"keyword": [hit(1, 0.9)], "vector": []})
    assert alone[0].score == pytest.approx(1)
    assert beside_nothing[0].score == pytest.approx(0.5)


def test_a_greater_k_lets_the_first_ranks_matter_less(hit: Build) -> None:
    legs: Legs = {"keyword": [hit(1, 0.9), hit(2, 0.8)]}
    gaps = [rows[0].score - rows[1].score for rows in (rrf(legs, k=10), rrf(legs, k=60))]
    assert gaps[0] > gaps[1] > 0


def test_ranks_are_fused_with_sixty_unless_told_otherwise(hit: Build) -> None:
    legs: Legs = {"keyword": [hit(1, 0.9), hit(2, 0.8)], "vector": [hit(2, 0.9), hit(3, 0.8)]}
    scores = {row.item.seq: row.score for row in rrf(legs)}
    best = 2 / 61
    assert scores == {
        2: pytest.approx((1 / 61 + 1 / 62) / best),
        1: pytest.approx(0.5),
        3: pytest.approx(1 / 62 / best),
    }


def test_calibrated_scores_are_added_up_by_weight(hit: Build) -> None:
    legs: Legs = {"keyword": [hit(1, 0.5)], "vector": [hit(1, 0.9), hit(2, 0.95)]}
    rows = {row.item.seq: row.score for row in calibrated(legs, E5, keyword_weight=0.25)}
    assert rows == {1: pytest.approx(0.25 * 0.5 + 0.75 * 0.8), 2: pytest.approx(0.75)}


@pytest.mark.parametrize("fuse", [rrf, calibrated])
def test_every_row_says_which_leg_found_it_with_which_score(
    hit: Build, fuse: Callable[[Legs], list[Fused[Message]]]
) -> None:
    rows = fuse({"keyword": [hit(1, 0.5), hit(2, 0.4)], "vector": [hit(3, 0.9), hit(1, 0.8)]})
    assert {row.item.seq: row.legs for row in rows} == {
        1: {"keyword": 0.5, "vector": 0.8},
        2: {"keyword": 0.4},
        3: {"vector": 0.9},
    }


def test_a_leg_alone_keeps_its_own_scale(hit: Build) -> None:
    assert calibrated({"keyword": [hit(1, 0.5)]}, E5)[0].score == 0.5
    assert calibrated({"vector": [hit(1, 0.825)]}, E5)[0].score == pytest.approx(0.5)


@pytest.mark.parametrize("fuse", [rrf, calibrated])
def test_rows_that_score_alike_come_newest_first(hit: Build, fuse: Callable[[Legs], list[Fused[Message]]]) -> None:
    assert order(fuse({"keyword": [hit(1, 0.5)], "vector": [hit(2, 0.5)]})) == [2, 1]


@pytest.mark.parametrize("fuse", [rrf, calibrated])
def test_nothing_found_is_nothing_fused(fuse: Callable[[Legs], list[Fused[Message]]]) -> None:
    assert fuse({"keyword": [], "vector": []}) == []
    assert fuse({}) == []


@pytest.mark.parametrize(("cosine", "share"), [(-1, 0), (0.7, 0), (0.825, 0.5), (0.95, 1), (1, 1)])
def test_a_cosine_is_read_on_the_scale_of_its_model(cosine: float, share: float) -> None:
    assert E5.share(cosine) == pytest.approx(share)


@pytest.mark.parametrize(("low", "high"), [(0.5, 0.5), (0.9, 0.1), (float("nan"), 1)])
def test_a_scale_that_does_not_rise_is_refused(low: float, high: float) -> None:
    with pytest.raises(ValueError, match="below"):
        CosineScale(low, high)
