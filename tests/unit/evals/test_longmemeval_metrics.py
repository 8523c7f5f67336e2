"""LongMemEval's metrics against values computed by hand from its own definition."""

from __future__ import annotations

import math

import pytest

from memstrata.evals.longmemeval_metrics import folded_k, longmemeval_metrics, ndcg_any


def test_the_first_two_places_weigh_the_same() -> None:
    assert ndcg_any(5, ("a", "x", "y"), {"a"}, 1) == 1.0
    assert ndcg_any(5, ("x", "a", "y"), {"a"}, 1) == 1.0
    assert ndcg_any(5, ("x", "y", "a"), {"a"}, 1) == pytest.approx(1 / math.log2(3))


def test_the_ideal_counts_all_relevant_rows_up_to_the_cut() -> None:
    # Found at 1 and 3: 1 + 1/log2(3). Three rows at best: 1 + 1 + 1/log2(3).
    found = 1 + 1 / math.log2(3)
    assert ndcg_any(5, ("a", "x", "b"), {"a", "b", "c"}, 3) == pytest.approx(found / (2 + 1 / math.log2(3)))
    assert ndcg_any(2, ("a", "b"), {"a", "b", "c"}, 3) == 1.0
    assert ndcg_any(5, ("a",), set(), 0) == 0.0


def test_folding_reads_on_until_there_are_as_many_sessions_as_asked_for() -> None:
    assert folded_k(2, ("s", "s", "s", "t", "u")) == 4
    assert folded_k(2, ("s", "t", "u")) == 2
    assert folded_k(3, ("s", "s", "t")) == 4


def test_turns_are_folded_into_sessions_row_by_row() -> None:
    session_of = {**{f"n{i}": f"noise{i}" for i in range(9)}, "e1": "gold", "e2": "gold", "m1": "more", "m2": "more"}
    ranked = ("n0", "e2", "n1", "n2", "n3", "n4", "m1")
    figures = longmemeval_metrics(ranked, {"e1", "m1"}, session_of)
    assert figures["lme_turn_recall_any@5"] == 0.0
    assert figures["lme_turn_recall_any@10"] == 1.0
    assert figures["lme_turn_recall_all@10"] == 0.0
    # By session, the other turn of the gold session counts, and four rows are relevant.
    assert figures["lme_session_recall_any@5"] == 1.0
    assert figures["lme_session_recall_all@5"] == 0.0
    assert figures["lme_session_recall_all@10"] == 1.0
    best = 2 + 1 / math.log2(3) + 1 / math.log2(4)
    assert figures["lme_session_ndcg_any@5"] == pytest.approx(1 / best)
