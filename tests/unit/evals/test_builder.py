from __future__ import annotations

from collections.abc import Callable

import pytest

from memstrata.errors import InvalidRequest
from memstrata.evals.dataset import Question, StatementPair, Unit
from memstrata.evals.datasets.builder import Builder


def test_evidence_that_names_no_unit_is_dropped_and_counted(
    unit: Callable[..., Unit], question: Callable[..., Question]
) -> None:
    builder = Builder("made")
    builder.add_corpus("c", [unit("a"), unit("b")])
    builder.add_question(question("q", {"a", "nowhere"}))
    made = builder.built()
    assert made.questions[0].gold == {"a"}
    assert made.counts == {"evidence ids that name no unit": 1}


def test_a_question_without_any_evidence_is_left_out_and_counted(
    unit: Callable[..., Unit], question: Callable[..., Question]
) -> None:
    builder = Builder("made")
    builder.add_corpus("c", [unit("a")])
    for one in (question("q", {"a"}), question("r", set()), question("s", {"nowhere"})):
        builder.add_question(one)
    made = builder.built()
    assert [one.question_id for one in made.questions] == ["q"]
    assert made.counts["questions without evidence"] == 2


def test_a_unit_without_text_is_no_unit(unit: Callable[..., Unit], question: Callable[..., Question]) -> None:
    builder = Builder("made")
    builder.add_corpus("c", [unit("a"), unit("b", " \n")])
    builder.add_question(question("q", {"a", "b"}))
    made = builder.built()
    assert [one.unit_id for one in made.corpora[0].units] == ["a"]
    assert made.questions[0].gold == {"a"}
    assert made.counts["units without text"] == 1


def test_a_unit_whose_id_is_taken_is_indexed_but_is_no_evidence(
    unit: Callable[..., Unit], question: Callable[..., Question]
) -> None:
    builder = Builder("made")
    builder.add_corpus("c", [unit("a", "first"), unit("a", "second"), unit("a#2", "third"), unit("a", "fourth")])
    builder.add_question(question("q", {"a"}))
    made = builder.built()
    assert [one.text for one in made.corpora[0].units] == ["first", "second", "third", "fourth"]
    assert len({one.unit_id for one in made.corpora[0].units}) == 4
    assert made.questions[0].gold == {"a"}
    assert made.counts == {"units whose id an earlier one has, kept without evidence": 3}


def test_a_corpus_that_is_there_already_is_refused(unit: Callable[..., Unit]) -> None:
    builder = Builder("made")
    builder.add_corpus("c", [unit("a")])
    with pytest.raises(InvalidRequest, match="two corpora 'c'"):
        builder.add_corpus("c", [unit("b")])


def test_a_data_set_without_questions_is_refused(unit: Callable[..., Unit]) -> None:
    builder = Builder("made")
    builder.add_corpus("c", [unit("a")])
    with pytest.raises(InvalidRequest, match="no question with evidence"):
        builder.built()


@pytest.mark.parametrize(("older", "newer"), [({"nowhere"}, {"a"}), ({"a"}, {"a"}), ({"a", "b"}, {"b"})])
def test_a_pair_that_is_not_two_statements_cannot_be_judged(
    unit: Callable[..., Unit], question: Callable[..., Question], older: set[str], newer: set[str]
) -> None:
    builder = Builder("made")
    builder.add_corpus("c", [unit("a"), unit("b")])
    pair = StatementPair("update", frozenset(older), frozenset(newer))
    builder.add_question(question("q", {"a"}, pair=pair))
    made = builder.built()
    assert made.questions[0].pair is None
    assert made.counts["statement pairs that cannot be judged"] == 1
