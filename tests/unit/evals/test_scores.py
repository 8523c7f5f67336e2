from __future__ import annotations

from collections.abc import Callable

import pytest

from memstrata.evals.dataset import Dataset, Question, Subset, Unit
from memstrata.evals.ranker import Ranking
from memstrata.evals.scores import group_scores, grouped

Units = Callable[..., Unit]
Questions = Callable[..., Question]
Datasets = Callable[..., Dataset]


def test_groups_are_all_then_subsets_then_categories_and_none_is_empty(question: Questions) -> None:
    questions = [question(name, {"a"}, category=category) for name, category in (("q", "x"), ("r", "y"), ("s", "x"))]
    subsets = [Subset("only y", frozenset("y")), Subset("nothing", frozenset("z"))]
    assert grouped(questions, subsets) == {"all": [0, 1, 2], "only y": [1], "x": [0, 2], "y": [1]}
    assert grouped(questions[::2], ()) == {"all": [0, 1]}


def test_figures_are_means_over_the_questions_of_a_group(unit: Units, question: Questions, dataset: Datasets) -> None:
    first, second = question("q", {"a"}, category="x"), question("r", {"a", "b"}, "d", category="y")
    made = dataset({"c": [unit("a"), unit("b")], "d": [unit("a"), unit("b"), unit("e"), unit("f")]}, [first, second])
    rankings = [Ranking(first, (("b", 0.9), ("a", 0.8))), Ranking(second, (("a", 0.7),))]
    everything, x, y = group_scores(made, rankings, seed=0)
    assert (everything.questions, everything.units, everything.results) == (2, 3.0, 1.5)
    assert everything.means["recall@1"] == pytest.approx(0.25)
    assert everything.means["recall@5"] == pytest.approx(0.75)
    assert everything.means["mrr"] == pytest.approx(0.75)
    assert (x.means["mrr"], y.means["mrr"]) == (0.5, 1.0)
    assert everything.intervals["recall@10"].low <= everything.means["recall@10"]
    assert not any(name.startswith("lme") for name in everything.means)


def test_longmemeval_has_its_own_metrics_as_well(unit: Units, question: Questions, dataset: Datasets) -> None:
    one = question("q", {"a"})
    made = dataset({"c": [unit("a", session_id="s"), unit("b", session_id="s")]}, [one], name="longmemeval")
    scores = group_scores(made, [Ranking(one, (("b", 1.0),))], seed=0)[0]
    assert scores.means["lme_session_recall_any@5"] == 1.0
    assert scores.means["lme_turn_recall_any@5"] == 0.0
