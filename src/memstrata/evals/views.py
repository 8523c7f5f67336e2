"""The ways in which a data set is looked at: corpus by corpus, pooled, or the user's turns alone. Pure.

Equal texts of a corpus are one unit: no search can tell them apart, so finding one of them is finding what was said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from memstrata.errors import InvalidRequest
from memstrata.evals.dataset import Corpus, Dataset, Question, StatementPair, Unit

__all__ = ["View", "folded", "is_poolable", "pooled", "user_turns"]

View = Literal["separate", "pooled"]


def is_poolable(dataset: Dataset) -> bool:
    """Say whether pooling changes anything: some pool has more than one corpus."""
    return len({corpus.pool for corpus in dataset.corpora}) < len(dataset.corpora)


def pooled(dataset: Dataset) -> Dataset:
    """Return the data set with each pool as one corpus. Ids of units and sessions get their corpus in front."""
    pools: dict[str, list[Unit]] = {}
    for corpus in dataset.corpora:
        pools.setdefault(corpus.pool, []).extend(
            replace(
                unit,
                unit_id=f"{corpus.corpus_id}/{unit.unit_id}",
                session_id=f"{corpus.corpus_id}/{unit.session_id}",
            )
            for unit in corpus.units
        )
    pool_of = {corpus.corpus_id: corpus.pool for corpus in dataset.corpora}
    renamed: list[Question] = []
    for question in dataset.questions:
        names = {unit_id: f"{question.corpus_id}/{unit_id}" for unit_id in _named_by(question)}
        renamed.append(replace(_renamed(question, names), corpus_id=pool_of[question.corpus_id]))
    corpora = tuple(Corpus(pool, pool, tuple(units)) for pool, units in pools.items())
    return replace(dataset, corpora=corpora, questions=tuple(renamed))


def folded(dataset: Dataset) -> Dataset:
    """Return the data set with equal texts of a corpus as one unit, the first of them, and how many that were."""
    corpora: list[Corpus] = []
    kept_as: dict[str, dict[str, str]] = {}
    for corpus in dataset.corpora:
        first: dict[str, Unit] = {}
        names: dict[str, str] = {}
        for unit in corpus.units:
            names[unit.unit_id] = first.setdefault(" ".join(unit.text.split()), unit).unit_id
        corpora.append(replace(corpus, units=tuple(first.values())))
        kept_as[corpus.corpus_id] = names
    questions = tuple(_renamed(question, kept_as[question.corpus_id]) for question in dataset.questions)
    repeats = sum(len(one.units) for one in dataset.corpora) - sum(len(one.units) for one in corpora)
    counts = {**dataset.counts, "units that repeat another's text, counted as that one": repeats}
    return replace(dataset, corpora=tuple(corpora), questions=questions, counts=counts if repeats else dataset.counts)


def user_turns(dataset: Dataset) -> Dataset:
    """Return the data set without what assistants said, and without questions that only they answer.

    Raises InvalidRequest if no question is left.
    """
    corpora = tuple(
        replace(corpus, units=tuple(unit for unit in corpus.units if unit.role == "user")) for corpus in dataset.corpora
    )
    kept = {corpus.corpus_id: {unit.unit_id: unit.unit_id for unit in corpus.units} for corpus in corpora}
    questions = [_renamed(question, kept[question.corpus_id]) for question in dataset.questions]
    answerable = tuple(question for question in questions if question.gold)
    if not answerable:
        raise InvalidRequest("no question is answered by a user's turn", field=dataset.name)
    left_out = len(questions) - len(answerable)
    counts = {**dataset.counts, "questions that only assistant turns answer": left_out}
    return replace(
        dataset,
        corpora=corpora,
        questions=answerable,
        notes=(*dataset.notes, "only user turns are indexed"),
        counts=counts if left_out else dataset.counts,
    )


def _named_by(question: Question) -> frozenset[str]:
    pair = question.pair
    return question.gold if pair is None else question.gold | pair.older | pair.newer


def _renamed(question: Question, names: Mapping[str, str]) -> Question:
    """Return a question whose evidence has other names; what has none is gone, and so is a pair that is no longer two."""

    def of(ids: frozenset[str]) -> frozenset[str]:
        return frozenset(names[one] for one in ids if one in names)

    pair = question.pair
    if pair is not None:
        pair = StatementPair(pair.kind, of(pair.older), of(pair.newer))
        if not pair.older or not pair.newer or pair.older & pair.newer:
            pair = None
    return replace(question, gold=of(question.gold), pair=pair)
