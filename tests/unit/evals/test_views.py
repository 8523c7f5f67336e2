from __future__ import annotations

from collections.abc import Callable

import pytest

from memstrata.errors import InvalidRequest
from memstrata.evals.dataset import Dataset, Question, StatementPair, Unit
from memstrata.evals.views import folded, is_poolable, pooled, user_turns

Units = Callable[..., Unit]
Questions = Callable[..., Question]
Datasets = Callable[..., Dataset]


def test_pooling_puts_the_corpora_of_a_pool_together_and_keeps_their_ids_apart(
    unit: Units, question: Questions, dataset: Datasets
) -> None:
    pair = StatementPair("update", frozenset(["1"]), frozenset(["2"]))
    made = dataset(
        {"a": [unit("1"), unit("2")], "b": [unit("1", "other")], "c": [unit("1", "third")]},
        [question("q", {"1"}, "a", pair=pair), question("r", {"1"}, "b"), question("s", {"1"}, "c")],
        pools={"a": "p", "b": "p", "c": "alone"},
    )
    together = pooled(made)
    assert [(one.corpus_id, [u.unit_id for u in one.units]) for one in together.corpora] == [
        ("p", ["a/1", "a/2", "b/1"]),
        ("alone", ["c/1"]),
    ]
    assert [one.corpus_id for one in together.questions] == ["p", "p", "alone"]
    assert [set(one.gold) for one in together.questions] == [{"a/1"}, {"b/1"}, {"c/1"}]
    assert together.questions[0].pair == StatementPair("update", frozenset(["a/1"]), frozenset(["a/2"]))
    assert together.corpora[0].units[0].session_id == "a/s"
    assert is_poolable(made)
    assert not is_poolable(together)


def test_equal_texts_are_one_unit_and_evidence_follows(unit: Units, question: Questions, dataset: Datasets) -> None:
    made = dataset(
        {"c": [unit("1", "I live  in Oslo"), unit("2", "tea"), unit("3", "I live in Oslo")]},
        [question("q", {"3"}), question("r", {"1", "2", "3"})],
    )
    once = folded(made)
    assert [one.unit_id for one in once.corpora[0].units] == ["1", "2"]
    assert [one.gold for one in once.questions] == [{"1"}, {"1", "2"}]
    assert list(once.counts.values()) == [1]


def test_a_pair_of_equal_texts_has_no_order(unit: Units, question: Questions, dataset: Datasets) -> None:
    pair = StatementPair("update", frozenset(["1"]), frozenset(["2"]))
    made = dataset({"c": [unit("1", "same"), unit("2", "same")]}, [question("q", {"2"}, pair=pair)])
    assert folded(made).questions[0].pair is None


def test_without_repeats_nothing_is_counted(unit: Units, question: Questions, dataset: Datasets) -> None:
    made = dataset({"c": [unit("1"), unit("2")]}, [question("q", {"1"})])
    assert folded(made) == made


def test_user_turns_leave_out_the_assistant_and_what_only_it_answers(
    unit: Units, question: Questions, dataset: Datasets
) -> None:
    made = dataset(
        {"c": [unit("1"), unit("2", role="assistant")]},
        [question("q", {"1", "2"}), question("r", {"2"})],
    )
    left = user_turns(made)
    assert [one.unit_id for one in left.corpora[0].units] == ["1"]
    assert [(one.question_id, set(one.gold)) for one in left.questions] == [("q", {"1"})]
    assert left.counts == {"questions that only assistant turns answer": 1}
    assert "only user turns are indexed" in left.notes


def test_a_set_that_only_assistants_answer_has_no_user_view(
    unit: Units, question: Questions, dataset: Datasets
) -> None:
    made = dataset({"c": [unit("1", role="assistant")]}, [question("q", {"1"})])
    with pytest.raises(InvalidRequest, match="user's turn"):
        user_turns(made)
