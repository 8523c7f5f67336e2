"""Metrics against values computed by hand."""

from __future__ import annotations

import math

import pytest

from memstrata.evals.metrics import CUTS, METRICS, all_at, any_at, ndcg_at, recall_at, reciprocal_rank

RANKED = ("x", "a", "y", "b", "z")
GOLD = {"a", "b", "c"}


def test_recall_is_the_share_of_the_evidence_among_the_first() -> None:
    found = [recall_at(k, RANKED, GOLD) for k in (1, 2, 4, 50)]
    assert found == pytest.approx([0, 1 / 3, 2 / 3, 2 / 3])


def test_any_asks_for_one_and_all_for_everything() -> None:
    assert [any_at(k, RANKED, GOLD) for k in (1, 2)] == [0.0, 1.0]
    assert [all_at(k, RANKED, {"a", "b"}) for k in (3, 4)] == [0.0, 1.0]
    assert all_at(50, RANKED, GOLD) == 0.0


def test_the_reciprocal_rank_is_of_the_first_that_is_found() -> None:
    assert reciprocal_rank(RANKED, GOLD) == 0.5
    assert reciprocal_rank(RANKED, {"c"}) == 0.0


def test_ndcg_discounts_by_the_logarithm_of_the_place() -> None:
    gain = 1 / math.log2(3) + 1 / math.log2(5)
    best = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    assert ndcg_at(10, RANKED, GOLD) == pytest.approx(gain / best)
    # 0.63093 + 0.43068 over 1 + 0.63093 + 0.5
    assert ndcg_at(10, RANKED, GOLD) == pytest.approx(0.49819, abs=1e-5)


def test_ndcg_is_one_for_the_best_ranking_that_fits_the_cut() -> None:
    assert ndcg_at(2, ("a", "b"), GOLD) == 1.0
    assert ndcg_at(10, ("a", "c", "b"), GOLD) == 1.0


def test_every_metric_is_named_with_its_cut_and_finds_nothing_in_nothing() -> None:
    assert set(METRICS) == {f"{kind}@{k}" for kind in ("recall", "any", "all") for k in CUTS} | {"mrr", "ndcg@10"}
    assert {metric((), GOLD) for metric in METRICS.values()} == {0.0}
    assert METRICS["recall@5"](RANKED, GOLD) == pytest.approx(2 / 3)
