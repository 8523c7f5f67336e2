"""From rankings to figures: every metric of every question, then means over all questions, subsets and categories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from memstrata.evals.bootstrap import Interval, interval_of_mean
from memstrata.evals.dataset import Corpus, Dataset, Question, Subset
from memstrata.evals.longmemeval_metrics import longmemeval_metrics
from memstrata.evals.metrics import METRICS
from memstrata.evals.ranker import Ranking

__all__ = ["ALL", "WITH_INTERVAL", "Scores", "group_scores", "grouped", "question_scores"]

ALL = "all"
"""The name of the group of all questions."""

WITH_INTERVAL = ("recall@5", "recall@10", "any@10", "mrr", "ndcg@10")
"""The metrics that are reported with an interval; what stands in the table is among them."""


@dataclass(frozen=True, slots=True)
class Scores:
    """The figures of one group of questions.

    On average, a question was asked of `units` units and got `results` of them: a search ends at its floor, so that a
    deep cut may lie beyond its end.
    """

    group: str
    questions: int
    units: float
    results: float
    means: Mapping[str, float]
    intervals: Mapping[str, Interval]


def question_scores(dataset: Dataset, rankings: Sequence[Ranking]) -> list[Mapping[str, float]]:
    """Return the metrics of each question, in the order of the rankings; LongMemEval's own as well for that set."""
    own = dataset.name == "longmemeval"
    sessions = {one.corpus_id: _sessions(one) if own else {} for one in dataset.corpora}
    scored: list[Mapping[str, float]] = []
    for ranking in rankings:
        gold, ids = ranking.question.gold, ranking.ids
        figures = {name: metric(ids, gold) for name, metric in METRICS.items()}
        if own:
            figures |= longmemeval_metrics(ids, gold, sessions[ranking.question.corpus_id])
        scored.append(figures)
    return scored


def group_scores(dataset: Dataset, rankings: Sequence[Ranking], seed: int) -> list[Scores]:
    """Return the figures of all questions, then of each subset, then of each category."""
    scored = question_scores(dataset, rankings)
    sizes = {corpus.corpus_id: len(corpus.units) for corpus in dataset.corpora}
    groups = grouped([ranking.question for ranking in rankings], dataset.subsets)
    return [
        _scores(
            group,
            [scored[place] for place in places],
            [sizes[rankings[place].question.corpus_id] for place in places],
            [len(rankings[place].ranked) for place in places],
            seed,
        )
        for group, places in groups.items()
    ]


def grouped(questions: Sequence[Question], subsets: Iterable[Subset]) -> Mapping[str, list[int]]:
    """Return the groups by name with the places of their questions: all, the subsets, the categories. None is empty.

    A single category is the same as all and is not a group.
    """
    groups: dict[str, list[int]] = {ALL: list(range(len(questions)))}
    for subset in subsets:
        groups[subset.name] = [at for at, question in enumerate(questions) if question.category in subset.categories]
    categories = sorted({question.category for question in questions})
    for category in categories if len(categories) > 1 else ():
        groups[category] = [at for at, question in enumerate(questions) if question.category == category]
    return {name: places for name, places in groups.items() if places}


def _scores(
    group: str, scored: Sequence[Mapping[str, float]], sizes: Sequence[int], results: Sequence[int], seed: int
) -> Scores:
    values = {name: [figures[name] for figures in scored] for name in scored[0]}
    return Scores(
        group=group,
        questions=len(scored),
        units=sum(sizes) / len(sizes),
        results=sum(results) / len(results),
        means={name: sum(found) / len(found) for name, found in values.items()},
        intervals={name: interval_of_mean(values[name], seed) for name in WITH_INTERVAL},
    )


def _sessions(corpus: Corpus) -> Mapping[str, str]:
    return {unit.unit_id: unit.session_id for unit in corpus.units}
